/*
 * log - one line for each thing that an operator may want to know: JSON, or text on a terminal (L1,
 * L2).
 *
 *   log_begin -> log_text, log_number ... -> log_end
 *
 * A line is built in memory of the caller's and written in one piece. No endpoint, key, token or
 * body is ever given to it: messages are named by id, correlation id and the hash of their
 * endpoint.
 */
#ifndef LULL_SERVER_LOG_H
#define LULL_SERVER_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level {
    LOG_DEBUG,
    LOG_INFO,
    LOG_WARN,
    LOG_ERROR,
    LOG_LEVELS, /* how many there are */
};

enum log_form {
    LOG_FORM_AUTO, /* text on a terminal, else JSON */
    LOG_FORM_JSON,
    LOG_FORM_TEXT,
};

/* Before the first line; not again. The lines go to this descriptor. */
void log_init(int fd, enum log_level least, enum log_form form);

/* False: no such word. */
bool log_level_from_string(const char *word, enum log_level *ret_level);
bool log_form_from_string(const char *word, enum log_form *ret_form);

bool log_is_wanted(enum log_level level);

#define LOG_LINE_SIZE 4096

struct log_line {
    bool is_wanted;
    size_t length;
    char text[LOG_LINE_SIZE];
};

void log_begin(struct log_line *line, enum log_level level, const char *event);
void log_text(struct log_line *line, const char *name, const char *value); /* value "": left out */
void log_number(struct log_line *line, const char *name, int64_t value);
void log_end(struct log_line *line);

/* A line with a sentence. */
void log_say(enum log_level level, const char *event, const char *sentence);

#endif
