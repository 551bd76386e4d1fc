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

<<<<<<< HEAD
=======
/* ---- a batch: gather ---- */

static void gather_settles(struct delivery *delivery, struct store_batch *batch)
{
    struct batch_room *room = &delivery->room;
    for (struct flight *flight = delivery->settling; flight; flight = flight->next) {
        struct engine_order *order = &flight->order;
        enum store_settle_kind kind = order->kind == ENGINE_DONE    ? STORE_DONE
                                      : order->kind == ENGINE_RETRY ? STORE_RETRY
                                                                    : STORE_DIE;
        room->settles[batch->settle_count++] =
            (struct store_settle){.kind = kind, .message = flight->message};
        batch->is_durable |= kind != STORE_DONE; /* that one may be repeated, these not be lost */
        if (order->hold_until_ms > 0) {
            room->holds[batch->hold_count++] =
                (struct store_hold){flight->message->target, order->hold_until_ms};
        }
        if (order->pause_until_ms > 0) {
            /* From here on, also if another node has set the gate meanwhile, so that ours comes
             * later. */
            engine_on_gate(delivery->engine, flight->message->service,
                           services_want_pause(&delivery->services, flight->message->service,
                                               order->pause_until_ms, false));
        }
    }
}

static void gather_cancels(struct delivery *delivery, struct store_batch *batch)
{
    const struct delivery_cancel *cancel = delivery->cancelling;
    while (cancel && batch->cancel_count < BATCH_CANCELS_MAX) {
        delivery->room.cancels[batch->cancel_count++] = (struct store_cancel){.id = cancel->id};
        cancel = cancel->next;
        batch->is_durable = true;
    }
}

static void gather_puts(struct delivery *delivery, struct store_batch *batch, int64_t now_ms)
{
    struct delivery_put *put = delivery->putting;
    while (put && batch->put_count < BATCH_PUTS_MAX) {
        struct message *message = put->put.message;
        put->put.is_lease_wanted =
            engine_may_go(delivery->engine, message->service, message->due_ms, now_ms);
        put->put.lease = ++delivery->lease;
        put->put.lease_until_ms = now_ms + delivery->config.engine.lease_ms;
        delivery->room.puts[batch->put_count++] = put->put;
        put = put->next;
        batch->is_durable = true;
    }
}

static void gather_leases(struct delivery *delivery, struct store_batch *batch, int64_t now_ms)
{
    struct message **place = delivery->leased;
    uint32_t number = 0;
    uint32_t max = 0;
    while (batch->lease_count < BATCH_LEASES_MAX &&
           engine_next_lease(delivery->engine, now_ms, &number, &max)) {
        delivery->room.leases[batch->lease_count++] = (struct store_lease){
            .service = number,
            .max = max,
            .lease = ++delivery->lease,
            .lease_until_ms = now_ms + delivery->config.engine.lease_ms,
            .messages = place,
        };
        place += max; /* all of them together are never more than may be in flight */
    }
}

static bool gather(struct delivery *delivery, struct store_batch *batch, int64_t now_ms)
{
    struct batch_room *room = &delivery->room;
    *batch = (struct store_batch){
        .settles = room->settles,
        .cancels = room->cancels,
        .holds = room->holds,
        .gates = room->gates,
        .puts = room->puts,
        .leases = room->leases,
    };
    gather_settles(delivery, batch);
    gather_cancels(delivery, batch);
    batch->gate_count = services_gather(&delivery->services, room->gates, BATCH_GATES_MAX);
    batch->is_durable |= batch->gate_count > 0;
    gather_puts(delivery, batch, now_ms);
    gather_leases(delivery, batch, now_ms);
    return batch->settle_count + batch->cancel_count + batch->gate_count + batch->put_count +
               batch->lease_count >
           0;
}

/* ---- a batch: follow ---- */

static void end_flight(struct delivery *delivery, struct flight *flight)
{
    const struct delivery_host *host = &delivery->config.host;
    number_table_remove(&delivery->by_id, flight->message->id);
    host->let_go(host->userdata, flight->message);
    message_free(flight->message);
    flight->message = NULL;
    delivery->idle[delivery->idle_count++] = (uint32_t)(flight - delivery->flights);
}

static void follow_settles(struct delivery *delivery, const struct store_batch *batch,
                           int64_t now_ms)
{
    const struct delivery_host *host = &delivery->config.host;
    for (size_t i = 0; i < batch->settle_count; i++) {
        struct flight *flight = delivery->settling;
        struct message *message = flight->message;
        bool is_lost = batch->settles[i].ret_is_stale && flight->order.kind != ENGINE_DONE;
        delivery->settling = flight->next;
        delivery->is_miscounted |= batch->settles[i].ret_is_stale; /* was it waiting again? */
        message->died_ms = flight->order.kind == ENGINE_DIE ? now_ms : 0;
        engine_on_settled(delivery->engine, message->service,
                          is_lost ? ENGINE_SEND : flight->order.kind, flight->order.due_ms, now_ms);
        host->on_settled(host->userdata, message, &flight->order, is_lost, now_ms);
        end_flight(delivery, flight);
    }
    delivery->settling_last = delivery->settling ? delivery->settling_last : NULL;
}

