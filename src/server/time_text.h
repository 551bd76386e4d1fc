/* time_text - a time as the API writes it: RFC 3339 in UTC, with milliseconds. */
#ifndef LULL_SERVER_TIME_TEXT_H
#define LULL_SERVER_TIME_TEXT_H

#include <stdint.h>

#define TIME_TEXT_SIZE 25 /* "2026-01-31T09:30:00.250Z" and the final zero */

/* Times before 1970 and after the year 9999 are written as these. */
void time_text_write(int64_t ms, char ret_text[TIME_TEXT_SIZE]);

#endif
