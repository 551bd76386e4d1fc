/* engine - see the header. SPDX-License-Identifier: MIT */
#include "engine.h"

#include <assert.h>
#include <stdlib.h>

#include "lull/duration.h"
#include "lull/error.h"
#include "lull/random.h"
#include "lull/window.h"
#include "saturate.h"
#include "schedule.h"

#define DRAIN_WINDOW_MS LULL_SECONDS(60)
#define DRAIN_UNKNOWN_S 60 /* nothing has left yet: an honest guess is not to be had */
#define DRAIN_MAX_S 3600

struct engine {
    struct engine_config config;
    struct schedule schedule;
    struct lull_random random;
    struct lull_window left; /* counter 0: messages that were delivered or died */
    int64_t started_ms;
    uint64_t waiting;
    uint32_t in_flight; /* with those that are reserved */
    bool is_draining;
};

void engine_config_default(struct engine_config *config)
{
    *config = (struct engine_config){
        .services_max = 16384,
        .in_flight_max = 8000,
        .in_flight_per_service_max = 2000,
        .in_flight_start = 16,
        .lease_max = 500,
        .lease_ms = LULL_SECONDS(120),
        .poison_after = 10,
        .waiting_soft_max = 5000000,
        .waiting_hard_max = 6000000,
        .seed = 1,
    };
}

int engine_new(struct engine **ret_engine, const struct engine_config *config, int64_t now_ms)
{
    if (config->services_max == 0 || config->services_max > (1U << 24) ||
        config->in_flight_max == 0 || config->in_flight_per_service_max == 0 ||
        config->in_flight_start == 0 || config->lease_max == 0 || config->lease_ms <= 0 ||
        config->poison_after == 0 || config->waiting_soft_max == 0 ||
        config->waiting_soft_max > config->waiting_hard_max) {
        return LULL_ERR_RANGE;
    }
    struct engine *engine = calloc(1, sizeof *engine);
    if (!engine || !schedule_init(&engine->schedule, config->services_max)) {
        free(engine);
        return LULL_ERR_MEMORY;
    }
    engine->config = *config;
    engine->started_ms = now_ms;
    lull_random_init(&engine->random, config->seed);
    (void)lull_window_init(&engine->left, DRAIN_WINDOW_MS, now_ms);
    *ret_engine = engine;
    return LULL_OK;
}

void engine_destroy(struct engine *engine)
{
    if (engine) {
        schedule_clean_up(&engine->schedule);
        free(engine);
    }
}

/* ---- services ---- */

static struct scheduled *service_of(struct engine *engine, uint32_t number)
{
    struct scheduled *service = schedule_find(&engine->schedule, number);
    assert(service); /* engine_add_service comes first, and one that is at work stays */
    return service;
}

/* Looked at then, or sooner if it was to be. */
static void wake_by(struct engine *engine, struct scheduled *service, int64_t wake_ms)
{
    wake_ms = max_i64(wake_ms, service->closed_ms);
    if (wake_ms < service->wake_ms) {
        schedule_wake(&engine->schedule, service, wake_ms);
    }
}

int engine_add_service(struct engine *engine, uint32_t number, uint64_t waiting,
                       int64_t next_due_ms)
{
    if (schedule_find(&engine->schedule, number)) {
        return LULL_OK;
    }
    struct scheduled *service = schedule_add(&engine->schedule, number);
    if (!service) {
        return LULL_ERR_FULL;
    }
    width_init(&service->width, engine->config.in_flight_start,
               engine->config.in_flight_per_service_max);
    service->waiting = waiting;
    engine->waiting += waiting;
    schedule_wake(&engine->schedule, service, next_due_ms);
    return LULL_OK;
}

bool engine_knows(const struct engine *engine, uint32_t number)
{
    return schedule_find(&engine->schedule, number) != NULL;
}

void engine_on_count(struct engine *engine, uint32_t number, uint64_t waiting, int64_t next_due_ms)
{
    struct scheduled *service = service_of(engine, number);
    engine->waiting += waiting - service->waiting;
    service->waiting = waiting;
    /* Where room is wanting it may be another node whose messages have ended meanwhile. */
    if (waiting > 0 && (!service->has_more || service->needs_room)) {
        wake_by(engine, service, next_due_ms);
    }
}

void engine_on_gate(struct engine *engine, uint32_t number, int64_t until_ms)
{
    struct scheduled *service = service_of(engine, number);
    service->closed_ms = until_ms;
    if (service->wake_ms != LULL_NEVER && service->wake_ms < until_ms) {
        schedule_wake(&engine->schedule, service, until_ms);
    } else if (service->waiting > 0) {
        wake_by(engine, service, until_ms); /* it may have been closed for longer before */
    }
}

/* ---- new messages ---- */

static uint64_t leaving_milli_per_s(struct engine *engine, int64_t now_ms)
{
    uint64_t left = lull_window_under(&engine->left, now_ms, 0);
    int64_t span_ms = min_i64(max_i64(now_ms - engine->started_ms, 1000), DRAIN_WINDOW_MS);
    return left * 1000000 / (uint64_t)span_ms;
}

