/*
 * intake_draft - a message while it is being read: what its JSON said, checked, before anything is
 * allocated for it. All that it points to is the JSON's, the intake's, the call's or the config's.
 */
#ifndef LULL_SERVER_INTAKE_DRAFT_H
#define LULL_SERVER_INTAKE_DRAFT_H

#include <jansson.h>

#include "envelope.h"
#include "intake_hash.h"
#include "intake_target.h"
#include "lull/subscription.h"

#define INTAKE_HEADER_NAME_MAX 128
#define INTAKE_SECONDS_MAX (INT64_C(28) * 86400) /* of a TTL, and how far ahead */

struct intake {
    const struct config *config;
    const struct lull_vapid_ring *ring;
    struct lull_encryptor *encryptor;
    struct intake_hash hash;
    int64_t push_ttl_ms; /* of the policies that are used where none is named */
    int64_t webhook_ttl_ms;
    uint8_t *scratch; /* a body that is not in the JSON as it is sent */
    size_t scratch_size;
    char header_names[ENVELOPE_HEADERS_MAX][INTAKE_HEADER_NAME_MAX + 1];
};

enum intake_member {
    INTAKE_SUBSCRIPTION,
    INTAKE_WEBHOOK,
    INTAKE_BODY,
    INTAKE_BODY_BASE64,
    INTAKE_JSON,
    INTAKE_TTL,
    INTAKE_URGENCY,
    INTAKE_TOPIC,
    INTAKE_POLICY,
    INTAKE_KEY,
    INTAKE_PADDING,
    INTAKE_AT,
    INTAKE_DELAY,
    INTAKE_CORRELATION_ID,
    INTAKE_IDEMPOTENCY_KEY,
    INTAKE_MEMBERS, /* how many there are */
};

const char *intake_member_name(enum intake_member member);

struct intake_draft {
    struct intake *intake;
    const struct intake_call *call;
    struct intake_problem *problem;
    const char *text; /* the JSON, and what was read from it */
    size_t length;
    const json_t *object;
    const json_t *members[INTAKE_MEMBERS];

    enum lull_kind kind;
    enum message_urgency urgency;
    struct intake_target target;
    struct lull_subscription subscription; /* of a push */
    struct envelope envelope;
    enum intake_member body_member; /* where there is a body */
    bool has_body;
    const void *body; /* plain */
    size_t body_length;
    size_t padding;
    int64_t ttl_ms;
    int64_t due_ms;
};

/* The policy's TTL, or what a message of this kind has (T1): all end at some time. */
int64_t intake_ttl_of(const struct lull_policy *policy, enum lull_kind kind);

/* Each reads its members, and returns LULL_OK or what intake_read does. */
int intake_read_push(struct intake_draft *draft);     /* subscription, key */
int intake_read_webhook(struct intake_draft *draft);  /* webhook */
int intake_read_body(struct intake_draft *draft);     /* body, body_base64, json */
int intake_read_padding(struct intake_draft *draft);  /* after the body */
int intake_read_delivery(struct intake_draft *draft); /* urgency, topic, policy, ttl, at, delay */
int intake_read_names(struct intake_draft *draft);    /* correlation_id, idempotency_key */

/* Of a push: the length of the body as it is sent; and writes it there. LULL_ERR_RANGE: p256dh is
 * no point. */
size_t intake_sealed_length(const struct intake_draft *draft);
int intake_seal(struct intake_draft *draft, uint8_t *ret_body);

#endif
