/* classify - see the header for the order of the questions. SPDX-License-Identifier: MIT */
#include "classify_hints.h"

#include "json_scan.h"
#include "lull/error.h"
#include "lull/policy.h"
#include "text.h"
#include "vendor_table.h"

#define BODY_MAX 16384

static struct lull_classification as(enum lull_class class_, const char *rule)
{
    return (struct lull_classification){class_, rule, false};
}

static struct lull_classification classify_transport(enum lull_transport transport)
{
    switch (transport) {
    case LULL_TRANSPORT_TLS:
    case LULL_TRANSPORT_MALFORMED_URL:
    case LULL_TRANSPORT_DNS_NOT_FOUND:
        return as(LULL_CLASS_INVALID_TARGET, "C4");
    case LULL_TRANSPORT_FORBIDDEN:
        return as(LULL_CLASS_INVALID_TARGET, "W5");
    case LULL_TRANSPORT_CANCELLED:
        return as(LULL_CLASS_CANCELLED, "C1");
    default:
        return as(LULL_CLASS_TRANSPORT, "C3");
    }
}

static struct lull_classification classify_operation(const struct lull_outcome *outcome)
{
    if (outcome->is_success) {
        return as(LULL_CLASS_SUCCESS, "H3");
    }
    return as(outcome->is_transient ? LULL_CLASS_TRANSPORT : LULL_CLASS_REJECTED, "H3");
}

/* The rules for everybody. */
static struct lull_classification classify_status(unsigned status)
{
    switch (status) {
    case 429:
        return as(LULL_CLASS_THROTTLED, "C7");
    case 503:
        return as(LULL_CLASS_UNAVAILABLE, "C7");
    case 408:
        return as(LULL_CLASS_SERVER_ERROR, "C3");
    case 401:
    case 403:
        return as(LULL_CLASS_AUTH, "C6");
    case 404:
    case 410:
        return as(LULL_CLASS_GONE, "C5");
    case 413:
        return as(LULL_CLASS_TOO_LARGE, "C5");
    case 501:
    case 505:
    case 511:
        return as(LULL_CLASS_REJECTED, "C4");
    default:
        break;
    }
    if (status >= 200 && status <= 299) {
        return as(LULL_CLASS_SUCCESS, "C2");
    }
    /* RFC 9110 section 15: a status of no known class is treated as 5xx. */
    return status >= 500 ? as(LULL_CLASS_SERVER_ERROR, "C3") : as(LULL_CLASS_REJECTED, "C4");
}

static bool is_problem_json(const struct lull_header *content_type)
{
    if (!content_type) {
        return false;
    }
    struct text value = {content_type->value, content_type->value_length};
    const char *parameters = memchr(value.data, ';', value.length);
    if (parameters) {
        value.length = (size_t)(parameters - value.data);
    }
    return text_is_nocase(text_trim(value.data, value.length), "application/problem+json");
}

static bool has_readable_body(const struct lull_outcome *outcome)
{
    return outcome->body && outcome->body_length > 0 && outcome->body_length <= BODY_MAX;
}

/* What the policy says about a problem's type. */
static bool by_problem_type(const struct lull_policy *policy, unsigned status, const char *type,
                            struct lull_classification *ret)
{
    for (uint32_t i = 0; i < policy->problem_count; i++) {
        if (strcmp(policy->problems[i].type, type) != 0) {
            continue;
        }
        enum lull_class class_ = classify_status(status).class_;
        switch (policy->problems[i].action) {
        case LULL_PROBLEM_RETRY:
            *ret = as(lull_class_is_retryable(class_) ? class_ : LULL_CLASS_SERVER_ERROR, "C10");
            return true;
        case LULL_PROBLEM_GIVE_UP:
            *ret = as(LULL_CLASS_REJECTED, "C10");
            return true;
        case LULL_PROBLEM_DEAD_LETTER:
        default:
            *ret = (struct lull_classification){LULL_CLASS_REJECTED, "C10", true};
            return true;
        }
    }
    return false;
}

static bool by_problem(const struct lull_policy *policy, const struct lull_outcome *outcome,
                       const struct hints *hints, struct lull_classification *ret)
{
    if (policy->problem_count == 0 || !is_problem_json(hints->content_type) ||
        !has_readable_body(outcome)) {
        return false;
    }
    struct json_wanted type = {.name = "type"};
    return json_scan(outcome->body, outcome->body_length, &type, 1) && type.is_string &&
           !type.is_cut && by_problem_type(policy, outcome->status, type.string, ret);
}

static bool by_policy_status(const struct lull_policy *policy, unsigned status,
                             struct lull_classification *ret)
{
    for (uint32_t i = 0; i < policy->status_count; i++) {
        if (policy->statuses[i].status == status) {
            *ret = as((enum lull_class)policy->statuses[i].class_, "C11");
            return true;
        }
    }
    return false;
}

