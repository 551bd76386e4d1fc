/* service - see the header. SPDX-License-Identifier: MIT */
#include "lull/service.h"

#include "lull/duration.h"
#include "lull/error.h"
#include "saturate.h"

/* A gate that is full has no time of its own: ask again when an answer may have come. */
#define FULL_WAIT_MS 10

void lull_service_config_default(struct lull_service_config *config)
{
    *config = (struct lull_service_config){
        .vendor = LULL_VENDOR_OTHER,
        .rate_mode = LULL_RATE_LEARNED,
        .fixed = {.capacity = 500, .rate_milli_per_s = 100000},
        .learned_burst = 20,
        .pause_ms = LULL_SECONDS(60),
        .refusal_wait_ms = LULL_SECONDS(15),
    };
    lull_rate_config_default(&config->rate);
    lull_pacer_config_default(&config->pacer);
    lull_scope_config_default(&config->scope);
    lull_breaker_config_default(&config->breaker);
}

/* The learned rate with room for a fifth of a second of it, so that a slow service never gets
 * the burst that a fast one would not notice. */
static struct lull_bucket_config learned_bucket(const struct lull_service *service)
{
    uint64_t fifth = service->rate.milli_per_s / 5000;
    uint64_t most = service->config.learned_burst;
    return (struct lull_bucket_config){
        .capacity = (uint32_t)(fifth < 1      ? 1
                               : fifth > most ? most
                                              : fifth),
        .rate_milli_per_s = service->rate.milli_per_s,
    };
}

int lull_service_init(struct lull_service *service, const struct lull_service_config *config,
                      int64_t mono_ms)
{
    struct lull_service fresh = {
        .config = *config,
        .backlog = LULL_BACKLOG_UNKNOWN,
        .refusal_wait_ms = config->refusal_wait_ms,
        .answered_ms = INT64_MIN,
        .active_ms = mono_ms,
    };
    if (config->learned_burst < 1 || config->pause_ms <= 0 || config->refusal_wait_ms < 0 ||
        (unsigned)config->vendor >= LULL_VENDORS ||
        lull_rate_init(&fresh.rate, &config->rate, mono_ms) != LULL_OK ||
        lull_pacer_init(&fresh.pacer, &config->pacer, mono_ms) != LULL_OK ||
        lull_scope_init(&fresh.scope, &config->scope, mono_ms) != LULL_OK ||
        lull_breaker_init(&fresh.breaker, &config->breaker, mono_ms) != LULL_OK) {
        return LULL_ERR_RANGE;
    }
    struct lull_bucket_config bucket =
        config->rate_mode == LULL_RATE_FIXED ? config->fixed : learned_bucket(&fresh);
    if (lull_bucket_init(&fresh.bucket, &bucket, mono_ms) != LULL_OK) {
        return LULL_ERR_RANGE;
    }
    *service = fresh;
    return LULL_OK;
}

void lull_service_set_backlog(struct lull_service *service, uint64_t backlog)
{
    service->backlog = backlog;
}

void lull_service_pause(struct lull_service *service, int64_t mono_ms, int64_t for_ms)
{
    service->is_paused = for_ms > 0;
    service->paused_until_ms = saturating_add(mono_ms, min_i64(for_ms, LULL_WAIT_MAX_MS));
}

/* True if it is longer now than it was. */
static bool lengthen_pause(struct lull_service *service, int64_t mono_ms, int64_t for_ms)
{
    int64_t until_ms = saturating_add(mono_ms, min_i64(for_ms, LULL_WAIT_MAX_MS));
    if (for_ms <= 0 || (service->is_paused && until_ms <= service->paused_until_ms)) {
        return false;
    }
    lull_service_pause(service, mono_ms, for_ms);
    return true;
}

