/*
 * api_options - how the subcommands that talk to `lull serve` find it: its address and the token.
 *
 *   api_options_init -> api_options_read for each of its options -> api_target_find -> api_client
 *
 * A flag goes before the environment, the environment before the default.
 */
#ifndef LULL_CLI_API_OPTIONS_H
#define LULL_CLI_API_OPTIONS_H

#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>

#define API_SERVER_DEFAULT "http://127.0.0.1:8372"
#define API_URL_SIZE 512
#define API_SOCKET_SIZE 108 /* what fits into a sockaddr_un */
#define API_TOKEN_SIZE 513

enum api_option_code { /* beyond those of any command */
                       API_OPT_SERVER = 4096,
                       API_OPT_TOKEN_FILE,
                       API_OPT_CACERT,
                       API_OPT_MAX_TIME,
                       API_OPT_RETRIES,
                       API_OPT_END,
};

/* For the command's own list. */
#define API_LONG_OPTIONS                                                                           \
    {"server", required_argument, NULL, API_OPT_SERVER},                                           \
        {"token-file", required_argument, NULL, API_OPT_TOKEN_FILE},                               \
        {"cacert", required_argument, NULL, API_OPT_CACERT},                                       \
        {"max-time", required_argument, NULL, API_OPT_MAX_TIME},                                   \
    {                                                                                              \
        "retries", required_argument, NULL, API_OPT_RETRIES                                        \
    }

#define API_HELP                                                                                   \
    "The server:\n"                                                                                \
    "      --server URL         where 'lull serve' listens; unix:/PATH for its Unix socket;\n"     \
    "                           default LULL_SERVER, or http://127.0.0.1:8372\n"                   \
    "      --token-file FILE    its token (mode 0600); default LULL_TOKEN_FILE, or the token in\n" \
    "                           LULL_TOKEN itself\n"                                               \
    "      --cacert FILE        trust these certificates\n"                                        \
    "  -m, --max-time SECONDS   for one request; default 60\n"                                     \
    "      --retries N          of a request that got no answer, or 429 or 503; default 5\n"

struct api_options {
    const char *server;     /* NULL: not said */
    const char *token_file; /* NULL: not said */
    const char *cacert;
    int64_t max_time_ms;
    uint32_t retries;
};

struct api_target {
    char base[API_URL_SIZE];           /* no / at the end */
    char socket_path[API_SOCKET_SIZE]; /* "": TCP */
    char token[API_TOKEN_SIZE];        /* "": none */
};

void api_options_init(struct api_options *options);

/* Is the code of getopt_long one of these? -m is --max-time. */
bool api_options_has(int code);

/* CLI_OK, or CLI_USAGE after a sentence. */
int api_options_read(struct api_options *options, const char *command, int code, const char *value);

/* Reads the environment and the token file. CLI_OK, or CLI_USAGE after a sentence. */
int api_target_find(struct api_target *target, const char *command,
                    const struct api_options *options);

#endif
