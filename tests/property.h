/*
 * property - what the property tests share: about a million random steps each, against a model.
 *
 * Every property is checked against a model that is simpler and slower than the code under test:
 * a log of all events, exact integers of 128 bits, a count of real time. Where a model leans on an
 * answer of the code, as the one for lull_decide does on lull_backoff_bounds, another test here
 * checks that answer by itself.
 *
 * Real time, where a clock may step back, is the sum of all its steps forward: stepping back takes
 * no time, and no limit may be passed by it.
 */
#ifndef LULL_TESTS_PROPERTY_H
#define LULL_TESTS_PROPERTY_H

#include "suite.h"

#include <inttypes.h>
#include <time.h>

__extension__ typedef __int128 wide;

/* Says what was going on before it fails. The condition is looked at twice: no side effects. */
#define assert_that(condition, ...)                                                                \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            print_error(__VA_ARGS__);                                                              \
        }                                                                                          \
        assert_true(condition);                                                                    \
    } while (0)

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define YEAR_MS LULL_DAYS(366)

static inline int64_t min_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline bool one_in(struct lull_random *random, int64_t n)
{
    return lull_random_between(random, 1, n) == 1;
}

/* 0 to max (under 2^62), every order of magnitude as likely as the next. */
static inline int64_t any_up_to(struct lull_random *random, int64_t max)
{
    int width = max > 0 ? 64 - __builtin_clzll((unsigned long long)max) : 0;
    int64_t bits = lull_random_between(random, 0, width);
    return min_of(max, lull_random_between(random, 0, (INT64_C(1) << bits) - 1));
}

/* ---- a log of events: what really happened, and when ---- */

#define LOG_MAX 4096

struct log {
    size_t count;
    int64_t times_ms[LOG_MAX]; /* never falling */
    uint64_t sums[LOG_MAX];    /* of this event and all before it */
};

static inline uint64_t log_total(const struct log *log)
{
    return log->count > 0 ? log->sums[log->count - 1] : 0;
}

static inline void log_add(struct log *log, int64_t time_ms, uint32_t amount)
{
    assert_true(log->count < LOG_MAX);
    uint64_t total = log_total(log);
    log->times_ms[log->count] = time_ms;
    log->sums[log->count] = total + amount;
    log->count++;
}

/* How much was logged at from_ms or later. */
static inline uint64_t log_since(const struct log *log, int64_t from_ms)
{
    size_t low = 0;
    size_t high = log->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (log->times_ms[middle] < from_ms) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return log_total(log) - (low > 0 ? log->sums[low - 1] : 0);
}

/* ---- any step of time ---- */

/* Steps that meet the edges of slots and windows, long ones, and now and then one back. */
static inline int64_t any_step(struct lull_random *random, int64_t span_ms)
{
    int64_t slot_ms = span_ms / LULL_WINDOW_SLOTS;
    switch (lull_random_between(random, 0, 49)) {
    case 0:
        return -1 - any_up_to(random, 2 * span_ms);
    case 1:
        return any_up_to(random, 1000 * span_ms);
    case 2:
        return span_ms + lull_random_between(random, -1, 1);
    case 3:
        return span_ms + slot_ms + lull_random_between(random, -1, 1);
    case 4:
        return span_ms - slot_ms + lull_random_between(random, -1, 1);
    default:
        return any_up_to(random, 3 * slot_ms);
    }
}

/* ---- any backoff ---- */

/* Whole numbers, for which the model is exact; thousandths; and those next to 1. */
static inline double any_multiplier(struct lull_random *random)
{
    switch (lull_random_between(random, 0, 2)) {
    case 0:
        return (double)lull_random_between(random, 1, 100);
    case 1:
        return 1 + (double)lull_random_between(random, 0, 99000) / 1000;
    default:
        return 1 + 1 / (double)(INT64_C(1) << lull_random_between(random, 1, 52));
    }
}

static inline struct lull_backoff any_backoff(struct lull_random *random)
{
    struct lull_backoff backoff = {
        .strategy =
            (enum lull_backoff_strategy)lull_random_between(random, 0, LULL_BACKOFF_STRATEGIES - 1),
        .base_ms = 1 + any_up_to(random, LULL_WAIT_MAX_MS - 1),
        .multiplier = any_multiplier(random),
    };
    backoff.cap_ms = backoff.base_ms + any_up_to(random, LULL_WAIT_MAX_MS - backoff.base_ms);
    backoff.floor_ms = one_in(random, 2) ? 0 : lull_random_between(random, 0, backoff.base_ms);
    return backoff;
}

static inline int64_t any_previous(struct lull_random *random)
{
    return one_in(random, 20) ? LULL_NEVER - 1 : any_up_to(random, LULL_WAIT_MAX_MS) - 1;
}

static inline void print_backoff(const struct lull_backoff *backoff, uint32_t n,
                                 int64_t previous_ms)
{
    print_error("%s base %" PRId64 " cap %" PRId64 " floor %" PRId64 " multiplier %.17g, n %" PRIu32
                ", previous %" PRId64 "\n",
                lull_backoff_strategy_to_string(backoff->strategy), backoff->base_ms,
                backoff->cap_ms, backoff->floor_ms, backoff->multiplier, n, previous_ms);
}

#endif
