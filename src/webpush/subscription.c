/* subscription - see lull/subscription.h. SPDX-License-Identifier: MIT */
#include "lull/subscription.h"

#include <jansson.h>
#include <string.h>

#include "curve.h"
#include "lull/duration.h"
#include "lull/webpush.h"
#include "refuse_json.h"
#include "subscription_json.h"

#define EXPIRES_MAX_MS 8.64e15 /* what a date in JavaScript can hold */

static int read_endpoint(struct lull_subscription *subscription, const json_t *object,
                         struct lull_webpush_error *error)
{
    const json_t *value = json_object_get(object, "endpoint");
    if (!value) {
        return refuse(error, LULL_ERR_SYNTAX, "endpoint is missing");
    }
    if (!json_is_string(value)) {
        return refuse(error, LULL_ERR_SYNTAX, "endpoint must be a string");
    }
    const char *text = json_string_value(value);
    size_t length = json_string_length(value);
    const char *host = NULL;
    size_t host_length = 0;
    char origin[LULL_ORIGIN_SIZE];
    if (length >= sizeof subscription->endpoint) {
        return refuse(error, LULL_ERR_RANGE, "endpoint has %zu bytes, at most %zu are accepted",
                      length, sizeof subscription->endpoint - 1);
    }
    int code = strlen(text) != length ? LULL_ERR_SYNTAX : lull_endpoint_origin(text, origin);
    if (code == LULL_ERR_FULL) { /* a token could not name it */
        return refuse(error, LULL_ERR_RANGE, "endpoint has a host that is too long");
    }
    if (code != LULL_OK || lull_url_host(text, length, &host, &host_length) != LULL_OK) {
        return refuse(error, LULL_ERR_RANGE,
                      "endpoint must be an absolute https (or http) URL with a host in ASCII, "
                      "without user, spaces or controls");
    }
    memcpy(subscription->endpoint, text, length + 1);
    subscription->vendor = lull_vendor_from_host(host, host_length);
    return LULL_OK;
}

/* The bytes of keys.NAME, which must be so many. */
static int read_key(const json_t *keys, const char *name, uint8_t *out, size_t size,
                    struct lull_webpush_error *error)
{
    uint8_t bytes[LULL_P256_POINT_SIZE + 1];
    size_t length = 0;
    const json_t *value = json_object_get(keys, name);
    if (!value) {
        return refuse(error, LULL_ERR_SYNTAX, "keys.%s is missing", name);
    }
    if (!json_is_string(value)) {
        return refuse(error, LULL_ERR_SYNTAX, "keys.%s must be a string", name);
    }
    int code = lull_base64_decode(json_string_value(value), json_string_length(value), bytes,
                                  sizeof bytes, &length);
    if (code == LULL_ERR_SYNTAX) {
        return refuse(error, LULL_ERR_RANGE, "keys.%s is not base64url", name);
    }
    if (code != LULL_OK || length != size) {
        return refuse(error, LULL_ERR_RANGE, "keys.%s must have %zu bytes, it has %s%zu", name,
                      size, code == LULL_OK ? "" : "over ",
                      code == LULL_OK ? length : sizeof bytes);
    }
    memcpy(out, bytes, size);
    return LULL_OK;
}

static int check_point(const uint8_t point[LULL_P256_POINT_SIZE], struct lull_webpush_error *error)
{
    struct curve curve;
    bool is_ready = curve_init(&curve);
    bool is_point = is_ready && curve_is_point(&curve, point);
    curve_clean_up(&curve);
    if (!is_ready) {
        return refuse_memory(error);
    }
    return is_point ? LULL_OK : refuse(error, LULL_ERR_RANGE, SUBSCRIPTION_NO_POINT);
}

static int read_expiration(struct lull_subscription *subscription, const json_t *object,
                           struct lull_webpush_error *error)
{
    const json_t *value = json_object_get(object, "expirationTime");
    subscription->expires_ms = LULL_NEVER;
    if (!value || json_is_null(value)) {
        return LULL_OK;
    }
    double ms = json_number_value(value);
    if (!json_is_number(value) || !(ms >= 0 && ms <= EXPIRES_MAX_MS)) {
        return refuse(error, LULL_ERR_RANGE,
                      "expirationTime must be null or milliseconds since 1970");
    }
    subscription->expires_ms = (int64_t)ms;
    return LULL_OK;
}

int subscription_read(struct lull_subscription *subscription, const json_t *object,
                      const char **ret_member, struct lull_webpush_error *error)
{
    *ret_member = "";
    if (!json_is_object(object)) {
        return refuse(error, LULL_ERR_SYNTAX,
                      "a subscription is a JSON object with endpoint and keys");
    }
    *ret_member = "endpoint";
    int code = read_endpoint(subscription, object, error);
    if (code != LULL_OK) {
        return code;
    }
    *ret_member = "keys";
    const json_t *keys = json_object_get(object, "keys");
    if (!json_is_object(keys)) {
        return refuse(error, LULL_ERR_SYNTAX, "keys %s",
                      keys ? "must be an object with p256dh and auth" : "is missing");
    }
    *ret_member = "keys.p256dh";
    code = read_key(keys, "p256dh", subscription->p256dh, sizeof subscription->p256dh, error);
    if (code != LULL_OK) {
        return code;
    }
    *ret_member = "keys.auth";
    code = read_key(keys, "auth", subscription->auth, sizeof subscription->auth, error);
    if (code != LULL_OK) {
        return code;
    }
    *ret_member = "expirationTime";
    return read_expiration(subscription, object, error);
}

int lull_subscription_parse(struct lull_subscription *ret_subscription, const char *text,
                            size_t length, struct lull_webpush_error *error)
{
    struct lull_subscription subscription = {0};
    const char *ignored = NULL;
    json_error_t where;
    json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &where);
    if (!object) {
        return refuse_json(error, &where);
    }
    int code = subscription_read(&subscription, object, &ignored, error);
    json_decref(object);
    code = code != LULL_OK ? code : check_point(subscription.p256dh, error);
    if (code == LULL_OK) {
        *ret_subscription = subscription;
    }
    return code;
}
