/* base64 - the padded, standard form; what the web uses for keys is in lull/webpush.h. */
#ifndef LULL_WEBPUSH_BASE64_H
#define LULL_WEBPUSH_BASE64_H

#include <stddef.h>

#define BASE64_SIZE(length) (((length) + 2) / 3 * 4 + 1)

/* Zero-terminated; out has room for BASE64_SIZE(length). Returns the length of the text. */
size_t base64_encode(const void *data, size_t length, char *out);

#endif
