/* mock_plan_text - reads a plan; see mock_plan.h. SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lull/error.h"
#include "mock_plan.h"

#define STATUS_MIN 200
#define STATUS_MAX 599
#define STATUS_CREATED 201
#define STATUS_THROTTLED 429

/* ---- words and numbers ---- */

struct reader {
    const char *text;
    size_t length;
    size_t at;
    struct mock_plan_error *error;
};

static int refuse(const struct reader *reader, size_t offset, int code, const char *sentence)
{
    reader->error->offset = offset;
    (void)snprintf(reader->error->text, sizeof reader->error->text, "%s", sentence);
    return code;
}

static char peek(const struct reader *reader)
{
    return reader->at < reader->length ? reader->text[reader->at] : '\0';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return c >= 'a' && c <= 'z';
}

static void skip_spaces(struct reader *reader)
{
    while (peek(reader) == ' ' || peek(reader) == '\t') {
        reader->at++;
    }
}

static bool take_char(struct reader *reader, char wanted)
{
    bool is_there = reader->at < reader->length && peek(reader) == wanted;
    reader->at += is_there;
    return is_there;
}

/* A whole word, so that "oky" is not "ok". */
static bool take_word(struct reader *reader, const char *word)
{
    size_t length = strlen(word);
    size_t end = reader->at + length;
    if (length > reader->length - reader->at ||
        memcmp(reader->text + reader->at, word, length) != 0 ||
        (end < reader->length && (is_letter(reader->text[end]) || is_digit(reader->text[end])))) {
        return false;
    }
    reader->at = end;
    return true;
}

static int take_number(struct reader *reader, uint32_t min, uint32_t max, const char *what,
                       uint32_t *ret_number)
{
    size_t start = reader->at;
    uint64_t number = 0;
    for (; is_digit(peek(reader)); reader->at++) {
        number = number * 10 + (uint64_t)(peek(reader) - '0');
        number = number > UINT32_MAX ? UINT32_MAX : number;
    }
    if (start == reader->at || number < min || number > max) {
        (void)snprintf(reader->error->text, sizeof reader->error->text,
                       "%s must be a whole number from %" PRIu32 " to %" PRIu32, what, min, max);
        reader->error->offset = start;
        return start == reader->at ? LULL_ERR_SYNTAX : LULL_ERR_RANGE;
    }
    *ret_number = (uint32_t)number;
    return LULL_OK;
}

/* After the "=". */
static int take_raw(struct reader *reader, char raw[MOCK_RAW_SIZE])
{
    size_t start = reader->at;
    if (!take_char(reader, '"')) {
        return refuse(reader, start, LULL_ERR_SYNTAX, "a value after = stands in double quotes");
    }
    size_t length = 0;
    while (reader->at < reader->length && peek(reader) != '"') {
        char c = peek(reader);
        if (c < ' ' || c > '~') {
            return refuse(reader, reader->at, LULL_ERR_SYNTAX,
                          "a value in quotes is of printable ASCII");
        }
        if (length == MOCK_RAW_SIZE - 1) {
            return refuse(reader, start, LULL_ERR_RANGE,
                          "a value in quotes has at most 63 characters");
        }
        raw[length++] = c;
        reader->at++;
    }
    raw[length] = '\0';
    return take_char(reader, '"')
               ? LULL_OK
               : refuse(reader, start, LULL_ERR_SYNTAX, "the value in quotes has no closing quote");
}

static const struct {
    const char *word;
    enum mock_form form;
    bool is_timed; /* "+2" belongs to it */
    bool is_bucket_only;
} forms[] = {
    {"date", MOCK_FORM_DATE, true, false},       {"rfc850", MOCK_FORM_RFC850, true, false},
    {"asctime", MOCK_FORM_ASCTIME, true, false}, {"epoch", MOCK_FORM_EPOCH, true, false},
    {"wns", MOCK_FORM_WNS, true, false},         {"past", MOCK_FORM_PAST, false, false},
    {"seconds", MOCK_FORM_SECONDS, true, true},  {"none", MOCK_FORM_NONE, false, true},
};
static const size_t form_count = sizeof forms / sizeof forms[0];

/* After the ":" of a status. */
static int take_wait(struct reader *reader, struct mock_answer *answer)
{
    size_t start = reader->at;
    if (is_digit(peek(reader))) {
        answer->form = MOCK_FORM_SECONDS;
        return take_number(reader, 0, MOCK_WAIT_MAX_S, "the wait in seconds", &answer->wait_s);
    }
    for (size_t i = 0; i < form_count; i++) {
        if (forms[i].is_bucket_only || !take_word(reader, forms[i].word)) {
            continue;
        }
        answer->form = forms[i].form;
        if (!forms[i].is_timed) {
            return LULL_OK;
        }
        if (!take_char(reader, '+')) {
            return refuse(reader, reader->at, LULL_ERR_SYNTAX,
                          "this form of a wait needs its seconds, like date+2");
        }
        return take_number(reader, 0, MOCK_WAIT_MAX_S, "the wait in seconds", &answer->wait_s);
    }
    return refuse(reader, start, LULL_ERR_SYNTAX,
                  "a wait is seconds, date+N, rfc850+N, asctime+N, epoch+N, wns+N or past");
}