/* When so many will have left. */
static int64_t drain_s(struct engine *engine, int64_t now_ms, uint64_t count)
{
    uint64_t rate = leaving_milli_per_s(engine, now_ms);
    if (rate == 0) {
        return DRAIN_UNKNOWN_S;
    }
    uint64_t seconds = count * 1000 / rate + 1;
    return seconds < DRAIN_MAX_S ? (int64_t)seconds : DRAIN_MAX_S;
}

struct engine_admission engine_admit(struct engine *engine, int64_t now_ms)
{
    const struct engine_config *config = &engine->config;
    if (engine->is_draining) {
        return (struct engine_admission){ENGINE_REFUSED, 1};
    }
    if (engine->waiting < config->waiting_soft_max) {
        return (struct engine_admission){ENGINE_ADMITTED, 0};
    }
    bool is_hard = engine->waiting >= config->waiting_hard_max;
    int64_t wait_s = drain_s(engine, now_ms, engine->waiting - config->waiting_soft_max + 1);
    return (struct engine_admission){is_hard ? ENGINE_REFUSED : ENGINE_THROTTLED, wait_s};
}

static bool has_room(const struct engine *engine, const struct scheduled *service)
{
    return engine->in_flight < engine->config.in_flight_max &&
           service->in_flight < service->width.now;
}

bool engine_may_go(struct engine *engine, uint32_t number, int64_t due_ms, int64_t now_ms)
{
    struct scheduled *service = service_of(engine, number);
    bool is_first = !service->has_more && service->wake_ms > now_ms;
    if (engine->is_draining || due_ms > now_ms || service->closed_ms > now_ms || !is_first ||
        !has_room(engine, service)) {
        return false;
    }
    service->in_flight++;
    engine->in_flight++;
    return true;
}

/* There is room again for what could not go. */
static void on_room(struct engine *engine, struct scheduled *service, int64_t now_ms)
{
    if (service->needs_room) {
        service->needs_room = false;
        wake_by(engine, service, now_ms);
    }
}

static void unreserve(struct engine *engine, struct scheduled *service, uint32_t count)
{
    assert(service->in_flight >= count && engine->in_flight >= count);
    service->in_flight -= count;
    engine->in_flight -= count;
}

static void give_back(struct engine *engine, struct scheduled *service, int64_t now_ms)
{
    unreserve(engine, service, 1);
    on_room(engine, service, now_ms);
}

void engine_on_put(struct engine *engine, uint32_t number, bool may_go, bool is_put, bool is_leased,
                   int64_t due_ms, int64_t now_ms)
{
    struct scheduled *service = service_of(engine, number);
    if (may_go && !is_leased) {
        give_back(engine, service, now_ms);
    }
    if (is_put && !is_leased) {
        service->waiting++;
        engine->waiting++;
        wake_by(engine, service, due_ms);
    }
}

void engine_on_removed(struct engine *engine, uint32_t number)
{
    struct scheduled *service = service_of(engine, number);
    service->waiting -= service->waiting > 0;
    engine->waiting -= engine->waiting > 0;
}

/* ---- leasing ---- */

bool engine_next_lease(struct engine *engine, int64_t now_ms, uint32_t *ret_number,
                       uint32_t *ret_max)
{
    while (!engine->is_draining && engine->in_flight < engine->config.in_flight_max) {
        struct scheduled *service = schedule_next(&engine->schedule, now_ms);
        if (!service) {
            return false;
        }
        uint32_t width = service->width.now;
        uint32_t room = width > service->in_flight ? width - service->in_flight : 0;
        /* Until it is known what came of this, or one of its own has ended. */
        schedule_wake(&engine->schedule, service, LULL_NEVER);
        service->has_more = true;
        service->needs_room = room == 0;
        if (room > 0) {
            uint32_t all = engine->config.in_flight_max - engine->in_flight;
            uint32_t most = engine->config.lease_max;
            most = room < most ? room : most;
            most = all < most ? all : most;
            service->in_flight += most;
            engine->in_flight += most;
            *ret_number = service->number;
            *ret_max = most;
            return true;
        }
    }
    return false;
}

void engine_on_leased(struct engine *engine, uint32_t number, uint32_t max, uint32_t count,
                      bool has_more, int64_t until_ms, int64_t now_ms)
{
    struct scheduled *service = service_of(engine, number);
    assert(count <= max);
    service->has_more = has_more;
    service->needs_room = has_more && until_ms == LULL_NEVER;
    service->waiting -= count < service->waiting ? count : service->waiting;
    engine->waiting -= count < engine->waiting ? count : engine->waiting;
    schedule_wake(&engine->schedule, service,
                  until_ms == LULL_NEVER ? LULL_NEVER : max_i64(until_ms, service->closed_ms));
    (void)now_ms;
    unreserve(engine, service, max - count); /* no room that it could use: that is until_ms */
}

/* ---- messages in flight ---- */

