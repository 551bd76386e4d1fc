/*
 * api_client - requests to the API of `lull serve`, for the subcommands that talk to it.
 *
 *   api_open -> { api_call -> api_answer_free } ... -> api_close
 *
 * A request is repeated by the policy `client`: without an answer, on 429 and 503 (Retry-After is
 * waited for), and while the server still works on the same key. A POST carries a key, so that a
 * repeat is answered with what the first one made (Q6). What the server says against a request is
 * told as a sentence on standard error; the token is never in it.
 */
#ifndef LULL_CLI_API_CLIENT_H
#define LULL_CLI_API_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "api_options.h"
#include "lull/http.h"
#include "progress.h"

enum api_exit { /* of all these commands; 0, 1 and 2 are those of cli.h */
                API_REFUSED = 3,
                API_NO_ANSWER = 4,
};

#define API_EXIT_HELP                                                                              \
    "0 done, 1 failed here, 2 wrong arguments or a bad file, 3 the server\nrefused it, 4 no "      \
    "answer, or no room (429, 503) for too long"

struct api {
    const char *command;
    struct lull_client *client;
    struct lull_policy policy;
    struct api_target target;
    int64_t max_time_ms;
    const char *cacert;
    bool is_quiet;             /* no line per retry */
    struct progress *progress; /* cleared before a line; NULL: there is none */
};

struct api_request {
    const char *method;
    const char *path;         /* from /v1 on */
    const char *content_type; /* of the body; NULL: no body */
    const char *body;
    size_t body_length;
    const char *idempotency_key; /* with POST */
    bool is_answer_lines;        /* NDJSON; else the answer must be a JSON object */
};

struct api_answer {
    unsigned status;
    json_t *json; /* NULL if it is_answer_lines: they are in result->body */
    struct lull_result *result;
    bool is_first; /* one attempt: nothing of it can be the echo of an earlier one */
};

/* CLI_OK, or an exit code after a sentence. To be closed in both cases. */
int api_open(struct api *api, const char *command, const struct api_options *options);
void api_close(struct api *api);

/* CLI_OK: 2xx, with a whole body; to be freed. Else an exit code, said on stderr. */
int api_call(struct api *api, const struct api_request *request, struct api_answer *ret_answer);

/* A GET or a DELETE. */
int api_ask(struct api *api, const char *method, const char *path, struct api_answer *ret_answer);
void api_answer_free(struct api_answer *answer);

/* The path of a message. False: the id has other characters than an id, or another length. */
#define API_MESSAGE_PATH_SIZE 96
bool api_message_path(const char *id, char path[API_MESSAGE_PATH_SIZE]);

/* "lull COMMAND: SENTENCE" on stderr, the bar cleared before. Returns CLI_FAILED, for
 * the callers to whom it is that. */
__attribute__((format(printf, 2, 3))) int api_say(const struct api *api, const char *format, ...);

/* ---- reading what came ---- */

/* A string member, or fallback; control characters in it are a question mark, since it may go to a
 * terminal. Borrowed from json, which is changed. */
const char *api_text(json_t *json, const char *member, const char *fallback);

/* What the server has against a request, as a part of a sentence: "ttl must be a whole number (HTTP
 * 400 bad-request, member ttl)". Cut to fit. */
#define API_PROBLEM_SIZE 1024
const char *api_problem(json_t *problem, int64_t status, char buffer[API_PROBLEM_SIZE]);

int64_t api_number(const json_t *json, const char *member, int64_t fallback);

/* One line of JSON on standard output. */
bool api_print_json(const json_t *json);

#endif
