/* log - see the header. SPDX-License-Identifier: MIT */
#include "log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "json_text.h"
#include "lull/os.h"
#include "time_text.h"

#define VALUE_MAX 512 /* bytes of a value: longer ones are cut */

static struct {
    int fd;
    enum log_level least;
    bool is_json;
} target = {STDERR_FILENO, LOG_INFO, true};

static const char *const level_words[LOG_LEVELS] = {"debug", "info", "warn", "error"};

void log_init(int fd, enum log_level least, enum log_form form)
{
    target.fd = fd;
    target.least = least;
    target.is_json = form == LOG_FORM_JSON || (form == LOG_FORM_AUTO && !isatty(fd));
}

bool log_level_from_string(const char *word, enum log_level *ret_level)
{
    for (unsigned i = 0; i < LOG_LEVELS; i++) {
        if (strcmp(word, level_words[i]) == 0) {
            *ret_level = (enum log_level)i;
            return true;
        }
    }
    return false;
}

bool log_form_from_string(const char *word, enum log_form *ret_form)
{
    static const char *const words[] = {"auto", "json", "text"};
    for (unsigned i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i]) == 0) {
            *ret_form = (enum log_form)i;
            return true;
        }
    }
    return false;
}

bool log_is_wanted(enum log_level level)
{
    return level >= target.least;
}

/* All of the text or nothing of it, so that a line is never broken. */
static void append(struct log_line *line, const char *text, size_t length)
{
    if (length < LOG_LINE_SIZE - 3 - line->length) { /* room for the end of the line */
        memcpy(line->text + line->length, text, length);
        line->length += length;
    }
}

static void append_field(struct log_line *line, const char *name, const char *value, bool is_quoted)
{
    char field[64 + JSON_TEXT_SIZE(VALUE_MAX)];
    int length = target.is_json ? snprintf(field, sizeof field,
                                           is_quoted ? ",\"%s\":\"%s\"" : ",\"%s\":%s", name, value)
                                : snprintf(field, sizeof field, " %s=%s", name, value);
    if (length > 0 && (size_t)length < sizeof field) {
        append(line, field, (size_t)length);
    }
}

void log_begin(struct log_line *line, enum log_level level, const char *event)
{
    char time[TIME_TEXT_SIZE];
    line->is_wanted = log_is_wanted(level);
    line->length = 0;
    if (!line->is_wanted) {
        return;
    }
    time_text_write(lull_os_now_ms(), time);
    int length = snprintf(line->text, sizeof line->text,
                          target.is_json ? "{\"timestamp\":\"%s\",\"level\":\"%s\",\"event\":\"%s\""
                                         : "%s %-5s %s",
                          time, level_words[level], event);
    line->length = length > 0 ? (size_t)length : 0;
}

void log_text(struct log_line *line, const char *name, const char *value)
{
    char cut[VALUE_MAX + 1];
    char escaped[JSON_TEXT_SIZE(VALUE_MAX)];
    if (!line->is_wanted || *value == '\0') {
        return;
    }
    (void)snprintf(cut, sizeof cut, "%s", value);
    (void)json_text_write(escaped, cut); /* on a terminal too: no control reaches it */
    append_field(line, name, escaped, true);
}

void log_number(struct log_line *line, const char *name, int64_t value)
{
    char text[24];
    if (line->is_wanted) {
        (void)snprintf(text, sizeof text, "%" PRId64, value);
        append_field(line, name, text, false);
    }
}

void log_end(struct log_line *line)
{
    if (!line->is_wanted) {
        return;
    }
    if (target.is_json) {
        line->text[line->length++] = '}';
    }
    line->text[line->length++] = '\n';
    /* Where nobody takes it, there is nobody to tell. */
    (void)!write(target.fd, line->text, line->length);
}

void log_say(enum log_level level, const char *event, const char *sentence)
{
    struct log_line line;
    log_begin(&line, level, event);
    log_text(&line, "message", sentence);
    log_end(&line);
}
