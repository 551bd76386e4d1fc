/*
 * decide - see the header for the order of the questions.
 *
 * Each ask_ function answers one of them. It returns true if that ended the matter: then the
 * verdict is complete.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lull/decide.h"

#include <string.h>

#include "classify_hints.h"
#include "hints.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "saturate.h"

/* How long the way through a queue may take and still be "now" (T1). */
#define NOW_MAX_MS 5000

struct decision {
    const struct lull_policy *policy;
    const struct lull_facts *facts;
    const struct lull_outcome *outcome;
    const struct lull_vendor_traits *vendor;
    int64_t now_ms;
    struct lull_random *random;
    struct lull_verdict *verdict;
    struct lull_trace *trace;
    const struct hints *hints;
    struct lull_classification classification;
    int64_t ttl_ms; /* the message's, or the policy's */
    bool is_sender_throttled;
    int64_t minimum_ms;       /* no wait may be shorter ... */
    const char *minimum_rule; /* ... by this one */
    bool is_backoff_on_top;   /* added to the minimum, rather than compared with it (A5) */
};

static void note(struct decision *decision, enum lull_question question, const char *rule,
                 const char *answer, int64_t value)
{
    struct lull_trace *trace = decision->trace;
    if (trace && trace->count < LULL_QUESTIONS) {
        trace->steps[trace->count++] = (struct lull_step){question, rule, answer, value};
    }
}

static bool is_from_queue(const struct decision *decision)
{
    return decision->facts->kind == LULL_KIND_PUSH || decision->facts->kind == LULL_KIND_WEBHOOK;
}

/* A queued message goes to the dead letters; a caller gets its answer back. */
static bool end(struct decision *decision, enum lull_reason reason)
{
    bool is_dead = is_from_queue(decision) || decision->classification.is_dead_letter;
    decision->verdict->kind = is_dead ? LULL_VERDICT_DEAD : LULL_VERDICT_GIVE_UP;
    decision->verdict->reason = reason;
    return true;
}

static void clear_delay(struct decision *decision)
{
    decision->verdict->delay_ms = 0;
    decision->verdict->delay_min_ms = 0;
    decision->verdict->delay_max_ms = 0;
}

/* How long ago it was accepted. A clock that stepped back makes it new, never negative (T4). */
static int64_t age_ms(const struct decision *decision)
{
    return max_i64(0, saturating_sub(decision->now_ms, decision->facts->first_accepted_ms));
}

static int64_t remaining_of(const struct decision *decision, int64_t limit_ms)
{
    return limit_ms == LULL_NEVER ? LULL_NEVER
                                  : max_i64(0, saturating_sub(limit_ms, age_ms(decision)));
}

/* Of TTL and deadline, the nearer. Only a caller's deadline has a name of its own. */
static bool is_deadline_nearer(const struct decision *decision)
{
    return decision->policy->deadline_ms < decision->ttl_ms;
}

/* ---- can the target exist? (S6) ---- */

static bool ask_target(struct decision *decision)
{
    if (decision->facts->vendor != LULL_VENDOR_INVALID) {
        return false;
    }
    note(decision, LULL_ASK_TARGET, "S6", "no: nothing is ever under .invalid", -1);
    decision->verdict->class_ = LULL_CLASS_GONE;
    if (decision->facts->kind == LULL_KIND_PUSH) {
        decision->verdict->side_effects |= LULL_DO_PURGE;
        decision->verdict->scope = LULL_SCOPE_SUBSCRIPTION;
    }
    return end(decision, LULL_REASON_GONE);
}

/* ---- not sent yet: may it be? (T1, T2, K5) ---- */

