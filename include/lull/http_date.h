/*
 * http_date - reads the three date forms of RFC 9110 section 5.6.7 (A1).
 *
 *   Sun, 06 Nov 1994 08:49:37 GMT     IMF-fixdate
 *   Sunday, 06-Nov-94 08:49:37 GMT    RFC 850, two-digit year
 *   Sun Nov  6 08:49:37 1994          asctime
 *
 * Pure: no locale, no time zone, no allocation. Strict: exact case, exact digits; spaces and tabs
 * around the value are trimmed. The day name must be a day name, but is not checked against the
 * date: the date is what counts, and a wrong name does not make it impossible. Second 60 is
 * accepted where a leap second can be, in the last minute of a month, and reads as the second
 * after it.
 */
#ifndef LULL_HTTP_DATE_H
#define LULL_HTTP_DATE_H

#include <stddef.h>
#include <stdint.h>

#include "lull/api.h"

LULL_BEGIN_DECLS

/* Reads length bytes at text into *ret_epoch_s (seconds since 1970 UTC; negative before it).
 * now_epoch_s places a two-digit year: the latest one that is at most fifty years ahead.
 * Returns 0, LULL_ERR_SYNTAX for another shape, LULL_ERR_RANGE for an impossible date. */
LULL_API int lull_http_date_parse(const char *text, size_t length, int64_t now_epoch_s,
                                  int64_t *ret_epoch_s);

LULL_END_DECLS

#endif
