/* A response as it arrives: the lines of its head up to a byte 0, then pieces of a body. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "response.h"

#define BODY_MAX 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct response *response)
{
    const char *at = response->text;
    const char *end = at ? at + response->text_length : NULL;
    assert(response->header_count <= RESPONSE_HEADERS_MAX);
    assert(response->text_length <= RESPONSE_HEADER_BYTES_MAX);
    for (size_t i = 0; response->is_head_complete && i < response->header_count; i++) {
        const struct lull_header *header = &response->headers[i];
        assert(header->name == at && header->name_length > 0); /* in order, none over another */
        assert(header->value >= header->name + header->name_length);
        assert(header->value_length == 0 || (header->value[0] != ' ' && header->value[0] != '\t'));
        at = header->value + header->value_length;
        assert(at <= end);
        while (i + 1 < response->header_count && at < response->headers[i + 1].name) {
            at++; /* the blanks behind a value */
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct response response = {0};
    const char *at = (const char *)data;
    const char *end = at + size;
    while (at < end && *at != '\0') {
        const char *next = memchr(at, '\n', (size_t)(end - at));
        next = next ? next + 1 : end;
        assert(response_line(&response, at, (size_t)(next - at)));
        at = next;
    }
    check(&response);
    while (at < end) { /* the first byte of a piece is its length */
        size_t length = (unsigned char)*at++;
        length = length < (size_t)(end - at) ? length : (size_t)(end - at);
        assert(response_keep(&response, at, length, BODY_MAX));
        at += length;
        assert(response.body_length <= BODY_MAX && response.body[response.body_length] == '\0');
    }
    response_free(&response);
    return 0;
}
