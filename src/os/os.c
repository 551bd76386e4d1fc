/* os - see the header. SPDX-License-Identifier: MIT */
#include "lull/os.h"

#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

uint64_t lull_os_seed(void)
{
    uint64_t seed = 0;
    /* Up to 256 bytes come whole, or not at all. */
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
        abort();
    }
    return seed;
}

static int64_t read_clock(clockid_t clock)
{
    struct timespec time = {0};
    (void)clock_gettime(clock, &time); /* cannot fail for the two clocks below */
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

int64_t lull_os_now_ms(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t lull_os_mono_ms(void)
{
    return read_clock(CLOCK_MONOTONIC);
}
