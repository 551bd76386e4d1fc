/*
 * rate - finds the rate that a service accepts and stays just under it (P6).
 *
 * Pure. A limiter on the other side is a bucket that we cannot see. But each refusal shows that it
 * is empty at that instant, so between two refusals it has given exactly what it earned: the count
 * of accepted requests over the time between is the limit itself, not a guess.
 *
 *            refused                     held long enough, work is waiting
 *   RAMP --------------> HOLD <------------------------------------> PROBE
 *    ^  doubles each      just under the limit           refused     a little over it, then more
 *    |  second                                                         |
 *    +-----------------------------------------------------------------+
 *              more was accepted than the old limit could have given
 *
 * A refusal of a request that was sent before the last cut could take effect is not answered again.
 */
#ifndef LULL_RATE_H
#define LULL_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "lull/api.h"

LULL_BEGIN_DECLS

#define LULL_BACKLOG_UNKNOWN UINT64_MAX

struct lull_rate_config {
    uint64_t start_milli_per_s; /* thousandths per second   default 100,000 (100/s) */
    uint64_t min_milli_per_s;   /*                          default 200 (one in five seconds) */
    uint64_t max_milli_per_s;   /*                          default 10^9 (a million/s) */
    int64_t hold_ms;            /* between two tries for more   default 4,000 */
    int64_t hold_max_ms;        /* ... when they keep failing   default 6,000 */
};

enum lull_rate_phase {
    LULL_RATE_RAMP,
    LULL_RATE_HOLD,
    LULL_RATE_PROBE,
};

struct lull_rate {
    struct lull_rate_config config;
    enum lull_rate_phase phase;
    uint64_t milli_per_s;       /* what may be sent now */
    uint64_t limit_milli_per_s; /* what the service takes, as far as is known; 0: not at all */
    uint64_t extra_milli_per_s; /* PROBE: how far over the limit */
    int64_t tick_ms;            /* the last whole step of time that was worked off */
    int64_t round_trip_ms;      /* smoothed */
    int64_t cut_ms;             /* the last cut: what was sent before it reached the service ... */
    int64_t fresh_ms;           /* ... and what was sent from here on met its effect */
    uint64_t fresh_accepted;
    uint64_t fresh_throttled;
    int64_t hold_until_ms;
    int64_t hold_ms;        /* the present distance between tries */
    int64_t mark_ms;        /* the last refusal, or the end of the pause after it ... */
    bool is_mark_empty;     /* ... where the service's bucket was empty: no pause */
    uint64_t accepted;      /* ... and has given this many since */
    uint64_t accepted_tick; /* since tick_ms */
    int64_t excess_milli;   /* accepted beyond the limit since the try began, thousandths */
    int64_t burst_milli;    /* the largest such excess that ended in a refusal */
    uint64_t used_milli;    /* smoothed accepted per second */
    uint32_t growth_ticks;  /* steps that were not grown by yet, for want of an answer */
};

LULL_API void lull_rate_config_default(struct lull_rate_config *config);

/* LULL_ERR_RANGE unless 0 < min <= start <= max <= 10^12 and 0 < hold <= hold_max. */
LULL_API int lull_rate_init(struct lull_rate *rate, const struct lull_rate_config *config,
                            int64_t mono_ms);

/* The service took a request that was sent at sent_ms. */
LULL_API void lull_rate_on_accepted(struct lull_rate *rate, int64_t mono_ms, int64_t sent_ms);

/* The service refused one by policy (429), and will be left alone for pause_ms because of it (0:
 * only that message waits). A refusal that costs a pause is risked more seldom. True if this led to
 * a cut, false if a cut that was made since it was sent has answered it already, or it is too
 * little to go by. */
LULL_API bool lull_rate_on_throttled(struct lull_rate *rate, int64_t mono_ms, int64_t sent_ms,
                                     int64_t pause_ms);

/* Lets time do its work; the answer is the rate, thousandths per second. backlog is the number of
 * messages that wait for this service, or LULL_BACKLOG_UNKNOWN; refusal_wait_ms is what a refused
 * message would have to wait. More is only tried for when the backlog takes longer than that:
 * at its end, one refusal costs more than a higher rate can win. */
LULL_API uint64_t lull_rate_update(struct lull_rate *rate, int64_t mono_ms, uint64_t backlog,
                                   int64_t refusal_wait_ms);

LULL_END_DECLS

#endif
