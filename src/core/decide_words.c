/* decide_words - the words of a verdict, one for each thing everywhere. SPDX-License-Identifier:
 * MIT */
#include <string.h>

#include "lull/decide.h"
#include "lull/duration.h"

void lull_facts_init(struct lull_facts *facts, const struct lull_policy *policy, int64_t now_ms)
{
    bool is_request = policy->kind == LULL_KIND_REQUEST;
    *facts = (struct lull_facts){
        .kind = policy->kind,
        .vendor = LULL_VENDOR_OTHER,
        .method = is_request ? LULL_METHOD_GET : LULL_METHOD_POST,
        .is_repeatable = !is_request,
        .attempt = 1,
        .first_accepted_ms = now_ms,
        .ttl_ms = LULL_TTL_DEFAULT,
    };
}

const char *lull_verdict_kind_to_string(enum lull_verdict_kind kind)
{
    static const char *const words[LULL_VERDICTS] = {"send",  "wait", "delivered",
                                                     "retry", "dead", "give_up"};
    return words[kind];
}

const char *lull_reason_to_string(enum lull_reason reason)
{
    static const char *const words[LULL_REASONS] = {
        [LULL_REASON_NONE] = "none",
        [LULL_REASON_DELIVERED] = "delivered",
        [LULL_REASON_THROTTLED] = "throttled",
        [LULL_REASON_UNAVAILABLE] = "unavailable",
        [LULL_REASON_SERVER_ERROR] = "server_error",
        [LULL_REASON_TRANSPORT] = "transport",
        [LULL_REASON_AUTH_SUSPECT] = "auth_suspect",
        [LULL_REASON_KEY_PAUSED] = "key_paused",
        [LULL_REASON_MAX_ATTEMPTS_EXCEEDED] = "max_attempts_exceeded",
        [LULL_REASON_TTL_EXPIRED] = "ttl_expired",
        [LULL_REASON_TTL_EXPIRED_DURING_BACKOFF] = "ttl_expired_during_backoff",
        [LULL_REASON_GONE] = "gone",
        [LULL_REASON_REJECTED] = "rejected",
        [LULL_REASON_PAYLOAD_TOO_LARGE] = "payload_too_large",
        [LULL_REASON_AUTH] = "auth",
        [LULL_REASON_RETRY_AFTER_TOO_LONG] = "retry_after_too_long",
        [LULL_REASON_NOT_IDEMPOTENT] = "not_idempotent",
        [LULL_REASON_CANCELLED] = "cancelled",
        [LULL_REASON_POISON] = "poison",
        [LULL_REASON_INVALID_TARGET] = "invalid_target",
        [LULL_REASON_DEADLINE_EXCEEDED] = "deadline_exceeded",
        [LULL_REASON_BUDGET_EXHAUSTED] = "budget_exhausted",
        [LULL_REASON_CIRCUIT_OPEN] = "circuit_open",
        [LULL_REASON_OUTER_RETRIES] = "outer_retries",
        [LULL_REASON_OPERATION_FAILED] = "operation_failed",
        [LULL_REASON_BODY_SPENT] = "body_spent",
    };
    return words[reason];
}

const char *lull_scope_to_string(enum lull_scope scope)
{
    static const char *const words[LULL_SCOPES] = {"message", "subscription", "sender"};
    return words[scope];
}

const char *lull_side_effect_to_string(enum lull_side_effect side_effect)
{
    switch (side_effect) {
    case LULL_DO_PURGE:
        return "purge";
    case LULL_DO_DISABLE_TARGET:
        return "disable_target";
    case LULL_DO_HOLD:
        return "hold";
    case LULL_DO_PAUSE:
        return "pause";
    case LULL_DO_FRESH_JWT:
        return "fresh_jwt";
    case LULL_DO_REMEMBER_SIZE:
        return "remember_size";
    case LULL_DO_ALERT:
        return "alert";
    case LULL_DO_WARN_AUTH_SUSPECT:
        return "warn_auth_suspect";
    case LULL_DO_WARN_RETRY_AFTER_MISSING:
        return "warn_retry_after_missing";
    case LULL_DO_WARN_RETRY_AFTER_MALFORMED:
        return "warn_retry_after_malformed";
    case LULL_SIDE_EFFECTS:
    default:
        return "none";
    }
}

const char *lull_question_to_string(enum lull_question question)
{
    static const char *const words[LULL_QUESTIONS] = {
        [LULL_ASK_TARGET] = "Can the target exist?",
        [LULL_ASK_OUTCOME] = "What happened?",
        [LULL_ASK_CLASS] = "What does it mean?",
        [LULL_ASK_EFFECT] = "Can the request have had an effect?",
        [LULL_ASK_REPEAT] = "May it be repeated?",
        [LULL_ASK_LAYER] = "Who retries?",
        [LULL_ASK_ATTEMPTS] = "Is an attempt left?",
        [LULL_ASK_RETRY_AFTER] = "What did the server ask for?",
        [LULL_ASK_SCOPE] = "How far does it reach?",
        [LULL_ASK_MINIMUM] = "How long at least?",
        [LULL_ASK_TOO_LONG] = "Is that too long?",
        [LULL_ASK_BACKOFF] = "What is our own backoff?",
        [LULL_ASK_DELAY] = "How long in all?",
        [LULL_ASK_TIME_LEFT] = "Is there time for it?",
        [LULL_ASK_CIRCUIT] = "Does the circuit let it pass?",
        [LULL_ASK_BUDGET] = "Is there budget for it?",
    };
    return words[question];
}

static const char *const method_words[LULL_METHODS] = {"GET",   "HEAD", "OPTIONS", "PUT",  "DELETE",
                                                       "TRACE", "POST", "PATCH",   "other"};

const char *lull_method_to_string(enum lull_method method)
{
    return method_words[method];
}

enum lull_method lull_method_from_string(const char *word)
{
    for (int i = 0; i < LULL_METHOD_OTHER; i++) {
        if (strcmp(word, method_words[i]) == 0) {
            return (enum lull_method)i;
        }
    }
    return LULL_METHOD_OTHER;
}
