/*
 * delivery - see the header. SPDX-License-Identifier: MIT
 *
 * A step: what came in since the last is made into a batch (gather), the store does it
 * (store_apply), and only then the engine and the host are told (follow). A batch that the disk had
 * no room for is taken apart again (take_back): puts are refused, settles stay for the next one.
 */
#include "delivery.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "delivery_parts.h"
#include "lull/duration.h"
#include "lull/error.h"

#define RECLAIM_EVERY_MS LULL_SECONDS(30)
#define SWEEP_EVERY_MS LULL_SECONDS(10)
#define ROUNDS_MAX 4 /* commits in one step, so that a caller gets its turn */

void delivery_config_default(struct delivery_config *config)
{
    *config = (struct delivery_config){
        .node = 1,
        .is_only_node = true,
        .retry_full_ms = 250,
        .look_ms = 1000,
    };
    engine_config_default(&config->engine);
}

/* ---- its life ---- */

static bool take_memory(struct delivery *delivery)
{
    uint32_t most = delivery->config.engine.in_flight_max;
    delivery->flights = calloc(most, sizeof *delivery->flights);
    delivery->idle = calloc(most, sizeof *delivery->idle);
    delivery->leased = calloc(most, sizeof(struct message *));
    if (!delivery->flights || !delivery->idle || !delivery->leased ||
        !number_table_init(&delivery->by_id, most) || !batch_room_init(&delivery->room, most)) {
        return false;
    }
    for (uint32_t i = 0; i < most; i++) {
        delivery->idle[i] = most - 1 - i;
    }
    delivery->idle_count = most;
    return true;
}

int delivery_new(struct delivery **ret_delivery, const struct delivery_config *config,
                 int64_t now_ms)
{
    struct delivery *delivery = calloc(1, sizeof *delivery);
    if (!delivery) {
        return LULL_ERR_MEMORY;
    }
    delivery->config = *config;
    delivery->store = config->store;
    delivery->services.is_shared = !config->is_only_node;
    delivery->lease = config->node << 32;
    delivery->reclaim_ms = now_ms + RECLAIM_EVERY_MS;
    delivery->sweep_ms = now_ms;
    delivery->look_ms = now_ms + config->look_ms;
    uint64_t count = 0;
    int error = engine_new(&delivery->engine, &config->engine, now_ms);
    if (error == LULL_OK && !take_memory(delivery)) {
        error = LULL_ERR_MEMORY;
    }
    if (error == LULL_OK) {
        error = store_reclaim(delivery->store, now_ms, config->is_only_node, &count);
    }
    if (error == LULL_OK) {
        delivery->is_full = store_room(delivery->store) == STORE_ERR_DISK_FULL;
        delivery->lost_leases += count;
        error = services_look(delivery, now_ms);
    }
    if (error != LULL_OK) {
        delivery_destroy(delivery);
        return error;
    }
    *ret_delivery = delivery;
    return LULL_OK;
}

void delivery_destroy(struct delivery *delivery)
{
    if (!delivery) {
        return;
    }
    for (uint32_t i = 0; delivery->flights && i < delivery->config.engine.in_flight_max; i++) {
        struct flight *flight = &delivery->flights[i];
        if (flight->message) {
            delivery->config.host.let_go(delivery->config.host.userdata, flight->message);
            message_free(flight->message);
        }
    }
    engine_destroy(delivery->engine);
    number_table_clean_up(&delivery->by_id);
    batch_room_clean_up(&delivery->room);
    services_clean_up(&delivery->services);
    free(delivery->flights);
    free(delivery->idle);
    free(delivery->leased);
    free(delivery);
}

/* ---- what is to be put, cancelled, paused ---- */

int delivery_service(struct delivery *delivery, const char *name, size_t length,
                     uint32_t *ret_number)
{
    return services_number(delivery, name, length, ret_number);
}

void delivery_put(struct delivery *delivery, struct delivery_put *put)
{
    put->next = NULL;
    *(delivery->putting_last ? &delivery->putting_last->next : &delivery->putting) = put;
    delivery->putting_last = put;
}

void delivery_cancel(struct delivery *delivery, struct delivery_cancel *cancel)
{
    cancel->next = NULL;
    *(delivery->cancelling_last ? &delivery->cancelling_last->next : &delivery->cancelling) =
        cancel;
    delivery->cancelling_last = cancel;
}

void delivery_pause(struct delivery *delivery, uint32_t service, int64_t until_ms)
{
    (void)services_want_pause(&delivery->services, service, until_ms, true);
}

/* ---- a step ---- */

/* What is new has to wait until the store has room for it; the rest is tried at once without it. */
static int on_full(struct delivery *delivery, const struct store_batch *batch, int64_t now_ms)
{
    delivery->is_full = true;
    delivery->room_ms = now_ms + delivery->config.retry_full_ms;
    if (batch->put_count > 0) {
        return LULL_OK;
    }
    delivery->full_until_ms = delivery->room_ms;
    return STORE_ERR_DISK_FULL;
}

