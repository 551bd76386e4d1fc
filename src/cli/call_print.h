/*
 * call_print - what `lull fetch` and `lull send` tell people and programs of their calls. No URL,
 * key or body is ever in it: a URL is known by its place on the command line.
 */
#ifndef LULL_CLI_CALL_PRINT_H
#define LULL_CLI_CALL_PRINT_H

#include <stdio.h>

#include "lull/http.h"

/* One of the URLs of a command. */
struct call_place {
    const char *command;
    size_t index; /* from 1 */
    size_t count; /* of how many */
};

/* One line: what an attempt came to, and when the next one is. */
void call_print_retry(FILE *out, struct call_place place, const struct lull_attempt *attempt);

/* One line: why it ended without what was asked for. */
void call_print_failure(FILE *out, struct call_place place, const struct lull_result *result);

/* The questions of one decision; attempt NULL: of the one before an attempt. */
void call_print_decision(FILE *out, struct call_place place, const struct lull_attempt *attempt,
                         const struct lull_verdict *verdict, const struct lull_trace *trace);

/* The members verdict, reason, status, attempts and duration_ms of a JSON object. */
void call_print_members(FILE *out, const struct lull_result *result);

/* One object on one line. */
void call_print_json(FILE *out, struct call_place place, const struct lull_result *result,
                     int64_t body_bytes, int exit_code);

#endif
