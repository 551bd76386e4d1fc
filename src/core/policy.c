/* policy - the named policies, and what each field may be. SPDX-License-Identifier: MIT */
#include "lull/policy.h"

#include <string.h>

#include "lull/duration.h"
#include "lull/error.h"
#include "policy_fields.h"

#define U32(key_, field_, min_, max_, unit_)                                                       \
    {                                                                                              \
        .key = (key_), .offset = offsetof(struct lull_policy, field_), .is_wide = false,           \
        .min = (min_), .max = (max_), .unit = (unit_)                                              \
    }
#define I64(key_, field_, min_, unit_)                                                             \
    {                                                                                              \
        .key = (key_), .offset = offsetof(struct lull_policy, field_), .is_wide = true,            \
        .min = (min_), .max = POLICY_DURATION_MAX_MS, .unit = (unit_)                              \
    }

const struct policy_field policy_fields[] = {
    I64("base", backoff.base_ms, 1, POLICY_DURATION),
    I64("cap", backoff.cap_ms, 1, POLICY_DURATION),
    I64("floor", backoff.floor_ms, 0, POLICY_DURATION),
    U32("retries", retries, 0, LULL_POLICY_RETRIES_MAX, POLICY_COUNT),
    I64("deadline", deadline_ms, 1, POLICY_DURATION_OR_NONE),
    I64("ttl", ttl_ms, 0, POLICY_DURATION_OR_NONE),
    U32("wait-ttl", wait_ttl_permille, 0, 1000, POLICY_PERCENT),
    U32("spread", spread_permille, 0, 1000, POLICY_PERCENT),
    I64("spread-max", spread_max_ms, 0, POLICY_DURATION),
    I64("retry-after-max", retry_after_max_ms, 0, POLICY_DURATION_OR_NONE),
    I64("throttle-min", throttle_min_ms, 0, POLICY_DURATION),
    I64("throttle-sender-min", throttle_sender_min_ms, 0, POLICY_DURATION),
    U32("inner-retries", inner_retries, 0, LULL_POLICY_RETRIES_MAX, POLICY_COUNT),
};
const size_t policy_field_count = sizeof policy_fields / sizeof policy_fields[0];

static const char *const names[] = {"delivery", "urgent", "bulk", "client", "webhook", NULL};

const char *const *lull_policy_names(void)
{
    return names;
}

static struct lull_policy delivery(void)
{
    return (struct lull_policy){
        .name = "delivery",
        .kind = LULL_KIND_PUSH,
        .backoff = {.strategy = LULL_BACKOFF_FULL_JITTER,
                    .base_ms = LULL_SECONDS(2),
                    .cap_ms = LULL_SECONDS(120),
                    .floor_ms = 0,
                    .multiplier = 2.0},
        .retries = 5,
        .deadline_ms = LULL_NEVER,
        .ttl_ms = LULL_DAYS(28),
        .wait_ttl_permille = 0,
        .retry_after_mode = LULL_RETRY_AFTER_FLOOR,
        .spread_permille = 100,
        .spread_max_ms = LULL_SECONDS(30),
        .retry_after_max_ms = LULL_NEVER,
        .throttle_min_ms = LULL_SECONDS(15),
        .throttle_sender_min_ms = LULL_SECONDS(60),
        .inner_retries = 0,
    };
}

int lull_policy_named(struct lull_policy *ret_policy, const char *name)
{
    struct lull_policy policy = delivery();
    if (strcmp(name, "delivery") == 0) {
        *ret_policy = policy;
        return LULL_OK;
    }
    if (strcmp(name, "urgent") == 0) { /* one-time codes, flash sales */
        policy.retries = 3;
        policy.wait_ttl_permille = 500;
    } else if (strcmp(name, "bulk") == 0) { /* campaigns */
        policy.retries = 7;
        policy.backoff.cap_ms = LULL_SECONDS(300);
    } else if (strcmp(name, "client") == 0) { /* somebody waits for the response */
        policy.kind = LULL_KIND_REQUEST;
        policy.backoff.base_ms = 200;
        policy.backoff.cap_ms = LULL_SECONDS(30);
        policy.backoff.floor_ms = 50;
        policy.retries = 3;
        policy.ttl_ms = LULL_NEVER;
        policy.retry_after_max_ms = LULL_SECONDS(120);
    } else if (strcmp(name, "webhook") == 0) {
        policy.kind = LULL_KIND_WEBHOOK;
        policy.backoff.base_ms = LULL_SECONDS(5);
        policy.backoff.cap_ms = LULL_HOURS(1);
        policy.retries = 10;
        policy.ttl_ms = LULL_HOURS(24);
    } else {
        return LULL_ERR_UNKNOWN;
    }
    memset(policy.name, 0, sizeof policy.name);
    memcpy(policy.name, name, strlen(name));
    *ret_policy = policy;
    return LULL_OK;
}

