/* hints - one pass over a response's headers for all that a verdict can depend on. */
#ifndef LULL_CORE_HINTS_H
#define LULL_CORE_HINTS_H

#include <stdbool.h>

#include "lull/outcome.h"
#include "lull/policy.h"
#include "lull/retry_after.h"

/* The headers that say when to come back, best first. The policy's own come after these, and
 * those that only tell of a quota last. */
enum hint_wait {
    HINT_RETRY_AFTER,
    HINT_RETRY_AFTER_MS,
    HINT_WNS_CONTINUE_AFTER,
    HINT_RATELIMIT_RESET,
    HINT_X_RATELIMIT_RESET,
    HINT_WAITS,
};

struct hints {
    const struct lull_header *waits[HINT_WAITS];
    const struct lull_header *date;
    const struct lull_header *content_type;
    bool is_retry_after_repeated; /* two values are none (A1) */
    bool has_www_authenticate;
    bool has_quota; /* a RateLimit or another wait header: it really is about a quota (C8) */
};

void hints_collect(const struct lull_outcome *outcome, struct hints *ret_hints);

struct hint_answer {
    struct lull_retry_after wait;
    const char *header;            /* the name of the one that says so */
    bool is_retry_after_malformed; /* also if another header could be read (A1) */
};

/* The wait that the server asks for. The reset of a quota says something about this failure only
 * where the service refuses or is out of capacity (is_about_quota); the other headers always (A7).
 */
struct hint_answer hints_wait(const struct hints *hints, const struct lull_policy *policy,
                              const struct lull_outcome *outcome, bool is_about_quota,
                              int64_t now_ms);

#endif