static int take_status(struct reader *reader, struct mock_answer *answer)
{
    int result = take_number(reader, STATUS_MIN, STATUS_MAX, "a status", &answer->status);
    if (result != LULL_OK) {
        return result;
    }
    answer->action = answer->status == STATUS_CREATED ? MOCK_HONEST : MOCK_STATUS;
    if (take_char(reader, ':')) {
        return take_wait(reader, answer);
    }
    if (take_char(reader, '=')) {
        answer->form = MOCK_FORM_RAW;
        return take_raw(reader, answer->raw);
    }
    return LULL_OK;
}

static const enum mock_action plain_actions[] = {MOCK_HONEST, MOCK_RESET, MOCK_CLOSE, MOCK_HALF,
                                                 MOCK_HANG};

/* False if there is none here; *ret_result tells whether what is here is good. */
static bool take_plain(struct reader *reader, struct mock_answer *answer, int *ret_result)
{
    *ret_result = LULL_OK;
    if (is_digit(peek(reader))) {
        *ret_result = take_status(reader, answer);
        return true;
    }
    for (size_t i = 0; i < sizeof plain_actions / sizeof plain_actions[0]; i++) {
        if (take_word(reader, mock_action_to_string(plain_actions[i]))) {
            answer->action = plain_actions[i];
            return true;
        }
    }
    return false;
}

static int take_answer(struct reader *reader, struct mock_answer *answer)
{
    int result = LULL_OK;
    size_t start = reader->at;
    bool is_slow = take_word(reader, "slow");
    if (is_slow) {
        if (!take_char(reader, ':')) {
            return refuse(reader, reader->at, LULL_ERR_SYNTAX,
                          "slow needs its milliseconds, like slow:300");
        }
        result = take_number(reader, 0, MOCK_DELAY_MAX_MS, "the delay in ms", &answer->delay_ms);
        if (result != LULL_OK) {
            return result;
        }
        skip_spaces(reader);
    }
    if (!take_plain(reader, answer, &result) && !is_slow) {
        return refuse(reader, start, LULL_ERR_SYNTAX,
                      "expected a status, ok, reset, close, half, hang, slow:MS, N% or bucket:");
    }
    return result;
}

/* ---- items ---- */

/* After "bucket:". */
static int take_rate(struct reader *reader, uint64_t *ret_milli)
{
    size_t start = reader->at;
    uint32_t whole = 0;
    uint64_t milli = 0;
    int result = take_number(reader, 0, MOCK_COUNT_MAX, "the rate of a bucket", &whole);
    if (result != LULL_OK) {
        return result;
    }
    if (take_char(reader, '.')) {
        size_t decimals = reader->at;
        for (uint64_t unit = 100; unit > 0 && is_digit(peek(reader)); unit /= 10) {
            milli += unit * (uint64_t)(reader->text[reader->at++] - '0');
        }
        if (reader->at == decimals || is_digit(peek(reader))) {
            return refuse(reader, decimals, LULL_ERR_SYNTAX,
                          "the rate of a bucket has one to three decimals");
        }
    }
    milli += (uint64_t)whole * 1000;
    if (milli == 0) {
        return refuse(reader, start, LULL_ERR_RANGE, "the rate of a bucket must be more than 0");
    }
    *ret_milli = milli;
    return take_char(reader, '/') && take_word(reader, "s")
               ? LULL_OK
               : refuse(reader, reader->at, LULL_ERR_SYNTAX,
                        "a bucket is bucket:RATE/s,BURST, like bucket:5/s,10");
}

