/* rate - see the header for the phases. SPDX-License-Identifier: MIT */
#include "lull/rate.h"

#include <stdbool.h>

#include "lull/duration.h"
#include "lull/error.h"
#include "saturate.h"

#define TICK_MS 100

/* The tenth root of two, in thousandths: ten ticks double. */
#define TICK_GROWTH UINT64_C(1072)

#define MARGIN_HOLD UINT64_C(985)  /* hold this much of the limit */
#define MARGIN_YIELD UINT64_C(900) /* ... and this much just after a refusal, for YIELD_MS */
#define YIELD_MS 1000
#define RAMP_KEEP UINT64_C(700) /* the first refusal of a ramp: keep this much of the rate */
#define PROBE_START UINT64_C(40) /* a probe begins this much over the limit and doubles */

/* Two refusals must be this far apart for the count between them to be a measurement. */
#define MEASURE_MIN_MS 1000
#define MEASURE_MIN_ACCEPTED 5

/* A sender that uses less than this much of its rate shows nothing about the limit. */
#define USED_MIN UINT64_C(750)

void lull_rate_config_default(struct lull_rate_config *config)
{
    *config = (struct lull_rate_config){
        .start_milli_per_s = 100000,
        .min_milli_per_s = 200,
        .max_milli_per_s = 1000000000,
        .hold_ms = LULL_SECONDS(4),
        .hold_max_ms = LULL_SECONDS(6),
    };
}

int lull_rate_init(struct lull_rate *rate, const struct lull_rate_config *config, int64_t mono_ms)
{
    if (config->min_milli_per_s == 0 || config->min_milli_per_s > config->start_milli_per_s ||
        config->start_milli_per_s > config->max_milli_per_s ||
        config->max_milli_per_s > UINT64_C(1000000000000) || config->hold_ms <= 0 ||
        config->hold_max_ms < config->hold_ms || config->hold_max_ms > LULL_WAIT_MAX_MS) {
        return LULL_ERR_RANGE;
    }
    *rate = (struct lull_rate){
        .config = *config,
        .phase = LULL_RATE_RAMP,
        .milli_per_s = config->start_milli_per_s,
        .tick_ms = mono_ms,
        .cut_ms = INT64_MIN,
        .hold_ms = config->hold_ms,
        .mark_ms = mono_ms,
    };
    return LULL_OK;
}

static uint64_t share(uint64_t value, uint64_t permille)
{
    return value * permille / 1000;
}

static uint64_t clamp(const struct lull_rate *rate, uint64_t milli)
{
    if (milli < rate->config.min_milli_per_s) {
        return rate->config.min_milli_per_s;
    }
    return milli > rate->config.max_milli_per_s ? rate->config.max_milli_per_s : milli;
}

void lull_rate_on_accepted(struct lull_rate *rate, int64_t mono_ms, int64_t sent_ms)
{
    (void)mono_ms;
    rate->accepted++;
    rate->accepted_tick++;
    rate->accepted_fresh += sent_ms >= rate->cut_ms;
}

/* What a refusal tells about the limit. */
static uint64_t measure(const struct lull_rate *rate, int64_t mono_ms)
{
    if (rate->limit_milli_per_s == 0) {
        return share(rate->milli_per_s, RAMP_KEEP);
    }
    int64_t span_ms = mono_ms - rate->mark_ms;
    if (span_ms >= MEASURE_MIN_MS && rate->accepted >= MEASURE_MIN_ACCEPTED) {
        uint64_t measured = rate->accepted * 1000000 / (uint64_t)span_ms;
        /* The rate in force when it was refused is too high; half of it is a cut deep enough. */
        uint64_t most = rate->milli_per_s;
        return measured > most ? most : measured < most / 2 ? most / 2 : measured;
    }
    /* Refused again soon after a cut: what passed since then shows how much too high it still is.
     * One refusal among many is the unevenness of arrival, and next to nothing. */
    uint64_t passed = rate->accepted_fresh * 1000 / (rate->accepted_fresh + 1);
    return share(rate->limit_milli_per_s, passed < 500 ? 500 : passed);
}

