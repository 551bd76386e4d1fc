/* incoming - see the header. SPDX-License-Identifier: MIT */
#include "lull/incoming.h"

#include <stdbool.h>

#include "text.h"

static const struct {
    const char *name;
    uint32_t added; /* to make it the number of this attempt */
} known[] = {{"lull-attempt", 0}, {"x-envoy-attempt-count", 0}, {"grpc-previous-rpc-attempts", 1}};

static bool read_count(struct text text, uint32_t *ret_count)
{
    uint32_t count = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (!is_digit(text.data[i])) {
            return false;
        }
        uint32_t digit = (uint32_t)(text.data[i] - '0');
        count = count > (UINT32_MAX - digit) / 10 ? UINT32_MAX : count * 10 + digit;
    }
    *ret_count = count;
    return text.length > 0;
}

uint32_t lull_incoming_attempt(const struct lull_header *headers, size_t header_count)
{
    uint32_t attempt = 1;
    for (size_t i = 0; i < header_count; i++) {
        struct text name = {headers[i].name, headers[i].name_length};
        for (size_t j = 0; j < sizeof known / sizeof known[0]; j++) {
            uint32_t count = 0;
            if (!text_is_nocase(name, known[j].name) ||
                !read_count(text_trim(headers[i].value, headers[i].value_length), &count)) {
                continue;
            }
            count = count > UINT32_MAX - known[j].added ? UINT32_MAX : count + known[j].added;
            attempt = count > attempt ? count : attempt;
        }
    }
    return attempt;
}
