/* model_verdict - what may follow from an outcome: see model.h. SPDX-License-Identifier: MIT */
#include "model.h"

#include <inttypes.h>

#include "history.h"

/* The wait before the next attempt may be anything between these. */
struct wait_bounds {
    int64_t minimum_ms; /* what the service asked for, or what is due to it (A3, A5, V2) */
    int64_t longest_ms;
    int64_t limit_ms; /* B4: half of the TTL, where the policy is `urgent` */
    bool is_asked;
};

static enum lull_vendor vendor_of(const struct model *model, const struct letter *letter)
{
    return letter->kind == LULL_KIND_PUSH ? model->plan->services[letter->service].vendor
                                          : LULL_VENDOR_OTHER;
}

static bool is_refusal(const struct flight *flight)
{
    return flight->has_answer && (flight->answer.class_ == ANSWER_THROTTLED ||
                                  flight->answer.class_ == ANSWER_AUTH_SUSPECT);
}

/* A3, A5: what was asked for; or a quarter of a minute, a minute for Mozilla and for a whole
 * sender. V2: FCM wants ten seconds before any retry. */
static int64_t minimum_ms(const struct model *model, const struct letter *letter,
                          const struct flight *flight)
{
    enum lull_vendor vendor = vendor_of(model, letter);
    int64_t wait_ms = 0;
    if (flight->asked_ms >= 0) {
        wait_ms = flight->asked_ms;
    } else if (is_refusal(flight)) {
        bool is_long = vendor == LULL_VENDOR_FCM || vendor == LULL_VENDOR_MOZILLA;
        wait_ms = is_long ? 60000 : 15000;
    }
    return vendor == LULL_VENDOR_FCM ? later_of(wait_ms, 10000) : wait_ms;
}

/* P3, P4: a 429 means the subscription; of FCM the whole service. */
struct model_refusal model_refusal(const struct model *model, const struct letter *letter,
                                   const struct flight *flight)
{
    return (struct model_refusal){
        .is_one = is_refusal(flight),
        .is_sender_wide = vendor_of(model, letter) == LULL_VENDOR_FCM,
        .wait_ms = minimum_ms(model, letter, flight),
    };
}

static struct wait_bounds bounds_of(const struct model *model, const struct letter *letter,
                                    const struct flight *flight, uint32_t retry)
{
    const struct lull_policy *policy = &model->plan->policies[letter->policy];
    struct wait_bounds bounds = {.minimum_ms = minimum_ms(model, letter, flight),
                                 .limit_ms = LULL_NEVER,
                                 .is_asked = flight->asked_ms >= 0};
    int64_t ceiling_ms = policy->backoff.base_ms; /* B2: base, doubled each time, up to the cap */
    for (uint32_t i = 1; i < retry && ceiling_ms < policy->backoff.cap_ms; i++) {
        ceiling_ms *= 2;
    }
    ceiling_ms = sooner_of(ceiling_ms, policy->backoff.cap_ms);
    if (bounds.is_asked) {
        bounds.longest_ms =
            later_of(bounds.minimum_ms, ceiling_ms) + sooner_of(bounds.minimum_ms / 10, 30000);
    } else {
        bounds.longest_ms = bounds.minimum_ms + ceiling_ms;
    }
    if (policy->wait_ttl_permille > 0) {
        bounds.limit_ms = letter->ttl_ms / 1000 * policy->wait_ttl_permille +
                          letter->ttl_ms % 1000 * policy->wait_ttl_permille / 1000;
        bounds.longest_ms =
            sooner_of(bounds.longest_ms, later_of(bounds.minimum_ms, bounds.limit_ms));
    }
    return bounds;
}

/* ---- without an attempt ---- */

