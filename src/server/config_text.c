/* config_text - see the header. SPDX-License-Identifier: MIT */
#include "config_text.h"

#include <string.h>

#include "config_value.h"
#include "text.h"

#define DEPTH_MAX 2 /* a section, and a list in it */

/* What stands where, and what stood before it: each is a sign, or one of these. */
enum token_kind { TOKEN_END = 0, TOKEN_WORD = 'w', TOKEN_QUOTED = 'q' };

struct cursor {
    char *text;
    size_t at;
    int line;
    int depth;
    int open_line;       /* of the last { */
    int kind;            /* of the token that was read last */
    int previous;        /* of the one before */
    int before_previous; /* and before that */
    size_t begin;        /* where it begins; it ends at at */
};

struct refusal {
    const char *path;
    const struct config_report *report;
    bool is_good;
};

static void refuse(struct refusal *refusal, struct cursor *cursor, const char *sentence)
{
    struct config_place place = {.path = refusal->path, .line = cursor->line, .where = ""};
    refusal->is_good = config_refuse(refusal->report, place, "%s", sentence);
    while (cursor->text[cursor->at] && cursor->text[cursor->at] != '\n') { /* one a line */
        cursor->text[cursor->at++] = ' ';
    }
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static bool is_word(char c)
{
    char lower = to_lower(c);
    return (lower >= 'a' && lower <= 'z') || is_digit(c) || (c && strchr("_-.:/@%~[]", c));
}

/* ---- tokens, of a text without comments ---- */

static void skip_spaces(struct cursor *cursor)
{
    while (is_space(cursor->text[cursor->at])) {
        cursor->line += cursor->text[cursor->at++] == '\n';
    }
}

/* Behind the quote that closes it, or at what must not be in it. */
static size_t end_of_quoted(const char *text, size_t begin)
{
    size_t at = begin + 1;
    while (text[at] && text[at] != '\n' && text[at] != text[begin]) {
        at += text[at] == '\\' && text[at + 1] && text[at + 1] != '\n' ? 2 : 1;
    }
    return at + (text[at] == text[begin]);
}

/* Reads the next one into the cursor. */
static int next_token(struct cursor *cursor)
{
    const char *text = cursor->text;
    skip_spaces(cursor);
    cursor->before_previous = cursor->previous;
    cursor->previous = cursor->kind;
    cursor->begin = cursor->at;
    char c = text[cursor->at];
    if (c == '"' || c == '\'') {
        cursor->at = end_of_quoted(text, cursor->at);
        cursor->kind = TOKEN_QUOTED;
    } else if (is_word(c)) {
        while (is_word(text[cursor->at])) {
            cursor->at++;
        }
        cursor->kind = TOKEN_WORD;
    } else {
        cursor->at += c != '\0';
        cursor->kind = (unsigned char)c;
    }
    return cursor->kind;
}

/* ---- comments ---- */

/* To spaces, from here to end. */
static void blank(char *text, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        if (text[i] != '\n') {
            text[i] = ' ';
        }
    }
}

static void blank_comments(char *text, struct refusal *refusal)
{
    struct cursor cursor = {.text = text, .line = 1};
    while (text[cursor.at]) {
        size_t begin = cursor.at;
        char c = text[begin];
        if (c == '#' || (c == '/' && text[begin + 1] == '/')) {
            blank(text, begin, begin + strcspn(text + begin, "\n"));
        } else if (c == '/' && text[begin + 1] == '*') {
            const char *end = strstr(text + begin + 2, "*/");
            if (!end) {
                refuse(refusal, &cursor, "the comment that begins here is not closed");
                blank(text, begin, begin + strlen(text + begin));
                return;
            }
            blank(text, begin, (size_t)(end - text) + 2);
        } else if (c == '"' || c == '\'') {
            cursor.at = end_of_quoted(text, begin);
        } else if (is_word(c)) { /* a // inside is no comment, and is refused later */
            while (is_word(text[cursor.at])) {
                cursor.at++;
            }
        } else {
            cursor.line += c == '\n';
            cursor.at++;
        }
    }
}

/* ---- checks ---- */

static bool is_control(char c)
{
    return ((unsigned char)c < ' ' && c != '\n' && c != '\t') || c == 0x7f;
}

static const char *check_quoted(const char *text, size_t length)
{
    if (length < 2 || text[length - 1] != text[0]) {
        return "the text is not closed in its line";
    }
    for (size_t i = 1; i < length - 1; i++) {
        if (text[i] == '\\' && text[i + 1] != '\\' && text[i + 1] != text[0]) {
            return "in a text, a backslash stands only before a quote or a backslash";
        }
        if (text[0] == '"' && text[i] == '$' && text[i + 1] == '{') {
            return "variables are not put into texts; each key has a variable of its own";
        }
        i += text[i] == '\\';
    }
    return NULL;
}

