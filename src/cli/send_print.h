/* send_print - what `lull send` tells. An endpoint is known by its hash, a token and a body not at
 * all (L1). */
#ifndef LULL_CLI_SEND_PRINT_H
#define LULL_CLI_SEND_PRINT_H

#include <stdio.h>

#include "lull/http.h"
#include "send_options.h"

/* The request that would be sent, with all that is secret masked. */
void send_print_request(FILE *out, const struct send_options *options,
                        const struct curl_slist *headers, size_t body_length);

/* One object on one line. */
void send_print_json(FILE *out, const struct send_options *options,
                     const struct lull_result *result, size_t body_length, int exit_code);

/* One line for a person: delivered. */
void send_print_success(FILE *out, const struct send_options *options,
                        const struct lull_result *result);

#endif
