/* text - bytes with a length, as headers and bodies come: nothing here needs a final zero. */
#ifndef LULL_CORE_TEXT_H
#define LULL_CORE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct text {
    const char *data;
    size_t length;
};

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Without the spaces and tabs around it (RFC 9110's OWS). */
static inline struct text text_trim(const char *data, size_t length)
{
    while (length > 0 && (data[0] == ' ' || data[0] == '\t')) {
        data++;
        length--;
    }
    while (length > 0 && (data[length - 1] == ' ' || data[length - 1] == '\t')) {
        length--;
    }
    return (struct text){data, length};
}

static inline bool text_is(struct text text, const char *word)
{
    return strlen(word) == text.length && memcmp(text.data, word, text.length) == 0;
}

/* Ignoring the case of ASCII letters. lower must be in lower case. */
static inline bool text_is_nocase(struct text text, const char *lower)
{
    size_t length = strlen(lower); /* known to the compiler where lower is a literal */
    if (text.length != length) {
        return false;
    }
    if (memcmp(text.data, lower, length) == 0) { /* as HTTP/2 writes all names */
        return true;
    }
    for (size_t i = 0; i < length; i++) {
        if (to_lower(text.data[i]) != lower[i]) {
            return false;
        }
    }
    return true;
}

#endif
