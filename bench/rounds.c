/* rounds - see the header. SPDX-License-Identifier: MIT */
#include "rounds.h"

#include <stdlib.h>
#include <string.h>

double rounds_now_us(clockid_t clock)
{
    struct timespec time = {0};
    (void)clock_gettime(clock, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double rounds_median(const double *values, size_t count)
{
    static double sorted[ROUNDS_MAX];
    memcpy(sorted, values, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare);
    return sorted[count / 2];
}

double rounds_median_ratio(const double *values, const double *others, size_t count)
{
    static double ratios[ROUNDS_MAX];
    for (size_t i = 0; i < count; i++) {
        ratios[i] = values[i] / others[i];
    }
    return rounds_median(ratios, count);
}
