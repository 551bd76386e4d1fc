/* trace_context - see the header. SPDX-License-Identifier: MIT */
#include "lull/trace_context.h"

#include <stdbool.h>

#include "lull/error.h"

#define LENGTH (LULL_TRACEPARENT_SIZE - 1)

/* Lower-case hex digits only, as the standard has it. */
static bool read_hex(const char *text, size_t digits, uint64_t *ret_value)
{
    uint64_t value = 0;
    for (size_t i = 0; i < digits; i++) {
        char c = text[i];
        if (c >= '0' && c <= '9') {
            value = value << 4 | (uint64_t)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            value = value << 4 | (uint64_t)(c - 'a' + 10);
        } else {
            return false;
        }
    }
    *ret_value = value;
    return true;
}

static char *write_hex(char *text, uint64_t value, unsigned digits)
{
    for (unsigned i = 0; i < digits; i++) {
        text[i] = "0123456789abcdef"[value >> 4 * (digits - 1 - i) & 15];
    }
    return text + digits;
}

int lull_trace_context_parse(struct lull_trace_context *ret_context, const char *text,
                             size_t length)
{
    uint64_t version = 0;
    uint64_t flags = 0;
    struct lull_trace_context context = {0};
    if (length < LENGTH || text[2] != '-' || text[35] != '-' || text[52] != '-' ||
        !read_hex(text, 2, &version) || !read_hex(text + 3, 16, &context.trace_id[0]) ||
        !read_hex(text + 19, 16, &context.trace_id[1]) ||
        !read_hex(text + 36, 16, &context.span_id) || !read_hex(text + 53, 2, &flags)) {
        return LULL_ERR_SYNTAX;
    }
    bool is_longer = length > LENGTH;
    if (version == 0xff || (is_longer && (version == 0 || text[LENGTH] != '-')) ||
        (context.trace_id[0] | context.trace_id[1]) == 0 || context.span_id == 0) {
        return LULL_ERR_SYNTAX;
    }
    context.flags = (uint8_t)(flags & 1); /* the only one that version 00 knows */
    *ret_context = context;
    return LULL_OK;
}

static uint64_t draw_id(struct lull_random *random)
{
    uint64_t id = 0;
    while (id == 0) {
        id = lull_random_next(random);
    }
    return id;
}

struct lull_trace_context lull_trace_context_new(struct lull_random *random)
{
    uint64_t high = draw_id(random);
    uint64_t low = draw_id(random);
    return (struct lull_trace_context){{high, low}, draw_id(random), 1};
}

struct lull_trace_context lull_trace_context_child(const struct lull_trace_context *context,
                                                   struct lull_random *random)
{
    struct lull_trace_context child = *context;
    child.span_id = draw_id(random);
    return child;
}

void lull_trace_context_format(const struct lull_trace_context *context,
                               char ret_text[LULL_TRACEPARENT_SIZE])
{
    char *at = write_hex(ret_text, 0, 2);
    *at++ = '-';
    at = write_hex(at, context->trace_id[0], 16);
    at = write_hex(at, context->trace_id[1], 16);
    *at++ = '-';
    at = write_hex(at, context->span_id, 16);
    *at++ = '-';
    at = write_hex(at, context->flags, 2);
    *at = '\0';
}
