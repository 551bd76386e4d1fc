/* json_text - see the header. SPDX-License-Identifier: MIT */
#include "json_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_continuation(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Bytes of the character that begins here; 0: it is none. RFC 3629: no overlong forms, no
 * surrogates, nothing past U+10FFFF. The final zero is no continuation, so nothing is read past it.
 */
static size_t utf8_length(const unsigned char *text)
{
    unsigned char first = text[0];
    if (first < 0x80) {
        return 1;
    }
    if (first < 0xc2 || first > 0xf4 || !is_continuation(text[1])) {
        return 0;
    }
    if (first < 0xe0) {
        return 2;
    }
    if ((first == 0xe0 && text[1] < 0xa0) || (first == 0xed && text[1] > 0x9f) ||
        (first == 0xf0 && text[1] < 0x90) || (first == 0xf4 && text[1] > 0x8f) ||
        !is_continuation(text[2])) {
        return 0;
    }
    if (first < 0xf0) {
        return 3;
    }
    return is_continuation(text[3]) ? 4 : 0;
}

/* Of one that JSON does not take as it is. */
static size_t escape(char *to, unsigned char c)
{
    if (c == '"' || c == '\\') {
        to[0] = '\\';
        to[1] = (char)c;
        return 2;
    }
    return (size_t)sprintf(to, "\\u%04x", c);
}

size_t json_text_write(char *to, const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    char *start = to;
    const unsigned char *from = (const unsigned char *)text;
    while (*from) {
        size_t length = utf8_length(from);
        if (length == 0) {
            memcpy(to, replacement, sizeof replacement - 1);
            to += sizeof replacement - 1;
            from++;
        } else if (*from < 0x20 || *from == 0x7f || *from == '"' || *from == '\\') {
            to += escape(to, *from++);
        } else {
            memcpy(to, from, length);
            to += length;
            from += length;
        }
    }
    *to = '\0';
    return (size_t)(to - start);
}