static bool ask_pending(struct decision *decision)
{
    if (decision->outcome->kind != LULL_OUTCOME_PENDING) {
        return false;
    }
    /* A TTL of 0 means now or never: the now is the first attempt, if nothing holds it up. */
    bool is_expired = remaining_of(decision, decision->ttl_ms) == 0;
    if (decision->ttl_ms == 0) {
        is_expired = decision->facts->attempt > 1 || age_ms(decision) > NOW_MAX_MS;
    }
    bool is_late = remaining_of(decision, decision->policy->deadline_ms) == 0;
    if (is_expired || is_late) {
        note(decision, LULL_ASK_TIME_LEFT, "T2", "no: it expired while it waited", 0);
        bool is_deadline = is_late && !is_expired && !is_from_queue(decision);
        return end(decision, is_deadline ? LULL_REASON_DEADLINE_EXCEEDED : LULL_REASON_TTL_EXPIRED);
    }
    note(decision, LULL_ASK_TIME_LEFT, "T1", "yes", decision->verdict->remaining_ms);
    if (decision->facts->is_circuit_open && !is_from_queue(decision)) {
        note(decision, LULL_ASK_CIRCUIT, "K5", "no: it is open", -1);
        return end(decision, LULL_REASON_CIRCUIT_OPEN);
    }
    decision->verdict->kind = LULL_VERDICT_SEND;
    decision->verdict->reason = LULL_REASON_NONE;
    return true;
}

/* ---- what happened, and is it worth another try? (C1 to C8, C10, C11, C13) ---- */

static enum lull_reason ending_reason(const struct decision *decision)
{
    switch (decision->verdict->class_) {
    case LULL_CLASS_AUTH:
        return LULL_REASON_AUTH;
    case LULL_CLASS_GONE:
        return LULL_REASON_GONE;
    case LULL_CLASS_TOO_LARGE:
        return LULL_REASON_PAYLOAD_TOO_LARGE;
    case LULL_CLASS_INVALID_TARGET:
        return LULL_REASON_INVALID_TARGET;
    case LULL_CLASS_CANCELLED:
        return LULL_REASON_CANCELLED;
    default:
        return decision->outcome->kind == LULL_OUTCOME_OPERATION ? LULL_REASON_OPERATION_FAILED
                                                                 : LULL_REASON_REJECTED;
    }
}

static void add_ending_effects(struct decision *decision)
{
    struct lull_verdict *verdict = decision->verdict;
    bool is_push = decision->facts->kind == LULL_KIND_PUSH;
    if (verdict->class_ == LULL_CLASS_AUTH && is_from_queue(decision)) {
        verdict->side_effects |= LULL_DO_ALERT;
    } else if (verdict->class_ == LULL_CLASS_GONE && is_push) {
        verdict->side_effects |= LULL_DO_PURGE;
        verdict->scope = LULL_SCOPE_SUBSCRIPTION;
    } else if (verdict->class_ == LULL_CLASS_GONE && decision->facts->kind == LULL_KIND_WEBHOOK &&
               decision->outcome->status == 410) {
        verdict->side_effects |= LULL_DO_DISABLE_TARGET;
        verdict->scope = LULL_SCOPE_SUBSCRIPTION;
    } else if (verdict->class_ == LULL_CLASS_TOO_LARGE && is_push) {
        verdict->side_effects |= LULL_DO_REMEMBER_SIZE;
    }
}

static void note_outcome(struct decision *decision)
{
    const struct lull_outcome *outcome = decision->outcome;
    if (outcome->kind == LULL_OUTCOME_STATUS) {
        note(decision, LULL_ASK_OUTCOME, "C1", "HTTP status", (int64_t)outcome->status);
    } else if (outcome->kind == LULL_OUTCOME_TRANSPORT) {
        note(decision, LULL_ASK_OUTCOME, "C1", lull_transport_to_string(outcome->transport), -1);
    } else {
        note(decision, LULL_ASK_OUTCOME, "H3", outcome->is_success ? "success" : "failure", -1);
    }
}

static bool ask_class(struct decision *decision)
{
    struct lull_verdict *verdict = decision->verdict;
    note_outcome(decision);
    decision->classification =
        classify_with_hints(decision->policy, decision->facts->kind, decision->facts->vendor,
                            decision->outcome, decision->hints);
    verdict->class_ = decision->classification.class_;
    note(decision, LULL_ASK_CLASS, decision->classification.rule,
         lull_class_to_string(verdict->class_), -1);
    if (verdict->class_ == LULL_CLASS_SUCCESS) {
        verdict->kind = LULL_VERDICT_DELIVERED;
        verdict->reason = LULL_REASON_DELIVERED;
        return true;
    }
    note(decision, LULL_ASK_EFFECT, "C12", lull_effect_to_string(verdict->effect), -1);
    return false;
}

