/* time_text - see the header. SPDX-License-Identifier: MIT */
#include "time_text.h"

#include <stdio.h>
#include <time.h>

#define LAST_MS INT64_C(253402300799999) /* the end of the year 9999 */

void time_text_write(int64_t ms, char ret_text[TIME_TEXT_SIZE])
{
    ms = ms < 0 ? 0 : ms > LAST_MS ? LAST_MS : ms;
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    (void)gmtime_r(&seconds, &tm); /* fails only where the year is no int */
    /* The remainders say to the compiler how many digits there can be. */
    (void)snprintf(ret_text, TIME_TEXT_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
                   (unsigned)(tm.tm_year + 1900) % 10000, (unsigned)(tm.tm_mon + 1) % 100,
                   (unsigned)tm.tm_mday % 100, (unsigned)tm.tm_hour % 100,
                   (unsigned)tm.tm_min % 100, (unsigned)tm.tm_sec % 100, (unsigned)(ms % 1000));
}
