/* bucket - see the header. SPDX-License-Identifier: MIT */
#include "lull/bucket.h"

#include <stdbool.h>

#include "lull/duration.h"
#include "lull/error.h"
#include "saturate.h"

#define MICRO INT64_C(1000000) /* parts of a token */
#define CAPACITY_MAX 1000000U
#define RATE_MILLI_MAX UINT64_C(1000000000000)

static bool is_in_range(const struct lull_bucket_config *config)
{
    return config->capacity >= 1 && config->capacity <= CAPACITY_MAX &&
           config->rate_milli_per_s >= 1 && config->rate_milli_per_s <= RATE_MILLI_MAX;
}

static int64_t capacity_micro(const struct lull_bucket *bucket)
{
    return (int64_t)bucket->config.capacity * MICRO;
}

/* A rate of r thousandths per second earns r millionths in a millisecond. */
static void earn(struct lull_bucket *bucket, int64_t mono_ms)
{
    int64_t elapsed_ms = saturating_sub(mono_ms, bucket->mono_ms);
    int64_t rate = (int64_t)bucket->config.rate_milli_per_s;
    if (elapsed_ms < 0 && -(elapsed_ms + 1) < capacity_micro(bucket) / rate) {
        return; /* a jitter of the clock: hold at the latest time, or it would be earned twice */
    }
    bucket->mono_ms = mono_ms;
    if (elapsed_ms <= 0) {
        return;
    }
    /* missing <= 10^12, so a bucket is full within 10^12 ms and the product cannot overflow. */
    if (elapsed_ms > bucket->missing_micro / rate) {
        bucket->missing_micro = 0;
    } else {
        bucket->missing_micro -= elapsed_ms * rate;
    }
}

int lull_bucket_init(struct lull_bucket *bucket, const struct lull_bucket_config *config,
                     int64_t mono_ms)
{
    if (!is_in_range(config)) {
        return LULL_ERR_RANGE;
    }
    *bucket = (struct lull_bucket){.config = *config, .missing_micro = 0, .mono_ms = mono_ms};
    return LULL_OK;
}

int lull_bucket_configure(struct lull_bucket *bucket, const struct lull_bucket_config *config,
                          int64_t mono_ms)
{
    if (!is_in_range(config)) {
        return LULL_ERR_RANGE;
    }
    earn(bucket, mono_ms);
    /* What is in the bucket stays in it, as far as it fits. */
    int64_t inside = capacity_micro(bucket) - bucket->missing_micro;
    bucket->config = *config;
    bucket->missing_micro = inside < capacity_micro(bucket) ? capacity_micro(bucket) - inside : 0;
    return LULL_OK;
}

int64_t lull_bucket_wait(struct lull_bucket *bucket, int64_t mono_ms, uint32_t tokens)
{
    if (tokens > bucket->config.capacity) {
        return LULL_NEVER;
    }
    earn(bucket, mono_ms);
    int64_t short_micro = bucket->missing_micro + (int64_t)tokens * MICRO - capacity_micro(bucket);
    if (short_micro <= 0) {
        return 0;
    }
    int64_t rate = (int64_t)bucket->config.rate_milli_per_s;
    int64_t held_ms = bucket->mono_ms - mono_ms; /* the clock has to come up to here first */
    return held_ms + (short_micro + rate - 1) / rate;
}

int64_t lull_bucket_take(struct lull_bucket *bucket, int64_t mono_ms, uint32_t tokens)
{
    int64_t wait_ms = lull_bucket_wait(bucket, mono_ms, tokens);
    if (wait_ms == 0) {
        bucket->missing_micro += (int64_t)tokens * MICRO;
    }
    return wait_ms;
}

void lull_bucket_return(struct lull_bucket *bucket, int64_t mono_ms, uint32_t tokens)
{
    earn(bucket, mono_ms);
    int64_t returned = (int64_t)tokens * MICRO;
    bucket->missing_micro = returned < bucket->missing_micro ? bucket->missing_micro - returned : 0;
}

uint32_t lull_bucket_available(struct lull_bucket *bucket, int64_t mono_ms)
{
    earn(bucket, mono_ms);
    return (uint32_t)((capacity_micro(bucket) - bucket->missing_micro) / MICRO);
}
