/* latency - see the header. SPDX-License-Identifier: MIT */
#include "lull/latency.h"

#define FIRST_US UINT64_C(64) /* the upper end of bucket 0 */
#define FIRST_WIDTH 6         /* 64 is 2^6 */

/* Bucket 4k+j ends at 2^k x (1 + j/4) x 64 us. */
static uint64_t upper_us(unsigned bucket)
{
    uint64_t octave = FIRST_US << (bucket / 4);
    return octave + octave / 4 * (bucket % 4);
}

static unsigned bucket_of(uint64_t us)
{
    if (us <= FIRST_US) {
        return 0;
    }
    unsigned octave = (unsigned)(63 - __builtin_clzll(us)) - FIRST_WIDTH;
    uint64_t quarter = (FIRST_US << octave) / 4;
    uint64_t above = us - (FIRST_US << octave);
    unsigned bucket = octave * 4 + (unsigned)((above + quarter - 1) / quarter);
    return bucket < LULL_LATENCY_BUCKETS ? bucket : LULL_LATENCY_BUCKETS - 1;
}

void lull_latency_add(struct lull_latency *latency, int64_t us)
{
    latency->counts[bucket_of(us > 0 ? (uint64_t)us : 0)]++;
    latency->total++;
    if (latency->total < LULL_LATENCY_MEMORY) {
        return;
    }
    latency->total = 0;
    for (unsigned i = 0; i < LULL_LATENCY_BUCKETS; i++) {
        latency->counts[i] /= 2;
        latency->total += latency->counts[i];
    }
}

int64_t lull_latency_percentile(const struct lull_latency *latency, uint32_t permille,
                                uint32_t samples_min)
{
    if (latency->total == 0 || latency->total < samples_min) {
        return -1;
    }
    uint64_t seen = 0;
    for (unsigned i = 0; i < LULL_LATENCY_BUCKETS; i++) {
        seen += latency->counts[i];
        if (seen * 1000 >= (uint64_t)latency->total * permille && seen > 0) {
            return (int64_t)upper_us(i);
        }
    }
    return (int64_t)upper_us(LULL_LATENCY_BUCKETS - 1);
}
