/* L5: any traceparent; what is accepted can be written and read again. */
#include <assert.h>
#include <string.h>

#include "lull/lull.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lull_trace_context context;
    struct lull_trace_context again;
    char text[LULL_TRACEPARENT_SIZE];
    if (lull_trace_context_parse(&context, (const char *)data, size) != LULL_OK) {
        return 0;
    }
    assert((context.trace_id[0] | context.trace_id[1]) != 0 && context.span_id != 0);
    lull_trace_context_format(&context, text);
    assert(strlen(text) == LULL_TRACEPARENT_SIZE - 1);
    assert(memcmp(text + 3, data + 3, 50) == 0); /* the ids are what they were */
    assert(lull_trace_context_parse(&again, text, strlen(text)) == LULL_OK);
    assert(again.span_id == context.span_id && again.flags == context.flags);
    return 0;
}
