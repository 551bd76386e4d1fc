/*
 * config_text - the text of lull.conf, before libConfuse reads it.
 *
 * Comments become spaces, so that libConfuse, which miscounts lines at them, never sees one. What
 * it would take in silence is refused with its line: texts that are not closed, signs without a
 * meaning, variables of the environment, nesting without end. All that is left is words, quoted
 * texts and { } = , in an order that can be a configuration.
 */
#ifndef LULL_SERVER_CONFIG_TEXT_H
#define LULL_SERVER_CONFIG_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "config.h"

#define CONFIG_TEXT_MAX 262144 /* libConfuse compares each section with those before it */

/* In place. text[length] is 0. False: there were mistakes, all reported. */
bool config_text_prepare(char *text, size_t length, const char *path,
                         const struct config_report *report);

enum config_text_found {
    CONFIG_TEXT_NONE, /* it is not there */
    CONFIG_TEXT_WORD, /* a word alone */
    CONFIG_TEXT_KEY,  /* with a value or a section behind it */
};

/* Blanks the statement that begins with this word in this line, so that the rest can be read. */
enum config_text_found config_text_blank(char *text, int line, const char *word);

#endif
