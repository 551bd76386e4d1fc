/*
 * destination - what a client remembers of each place that it sends to (G3): the retry budget, the
 * breaker, and how long it takes to answer.
 *
 * Pure, and bounded: a table in memory that the caller gives. A destination lives in one of eight
 * slots, by its key; when those are taken, the one of them that has been idle longest makes room.
 */
#ifndef LULL_DESTINATION_H
#define LULL_DESTINATION_H

#include <stddef.h>
#include <stdint.h>

#include "lull/api.h"
#include "lull/breaker.h"
#include "lull/budget.h"
#include "lull/latency.h"

LULL_BEGIN_DECLS

struct lull_destination {
    uint64_t key; /* any hash of it; 0 marks a free slot */
    int64_t used_ms;
    struct lull_budget budget;
    struct lull_breaker breaker;
    struct lull_latency latency;
};

struct lull_destination_table {
    struct lull_budget_config budget;
    struct lull_breaker_config breaker;
    struct lull_destination *slots;
    size_t slot_count;
};

/* The slots must be all zero, as calloc gives them. LULL_ERR_RANGE for a bad config or
 * slot_count == 0; *table is then untouched. */
LULL_API int lull_destination_table_init(struct lull_destination_table *table,
                                         const struct lull_budget_config *budget,
                                         const struct lull_breaker_config *breaker,
                                         struct lull_destination *slots, size_t slot_count);

/* The destination of that key, made new if it was not there. Valid until the next call. */
LULL_API struct lull_destination *lull_destination_get(struct lull_destination_table *table,
                                                       uint64_t key, int64_t mono_ms);

LULL_END_DECLS

#endif
