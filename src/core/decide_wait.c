/* decide_wait - the questions about the wait: see decision.h. SPDX-License-Identifier: MIT */
#include "decision.h"

#include "lull/duration.h"
#include "saturate.h"

/* ---- how far does it reach, and how long must we wait at least? (P3, P4, A3, A5, V2) ---- */

void ask_scope(struct decision *decision)
{
    struct lull_verdict *verdict = decision->verdict;
    const struct lull_vendor_traits *vendor = decision->vendor;
    decision->is_sender_throttled =
        vendor->is_throttle_sender_wide || decision->facts->is_sender_throttled;
    if (!is_refused_by_policy(decision) || !is_from_queue(decision)) {
        return;
    }
    bool is_sender = decision->is_sender_throttled;
    verdict->scope = is_sender ? LULL_SCOPE_SENDER : LULL_SCOPE_SUBSCRIPTION;
    verdict->side_effects |= is_sender ? LULL_DO_PAUSE : LULL_DO_HOLD;
    note(decision, LULL_ASK_SCOPE, vendor->throttle_rule ? vendor->throttle_rule : "P3",
         lull_scope_to_string(verdict->scope), -1);
}

void ask_minimum(struct decision *decision)
{
    const struct lull_policy *policy = decision->policy;
    const struct lull_verdict *verdict = decision->verdict;
    const char *answer = "what the server asked for";
    int64_t minimum_ms = 0;
    decision->is_backoff_on_top = true;
    if (verdict->retry_after.state == LULL_RETRY_AFTER_OK) {
        decision->minimum_rule = "A3";
        decision->is_backoff_on_top = false;
        minimum_ms = verdict->retry_after.wait_ms;
    } else if (is_refused_by_policy(decision)) {
        decision->minimum_rule = "A5";
        answer = "for a refusal that names no time";
        minimum_ms = decision->is_sender_throttled ? policy->throttle_sender_min_ms
                                                   : policy->throttle_min_ms;
        minimum_ms = max_i64(minimum_ms, decision->vendor->throttle_min_ms);
    } else {
        decision->minimum_rule = "B2";
    }
    if (decision->vendor->retry_min_ms > minimum_ms) {
        decision->minimum_rule = "V2";
        answer = "what this service wants at least";
        minimum_ms = decision->vendor->retry_min_ms;
    }
    decision->minimum_ms = minimum_ms;
    if (verdict->side_effects & (LULL_DO_HOLD | LULL_DO_PAUSE)) {
        decision->verdict->hold_ms = minimum_ms;
    }
    if (minimum_ms > 0 && lull_class_is_retryable(verdict->class_)) {
        note(decision, LULL_ASK_MINIMUM, decision->minimum_rule, answer, minimum_ms);
    }
}

/* ---- how long do we wait? (B1, B2, B3, A3, A8) ---- */

/* The longest wait that a share of the TTL allows (urgent: half). */
static int64_t wait_limit_ms(const struct decision *decision)
{
    if (decision->policy->wait_ttl_permille == 0 || decision->ttl_ms == LULL_NEVER) {
        return LULL_NEVER;
    }
    return saturating_multiply(decision->ttl_ms, decision->policy->wait_ttl_permille) / 1000;
}

/* Our own backoff, in a range narrowed rather than a draw cut short: so that the jitter stays. */
static struct lull_backoff_range backoff_range(const struct decision *decision, int64_t room_ms)
{
    struct lull_backoff_range range = lull_backoff_bounds(
        &decision->policy->backoff, decision->facts->attempt, decision->facts->previous_delay_ms);
    if (range.max_ms == LULL_NEVER) { /* an attempt that is not burnt may pass the strategy's end */
        range = (struct lull_backoff_range){0, decision->policy->backoff.base_ms};
    }
    range.max_ms = min_i64(range.max_ms, room_ms);
    range.min_ms = min_i64(range.min_ms, range.max_ms);
    return range;
}

static int64_t spread_ms(const struct decision *decision, int64_t room_ms)
{
    const struct lull_policy *policy = decision->policy;
    int64_t part = saturating_multiply(decision->minimum_ms, policy->spread_permille) / 1000;
    return min_i64(min_i64(part, policy->spread_max_ms), room_ms);
}

