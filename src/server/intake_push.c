/* intake_push - what is special about a Web Push: its subscription, key, padding and encryption
 * (W1, W3, S3). SPDX-License-Identifier: MIT */
#include <openssl/rand.h>
#include <stdio.h>
#include <string.h>

#include "encryptor.h"
#include "intake_draft.h"
#include "json_member.h"
#include "lull/error.h"
#include "lull/webpush.h"
#include "subscription_json.h"

static int refuse_no_point(struct intake_draft *draft)
{
    return intake_refuse(draft->problem, LULL_ERR_RANGE, "subscription.keys.p256dh",
                         "subscription." SUBSCRIPTION_NO_POINT);
}

static int read_subscription(struct intake_draft *draft)
{
    const char *member = NULL;
    char path[sizeof draft->problem->member];
    struct lull_webpush_error error;
    struct lull_subscription *subscription = &draft->subscription;
    int code =
        subscription_read(subscription, draft->members[INTAKE_SUBSCRIPTION], &member, &error);
    if (code != LULL_OK) {
        (void)snprintf(path, sizeof path, "subscription%s%s", *member ? "." : "", member);
        return intake_refuse(draft->problem, code, path, "%s%s", *member ? "subscription." : "",
                             error.text);
    }
    draft->envelope.url = subscription->endpoint;
    return intake_target_read(&draft->target, draft->intake->config, LULL_KIND_PUSH,
                              subscription->endpoint, "subscription.endpoint", draft->problem);
}

/* The id is kept also where none was said: the queue may outlive the order of the keys (S5). */
static int read_key(struct intake_draft *draft)
{
    const json_t *value = draft->members[INTAKE_KEY];
    const char *id = NULL;
    int code =
        value ? json_member_text(value, "key", LULL_KEY_ID_SIZE - 1, &id, draft->problem) : LULL_OK;
    if (code != LULL_OK) {
        return code;
    }
    const struct lull_vapid_key *key = lull_vapid_ring_find(draft->intake->ring, id);
    if (!key) {
        return intake_refuse(draft->problem, LULL_ERR_UNKNOWN, "key",
                             "key must be the id of a VAPID key that this server has");
    }
    draft->envelope.key_id = lull_vapid_key_id(key);
    return LULL_OK;
}

int intake_read_push(struct intake_draft *draft)
{
    int code = read_subscription(draft);
    return code != LULL_OK ? code : read_key(draft);
}

/* Somewhere between nothing and all that fits (W3). */
static int draw_padding(struct intake_draft *draft)
{
    uint32_t number = 0;
    if (RAND_bytes((unsigned char *)&number, sizeof number) != 1) {
        return LULL_ERR_MEMORY;
    }
    draft->padding = number % (LULL_PUSH_TEXT_MAX - draft->body_length + 1);
    return LULL_OK;
}

static int read_padding(struct intake_draft *draft, const json_t *value, bool *ret_is_random)
{
    const char *word = json_member_word(value);
    int64_t count = 0;
    *ret_is_random = word && strcmp(word, "random") == 0;
    if (*ret_is_random) {
        return LULL_OK;
    }
    if (json_member_count(value, "padding", LULL_PUSH_TEXT_MAX, "bytes", &count, draft->problem) !=
        LULL_OK) {
        return intake_refuse(draft->problem, LULL_ERR_RANGE, "padding",
                             "padding must be a whole number of bytes from 0 to %d, or \"random\"",
                             LULL_PUSH_TEXT_MAX);
    }
    draft->padding = (size_t)count;
    return LULL_OK;
}

int intake_read_padding(struct intake_draft *draft)
{
    const json_t *value = draft->members[INTAKE_PADDING];
    bool is_random = false;
    int code = value ? read_padding(draft, value, &is_random) : LULL_OK;
    if (code != LULL_OK) {
        return code;
    }
    if (value && !draft->has_body) {
        return intake_refuse(draft->problem, LULL_ERR_RANGE, "padding",
                             "padding is of a body, and there is none");
    }
    if (draft->body_length > LULL_PUSH_TEXT_MAX) {
        return intake_refuse_size(draft->problem, intake_member_name(draft->body_member),
                                  "%s has %zu bytes, at most %d fit into a push",
                                  intake_member_name(draft->body_member), draft->body_length,
                                  LULL_PUSH_TEXT_MAX);
    }
    if (draft->padding > LULL_PUSH_TEXT_MAX - draft->body_length) {
        return intake_refuse_size(draft->problem, "padding",
                                  "%s and padding have %zu bytes, at most %d fit into a push",
                                  intake_member_name(draft->body_member),
                                  draft->body_length + draft->padding, LULL_PUSH_TEXT_MAX);
    }
    return is_random ? draw_padding(draft) : LULL_OK;
}

size_t intake_sealed_length(const struct intake_draft *draft)
{
    return draft->has_body ? draft->body_length + draft->padding + LULL_PUSH_OVERHEAD : 0;
}

/* Where there is nothing to encrypt, the point is checked by itself: a subscription is good or not,
 * whatever is sent to it. */
int intake_seal(struct intake_draft *draft, uint8_t *ret_body)
{
    struct lull_encryptor *encryptor = draft->intake->encryptor;
    const struct lull_subscription *subscription = &draft->subscription;
    size_t length = 0;
    int code = LULL_OK;
    if (draft->has_body) {
        code = lull_push_encrypt(encryptor, subscription->p256dh, subscription->auth, draft->body,
                                 draft->body_length, draft->padding, ret_body, &length);
    } else if (!encryptor_is_point(encryptor, subscription->p256dh)) {
        code = LULL_ERR_RANGE;
    }
    return code == LULL_ERR_RANGE ? refuse_no_point(draft) : code;
}
