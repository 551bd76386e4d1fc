/*
 * timers - what is due when, as a binary heap. No clock: due_ms and now_ms come from the caller.
 *
 *   timers_reserve for each timer that can be set at once -> timers_set, timers_clear ...
 *   timers_run calls what is due -> timers_free
 *
 * A timer lives inside of what it is for, which finds itself by owner_of. Zeroed memory is a
 * timer that is not set.
 */
#ifndef LULL_HTTP_TIMERS_H
#define LULL_HTTP_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/duration.h"
#include "owner.h"

struct timer {
    int64_t due_ms;
    size_t place; /* in the heap, from 1; 0: not set */
    void (*on_due)(struct timer *timer, int64_t now_ms);
};

struct timers {
    struct timer **heap;
    size_t count;
    size_t size;
    size_t reserved;
};

/* Room for one more timer; after that it can always be set. False: no memory. */
bool timers_reserve(struct timers *timers);
void timers_unreserve(struct timers *timers); /* the timer that had the room is gone */
void timers_free(struct timers *timers);

/* What the functions below do when there is something to do. */
void timers_put(struct timers *timers, struct timer *timer, int64_t due_ms);
void timers_take_out(struct timers *timers, struct timer *timer);
void timers_run_due(struct timers *timers, int64_t now_ms);

static inline void timers_clear(struct timers *timers, struct timer *timer)
{
    if (timer->place > 0) {
        timers_take_out(timers, timer);
    }
}

/* Sets it, or moves it. LULL_NEVER: clears it. */
static inline void timers_set(struct timers *timers, struct timer *timer, int64_t due_ms)
{
    if (due_ms == LULL_NEVER) {
        timers_clear(timers, timer);
    } else {
        timers_put(timers, timer, due_ms);
    }
}

/* When the first is due; LULL_NEVER: none is set. */
static inline int64_t timers_due_ms(const struct timers *timers)
{
    return timers->count > 0 ? timers->heap[0]->due_ms : LULL_NEVER;
}

/* Clears each timer that is due, then calls it; those too that become due by such a call. */
static inline void timers_run(struct timers *timers, int64_t now_ms)
{
    if (timers_due_ms(timers) <= now_ms) {
        timers_run_due(timers, now_ms);
    }
}

#endif
