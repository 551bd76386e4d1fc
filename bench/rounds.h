/* rounds - what the benchmarks measure with: microseconds, and medians over rounds. */
#ifndef LULL_BENCH_ROUNDS_H
#define LULL_BENCH_ROUNDS_H

#include <stddef.h>
#include <time.h>

double rounds_now_us(clockid_t clock);

/* Of up to ROUNDS_MAX values. */
#define ROUNDS_MAX 10000
double rounds_median(const double *values, size_t count);

/* The median of what each round took next to the other's round of the same turn. */
double rounds_median_ratio(const double *values, const double *others, size_t count);

#endif