static int take_bucket(struct reader *reader, struct mock_rule *rule)
{
    rule->kind = MOCK_RULE_BUCKET;
    rule->answer = (struct mock_answer){
        .action = MOCK_STATUS, .status = STATUS_THROTTLED, .form = MOCK_FORM_SECONDS};
    int result = take_rate(reader, &rule->config.rate_milli_per_s);
    if (result != LULL_OK) {
        return result;
    }
    if (!take_char(reader, ',')) {
        return refuse(reader, reader->at, LULL_ERR_SYNTAX,
                      "a bucket is bucket:RATE/s,BURST, like bucket:5/s,10");
    }
    result =
        take_number(reader, 1, MOCK_COUNT_MAX, "the burst of a bucket", &rule->config.capacity);
    if (result != LULL_OK) {
        return result;
    }
    if (take_char(reader, '=')) {
        rule->answer.form = MOCK_FORM_RAW;
        return take_raw(reader, rule->answer.raw);
    }
    if (!take_char(reader, ',')) {
        return LULL_OK;
    }
    for (size_t i = 0; i < form_count; i++) {
        if (take_word(reader, forms[i].word)) {
            rule->answer.form = forms[i].form;
            return LULL_OK;
        }
    }
    return refuse(reader, reader->at, LULL_ERR_SYNTAX,
                  "a bucket answers in seconds, date, rfc850, asctime, epoch, wns, past or none");
}

/* "10% 503": is the number in front of a percent sign? */
static bool is_share(const struct reader *reader)
{
    size_t at = reader->at;
    while (at < reader->length && is_digit(reader->text[at])) {
        at++;
    }
    return at > reader->at && at < reader->length && reader->text[at] == '%';
}

static int take_share(struct reader *reader, struct mock_rule *rule)
{
    rule->kind = MOCK_RULE_SHARE;
    int result = take_number(reader, 0, 100, "the percent", &rule->number);
    if (result != LULL_OK) {
        return result;
    }
    reader->at++; /* the percent sign */
    skip_spaces(reader);
    return take_answer(reader, &rule->answer);
}

static int add_rule(const struct reader *reader, size_t start, struct mock_plan *plan,
                    const struct mock_rule *rule)
{
    if (plan->rule_count == MOCK_RULES_MAX) {
        return refuse(reader, start, LULL_ERR_FULL, "a plan has at most 16 rules");
    }
    plan->rules[plan->rule_count++] = *rule;
    return LULL_OK;
}

static int add_step(const struct reader *reader, size_t start, struct mock_plan *plan,
                    const struct mock_step *step)
{
    if (plan->step_count == MOCK_STEPS_MAX) {
        return refuse(reader, start, LULL_ERR_FULL, "a plan has at most 64 steps");
    }
    plan->steps[plan->step_count++] = *step;
    return LULL_OK;
}

/* A step; or a rule with "after". */
static int take_step(struct reader *reader, struct mock_plan *plan)
{
    size_t start = reader->at;
    struct mock_step step = {.times = 1};
    int result = take_answer(reader, &step.answer);
    if (result != LULL_OK) {
        return result;
    }
    skip_spaces(reader);
    if (take_word(reader, "after")) {
        struct mock_rule rule = {.kind = MOCK_RULE_AFTER, .answer = step.answer};
        skip_spaces(reader);
        result = take_number(reader, 0, MOCK_COUNT_MAX, "the number after 'after'", &rule.number);
        return result == LULL_OK ? add_rule(reader, start, plan, &rule) : result;
    }
    if (take_char(reader, '*')) {
        step.times = MOCK_FOREVER;
        if (is_digit(peek(reader))) {
            result = take_number(reader, 1, MOCK_COUNT_MAX, "the number after '*'", &step.times);
        }
    }
    return result == LULL_OK ? add_step(reader, start, plan, &step) : result;
}

static int take_item(struct reader *reader, struct mock_plan *plan)
{
    struct mock_rule rule = {0};
    size_t start = reader->at;
    int result = LULL_OK;
    if (take_word(reader, "bucket")) {
        result = take_char(reader, ':') ? take_bucket(reader, &rule)
                                        : refuse(reader, reader->at, LULL_ERR_SYNTAX,
                                                 "a bucket is bucket:RATE/s,BURST, like "
                                                 "bucket:5/s,10");
    } else if (is_share(reader)) {
        result = take_share(reader, &rule);
    } else {
        return take_step(reader, plan);
    }
    return result == LULL_OK ? add_rule(reader, start, plan, &rule) : result;
}

int mock_plan_parse(struct mock_plan *ret_plan, const char *text, size_t length,
                    struct mock_plan_error *error)
{
    struct mock_plan plan = {0};
    struct reader reader = {.text = text, .length = length, .error = error};
    skip_spaces(&reader);
    while (reader.at < length) {
        int result = take_item(&reader, &plan);
        if (result != LULL_OK) {
            return result;
        }
        skip_spaces(&reader);
        if (reader.at == length) {
            break;
        }
        if (!take_char(&reader, ';')) {
            return refuse(&reader, reader.at, LULL_ERR_SYNTAX,
                          "expected ; and the next item, or the end");
        }
        skip_spaces(&reader);
        if (reader.at == length) {
            return refuse(&reader, reader.at, LULL_ERR_SYNTAX, "after ; there is another item");
        }
    }
    *ret_plan = plan;
    return LULL_OK;
}
