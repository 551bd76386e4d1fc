/* mock_plan - see the header. SPDX-License-Identifier: MIT */
#include "mock_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "lull/duration.h"

#define PAST_S 3600

/* ---- walking ---- */

void mock_plan_start(struct mock_plan *plan, int64_t mono_ms)
{
    for (size_t i = 0; i < plan->rule_count; i++) {
        if (plan->rules[i].kind == MOCK_RULE_BUCKET) {
            /* The parser has let nothing through that a bucket refuses. */
            (void)lull_bucket_init(&plan->rules[i].bucket, &plan->rules[i].config, mono_ms);
        }
    }
}

void mock_walk_init(struct mock_walk *walk, uint64_t seed)
{
    *walk = (struct mock_walk){0};
    lull_random_init(&walk->random, seed);
}

/* Whole seconds after which a token is there for sure: a date is cut down to its second, so it
 * needs one more. */
static uint32_t bucket_wait_s(const struct mock_answer *answer, int64_t wait_ms)
{
    bool is_date = answer->form == MOCK_FORM_DATE || answer->form == MOCK_FORM_RFC850 ||
                   answer->form == MOCK_FORM_ASCTIME || answer->form == MOCK_FORM_EPOCH;
    return (uint32_t)((wait_ms + 999) / 1000) + is_date;
}

static bool applies(struct mock_rule *rule, struct mock_walk *walk, int64_t mono_ms,
                    struct mock_answer *ret_answer)
{
    int64_t wait_ms = 0;
    switch (rule->kind) {
    case MOCK_RULE_SHARE:
        if (lull_random_between(&walk->random, 1, 100) > rule->number) {
            return false;
        }
        break;
    case MOCK_RULE_AFTER:
        if (walk->pushes <= rule->number) {
            return false;
        }
        break;
    case MOCK_RULE_BUCKET:
        wait_ms = lull_bucket_take(&rule->bucket, mono_ms, 1);
        if (wait_ms == 0) {
            return false;
        }
        break;
    }
    *ret_answer = rule->answer;
    if (rule->kind == MOCK_RULE_BUCKET) {
        ret_answer->wait_s = bucket_wait_s(&rule->answer, wait_ms);
    }
    return true;
}

struct mock_answer mock_walk_next(struct mock_walk *walk, struct mock_plan *plan, int64_t mono_ms)
{
    struct mock_answer answer = {.action = MOCK_HONEST};
    walk->pushes++;
    for (size_t i = 0; i < plan->rule_count; i++) {
        if (applies(&plan->rules[i], walk, mono_ms, &answer)) {
            return answer;
        }
    }
    if (walk->step < plan->step_count) {
        const struct mock_step *step = &plan->steps[walk->step];
        answer = step->answer;
        if (step->times != MOCK_FOREVER && ++walk->used == step->times) {
            walk->step++;
            walk->used = 0;
        }
    }
    return answer;
}

/* ---- Retry-After ---- */

static const char *const short_days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
static const char *const long_days[] = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                        "Thursday", "Friday", "Saturday"};
static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

static void write_date(enum mock_form form, int64_t epoch_s, char value[MOCK_RAW_SIZE])
{
    time_t seconds = (time_t)epoch_s;
    struct tm t = {0};
    (void)gmtime_r(&seconds, &t);
    const char *month = months[t.tm_mon % 12];
    int year = t.tm_year + 1900;
    if (form == MOCK_FORM_RFC850) {
        (void)snprintf(value, MOCK_RAW_SIZE, "%s, %02d-%s-%02d %02d:%02d:%02d GMT",
                       long_days[t.tm_wday % 7], t.tm_mday, month, year % 100, t.tm_hour, t.tm_min,
                       t.tm_sec);
    } else if (form == MOCK_FORM_ASCTIME) {
        (void)snprintf(value, MOCK_RAW_SIZE, "%s %s %2d %02d:%02d:%02d %d",
                       short_days[t.tm_wday % 7], month, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec,
                       year);
    } else {
        (void)snprintf(value, MOCK_RAW_SIZE, "%s, %02d %s %04d %02d:%02d:%02d GMT",
                       short_days[t.tm_wday % 7], t.tm_mday, month, year, t.tm_hour, t.tm_min,
                       t.tm_sec);
    }
}

void mock_wait_write(const struct mock_answer *answer, int64_t now_ms,
                     struct mock_header *ret_header)
{
    struct mock_header header = {.name = "Retry-After", .not_before_ms = LULL_NEVER};
    int64_t date_s = now_ms / 1000 + answer->wait_s;
    switch (answer->form) {
    case MOCK_FORM_NONE:
        header.name = NULL;
        break;
    case MOCK_FORM_WNS:
        header.name = "X-WNS-CONTINUE-AFTER";
        /* fall through */
    case MOCK_FORM_SECONDS:
        (void)snprintf(header.value, sizeof header.value, "%" PRIu32, answer->wait_s);
        header.not_before_ms = now_ms + (int64_t)answer->wait_s * 1000;
        break;
    case MOCK_FORM_EPOCH:
        (void)snprintf(header.value, sizeof header.value, "%" PRId64, date_s);
        header.not_before_ms = date_s * 1000;
        break;
    case MOCK_FORM_DATE:
    case MOCK_FORM_RFC850:
    case MOCK_FORM_ASCTIME:
        write_date(answer->form, date_s, header.value);
        header.not_before_ms = date_s * 1000;
        break;
    case MOCK_FORM_PAST:
        write_date(MOCK_FORM_DATE, now_ms / 1000 - PAST_S, header.value);
        break;
    case MOCK_FORM_RAW:
        (void)snprintf(header.value, sizeof header.value, "%s", answer->raw);
        break;
    }
    *ret_header = header;
}

const char *mock_action_to_string(enum mock_action action)
{
    static const char *const words[] = {
        [MOCK_HONEST] = "ok",   [MOCK_STATUS] = "status", [MOCK_RESET] = "reset",
        [MOCK_CLOSE] = "close", [MOCK_HALF] = "half",     [MOCK_HANG] = "hang",
    };
    return words[action];
}
