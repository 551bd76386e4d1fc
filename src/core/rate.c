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
#define MARGIN_END UINT64_C(960)   /* ... at the end of the work, when a refusal costs most */
#define MARGIN_YIELD UINT64_C(900) /* ... and this much just after a refusal, for YIELD_MS */
#define YIELD_MS 1000
#define RAMP_KEEP UINT64_C(700)  /* the first refusal of a ramp: keep this much of the rate */
#define PROBE_START UINT64_C(40) /* a probe begins this much over the limit and doubles */

/* Two refusals must be this far apart for the count between them to be a measurement. */
#define MEASURE_MIN_MS 1000
#define MEASURE_MIN_ACCEPTED 5

/* Sooner after a cut, the share that still passes shows how much too high it is: by a few requests
 * if most are refused, else by an eighth of a second of them, since a refusal or two is only the
 * unevenness of arrival. The estimate is rough, so the next try is soon. */
#define SAMPLE_FEW 6
#define SAMPLE_FEW_PASSED UINT64_C(600)
#define SAMPLE_MANY_PER_S 8
#define SAMPLE_CUT_MAX UINT64_C(250) /* never below this much of the rate at once */
#define ROUGH_HOLD_MS 1000

/* A try that fails confirms the limit if at least this much of it was measured. */
#define CONFIRMED_MIN UINT64_C(900)
#define LIFT UINT64_C(10)
#define EXCESS_MIN_MILLI 8000
#define HOLD_REQUESTS UINT64_C(30) /* between two tries at least ... */
#define HOLD_REQUESTS_MAX_MS 60000 /* ... but no longer than this */

/* A sender that uses less than this much of its rate shows nothing about the limit. */
#define USED_MIN UINT64_C(750)

/* Under this rate the answers are too few to tell; each one that is accepted is word enough. */
#define USED_FROM_MILLI UINT64_C(20000)

/* The rate grows by time, but only as answers confirm it: at most doubling with each. */
#define GROWTH_TICKS_MAX 10

/* After a pause the service's bucket is full, and its burst would be counted as rate: only over a
 * long time does that not matter, and otherwise the cut is a guess. */
#define MEASURE_FULL_MS 10000
#define MEASURE_FULL_KEEP UINT64_C(950)
#define GUESS_KEEP UINT64_C(800)

/* A pause is risked again only after this many times its length. */
#define PAUSE_WORTH 20

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
        .fresh_ms = INT64_MIN,
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

static void observe_round_trip(struct lull_rate *rate, int64_t mono_ms, int64_t sent_ms)
{
    int64_t round_trip_ms = max_i64(0, min_i64(mono_ms - sent_ms, LULL_SECONDS(10)));
    rate->round_trip_ms =
        rate->round_trip_ms == 0 ? round_trip_ms : (rate->round_trip_ms * 7 + round_trip_ms) / 8;
}

void lull_rate_on_accepted(struct lull_rate *rate, int64_t mono_ms, int64_t sent_ms)
{
    observe_round_trip(rate, mono_ms, sent_ms);
    rate->accepted++;
    rate->accepted_tick++;
    rate->fresh_accepted += sent_ms >= rate->fresh_ms;
}

/* The limit by the count between two refusals, the last and this one; 0 if there is none. */
static uint64_t measure(const struct lull_rate *rate, int64_t mono_ms)
{
    int64_t span_ms = mono_ms - rate->mark_ms;
    if (rate->cut_ms == INT64_MIN || span_ms < MEASURE_MIN_MS ||
        rate->accepted < MEASURE_MIN_ACCEPTED) {
        return 0;
    }
    uint64_t measured = rate->accepted * 1000000 / (uint64_t)span_ms;
    if (rate->is_mark_empty) {
        return measured;
    }
    return span_ms >= MEASURE_FULL_MS ? share(measured, MEASURE_FULL_KEEP)
                                      : share(rate->milli_per_s, GUESS_KEEP);
}