static bool ask_retryable(struct decision *decision)
{
    struct lull_verdict *verdict = decision->verdict;
    if (verdict->class_ == LULL_CLASS_AUTH && decision->facts->is_key_paused &&
        is_from_queue(decision)) {
        verdict->burns_attempt = false; /* K6: our key is at fault, not this message */
        return false;
    }
    if (!lull_class_is_retryable(verdict->class_)) {
        add_ending_effects(decision);
        return end(decision, ending_reason(decision));
    }
    if (verdict->class_ == LULL_CLASS_AUTH_SUSPECT) {
        verdict->side_effects |= LULL_DO_WARN_AUTH_SUSPECT;
        if (decision->facts->auth_retries > 0) { /* a fresh JWT did not help: it is auth */
            verdict->side_effects |= LULL_DO_ALERT;
            return end(decision, LULL_REASON_AUTH);
        }
        verdict->side_effects |= LULL_DO_FRESH_JWT;
    }
    return false;
}

/* ---- what did the server ask for? (A1, A2, A5, A6, A7) ---- */

static bool is_refused_by_policy(const struct decision *decision)
{
    return decision->verdict->class_ == LULL_CLASS_THROTTLED ||
           decision->verdict->class_ == LULL_CLASS_AUTH_SUSPECT;
}

static void ask_retry_after(struct decision *decision)
{
    struct lull_verdict *verdict = decision->verdict;
    if (decision->outcome->kind != LULL_OUTCOME_STATUS) {
        return;
    }
    bool is_refused = is_refused_by_policy(decision);
    struct hint_answer answer =
        hints_wait(decision->hints, decision->policy, decision->outcome,
                   is_refused || verdict->class_ == LULL_CLASS_UNAVAILABLE, decision->now_ms);
    verdict->retry_after = answer.wait;
    if (answer.is_retry_after_malformed) {
        verdict->side_effects |= LULL_DO_WARN_RETRY_AFTER_MALFORMED;
    }
    switch (answer.wait.state) {
    case LULL_RETRY_AFTER_OK:
        note(decision, LULL_ASK_RETRY_AFTER,
             strcmp(answer.header, "Retry-After") == 0 ? "A1" : "A7", answer.header,
             answer.wait.wait_ms);
        break;
    case LULL_RETRY_AFTER_MALFORMED:
        note(decision, LULL_ASK_RETRY_AFTER, "A1", "malformed, which counts as nothing", -1);
        break;
    case LULL_RETRY_AFTER_ABSENT:
    default:
        if (is_refused) {
            verdict->side_effects |= LULL_DO_WARN_RETRY_AFTER_MISSING;
        }
        if (lull_class_is_retryable(verdict->class_)) {
            note(decision, LULL_ASK_RETRY_AFTER, is_refused ? "A5" : "A7", "nothing", -1);
        }
        break;
    }
}

/* ---- may it be repeated? (C9, G7, B4) ---- */

static bool is_idempotent(enum lull_method method)
{
    switch (method) {
    case LULL_METHOD_GET:
    case LULL_METHOD_HEAD:
    case LULL_METHOD_OPTIONS:
    case LULL_METHOD_PUT:
    case LULL_METHOD_DELETE:
    case LULL_METHOD_TRACE:
        return true;
    default:
        return false;
    }
}

/* 429 and 503 say that the request was not served, whatever class a policy gives them. */
static bool is_turned_away(const struct decision *decision)
{
    return is_refused_by_policy(decision) || decision->verdict->class_ == LULL_CLASS_UNAVAILABLE ||
           decision->outcome->status == 429 || decision->outcome->status == 503;
}

static bool ask_repeat(struct decision *decision)
{
    const struct lull_facts *facts = decision->facts;
    const struct lull_verdict *verdict = decision->verdict;
    const char *why = NULL;
    if (is_idempotent(facts->method)) {
        why = "yes: the method is idempotent";
    } else if (facts->has_idempotency_key) {
        why = "yes: it has an idempotency key";
    } else if (facts->is_repeatable) {
        why = "yes: it is safe to repeat";
    } else if (decision->outcome->kind == LULL_OUTCOME_TRANSPORT &&
               verdict->effect != LULL_EFFECT_UNKNOWN) {
        why = "yes: it was provably not processed";
    } else if (verdict->retry_after.state == LULL_RETRY_AFTER_OK && is_turned_away(decision)) {
        why = "yes: refused, and asked to come back";
    }
    note(decision, LULL_ASK_REPEAT, "C9", why ? why : "no: it may have been processed", -1);
    return why ? false : end(decision, LULL_REASON_NOT_IDEMPOTENT);
}

