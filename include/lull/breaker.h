/*
 * breaker - stops sending to a service that fails (K1, K2, K3, K5).
 *
 * Pure, on a monotonic clock: a wall clock that is set would open or close it by accident.
 *
 *             over a threshold                 open time over
 *   CLOSED ----------------------> OPEN ------------------------> HALF_OPEN
 *     ^                             ^  ^                            |     |
 *     | full pace reached           |  | probe failed, or was lost  |     |
 *     |                             |  +----------------------------+     |
 *     |                             | over a threshold                    | probe succeeded
 *     +------- SLOW_START ----------+ <-----------------------------------+
 *
 * Ask before each request; report each outcome with the permit that the answer carried. A permit
 * of an earlier state is stale: its outcome changes nothing. So a late success from before the
 * trip cannot close the breaker, and a lost probe cannot hold it half open.
 *
 *   lull_breaker_init -> { lull_breaker_ask -> send -> lull_breaker_report } ...
 */
#ifndef LULL_BREAKER_H
#define LULL_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "lull/api.h"
#include "lull/bucket.h"
#include "lull/classify.h"
#include "lull/random.h"
#include "lull/window.h"

LULL_BEGIN_DECLS

enum lull_breaker_state {
    LULL_BREAKER_CLOSED,
    LULL_BREAKER_OPEN,
    LULL_BREAKER_HALF_OPEN,
    LULL_BREAKER_SLOW_START,
};

/* What a request came to, as far as a breaker cares. */
enum lull_breaker_result {
    LULL_BREAKER_SUCCESS,     /* answered, in health */
    LULL_BREAKER_THROTTLED,   /* 429 */
    LULL_BREAKER_UNAVAILABLE, /* 503 */
    LULL_BREAKER_TRANSPORT,   /* no answer */
    LULL_BREAKER_FAILED,      /* another 5xx: no ground to open, but none to close either */
    LULL_BREAKER_IGNORED,     /* says nothing about the service: cancelled, or answered already */
};

struct lull_breaker_config {
    uint32_t unavailable_permille; /* 503s in unavailable_window_ms    default 200 */
    int64_t unavailable_window_ms; /*                                  default 300,000 */
    uint32_t throttled_permille;   /* 429s in window_ms                default 200 */
    uint32_t transport_permille;   /* no answer, in window_ms          default 500 */
    int64_t window_ms;             /*                                  default 60,000 */
    uint32_t volume_min;           /* attempts before a share counts   default 20 */
    int64_t open_ms;               /* first time open                  default 30,000 */
    int64_t open_max_ms;           /* on repeated trips, doubling      default 300,000 */
    int64_t probe_timeout_ms;      /* a probe older than this is lost  default 60,000 */
    int64_t slow_start_step_ms;    /* the pace doubles each step       default 2,000 */
};

struct lull_breaker_permit {
    uint32_t generation; /* which state gave it */
    bool is_probe;
};

struct lull_breaker {
    struct lull_breaker_config config;
    enum lull_breaker_state state;
    uint32_t generation;       /* grows with every change of state */
    uint32_t trips;            /* in a row, without a full recovery between */
    int64_t state_ms;          /* when this state began */
    int64_t open_for_ms;       /* while OPEN */
    bool is_probe_out;         /* while HALF_OPEN */
    int64_t probe_ms;          /* when it was given */
    int64_t retry_ms;          /* the latest instant that a Retry-After has named ... */
    int64_t retry_seen_ms;     /* ... and when the last one was seen: none counts past window_ms */
    struct lull_bucket pace;   /* while SLOW_START */
    uint64_t full_milli_per_s; /* attempts per second before the trip: what full pace means */
    struct lull_window window; /* attempts, throttled, transport, over window_ms */
    struct lull_window unavailable_window; /* attempts, unavailable */
};

LULL_API void lull_breaker_config_default(struct lull_breaker_config *config);

/* LULL_ERR_RANGE for a share over 1,000, a window that is no multiple of LULL_WINDOW_SLOTS, or a
 * duration that is not positive. */
LULL_API int lull_breaker_init(struct lull_breaker *breaker,
                               const struct lull_breaker_config *config, int64_t mono_ms);

/* How long it keeps everybody out: 0 if it is worth asking, else the ms until it is. Lets time do
 * its work, takes nothing. */
LULL_API int64_t lull_breaker_wait(struct lull_breaker *breaker, int64_t mono_ms,
                                   struct lull_random *random);

/* 0 and a permit: send now. Else the ms after which it is worth asking again, and no permit. */
LULL_API int64_t lull_breaker_ask(struct lull_breaker *breaker, int64_t mono_ms,
                                  struct lull_random *random,
                                  struct lull_breaker_permit *ret_permit);

/* What came of a request: once for each permit. retry_after_ms counts with THROTTLED (0: not said):
 * if 429s open the breaker, it stays open until the latest instant that they named. Returns true if
 * this report opened the breaker. */
LULL_API bool lull_breaker_report(struct lull_breaker *breaker, int64_t mono_ms,
                                  struct lull_breaker_permit permit,
                                  enum lull_breaker_result result, int64_t retry_after_ms,
                                  struct lull_random *random);

/* Opens it from outside (P2's halt), unless it is open or half open already. open_for_ms 0: as long
 * as the trip count says. */
LULL_API void lull_breaker_trip(struct lull_breaker *breaker, int64_t mono_ms, int64_t open_for_ms,
                                struct lull_random *random);

/* Lets time do its work (open to half open, a lost probe, the steps of the slow start) and says
 * the state. */
LULL_API enum lull_breaker_state lull_breaker_tick(struct lull_breaker *breaker, int64_t mono_ms,
                                                   struct lull_random *random);

/* What an outcome of that class means to a breaker. */
LULL_API enum lull_breaker_result lull_breaker_result_of(enum lull_class class_);

LULL_API const char *lull_breaker_state_to_string(enum lull_breaker_state state);

LULL_END_DECLS

#endif