/* The limit by the share that passed since the last cut; 0 if that is too little to go by. */
static uint64_t sample(const struct lull_rate *rate)
{
    uint64_t all = rate->fresh_accepted + rate->fresh_throttled;
    uint64_t passed = rate->fresh_accepted * 1000 / all;
    bool is_many = all * SAMPLE_MANY_PER_S * 1000 >= rate->milli_per_s;
    if (all < SAMPLE_FEW || (passed > SAMPLE_FEW_PASSED && !is_many)) {
        return 0;
    }
    return share(rate->milli_per_s, passed < SAMPLE_CUT_MAX ? SAMPLE_CUT_MAX : passed);
}

/* Gives way: a little under the new limit for a moment, so that the service's bucket can breathe.
 */
static void cut(struct lull_rate *rate, int64_t mono_ms, uint64_t limit, int64_t hold_ms,
                int64_t pause_ms)
{
    int64_t resume_ms = saturating_add(mono_ms, pause_ms);
    rate->limit_milli_per_s = clamp(rate, limit);
    rate->milli_per_s = clamp(rate, share(rate->limit_milli_per_s, MARGIN_YIELD));
    rate->phase = LULL_RATE_HOLD;
    rate->hold_until_ms =
        saturating_add(resume_ms, max_i64(hold_ms, saturating_multiply(pause_ms, PAUSE_WORTH)));
    rate->cut_ms = resume_ms;
    rate->fresh_ms = pause_ms > 0 ? resume_ms : mono_ms + rate->round_trip_ms;
    rate->fresh_accepted = 0;
    rate->fresh_throttled = 0;
    rate->mark_ms = resume_ms;
    rate->is_mark_empty = pause_ms == 0;
    rate->accepted = 0;
    rate->excess_milli = 0;
    rate->growth_ticks = 0;
}

/* If the service's bucket ran over between the two refusals, the count is too low. So a try that
 * failed never lowers a limit that it does not contradict, but lifts it a little: where that is too
 * much, holding it will be refused, and a count that includes no try tells the truth. */
static void cut_to_measured(struct lull_rate *rate, int64_t mono_ms, uint64_t measured,
                            int64_t pause_ms)
{
    uint64_t last = rate->limit_milli_per_s;
    uint64_t lifted = last + share(last, LIFT);
    bool is_try = rate->phase != LULL_RATE_HOLD;
    uint64_t two = 2000000 / (uint64_t)max_i64(1, mono_ms - rate->mark_ms); /* more or less */
    bool is_confirmed = measured + two >= share(last, CONFIRMED_MIN) && measured <= lifted + two;
    if (is_confirmed && is_try) {
        rate->burst_milli = max_i64(rate->burst_milli, rate->excess_milli);
        rate->hold_ms = min_i64(rate->hold_ms + rate->hold_ms / 2, rate->config.hold_max_ms);
        measured = measured > lifted ? measured : lifted;
    } else if (!is_confirmed) {
        rate->hold_ms = rate->config.hold_ms;
    }
    /* For a slow service a try is one request too many among few: so it is for so many more. */
    int64_t worth_ms = (int64_t)(HOLD_REQUESTS * 1000000 / (measured + 1));
    cut(rate, mono_ms, measured < rate->milli_per_s ? measured : rate->milli_per_s,
        is_confirmed ? max_i64(rate->hold_ms, min_i64(worth_ms, HOLD_REQUESTS_MAX_MS))
                     : ROUGH_HOLD_MS,
        pause_ms);
}

bool lull_rate_on_throttled(struct lull_rate *rate, int64_t mono_ms, int64_t sent_ms,
                            int64_t pause_ms)
{
    observe_round_trip(rate, mono_ms, sent_ms);
    if (sent_ms < rate->fresh_ms) {
        return false;
    }
    rate->fresh_throttled++;
    uint64_t measured = measure(rate, mono_ms);
    if (rate->phase == LULL_RATE_RAMP &&
        (measured == 0 || measured > rate->limit_milli_per_s + rate->limit_milli_per_s / 4)) {
        /* A new limit, and nothing to measure it by yet. */
        cut(rate, mono_ms, share(rate->milli_per_s, RAMP_KEEP), ROUGH_HOLD_MS, pause_ms);
        return true;
    }
    if (measured > 0) {
        cut_to_measured(rate, mono_ms, measured, pause_ms);
        return true;
    }
    /* A pause asks for an answer at once, however little is known. */
    uint64_t sampled = pause_ms > 0 ? share(rate->milli_per_s, GUESS_KEEP) : sample(rate);
    if (sampled > 0) {
        rate->hold_ms = rate->config.hold_ms;
        cut(rate, mono_ms, sampled, ROUGH_HOLD_MS, pause_ms);
    }
    return sampled > 0;
}