int lull_rate_on_throttled(struct lull_rate *rate, int64_t mono_ms, int64_t sent_ms)
{
    if (sent_ms < rate->cut_ms) {
        return 0;
    }
    if (rate->phase == LULL_RATE_PROBE) {
        rate->burst_milli = max_i64(rate->burst_milli, rate->excess_milli);
        rate->hold_ms = min_i64(rate->hold_ms + rate->hold_ms / 2, rate->config.hold_max_ms);
    } else {
        rate->hold_ms = rate->config.hold_ms;
    }
    rate->limit_milli_per_s = clamp(rate, measure(rate, mono_ms));
    rate->milli_per_s = clamp(rate, share(rate->limit_milli_per_s, MARGIN_YIELD));
    rate->phase = LULL_RATE_HOLD;
    rate->hold_until_ms = mono_ms + rate->hold_ms;
    rate->cut_ms = mono_ms;
    rate->mark_ms = mono_ms;
    rate->accepted = 0;
    rate->accepted_fresh = 0;
    return 1;
}

static bool is_used(const struct lull_rate *rate)
{
    return rate->used_milli >= share(rate->milli_per_s, USED_MIN);
}

/* Is there enough left to do that a higher rate would win more than a refusal costs? */
static bool is_worth_probing(const struct lull_rate *rate, uint64_t backlog,
                             int64_t refusal_wait_ms)
{
    if (backlog == LULL_BACKLOG_UNKNOWN) {
        return true;
    }
    uint64_t drain_s = backlog / (rate->milli_per_s / 1000 + 1);
    return drain_s > (uint64_t)max_i64(0, refusal_wait_ms) / 1000;
}

static void tick_hold(struct lull_rate *rate, int64_t at_ms, bool may_probe)
{
    if (at_ms - rate->cut_ms >= YIELD_MS) {
        rate->milli_per_s = clamp(rate, share(rate->limit_milli_per_s, MARGIN_HOLD));
    }
    if (at_ms >= rate->hold_until_ms && may_probe && is_used(rate)) {
        rate->phase = LULL_RATE_PROBE;
        rate->extra_milli_per_s = share(rate->limit_milli_per_s, PROBE_START) + 1;
        rate->excess_milli = 0;
    }
}

static void tick_probe(struct lull_rate *rate, bool may_probe)
{
    int64_t accepted_milli = (int64_t)(rate->accepted_tick * 1000);
    int64_t earned_milli = (int64_t)(rate->limit_milli_per_s * TICK_MS / 1000);
    rate->excess_milli = max_i64(0, rate->excess_milli + accepted_milli - earned_milli);
    rate->extra_milli_per_s = share(rate->extra_milli_per_s, TICK_GROWTH) + 1;
    rate->milli_per_s = clamp(rate, rate->limit_milli_per_s + rate->extra_milli_per_s);
    /* More than any burst seen so far, and than a quarter second's worth: not the old limit. */
    int64_t explained = max_i64(rate->burst_milli + rate->burst_milli / 4,
                                (int64_t)rate->limit_milli_per_s / 4);
    if (rate->excess_milli > explained) {
        rate->phase = LULL_RATE_RAMP;
        rate->limit_milli_per_s = 0;
        rate->hold_ms = rate->config.hold_ms;
    } else if (!may_probe || !is_used(rate)) {
        rate->phase = LULL_RATE_HOLD;
        rate->milli_per_s = clamp(rate, share(rate->limit_milli_per_s, MARGIN_HOLD));
    }
}

uint64_t lull_rate_update(struct lull_rate *rate, int64_t mono_ms, uint64_t backlog,
                          int64_t refusal_wait_ms)
{
    if (mono_ms < rate->tick_ms || mono_ms - rate->tick_ms > LULL_SECONDS(10)) {
        /* A clock that stepped back, or a long silence: nothing was learned in between. */
        rate->tick_ms = mono_ms;
        rate->mark_ms = mono_ms;
        rate->accepted = 0;
        rate->accepted_tick = 0;
        rate->used_milli = 0;
    }
    bool may_probe = is_worth_probing(rate, backlog, refusal_wait_ms);
    while (mono_ms - rate->tick_ms >= TICK_MS) {
        rate->tick_ms += TICK_MS;
        uint64_t tick_milli = rate->accepted_tick * 1000 * 1000 / TICK_MS;
        rate->used_milli = (rate->used_milli * 3 + tick_milli) / 4;
        switch (rate->phase) {
        case LULL_RATE_RAMP:
            if (is_used(rate)) {
                rate->milli_per_s = clamp(rate, share(rate->milli_per_s, TICK_GROWTH) + 1);
            }
            break;
        case LULL_RATE_HOLD:
            tick_hold(rate, rate->tick_ms, may_probe);
            break;
        case LULL_RATE_PROBE:
        default:
            tick_probe(rate, may_probe);
            break;
        }
        rate->accepted_tick = 0;
    }
    return rate->milli_per_s;
}