int64_t policy_field_get(const struct lull_policy *policy, const struct policy_field *field)
{
    const char *at = (const char *)policy + field->offset;
    int64_t wide = 0;
    uint32_t narrow = 0;
    if (field->is_wide) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

void policy_field_set(struct lull_policy *policy, const struct policy_field *field, int64_t value)
{
    char *at = (char *)policy + field->offset;
    uint32_t narrow = (uint32_t)value;
    if (field->is_wide) {
        memcpy(at, &value, sizeof value);
    } else {
        memcpy(at, &narrow, sizeof narrow);
    }
}

bool policy_field_accepts(const struct policy_field *field, int64_t value)
{
    if (field->unit == POLICY_DURATION_OR_NONE && value == LULL_NEVER) {
        return true;
    }
    return value >= field->min && value <= field->max;
}

bool policy_class_is_settable(enum lull_class class_)
{
    switch (class_) {
    case LULL_CLASS_SUCCESS:
    case LULL_CLASS_THROTTLED:
    case LULL_CLASS_UNAVAILABLE:
    case LULL_CLASS_SERVER_ERROR:
    case LULL_CLASS_AUTH:
    case LULL_CLASS_GONE:
    case LULL_CLASS_TOO_LARGE:
    case LULL_CLASS_REJECTED:
        return true;
    default:
        return false;
    }
}

/* A fixed text field that ends inside of itself. */
static bool is_terminated(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

static const char *bad_list(const struct lull_policy *policy)
{
    if (policy->status_count > LULL_POLICY_STATUSES_MAX) {
        return "status";
    }
    for (uint32_t i = 0; i < policy->status_count; i++) {
        const struct lull_policy_status *entry = &policy->statuses[i];
        if (entry->status < 100 || entry->status > 999 ||
            !policy_class_is_settable((enum lull_class)entry->class_)) {
            return "status";
        }
    }
    if (policy->problem_count > LULL_POLICY_PROBLEMS_MAX) {
        return "problem";
    }
    for (uint32_t i = 0; i < policy->problem_count; i++) {
        const struct lull_policy_problem *entry = &policy->problems[i];
        if (!is_terminated(entry->type, sizeof entry->type) ||
            (unsigned)entry->action > LULL_PROBLEM_DEAD_LETTER) {
            return "problem";
        }
    }
    if (policy->reset_header_count > LULL_POLICY_RESET_HEADERS_MAX) {
        return "reset-header";
    }
    for (uint32_t i = 0; i < policy->reset_header_count; i++) {
        if (!is_terminated(policy->reset_headers[i], sizeof policy->reset_headers[i])) {
            return "reset-header";
        }
    }
    return NULL;
}

int lull_policy_validate(const struct lull_policy *policy, struct lull_policy_error *ret_error)
{
    for (size_t i = 0; i < policy_field_count; i++) {
        const struct policy_field *field = &policy_fields[i];
        if (!policy_field_accepts(field, policy_field_get(policy, field))) {
            return policy_refuse_field(ret_error, 0, field);
        }
    }
    const struct lull_backoff *backoff = &policy->backoff;
    const char *list = bad_list(policy);
    if (!is_terminated(policy->name, sizeof policy->name)) {
        return policy_refuse(ret_error, LULL_ERR_RANGE, 0, "name", "is too long");
    }
    if ((unsigned)policy->kind >= LULL_KINDS) {
        return policy_refuse(ret_error, LULL_ERR_RANGE, 0, "kind", "is not a kind");
    }
    if ((unsigned)backoff->strategy >= LULL_BACKOFF_STRATEGIES) {
        return policy_refuse(ret_error, LULL_ERR_RANGE, 0, "strategy", "is not a strategy");
    }
    if ((unsigned)policy->retry_after_mode > LULL_RETRY_AFTER_EXACT) {
        return policy_refuse(ret_error, LULL_ERR_RANGE, 0, "retry-after", "is not a mode");
    }
    /* Written so that a NaN fails too. */
    if (!(backoff->multiplier >= 1.0 && backoff->multiplier <= 100.0)) {
        return policy_refuse(ret_error, LULL_ERR_RANGE, 0, "multiplier", "must be 1 to 100");
    }
    if (backoff->cap_ms < backoff->base_ms) {
        return policy_refuse(ret_error, LULL_ERR_RANGE, 0, "cap", "must not be under base");
    }
    if (backoff->floor_ms > backoff->base_ms) {
        return policy_refuse(ret_error, LULL_ERR_RANGE, 0, "floor", "must not be over base");
    }
    if (list) {
        return policy_refuse(ret_error, LULL_ERR_RANGE, 0, list, "has a bad entry");
    }
    return LULL_OK;
}

const char *lull_retry_after_mode_to_string(enum lull_retry_after_mode mode)
{
    static const char *const words[] = {"floor", "exact"};
    return words[mode];
}
