/* breaker - see the header for the states. SPDX-License-Identifier: MIT */
#include "lull/breaker.h"

#include "lull/duration.h"
#include "lull/error.h"
#include "saturate.h"

enum { ATTEMPTS, THROTTLED, TRANSPORT }; /* of window */
enum { ALL, UNAVAILABLE };               /* of unavailable_window */

#define SLOW_START_STEPS 4 /* 1/16, 1/8, 1/4, 1/2, then all */

/* After a probe's success the windows are empty: fewer attempts must be able to open it again. */
#define SLOW_START_VOLUME 4

/* The pace that counts as full when the traffic before the trip was next to nothing. */
#define FULL_MILLI_MIN UINT64_C(16000)

void lull_breaker_config_default(struct lull_breaker_config *config)
{
    *config = (struct lull_breaker_config){
        .unavailable_permille = 200,
        .unavailable_window_ms = LULL_MINUTES(5),
        .throttled_permille = 200,
        .transport_permille = 500,
        .window_ms = LULL_SECONDS(60),
        .volume_min = 20,
        .open_ms = LULL_SECONDS(30),
        .open_max_ms = LULL_MINUTES(5),
        .probe_timeout_ms = LULL_SECONDS(60),
        .slow_start_step_ms = LULL_SECONDS(2),
    };
}

int lull_breaker_init(struct lull_breaker *breaker, const struct lull_breaker_config *config,
                      int64_t mono_ms)
{
    struct lull_breaker fresh = {.config = *config, .state = LULL_BREAKER_CLOSED};
    if (config->unavailable_permille > 1000 || config->throttled_permille > 1000 ||
        config->transport_permille > 1000 || config->open_ms <= 0 ||
        config->open_max_ms < config->open_ms || config->open_max_ms > LULL_WAIT_MAX_MS ||
        config->probe_timeout_ms <= 0 || config->slow_start_step_ms <= 0 ||
        lull_window_init(&fresh.window, config->window_ms, mono_ms) != LULL_OK ||
        lull_window_init(&fresh.unavailable_window, config->unavailable_window_ms, mono_ms) !=
            LULL_OK) {
        return LULL_ERR_RANGE;
    }
    fresh.state_ms = mono_ms;
    fresh.retry_ms = mono_ms;
    fresh.retry_seen_ms = mono_ms;
    *breaker = fresh;
    return LULL_OK;
}

static void enter(struct lull_breaker *breaker, enum lull_breaker_state state, int64_t mono_ms)
{
    breaker->state = state;
    breaker->state_ms = mono_ms;
    breaker->generation++;
    breaker->is_probe_out = false;
}

/* 30 s, 60 s, 120 s ... to the maximum, the upper half of it by chance, so that many breakers
 * that tripped together do not probe together. */
static int64_t draw_open_time(const struct lull_breaker *breaker, struct lull_random *random)
{
    int64_t ceiling = breaker->config.open_ms;
    for (uint32_t i = 1; i < breaker->trips && ceiling < breaker->config.open_max_ms; i++) {
        ceiling = saturating_multiply(ceiling, 2);
    }
    ceiling = min_i64(ceiling, breaker->config.open_max_ms);
    return breaker->trips <= 1 ? ceiling : lull_random_between(random, (ceiling + 1) / 2, ceiling);
}

static void open_for(struct lull_breaker *breaker, int64_t mono_ms, int64_t open_for_ms,
                     struct lull_random *random)
{
    /* Full pace is what flowed while closed; a trip during slow start has seen only a part. */
    if (breaker->state == LULL_BREAKER_CLOSED) {
        uint64_t attempts = lull_window_over(&breaker->window, mono_ms, ATTEMPTS);
        uint64_t per_s = attempts * 1000000 / (uint64_t)breaker->config.window_ms;
        breaker->full_milli_per_s = per_s > FULL_MILLI_MIN ? per_s : FULL_MILLI_MIN;
    }
    if (breaker->trips < UINT32_MAX) {
        breaker->trips++;
    }
    breaker->open_for_ms =
        open_for_ms > 0 ? min_i64(open_for_ms, LULL_WAIT_MAX_MS) : draw_open_time(breaker, random);
    enter(breaker, LULL_BREAKER_OPEN, mono_ms);
}

void lull_breaker_trip(struct lull_breaker *breaker, int64_t mono_ms, int64_t open_for_ms,
                       struct lull_random *random)
{
    if (breaker->state == LULL_BREAKER_CLOSED || breaker->state == LULL_BREAKER_SLOW_START) {
        open_for(breaker, mono_ms, open_for_ms, random);
    }
}

