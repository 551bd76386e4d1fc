/* delivery_services - see delivery_parts.h. SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delivery_parts.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "saturate.h"

bool batch_room_init(struct batch_room *room, uint32_t in_flight_max)
{
    *room = (struct batch_room){
        .settles = calloc(in_flight_max, sizeof(struct store_settle)),
        .holds = calloc(in_flight_max, sizeof(struct store_hold)),
        .puts = calloc(BATCH_PUTS_MAX, sizeof(struct store_put)),
        .leases = calloc(BATCH_LEASES_MAX, sizeof(struct store_lease)),
        .cancels = calloc(BATCH_CANCELS_MAX, sizeof(struct store_cancel)),
        .gates = calloc(BATCH_GATES_MAX, sizeof(struct store_set_gate)),
    };
    return room->settles && room->holds && room->puts && room->leases && room->cancels &&
           room->gates;
}

void batch_room_clean_up(struct batch_room *room)
{
    free(room->settles);
    free(room->holds);
    free(room->puts);
    free(room->leases);
    free(room->cancels);
    free(room->gates);
}

void services_clean_up(struct service_gates *services)
{
    for (size_t i = 0; i < services->size; i++) {
        free(services->list[i]);
    }
    free(services->list);
}

static struct service_gate *find(const struct service_gates *services, uint32_t number)
{
    return number > 0 && number <= services->size ? services->list[number - 1] : NULL;
}

/* Found, or new. NULL: no memory. */
static struct service_gate *know(struct service_gates *services, uint32_t number, const char *name)
{
    if (number > services->size) {
        size_t size = services->size * 2 > number ? services->size * 2 : (size_t)number + 16;
        struct service_gate **list = realloc(services->list, size * sizeof(struct service_gate *));
        if (!list) {
            return NULL;
        }
        memset(list + services->size, 0, (size - services->size) * sizeof(struct service_gate *));
        services->list = list;
        services->size = size;
    }
    struct service_gate **place = &services->list[number - 1];
    if (!*place && (*place = calloc(1, sizeof **place))) {
        (*place)->number = number;
        (void)snprintf((*place)->name, sizeof(*place)->name, "%s", name);
    }
    return *place;
}

static void want(struct service_gates *services, struct service_gate *service,
                 const struct gate *gate)
{
    service->wanted = *gate;
    if (!service->is_wanted) {
        service->is_wanted = true;
        service->next_wanted = services->wanted;
        services->wanted = service;
    }
}

static bool is_same(const struct gate *a, const struct gate *b)
{
    return a->paused_until_ms == b->paused_until_ms && a->rate_milli_per_s == b->rate_milli_per_s &&
           a->burst == b->burst && a->in_flight_max == b->in_flight_max;
}

/* What the operator has set wins over what the store has from before. */
static void limit(struct delivery *delivery, struct service_gate *service)
{
    struct gate gate = service->is_wanted ? service->wanted : service->gate;
    delivery->config.host.limit(delivery->config.host.userdata, service->name, &gate);
    if (!is_same(&gate, &service->gate)) {
        want(&delivery->services, service, &gate);
    }
}

struct look {
    struct delivery *delivery;
    int64_t now_ms;
    int error;
};

static void look_at(void *userdata, const struct store_service *seen)
{
    struct look *look = userdata;
    struct delivery *delivery = look->delivery;
    struct service_gate *service = know(&delivery->services, seen->number, seen->name);
    if (look->error != LULL_OK || !service) {
        look->error = look->error != LULL_OK ? look->error : LULL_ERR_MEMORY;
        return;
    }
    bool is_changed = service->gate.paused_until_ms != seen->gate.paused_until_ms;
    service->gate = seen->gate;
    if (service->is_wanted && !service->is_by_operator) {
        /* Another node may have been told to wait for longer, or its operator not to. */
        service->wanted.paused_until_ms = max_i64(seen->gate.paused_until_ms, service->asked_ms);
    }
    limit(delivery, service);
    if (!engine_knows(delivery->engine, seen->number)) {
        if (seen->waiting == 0) {
            return; /* it gets its place with its next message */
        }
        int error =
            engine_add_service(delivery->engine, seen->number, seen->waiting, seen->next_due_ms);
        if (error != LULL_OK) { /* more services wait than there are places: it gets one later */
            look->delivery->is_crowded = true;
            return;
        }
    } else {
        engine_on_count(delivery->engine, seen->number, seen->waiting, seen->next_due_ms);
    }
    /* Also where another node has ended a pause. */
    if (is_changed || service->gate.paused_until_ms > look->now_ms) {
        engine_on_gate(delivery->engine, seen->number, service->gate.paused_until_ms);
    }
}

int services_look(struct delivery *delivery, int64_t now_ms)
{
    struct look look = {delivery, now_ms, LULL_OK};
    delivery->is_crowded = false;
    int error = store_services(delivery->store, look_at, &look);
    return error != LULL_OK ? error : look.error;
}

