/* json_text - a text as the inside of a JSON string. Pure. */
#ifndef LULL_SERVER_JSON_TEXT_H
#define LULL_SERVER_JSON_TEXT_H

#include <stddef.h>

/* The most that a text of so many bytes may become, with its final zero. */
#define JSON_TEXT_SIZE(length) (6 * (length) + 1)

/* Writes text up to its zero, escaped, without quotes, and returns the length. What is not UTF-8
 * becomes U+FFFD byte by byte, so that the result is JSON whatever came in. */
size_t json_text_write(char *to, const char *text);

#endif