/* The rows of the table that read the body. */
static bool by_vendor_body(enum lull_vendor vendor, const struct lull_outcome *outcome,
                           struct lull_classification *ret)
{
    struct json_wanted wanted[2] = {{.name = "errno"}, {.name = "reason"}};
    if (!has_readable_body(outcome) || !json_scan(outcome->body, outcome->body_length, wanted, 2)) {
        return false;
    }
    for (size_t i = 0; i < vendor_row_count; i++) {
        const struct vendor_row *row = &vendor_rows[i];
        if (row->vendor != vendor || row->status != outcome->status) {
            continue;
        }
        bool is_met = row->detail == DETAIL_ERRNO
                          ? wanted[0].is_number && wanted[0].number == row->number
                          : row->detail == DETAIL_REASON && wanted[1].is_string &&
                                !wanted[1].is_cut && strcmp(wanted[1].string, row->word) == 0;
        if (is_met) {
            *ret = as(row->class_, row->rule);
            return true;
        }
    }
    return false;
}

static bool by_vendor(enum lull_vendor vendor, const struct lull_outcome *outcome,
                      struct lull_classification *ret)
{
    if (vendor == LULL_VENDOR_OTHER) {
        return false;
    }
    for (size_t i = 0; i < vendor_row_count; i++) {
        const struct vendor_row *row = &vendor_rows[i];
        if (row->vendor != vendor || row->status != outcome->status) {
            continue;
        }
        if (row->detail != DETAIL_NONE) { /* all rows of this status read the body, once */
            return by_vendor_body(vendor, outcome, ret);
        }
        *ret = as(row->class_, row->rule);
        return true;
    }
    return false;
}

/* C8: a 429 that may be about our JWT. */
static bool is_auth_suspect(const struct hints *hints)
{
    if (hints->has_www_authenticate) {
        return true;
    }
    const struct lull_header *header = hints->waits[HINT_RETRY_AFTER];
    if (!header || hints->is_retry_after_repeated || hints->has_quota) {
        return false;
    }
    struct text value = text_trim(header->value, header->value_length);
    size_t zeros = 0;
    while (zeros < value.length && value.data[zeros] == '0') {
        zeros++;
    }
    return zeros > 0 && zeros == value.length;
}

struct lull_classification classify_with_hints(const struct lull_policy *policy,
                                               enum lull_kind kind, enum lull_vendor vendor,
                                               const struct lull_outcome *outcome,
                                               const struct hints *hints)
{
    struct lull_classification result = as(LULL_CLASS_PENDING, "T1");
    switch (outcome->kind) {
    case LULL_OUTCOME_PENDING:
        return result;
    case LULL_OUTCOME_TRANSPORT:
        return classify_transport(outcome->transport);
    case LULL_OUTCOME_OPERATION:
        return classify_operation(outcome);
    case LULL_OUTCOME_STATUS:
    default:
        break;
    }
    bool is_success = outcome->status >= 200 && outcome->status <= 299;
    if ((!is_success && by_problem(policy, outcome, hints, &result)) ||
        by_policy_status(policy, outcome->status, &result)) {
        return result;
    }
    if (is_success || kind != LULL_KIND_PUSH || !by_vendor(vendor, outcome, &result)) {
        result = classify_status(outcome->status);
    }
    if (kind == LULL_KIND_PUSH && outcome->status == 429 && is_auth_suspect(hints)) {
        return as(LULL_CLASS_AUTH_SUSPECT, "C8");
    }
    return result;
}

struct lull_classification lull_classify(const struct lull_policy *policy, enum lull_kind kind,
                                         enum lull_vendor vendor,
                                         const struct lull_outcome *outcome)
{
    struct hints hints;
    hints_collect(outcome, &hints);
    return classify_with_hints(policy, kind, vendor, outcome, &hints);
}

bool lull_class_is_retryable(enum lull_class class_)
{
    switch (class_) {
    case LULL_CLASS_THROTTLED:
    case LULL_CLASS_UNAVAILABLE:
    case LULL_CLASS_SERVER_ERROR:
    case LULL_CLASS_TRANSPORT:
    case LULL_CLASS_AUTH_SUSPECT:
        return true;
    default:
        return false;
    }
}

const char *lull_class_to_string(enum lull_class class_)
{
    static const char *const words[LULL_CLASSES] = {
        [LULL_CLASS_PENDING] = "pending",
        [LULL_CLASS_SUCCESS] = "success",
        [LULL_CLASS_THROTTLED] = "throttled",
        [LULL_CLASS_UNAVAILABLE] = "unavailable",
        [LULL_CLASS_SERVER_ERROR] = "server_error",
        [LULL_CLASS_TRANSPORT] = "transport",
        [LULL_CLASS_AUTH_SUSPECT] = "auth_suspect",
        [LULL_CLASS_AUTH] = "auth",
        [LULL_CLASS_GONE] = "gone",
        [LULL_CLASS_TOO_LARGE] = "too_large",
        [LULL_CLASS_REJECTED] = "rejected",
        [LULL_CLASS_INVALID_TARGET] = "invalid_target",
        [LULL_CLASS_CANCELLED] = "cancelled",
    };
    return words[class_];
}

static const char *const kind_words[LULL_KINDS] = {"push", "webhook", "request", "operation"};

const char *lull_kind_to_string(enum lull_kind kind)
{
    return kind_words[kind];
}

int lull_kind_from_string(const char *word, enum lull_kind *ret_kind)
{
    for (int i = 0; i < LULL_KINDS; i++) {
        if (strcmp(word, kind_words[i]) == 0) {
            *ret_kind = (enum lull_kind)i;
            return LULL_OK;
        }
    }
    return LULL_ERR_UNKNOWN;
}
