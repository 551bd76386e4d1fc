/* policy_text - a policy written as words. SPDX-License-Identifier: MIT */
#include <string.h>

#include "lull/duration.h"
#include "lull/error.h"
#include "number_text.h"
#include "policy_fields.h"
#include "policy_text.h"
#include "saturate.h"
#include "text.h"

/* What stands at offset in the text that is parsed. */
struct word {
    struct text text;
    size_t offset;
};

static void append(char *buffer, size_t size, const char *text, size_t length)
{
    size_t used = strlen(buffer);
    size_t room = size - 1 - used;
    size_t taken = length < room ? length : room;
    memcpy(buffer + used, text, taken);
    buffer[used + taken] = '\0';
}

static void append_number(char *buffer, size_t size, int64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    append(buffer, size, digits + at, sizeof digits - at);
}

static int refuse_text(struct lull_policy_error *ret_error, int error, size_t offset,
                       struct text field, const char *what)
{
    if (ret_error) {
        *ret_error = (struct lull_policy_error){.offset = offset};
        append(ret_error->field, sizeof ret_error->field, field.data, field.length);
        append(ret_error->text, sizeof ret_error->text, ret_error->field, strlen(ret_error->field));
        append(ret_error->text, sizeof ret_error->text, " ", 1);
        append(ret_error->text, sizeof ret_error->text, what, strlen(what));
    }
    return error;
}

int policy_refuse(struct lull_policy_error *ret_error, int error, size_t offset, const char *field,
                  const char *what)
{
    return refuse_text(ret_error, error, offset, (struct text){field, strlen(field)}, what);
}

static void append_bound(char *buffer, size_t size, const struct policy_field *field, int64_t value)
{
    switch (field->unit) {
    case POLICY_COUNT:
        append_number(buffer, size, value);
        break;
    case POLICY_PERCENT:
        append_number(buffer, size, value / 10);
        append(buffer, size, "%", 1);
        break;
    case POLICY_DURATION:
    case POLICY_DURATION_OR_NONE:
    default:
        append_number(buffer, size, value % LULL_DAYS(1) == 0 ? value / LULL_DAYS(1) : value);
        append(buffer, size, value % LULL_DAYS(1) == 0 ? "d" : "ms",
               value % LULL_DAYS(1) == 0 ? 1 : 2);
        break;
    }
}

int policy_refuse_field(struct lull_policy_error *ret_error, size_t offset,
                        const struct policy_field *field)
{
    char what[64] = "must be ";
    append_bound(what, sizeof what, field, field->min);
    append(what, sizeof what, " to ", 4);
    append_bound(what, sizeof what, field, field->max);
    if (field->unit == POLICY_DURATION_OR_NONE) {
        append(what, sizeof what, ", or none", 9);
    }
    return policy_refuse(ret_error, LULL_ERR_RANGE, offset, field->key, what);
}

/* 12, 12% or 12.5%: in thousandths. */
static bool parse_percent(struct text text, int64_t *ret_permille)
{
    int64_t whole = 0;
    int64_t tenth = 0;
    struct text rest = {0};
    if (text.length > 0 && text.data[text.length - 1] == '%') {
        text.length--;
    }
    if (!number_split(text, &whole, &rest)) {
        return false;
    }
    if (rest.length == 2 && rest.data[0] == '.' && is_digit(rest.data[1])) {
        tenth = rest.data[1] - '0';
    } else if (rest.length > 0) {
        return false;
    }
    *ret_permille = saturating_add(saturating_multiply(whole, 10), tenth);
    return true;
}

static int set_field(struct lull_policy *policy, const struct policy_field *field,
                     struct word value, struct lull_policy_error *ret_error)
{
    int64_t number = 0;
    struct text rest = {0};
    const char *expected = NULL;
    switch (field->unit) {
    case POLICY_COUNT:
        expected = number_split(value.text, &number, &rest) && rest.length == 0
                       ? NULL
                       : "must be a whole number";
        break;
    case POLICY_PERCENT:
        expected = parse_percent(value.text, &number) ? NULL : "must be a percentage like 10%";
        break;
    case POLICY_DURATION_OR_NONE:
        if (text_is(value.text, "none")) {
            number = LULL_NEVER;
            break;
        }
        expected =
            number_duration(value.text, &number) ? NULL : "must be none or " NUMBER_DURATION_FORM;
        break;
    case POLICY_DURATION:
    default:
        expected = number_duration(value.text, &number) ? NULL : "must be " NUMBER_DURATION_FORM;
        break;
    }
    if (expected) {
        return policy_refuse(ret_error, LULL_ERR_SYNTAX, value.offset, field->key, expected);
    }
    if (!policy_field_accepts(field, number)) {
        return policy_refuse_field(ret_error, value.offset, field);
    }
    policy_field_set(policy, field, number);
    return LULL_OK;
}

