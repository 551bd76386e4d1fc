/* hints - see the header. SPDX-License-Identifier: MIT */
#include "hints.h"

#include "text.h"

static const char *const wait_names[HINT_WAITS] = {
    [HINT_RETRY_AFTER] = "Retry-After",
    [HINT_RETRY_AFTER_MS] = "Retry-After-Ms",
    [HINT_WNS_CONTINUE_AFTER] = "X-WNS-CONTINUE-AFTER",
    [HINT_RATELIMIT_RESET] = "RateLimit-Reset",
    [HINT_X_RATELIMIT_RESET] = "X-RateLimit-Reset",
};

static bool is_prefix_nocase(struct text text, const char *lower)
{
    size_t length = strlen(lower);
    return text.length >= length && text_is_nocase((struct text){text.data, length}, lower);
}

static void collect_wait(struct hints *hints, enum hint_wait which,
                         const struct lull_header *header)
{
    if (which == HINT_RETRY_AFTER && hints->waits[which]) {
        hints->is_retry_after_repeated = true;
    }
    hints->waits[which] = header;
    hints->has_quota = hints->has_quota || which != HINT_RETRY_AFTER;
}

/* The length of a name tells nearly all of them apart, so most headers cost one comparison. */
static void collect(struct hints *hints, const struct lull_header *header)
{
    struct text name = {header->name, header->name_length};
    switch (name.length) {
    case 4:
        if (text_is_nocase(name, "date")) {
            hints->date = header;
        }
        break;
    case 11:
        if (text_is_nocase(name, "retry-after")) {
            collect_wait(hints, HINT_RETRY_AFTER, header);
        }
        break;
    case 12:
        if (text_is_nocase(name, "content-type")) {
            hints->content_type = header;
        }
        break;
    case 14:
        if (text_is_nocase(name, "retry-after-ms")) {
            collect_wait(hints, HINT_RETRY_AFTER_MS, header);
        }
        break;
    case 15:
        if (text_is_nocase(name, "ratelimit-reset")) {
            collect_wait(hints, HINT_RATELIMIT_RESET, header);
        }
        break;
    case 16:
        if (text_is_nocase(name, "www-authenticate")) {
            hints->has_www_authenticate = true;
        }
        break;
    case 17:
        if (text_is_nocase(name, "x-ratelimit-reset")) {
            collect_wait(hints, HINT_X_RATELIMIT_RESET, header);
        }
        break;
    case 20:
        if (text_is_nocase(name, "x-wns-continue-after")) {
            collect_wait(hints, HINT_WNS_CONTINUE_AFTER, header);
        }
        break;
    default:
        break;
    }
    if (is_prefix_nocase(name, "ratelimit") || is_prefix_nocase(name, "x-ratelimit")) {
        hints->has_quota = true;
    }
}

void hints_collect(const struct lull_outcome *outcome, struct hints *ret_hints)
{
    *ret_hints = (struct hints){.date = NULL};
    for (size_t i = 0; i < outcome->header_count; i++) {
        collect(ret_hints, &outcome->headers[i]);
    }
}

/* The first header of the policy's own list that can be read. */
static bool read_named(const struct lull_policy *policy, const struct lull_outcome *outcome,
                       const struct lull_retry_after_clock *clock, struct hint_answer *answer)
{
    for (uint32_t i = 0; i < policy->reset_header_count; i++) {
        for (size_t j = 0; j < outcome->header_count; j++) {
            const struct lull_header *header = &outcome->headers[j];
            if (!text_is_nocase((struct text){header->name, header->name_length},
                                policy->reset_headers[i])) {
                continue;
            }
            struct lull_retry_after wait =
                lull_retry_after_parse(header->value, header->value_length, clock);
            if (wait.state == LULL_RETRY_AFTER_OK) {
                answer->wait = wait;
                answer->header = policy->reset_headers[i];
                return true;
            }
        }
    }
    return false;
}

/* One of the known ones, if it is there and can be read. */
static bool read_known(const struct hints *hints, enum hint_wait which,
                       const struct lull_retry_after_clock *clock, struct hint_answer *answer)
{
    const struct lull_header *header = hints->waits[which];
    if (!header) {
        return false;
    }
    struct lull_retry_after wait =
        which == HINT_RETRY_AFTER_MS
            ? lull_retry_after_parse_ms(header->value, header->value_length)
            : lull_retry_after_parse(header->value, header->value_length, clock);
    if (which == HINT_RETRY_AFTER &&
        (hints->is_retry_after_repeated || wait.state == LULL_RETRY_AFTER_MALFORMED)) {
        answer->wait.state = LULL_RETRY_AFTER_MALFORMED;
        answer->is_retry_after_malformed = true;
        return false;
    }
    if (wait.state != LULL_RETRY_AFTER_OK) {
        return false;
    }
    answer->wait = wait;
    answer->header = wait_names[which];
    return true;
}

struct hint_answer hints_wait(const struct hints *hints, const struct lull_policy *policy,
                              const struct lull_outcome *outcome, bool is_about_quota,
                              int64_t now_ms)
{
    struct hint_answer answer = {.wait = {LULL_RETRY_AFTER_ABSENT, 0},
                                 .header = wait_names[HINT_RETRY_AFTER]};
    struct lull_retry_after_clock clock = {.now_ms = now_ms};
    if (hints->date) {
        clock.date = hints->date->value;
        clock.date_length = hints->date->value_length;
    }
    (void)(read_known(hints, HINT_RETRY_AFTER, &clock, &answer) ||
           read_known(hints, HINT_RETRY_AFTER_MS, &clock, &answer) ||
           read_known(hints, HINT_WNS_CONTINUE_AFTER, &clock, &answer) ||
           read_named(policy, outcome, &clock, &answer) ||
           (is_about_quota && (read_known(hints, HINT_RATELIMIT_RESET, &clock, &answer) ||
                               read_known(hints, HINT_X_RATELIMIT_RESET, &clock, &answer))));
    return answer;
}
