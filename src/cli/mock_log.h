/*
 * mock_log - the lines that `lull mock` writes: one JSON object each, flushed.
 *
 * A subscription is named by its id. No key, token or Authorization header is ever in a line; the
 * decrypted text is, since showing it is what this service is for.
 */
#ifndef LULL_CLI_MOCK_LOG_H
#define LULL_CLI_MOCK_LOG_H

#include <stdbool.h>
#include <stdio.h>

#include "mock_push.h"

/* Of one push; what is NULL here is null there. */
struct mock_log_push {
    int64_t time_ms; /* wall clock, when its head had arrived */
    int64_t mono_ms;
    const char *subscription;
    uint64_t count; /* the how many-th to this subscription */
    const char *attempt;
    enum mock_action action;
    unsigned status; /* what is sent, for MOCK_HONEST and MOCK_STATUS */
    const struct mock_header *wait;
    bool is_early;
    const struct mock_push *push;
    const struct mock_finding *finding;
};

/* False: the line could not be written. log NULL: nothing is, and that is fine. */
bool mock_log_push(FILE *log, const struct mock_log_push *line);

/* The first line: where, and the seed that repeats the plan's chances. */
bool mock_log_listening(FILE *log, const char *url, uint64_t seed);

/* {"event":...,"time_ms":...,"NAME":"VALUE"}. */
bool mock_log_event(FILE *log, const char *event, const char *name, const char *value);

#endif
