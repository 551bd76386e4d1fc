/*
 * duration - the unit of time everywhere is one millisecond in an int64_t.
 *
 * now_ms   wall clock, milliseconds since 1970 UTC: for TTLs and dates.
 * mono_ms  a clock that only goes forward, any origin: for windows, buckets, breakers.
 *
 * Two saturation points keep all sums of two times inside int64_t: no wait is longer than
 * LULL_WAIT_MAX_MS, and LULL_NEVER stands for "no limit" or "not at all".
 */
#ifndef LULL_DURATION_H
#define LULL_DURATION_H

#include <stdint.h>

#define LULL_NEVER INT64_MAX

/* From 1970 to the end of year 9999, the last instant that an HTTP-date can name. */
#define LULL_WAIT_MAX_MS INT64_C(253402300799999)

#define LULL_SECONDS(n) ((int64_t)(n)*INT64_C(1000))
#define LULL_MINUTES(n) LULL_SECONDS((int64_t)(n)*60)
#define LULL_HOURS(n) LULL_MINUTES((int64_t)(n)*60)
#define LULL_DAYS(n) LULL_HOURS((int64_t)(n)*24)

#endif