/* Digits, and perhaps a point and digits. */
static int set_multiplier(struct lull_policy *policy, struct word value,
                          struct lull_policy_error *ret_error)
{
    int64_t whole = 0;
    struct text rest = {0};
    bool is_good = number_split(value.text, &whole, &rest);
    double number = (double)whole;
    if (is_good && rest.length > 0) {
        double unit = 0.1;
        is_good = rest.data[0] == '.' && rest.length > 1;
        for (size_t i = 1; i < rest.length; i++) {
            is_good = is_good && is_digit(rest.data[i]);
            number += unit * (rest.data[i] - '0');
            unit /= 10;
        }
    }
    if (!is_good || number < 1.0 || number > 100.0) {
        return policy_refuse(ret_error, is_good ? LULL_ERR_RANGE : LULL_ERR_SYNTAX, value.offset,
                             "multiplier", "must be a number from 1 to 100");
    }
    policy->backoff.multiplier = number;
    return LULL_OK;
}

static int set_strategy(struct lull_policy *policy, struct word value,
                        struct lull_policy_error *ret_error)
{
    for (int i = 0; i < LULL_BACKOFF_STRATEGIES; i++) {
        if (text_is(value.text, lull_backoff_strategy_to_string((enum lull_backoff_strategy)i))) {
            policy->backoff.strategy = (enum lull_backoff_strategy)i;
            return LULL_OK;
        }
    }
    return policy_refuse(ret_error, LULL_ERR_UNKNOWN, value.offset, "strategy",
                         "must be immediate, fixed, linear, exponential, full_jitter, "
                         "equal_jitter or decorrelated");
}

static int set_kind(struct lull_policy *policy, struct word value,
                    struct lull_policy_error *ret_error)
{
    for (int i = 0; i < LULL_KINDS; i++) {
        if (text_is(value.text, lull_kind_to_string((enum lull_kind)i))) {
            policy->kind = (enum lull_kind)i;
            return LULL_OK;
        }
    }
    return policy_refuse(ret_error, LULL_ERR_UNKNOWN, value.offset, "kind",
                         "must be push, webhook, request or operation");
}

static int set_retry_after_mode(struct lull_policy *policy, struct word value,
                                struct lull_policy_error *ret_error)
{
    for (int i = LULL_RETRY_AFTER_FLOOR; i <= LULL_RETRY_AFTER_EXACT; i++) {
        if (text_is(value.text, lull_retry_after_mode_to_string((enum lull_retry_after_mode)i))) {
            policy->retry_after_mode = (enum lull_retry_after_mode)i;
            return LULL_OK;
        }
    }
    return policy_refuse(ret_error, LULL_ERR_UNKNOWN, value.offset, "retry-after",
                         "must be floor or exact");
}

static bool is_token(struct text text)
{
    static const char extra[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < text.length; i++) {
        char c = text.data[i];
        char lower = to_lower(c);
        if (!is_digit(c) && !(lower >= 'a' && lower <= 'z') && (c == '\0' || !strchr(extra, c))) {
            return false;
        }
    }
    return text.length > 0;
}

/* Kept in lower case, as they are compared. */
static int add_reset_header(struct lull_policy *policy, struct word value,
                            struct lull_policy_error *ret_error)
{
    if (!is_token(value.text) || value.text.length >= LULL_POLICY_RESET_HEADER_MAX) {
        return policy_refuse(ret_error, LULL_ERR_SYNTAX, value.offset, "reset-header",
                             "must be a header's name of at most 47 characters");
    }
    if (policy->reset_header_count == LULL_POLICY_RESET_HEADERS_MAX) {
        return policy_refuse(ret_error, LULL_ERR_FULL, value.offset, "reset-header",
                             "may be given 4 times at most");
    }
    char *name = policy->reset_headers[policy->reset_header_count++];
    for (size_t i = 0; i < value.text.length; i++) {
        name[i] = to_lower(value.text.data[i]);
    }
    return LULL_OK;
}

