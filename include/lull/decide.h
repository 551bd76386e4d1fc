/*
 * decide - the only place that turns an outcome into a verdict.
 *
 * Pure: the policy, what is known of the message, what happened, the time and the randomness come
 * in; the verdict goes out, with its reason. The client, the delivery engine, the simulator and
 * `lull explain` all call this one function.
 *
 * The questions, in order; the first that ends the message does:
 *   can the target exist, what happened, what did the server ask for, how far does it reach, how
 *   long at least, is it worth another try, may it be repeated, is somebody else retrying, are
 * attempts left, how long do we wait, does the message outlive the wait, is it too long, do circuit
 * and budget allow it.
 */
#ifndef LULL_DECIDE_H
#define LULL_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/api.h"
#include "lull/classify.h"
#include "lull/outcome.h"
#include "lull/policy.h"
#include "lull/random.h"
#include "lull/retry_after.h"
#include "lull/vendor.h"

LULL_BEGIN_DECLS

enum lull_verdict_kind {
    LULL_VERDICT_SEND, /* PENDING outcome: nothing speaks against sending it */
    LULL_VERDICT_WAIT, /* PENDING outcome of a queued message: the gate holds it, nothing is lost */
    LULL_VERDICT_DELIVERED,
    LULL_VERDICT_RETRY,   /* after delay_ms */
    LULL_VERDICT_DEAD,    /* to the dead letters */
    LULL_VERDICT_GIVE_UP, /* back to the caller */
    LULL_VERDICTS,        /* how many there are */
};

enum lull_reason {
    LULL_REASON_NONE,
    LULL_REASON_DELIVERED,
    /* why it will be tried again */
    LULL_REASON_THROTTLED,
    LULL_REASON_UNAVAILABLE,
    LULL_REASON_SERVER_ERROR,
    LULL_REASON_TRANSPORT,
    LULL_REASON_AUTH_SUSPECT,
    LULL_REASON_KEY_PAUSED,
    /* why it ends: dead letters know these (D1) */
    LULL_REASON_MAX_ATTEMPTS_EXCEEDED,
    LULL_REASON_TTL_EXPIRED,
    LULL_REASON_TTL_EXPIRED_DURING_BACKOFF,
    LULL_REASON_GONE,
    LULL_REASON_REJECTED,
    LULL_REASON_PAYLOAD_TOO_LARGE,
    LULL_REASON_AUTH,
    LULL_REASON_RETRY_AFTER_TOO_LONG,
    LULL_REASON_NOT_IDEMPOTENT,
    LULL_REASON_CANCELLED,
    LULL_REASON_POISON, /* given by the queue, never by decide */
    LULL_REASON_INVALID_TARGET,
    /* and callers also these */
    LULL_REASON_DEADLINE_EXCEEDED,
    LULL_REASON_BUDGET_EXHAUSTED,
    LULL_REASON_CIRCUIT_OPEN,
    LULL_REASON_OUTER_RETRIES,
    LULL_REASON_OPERATION_FAILED,
    LULL_REASON_BODY_SPENT, /* it was sent from a source that cannot be read again */
    LULL_REASONS,           /* how many there are */
};

/* How far the trouble reaches. */
enum lull_scope {
    LULL_SCOPE_MESSAGE,
    LULL_SCOPE_SUBSCRIPTION, /* every message to this subscription or target */
    LULL_SCOPE_SENDER,       /* every message of ours to this service */
    LULL_SCOPES,             /* how many there are */
};

/* What else is to be done: bits. */
enum lull_side_effect {
    LULL_DO_PURGE = 1 << 0,          /* the subscription is gone: take it out of routing (C5) */
    LULL_DO_DISABLE_TARGET = 1 << 1, /* the webhook target said 410 */
    LULL_DO_HOLD = 1 << 2,           /* this subscription waits for hold_ms (P3) */
    LULL_DO_PAUSE = 1 << 3,          /* the whole service does (P3, P4) */
    LULL_DO_FRESH_JWT = 1 << 4,      /* sign anew before the retry, and check the old one (C8) */
    LULL_DO_REMEMBER_SIZE = 1 << 5,  /* this subscription refused this size (W6) */
    LULL_DO_ALERT = 1 << 6,          /* an operator has to know (C6) */
    LULL_DO_WARN_AUTH_SUSPECT = 1 << 7,
    LULL_DO_WARN_RETRY_AFTER_MISSING = 1
                                       << 8, /* on a 429 (A5); one that is malformed has its own: */
    LULL_DO_WARN_RETRY_AFTER_MALFORMED = 1 << 9, /* (A1) */
    LULL_SIDE_EFFECTS = 10,                      /* how many bits there are */
};

enum lull_method {
    LULL_METHOD_GET,
    LULL_METHOD_HEAD,
    LULL_METHOD_OPTIONS,
    LULL_METHOD_PUT,
    LULL_METHOD_DELETE,
    LULL_METHOD_TRACE,
    LULL_METHOD_POST,
    LULL_METHOD_PATCH,
    LULL_METHOD_OTHER, /* any other: as careful as with POST */
    LULL_METHODS,      /* how many there are */
};

