/*
 * mock_plan - how `lull mock` misbehaves: reads a plan, and says what to do with the next push.
 *
 * Pure: no clock, no allocation, no I/O, no chance of its own. Time comes in as an argument, and
 * chance from the walk's seed. mock_plan_text.c reads, mock_plan.c walks.
 *
 *   mock_plan_parse -> mock_plan_start      once for each plan
 *   mock_walk_init -> mock_walk_next ...    for each subscription
 *   mock_wait_write                         the header of an answer that names a wait
 *
 *   plan    = [ item *( ";" item ) ]                         spaces around an item are fine
 *   item    = step / rule
 *   step    = answer [ "*" [ count ] ]                       "*" alone: for ever
 *   rule    = percent "%" answer                             so many of a hundred pushes
 *           / answer "after" count                           each push after that many
 *           / "bucket:" rate "/s," burst [ "," form / raw ]  429 when it is empty
 *   answer  = [ "slow:" ms ] [ plain ]                       one of them, or both
 *   plain   = status [ ":" wait / raw ] / "ok" / "reset" / "close" / "half" / "hang"
 *   wait    = seconds / form "+" seconds / "past"
 *   form    = "date" / "rfc850" / "asctime" / "epoch" / "wns"; a bucket's also "seconds", "past",
 *             "none"
 *   raw     = "=" DQUOTE text DQUOTE                         the header's value, as it is
 *
 * The rules are asked first, in their order; the one that applies decides, and no step is used.
 * Then the steps, one after the other; when they are used up, every answer is honest.
 */
#ifndef LULL_CLI_MOCK_PLAN_H
#define LULL_CLI_MOCK_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/bucket.h"
#include "lull/random.h"

#define MOCK_STEPS_MAX 64
#define MOCK_RULES_MAX 16
#define MOCK_RAW_SIZE 64
#define MOCK_DELAY_MAX_MS 120000
#define MOCK_WAIT_MAX_S 315360000 /* ten years */
#define MOCK_COUNT_MAX 1000000
#define MOCK_FOREVER UINT32_MAX

enum mock_action {
    MOCK_HONEST, /* what the checks say */
    MOCK_STATUS,
    MOCK_RESET, /* a TCP reset instead of an answer */
    MOCK_CLOSE, /* the connection is closed without an answer */
    MOCK_HALF,  /* half of a response's first line, then the end */
    MOCK_HANG,  /* no answer, the connection is held */
};

enum mock_form {
    MOCK_FORM_NONE,
    MOCK_FORM_SECONDS,
    MOCK_FORM_DATE,    /* IMF-fixdate */
    MOCK_FORM_RFC850,  /* two-digit year */
    MOCK_FORM_ASCTIME, /* no zone */
    MOCK_FORM_EPOCH,   /* seconds since 1970 */
    MOCK_FORM_WNS,     /* X-WNS-CONTINUE-AFTER */
    MOCK_FORM_PAST,    /* a date of an hour ago */
    MOCK_FORM_RAW,
};

struct mock_answer {
    enum mock_action action;
    uint32_t status; /* with MOCK_STATUS */
    uint32_t delay_ms;
    enum mock_form form; /* of Retry-After */
    uint32_t wait_s;
    char raw[MOCK_RAW_SIZE];
};

struct mock_step {
    struct mock_answer answer;
    uint32_t times; /* or MOCK_FOREVER */
};

enum mock_rule_kind {
    MOCK_RULE_SHARE,
    MOCK_RULE_AFTER,
    MOCK_RULE_BUCKET,
};

struct mock_rule {
    enum mock_rule_kind kind;
    uint32_t number; /* the percent, or after how many */
    struct lull_bucket_config config;
    struct lull_bucket bucket;
    struct mock_answer answer; /* a bucket's has the form; the wait is the bucket's */
};

/* Subscriptions that walk the same plan share its buckets. */
struct mock_plan {
    size_t step_count;
    size_t rule_count;
    struct mock_step steps[MOCK_STEPS_MAX];
    struct mock_rule rules[MOCK_RULES_MAX];
};

struct mock_plan_error {
    size_t offset; /* in the text, from 0 */
    char text[160];
};

/* LULL_ERR_SYNTAX, LULL_ERR_RANGE (a number that is out of bounds) or LULL_ERR_FULL (too many
 * items), with *error filled and *ret_plan left alone. */
int mock_plan_parse(struct mock_plan *ret_plan, const char *text, size_t length,
                    struct mock_plan_error *error);

/* The buckets are full now. */
void mock_plan_start(struct mock_plan *plan, int64_t mono_ms);

/* Where one subscription is in its plan. */
struct mock_walk {
    uint64_t pushes; /* how many there were, the present one included */
    size_t step;
    uint32_t used; /* how often that step was */
    struct lull_random random;
};

void mock_walk_init(struct mock_walk *walk, uint64_t seed);

/* Counts one push, and says what is to be done with it. */
struct mock_answer mock_walk_next(struct mock_walk *walk, struct mock_plan *plan, int64_t mono_ms);

struct mock_header {
    const char *name; /* NULL: there is none */
    char value[MOCK_RAW_SIZE];
    int64_t not_before_ms; /* wall clock; LULL_NEVER: it asks for no wait that can be known */
};

/* The header that asks for the answer's wait, if it is sent at now_ms (wall clock). */
void mock_wait_write(const struct mock_answer *answer, int64_t now_ms,
                     struct mock_header *ret_header);

/* "ok", "status", "reset", ...: as in a plan and in the log. */
const char *mock_action_to_string(enum mock_action action);

#endif
