/*
 * window - counters over the last so many seconds, in fixed memory.
 *
 * Pure. Time is cut into LULL_WINDOW_SLOTS slots; counts enter the slot of mono_ms and leave when
 * their slot does. A slot at the far end is half in and half out, so there are two sums: _over
 * counts it (never too few), _under leaves it out (never too many). A clock that steps back is
 * held at the latest time seen.
 *
 *   lull_window_init -> lull_window_add ...      sums at any time
 */
#ifndef LULL_WINDOW_H
#define LULL_WINDOW_H

#include <stdint.h>

#include "lull/api.h"

LULL_BEGIN_DECLS

#define LULL_WINDOW_SLOTS 50
#define LULL_WINDOW_COUNTERS 4

struct lull_window {
    int64_t slot_ms;                                              /* span / slots */
    int64_t slot;                                                 /* number of the newest */
    uint32_t counts[LULL_WINDOW_SLOTS + 1][LULL_WINDOW_COUNTERS]; /* ring, by slot number */
    uint64_t totals[LULL_WINDOW_COUNTERS];                        /* of the whole ring */
};

/* span_ms must be a positive multiple of LULL_WINDOW_SLOTS, else LULL_ERR_RANGE. */
LULL_API int lull_window_init(struct lull_window *window, int64_t span_ms, int64_t mono_ms);

/* Adds to counter 0..LULL_WINDOW_COUNTERS-1. A slot's count saturates, it never wraps. */
LULL_API void lull_window_add(struct lull_window *window, int64_t mono_ms, unsigned counter,
                              uint32_t count);

LULL_API uint64_t lull_window_over(struct lull_window *window, int64_t mono_ms, unsigned counter);
LULL_API uint64_t lull_window_under(struct lull_window *window, int64_t mono_ms, unsigned counter);

/* Forgets all counts; the span stays. */
LULL_API void lull_window_clear(struct lull_window *window, int64_t mono_ms);

LULL_END_DECLS

#endif
