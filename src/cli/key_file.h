/*
 * key_file - the file that holds a VAPID key: where it is, and who may read it.
 *
 * Written with mode 0600 and never over an existing file; one that others can read is refused with
 * the command that mends it. A symbolic link is refused both ways, so that what is checked is what
 * is read, and what is replaced is what was named.
 */
#ifndef LULL_CLI_KEY_FILE_H
#define LULL_CLI_KEY_FILE_H

#include <stdbool.h>
#include <stddef.h>

#include "lull/vapid.h"
#include "private_file.h"

/* $XDG_CONFIG_HOME/lull/vapid.json, or ~/.config/lull/vapid.json. False: neither is known. */
bool key_file_default(char *path, size_t size);

/* path NULL: the default one. CLI_OK, or CLI_USAGE after saying on stderr what is wrong. */
int key_file_load(const char *command, const char *path, struct lull_vapid_key **ret_key);

/* The same for a caller that says it in its own way. False: what is wrong is in problem. */
bool key_file_read(const char *path, struct lull_vapid_key **ret_key,
                   char problem[PRIVATE_FILE_PROBLEM_SIZE]);

/* path NULL: the default one, whose folder is made if it is not there. is_forced: over an old one.
 * Whole or not at all: written beside, synced, then renamed. CLI_OK, CLI_USAGE (it exists),
 * CLI_FAILED (it cannot be written); said on stderr. */
int key_file_save(const char *command, const char *path, const struct lull_vapid_key *key,
                  bool is_forced);

/* Could it be written, over an old one too? For what must not fail after the deed. CLI_OK, or
 * CLI_USAGE, said on stderr. */
int key_file_check(const char *command, const char *path);

/* A key in any other format, with the same care. */
int key_file_write(const char *command, const char *path, const char *text, bool is_forced);

#endif
