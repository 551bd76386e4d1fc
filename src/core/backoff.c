/* backoff - see the header. SPDX-License-Identifier: MIT */
#include "lull/backoff.h"

#include "lull/duration.h"
#include "saturate.h"

/* base x multiplier^exponent, at most cap. By squaring, so that a large n costs no more than a
 * small one; what passes the cap, infinity included, is the cap. */
static int64_t grow(const struct lull_backoff *backoff, uint32_t exponent)
{
    double value = (double)backoff->base_ms;
    double power = backoff->multiplier;
    double cap = (double)backoff->cap_ms;
    if (backoff->base_ms <= 0) {
        return 0; /* zero times infinity would be no number */
    }
    for (; exponent > 0 && value < cap; exponent >>= 1) {
        if (exponent & 1) {
            value *= power;
        }
        power *= power;
    }
    return value < cap ? (int64_t)value : backoff->cap_ms;
}

static struct lull_backoff_range strategy_range(const struct lull_backoff *backoff, uint32_t n,
                                                int64_t previous_ms)
{
    int64_t ceiling = 0;
    switch (backoff->strategy) {
    case LULL_BACKOFF_IMMEDIATE:
        return (struct lull_backoff_range){0, 0};
    case LULL_BACKOFF_FIXED:
        return (struct lull_backoff_range){backoff->base_ms, backoff->base_ms};
    case LULL_BACKOFF_LINEAR:
        ceiling = min_i64(backoff->cap_ms, saturating_multiply(backoff->base_ms, n));
        return (struct lull_backoff_range){ceiling, ceiling};
    case LULL_BACKOFF_EXPONENTIAL:
        ceiling = grow(backoff, n - 1);
        return (struct lull_backoff_range){ceiling, ceiling};
    case LULL_BACKOFF_EQUAL_JITTER:
        ceiling = grow(backoff, n - 1);
        return (struct lull_backoff_range){ceiling / 2, ceiling};
    case LULL_BACKOFF_DECORRELATED:
        ceiling = saturating_multiply(max_i64(previous_ms, backoff->base_ms), 3);
        return (struct lull_backoff_range){backoff->base_ms, min_i64(backoff->cap_ms, ceiling)};
    case LULL_BACKOFF_FULL_JITTER:
    case LULL_BACKOFF_STRATEGIES:
    default:
        return (struct lull_backoff_range){0, grow(backoff, n - 1)};
    }
}

struct lull_backoff_range lull_backoff_bounds(const struct lull_backoff *backoff, uint32_t n,
                                              int64_t previous_ms)
{
    if (backoff->strategy == LULL_BACKOFF_IMMEDIATE && n > 1) {
        return (struct lull_backoff_range){LULL_NEVER, LULL_NEVER};
    }
    struct lull_backoff_range range = strategy_range(backoff, n > 0 ? n : 1, previous_ms);
    range.min_ms = max_i64(range.min_ms, backoff->floor_ms);
    range.max_ms = max_i64(range.max_ms, range.min_ms);
    return range;
}

int64_t lull_backoff_draw(const struct lull_backoff *backoff, uint32_t n, int64_t previous_ms,
                          struct lull_random *random)
{
    struct lull_backoff_range range = lull_backoff_bounds(backoff, n, previous_ms);
    return lull_random_between(random, range.min_ms, range.max_ms);
}

const char *lull_backoff_strategy_to_string(enum lull_backoff_strategy strategy)
{
    static const char *const words[LULL_BACKOFF_STRATEGIES] = {
        [LULL_BACKOFF_IMMEDIATE] = "immediate",
        [LULL_BACKOFF_FIXED] = "fixed",
        [LULL_BACKOFF_LINEAR] = "linear",
        [LULL_BACKOFF_EXPONENTIAL] = "exponential",
        [LULL_BACKOFF_FULL_JITTER] = "full_jitter",
        [LULL_BACKOFF_EQUAL_JITTER] = "equal_jitter",
        [LULL_BACKOFF_DECORRELATED] = "decorrelated",
    };
    return words[strategy];
}
