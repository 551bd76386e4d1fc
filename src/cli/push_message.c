/* push_message - see the header. SPDX-License-Identifier: MIT */
#include "push_message.h"

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

/* Takes the value over, also NULL: one that could not be made. */
static bool set(json_t *object, const char *member, json_t *value)
{
    return json_object_set_new(object, member, value) == 0;
}

static bool set_text(json_t *object, const char *member, const char *text)
{
    return !text || set(object, member, json_string(text));
}

static bool set_base64(json_t *message, const struct message_text *body)
{
    unsigned char *text = malloc(body->length / 3 * 4 + 5);
    if (!text) {
        return false;
    }
    int length = EVP_EncodeBlock(text, (const unsigned char *)body->data, (int)body->length);
    bool is_set = set(message, "body_base64", json_stringn((const char *)text, (size_t)length));
    free(text);
    return is_set;
}

/* As text if it is that; a zero byte has no place in the text of JSON. */
static bool set_body(json_t *message, const struct push_options *options)
{
    const struct message_text *body = &options->body;
    if (options->body_json) {
        return json_object_set(message, "json", options->body_json) == 0;
    }
    if (!body->data) {
        return true;
    }
    json_t *text =
        memchr(body->data, '\0', body->length) ? NULL : json_stringn(body->data, body->length);
    return text ? set(message, "body", text) : set_base64(message, body);
}

static bool set_webhook(json_t *message, const struct push_options *options)
{
    json_t *webhook = json_object();
    return set(message, "webhook", webhook) && set_text(webhook, "url", options->webhook) &&
           set_text(webhook, "method", options->method) &&
           set_text(webhook, "content_type", options->content_type) &&
           set_text(webhook, "sign", options->sign) &&
           (!options->headers || json_object_set(webhook, "headers", options->headers) == 0);
}

static bool set_target(json_t *message, const struct push_options *options)
{
    const struct message_text *subscription = &options->subscription;
    if (options->webhook) {
        return set_webhook(message, options);
    }
    return set(message, "subscription",
               json_loadb(subscription->data, subscription->length, 0, NULL)) &&
           set_text(message, "key", options->key) &&
           (!options->has_padding ||
            set(message, "padding",
                options->padding.is_random ? json_string("random")
                                           : json_integer((json_int_t)options->padding.bytes)));
}

bool push_message_write(const struct push_options *options, struct message_text *ret_text)
{
    json_t *message = json_object();
    bool is_good =
        set_target(message, options) && set_body(message, options) &&
        (options->ttl_s < 0 || set(message, "ttl", json_integer(options->ttl_s))) &&
        (options->delay_s < 0 || set(message, "delay", json_integer(options->delay_s))) &&
        set_text(message, "urgency", options->urgency) &&
        set_text(message, "topic", options->topic) &&
        set_text(message, "policy", options->policy) && set_text(message, "at", options->at) &&
        set_text(message, "correlation_id", options->correlation_id);
    char *text = is_good ? json_dumps(message, JSON_COMPACT) : NULL;
    json_decref(message);
    if (!text) {
        return false;
    }
    *ret_text = (struct message_text){text, strlen(text)};
    return true;
}
