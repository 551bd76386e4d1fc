/*
 * latency - how long a destination takes to answer, as percentiles in fixed memory.
 *
 * Pure. Four buckets for each doubling from 64 us to an hour, so a percentile is at most a quarter
 * too high and never too low. When LULL_LATENCY_MEMORY samples are in, all counts are halved: what
 * is old fades, and the figure follows a service that becomes slower or faster.
 */
#ifndef LULL_LATENCY_H
#define LULL_LATENCY_H

#include <stdint.h>

#include "lull/api.h"

LULL_BEGIN_DECLS

#define LULL_LATENCY_BUCKETS 104
#define LULL_LATENCY_MEMORY 1024

/* All zero is a fresh one. */
struct lull_latency {
    uint32_t total;
    uint32_t counts[LULL_LATENCY_BUCKETS];
};

/* A negative time counts as 0, one of more than an hour as an hour. */
LULL_API void lull_latency_add(struct lull_latency *latency, int64_t us);

/* No fewer than permille of the samples took this long or less: the upper end of their bucket, in
 * us. -1 with fewer than samples_min of them. */
LULL_API int64_t lull_latency_percentile(const struct lull_latency *latency, uint32_t permille,
                                         uint32_t samples_min);

LULL_END_DECLS

#endif
