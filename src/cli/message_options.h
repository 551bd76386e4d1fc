/*
 * message_options - what `lull send` and `lull push` ask of a message in the same words.
 *
 * Each returns CLI_OK, or an exit code after a sentence on standard error that names the option and
 * what is accepted, never the value where that could be a secret.
 */
#ifndef LULL_CLI_MESSAGE_OPTIONS_H
#define LULL_CLI_MESSAGE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "lull/subscription.h"

struct message_padding {
    size_t bytes;
    bool is_random;
};

/* The text of an option: a file that was read, or a copy of the value. */
struct message_text {
    char *data; /* NULL: not said; for message_text_free */
    size_t length;
};

int message_read_topic(const char *command, const char *text, const char **ret_topic);
int message_read_urgency(const char *command, const char *text, const char **ret_urgency);
int message_read_padding(const char *command, const char *option, const char *text,
                         struct message_padding *ret_padding);

/* The body: TEXT, @FILE, or - for standard input; refused if it is over max bytes. */
int message_read_text(const char *command, const char *option, const char *value, size_t max,
                      struct message_text *ret_text);

/* The subscription in a file, - for standard input; ret_text NULL: only what was read from it. */
int message_read_subscription(const char *command, const char *path,
                              struct lull_subscription *ret_subscription,
                              struct message_text *ret_text);

/* Would the value of --body take all of standard input? */
bool message_is_stdin(const char *value);

/* Wipes it first: it is nobody's business. */
void message_text_free(struct message_text *text);

#endif
