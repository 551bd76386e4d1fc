/* fetch_options - the flags of `lull fetch`, read and checked. */
#ifndef LULL_CLI_FETCH_OPTIONS_H
#define LULL_CLI_FETCH_OPTIONS_H

#include "lull/http.h"

struct fetch_options {
    char **urls;
    size_t url_count;
    const char **outputs; /* the n-th is for the n-th URL */
    size_t output_count;
    const char *method; /* NULL: by the body */
    struct curl_slist *headers;
    struct curl_slist *resolve;
    char *data; /* of -d and its kin */
    size_t data_length;
    bool has_data;
    int upload_fd;                    /* of -T, -1: none */
    struct lull_policy policy;        /* with --retries and --deadline in it */
    struct lull_client_config client; /* the budget */
    const char *idempotency_key;
    const char *traceparent;
    const char *user_agent;
    const char *user;
    const char *proxy;
    const char *cacert;
    const char *cert;
    const char *key;
    int64_t max_time_ms;
    int64_t connect_timeout_ms;
    uint32_t incoming_attempt;
    uint32_t parallel;
    long http_version;
    bool is_key_auto;
    bool is_repeatable;
    bool is_hedged;
    bool is_included; /* -i */
    bool is_head;     /* -I */
    bool is_following;
    bool is_insecure;
    bool is_silent;
    bool is_showing_errors; /* -S, also with -s */
    bool is_failing;
    bool is_compressed;
    bool is_explaining;
    bool is_json;
    bool is_help;
};

extern const char fetch_help[];

/* CLI_OK, or an exit code, and then a sentence was printed. To be freed in both cases. */
int fetch_options_read(struct fetch_options *options, int argc, char **argv);
void fetch_options_free(struct fetch_options *options);

#endif
