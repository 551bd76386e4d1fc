/*
 * policy - every knob of a decision, with its default, by name (B4, C11).
 *
 *   lull_policy_named(&policy, "delivery")            one of the five, as they are
 *   lull_policy_parse(&policy, "bulk retries=9 cap=10m status.409=retry", ...)
 *   change fields -> lull_policy_validate
 *
 * A policy is plain data without pointers: copy it, keep it, compare it.
 */
#ifndef LULL_POLICY_H
#define LULL_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/api.h"
#include "lull/backoff.h"
#include "lull/classify.h"

LULL_BEGIN_DECLS

#define LULL_POLICY_NAME_MAX 32
#define LULL_POLICY_STATUSES_MAX 16
#define LULL_POLICY_PROBLEMS_MAX 4
#define LULL_POLICY_PROBLEM_TYPE_MAX 128
#define LULL_POLICY_RESET_HEADERS_MAX 4
#define LULL_POLICY_RESET_HEADER_MAX 48
#define LULL_POLICY_RETRIES_MAX 1000

#define LULL_TTL_DEFAULT INT64_C(-1) /* for facts: use the policy's */

enum lull_retry_after_mode {
    LULL_RETRY_AFTER_FLOOR, /* a minimum: our backoff if longer, and a spread on top (A3) */
    LULL_RETRY_AFTER_EXACT, /* itself, nothing added */
};

enum lull_problem_action {
    LULL_PROBLEM_RETRY,
    LULL_PROBLEM_GIVE_UP,
    LULL_PROBLEM_DEAD_LETTER,
};

struct lull_policy_status {
    uint16_t status;
    uint8_t class_; /* enum lull_class */
};

struct lull_policy_problem {
    char type[LULL_POLICY_PROBLEM_TYPE_MAX]; /* the whole URI, compared byte by byte */
    enum lull_problem_action action;
};

/* Defaults are those of `delivery`; the other four are in the table of policy.c. */
struct lull_policy {
    char name[LULL_POLICY_NAME_MAX];
    enum lull_kind kind;         /* what it is for              default push */
    struct lull_backoff backoff; /* full jitter, base 2 s, cap 120 s, floor 0, multiplier 2 */
    uint32_t retries;            /* after the first attempt     default 5; 0 to 1,000 */
    int64_t deadline_ms;         /* for the whole operation     default LULL_NEVER */
    int64_t ttl_ms;              /* where the message says none default 28 days */
    uint32_t wait_ttl_permille;  /* no wait over this share of the TTL; 0: no such limit
                                                                default 0 */
    enum lull_retry_after_mode retry_after_mode; /*             default floor */
    uint32_t spread_permille;       /* of Retry-After, on top      default 100; 0 to 1,000 */
    int64_t spread_max_ms;          /*                             default 30,000 */
    int64_t retry_after_max_ms;     /* longer ends it              default LULL_NEVER */
    int64_t throttle_min_ms;        /* 429 without Retry-After     default 15,000 */
    int64_t throttle_sender_min_ms; /* ... the sender throttled default 60,000 */
    uint32_t inner_retries;         /* when the incoming request was itself a retry (G7)
                                                                   default 0 */
    uint32_t status_count;          /* the user's own status table (C11) */
    struct lull_policy_status statuses[LULL_POLICY_STATUSES_MAX];
    uint32_t problem_count; /* problem+json types (C10) */
    struct lull_policy_problem problems[LULL_POLICY_PROBLEMS_MAX];
    uint32_t reset_header_count; /* more headers that say when to come back (A7) */
    char reset_headers[LULL_POLICY_RESET_HEADERS_MAX][LULL_POLICY_RESET_HEADER_MAX];
};

/* What was wrong, where, and what is accepted. */
struct lull_policy_error {
    size_t offset;  /* of the offending word in the text; 0 from _validate */
    char field[48]; /* its name, cut to fit */
    char text[160]; /* a sentence */
};

/* delivery, urgent, bulk, client or webhook. LULL_ERR_UNKNOWN for any other name. */
LULL_API int lull_policy_named(struct lull_policy *ret_policy, const char *name);

/* The names, NULL at the end. */
LULL_API const char *const *lull_policy_names(void);

/* Checks every field. LULL_ERR_RANGE names the first bad one in *ret_error (which may be NULL). */
LULL_API int lull_policy_validate(const struct lull_policy *policy,
                                  struct lull_policy_error *ret_error);

/* A name, then words `key=value`, separated by spaces or commas. Durations take ms, s, m, h or d.
 * The keys are listed in lull-policy(7). On error nothing is written but *ret_error (which may be
 * NULL): LULL_ERR_SYNTAX, LULL_ERR_UNKNOWN, LULL_ERR_RANGE or LULL_ERR_FULL. */
LULL_API int lull_policy_parse(struct lull_policy *ret_policy, const char *text, size_t length,
                               struct lull_policy_error *ret_error);

LULL_API const char *lull_retry_after_mode_to_string(enum lull_retry_after_mode mode);

LULL_END_DECLS

#endif
