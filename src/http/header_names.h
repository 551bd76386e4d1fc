/* header_names - is a header one of a few? Names are in lower case on both sides. */
#ifndef LULL_HTTP_HEADER_NAMES_H
#define LULL_HTTP_HEADER_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "lull/outcome.h"

struct header_name {
    const char *text;
    size_t length;
};

#define HEADER_NAME(text)                                                                          \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

static inline bool header_is_one_of(const struct lull_header *header,
                                    const struct header_name *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (header->name_length == names[i].length &&
            memcmp(header->name, names[i].text, names[i].length) == 0) {
            return true;
        }
    }
    return false;
}

#endif
