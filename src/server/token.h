/*
 * token - who may use the API: a file of lines "name: secret", and the check of a call's header.
 *
 * Only the SHA-256 of a secret is kept. A secret has at least 16 characters, so it cannot be found
 * by trying; the name is what logs say.
 */
#ifndef LULL_SERVER_TOKEN_H
#define LULL_SERVER_TOKEN_H

#include <stdbool.h>

#include "config.h"

#define TOKEN_SECRET_MIN 16
#define TOKEN_SECRET_MAX 512

/* Reads config->token_file into config->tokens, in place of what is there. All mistakes are
 * reported; any of them leaves no token at all. */
bool token_read(struct config *config, const struct config_report *report);

/* The token of "Bearer SECRET"; NULL: there is none such, or no header (NULL). All tokens are
 * compared to the end, so the time that it takes tells nothing of them. */
const struct config_token *token_find(const struct config *config,
                                      const char *authorization_header);

#endif
