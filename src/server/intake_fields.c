/* intake_fields - what pushes and webhooks have in common: when, how urgently, how often, under
 * which names. SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <string.h>

#include "intake_draft.h"
#include "json_member.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/policy.h"
#include "time_read.h"
#include "topic.h"

#define POLICY_TEXT_MAX 2048
#define CORRELATION_ID_MAX 128
#define IDEMPOTENCY_KEY_MAX 256
#define LINE_NUMBER_MAX 16 /* what a batch adds to its header's key for each of its lines */

static const char at_sentence[] =
    "at must be a time as RFC 3339 has it, 2026-01-31T09:30:00Z, at most 28 days ahead";

/* ---- urgency and topic ---- */

static int read_urgency(struct intake_draft *draft)
{
    const json_t *value = draft->members[INTAKE_URGENCY];
    const char *word = json_member_word(value);
    draft->urgency = MESSAGE_NORMAL;
    if (!value) {
        return LULL_OK;
    }
    if (!word || !message_urgency_from_string(word, &draft->urgency)) {
        return intake_refuse(draft->problem, LULL_ERR_UNKNOWN, "urgency",
                             "urgency must be very-low, low, normal or high");
    }
    draft->envelope.urgency = message_urgency_to_string(draft->urgency);
    return LULL_OK;
}

static int read_topic(struct intake_draft *draft)
{
    const json_t *value = draft->members[INTAKE_TOPIC];
    const char *topic = json_member_word(value);
    if (!value) {
        return LULL_OK;
    }
    if (!topic || topic_form_of(topic) != TOPIC_GOOD) {
        return intake_refuse(draft->problem, LULL_ERR_RANGE, "topic",
                             "topic must be 1 to %d characters of A-Z a-z 0-9 - _", TOPIC_MAX);
    }
    draft->envelope.topic = topic;
    return LULL_OK;
}

/* ---- policy and time ---- */

/* The policy is needed here for its TTL alone; what was not named was looked up by intake_new. */
static int read_policy(struct intake_draft *draft)
{
    const struct intake *intake = draft->intake;
    const json_t *value = draft->members[INTAKE_POLICY];
    bool is_push = draft->kind == LULL_KIND_PUSH;
    struct lull_policy policy;
    struct lull_policy_error error = {.text = ""};
    if (!value) {
        draft->envelope.policy =
            is_push ? intake->config->push_policy : intake->config->webhook_policy;
        draft->ttl_ms = is_push ? intake->push_ttl_ms : intake->webhook_ttl_ms;
        return LULL_OK;
    }
    int code =
        json_member_text(value, "policy", POLICY_TEXT_MAX, &draft->envelope.policy, draft->problem);
    if (code != LULL_OK) {
        return code;
    }
    code = config_policy_parse(intake->config, draft->envelope.policy,
                               strlen(draft->envelope.policy), &policy, &error);
    if (code != LULL_OK) {
        return intake_refuse(draft->problem, code, "policy", "policy: at character %zu: %s",
                             error.offset + 1, error.text);
    }
    draft->ttl_ms = intake_ttl_of(&policy, draft->kind);
    return LULL_OK;
}

static int read_ttl(struct intake_draft *draft)
{
    const json_t *value = draft->members[INTAKE_TTL];
    int64_t seconds = 0;
    if (!value) {
        return LULL_OK;
    }
    int code =
        json_member_count(value, "ttl", INTAKE_SECONDS_MAX, "seconds", &seconds, draft->problem);
    if (code == LULL_OK) {
        draft->ttl_ms = LULL_SECONDS(seconds);
    }
    return code;
}

/* A time that is over means now. */
static int read_at(struct intake_draft *draft, const json_t *value)
{
    const char *text = json_string_value(value);
    int64_t at_ms = 0;
    int code = text ? time_read(text, json_string_length(value), &at_ms) : (int)LULL_ERR_SYNTAX;
    if (code == LULL_OK && at_ms > draft->call->now_ms + LULL_SECONDS(INTAKE_SECONDS_MAX)) {
        code = LULL_ERR_RANGE;
    }
    if (code != LULL_OK) {
        return intake_refuse(draft->problem, code, "at", "%s", at_sentence);
    }
    draft->due_ms = at_ms > draft->due_ms ? at_ms : draft->due_ms;
    return LULL_OK;
}

static int read_due(struct intake_draft *draft)
{
    const json_t *at = draft->members[INTAKE_AT];
    const json_t *delay = draft->members[INTAKE_DELAY];
    int64_t seconds = 0;
    draft->due_ms = draft->call->now_ms;
    if (at && delay) {
        return intake_refuse(draft->problem, LULL_ERR_SYNTAX, "delay",
                             "only one of at and delay may be there");
    }
    if (at) {
        return read_at(draft, at);
    }
    int code = delay ? json_member_count(delay, "delay", INTAKE_SECONDS_MAX, "seconds", &seconds,
                                         draft->problem)
                     : LULL_OK;
    draft->due_ms += LULL_SECONDS(seconds);
    return code;
}

int intake_read_delivery(struct intake_draft *draft)
{
    int code = read_urgency(draft);
    code = code != LULL_OK ? code : read_topic(draft);
    code = code != LULL_OK ? code : read_policy(draft);
    code = code != LULL_OK ? code : read_ttl(draft);
    return code != LULL_OK ? code : read_due(draft);
}

/* ---- names ---- */

static int read_correlation_id(struct intake_draft *draft)
{
    const json_t *value = draft->members[INTAKE_CORRELATION_ID];
    return value ? json_member_ascii(value, "correlation_id", CORRELATION_ID_MAX,
                                     &draft->envelope.correlation_id, draft->problem)
                 : LULL_OK;
}

static int read_idempotency_key(struct intake_draft *draft)
{
    static const char member[] = "idempotency_key";
    const struct intake_call *call = draft->call;
    const json_t *value = draft->members[INTAKE_IDEMPOTENCY_KEY];
    const char *header = call->idempotency_key ? call->idempotency_key : "";
    const char *key = header;
    size_t header_max = IDEMPOTENCY_KEY_MAX + (call->is_key_default ? LINE_NUMBER_MAX : 0);
    if (*header && !json_is_ascii(header, header_max)) {
        return intake_refuse(draft->problem, LULL_ERR_RANGE, member,
                             "the header Idempotency-Key must be 1 to %d characters of printable "
                             "ASCII",
                             IDEMPOTENCY_KEY_MAX);
    }
    int code = value ? json_member_ascii(value, member, IDEMPOTENCY_KEY_MAX, &key, draft->problem)
                     : LULL_OK;
    if (code != LULL_OK) {
        return code;
    }
    if (*header && !call->is_key_default && strcmp(key, header) != 0) {
        return intake_refuse(draft->problem, LULL_ERR_RANGE, member,
                             "idempotency_key and the header Idempotency-Key must not differ");
    }
    draft->envelope.idempotency_key = key;
    return LULL_OK;
}

int intake_read_names(struct intake_draft *draft)
{
    int code = read_correlation_id(draft);
    return code != LULL_OK ? code : read_idempotency_key(draft);
}