static bool is_used(const struct lull_rate *rate)
{
    return rate->milli_per_s < USED_FROM_MILLI ||
           rate->used_milli >= share(rate->milli_per_s, USED_MIN);
}

/* What the steps of time since the last answer let a value grow to; as it is without an answer. */
static uint64_t grown(struct lull_rate *rate, uint64_t value)
{
    rate->growth_ticks += rate->growth_ticks < GROWTH_TICKS_MAX;
    if (rate->accepted_tick == 0) {
        return value;
    }
    for (; rate->growth_ticks > 0; rate->growth_ticks--) {
        value = share(value, TICK_GROWTH) + 1;
    }
    return value;
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

/* How much more was taken than the limit can have given since the try began. */
static void count_excess(struct lull_rate *rate)
{
    int64_t accepted_milli = (int64_t)(rate->accepted_tick * 1000);
    int64_t earned_milli = (int64_t)(rate->limit_milli_per_s * TICK_MS / 1000);
    rate->excess_milli = max_i64(0, rate->excess_milli + accepted_milli - earned_milli);
}

static void tick_hold(struct lull_rate *rate, int64_t at_ms, bool may_probe)
{
    if (saturating_sub(at_ms, rate->cut_ms) >= YIELD_MS) {
        uint64_t margin = may_probe ? MARGIN_HOLD : MARGIN_END;
        rate->milli_per_s = clamp(rate, share(rate->limit_milli_per_s, margin));
    }
    if (at_ms >= rate->hold_until_ms && may_probe && is_used(rate)) {
        rate->phase = LULL_RATE_PROBE;
        rate->extra_milli_per_s = share(rate->limit_milli_per_s, PROBE_START) + 1;
        rate->excess_milli = 0;
    }
}

static void tick_probe(struct lull_rate *rate, bool may_probe)
{
    rate->extra_milli_per_s = grown(rate, rate->extra_milli_per_s);
    rate->milli_per_s = clamp(rate, rate->limit_milli_per_s + rate->extra_milli_per_s);
    /* More than any burst seen so far, than half a second's worth, and than a handful: that is not
     * the old limit any more. */
    int64_t explained =
        max_i64(rate->burst_milli + rate->burst_milli / 4, (int64_t)rate->limit_milli_per_s / 2);
    explained = max_i64(explained, EXCESS_MIN_MILLI);
    if (rate->excess_milli > explained) {
        rate->phase = LULL_RATE_RAMP;
        rate->hold_ms = rate->config.hold_ms;
    } else if (!may_probe || !is_used(rate)) {
        rate->phase = LULL_RATE_HOLD;
        rate->hold_until_ms = rate->tick_ms + rate->hold_ms;
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
        rate->is_mark_empty = false;
        rate->accepted = 0;
        rate->accepted_tick = 0;
        rate->used_milli = 0;
    }
    bool may_probe = is_worth_probing(rate, backlog, refusal_wait_ms);
    while (mono_ms - rate->tick_ms >= TICK_MS) {
        rate->tick_ms += TICK_MS;
        uint64_t tick_milli = rate->accepted_tick * 1000 * 1000 / TICK_MS;
        rate->used_milli = (rate->used_milli * 3 + tick_milli) / 4;
        count_excess(rate);
        switch (rate->phase) {
        case LULL_RATE_RAMP:
            if (is_used(rate)) {
                rate->milli_per_s = clamp(rate, grown(rate, rate->milli_per_s));
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
