/*
 * decision - one decision under way, between decide.c (which asks the questions in order) and
 * decide_wait.c (which answers those about the wait).
 *
 * Each ask_ function answers one question. Those that return bool say whether that ended the
 * matter: then the verdict is complete.
 */
#ifndef LULL_CORE_DECISION_H
#define LULL_CORE_DECISION_H

#include "hints.h"
#include "lull/decide.h"

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

static inline void note(struct decision *decision, enum lull_question question, const char *rule,
                        const char *answer, int64_t value)
{
    struct lull_trace *trace = decision->trace;
    if (trace && trace->count < LULL_QUESTIONS) {
        trace->steps[trace->count++] = (struct lull_step){question, rule, answer, value};
    }
}

static inline bool is_from_queue(const struct decision *decision)
{
    return decision->facts->kind == LULL_KIND_PUSH || decision->facts->kind == LULL_KIND_WEBHOOK;
}

/* A queued message goes to the dead letters; a caller gets its answer back. */
static inline bool end(struct decision *decision, enum lull_reason reason)
{
    bool is_dead = is_from_queue(decision) || decision->classification.is_dead_letter;
    decision->verdict->kind = is_dead ? LULL_VERDICT_DEAD : LULL_VERDICT_GIVE_UP;
    decision->verdict->reason = reason;
    return true;
}

static inline bool is_refused_by_policy(const struct decision *decision)
{
    return decision->verdict->class_ == LULL_CLASS_THROTTLED ||
           decision->verdict->class_ == LULL_CLASS_AUTH_SUSPECT;
}

/* Whom a refusal means (P3, P4); sets scope and side effects. */
void ask_scope(struct decision *decision);

/* How long we must wait at least (A3, A5, V2); sets the hold, too. */
void ask_minimum(struct decision *decision);

/* How long we do wait (B1, B2, B3, A3, A8). */
void ask_delay(struct decision *decision);

/* Does the message outlive the wait (T2, B5)? Is it too long for the policy (A4, B4)? */
bool ask_time_left(struct decision *decision);
bool ask_too_long(struct decision *decision);

#endif
