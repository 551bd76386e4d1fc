/* instant - sums of times in ms where LULL_NEVER is one, too. */
#ifndef LULL_HTTP_INSTANT_H
#define LULL_HTTP_INSTANT_H

#include <stdint.h>

#include "lull/duration.h"

static inline int64_t instant_earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* So much later; LULL_NEVER for a wait that no clock will see the end of. */
static inline int64_t instant_after(int64_t at_ms, int64_t wait_ms)
{
    return wait_ms > LULL_WAIT_MAX_MS ? LULL_NEVER : at_ms + wait_ms;
}

#endif
