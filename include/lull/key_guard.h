/*
 * key_guard - many 401/403 at once mean that our key or clock is wrong, not the subscriptions (K6).
 *
 * Pure; one for each VAPID key on each service. When auth failures pass half of the answers in
 * 60 s, from at least five different subscriptions, the key is paused on that service: its
 * messages wait, burn no attempt, and nothing is purged. After the pause one wave decides again.
 */
#ifndef LULL_KEY_GUARD_H
#define LULL_KEY_GUARD_H

#include <stdbool.h>
#include <stdint.h>

#include "lull/api.h"
#include "lull/window.h"

LULL_BEGIN_DECLS

#define LULL_KEY_GUARD_SUBSCRIPTIONS_MAX 16

struct lull_key_guard_config {
    uint32_t share_permille;    /* default 500 */
    uint32_t subscriptions_min; /* default 5; 1 to LULL_KEY_GUARD_SUBSCRIPTIONS_MAX */
    int64_t window_ms;          /* default 60,000 */
    int64_t pause_ms;           /* default 300,000 */
};

struct lull_key_guard {
    struct lull_key_guard_config config;
    struct lull_window window; /* answers, auth failures */
    int64_t paused_until_ms;   /* meaningful while is_paused */
    bool is_paused;
    uint64_t failed[LULL_KEY_GUARD_SUBSCRIPTIONS_MAX]; /* the last distinct subscriptions hit */
    int64_t failed_ms[LULL_KEY_GUARD_SUBSCRIPTIONS_MAX];
    uint32_t failed_count;
};

LULL_API void lull_key_guard_config_default(struct lull_key_guard_config *config);
LULL_API int lull_key_guard_init(struct lull_key_guard *guard,
                                 const struct lull_key_guard_config *config, int64_t mono_ms);

/* Counts one answer. Returns true if it began a pause: raise the alert. */
LULL_API bool lull_key_guard_report(struct lull_key_guard *guard, int64_t mono_ms,
                                    uint64_t subscription, bool is_auth_failure);

/* 0 if the key may be used, else the ms until it may. */
LULL_API int64_t lull_key_guard_wait(struct lull_key_guard *guard, int64_t mono_ms);

/* The operator has mended the key: go on at once. */
LULL_API void lull_key_guard_resume(struct lull_key_guard *guard, int64_t mono_ms);

LULL_END_DECLS

#endif
