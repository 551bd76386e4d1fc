/* retry - see the header. SPDX-License-Identifier: MIT */
#include "lull/retry.h"

#include "lull/duration.h"
#include "lull/error.h"

int lull_retry_init(struct lull_retry *retry, const struct lull_policy *policy, uint64_t seed,
                    int64_t now_ms)
{
    int error = lull_policy_validate(policy, NULL);
    if (error != LULL_OK) {
        return error;
    }
    retry->policy = *policy;
    retry->policy.kind = LULL_KIND_OPERATION;
    lull_facts_init(&retry->facts, &retry->policy, now_ms);
    lull_random_init(&retry->random, seed);
    retry->verdict = (struct lull_verdict){.kind = LULL_VERDICT_SEND};
    return LULL_OK;
}

int64_t lull_retry_after_failure(struct lull_retry *retry, bool is_transient, int64_t now_ms)
{
    struct lull_outcome outcome = {.kind = LULL_OUTCOME_OPERATION, .is_transient = is_transient};
    /* The facts were made by _init and counted here, so they cannot be out of range. */
    (void)lull_decide(&retry->policy, &retry->facts, &outcome, now_ms, &retry->random,
                      &retry->verdict, NULL);
    if (retry->verdict.kind != LULL_VERDICT_RETRY) {
        return LULL_NEVER;
    }
    retry->facts.attempt++;
    retry->facts.previous_delay_ms = retry->verdict.delay_ms;
    return retry->verdict.delay_ms;
}
