/*
 * backoff - how long to wait before retry number n (B1, B2, B3).
 *
 * Pure. n counts retries from 1: the wait after the first failed attempt is n = 1.
 *
 *   strategy       wait before retry n, with ceiling(n) = min(cap, base x multiplier^(n-1))
 *   immediate      0 for n = 1, and no second retry at all
 *   fixed          base
 *   linear         min(cap, base x n)
 *   exponential    ceiling
 *   full_jitter    uniform on [0, ceiling]
 *   equal_jitter   uniform on [ceiling/2, ceiling]
 *   decorrelated   uniform on [base, min(cap, 3 x previous wait)]
 *
 * The cap bounds the range that is drawn from, never the draw: so the jitter at the cap is as
 * wide as anywhere. The floor raises the lower end of every range.
 */
#ifndef LULL_BACKOFF_H
#define LULL_BACKOFF_H

#include <stdint.h>

#include "lull/api.h"
#include "lull/random.h"

LULL_BEGIN_DECLS

enum lull_backoff_strategy {
    LULL_BACKOFF_IMMEDIATE,
    LULL_BACKOFF_FIXED,
    LULL_BACKOFF_LINEAR,
    LULL_BACKOFF_EXPONENTIAL,
    LULL_BACKOFF_FULL_JITTER,
    LULL_BACKOFF_EQUAL_JITTER,
    LULL_BACKOFF_DECORRELATED,
    LULL_BACKOFF_STRATEGIES, /* how many there are */
};

struct lull_backoff {
    enum lull_backoff_strategy strategy; /* default full_jitter */
    int64_t base_ms;                     /* default 2,000 */
    int64_t cap_ms;                      /* default 120,000; not under base */
    int64_t floor_ms;                    /* default 0; not over base */
    double multiplier;                   /* default 2.0; 1.0 to 100.0 */
};

struct lull_backoff_range {
    int64_t min_ms; /* LULL_NEVER in both: no retry n under this strategy */
    int64_t max_ms;
};

/* The range that the wait before retry n is drawn from. previous_ms is the wait before retry
 * n - 1 (decorrelated only; 0 or less where there was none). n = 0 is taken as 1. */
LULL_API struct lull_backoff_range lull_backoff_bounds(const struct lull_backoff *backoff,
                                                       uint32_t n, int64_t previous_ms);

/* A wait drawn from that range, or LULL_NEVER. */
LULL_API int64_t lull_backoff_draw(const struct lull_backoff *backoff, uint32_t n,
                                   int64_t previous_ms, struct lull_random *random);

LULL_API const char *lull_backoff_strategy_to_string(enum lull_backoff_strategy strategy);

LULL_END_DECLS

#endif
