/* key_guard - see the header. SPDX-License-Identifier: MIT */
#include "lull/key_guard.h"

#include "lull/duration.h"
#include "lull/error.h"

enum { ANSWERS, FAILURES };

void lull_key_guard_config_default(struct lull_key_guard_config *config)
{
    *config = (struct lull_key_guard_config){
        .share_permille = 500,
        .subscriptions_min = 5,
        .window_ms = LULL_SECONDS(60),
        .pause_ms = LULL_MINUTES(5),
    };
}

int lull_key_guard_init(struct lull_key_guard *guard, const struct lull_key_guard_config *config,
                        int64_t mono_ms)
{
    struct lull_key_guard fresh = {.config = *config};
    if (config->share_permille > 1000 || config->subscriptions_min < 1 ||
        config->subscriptions_min > LULL_KEY_GUARD_SUBSCRIPTIONS_MAX || config->pause_ms <= 0 ||
        config->pause_ms > LULL_WAIT_MAX_MS ||
        lull_window_init(&fresh.window, config->window_ms, mono_ms) != LULL_OK) {
        return LULL_ERR_RANGE;
    }
    *guard = fresh;
    return LULL_OK;
}

/* Keeps the latest distinct subscriptions: an old one is refreshed, a new one takes the place of
 * the oldest. */
static void remember(struct lull_key_guard *guard, uint64_t subscription, int64_t mono_ms)
{
    uint32_t place = 0;
    for (uint32_t i = 0; i < guard->failed_count; i++) {
        if (guard->failed[i] == subscription) {
            guard->failed_ms[i] = mono_ms;
            return;
        }
        place = guard->failed_ms[i] < guard->failed_ms[place] ? i : place;
    }
    if (guard->failed_count < LULL_KEY_GUARD_SUBSCRIPTIONS_MAX) {
        place = guard->failed_count++;
    }
    guard->failed[place] = subscription;
    guard->failed_ms[place] = mono_ms;
}

static uint32_t distinct(const struct lull_key_guard *guard, int64_t mono_ms)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < guard->failed_count; i++) {
        count += mono_ms - guard->failed_ms[i] <= guard->config.window_ms;
    }
    return count;
}

int64_t lull_key_guard_wait(struct lull_key_guard *guard, int64_t mono_ms)
{
    if (guard->is_paused && mono_ms >= guard->paused_until_ms) {
        lull_key_guard_resume(guard, mono_ms);
    }
    return guard->is_paused ? guard->paused_until_ms - mono_ms : 0;
}

bool lull_key_guard_report(struct lull_key_guard *guard, int64_t mono_ms, uint64_t subscription,
                           bool is_auth_failure)
{
    lull_window_add(&guard->window, mono_ms, ANSWERS, 1);
    if (is_auth_failure) {
        lull_window_add(&guard->window, mono_ms, FAILURES, 1);
        remember(guard, subscription, mono_ms);
    }
    if (lull_key_guard_wait(guard, mono_ms) > 0 || !is_auth_failure) {
        return false;
    }
    uint64_t answers = lull_window_over(&guard->window, mono_ms, ANSWERS);
    uint64_t failures = lull_window_over(&guard->window, mono_ms, FAILURES);
    if (distinct(guard, mono_ms) < guard->config.subscriptions_min ||
        failures * 1000 <= answers * guard->config.share_permille) {
        return false;
    }
    guard->is_paused = true;
    guard->paused_until_ms = mono_ms + guard->config.pause_ms;
    return true;
}

void lull_key_guard_resume(struct lull_key_guard *guard, int64_t mono_ms)
{
    guard->is_paused = false;
    guard->failed_count = 0;
    lull_window_clear(&guard->window, mono_ms);
}