/* "//" would be a comment to libConfuse. */
static const char *check_word(const char *text, size_t length)
{
    for (size_t i = 0; i + 1 < length; i++) {
        if (text[i] == '/' && text[i + 1] == '/') {
            return "a text with // in it must stand in quotes";
        }
    }
    return NULL;
}

static const char *check_brace(const struct cursor *cursor)
{
    bool is_titled = cursor->previous == TOKEN_QUOTED && cursor->before_previous == TOKEN_WORD;
    if (cursor->previous != '=' && cursor->previous != TOKEN_WORD && !is_titled) {
        return "a { must stand behind = or the name of a section";
    }
    return cursor->depth > DEPTH_MAX ? "there are too many { in each other" : NULL;
}

static const char *check_token(struct cursor *cursor)
{
    const char *token = cursor->text + cursor->begin;
    switch (cursor->kind) {
    case TOKEN_QUOTED:
        return check_quoted(token, cursor->at - cursor->begin);
    case TOKEN_WORD:
        return check_word(token, cursor->at - cursor->begin);
    case '{':
        cursor->depth++;
        cursor->open_line = cursor->line;
        return check_brace(cursor);
    case '}':
        cursor->depth--;
        return cursor->depth < 0 ? "there is no { to this }" : NULL;
    case '=':
        return cursor->previous == TOKEN_WORD ? NULL : "a = must stand behind a key";
    case ',':
        return NULL;
    default:
        return "there is a sign that must stand in quotes";
    }
}

static bool replace_controls(char *text, size_t length, struct refusal *refusal)
{
    struct cursor cursor = {.text = text, .line = 1};
    for (; cursor.at < length; cursor.at++) {
        char *c = &text[cursor.at];
        cursor.line += *c == '\n';
        if (*c == '\r' && c[1] == '\n') {
            *c = ' ';
        } else if (is_control(*c)) {
            struct config_place place = {.path = refusal->path, .line = cursor.line, .where = ""};
            return config_refuse(refusal->report, place,
                                 "there is a control character: this is no text");
        }
    }
    return true;
}

bool config_text_prepare(char *text, size_t length, const char *path,
                         const struct config_report *report)
{
    struct refusal refusal = {.path = path, .report = report, .is_good = true};
    struct cursor cursor = {.text = text, .line = 1};
    if (!replace_controls(text, length, &refusal)) {
        return false;
    }
    blank_comments(text, &refusal);
    while (next_token(&cursor) != TOKEN_END) {
        const char *sentence = check_token(&cursor);
        if (sentence) {
            refuse(&refusal, &cursor, sentence);
            cursor.depth = cursor.depth < 0 ? 0 : cursor.depth;
        }
    }
    if (refusal.is_good && cursor.depth > 0) {
        cursor.line = cursor.open_line;
        refuse(&refusal, &cursor, "the last { in this line is not closed");
    }
    return refusal.is_good;
}

/* ---- blanking a statement ---- */

/* From behind { to behind its }, or to the end. */
static void skip_braces(struct cursor *cursor)
{
    int depth = 1;
    while (depth > 0 && next_token(cursor) != TOKEN_END) {
        depth += (cursor->kind == '{') - (cursor->kind == '}');
    }
}

/* The cursor is at a key: moves it behind its value or section. */
static enum config_text_found skip_statement(struct cursor *cursor)
{
    struct cursor after_word = *cursor;
    int kind = next_token(cursor);
    if (kind == '=') {
        if (next_token(cursor) == '{') {
            skip_braces(cursor);
        }
        return CONFIG_TEXT_KEY;
    }
    if (kind == TOKEN_WORD || kind == TOKEN_QUOTED) {
        kind = next_token(cursor);
    }
    if (kind == '{') {
        skip_braces(cursor);
        return CONFIG_TEXT_KEY;
    }
    *cursor = after_word;
    return CONFIG_TEXT_WORD;
}

enum config_text_found config_text_blank(char *text, int line, const char *word)
{
    struct cursor cursor = {.text = text, .line = 1};
    while (next_token(&cursor) != TOKEN_END && cursor.line <= line) {
        struct text token = {text + cursor.begin, cursor.at - cursor.begin};
        bool is_value = cursor.previous == '=' || cursor.previous == ',' ||
                        (cursor.previous == '{' && cursor.before_previous == '=');
        if (cursor.kind == TOKEN_WORD && cursor.line == line && !is_value && text_is(token, word)) {
            size_t begin = cursor.begin;
            enum config_text_found found = skip_statement(&cursor);
            blank(text, begin, cursor.at);
            return found;
        }
    }
    return CONFIG_TEXT_NONE;
}