/* What is known of the message or request. lull_facts_init fills in what is usual. */
struct lull_facts {
    enum lull_kind kind;       /* default: the policy's */
    enum lull_vendor vendor;   /* default OTHER */
    enum lull_method method;   /* default POST for messages, GET for requests */
    bool has_idempotency_key;  /* default false */
    bool is_repeatable;        /* the caller says it is safe to repeat: default true for queued
                                  messages, which are delivered at least once, and operations */
    uint32_t attempt;          /* the outcome ended this attempt, from 1    default 1 */
    int64_t first_accepted_ms; /* wall clock                                default now */
    int64_t ttl_ms;            /* from then on; LULL_NEVER: none    default LULL_TTL_DEFAULT */
    int64_t previous_delay_ms; /* the wait before this attempt              default 0 */
    uint32_t auth_retries;     /* retries spent on a fresh JWT (C8)         default 0 */
    uint32_t incoming_attempt; /* attempt count of the request we serve; 0 or 1: not a retry */
    bool is_sender_throttled;  /* P3 has found that the whole sender is     default false */
    bool is_key_paused;        /* K6 has paused our key on this service     default false */
    bool is_circuit_open;      /* K5                                        default false */
    bool is_budget_exhausted;  /* G4                                        default false */
    bool is_body_spent;        /* the body cannot be sent again             default false */
};

struct lull_verdict {
    enum lull_verdict_kind kind;
    enum lull_reason reason;
    enum lull_class class_;
    enum lull_effect effect; /* can the attempt have had one? */
    enum lull_scope scope;
    unsigned side_effects; /* bits of enum lull_side_effect */
    bool burns_attempt;    /* false: the attempt is not to be counted (K6) */
    int64_t hold_ms;       /* with HOLD or PAUSE: what the server asked for, or our minimum */
    int64_t delay_ms;      /* RETRY, and ends for want of time: the wait that was drawn; else 0 */
    int64_t delay_min_ms;  /* what it was drawn between */
    int64_t delay_max_ms;
    int64_t remaining_ms; /* of TTL and deadline, the nearer; LULL_NEVER if neither */
    struct lull_retry_after retry_after; /* what the server asked for, by whichever header */
};

/* A record of the questions and answers, for people. */
enum lull_question {
    LULL_ASK_TARGET,
    LULL_ASK_OUTCOME,
    LULL_ASK_CLASS,
    LULL_ASK_EFFECT,
    LULL_ASK_RETRY_AFTER,
    LULL_ASK_SCOPE,
    LULL_ASK_MINIMUM,
    LULL_ASK_REPEAT,
    LULL_ASK_LAYER,
    LULL_ASK_ATTEMPTS,
    LULL_ASK_BACKOFF,
    LULL_ASK_DELAY,
    LULL_ASK_TIME_LEFT,
    LULL_ASK_TOO_LONG,
    LULL_ASK_CIRCUIT,
    LULL_ASK_BUDGET,
    LULL_QUESTIONS, /* how many there are */
};

struct lull_step {
    enum lull_question question;
    const char *rule;   /* the requirement that answers, e.g. "A3" */
    const char *answer; /* a few words */
    int64_t value;      /* a duration in ms or a count, by the question; -1: none */
};

struct lull_trace {
    size_t count;
    struct lull_step steps[LULL_QUESTIONS];
};

LULL_API void lull_facts_init(struct lull_facts *facts, const struct lull_policy *policy,
                              int64_t now_ms);

/* trace may be NULL. The policy must be valid (lull_policy_validate). Returns 0, or
 * LULL_ERR_RANGE for facts or an outcome that cannot be: attempt 0, status under 100 or over 999,
 * a negative TTL that is not LULL_TTL_DEFAULT, an enum out of its range. */
LULL_API int lull_decide(const struct lull_policy *policy, const struct lull_facts *facts,
                         const struct lull_outcome *outcome, int64_t now_ms,
                         struct lull_random *random, struct lull_verdict *ret_verdict,
                         struct lull_trace *trace);

LULL_API const char *lull_verdict_kind_to_string(enum lull_verdict_kind kind);
LULL_API const char *lull_reason_to_string(enum lull_reason reason);
LULL_API const char *lull_scope_to_string(enum lull_scope scope);
LULL_API const char *lull_side_effect_to_string(enum lull_side_effect side_effect);
LULL_API const char *lull_question_to_string(enum lull_question question);
LULL_API const char *lull_method_to_string(enum lull_method method);

/* Methods are case-sensitive: an unknown word is OTHER. */
LULL_API enum lull_method lull_method_from_string(const char *word);

/* May it be repeated without a key (C9)? */
LULL_API bool lull_method_is_idempotent(enum lull_method method);

LULL_END_DECLS

#endif
