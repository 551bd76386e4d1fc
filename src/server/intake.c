/*
 * intake - see the header. SPDX-License-Identifier: MIT
 *
 * A draft is read from the JSON and checked, part by part; then the job and the message are
 * allocated at their final size, and the body is encrypted straight into the message.
 *
 * What an idempotency key stands for (Q6) is the JSON as values: without white space, the members
 * in the order of their names, and without idempotency_key and correlation_id, which are about the
 * call and not about the message. It is the plain request: a ciphertext is another one each time.
 */
#include "intake.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "intake_draft.h"
#include "json_member.h"
#include "json_memory.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/trace_context.h"
#include "lull/webpush.h"
#include "refuse_json.h"
#include "topic.h"

#define KEYS_AHEAD_MAX 1024
#define KEY_LIFETIME_MS LULL_HOURS(24) /* Q6 */

static const char *const member_names[INTAKE_MEMBERS] = {
    [INTAKE_SUBSCRIPTION] = "subscription",
    [INTAKE_WEBHOOK] = "webhook",
    [INTAKE_BODY] = "body",
    [INTAKE_BODY_BASE64] = "body_base64",
    [INTAKE_JSON] = "json",
    [INTAKE_TTL] = "ttl",
    [INTAKE_URGENCY] = "urgency",
    [INTAKE_TOPIC] = "topic",
    [INTAKE_POLICY] = "policy",
    [INTAKE_KEY] = "key",
    [INTAKE_PADDING] = "padding",
    [INTAKE_AT] = "at",
    [INTAKE_DELAY] = "delay",
    [INTAKE_CORRELATION_ID] = "correlation_id",
    [INTAKE_IDEMPOTENCY_KEY] = "idempotency_key",
};

const char *intake_member_name(enum intake_member member)
{
    return member_names[member];
}

/* ---- its life ---- */

int64_t intake_ttl_of(const struct lull_policy *policy, enum lull_kind kind)
{
    if (policy->ttl_ms != LULL_NEVER) {
        return policy->ttl_ms;
    }
    return kind == LULL_KIND_PUSH ? LULL_DAYS(28) : LULL_HOURS(24);
}

/* The configuration was checked: its policies are good. */
static int find_ttl(const struct config *config, const char *text, enum lull_kind kind,
                    int64_t *ret_ttl_ms)
{
    struct lull_policy policy;
    int code = config_policy_parse(config, text, strlen(text), &policy, NULL);
    if (code == LULL_OK) {
        *ret_ttl_ms = intake_ttl_of(&policy, kind);
    }
    return code;
}

int intake_new(struct intake **ret_intake, const struct config *config,
               const struct lull_vapid_ring *ring)
{
    struct intake *intake = calloc(1, sizeof *intake);
    if (!intake) {
        return LULL_ERR_MEMORY;
    }
    json_memory_watch();
    intake->config = config;
    intake->ring = ring;
    int code = intake_hash_init(&intake->hash) ? LULL_OK : LULL_ERR_MEMORY;
    code = code != LULL_OK ? code : lull_encryptor_new(&intake->encryptor, KEYS_AHEAD_MAX);
    code = code != LULL_OK
               ? code
               : find_ttl(config, config->push_policy, LULL_KIND_PUSH, &intake->push_ttl_ms);
    code = code != LULL_OK ? code
                           : find_ttl(config, config->webhook_policy, LULL_KIND_WEBHOOK,
                                      &intake->webhook_ttl_ms);
    if (code != LULL_OK) {
        intake_destroy(intake);
        return code;
    }
    *ret_intake = intake;
    return LULL_OK;
}

void intake_destroy(struct intake *intake)
{
    if (intake) {
        lull_encryptor_destroy(intake->encryptor);
        intake_hash_clean_up(&intake->hash);
        free(intake->scratch);
        free(intake);
    }
}

void intake_prepare(struct intake *intake, size_t count)
{
    (void)lull_encryptor_prepare(intake->encryptor, count);
}

/* ---- reading ---- */

