/*
 * scope - does a 429 mean one subscription, or the whole sender? (P3)
 *
 * Pure. Sender: more than 5 % of a service's sends in 10 s were answered 429, and those came from
 * at least two subscriptions.
 */
#ifndef LULL_SCOPE_H
#define LULL_SCOPE_H

#include <stdbool.h>
#include <stdint.h>

#include "lull/api.h"
#include "lull/window.h"

LULL_BEGIN_DECLS

struct lull_scope_config {
    uint32_t sender_permille; /* default 50 */
    int64_t window_ms;        /* default 10,000 */
};

struct lull_scope_hit {
    uint64_t subscription; /* any hash of it */
    int64_t mono_ms;
    bool is_set;
};

struct lull_scope_tracker {
    struct lull_scope_config config;
    struct lull_window window;     /* sends, throttled */
    struct lull_scope_hit latest;  /* the last 429 */
    struct lull_scope_hit another; /* the last 429 of any other subscription */
};

LULL_API void lull_scope_config_default(struct lull_scope_config *config);
LULL_API int lull_scope_init(struct lull_scope_tracker *tracker,
                             const struct lull_scope_config *config, int64_t mono_ms);

LULL_API void lull_scope_on_sent(struct lull_scope_tracker *tracker, int64_t mono_ms);

/* Counts a 429 of that subscription. True: the whole sender is throttled. */
LULL_API bool lull_scope_on_throttled(struct lull_scope_tracker *tracker, int64_t mono_ms,
                                      uint64_t subscription);

/* A pause has answered what was counted: begin anew. */
LULL_API void lull_scope_clear(struct lull_scope_tracker *tracker, int64_t mono_ms);

LULL_END_DECLS

#endif
