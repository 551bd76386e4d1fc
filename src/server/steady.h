/*
 * steady - a wall clock that does not step (T4).
 *
 * Pure. While the program runs, time goes on as the monotonic clock does. Where the wall clock has
 * been set it is followed slowly: a tenth slower if it was set back, a two-thousandth faster if it
 * was set ahead, so that nothing goes out before its Retry-After and not all of a queue is due at
 * once. What TTLs are off by meanwhile is what the clock was wrong by before.
 */
#ifndef LULL_SERVER_STEADY_H
#define LULL_SERVER_STEADY_H

#include <stdint.h>

struct steady {
    int64_t now_ms;  /* as last said */
    int64_t mono_ms; /* when that was */
    int64_t rest;    /* time that was not enough to follow by a millisecond */
};

void steady_init(struct steady *steady, int64_t wall_ms, int64_t mono_ms);

/* Never less than it said before. */
int64_t steady_now_ms(struct steady *steady, int64_t wall_ms, int64_t mono_ms);

#endif
