/*
 * pacer - how many requests to a service may be in flight, from its 429s (P2).
 *
 * Pure. The guard rail around the learned rate: over 5 % of answers in 60 s refused cuts the
 * limit by a quarter, over 20 % halts; under 1 % and calm for 120 s gives back a tenth of the
 * full limit each 30 s. After a cut the count begins anew: what led to it has been answered.
 */
#ifndef LULL_PACER_H
#define LULL_PACER_H

#include <stdbool.h>
#include <stdint.h>

#include "lull/api.h"
#include "lull/window.h"

LULL_BEGIN_DECLS

struct lull_pacer_config {
    uint32_t in_flight_max; /* the full limit        default 256 */
    uint32_t cut_permille;  /* over this: cut        default 50 */
    uint32_t halt_permille; /* over this: halt       default 200 */
    uint32_t calm_permille; /* under this: calm      default 10 */
    int64_t window_ms;      /*                       default 60,000 */
    int64_t calm_ms;        /*                       default 120,000 */
    int64_t give_back_ms;   /*                       default 30,000 */
    uint32_t volume_min;    /* answers before a share counts   default 20 */
};

enum lull_pacer_event {
    LULL_PACER_STEADY,
    LULL_PACER_CUT,
    LULL_PACER_HALT, /* the service is to be halted: trip its breaker */
};

struct lull_pacer {
    struct lull_pacer_config config;
    uint32_t limit;
    int64_t calm_since_ms;     /* end of the last trouble */
    int64_t given_ms;          /* last time a tenth was given back */
    struct lull_window window; /* answers, throttled */
};

LULL_API void lull_pacer_config_default(struct lull_pacer_config *config);
LULL_API int lull_pacer_init(struct lull_pacer *pacer, const struct lull_pacer_config *config,
                             int64_t mono_ms);

/* Counts one answer and says whether it made a difference. */
LULL_API enum lull_pacer_event lull_pacer_report(struct lull_pacer *pacer, int64_t mono_ms,
                                                 bool is_throttled);

/* The limit at this instant, with what calm has given back. At least 1. */
LULL_API uint32_t lull_pacer_limit(struct lull_pacer *pacer, int64_t mono_ms);

LULL_END_DECLS

#endif
