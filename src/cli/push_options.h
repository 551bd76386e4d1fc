/* push_options - the flags of `lull push`, read and checked. */
#ifndef LULL_CLI_PUSH_OPTIONS_H
#define LULL_CLI_PUSH_OPTIONS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "api_options.h"
#include "message_options.h"

struct push_options {
    struct api_options api;
    /* the target: one of these */
    struct message_text subscription; /* its JSON */
    const char *webhook;              /* a URL */
    const char *batch;                /* a file of messages; - is standard input */
    /* of a webhook */
    const char *method;
    const char *content_type;
    const char *sign;
    json_t *headers; /* NULL: none */
    /* of a push */
    const char *key;
    struct message_padding padding;
    bool has_padding;
    /* of either */
    struct message_text body;
    json_t *body_json; /* of --body-json */
    int64_t ttl_s;     /* -1: not said */
    int64_t delay_s;   /* -1: not said */
    const char *urgency;
    const char *topic;
    const char *policy;
    const char *at;
    const char *correlation_id;
    int64_t wait_ms; /* for the end of it; 0: not at all */
    /* of a batch */
    uint32_t chunk_lines;

    const char *idempotency_key; /* NULL: a new one */
    bool is_json;
    bool is_quiet;
    bool is_help;
};

extern const char push_help[];

/* CLI_OK, or an exit code, and then a sentence was printed. To be freed in both cases. */
int push_options_read(struct push_options *options, int argc, char **argv);
void push_options_free(struct push_options *options);

#endif
