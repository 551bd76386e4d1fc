/* timers - see the header. SPDX-License-Identifier: MIT */
#include "timers.h"

#include <stdlib.h>

#include "lull/duration.h"

bool timers_reserve(struct timers *timers)
{
    if (timers->reserved == timers->size) {
        size_t size = timers->size > 0 ? timers->size * 2 : 8;
        struct timer **moved = realloc(timers->heap, size * sizeof(struct timer *));
        if (!moved) {
            return false;
        }
        timers->heap = moved;
        timers->size = size;
    }
    timers->reserved++;
    return true;
}

void timers_unreserve(struct timers *timers)
{
    timers->reserved--;
}

void timers_free(struct timers *timers)
{
    free(timers->heap);
    *timers = (struct timers){0};
}

static void put(struct timers *timers, struct timer *timer, size_t index)
{
    timers->heap[index] = timer;
    timer->place = index + 1;
}

static void sift(struct timers *timers, struct timer *timer, size_t index)
{
    while (index > 0 && timers->heap[(index - 1) / 2]->due_ms > timer->due_ms) {
        put(timers, timers->heap[(index - 1) / 2], index);
        index = (index - 1) / 2;
    }
    for (;;) {
        size_t child = index * 2 + 1;
        if (child + 1 < timers->count &&
            timers->heap[child + 1]->due_ms < timers->heap[child]->due_ms) {
            child++;
        }
        if (child >= timers->count || timers->heap[child]->due_ms >= timer->due_ms) {
            break;
        }
        put(timers, timers->heap[child], index);
        index = child;
    }
    put(timers, timer, index);
}

void timers_put(struct timers *timers, struct timer *timer, int64_t due_ms)
{
    timer->due_ms = due_ms;
    sift(timers, timer, timer->place > 0 ? timer->place - 1 : timers->count++);
}

void timers_take_out(struct timers *timers, struct timer *timer)
{
    size_t index = timer->place - 1;
    struct timer *last = timers->heap[--timers->count];
    timer->place = 0;
    if (last != timer) {
        sift(timers, last, index);
    }
}

void timers_run_due(struct timers *timers, int64_t now_ms)
{
    while (timers->count > 0 && timers->heap[0]->due_ms <= now_ms) {
        struct timer *timer = timers->heap[0];
        timers_clear(timers, timer);
        timer->on_due(timer, now_ms);
    }
}