static int refuse_of_push(struct intake_draft *draft, enum intake_member member)
{
    return intake_refuse(draft->problem, LULL_ERR_RANGE, member_names[member],
                         "%s is of a push: it goes with subscription, not with webhook",
                         member_names[member]);
}

static int read_target(struct intake_draft *draft)
{
    bool is_push = draft->members[INTAKE_SUBSCRIPTION] != NULL;
    bool is_webhook = draft->members[INTAKE_WEBHOOK] != NULL;
    if (is_push == is_webhook) {
        return intake_refuse(draft->problem, LULL_ERR_SYNTAX, "",
                             "there must be one of subscription and webhook, %s",
                             is_push ? "not both" : "and there is none");
    }
    draft->kind = is_push ? LULL_KIND_PUSH : LULL_KIND_WEBHOOK;
    if (is_push) {
        return intake_read_push(draft);
    }
    for (enum intake_member member = INTAKE_KEY; member <= INTAKE_PADDING; member++) {
        if (draft->members[member]) {
            return refuse_of_push(draft, member);
        }
    }
    return intake_read_webhook(draft);
}

static int read_draft(struct intake_draft *draft)
{
    static const struct json_names names = {"", member_names, INTAKE_MEMBERS};
    if (!json_is_object(draft->object)) {
        return intake_refuse(draft->problem, LULL_ERR_SYNTAX, "",
                             "a message is a JSON object with subscription or webhook");
    }
    int code = json_member_sort(draft->object, &names, draft->members, draft->problem);
    code = code != LULL_OK ? code : read_target(draft);
    code = code != LULL_OK ? code : intake_read_body(draft);
    code = code != LULL_OK || draft->kind != LULL_KIND_PUSH ? code : intake_read_padding(draft);
    code = code != LULL_OK ? code : intake_read_delivery(draft);
    return code != LULL_OK ? code : intake_read_names(draft);
}

/* One that is not of the form of W3C is passed over, as that says. */
static const char *trace_of(const struct intake_call *call)
{
    struct lull_trace_context ignored;
    const char *text = call->traceparent ? call->traceparent : "";
    return lull_trace_context_parse(&ignored, text, strlen(text)) == LULL_OK ? text : "";
}

static void warn(const struct intake_draft *draft, char ret_warning[INTAKE_WARNING_SIZE])
{
    const struct lull_subscription *subscription = &draft->subscription;
    const char *warning = "";
    if (draft->kind != LULL_KIND_PUSH) {
        /* nothing is known of who gets it */
    } else if (subscription->expires_ms <= draft->call->now_ms) {
        warning = "the subscription's expirationTime is over";
    } else if (draft->target.vendor == LULL_VENDOR_APPLE &&
               topic_is_refused_by_apple(draft->envelope.topic)) {
        warning = "Apple refuses a topic of this length (1 modulo 4)"; /* V3 */
    } else if (draft->target.vendor == LULL_VENDOR_WNS && draft->ttl_ms == 0) {
        warning =
            "WNS drops a message with ttl 0 unless the device is connected at that moment"; /* W9 */
    }
    (void)snprintf(ret_warning, INTAKE_WARNING_SIZE, "%s", warning);
}

/* ---- the message ---- */

/* What names it to the store, as hashes. */
static bool hash_names(struct intake_draft *draft, struct store_put *put)
{
    struct intake_hash *hash = &draft->intake->hash;
    struct message *message = put->message;
    const struct envelope *envelope = &draft->envelope;
    json_t *object = (json_t *)draft->object; /* ours; nothing points into it any more */
    if (!intake_hash_text(hash, envelope->url, strlen(envelope->url), &message->target) ||
        (*envelope->topic &&
         !intake_hash_topic(hash, message->target, envelope->topic, &message->topic))) {
        return false;
    }
    put->has_key = *envelope->idempotency_key != '\0';
    if (!put->has_key) {
        return true;
    }
    put->key_until_ms = draft->call->now_ms + KEY_LIFETIME_MS;
    if (!intake_hash_key(hash, envelope->idempotency_key, put->key)) {
        return false;
    }
    (void)json_object_del(object, member_names[INTAKE_IDEMPOTENCY_KEY]);
    (void)json_object_del(object, member_names[INTAKE_CORRELATION_ID]);
    return intake_hash_json(hash, object, put->request);
}

