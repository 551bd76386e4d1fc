/* scope - see the header. SPDX-License-Identifier: MIT */
#include "lull/scope.h"

#include "lull/duration.h"
#include "lull/error.h"

enum { SENDS, THROTTLED };

void lull_scope_config_default(struct lull_scope_config *config)
{
    *config = (struct lull_scope_config){.sender_permille = 50, .window_ms = LULL_SECONDS(10)};
}

int lull_scope_init(struct lull_scope_tracker *tracker, const struct lull_scope_config *config,
                    int64_t mono_ms)
{
    struct lull_scope_tracker fresh = {.config = *config};
    if (config->sender_permille > 1000 ||
        lull_window_init(&fresh.window, config->window_ms, mono_ms) != LULL_OK) {
        return LULL_ERR_RANGE;
    }
    *tracker = fresh;
    return LULL_OK;
}

void lull_scope_on_sent(struct lull_scope_tracker *tracker, int64_t mono_ms)
{
    lull_window_add(&tracker->window, mono_ms, SENDS, 1);
}

bool lull_scope_on_throttled(struct lull_scope_tracker *tracker, int64_t mono_ms,
                             uint64_t subscription)
{
    lull_window_add(&tracker->window, mono_ms, THROTTLED, 1);
    if (!tracker->latest.is_set || tracker->latest.subscription != subscription) {
        tracker->another = tracker->latest;
    }
    tracker->latest = (struct lull_scope_hit){subscription, mono_ms, true};

    bool is_two =
        tracker->another.is_set && mono_ms - tracker->another.mono_ms <= tracker->config.window_ms;
    uint64_t sends = lull_window_over(&tracker->window, mono_ms, SENDS);
    uint64_t throttled = lull_window_over(&tracker->window, mono_ms, THROTTLED);
    return is_two && throttled * 1000 > sends * tracker->config.sender_permille;
}

void lull_scope_clear(struct lull_scope_tracker *tracker, int64_t mono_ms)
{
    lull_window_clear(&tracker->window, mono_ms);
    tracker->latest.is_set = false;
    tracker->another.is_set = false;
}
