/*
 * retry_after - how long a server asks us to wait (A1, A2, A6).
 *
 * Takes one header's value. Delta-seconds, any HTTP-date, or a number so large that it can only
 * be an epoch. Everything else is malformed, which counts as absent but is told apart, so that it
 * can be logged and counted.
 */
#ifndef LULL_RETRY_AFTER_H
#define LULL_RETRY_AFTER_H

#include <stddef.h>
#include <stdint.h>

#include "lull/api.h"

LULL_BEGIN_DECLS

enum lull_retry_after_state {
    LULL_RETRY_AFTER_ABSENT,
    LULL_RETRY_AFTER_OK,
    LULL_RETRY_AFTER_MALFORMED,
};

struct lull_retry_after {
    enum lull_retry_after_state state;
    int64_t wait_ms; /* 0..LULL_WAIT_MAX_MS; 0 unless state is OK */
};

/* The clocks that a date is read against. The server's own is better than ours, as long as it
 * is believable: within a day of ours, or within a day of the date that it names. */
struct lull_retry_after_clock {
    int64_t now_ms;   /* ours */
    const char *date; /* the response's Date header, or NULL */
    size_t date_length;
};

/* Reads a Retry-After value. text == NULL means absent. Never fails: see the state. */
LULL_API struct lull_retry_after lull_retry_after_parse(const char *text, size_t length,
                                                        const struct lull_retry_after_clock *clock);

/* Reads a plain number of milliseconds (Retry-After-Ms). */
LULL_API struct lull_retry_after lull_retry_after_parse_ms(const char *text, size_t length);

LULL_API const char *lull_retry_after_state_to_string(enum lull_retry_after_state state);

LULL_END_DECLS

#endif
