/*
 * ids - where the numbers of a new store begin: at its time, so that one that was deleted and made
 * anew does not give the same ids to other messages. From there on they go up one by one, whatever
 * the clock does: so they are in the order of time, and a store can tell exactly which it has
 * given.
 */
#ifndef LULL_STORE_IDS_H
#define LULL_STORE_IDS_H

#include <stdint.h>

#define IDS_PER_MS_BITS 20 /* more a millisecond than any store takes */
#define IDS_MS_MAX (INT64_C(1) << 42)

static inline uint64_t ids_begin(int64_t now_ms)
{
    int64_t ms = now_ms < 0 ? 0 : now_ms;
    ms = ms > IDS_MS_MAX ? IDS_MS_MAX : ms;
    return ((uint64_t)ms << IDS_PER_MS_BITS) + 1;
}

#endif