static void look_for_room(struct delivery *delivery, int64_t now_ms)
{
    if (delivery->is_full && now_ms >= delivery->room_ms) {
        delivery->is_full = store_room(delivery->store) == STORE_ERR_DISK_FULL;
        delivery->room_ms = now_ms + delivery->config.retry_full_ms;
    }
    while (delivery->is_full && delivery->putting) {
        delivery->putting->put.is_lease_wanted = false;
        batch_refuse_puts(delivery, 1, STORE_ERR_DISK_FULL, now_ms);
    }
}

static int commit(struct delivery *delivery, bool *ret_is_more, int64_t now_ms)
{
    struct store_batch batch;
    *ret_is_more = batch_gather(delivery, &batch, now_ms);
    if (!*ret_is_more) {
        return LULL_OK;
    }
    int error = store_apply(delivery->store, &batch, now_ms);
    if (error != LULL_OK) {
        batch_take_back(delivery, &batch, error, now_ms);
        return error == STORE_ERR_DISK_FULL ? on_full(delivery, &batch, now_ms) : error;
    }
    delivery->commits++;
    batch_follow(delivery, &batch, now_ms);
    return LULL_OK;
}

/* What is done now and then. */
static int keep_house(struct delivery *delivery, int64_t now_ms)
{
    int error = LULL_OK;
    uint64_t count = 0;
    if (now_ms >= delivery->reclaim_ms) {
        delivery->reclaim_ms = now_ms + RECLAIM_EVERY_MS;
        error = store_reclaim(delivery->store, now_ms, false, &count);
        delivery->lost_leases += count;
    }
    bool has_others = !delivery->config.is_only_node || delivery->is_crowded;
    if (error == LULL_OK &&
        (count > 0 || delivery->is_miscounted || (has_others && now_ms >= delivery->look_ms))) {
        delivery->is_miscounted = false;
        error = services_look(delivery, now_ms);
    }
    if (now_ms >= delivery->look_ms) {
        delivery->look_ms = now_ms + delivery->config.look_ms;
    }
    if (error == LULL_OK && now_ms >= delivery->sweep_ms) {
        delivery->sweep_ms = now_ms + SWEEP_EVERY_MS;
        error = store_sweep(delivery->store, now_ms);
    }
    return error;
}

int delivery_step(struct delivery *delivery, int64_t now_ms)
{
    bool is_more = true;
    look_for_room(delivery, now_ms);
    if (now_ms < delivery->full_until_ms) {
        return STORE_ERR_DISK_FULL;
    }
    int error = keep_house(delivery, now_ms);
    if (error == STORE_ERR_DISK_FULL) {
        error = LULL_OK; /* it is not urgent, and the commit will say so */
    }
    for (int round = 0; round < ROUNDS_MAX && is_more && error == LULL_OK; round++) {
        error = commit(delivery, &is_more, now_ms);
    }
    return error == LULL_OK && delivery->is_full ? STORE_ERR_DISK_FULL : error;
}

int64_t delivery_wake_ms(const struct delivery *delivery)
{
    bool has_work = delivery->settling || delivery->cancelling || delivery->putting ||
                    delivery->is_miscounted || services_has_wish(&delivery->services);
    int64_t wake_ms = has_work ? 0 : engine_wake_ms(delivery->engine);
    bool has_others = !delivery->config.is_only_node || delivery->is_crowded;
    int64_t house_ms = has_others && delivery->look_ms < delivery->reclaim_ms
                           ? delivery->look_ms
                           : delivery->reclaim_ms;
    wake_ms = house_ms < wake_ms ? house_ms : wake_ms;
    wake_ms = wake_ms > delivery->full_until_ms ? wake_ms : delivery->full_until_ms;
    return delivery->is_full && delivery->room_ms < wake_ms ? delivery->room_ms : wake_ms;
}

struct engine_admission delivery_admit(struct delivery *delivery, int64_t now_ms)
{
    return engine_admit(delivery->engine, now_ms);
}

void delivery_drain(struct delivery *delivery)
{
    engine_drain(delivery->engine);
}

bool delivery_is_idle(const struct delivery *delivery)
{
    return delivery->idle_count == delivery->config.engine.in_flight_max && !delivery->putting &&
           !delivery->cancelling;
}

struct delivery_stats delivery_stats(struct delivery *delivery, int64_t now_ms)
{
    return (struct delivery_stats){
        .engine = engine_stats(delivery->engine, now_ms),
        .commits = delivery->commits,
        .lost_leases = delivery->lost_leases,
        .is_disk_full = delivery->is_full,
    };
}