/* What closes the gate for everybody, and for how long. Lets time do its work on the way. */
static int64_t closed_for(struct lull_service *service, int64_t mono_ms, struct lull_random *random,
                          enum lull_gate_cause *ret_cause)
{
    if (service->is_paused && mono_ms >= service->paused_until_ms) {
        service->is_paused = false;
    }
    if (service->is_paused) {
        *ret_cause = LULL_GATE_PAUSED;
        return service->paused_until_ms - mono_ms;
    }
    int64_t wait_ms = lull_breaker_wait(&service->breaker, mono_ms, random);
    bool is_half_open = service->breaker.state == LULL_BREAKER_HALF_OPEN;
    *ret_cause = wait_ms > 0 || is_half_open ? LULL_GATE_BREAKER : LULL_GATE_OPEN;
    return wait_ms;
}

static void follow_learned_rate(struct lull_service *service, int64_t mono_ms)
{
    if (service->config.rate_mode == LULL_RATE_LEARNED) {
        lull_rate_update(&service->rate, mono_ms, service->backlog, service->refusal_wait_ms);
        struct lull_bucket_config bucket = learned_bucket(service);
        (void)lull_bucket_configure(&service->bucket, &bucket, mono_ms);
    }
}

int64_t lull_service_ask(struct lull_service *service, int64_t mono_ms, struct lull_random *random,
                         struct lull_service_permit *ret_permit, enum lull_gate_cause *ret_cause)
{
    enum lull_gate_cause cause = LULL_GATE_OPEN;
    struct lull_breaker_permit permit = {0};
    int64_t wait_ms = closed_for(service, mono_ms, random, &cause);
    if (saturating_sub(mono_ms, service->active_ms) >= service->config.breaker.probe_timeout_ms) {
        service->in_flight = 0; /* lost, all of them */
    }
    if (wait_ms == 0 && service->in_flight >= lull_pacer_limit(&service->pacer, mono_ms)) {
        cause = LULL_GATE_FULL;
        wait_ms = FULL_WAIT_MS;
    }
    bool has_bucket = service->config.rate_mode != LULL_RATE_UNLIMITED;
    if (wait_ms == 0 && has_bucket) {
        follow_learned_rate(service, mono_ms);
        wait_ms = lull_bucket_wait(&service->bucket, mono_ms, 1);
        cause = wait_ms > 0 ? LULL_GATE_RATE : cause;
    }
    if (wait_ms == 0) {
        wait_ms = lull_breaker_ask(&service->breaker, mono_ms, random, &permit);
        cause = wait_ms > 0 ? LULL_GATE_BREAKER : LULL_GATE_OPEN;
    }
    if (ret_cause) {
        *ret_cause = cause;
    }
    if (wait_ms > 0) {
        return wait_ms;
    }
    if (has_bucket) {
        (void)lull_bucket_take(&service->bucket, mono_ms, 1);
    }
    lull_scope_on_sent(&service->scope, mono_ms);
    service->in_flight++;
    service->active_ms = mono_ms;
    *ret_permit = (struct lull_service_permit){permit, mono_ms};
    return 0;
}

/* A 429: whom does it mean, and who answers it? True if it counts against the service: one that a
 * lower rate or a pause has answered already does not (K1), or the refusals of one moment would be
 * paid for twice; nor does a quota of one subscription (P4, V3). */
static bool on_throttled(struct lull_service *service, int64_t mono_ms, bool is_answered,
                         const struct lull_service_outcome *outcome, int64_t sent_ms,
                         struct lull_service_events *events)
{
    const struct lull_vendor_traits *vendor = lull_vendor_lookup(service->config.vendor);
    bool is_many =
        !is_answered && lull_scope_on_throttled(&service->scope, mono_ms, outcome->subscription);
    events->is_sender_throttled = vendor->is_throttle_sender_wide || is_many;
    service->refusal_wait_ms =
        outcome->retry_after_ms > 0 ? outcome->retry_after_ms : service->config.refusal_wait_ms;
    if (vendor->is_throttle_single_only && !is_many) {
        return false;
    }
    int64_t pause_ms = 0;
    if (events->is_sender_throttled && (!is_answered || service->is_paused)) {
        pause_ms = outcome->retry_after_ms > 0 ? outcome->retry_after_ms
                   : is_answered               ? 0
                                               : service->config.pause_ms;
        events->is_paused = lengthen_pause(service, mono_ms, pause_ms);
    }
    if (is_answered) {
        return false;
    }
    if (pause_ms > 0) {
        lull_scope_clear(&service->scope, mono_ms);
        service->answered_ms = mono_ms + 1; /* what went out in this very moment, too */
    }
    if (service->config.rate_mode == LULL_RATE_LEARNED &&
        lull_rate_on_throttled(&service->rate, mono_ms, sent_ms, pause_ms)) {
        service->answered_ms = max_i64(service->answered_ms, service->rate.fresh_ms);
    }
    return true;
}

