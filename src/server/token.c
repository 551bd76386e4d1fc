/* token - see the header. SPDX-License-Identifier: MIT */
#include "token.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "config_value.h"
#include "private_file.h"
#include "text.h"
#include "visible.h"

static const struct private_file_kind token_file = {.name = "token file", .size_max = 262144};

static void hash(const char *secret, size_t length, uint8_t ret_hash[32])
{
    (void)SHA256((const unsigned char *)secret, length, ret_hash);
}

/* ---- the file ---- */

static bool check_secret(const char *secret, struct config_place place,
                         const struct config_report *report)
{
    size_t length = strlen(secret);
    if (length < TOKEN_SECRET_MIN || length > TOKEN_SECRET_MAX) {
        return config_refuse(report, place, "the secret must have %d to %d characters",
                             TOKEN_SECRET_MIN, TOKEN_SECRET_MAX);
    }
    if (!visible_is_clean(secret, length, '!', true)) {
        return config_refuse(report, place, "the secret must be ASCII without spaces");
    }
    return true;
}

static bool add(struct config *config, const struct config_token *token, struct config_place place,
                const struct config_report *report)
{
    for (size_t i = 0; i < config->token_count; i++) {
        if (strcmp(config->tokens[i].name, token->name) == 0) {
            return config_refuse(report, place, "there is a token of this name above");
        }
        if (memcmp(config->tokens[i].hash, token->hash, sizeof token->hash) == 0) {
            return config_refuse(report, place, "the token '%s' has the same secret",
                                 config->tokens[i].name);
        }
    }
    struct config_token *tokens =
        reallocarray(config->tokens, config->token_count + 1, sizeof *tokens);
    if (!tokens) {
        return config_refuse_memory(report, place);
    }
    config->tokens = tokens;
    config->tokens[config->token_count++] = *token;
    return true;
}

/* name: secret */
static bool read_line(struct config *config, char *line, struct config_place place,
                      const struct config_report *report)
{
    struct config_token token = {.name = ""};
    char *colon = strchr(line, ':');
    if (!colon) {
        return config_refuse(report, place, "a line must be 'name: secret'");
    }
    struct text name = text_trim(line, (size_t)(colon - line));
    const char *secret = colon + 1 + strspn(colon + 1, " \t");
    if (!config_value_name(name, token.name, sizeof token.name, place, report) ||
        !check_secret(secret, place, report)) {
        return false;
    }
    hash(secret, strlen(secret), token.hash);
    return add(config, &token, place, report);
}

bool token_read(struct config *config, const struct config_report *report)
{
    struct private_file file = {0};
    char problem[PRIVATE_FILE_PROBLEM_SIZE];
    struct config_place place = config_place_of(config, "token_file");
    free(config->tokens);
    config->tokens = NULL;
    config->token_count = 0;
    if (!config->token_file) {
        return true;
    }
    if (!private_file_read(&token_file, config->token_file, &file, problem)) {
        return config_refuse(report, place, "%s", problem);
    }
    bool is_good = true;
    for (char *line = private_file_line(&file); line; line = private_file_line(&file)) {
        struct config_place at = {.path = config->token_file, .line = file.line, .where = ""};
        is_good = read_line(config, line, at, report) && is_good;
    }
    if (is_good && config->token_count == 0) {
        is_good = config_refuse(report, place, "the token file has no line 'name: secret'");
    }
    private_file_free(&file);
    if (!is_good) {
        config->token_count = 0;
    }
    return is_good;
}

/* ---- a call ---- */

const struct config_token *token_find(const struct config *config, const char *authorization_header)
{
    static const char scheme[] = "Bearer ";
    const struct config_token *found = NULL;
    uint8_t given[32];
    if (!authorization_header ||
        strncasecmp(authorization_header, scheme, sizeof scheme - 1) != 0) {
        return NULL;
    }
    const char *rest = authorization_header + sizeof scheme - 1;
    struct text secret = text_trim(rest, strlen(rest));
    hash(secret.data, secret.length, given);
    for (size_t i = 0; i < config->token_count; i++) {
        bool is_same = CRYPTO_memcmp(config->tokens[i].hash, given, sizeof given) == 0;
        found = is_same ? &config->tokens[i] : found;
    }
    return found;
}