static void check_unsent(struct model *model, const struct record *record,
                         const struct flight *flight, const struct store_settle *settle,
                         int64_t now_ms)
{
    struct trace *trace = model->trace;
    const struct letter *letter = model_letter(model, record);
    const struct message *message = settle->message;
    bool is_poison = letter->is_garbled || record->lost >= model->plan->poison_after;
    must(trace, settle->kind != STORE_DONE, "Q1", "%" PRIu64 " is done, and was not sent",
         record->id);
    if (settle->ret_is_stale) {
        return;
    }
    must(trace, message->attempts == record->attempts && message->lost == record->lost, "B5",
         "%" PRIu64 " was not sent, and its counts have changed", record->id);
    if (settle->kind == STORE_RETRY) {
        must(trace, flight->is_returned, "Q3", "%" PRIu64 " goes back for nothing", record->id);
        must(trace, !flight->is_cancelling, "Q3", "%" PRIu64 " goes back, and was cancelled",
             record->id);
        must(trace, message->due_ms <= now_ms, "B7", "%" PRIu64 " was returned, and is due later",
             record->id);
        return;
    }
    switch (message->reason) {
    case LULL_REASON_TTL_EXPIRED:
        must(trace, model_is_expired(letter, record->attempts, now_ms), "T2",
             "%" PRIu64 " is not expired: %" PRId64 " ms remain", record->id,
             model_remaining_ms(letter, now_ms));
        break;
    case LULL_REASON_CANCELLED:
        must(trace, flight->is_cancelling, "D1", "%" PRIu64 " was not cancelled", record->id);
        break;
    case LULL_REASON_POISON:
        must(trace, is_poison, "Q8", "%" PRIu64 " is no poison: lost %" PRIu32 " times", record->id,
             record->lost);
        break;
    default:
        trace_fail(trace, "D1", "%" PRIu64 " died of %s without an attempt", record->id,
                   lull_reason_to_string((enum lull_reason)message->reason));
        break;
    }
}

/* ---- after an attempt ---- */

static void check_retry(struct model *model, const struct record *record,
                        const struct flight *flight, const struct store_settle *settle,
                        const struct wait_bounds *bounds)
{
    struct trace *trace = model->trace;
    const struct letter *letter = model_letter(model, record);
    int64_t delay_ms = settle->message->due_ms - flight->told_ms;
    must(trace, !flight->is_cancelling, "Q3", "%" PRIu64 " was cancelled, and is tried again",
         record->id);
    must(trace, settle->message->attempts <= model->plan->policies[letter->policy].retries, "B5",
         "%" PRIu64 " is tried again after %" PRIu32 " attempts", record->id,
         settle->message->attempts);
    must(trace, delay_ms >= bounds->minimum_ms, "A3",
         "%" PRIu64 " waits %" PRId64 " ms, not %" PRId64, record->id, delay_ms,
         bounds->minimum_ms);
    must(trace, delay_ms <= bounds->longest_ms, "B2",
         "%" PRIu64 " waits %" PRId64 " ms, which is over %" PRId64, record->id, delay_ms,
         bounds->longest_ms);
    must(trace, delay_ms < model_remaining_ms(letter, flight->told_ms), "T2",
         "%" PRIu64 " will not outlive its wait", record->id);
    must(trace, bounds->minimum_ms <= bounds->limit_ms, "B4",
         "%" PRIu64 " waits longer than half its TTL", record->id);
    must(trace,
         flight->answer.class_ != ANSWER_AUTH_SUSPECT ||
             (record->auth_retries == 0 && settle->message->auth_retries == 1),
         "C8", "%" PRIu64 " is tried with a fresh token once, not %" PRIu32 " times", record->id,
         settle->message->auth_retries);
}