static enum delivery_cancelled how_cancelled(struct delivery *delivery, uint64_t id)
{
    struct flight *flight = find_flight(delivery, id);
    struct message *message = NULL;
    if (flight) {
        flight->known.is_cancelled = true;
        return DELIVERY_CANCELLING;
    }
    (void)store_find(delivery->store, id, &message);
    bool is_there = message != NULL;
    message_free(message);
    return is_there || store_has_given(delivery->store, id) ? DELIVERY_CANCEL_LATE
                                                            : DELIVERY_CANCEL_UNKNOWN;
}

static void follow_cancels(struct delivery *delivery, const struct store_batch *batch)
{
    const struct delivery_host *host = &delivery->config.host;
    for (size_t i = 0; i < batch->cancel_count; i++) {
        const struct store_cancel *done = &batch->cancels[i];
        struct delivery_cancel *cancel = delivery->cancelling;
        delivery->cancelling = cancel->next;
        if (done->ret_is_done && engine_knows(delivery->engine, done->ret_service)) {
            engine_on_removed(delivery->engine, done->ret_service);
        }
        host->on_cancel(host->userdata, cancel,
                        done->ret_is_done ? DELIVERY_CANCELLED
                                          : how_cancelled(delivery, cancel->id));
    }
    delivery->cancelling_last = delivery->cancelling ? delivery->cancelling_last : NULL;
}

static struct delivery_put *next_put(struct delivery *delivery)
{
    struct delivery_put *put = delivery->putting;
    delivery->putting = put->next;
    delivery->putting_last = delivery->putting ? delivery->putting_last : NULL;
    return put;
}

static void follow_puts(struct delivery *delivery, const struct store_batch *batch, int64_t now_ms)
{
    const struct delivery_host *host = &delivery->config.host;
    for (size_t i = 0; i < batch->put_count; i++) {
        struct delivery_put *put = next_put(delivery);
        put->put = batch->puts[i];
        struct message *message = put->put.message;
        bool is_leased = put->put.ret_result == STORE_PUT_LEASED;
        bool is_put = is_leased || put->put.ret_result == STORE_PUT_WAITING;
        engine_on_put(delivery->engine, message->service, put->put.is_lease_wanted, is_put,
                      is_leased, message->due_ms, now_ms);
        if (put->put.ret_replaced != 0) {
            engine_on_removed(delivery->engine, message->service);
        }
        host->on_put(host->userdata, put, LULL_OK);
        if (is_leased) {
            launch(delivery, message, now_ms);
        }
    }
}

static void follow_leases(struct delivery *delivery, const struct store_batch *batch,
                          int64_t now_ms)
{
    for (size_t i = 0; i < batch->lease_count; i++) {
        const struct store_lease *lease = &batch->leases[i];
        services_note(&delivery->services, lease);
        bool is_all = lease->ret_count < lease->max && lease->ret_stop == GATE_OPEN;
        engine_on_leased(delivery->engine, lease->service, lease->max, lease->ret_count, !is_all,
                         lease->ret_count == lease->max ? now_ms : lease->ret_until_ms, now_ms);
        for (uint32_t k = 0; k < lease->ret_count; k++) {
            launch(delivery, lease->messages[k], now_ms);
        }
    }
}

/* ---- a batch: take back ---- */

static void refuse_puts(struct delivery *delivery, size_t count, int error, int64_t now_ms)
{
    const struct delivery_host *host = &delivery->config.host;
    for (size_t i = 0; i < count; i++) {
        struct delivery_put *put = next_put(delivery);
        const struct message *message = put->put.message;
        engine_on_put(delivery->engine, message->service, put->put.is_lease_wanted, false, false,
                      message->due_ms, now_ms);
        host->on_put(host->userdata, put, error);
    }
}

static void take_back(struct delivery *delivery, const struct store_batch *batch, int error,
                      int64_t now_ms)
{
    refuse_puts(delivery, batch->put_count, error, now_ms);
    for (size_t i = 0; i < batch->lease_count; i++) {
        const struct store_lease *lease = &batch->leases[i];
        engine_on_leased(delivery->engine, lease->service, lease->max, 0, true,
                         now_ms + delivery->config.retry_full_ms, now_ms);
    }
}

>>>>>>> 664df844efd6c6e62dd31dd2b2cf08bc47282ecb
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