static void set_delay(struct decision *decision, int64_t min_ms, int64_t max_ms, int64_t delay_ms)
{
    decision->verdict->delay_min_ms = min_ms;
    decision->verdict->delay_max_ms = max_ms;
    decision->verdict->delay_ms = delay_ms;
}

void ask_delay(struct decision *decision)
{
    int64_t minimum = decision->minimum_ms;
    int64_t limit = max_i64(minimum, wait_limit_ms(decision));
    if (decision->verdict->retry_after.wait_ms > 0 &&
        decision->policy->retry_after_mode == LULL_RETRY_AFTER_EXACT) {
        set_delay(decision, minimum, minimum, minimum);
        note(decision, LULL_ASK_DELAY, "A3", "exactly what the server asked for", minimum);
        return;
    }
    struct lull_backoff_range range =
        backoff_range(decision, decision->is_backoff_on_top ? limit - minimum : limit);
    int64_t drawn = lull_random_between(decision->random, range.min_ms, range.max_ms);
    note(decision, LULL_ASK_BACKOFF, decision->policy->backoff.floor_ms > 0 ? "B3" : "B2",
         lull_backoff_strategy_to_string(decision->policy->backoff.strategy), drawn);
    if (decision->is_backoff_on_top) {
        set_delay(decision, minimum + range.min_ms, minimum + range.max_ms, minimum + drawn);
        note(decision, LULL_ASK_DELAY, decision->minimum_rule,
             minimum > 0 ? "the minimum, and our backoff on top" : "our backoff",
             decision->verdict->delay_ms);
        return;
    }
    int64_t longest = max_i64(minimum, range.max_ms);
    int64_t spread = spread_ms(decision, limit - longest);
    int64_t extra = lull_random_between(decision->random, 0, spread);
    int64_t delay = max_i64(minimum, drawn) + extra;
    set_delay(decision, max_i64(minimum, range.min_ms), longest + spread, delay);
    note(decision, LULL_ASK_DELAY, "A3", "the longer of the two, plus a spread", delay);
}

/* ---- does the message outlive the wait? (T2, B5) ---- */

/* Of TTL and deadline, the nearer. Only a caller's deadline has a name of its own. */
static bool is_deadline_nearer(const struct decision *decision)
{
    return decision->policy->deadline_ms < decision->ttl_ms;
}

bool ask_time_left(struct decision *decision)
{
    const struct lull_verdict *verdict = decision->verdict;
    if (verdict->delay_ms < verdict->remaining_ms) {
        note(decision, LULL_ASK_TIME_LEFT, "T2", "yes",
             verdict->remaining_ms == LULL_NEVER ? -1 : verdict->remaining_ms);
        return false;
    }
    bool is_deadline = is_deadline_nearer(decision);
    note(decision, LULL_ASK_TIME_LEFT, is_deadline ? "B5" : "T2",
         is_deadline ? "no: the deadline comes first" : "no: the TTL ends first",
         verdict->remaining_ms);
    return end(decision, is_deadline && !is_from_queue(decision)
                             ? LULL_REASON_DEADLINE_EXCEEDED
                             : LULL_REASON_TTL_EXPIRED_DURING_BACKOFF);
}

/* ---- is the wait too long for the policy? (A4, B4) ---- */

bool ask_too_long(struct decision *decision)
{
    bool is_asked = decision->verdict->retry_after.state == LULL_RETRY_AFTER_OK;
    if (is_asked && decision->verdict->retry_after.wait_ms > decision->policy->retry_after_max_ms) {
        note(decision, LULL_ASK_TOO_LONG, "A4", "yes: over retry-after-max",
             decision->policy->retry_after_max_ms);
        return end(decision, LULL_REASON_RETRY_AFTER_TOO_LONG);
    }
    int64_t limit_ms = wait_limit_ms(decision);
    if (decision->minimum_ms > limit_ms) {
        note(decision, LULL_ASK_TOO_LONG, "B4", "yes: over this policy's share of the TTL",
             limit_ms);
        return end(decision, is_asked ? LULL_REASON_RETRY_AFTER_TOO_LONG
                                      : LULL_REASON_TTL_EXPIRED_DURING_BACKOFF);
    }
    note(decision, LULL_ASK_TOO_LONG, "A4", "no", -1);
    return false;
}
