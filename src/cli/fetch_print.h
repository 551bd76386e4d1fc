/*
 * fetch_print - what `lull fetch` tells people and programs. No URL, key or body is ever in it: a
 * URL is known by its place on the command line.
 */
#ifndef LULL_CLI_FETCH_PRINT_H
#define LULL_CLI_FETCH_PRINT_H

#include <stdio.h>

#include "lull/http.h"

/* One of the URLs. */
struct fetch_place {
    size_t index; /* from 1 */
    size_t count; /* of how many */
};

/* One line: what an attempt came to, and when the next one is. */
void fetch_print_retry(FILE *out, struct fetch_place place, const struct lull_attempt *attempt);

/* One line: why it ended without what was asked for. */
void fetch_print_failure(FILE *out, struct fetch_place place, const struct lull_result *result);

/* The questions of one decision; attempt NULL: of the one before an attempt. */
void fetch_print_decision(FILE *out, struct fetch_place place, const struct lull_attempt *attempt,
                          const struct lull_verdict *verdict, const struct lull_trace *trace);

/* One object on one line. */
void fetch_print_json(FILE *out, struct fetch_place place, const struct lull_result *result,
                      int64_t body_bytes, int exit_code);

#endif
