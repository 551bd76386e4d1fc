/* send_options - the flags of `lull send`, read and checked. */
#ifndef LULL_CLI_SEND_OPTIONS_H
#define LULL_CLI_SEND_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/policy.h"
#include "lull/webpush.h"
#include "message_options.h"

struct send_options {
    struct lull_subscription subscription; /* of --to */
    const char *key_path;                  /* NULL: the default file */
    struct message_text body;              /* none: a push without one */
    struct message_padding padding;        /* bytes, once the body is known */
    int64_t ttl_ms;
    const char *urgency; /* NULL: not said */
    const char *topic;   /* NULL: none */
    struct lull_policy policy;
    int64_t max_time_ms;
    int64_t connect_timeout_ms;
    const char *cacert;
    const char *receipt_path;          /* where the message's own URL goes; NULL: nowhere (W7) */
    char recalled[LULL_ENDPOINT_SIZE]; /* of --recall: the URL; "": a message is sent */
    bool is_private_allowed;
    bool is_dry_run;
    bool is_explaining;
    bool is_json;
    bool is_quiet;
    bool is_help;
};

extern const char send_help[];

/* CLI_OK, or an exit code, and then a sentence was printed. To be freed in both cases. */
int send_options_read(struct send_options *options, int argc, char **argv);
/* Where the request goes: to the subscription, or to the message that is recalled. */
const char *send_endpoint(const struct send_options *options);
void send_options_free(struct send_options *options);

#endif