static struct lull_facts facts_of(const struct engine_message *message, int64_t now_ms)
{
    struct lull_facts facts;
    lull_facts_init(&facts, message->policy, now_ms);
    facts.kind = message->kind;
    facts.vendor = message->vendor;
    facts.method = message->method;
    facts.is_repeatable = true; /* a queued message is delivered at least once */
    facts.attempt = message->attempts + 1;
    facts.first_accepted_ms = message->accepted_ms;
    facts.ttl_ms = message->ttl_ms;
    facts.previous_delay_ms = message->previous_delay_ms;
    facts.auth_retries = message->auth_retries;
    return facts;
}

static void die(struct engine_order *order, enum lull_reason reason)
{
    order->kind = ENGINE_DIE;
    order->reason = reason;
    order->verdict.kind = LULL_VERDICT_DEAD;
    order->verdict.reason = reason;
}

static void decide(struct engine *engine, int64_t now_ms, const struct engine_message *message,
                   const struct lull_outcome *outcome, struct engine_order *order)
{
    struct lull_facts facts = facts_of(message, now_ms);
    *order = (struct engine_order){
        .attempts = message->attempts,
        .auth_retries = message->auth_retries,
    };
    int error = lull_decide(message->policy, &facts, outcome, now_ms, &engine->random,
                            &order->verdict, NULL);
    if (error !=
        LULL_OK) { /* an outcome that cannot be, so the message is not to be gone on with */
        die(order, LULL_REASON_POISON);
    }
    order->reason = order->verdict.reason;
    order->remaining_ms = order->verdict.remaining_ms;
}

void engine_before_send(struct engine *engine, int64_t now_ms, const struct engine_message *message,
                        struct engine_order *ret_order)
{
    const struct lull_outcome pending = {.kind = LULL_OUTCOME_PENDING};
    decide(engine, now_ms, message, &pending, ret_order);
    if (message->is_cancelled) {
        die(ret_order, LULL_REASON_CANCELLED);
    } else if (message->lost >= engine->config.poison_after) {
        die(ret_order, LULL_REASON_POISON);
    } else if (ret_order->verdict.kind != LULL_VERDICT_SEND) {
        die(ret_order, ret_order->reason);
    } else {
        ret_order->kind = ENGINE_SEND;
        ret_order->is_token_doubted = message->auth_retries > 0;
    }
}

void engine_on_outcome(struct engine *engine, int64_t now_ms, const struct engine_message *message,
                       const struct lull_outcome *outcome, struct engine_order *ret_order)
{
    struct engine_order *order = ret_order;
    const struct lull_verdict *verdict = &order->verdict;
    decide(engine, now_ms, message, outcome, order);
    order->attempts += verdict->burns_attempt;
    order->auth_retries += (verdict->side_effects & LULL_DO_FRESH_JWT) != 0;
    if (verdict->side_effects & LULL_DO_HOLD) {
        order->hold_until_ms = saturating_add(now_ms, verdict->hold_ms);
    }
    if (verdict->side_effects & LULL_DO_PAUSE) {
        order->pause_until_ms = saturating_add(now_ms, verdict->hold_ms);
    }
    if (verdict->kind == LULL_VERDICT_DELIVERED) {
        order->kind = ENGINE_DONE;
    } else if (verdict->kind == LULL_VERDICT_RETRY && message->is_cancelled) {
        die(order, LULL_REASON_CANCELLED);
    } else if (verdict->kind == LULL_VERDICT_RETRY) {
        order->kind = ENGINE_RETRY;
        order->due_ms = saturating_add(now_ms, verdict->delay_ms);
        order->is_asked_for = verdict->retry_after.state == LULL_RETRY_AFTER_OK;
    } else {
        die(order, order->reason);
    }
}

void engine_on_queued(struct engine *engine, uint32_t number, int64_t queued_ms)
{
    struct scheduled *service = service_of(engine, number);
    width_on_queued(&service->width, queued_ms, service->in_flight);
}

void engine_on_settled(struct engine *engine, uint32_t number, enum engine_order_kind kind,
                       int64_t due_ms, int64_t now_ms)
{
    struct scheduled *service = service_of(engine, number);
    if (kind == ENGINE_RETRY) {
        service->waiting++;
        engine->waiting++;
        wake_by(engine, service, due_ms);
    } else if (kind != ENGINE_SEND) {
        lull_window_add(&engine->left, now_ms, 0, 1);
    }
    give_back(engine, service, now_ms);
}

/* ---- and else ---- */

void engine_drain(struct engine *engine)
{
    engine->is_draining = true;
}

bool engine_has_room(const struct engine *engine, uint32_t number)
{
    const struct scheduled *service = schedule_find(&engine->schedule, number);
    return !service || has_room(engine, service);
}

int64_t engine_wake_ms(const struct engine *engine)
{
    bool can_lease = !engine->is_draining && engine->in_flight < engine->config.in_flight_max;
    return can_lease ? schedule_wake_ms(&engine->schedule) : LULL_NEVER;
}

struct engine_stats engine_stats(struct engine *engine, int64_t now_ms)
{
    return (struct engine_stats){
        .waiting = engine->waiting,
        .in_flight = engine->in_flight,
        .services = engine->schedule.count,
        .leaving_milli_per_s = leaving_milli_per_s(engine, now_ms),
    };
}