static void check_death(struct model *model, const struct record *record,
                        const struct flight *flight, const struct store_settle *settle,
                        const struct wait_bounds *bounds)
{
    const struct letter *letter = model_letter(model, record);
    const struct answer *answer = &flight->answer;
    bool is_retryable = answer->class_ == ANSWER_RETRYABLE || is_refusal(flight);
    uint32_t retries = model->plan->policies[letter->policy].retries;
    int64_t remaining_ms = model_remaining_ms(letter, flight->told_ms);
    bool is_legal = false;
    switch (settle->message->reason) {
    case LULL_REASON_CANCELLED:
        is_legal = flight->is_cancelling;
        break;
    case LULL_REASON_MAX_ATTEMPTS_EXCEEDED:
        is_legal = is_retryable && record->attempts >= retries;
        break;
    case LULL_REASON_TTL_EXPIRED_DURING_BACKOFF:
        is_legal = is_retryable && (bounds->longest_ms >= remaining_ms ||
                                    (!bounds->is_asked && bounds->minimum_ms > bounds->limit_ms));
        break;
    case LULL_REASON_RETRY_AFTER_TOO_LONG:
        is_legal = is_retryable && bounds->is_asked && bounds->minimum_ms > bounds->limit_ms;
        break;
    case LULL_REASON_AUTH:
        is_legal = answer->class_ == ANSWER_AUTH_SUSPECT && record->auth_retries > 0;
        break;
    default:
        break;
    }
    is_legal = is_legal || (answer->class_ == ANSWER_FATAL &&
                            settle->message->reason == (uint8_t)answer->fatal_reason);
    must(model->trace, is_legal, "D1", "%" PRIu64 " died of %s after %u/%s", record->id,
         lull_reason_to_string((enum lull_reason)settle->message->reason), answer->outcome.status,
         lull_transport_to_string(answer->outcome.transport));
    unsigned status = answer->outcome.kind == LULL_OUTCOME_STATUS ? answer->outcome.status : 0;
    must(model->trace, settle->message->status == status, "D2", "%" PRIu64 " died with status %u",
         record->id, settle->message->status);
}

/* D2: each attempt that counts is in the history, the last with its status. */
static void check_history(struct model *model, const struct record *record,
                          const struct flight *flight, const struct message *message)
{
    size_t count = history_count(message->history.data, message->history.length);
    struct attempt last = {0};
    must(model->trace, count == message->attempts, "D2",
         "%" PRIu64 " has %zu attempts in its history, not %" PRIu32, record->id, count,
         message->attempts);
    if (flight->has_answer && count > 0 &&
        history_get(message->history.data, message->history.length, count - 1, &last)) {
        must(model->trace,
             last.number == message->attempts && last.status == flight->answer.outcome.status &&
                 last.transport == (uint8_t)flight->answer.outcome.transport,
             "D2", "%" PRIu64 " has another last attempt in its history", record->id);
    }
}

void model_check_verdict(struct model *model, const struct record *record,
                         const struct flight *flight, const struct store_settle *settle,
                         int64_t now_ms)
{
    struct trace *trace = model->trace;
    if (settle->kind != STORE_DONE) {
        check_history(model, record, flight, settle->message);
    }
    if (!flight->has_answer) {
        check_unsent(model, record, flight, settle, now_ms);
        return;
    }
    bool is_success = flight->answer.class_ == ANSWER_SUCCESS;
    must(trace, is_success == (settle->kind == STORE_DONE), "C2",
         "%" PRIu64 " was answered %u, and became kind %d", record->id,
         flight->answer.outcome.status, (int)settle->kind);
    if (is_success) {
        return;
    }
    uint32_t attempts = record->attempts + (settle->ret_is_stale ? 0 : 1);
    must(trace, settle->ret_is_stale || settle->message->attempts == attempts, "B5",
         "%" PRIu64 " has %" PRIu32 " attempts, not %" PRIu32, record->id,
         settle->message->attempts, attempts);
    must(trace, settle->message->lost == 0 || settle->ret_is_stale, "Q8",
         "%" PRIu64 " is still %" PRIu32 " times lost after an attempt", record->id,
         settle->message->lost);
    if (settle->ret_is_stale) {
        return; /* another has it now: what this one thinks of it is written nowhere */
    }
    struct wait_bounds bounds =
        bounds_of(model, model_letter(model, record), flight, settle->message->attempts);
    if (settle->kind == STORE_RETRY) {
        check_retry(model, record, flight, settle, &bounds);
    } else {
        check_death(model, record, flight, settle, &bounds);
    }
}