static uint32_t slow_start_step(const struct lull_breaker *breaker, int64_t mono_ms)
{
    int64_t step = (mono_ms - breaker->state_ms) / breaker->config.slow_start_step_ms;
    return (uint32_t)max_i64(0, min_i64(step, SLOW_START_STEPS));
}

/* The pace of a step, with room for about a quarter of a second of it at once, never less than
 * one: nobody who waits through the open time gets to rush in a crowd. */
static struct lull_bucket_config slow_start_pace(const struct lull_breaker *breaker, uint32_t step)
{
    uint64_t rate = breaker->full_milli_per_s >> (SLOW_START_STEPS - step);
    uint64_t burst = rate / 4000;
    return (struct lull_bucket_config){
        .capacity = (uint32_t)(burst < 1      ? 1
                               : burst > 1000 ? 1000
                                              : burst),
        .rate_milli_per_s = rate,
    };
}

static void begin_slow_start(struct lull_breaker *breaker, int64_t mono_ms)
{
    enter(breaker, LULL_BREAKER_SLOW_START, mono_ms);
    lull_window_clear(&breaker->window, mono_ms);
    lull_window_clear(&breaker->unavailable_window, mono_ms);
    struct lull_bucket_config pace = slow_start_pace(breaker, 0);
    /* full_milli_per_s is at least FULL_MILLI_MIN here, so the pace is in range. */
    (void)lull_bucket_init(&breaker->pace, &pace, mono_ms);
}

enum lull_breaker_state lull_breaker_tick(struct lull_breaker *breaker, int64_t mono_ms,
                                          struct lull_random *random)
{
    if (mono_ms < breaker->state_ms) { /* a clock that broke its word: start the state anew */
        breaker->state_ms = mono_ms;
        breaker->retry_ms = mono_ms;
        breaker->retry_seen_ms = mono_ms;
    }
    if (breaker->is_probe_out && mono_ms < breaker->probe_ms) {
        breaker->probe_ms = mono_ms;
    }
    int64_t in_state_ms = mono_ms - breaker->state_ms;
    if (breaker->state == LULL_BREAKER_OPEN && in_state_ms >= breaker->open_for_ms) {
        enter(breaker, LULL_BREAKER_HALF_OPEN, mono_ms);
    } else if (breaker->state == LULL_BREAKER_HALF_OPEN && breaker->is_probe_out &&
               mono_ms - breaker->probe_ms >= breaker->config.probe_timeout_ms) {
        open_for(breaker, mono_ms, 0, random);
    } else if (breaker->state == LULL_BREAKER_SLOW_START) {
        uint32_t step = slow_start_step(breaker, mono_ms);
        if (step >= SLOW_START_STEPS) {
            enter(breaker, LULL_BREAKER_CLOSED, mono_ms);
            breaker->trips = 0;
        } else {
            struct lull_bucket_config pace = slow_start_pace(breaker, step);
            (void)lull_bucket_configure(&breaker->pace, &pace, mono_ms);
        }
    }
    return breaker->state;
}

int64_t lull_breaker_wait(struct lull_breaker *breaker, int64_t mono_ms, struct lull_random *random)
{
    switch (lull_breaker_tick(breaker, mono_ms, random)) {
    case LULL_BREAKER_OPEN:
        return breaker->open_for_ms - (mono_ms - breaker->state_ms);
    case LULL_BREAKER_HALF_OPEN:
        return breaker->is_probe_out
                   ? breaker->config.probe_timeout_ms - (mono_ms - breaker->probe_ms)
                   : 0;
    case LULL_BREAKER_SLOW_START:
    case LULL_BREAKER_CLOSED:
    default:
        return 0;
    }
}

int64_t lull_breaker_ask(struct lull_breaker *breaker, int64_t mono_ms, struct lull_random *random,
                         struct lull_breaker_permit *ret_permit)
{
    int64_t wait_ms = lull_breaker_wait(breaker, mono_ms, random);
    if (wait_ms == 0 && breaker->state == LULL_BREAKER_SLOW_START) {
        wait_ms = lull_bucket_take(&breaker->pace, mono_ms, 1);
    }
    if (wait_ms > 0) {
        return wait_ms;
    }
    bool is_probe = breaker->state == LULL_BREAKER_HALF_OPEN;
    if (is_probe) {
        breaker->is_probe_out = true;
        breaker->probe_ms = mono_ms;
    }
    *ret_permit = (struct lull_breaker_permit){breaker->generation, is_probe};
    return 0;
}

