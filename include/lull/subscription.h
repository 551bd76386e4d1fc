/*
 * subscription - a browser's push subscription, read from the JSON that PushSubscription.toJSON()
 * gives (S1, S3). Library: liblull-webpush.
 *
 * What is accepted here can be sent to: the endpoint is an absolute http or https URL, p256dh is a
 * point on P-256, auth has 16 bytes. Nothing in an error repeats a value: an endpoint and its keys
 * are secrets.
 */
#ifndef LULL_SUBSCRIPTION_H
#define LULL_SUBSCRIPTION_H

#include <stddef.h>
#include <stdint.h>

#include "lull/api.h"
#include "lull/vendor.h"

LULL_BEGIN_DECLS

#define LULL_P256_POINT_SIZE 65 /* uncompressed: 4, x, y */
#define LULL_P256_SCALAR_SIZE 32
#define LULL_PUSH_AUTH_SIZE 16
#define LULL_ENDPOINT_SIZE 2049 /* the longest endpoint, and the final zero */

/* What was wrong, in a sentence, with the field that it was wrong in. */
struct lull_webpush_error {
    char text[160];
};

struct lull_subscription {
    char endpoint[LULL_ENDPOINT_SIZE]; /* byte for byte as given (V4) */
    uint8_t p256dh[LULL_P256_POINT_SIZE];
    uint8_t auth[LULL_PUSH_AUTH_SIZE];
    int64_t expires_ms;      /* expirationTime, wall clock; LULL_NEVER: none */
    enum lull_vendor vendor; /* by the endpoint's host; INVALID is gone already (S6) */
};

/* error may be NULL. Base64url and base64, with and without padding. LULL_ERR_SYNTAX: no JSON, or
 * not of that shape; LULL_ERR_RANGE: a value that cannot be sent to; LULL_ERR_MEMORY. */
LULL_API int lull_subscription_parse(struct lull_subscription *ret_subscription, const char *text,
                                     size_t length, struct lull_webpush_error *error);

/* The origin of an endpoint, as a VAPID `aud` wants it: scheme and host in lower case, the port
 * only where it is not the default (W8). LULL_ERR_SYNTAX: no such URL, or a host that is not in
 * ASCII (a URL has the xn-- form); LULL_ERR_FULL: too long. */
#define LULL_ORIGIN_SIZE 300
LULL_API int lull_endpoint_origin(const char *endpoint, char ret_origin[LULL_ORIGIN_SIZE]);

/* "sha256:" and hex: how logs and reports name an endpoint (L1). */
#define LULL_ENDPOINT_HASH_SIZE 72
LULL_API void lull_endpoint_hash(const char *endpoint, char ret_hash[LULL_ENDPOINT_HASH_SIZE]);

LULL_END_DECLS

#endif
