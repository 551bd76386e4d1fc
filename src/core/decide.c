/*
 * decide - see the header for the order of the questions.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lull/decide.h"

#include <string.h>

#include "classify_hints.h"
#include "decision.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "saturate.h"

/* How long the way through a queue may take and still be "now" (T1). */
#define NOW_MAX_MS 5000

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

/* What keeps back the attempt of that number, if anything. For a queued message it is the gate that
 * waits, where nothing is burnt or lost; only a caller is told at once. */
static enum lull_reason held_by(struct decision *decision, uint32_t attempt)
{
    const struct lull_facts *facts = decision->facts;
    bool is_queued = is_from_queue(decision);
    enum lull_reason held = LULL_REASON_NONE;
    if (facts->is_circuit_open) {
        held = LULL_REASON_CIRCUIT_OPEN;
        note(decision, LULL_ASK_CIRCUIT, "K5",
             is_queued ? "it is open: the queue keeps the message" : "no: it is open", -1);
    }
    if (facts->is_budget_exhausted && attempt > 1 && (is_queued || held == LULL_REASON_NONE)) {
        held = held == LULL_REASON_NONE ? LULL_REASON_BUDGET_EXHAUSTED : held;
        note(decision, LULL_ASK_BUDGET, "G4",
             is_queued ? "it is spent: the queue keeps the message" : "no: it is spent", -1);
    }
    return held;
}

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
    note(decision, LULL_ASK_TIME_LEFT, "T1", "yes",
         decision->ttl_ms == 0 ? -1 : decision->verdict->remaining_ms);
    if (decision->facts->attempt > decision->policy->retries + 1) {
        note(decision, LULL_ASK_ATTEMPTS, "B5", "no", -1);
        return end(decision, LULL_REASON_MAX_ATTEMPTS_EXCEEDED);
    }
    enum lull_reason held = held_by(decision, decision->facts->attempt);
    if (decision->facts->is_key_paused && is_from_queue(decision)) {
        held = LULL_REASON_KEY_PAUSED;
        note(decision, LULL_ASK_REPEAT, "K6", "not now: our key is paused on this service", -1);
    }
    if (held != LULL_REASON_NONE && !is_from_queue(decision)) {
        return end(decision, held);
    }
    decision->verdict->kind = held == LULL_REASON_NONE ? LULL_VERDICT_SEND : LULL_VERDICT_WAIT;
    decision->verdict->reason = held;
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
    if (decision->trace) {
        note(decision, LULL_ASK_CLASS, decision->classification.rule,
             lull_class_to_string(verdict->class_), -1);
    }
    if (verdict->class_ == LULL_CLASS_SUCCESS) {
        verdict->kind = LULL_VERDICT_DELIVERED;
        verdict->reason = LULL_REASON_DELIVERED;
        return true;
    }
    note(decision, LULL_ASK_EFFECT, "C12",
         decision->outcome->kind == LULL_OUTCOME_STATUS ? "it was answered"
                                                        : lull_effect_to_string(verdict->effect),
         -1);
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

bool lull_method_is_idempotent(enum lull_method method)
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
    if (!verdict->burns_attempt) {
        return false; /* K6: turned away at the door */
    }
    if (lull_method_is_idempotent(facts->method)) {
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
    if (why && facts->is_body_spent) {
        note(decision, LULL_ASK_REPEAT, "H1", "no: the body cannot be read a second time", -1);
        return end(decision, LULL_REASON_BODY_SPENT);
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
         is_left ? (int64_t)(policy->retries - attempt + 1) : -1);
    return is_left ? false : end(decision, LULL_REASON_MAX_ATTEMPTS_EXCEEDED);
}

/* ---- do circuit and budget allow it? (K5, G4) ---- */

static bool ask_restraint(struct decision *decision)
{
    enum lull_reason held = held_by(decision, decision->facts->attempt + 1);
    if (held == LULL_REASON_NONE || is_from_queue(decision)) {
        return false;
    }
    clear_delay(decision);
    return end(decision, held);
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

/* The questions that come after a failure. Not inlined, so that a success, which is what happens
 * all day, touches as little code as it runs. */
__attribute__((noinline)) static void ask_of_failure(struct decision *decision)
{
    ask_retry_after(decision);
    ask_scope(decision);
    ask_minimum(decision);
    if (!ask_retryable(decision) && !ask_repeat(decision) && !ask_layer(decision) &&
        !ask_attempts(decision)) {
        ask_delay(decision);
        (void)(ask_time_left(decision) || ask_too_long(decision) || ask_restraint(decision) ||
               retry(decision));
    }
    if (decision->verdict->kind != LULL_VERDICT_RETRY) {
        decision->verdict->side_effects &= ~(unsigned)LULL_DO_FRESH_JWT; /* for no next attempt */
    }
}

/* The questions, in their order. */
static void ask_all(struct decision *decision)
{
    if (!ask_target(decision) && !ask_pending(decision) && !ask_class(decision)) {
        ask_of_failure(decision);
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
    static const struct hints no_hints;
    struct hints hints;
    struct decision decision = {
        .policy = policy,
        .facts = facts,
        .outcome = outcome,
        /* What a push service does, it does to pushes. */
        .vendor =
            lull_vendor_lookup(facts->kind == LULL_KIND_PUSH ? facts->vendor : LULL_VENDOR_OTHER),
        .now_ms = now_ms,
        .random = random,
        .verdict = ret_verdict,
        .trace = trace,
        .hints = &no_hints,
        .ttl_ms = facts->ttl_ms == LULL_TTL_DEFAULT ? policy->ttl_ms : facts->ttl_ms,
    };
    *ret_verdict = (struct lull_verdict){
        .scope = LULL_SCOPE_MESSAGE,
        .effect = lull_outcome_effect(outcome),
        .burns_attempt = outcome->kind != LULL_OUTCOME_PENDING,
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