static bool is_over(struct lull_window *window, int64_t mono_ms, unsigned counter,
                    uint32_t permille, uint32_t volume_min)
{
    uint64_t attempts = lull_window_over(window, mono_ms, 0);
    uint64_t hits = lull_window_over(window, mono_ms, counter);
    return attempts >= volume_min && hits * 1000 > attempts * permille;
}

static void count(struct lull_breaker *breaker, int64_t mono_ms, enum lull_breaker_result result)
{
    lull_window_add(&breaker->window, mono_ms, ATTEMPTS, 1);
    lull_window_add(&breaker->unavailable_window, mono_ms, ALL, 1);
    if (result == LULL_BREAKER_THROTTLED) {
        lull_window_add(&breaker->window, mono_ms, THROTTLED, 1);
    } else if (result == LULL_BREAKER_TRANSPORT) {
        lull_window_add(&breaker->window, mono_ms, TRANSPORT, 1);
    } else if (result == LULL_BREAKER_UNAVAILABLE) {
        lull_window_add(&breaker->unavailable_window, mono_ms, UNAVAILABLE, 1);
    }
}

bool lull_breaker_report(struct lull_breaker *breaker, int64_t mono_ms,
                         struct lull_breaker_permit permit, enum lull_breaker_result result,
                         int64_t retry_after_ms, struct lull_random *random)
{
    enum lull_breaker_state state = lull_breaker_tick(breaker, mono_ms, random);
    if (permit.generation != breaker->generation) {
        return false;
    }
    int64_t open_for_ms = 0;
    if (result == LULL_BREAKER_THROTTLED) {
        int64_t named_ms = saturating_add(mono_ms, min_i64(retry_after_ms, LULL_WAIT_MAX_MS));
        bool is_old = mono_ms - breaker->retry_seen_ms > breaker->config.window_ms;
        breaker->retry_ms = is_old ? named_ms : max_i64(breaker->retry_ms, named_ms);
        breaker->retry_seen_ms = mono_ms;
        open_for_ms = breaker->retry_ms - mono_ms;
    }
    if (state == LULL_BREAKER_HALF_OPEN) {
        breaker->is_probe_out = false;
        if (result == LULL_BREAKER_SUCCESS) {
            begin_slow_start(breaker, mono_ms);
        } else if (result != LULL_BREAKER_IGNORED) {
            open_for(breaker, mono_ms, open_for_ms, random);
            return true;
        }
        return false;
    }
    if (result == LULL_BREAKER_IGNORED) {
        return false;
    }
    count(breaker, mono_ms, result);
    const struct lull_breaker_config *config = &breaker->config;
    uint32_t volume = config->volume_min;
    if (state == LULL_BREAKER_SLOW_START && volume > SLOW_START_VOLUME) {
        volume = SLOW_START_VOLUME;
    }
    bool is_tripped = false;
    if (result == LULL_BREAKER_THROTTLED) {
        is_tripped =
            is_over(&breaker->window, mono_ms, THROTTLED, config->throttled_permille, volume);
    } else if (result == LULL_BREAKER_TRANSPORT) {
        is_tripped =
            is_over(&breaker->window, mono_ms, TRANSPORT, config->transport_permille, volume);
    } else if (result == LULL_BREAKER_UNAVAILABLE) {
        is_tripped = is_over(&breaker->unavailable_window, mono_ms, UNAVAILABLE,
                             config->unavailable_permille, volume);
    }
    if (is_tripped) {
        open_for(breaker, mono_ms, open_for_ms, random);
    }
    return is_tripped;
}

enum lull_breaker_result lull_breaker_result_of(enum lull_class class_)
{
    switch (class_) {
    case LULL_CLASS_THROTTLED:
    case LULL_CLASS_AUTH_SUSPECT:
        return LULL_BREAKER_THROTTLED;
    case LULL_CLASS_UNAVAILABLE:
        return LULL_BREAKER_UNAVAILABLE;
    case LULL_CLASS_TRANSPORT:
        return LULL_BREAKER_TRANSPORT;
    case LULL_CLASS_SERVER_ERROR:
        return LULL_BREAKER_FAILED;
    case LULL_CLASS_CANCELLED:
    case LULL_CLASS_INVALID_TARGET:
    case LULL_CLASS_PENDING:
        return LULL_BREAKER_IGNORED;
    default:
        return LULL_BREAKER_SUCCESS;
    }
}

const char *lull_breaker_state_to_string(enum lull_breaker_state state)
{
    static const char *const words[] = {"closed", "open", "half_open", "slow_start"};
    return words[state];
}