static bool ask_layer(struct decision *decision)
{
    const struct lull_facts *facts = decision->facts;
    if (facts->incoming_attempt <= 1 || is_from_queue(decision)) {
        return false;
    }
    bool is_left = facts->attempt <= decision->policy->inner_retries;
    note(decision, LULL_ASK_LAYER, "G7",
         is_left ? "an outer layer, but we may still retry" : "an outer layer does",
         (int64_t)facts->incoming_attempt);
    return is_left ? false : end(decision, LULL_REASON_OUTER_RETRIES);
}

static bool ask_attempts(struct decision *decision)
{
    const struct lull_policy *policy = decision->policy;
    uint32_t attempt = decision->facts->attempt;
    if (!decision->verdict->burns_attempt) {
        note(decision, LULL_ASK_ATTEMPTS, "K6", "yes: our key is paused, so none is burnt", -1);
        return false;
    }
    bool is_left = attempt <= policy->retries &&
                   (policy->backoff.strategy != LULL_BACKOFF_IMMEDIATE || attempt <= 1);
    note(decision, LULL_ASK_ATTEMPTS, "B5", is_left ? "yes, retries left" : "no",
         is_left ? (int64_t)(policy->retries - attempt + 1) : 0);
    return is_left ? false : end(decision, LULL_REASON_MAX_ATTEMPTS_EXCEEDED);
}

/* ---- how far does it reach, and how long must we wait at least? (P3, P4, A3, A5, V2) ---- */

static void ask_scope(struct decision *decision)
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
    bool is_known = vendor->is_throttle_sender_wide || vendor->is_throttle_single_only;
    note(decision, LULL_ASK_SCOPE, is_known ? "P4" : "P3", lull_scope_to_string(verdict->scope),
         -1);
}