/* Did the service itself give this answer? */
static bool is_answer(enum lull_class class_)
{
    return class_ != LULL_CLASS_PENDING && class_ != LULL_CLASS_TRANSPORT &&
           class_ != LULL_CLASS_CANCELLED && class_ != LULL_CLASS_INVALID_TARGET;
}

struct lull_service_events lull_service_report(struct lull_service *service, int64_t mono_ms,
                                               struct lull_service_permit permit,
                                               const struct lull_service_outcome *outcome,
                                               struct lull_random *random)
{
    struct lull_service_events events = {false, false, false};
    bool is_throttled =
        outcome->class_ == LULL_CLASS_THROTTLED || outcome->class_ == LULL_CLASS_AUTH_SUSPECT;
    bool is_counted = is_answer(outcome->class_);
    service->in_flight -= service->in_flight > 0;
    service->active_ms = mono_ms;
    if (is_throttled) {
        bool is_answered = permit.sent_ms < service->answered_ms;
        is_counted = on_throttled(service, mono_ms, is_answered, outcome, permit.sent_ms, &events);
    } else if (service->config.rate_mode == LULL_RATE_LEARNED && is_counted &&
               outcome->class_ != LULL_CLASS_UNAVAILABLE) {
        lull_rate_on_accepted(&service->rate, mono_ms, permit.sent_ms);
    }
    enum lull_breaker_result result = lull_breaker_result_of(outcome->class_);
    if (result == LULL_BREAKER_THROTTLED && !is_counted) {
        result = LULL_BREAKER_IGNORED;
    }
    events.is_breaker_opened = lull_breaker_report(&service->breaker, mono_ms, permit.breaker,
                                                   result, outcome->retry_after_ms, random);
    if (!is_counted) {
        return events;
    }
    enum lull_pacer_event pace = lull_pacer_report(&service->pacer, mono_ms, is_throttled);
    if (pace == LULL_PACER_HALT && service->breaker.state == LULL_BREAKER_CLOSED) {
        lull_breaker_trip(&service->breaker, mono_ms, outcome->retry_after_ms, random);
        events.is_breaker_opened = true;
    }
    return events;
}

struct lull_gate lull_service_gate(struct lull_service *service, int64_t mono_ms,
                                   struct lull_random *random)
{
    struct lull_gate gate = {.cause = LULL_GATE_OPEN};
    int64_t wait_ms = closed_for(service, mono_ms, random, &gate.cause);
    gate.closed_until_ms = wait_ms > 0 ? saturating_add(mono_ms, wait_ms) : 0;
    gate.is_probe_only = service->breaker.state == LULL_BREAKER_HALF_OPEN;
    gate.in_flight_max = gate.is_probe_only ? 1 : lull_pacer_limit(&service->pacer, mono_ms);
    if (service->config.rate_mode != LULL_RATE_UNLIMITED) {
        follow_learned_rate(service, mono_ms);
        gate.rate_milli_per_s = service->bucket.config.rate_milli_per_s;
        gate.burst = service->bucket.config.capacity;
    }
    if (service->breaker.state == LULL_BREAKER_SLOW_START) {
        const struct lull_bucket_config *pace = &service->breaker.pace.config;
        if (gate.rate_milli_per_s == 0 || pace->rate_milli_per_s < gate.rate_milli_per_s) {
            gate.rate_milli_per_s = pace->rate_milli_per_s;
            gate.burst = pace->capacity;
        }
    }
    return gate;
}

const char *lull_gate_cause_to_string(enum lull_gate_cause cause)
{
    static const char *const words[] = {"open", "paused", "breaker", "rate", "full"};
    return words[cause];
}
