/*
 * trace_context - the W3C traceparent header (L5): one trace, a span for each attempt.
 *
 * Pure. Parse the caller's, make a child of it for each attempt, write it down for the request.
 */
#ifndef LULL_TRACE_CONTEXT_H
#define LULL_TRACE_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "lull/api.h"
#include "lull/random.h"

LULL_BEGIN_DECLS

#define LULL_TRACEPARENT_SIZE 56 /* "00-<32 hex>-<16 hex>-<2 hex>" and the final zero */

struct lull_trace_context {
    uint64_t trace_id[2]; /* most significant half first; not both 0 */
    uint64_t span_id;     /* not 0 */
    uint8_t flags;        /* bit 0: sampled */
};

/* Version 00, and what later versions have in common with it. LULL_ERR_SYNTAX for anything else:
 * upper case, wrong lengths, ids of all zeros, version ff. */
LULL_API int lull_trace_context_parse(struct lull_trace_context *ret_context, const char *text,
                                      size_t length);

/* A trace of our own, sampled. */
LULL_API struct lull_trace_context lull_trace_context_new(struct lull_random *random);

/* A new span in the same trace. */
LULL_API struct lull_trace_context
lull_trace_context_child(const struct lull_trace_context *context, struct lull_random *random);

LULL_API void lull_trace_context_format(const struct lull_trace_context *context,
                                        char ret_text[LULL_TRACEPARENT_SIZE]);

LULL_END_DECLS

#endif
