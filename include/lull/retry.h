/*
 * retry - retries for an operation of your own, not only HTTP (H3).
 *
 * "Did it fail transiently?" in, "when to try again" out. The caller owns the struct and does the
 * waiting. It calls lull_decide like everything else.
 *
 *   lull_retry_init -> { operation; lull_retry_after_failure -> wait } until it succeeds or
 *                      lull_retry_after_failure says LULL_NEVER
 */
#ifndef LULL_RETRY_H
#define LULL_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "lull/api.h"
#include "lull/decide.h"
#include "lull/policy.h"
#include "lull/random.h"

LULL_BEGIN_DECLS

struct lull_retry {
    struct lull_policy policy;
    struct lull_facts facts;
    struct lull_random random;
    struct lull_verdict verdict; /* the last one: why it was or was not retried */
};

/* Begins an operation at now_ms, of a clock that is the same for all calls; with a deadline, one
 * that does not step (lull_os_mono_ms) serves better than the wall's. The policy is copied; its
 * kind does not matter. Errors are those of lull_policy_validate. */
LULL_API int lull_retry_init(struct lull_retry *retry, const struct lull_policy *policy,
                             uint64_t seed, int64_t now_ms);

/* The operation failed. Returns the ms to wait before the next try, or LULL_NEVER: give up, and
 * retry->verdict.reason says why. */
LULL_API int64_t lull_retry_after_failure(struct lull_retry *retry, bool is_transient,
                                          int64_t now_ms);

LULL_END_DECLS

#endif
