/*
 * budget - how many retries a destination may cost us (G1, G2, G3, G4).
 *
 * Pure. Two forms:
 *   ratio   retries in the last 60 s stay within 20 % of the requests in the last 60 s
 *   token   500 tokens; a retry takes 5 (after a timeout: 10), a success gives 5 back
 * Both have a reserve that time alone refills (10 retries, 10 per second), so that a quiet client
 * can retry, and one whose every request is a retry is never locked out for good.
 *
 * A refusal takes nothing. Ask with _wait, decide, and only then _take.
 *
 *   lull_budget_init -> on_request for each first attempt
 *                       take for each retry, on_success for each success
 */
#ifndef LULL_BUDGET_H
#define LULL_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/api.h"
#include "lull/bucket.h"
#include "lull/window.h"

LULL_BEGIN_DECLS

enum lull_budget_form {
    LULL_BUDGET_RATIO,
    LULL_BUDGET_TOKEN,
};

struct lull_budget_config {
    enum lull_budget_form form;   /* default ratio */
    uint32_t ratio_permille;      /* retries per 1,000 requests        default 200; 0 to 1,000 */
    int64_t window_ms;            /* default 60,000 */
    uint32_t warm_up;             /* requests before the ratio gives   default 10 */
    uint32_t reserve;             /* retries in a full reserve         default 10; 0 to 10^6 */
    uint32_t reserve_milli_per_s; /* its refill                        default 10,000 (10/s) */
    uint32_t tokens_max;          /* token form                        default 500 */
    uint32_t tokens_retry;        /* cost of a retry                   default 5 */
    uint32_t tokens_timeout;      /* cost of a retry after a timeout   default 10 */
    uint32_t tokens_success;      /* what a success gives back         default 5 */
};

struct lull_budget {
    struct lull_budget_config config;
    struct lull_window window;  /* counters: requests, retries paid by the ratio */
    struct lull_bucket reserve; /* unused when config.reserve is 0 */
    uint32_t tokens;
};

LULL_API void lull_budget_config_default(struct lull_budget_config *config);

/* LULL_ERR_RANGE for a field outside what is listed above; *budget is then untouched. */
LULL_API int lull_budget_init(struct lull_budget *budget, const struct lull_budget_config *config,
                              int64_t mono_ms);

LULL_API void lull_budget_on_request(struct lull_budget *budget, int64_t mono_ms);
LULL_API void lull_budget_on_success(struct lull_budget *budget, int64_t mono_ms);

/* 0 if a retry is allowed now, else the ms until the reserve would pay for one, or LULL_NEVER
 * when there is no reserve. Takes nothing. */
LULL_API int64_t lull_budget_wait(struct lull_budget *budget, int64_t mono_ms, bool was_timeout);

/* Takes the retry if it is allowed. The answer is that of _wait. */
LULL_API int64_t lull_budget_take(struct lull_budget *budget, int64_t mono_ms, bool was_timeout);

/* How many retries would be allowed at this instant. */
LULL_API uint64_t lull_budget_left(struct lull_budget *budget, int64_t mono_ms);

LULL_END_DECLS

#endif
