/* H4: any headers, as lines "name:value". */
#include <assert.h>
#include <string.h>

#include "lull/lull.h"

#define HEADERS_MAX 32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lull_header headers[HEADERS_MAX];
    size_t count = 0;
    const char *at = (const char *)data;
    const char *end = at + size;
    while (at < end && count < HEADERS_MAX) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        line_end = line_end ? line_end : end;
        const char *colon = memchr(at, ':', (size_t)(line_end - at));
        const char *value = colon ? colon + 1 : line_end;
        headers[count++] = (struct lull_header){at, (size_t)((colon ? colon : line_end) - at),
                                                value, (size_t)(line_end - value)};
        at = line_end < end ? line_end + 1 : end;
    }
    uint32_t attempt = lull_incoming_attempt(headers, count);
    assert(attempt >= 1);
    assert(count == 0 || lull_incoming_attempt(headers, count - 1) <= attempt);
    return 0;
}
