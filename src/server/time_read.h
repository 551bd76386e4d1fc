/* time_read - a time as people and programs write it for the API: RFC 3339. Pure. */
#ifndef LULL_SERVER_TIME_READ_H
#define LULL_SERVER_TIME_READ_H

#include <stddef.h>
#include <stdint.h>

/* Milliseconds since 1970 UTC; what is finer is cut off. LULL_ERR_SYNTAX: another form;
 * LULL_ERR_RANGE: no such day or time. */
int time_read(const char *text, size_t length, int64_t *ret_ms);

#endif
