/*
 * keys_check - `lull keys check`: what would be wrong with the first send (W9)?
 *
 * One finding a line, "ok", "warning" or "error" and a sentence. No finding has a key or an
 * endpoint in it.
 */
#ifndef LULL_CLI_KEYS_CHECK_H
#define LULL_CLI_KEYS_CHECK_H

#include <stdbool.h>
#include <stdint.h>

struct keys_check {
    const char *key;         /* the key file; NULL: the default one */
    const char *to;          /* the file with a subscription; NULL: none */
    const char *topic;       /* NULL: none */
    int64_t ttl_s;           /* -1: not said */
    bool is_offline;         /* leave out the clock */
    bool is_private_allowed; /* the service may be on this machine or in our network */
    bool is_json;
};

/* CLI_OK, CLI_FAILED if there is an error, CLI_USAGE if the subscription cannot be read. */
int keys_check_run(const struct keys_check *check);

#endif
