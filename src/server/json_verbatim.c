/* json_verbatim - see the header. SPDX-License-Identifier: MIT */
#include "json_verbatim.h"

#include <stdbool.h>
#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* From a quote to behind the next that is not escaped. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++) {
        at += *at == '\\';
    }
    return at < end ? at + 1 : end;
}

/* Strings have brackets, commas and spaces that mean nothing; all else is told by one character. */
size_t json_verbatim(const char *text, size_t length, size_t index, char *to)
{
    const char *at = text;
    const char *end = text + length;
    size_t depth = 0;
    size_t member = 0;
    bool is_value = false; /* behind the colon of a member of the outermost object */
    size_t written = 0;
    while (at < end) {
        const char *start = at;
        char c = *at;
        at = c == '"' ? skip_string(at, end) : at + 1;
        if (depth == 1 && (c == ',' || c == '}')) { /* a member ends */
            if (member++ == index) {
                return written;
            }
            is_value = false;
        }
        if (is_value && member == index && !is_space(c)) {
            memcpy(to + written, start, (size_t)(at - start));
            written += (size_t)(at - start);
        }
        is_value = is_value || (depth == 1 && c == ':');
        depth += c == '{' || c == '[';
        depth -= depth > 0 && (c == '}' || c == ']');
    }
    return 0;
}