static void fill(const struct intake_draft *draft, struct message *message)
{
    bool is_delayed = draft->due_ms > draft->call->now_ms;
    message->kind = (uint8_t)draft->kind;
    message->urgency = (uint8_t)draft->urgency;
    message->accepted_ms = draft->due_ms;
    message->due_ms = draft->due_ms;
    message->ttl_ms = draft->ttl_ms;
    message->cause = is_delayed ? MESSAGE_CAUSE_DELAYED : MESSAGE_CAUSE_NEW;
    envelope_pack(&draft->envelope, (void *)message->envelope.data);
}

/* On an error the caller frees what is there. */
static int build(struct intake_draft *draft, struct job_put *put)
{
    bool is_push = draft->kind == LULL_KIND_PUSH;
    size_t body_length = is_push ? intake_sealed_length(draft) : draft->body_length;
    struct message *message = message_new(envelope_size(&draft->envelope), body_length, 0);
    if (!message) {
        return LULL_ERR_MEMORY;
    }
    put->job.kind = JOB_PUT;
    put->put.put.message = message;
    put->service_length = draft->target.service_length;
    memcpy(put->service, draft->target.service, draft->target.service_length + 1);
    fill(draft, message);
    if (!hash_names(draft, &put->put.put)) {
        return LULL_ERR_MEMORY;
    }
    if (is_push) {
        return intake_seal(draft, (uint8_t *)message->body.data);
    }
    if (body_length > 0) {
        memcpy((void *)message->body.data, draft->body, body_length);
    }
    return LULL_OK;
}

static int read_object(struct intake_draft *draft, struct job_put **ret_put,
                       char ret_warning[INTAKE_WARNING_SIZE])
{
    int code = read_draft(draft);
    if (code != LULL_OK) {
        return code;
    }
    struct job_put *put = calloc(1, sizeof *put);
    code = put ? build(draft, put) : LULL_ERR_MEMORY;
    if (code != LULL_OK) {
        intake_free(put);
        return code;
    }
    *ret_put = put;
    warn(draft, ret_warning);
    return LULL_OK;
}

/* NULL: *ret_code says why, and the problem. */
static json_t *parse(const char *text, size_t length, struct intake_problem *problem, int *ret_code)
{
    json_error_t where;
    (void)json_memory_was_short(); /* that was another's */
    json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);
    if (json_memory_was_short()) {
        json_decref(object);
        *ret_code = LULL_ERR_MEMORY;
        return NULL;
    }
    if (!object) {
        struct lull_webpush_error error = {""};
        *ret_code = refuse_json(&error, &where);
        (void)intake_refuse(problem, *ret_code, "", "%s", error.text);
    }
    return object;
}

int intake_read(struct intake *intake, const char *text, size_t length,
                const struct intake_call *call, struct job_put **ret_put,
                char ret_warning[INTAKE_WARNING_SIZE], struct intake_problem *ret_problem)
{
    int code = LULL_OK;
    json_t *object = parse(text, length, ret_problem, &code);
    if (!object) {
        return code;
    }
    struct intake_draft draft = {
        .intake = intake,
        .call = call,
        .problem = ret_problem,
        .text = text,
        .length = length,
        .object = object,
        .envelope = {.url = "",
                     .method = "POST",
                     .urgency = "",
                     .topic = "",
                     .key_id = "",
                     .signer = "",
                     .policy = "",
                     .correlation_id = "",
                     .idempotency_key = "",
                     .traceparent = trace_of(call),
                     .content_type = "",
                     .received_ms = call->now_ms},
    };
    code = read_object(&draft, ret_put, ret_warning);
    if (draft.body == intake->scratch && draft.body) {
        OPENSSL_cleanse(intake->scratch, draft.body_length); /* a push's plain text stays nowhere */
    }
    json_decref(object);
    return code;
}

void intake_free(struct job_put *put)
{
    if (put) {
        message_free(put->put.put.message);
        free(put);
    }
}
