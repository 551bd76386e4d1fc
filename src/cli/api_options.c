/* api_options - see the header. SPDX-License-Identifier: MIT */
#include "api_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/policy.h"
#include "lull/vendor.h"
#include "private_file.h"

#define TOKEN_FILE_MAX 262144
#define RETRIES_DEFAULT 5

void api_options_init(struct api_options *options)
{
    *options = (struct api_options){.max_time_ms = LULL_SECONDS(60), .retries = RETRIES_DEFAULT};
}

bool api_options_has(int code)
{
    return code == 'm' || (code >= API_OPT_SERVER && code < API_OPT_END);
}

int api_options_read(struct api_options *options, const char *command, int code, const char *value)
{
    uint64_t number = 0;
    int result = CLI_OK;
    switch (code) {
    case API_OPT_SERVER:
        options->server = value;
        return CLI_OK;
    case API_OPT_TOKEN_FILE:
        options->token_file = value;
        return CLI_OK;
    case API_OPT_CACERT:
        options->cacert = value;
        return CLI_OK;
    case API_OPT_RETRIES:
        result = cli_read_count(command, "retries", value, 0, LULL_POLICY_RETRIES_MAX, &number);
        options->retries = (uint32_t)number;
        return result;
    case API_OPT_MAX_TIME:
    default:
        return cli_read_seconds(command, "max-time", value, &options->max_time_ms);
    }
}

/* ---- the address ---- */

static bool read_socket(struct api_target *target, const char *path)
{
    size_t length = strlen(path);
    if (*path != '/' || length >= sizeof target->socket_path) {
        return false;
    }
    memcpy(target->socket_path, path, length + 1);
    (void)snprintf(target->base, sizeof target->base, "http://localhost");
    return true;
}

/* A path in front of /v1 is fine, as a reverse proxy may want one; a password is not: it has no
 * place among the arguments. */
static bool read_url(struct api_target *target, const char *url)
{
    const char *host = NULL;
    size_t host_length = 0;
    size_t length = strlen(url);
    if (lull_url_host(url, length, &host, &host_length) != LULL_OK || strpbrk(url, "?#")) {
        return false;
    }
    while (url[length - 1] == '/') {
        length--;
    }
    if (length >= sizeof target->base) {
        return false;
    }
    memcpy(target->base, url, length);
    target->base[length] = '\0';
    return true;
}

static int find_server(struct api_target *target, const char *command,
                       const struct api_options *options)
{
    static const char prefix[] = "unix:";
    const char *environment = getenv("LULL_SERVER");
    bool is_from_environment = !options->server && environment && *environment;
    const char *server = options->server ? options->server : API_SERVER_DEFAULT;
    server = is_from_environment ? environment : server;
    bool is_socket = strncmp(server, prefix, strlen(prefix)) == 0;
    if (is_socket ? read_socket(target, server + strlen(prefix)) : read_url(target, server)) {
        return CLI_OK;
    }
    return cli_usage(command,
                     "%s must be an http or https URL like %s, without user, query and fragment, "
                     "or unix:/PATH",
                     is_from_environment ? "LULL_SERVER" : "--server", API_SERVER_DEFAULT);
}

/* ---- the token ---- */

/* What a header can carry. */
static bool keep_token(struct api_target *target, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        if (text[i] <= ' ' || text[i] >= 0x7f) {
            return false;
        }
    }
    if (length == 0 || length >= sizeof target->token) {
        return false;
    }
    memcpy(target->token, text, length + 1);
    return true;
}

/* The first line that says something. It may be the server's own file: "name: secret". */
static int read_token_file(struct api_target *target, const char *command, const char *path)
{
    static const struct private_file_kind kind = {.name = "token file", .size_max = TOKEN_FILE_MAX};
    struct private_file file = {0};
    char problem[PRIVATE_FILE_PROBLEM_SIZE] = "";
    if (!private_file_read(&kind, path, &file, problem)) {
        return cli_usage(command, "%s", problem);
    }
    const char *line = strlen(file.text) == file.length ? private_file_line(&file) : NULL;
    const char *colon = line ? strchr(line, ':') : NULL;
    const char *secret = colon ? colon + 1 + strspn(colon + 1, " \t") : line;
    bool is_good = secret && keep_token(target, secret);
    private_file_free(&file);
    return is_good ? CLI_OK
                   : cli_usage(command,
                               "the token file has no token: a line of up to %d visible "
                               "ASCII characters, or 'name: token'",
                               API_TOKEN_SIZE - 1);
}

static int find_token(struct api_target *target, const char *command,
                      const struct api_options *options)
{
    const char *path = options->token_file ? options->token_file : getenv("LULL_TOKEN_FILE");
    const char *token = getenv("LULL_TOKEN");
    if (path && *path) {
        return read_token_file(target, command, path);
    }
    if (options->token_file) {
        return cli_usage(command, "--token-file must name a file");
    }
    if (token && *token && !keep_token(target, token)) {
        return cli_usage(command, "LULL_TOKEN must be up to %d visible ASCII characters",
                         API_TOKEN_SIZE - 1);
    }
    return CLI_OK;
}

int api_target_find(struct api_target *target, const char *command,
                    const struct api_options *options)
{
    *target = (struct api_target){.base = ""};
    int result = find_server(target, command, options);
    return result == CLI_OK ? find_token(target, command, options) : result;
}
