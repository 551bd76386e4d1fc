/* vapid_key - a key as the other files of VAPID see it. */
#ifndef LULL_WEBPUSH_VAPID_KEY_H
#define LULL_WEBPUSH_VAPID_KEY_H

#include <openssl/evp.h>

#include "curve.h"
#include "lull/vapid.h"
#include "lull/webpush.h"

#define PUBLIC_TEXT_SIZE LULL_BASE64URL_SIZE(LULL_P256_POINT_SIZE)
#define ES256_SIGNATURE_SIZE 64

struct lull_vapid_key {
    struct pair pair;
    EVP_PKEY *signer; /* the same, for signing */
    char subject[LULL_VAPID_SUBJECT_SIZE];
    char id[LULL_KEY_ID_SIZE];
    char public_text[PUBLIC_TEXT_SIZE]; /* base64url */
};

/* A key from its private part. expected_public NULL: whatever it is. */
int vapid_key_from_private(struct lull_vapid_key **ret_key,
                           const uint8_t private_key[LULL_P256_SCALAR_SIZE],
                           const uint8_t *expected_public, const char *subject,
                           struct lull_webpush_error *error);

/* libcrypto's form of a public key, or with private_key of a pair. NULL: no point, or no memory. */
EVP_PKEY *vapid_pkey(const uint8_t public_key[LULL_P256_POINT_SIZE], const uint8_t *private_key);

/* r and s, 32 bytes each. False: no memory. */
bool vapid_key_sign(const struct lull_vapid_key *key, const void *data, size_t length,
                    uint8_t ret_signature[ES256_SIGNATURE_SIZE]);

#endif
