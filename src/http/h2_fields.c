/* h2_fields - see the header. SPDX-License-Identifier: MIT */
#include "h2_fields.h"

#include <string.h>

#include "header_names.h"

/* Headers that are the same from one message to the next go into the table that compresses them.
 * All others must not: the token is a secret, and what is new each time would only push these out.
 */
static bool is_constant(const struct lull_header *header)
{
    static const struct header_name names[] = {
        HEADER_NAME("ttl"), HEADER_NAME("urgency"), HEADER_NAME("user-agent"),
        HEADER_NAME("content-type"), HEADER_NAME("content-encoding")};
    return header_is_one_of(header, names, sizeof names / sizeof *names);
}

static nghttp2_nv pair(const char *name, size_t name_length, const char *value, size_t value_length,
                       int flags)
{
    return (nghttp2_nv){
        .name = (uint8_t *)name,
        .namelen = name_length,
        .value = (uint8_t *)value,
        .valuelen = value_length,
        .flags = (uint8_t)(NGHTTP2_NV_FLAG_NO_COPY_NAME | flags),
    };
}

#define NOT_COPIED NGHTTP2_NV_FLAG_NO_COPY_VALUE
#define NOT_INDEXED NGHTTP2_NV_FLAG_NO_INDEX

/* In decimal, at the end of the buffer. Returns where it begins. */
static const char *write_number(size_t number, char buffer[H2_NUMBER_SIZE])
{
    size_t at = H2_NUMBER_SIZE;
    do {
        buffer[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0 && at > 0);
    return &buffer[at];
}

void h2_fields_set(struct h2_fields *fields, const struct transport_request *request,
                   const char *path, size_t path_length, bool is_path_copied)
{
    const struct url *url = &request->own.url;
    const char *method = request->method ? request->method : "POST";
    nghttp2_nv *next = fields->list;
    *next++ = pair(":method", 7, method, strlen(method), NOT_COPIED);
    *next++ = pair(":scheme", 7, "https", 5, NOT_COPIED);
    *next++ = pair(":authority", 10, url->authority, url->authority_length, NOT_COPIED);
    *next++ = pair(":path", 5, path, path_length, NOT_INDEXED | (is_path_copied ? 0 : NOT_COPIED));
    for (size_t i = 0; i < request->header_count; i++) {
        const struct lull_header *header = &request->headers[i];
        *next++ = pair(header->name, header->name_length, header->value, header->value_length,
                       NOT_COPIED | (is_constant(header) ? 0 : NOT_INDEXED));
    }
    if (request->body_length > 0 || strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0) {
        const char *first = write_number(request->body_length, fields->length);
        size_t length = (size_t)(fields->length + sizeof fields->length - first);
        *next++ = pair("content-length", 14, first, length, 0);
    }
    fields->count = (size_t)(next - fields->list);
}