static void ask_minimum(struct decision *decision)
{
    const struct lull_policy *policy = decision->policy;
    const struct lull_verdict *verdict = decision->verdict;
    const char *answer = "what the server asked for";
    int64_t minimum_ms = 0;
    decision->minimum_rule = "A3";
    if (verdict->retry_after.state == LULL_RETRY_AFTER_OK) {
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
    decision->is_backoff_on_top = strcmp(decision->minimum_rule, "A3") != 0;
    if (verdict->side_effects & (LULL_DO_HOLD | LULL_DO_PAUSE)) {
        decision->verdict->hold_ms = minimum_ms;
    }
    if (minimum_ms > 0) {
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

static void ask_delay(struct decision *decision)
{
    int64_t minimum = decision->minimum_ms;
    int64_t limit = max_i64(minimum, wait_limit_ms(decision));
    if (!decision->is_backoff_on_top && minimum > 0 &&
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

static bool ask_time_left(struct decision *decision)
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

static bool ask_too_long(struct decision *decision)
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

/* ---- do circuit and budget allow it? (K5, G4) ---- */

/* Only a caller is told at once: for a queued message the gate keeps it waiting, where it burns
 * no attempt and loses nothing. */
static bool ask_restraint(struct decision *decision)
{
    const struct lull_facts *facts = decision->facts;
    if (facts->is_circuit_open) {
        note(decision, LULL_ASK_CIRCUIT, "K5",
             is_from_queue(decision) ? "it is open: the queue keeps the message" : "no: it is open",
             -1);
        if (!is_from_queue(decision)) {
            clear_delay(decision);
            return end(decision, LULL_REASON_CIRCUIT_OPEN);
        }
    }
    if (facts->is_budget_exhausted) {
        note(decision, LULL_ASK_BUDGET, "G4",
             is_from_queue(decision) ? "it is spent: the queue keeps the message"
                                     : "no: it is spent",
             -1);
        if (!is_from_queue(decision)) {
            clear_delay(decision);
            return end(decision, LULL_REASON_BUDGET_EXHAUSTED);
        }
    }
    return false;
}

static enum lull_reason retry_reason(enum lull_class class_)
{
    switch (class_) {
    case LULL_CLASS_THROTTLED:
        return LULL_REASON_THROTTLED;
    case LULL_CLASS_UNAVAILABLE:
        return LULL_REASON_UNAVAILABLE;
    case LULL_CLASS_TRANSPORT:
        return LULL_REASON_TRANSPORT;
    case LULL_CLASS_AUTH_SUSPECT:
        return LULL_REASON_AUTH_SUSPECT;
    case LULL_CLASS_AUTH:
        return LULL_REASON_KEY_PAUSED;
    default:
        return LULL_REASON_SERVER_ERROR;
    }
}

static bool retry(struct decision *decision)
{
    decision->verdict->kind = LULL_VERDICT_RETRY;
    decision->verdict->reason = retry_reason(decision->verdict->class_);
    return true;
}

/* The questions, in their order. */
static void ask_all(struct decision *decision)
{
    if (ask_target(decision) || ask_pending(decision) || ask_class(decision)) {
        return;
    }
    ask_retry_after(decision);
    if (!ask_retryable(decision)) {
        ask_scope(decision);
        ask_minimum(decision);
        if (!ask_repeat(decision) && !ask_layer(decision) && !ask_attempts(decision)) {
            ask_delay(decision);
            (void)(ask_time_left(decision) || ask_too_long(decision) || ask_restraint(decision) ||
                   retry(decision));
        }
    }
    if (decision->verdict->kind != LULL_VERDICT_RETRY) {
        decision->verdict->side_effects &= ~(unsigned)LULL_DO_FRESH_JWT; /* for no next attempt */
    }
}

static bool is_possible(const struct lull_facts *facts, const struct lull_outcome *outcome)
{
    if (facts->attempt == 0 || (unsigned)facts->kind >= LULL_KINDS ||
        (unsigned)facts->vendor >= LULL_VENDORS || (unsigned)facts->method >= LULL_METHODS ||
        (facts->ttl_ms < 0 && facts->ttl_ms != LULL_TTL_DEFAULT)) {
        return false;
    }
    switch (outcome->kind) {
    case LULL_OUTCOME_STATUS:
        return outcome->status >= 100 && outcome->status <= 999;
    case LULL_OUTCOME_TRANSPORT:
        return outcome->transport > LULL_TRANSPORT_NONE && outcome->transport < LULL_TRANSPORTS;
    default:
        return (unsigned)outcome->kind <= LULL_OUTCOME_OPERATION;
    }
}

int lull_decide(const struct lull_policy *policy, const struct lull_facts *facts,
                const struct lull_outcome *outcome, int64_t now_ms, struct lull_random *random,
                struct lull_verdict *ret_verdict, struct lull_trace *trace)
{
    if (!is_possible(facts, outcome)) {
        return LULL_ERR_RANGE;
    }
    *ret_verdict = (struct lull_verdict){
        .scope = LULL_SCOPE_MESSAGE,
        .effect = lull_outcome_effect(outcome),
        .burns_attempt = outcome->kind != LULL_OUTCOME_PENDING,
    };
    static const struct hints no_hints;
    struct hints hints;
    struct decision decision = {
        .policy = policy,
        .facts = facts,
        .outcome = outcome,
        .vendor = lull_vendor_lookup(facts->vendor),
        .now_ms = now_ms,
        .random = random,
        .verdict = ret_verdict,
        .trace = trace,
        .hints = &no_hints,
        .ttl_ms = facts->ttl_ms == LULL_TTL_DEFAULT ? policy->ttl_ms : facts->ttl_ms,
    };
    ret_verdict->remaining_ms = min_i64(remaining_of(&decision, decision.ttl_ms),
                                        remaining_of(&decision, policy->deadline_ms));
    if (trace) {
        trace->count = 0;
    }
    /* A plain success reads no headers: the usual case stays the cheap one. */
    if (outcome->kind == LULL_OUTCOME_STATUS &&
        (outcome->status < 200 || outcome->status > 299 || policy->status_count > 0)) {
        hints_collect(outcome, &hints);
        decision.hints = &hints;
    }
    ask_all(&decision);
    return LULL_OK;
}
