/*
 * bucket - a token bucket on injected time (G5).
 *
 * Pure. The bucket keeps what is missing from it, in millionths of a token: at a rate in
 * thousandths of a token per second, each millisecond gives back a whole number of them. So there
 * is no remainder and no drift, at any rate from one token in a thousand seconds upwards.
 *
 *   lull_bucket_init -> lull_bucket_take ...      lull_bucket_available at any time
 */
#ifndef LULL_BUCKET_H
#define LULL_BUCKET_H

#include <stdint.h>

#include "lull/api.h"

LULL_BEGIN_DECLS

struct lull_bucket_config {
    uint32_t capacity;         /* tokens when full                       default 500; 1 to 10^6 */
    uint64_t rate_milli_per_s; /* thousandths of a token earned each second
                                                              default 100,000; 1 to 10^12 */
};

struct lull_bucket {
    struct lull_bucket_config config;
    int64_t missing_micro; /* 0 is full */
    int64_t mono_ms;       /* when missing_micro was true */
};

/* A full bucket. Refuses a field out of range with LULL_ERR_RANGE and leaves *bucket as it was. */
LULL_API int lull_bucket_init(struct lull_bucket *bucket, const struct lull_bucket_config *config,
                              int64_t mono_ms);

/* New capacity and rate from now on; what is in it stays, as far as it fits. Errors as for init. */
LULL_API int lull_bucket_configure(struct lull_bucket *bucket,
                                   const struct lull_bucket_config *config, int64_t mono_ms);

/* Takes all or none. Returns 0 if taken, else the wait in ms after which the same call would
 * succeed, or LULL_NEVER if tokens > capacity. Never gives more than capacity + rate x time. A
 * clock that steps back is held at the latest time; a step of more than it takes to fill the bucket
 * starts time anew from there, and so costs at most one bucket. */
LULL_API int64_t lull_bucket_take(struct lull_bucket *bucket, int64_t mono_ms, uint32_t tokens);

/* The same answer as _take, without taking. */
LULL_API int64_t lull_bucket_wait(struct lull_bucket *bucket, int64_t mono_ms, uint32_t tokens);

/* Puts tokens back, up to the capacity: for what was taken and not used. */
LULL_API void lull_bucket_return(struct lull_bucket *bucket, int64_t mono_ms, uint32_t tokens);

/* Whole tokens that could be taken now. */
LULL_API uint32_t lull_bucket_available(struct lull_bucket *bucket, int64_t mono_ms);

LULL_END_DECLS

#endif