static bool parse_class(struct text text, enum lull_class *ret_class)
{
    if (text_is(text, "retry")) {
        *ret_class = LULL_CLASS_SERVER_ERROR;
        return true;
    }
    if (text_is(text, "never")) {
        *ret_class = LULL_CLASS_REJECTED;
        return true;
    }
    for (int i = 0; i < LULL_CLASSES; i++) {
        if (policy_class_is_settable((enum lull_class)i) &&
            text_is(text, lull_class_to_string((enum lull_class)i))) {
            *ret_class = (enum lull_class)i;
            return true;
        }
    }
    return false;
}

/* status.409=retry. A second word about a status replaces the first. */
static int add_status(struct lull_policy *policy, struct word status, struct word value,
                      struct lull_policy_error *ret_error)
{
    int64_t number = 0;
    struct text rest = {0};
    enum lull_class class_ = LULL_CLASS_REJECTED;
    if (!number_split(status.text, &number, &rest) || rest.length > 0 || status.text.length != 3 ||
        number < 100) {
        return policy_refuse(
            ret_error, LULL_ERR_SYNTAX, status.offset, "status",
            "must be written with a status of three digits, like status.409=retry");
    }
    if (!parse_class(value.text, &class_)) {
        return policy_refuse(ret_error, LULL_ERR_UNKNOWN, value.offset, "status",
                             "must be retry, never, success, throttled, unavailable, server_error, "
                             "auth, gone, too_large or rejected");
    }
    uint32_t place = 0;
    while (place < policy->status_count && policy->statuses[place].status != number) {
        place++;
    }
    if (place == LULL_POLICY_STATUSES_MAX) {
        return policy_refuse(ret_error, LULL_ERR_FULL, status.offset, "status",
                             "may be given for 16 statuses at most");
    }
    policy->statuses[place] = (struct lull_policy_status){(uint16_t)number, (uint8_t)class_};
    policy->status_count += place == policy->status_count;
    return LULL_OK;
}

/* problem.https://example.com/busy=retry */
static int add_problem(struct lull_policy *policy, struct word type, struct word value,
                       struct lull_policy_error *ret_error)
{
    static const char *const actions[] = {"retry", "give_up", "dead_letter"};
    if (type.text.length == 0 || type.text.length >= LULL_POLICY_PROBLEM_TYPE_MAX ||
        memchr(type.text.data, '\0', type.text.length)) {
        return policy_refuse(ret_error, LULL_ERR_SYNTAX, type.offset, "problem",
                             "must be written with a type of 1 to 127 characters, like "
                             "problem.https://example.com/busy=retry");
    }
    if (policy->problem_count == LULL_POLICY_PROBLEMS_MAX) {
        return policy_refuse(ret_error, LULL_ERR_FULL, type.offset, "problem",
                             "may be given 4 times at most");
    }
    for (int i = 0; i < 3; i++) {
        if (text_is(value.text, actions[i])) {
            struct lull_policy_problem *problem = &policy->problems[policy->problem_count++];
            memset(problem->type, 0, sizeof problem->type);
            memcpy(problem->type, type.text.data, type.text.length);
            problem->action = (enum lull_problem_action)i;
            return LULL_OK;
        }
    }
    return policy_refuse(ret_error, LULL_ERR_UNKNOWN, value.offset, "problem",
                         "must be retry, give_up or dead_letter");
}

/* What follows prefix in the key, or no data at all. */
static struct word behind(struct word key, const char *prefix)
{
    size_t length = strlen(prefix);
    if (key.text.length < length || memcmp(key.text.data, prefix, length) != 0) {
        return (struct word){.offset = key.offset};
    }
    return (struct word){{key.text.data + length, key.text.length - length}, key.offset + length};
}