int services_number(struct delivery *delivery, const char *name, size_t length,
                    uint32_t *ret_number)
{
    struct service_gates *services = &delivery->services;
    uint32_t number = services->last_number;
    if (length != services->last_length || memcmp(name, services->last_name, length) != 0) {
        int error = store_service(delivery->store, name, length, &number);
        if (error != LULL_OK) {
            return error;
        }
        memcpy(services->last_name, name, length);
        services->last_name[length] = '\0';
        services->last_length = length;
        services->last_number = number;
    }
    bool is_new = find(services, number) == NULL;
    struct service_gate *service = know(services, number, services->last_name);
    if (!service) {
        return LULL_ERR_MEMORY;
    }
    if (is_new) {
        limit(delivery, service);
    }
    int error = engine_knows(delivery->engine, number)
                    ? LULL_OK
                    : engine_add_service(delivery->engine, number, 0, LULL_NEVER);
    *ret_number = error == LULL_OK ? number : *ret_number;
    return error;
}

int64_t services_want_pause(struct service_gates *services, uint32_t number, int64_t until_ms,
                            bool is_final)
{
    struct service_gate *service = find(services, number);
    assert(service);
    struct gate gate = service->is_wanted ? service->wanted : service->gate;
    int64_t before_ms = gate.paused_until_ms;
    gate.paused_until_ms = is_final || until_ms > before_ms ? until_ms : before_ms;
    /* Among several nodes what is known here may be old: then only the store can say so. */
    if (gate.paused_until_ms != before_ms || services->is_shared) {
        service->is_by_operator = is_final || (service->is_wanted && service->is_by_operator);
        service->asked_ms = is_final ? 0 : max_i64(service->asked_ms, until_ms);
        want(services, service, &gate);
    }
    return gate.paused_until_ms;
}

bool services_has_wish(const struct service_gates *services)
{
    return services->wanted != NULL;
}

size_t services_gather(struct service_gates *services, struct store_set_gate *gates, size_t max)
{
    size_t count = 0;
    for (const struct service_gate *service = services->wanted; service && count < max;
         service = service->next_wanted) {
        gates[count++] = (struct store_set_gate){
            .service = service->number,
            .expected_version = service->gate.version,
            .gate = service->wanted,
        };
    }
    return count;
}

void services_follow(struct delivery *delivery, const struct store_batch *batch, int64_t now_ms)
{
    bool is_missed = false;
    for (size_t i = 0; i < batch->gate_count; i++) {
        const struct store_set_gate *set = &batch->gates[i];
        struct service_gate *service = find(&delivery->services, set->service);
        if (!set->ret_is_set) { /* another node was first: look, and try again */
            is_missed = true;
            continue;
        }
        service->gate = set->gate;
        service->gate.version = set->expected_version + 1;
        if (engine_knows(delivery->engine, set->service)) {
            engine_on_gate(delivery->engine, set->service, set->gate.paused_until_ms);
        }
    }
    if (is_missed) {
        (void)services_look(delivery, now_ms); /* at the next look, if not now */
    }
    struct service_gate **place = &delivery->services.wanted;
    while (*place) {
        struct service_gate *service = *place;
        service->is_wanted = !is_same(&service->wanted, &service->gate);
        service->is_by_operator &= service->is_wanted;
        service->asked_ms = service->is_wanted ? service->asked_ms : 0;
        *place = service->is_wanted ? *place : service->next_wanted;
        place = service->is_wanted ? &service->next_wanted : place;
    }
}

void services_note(struct service_gates *services, const struct store_lease *lease)
{
    struct service_gate *service = find(services, lease->service);
    if (service) {
        service->last_stop = lease->ret_stop;
        service->last_until_ms = lease->ret_until_ms;
    }
}

const char *delivery_service_name(const struct delivery *delivery, uint32_t number)
{
    const struct service_gate *service = find(&delivery->services, number);
    return service ? service->name : "";
}

enum gate_stop delivery_stop_of(const struct delivery *delivery, uint32_t number, int64_t now_ms,
                                int64_t *ret_until_ms)
{
    const struct service_gate *service = find(&delivery->services, number);
    *ret_until_ms = LULL_NEVER;
    if (!service) {
        return GATE_OPEN;
    }
    if (service->gate.paused_until_ms > now_ms) {
        *ret_until_ms = service->gate.paused_until_ms;
        return GATE_PAUSED;
    }
    if (service->last_stop == GATE_RATE && service->last_until_ms > now_ms) {
        *ret_until_ms = service->last_until_ms;
        return GATE_RATE;
    }
    return service->last_stop == GATE_FULL || !engine_has_room(delivery->engine, number)
               ? GATE_FULL
               : GATE_OPEN;
}
