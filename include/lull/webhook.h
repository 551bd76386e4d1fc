/*
 * webhook - the signature headers of Standard Webhooks (W4). Library: liblull-webpush.
 *
 * What is signed is "id.timestamp.body". A message may carry several signatures, so that a secret
 * can be changed while receivers still know the old one: `v1,` and an HMAC-SHA-256, `v1a,` and an
 * Ed25519 signature, separated by spaces.
 */
#ifndef LULL_WEBHOOK_H
#define LULL_WEBHOOK_H

#include <stddef.h>
#include <stdint.h>

#include "lull/api.h"

LULL_BEGIN_DECLS

enum lull_webhook_secret_kind {
    LULL_WEBHOOK_HMAC,            /* whsec_ and base64 of 24 to 64 bytes: signs and verifies */
    LULL_WEBHOOK_ED25519_PRIVATE, /* whsk_ and base64 of 32 bytes, or 64 with the public key */
    LULL_WEBHOOK_ED25519_PUBLIC,  /* whpk_ and base64 of 32 bytes: verifies only */
};

struct lull_webhook_secret {
    enum lull_webhook_secret_kind kind;
    size_t length; /* of the key */
    uint8_t key[64];
};

#define LULL_WEBHOOK_SECRETS_MAX 8
#define LULL_WEBHOOK_SIGNATURE_SIZE 800 /* for as many signatures, and the final zero */
#define LULL_WEBHOOK_TOLERANCE_S 300

/* LULL_ERR_SYNTAX: no such prefix, or no base64 behind it; LULL_ERR_RANGE: a wrong length, or a
 * public key in a whsk_ that is not its own; LULL_ERR_MEMORY. */
LULL_API int lull_webhook_secret_parse(struct lull_webhook_secret *ret_secret, const char *text,
                                       size_t length);

/* The value of webhook-signature, one signature for each secret. The caller sends id and
 * timestamp_s as webhook-id and webhook-timestamp. LULL_ERR_RANGE: no secret or over
 * LULL_WEBHOOK_SECRETS_MAX, an id with nothing in it or with a dot, a space or what is no printable
 * ASCII, a time before 1970, a public key; LULL_ERR_MEMORY. */
LULL_API int lull_webhook_sign(const struct lull_webhook_secret *secrets, size_t secret_count,
                               const char *id, int64_t timestamp_s, const void *body, size_t length,
                               char ret_signature[LULL_WEBHOOK_SIGNATURE_SIZE]);

/* Is any signature of the header by any of the secrets, and the timestamp within tolerance_s of
 * now_s? LULL_ERR_SYNTAX: a timestamp that is no number; LULL_ERR_RANGE: too old or too new;
 * LULL_ERR_UNKNOWN: no signature fits, or the id is none that could be signed (with a dot in it,
 * part of a body could pass for the timestamp); LULL_ERR_MEMORY. Compared in constant time. */
LULL_API int lull_webhook_verify(const struct lull_webhook_secret *secrets, size_t secret_count,
                                 const char *id, const char *timestamp, const char *signature,
                                 const void *body, size_t length, int64_t now_s,
                                 int64_t tolerance_s);

LULL_END_DECLS

#endif