static int set(struct lull_policy *policy, struct word key, struct word value,
               struct lull_policy_error *ret_error)
{
    for (size_t i = 0; i < policy_field_count; i++) {
        if (text_is(key.text, policy_fields[i].key)) {
            return set_field(policy, &policy_fields[i], value, ret_error);
        }
    }
    static const struct {
        const char *key;
        int (*set)(struct lull_policy *, struct word, struct lull_policy_error *);
    } setters[] = {{"multiplier", set_multiplier},
                   {"strategy", set_strategy},
                   {"kind", set_kind},
                   {"retry-after", set_retry_after_mode},
                   {"reset-header", add_reset_header}};
    for (size_t i = 0; i < sizeof setters / sizeof setters[0]; i++) {
        if (text_is(key.text, setters[i].key)) {
            return setters[i].set(policy, value, ret_error);
        }
    }
    struct word status = behind(key, "status.");
    if (status.text.data) {
        return add_status(policy, status, value, ret_error);
    }
    struct word problem = behind(key, "problem.");
    if (problem.text.data) {
        return add_problem(policy, problem, value, ret_error);
    }
    return refuse_text(ret_error, LULL_ERR_UNKNOWN, key.offset, key.text,
                       "is not a setting of a policy; lull-policy(7) lists them");
}

static bool is_separator(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',';
}

static bool next_word(const char *text, size_t length, size_t *at, struct word *ret_word)
{
    while (*at < length && is_separator(text[*at])) {
        (*at)++;
    }
    size_t start = *at;
    while (*at < length && !is_separator(text[*at])) {
        (*at)++;
    }
    *ret_word = (struct word){{text + start, *at - start}, start};
    return *at > start;
}

/* The first word, if it is a name. */
static int start_from_name(struct lull_policy *policy, struct word word,
                           struct lull_policy_error *ret_error)
{
    for (const char *const *name = lull_policy_names(); *name; name++) {
        if (text_is(word.text, *name)) {
            return lull_policy_named(policy, *name);
        }
    }
    return refuse_text(ret_error, LULL_ERR_UNKNOWN, word.offset, word.text,
                       "is not a policy; there are delivery, urgent, bulk, client and webhook");
}

/* key=value, as the setters above take it. */
static int set_word(struct lull_policy *policy, struct word word,
                    struct lull_policy_error *ret_error)
{
    size_t equals = word.text.length; /* the last =, since a problem's type may hold one */
    while (equals > 0 && word.text.data[equals - 1] != '=') {
        equals--;
    }
    if (equals == 0) {
        return refuse_text(ret_error, LULL_ERR_SYNTAX, word.offset, word.text,
                           "must be written as setting=value");
    }
    struct word key = {{word.text.data, equals - 1}, word.offset};
    struct word value = {{word.text.data + equals, word.text.length - equals},
                         word.offset + equals};
    return set(policy, key, value, ret_error);
}

bool policy_text_name(const char *text, size_t length, struct text *ret_name, size_t *ret_end)
{
    struct word word = {0};
    size_t at = 0;
    bool is_name =
        next_word(text, length, &at, &word) && !memchr(word.text.data, '=', word.text.length);
    if (is_name) {
        *ret_name = word.text;
        *ret_end = at;
    }
    return is_name;
}

int policy_text_change(struct lull_policy *policy, const char *text, size_t length, size_t at,
                       struct lull_policy_error *ret_error)
{
    struct lull_policy changed = *policy;
    struct word word = {0};
    int error = LULL_OK;
    while (error == LULL_OK && next_word(text, length, &at, &word)) {
        error = set_word(&changed, word, ret_error);
    }
    if (error == LULL_OK) {
        error = lull_policy_validate(&changed, ret_error);
    }
    if (error == LULL_OK) {
        *policy = changed;
    }
    return error;
}

int lull_policy_parse(struct lull_policy *ret_policy, const char *text, size_t length,
                      struct lull_policy_error *ret_error)
{
    struct lull_policy policy;
    struct text name = {0};
    size_t at = 0;
    int error =
        policy_text_name(text, length, &name, &at)
            ? start_from_name(&policy, (struct word){name, (size_t)(name.data - text)}, ret_error)
            : lull_policy_named(&policy, "delivery");
    if (error == LULL_OK) {
        error = policy_text_change(&policy, text, length, at, ret_error);
    }
    if (error == LULL_OK) {
        *ret_policy = policy;
    }
    return error;
}
