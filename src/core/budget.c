/* budget - see the header. SPDX-License-Identifier: MIT */
#include "lull/budget.h"

#include "lull/duration.h"
#include "lull/error.h"

enum { REQUESTS, RETRIES };

void lull_budget_config_default(struct lull_budget_config *config)
{
    *config = (struct lull_budget_config){
        .form = LULL_BUDGET_RATIO,
        .ratio_permille = 200,
        .window_ms = LULL_SECONDS(60),
        .warm_up = 10,
        .reserve = 10,
        .reserve_milli_per_s = 10000,
        .tokens_max = 500,
        .tokens_retry = 5,
        .tokens_timeout = 10,
        .tokens_success = 5,
    };
}

int lull_budget_init(struct lull_budget *budget, const struct lull_budget_config *config,
                     int64_t mono_ms)
{
    struct lull_budget fresh = {.config = *config, .tokens = config->tokens_max};
    struct lull_bucket_config reserve = {config->reserve, config->reserve_milli_per_s};
    if (config->ratio_permille > 1000 || config->tokens_retry > config->tokens_max ||
        config->tokens_timeout > config->tokens_max ||
        lull_window_init(&fresh.window, config->window_ms, mono_ms) != LULL_OK ||
        (config->reserve > 0 && lull_bucket_init(&fresh.reserve, &reserve, mono_ms) != LULL_OK)) {
        return LULL_ERR_RANGE;
    }
    *budget = fresh;
    return LULL_OK;
}

void lull_budget_on_request(struct lull_budget *budget, int64_t mono_ms)
{
    lull_window_add(&budget->window, mono_ms, REQUESTS, 1);
}

void lull_budget_on_success(struct lull_budget *budget, int64_t mono_ms)
{
    (void)mono_ms;
    uint32_t room = budget->config.tokens_max - budget->tokens;
    uint32_t given = budget->config.tokens_success;
    budget->tokens += given < room ? given : room;
}

/* Retries that the ratio still pays for. Requests are counted low and retries high, so that no
 * real window of this length ever holds more retries than the ratio allows. Thousandths are kept
 * to the end: 4 requests at 20 % are not 0 retries today and 0 tomorrow, they are 0.8. */
static uint64_t ratio_left(struct lull_budget *budget, int64_t mono_ms)
{
    uint64_t requests = lull_window_under(&budget->window, mono_ms, REQUESTS);
    uint64_t retries = lull_window_over(&budget->window, mono_ms, RETRIES);
    if (requests < budget->config.warm_up) {
        return 0;
    }
    uint64_t allowed_milli = requests * budget->config.ratio_permille;
    return allowed_milli > retries * 1000 ? (allowed_milli - retries * 1000) / 1000 : 0;
}

static uint32_t token_cost(const struct lull_budget *budget, bool was_timeout)
{
    return was_timeout ? budget->config.tokens_timeout : budget->config.tokens_retry;
}

/* Does the form itself pay, before the reserve is touched? */
static bool is_paid_by_form(struct lull_budget *budget, int64_t mono_ms, bool was_timeout)
{
    if (budget->config.form == LULL_BUDGET_TOKEN) {
        return budget->tokens >= token_cost(budget, was_timeout);
    }
    return ratio_left(budget, mono_ms) > 0;
}

static int64_t reserve_wait(struct lull_budget *budget, int64_t mono_ms)
{
    return budget->config.reserve > 0 ? lull_bucket_wait(&budget->reserve, mono_ms, 1) : LULL_NEVER;
}

int64_t lull_budget_wait(struct lull_budget *budget, int64_t mono_ms, bool was_timeout)
{
    return is_paid_by_form(budget, mono_ms, was_timeout) ? 0 : reserve_wait(budget, mono_ms);
}

int64_t lull_budget_take(struct lull_budget *budget, int64_t mono_ms, bool was_timeout)
{
    if (!is_paid_by_form(budget, mono_ms, was_timeout)) {
        return budget->config.reserve > 0 ? lull_bucket_take(&budget->reserve, mono_ms, 1)
                                          : LULL_NEVER;
    }
    if (budget->config.form == LULL_BUDGET_TOKEN) {
        budget->tokens -= token_cost(budget, was_timeout);
    } else {
        lull_window_add(&budget->window, mono_ms, RETRIES, 1);
    }
    return 0;
}

uint64_t lull_budget_left(struct lull_budget *budget, int64_t mono_ms)
{
    uint64_t reserve =
        budget->config.reserve > 0 ? lull_bucket_available(&budget->reserve, mono_ms) : 0;
    if (budget->config.form == LULL_BUDGET_RATIO) {
        return ratio_left(budget, mono_ms) + reserve;
    }
    uint32_t cost = budget->config.tokens_retry;
    return cost > 0 ? budget->tokens / cost + reserve : UINT64_MAX;
}
