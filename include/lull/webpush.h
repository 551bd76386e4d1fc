/*
 * webpush - the body of a Web Push message: RFC 8291 on RFC 8188's aes128gcm (W1, W3). Library:
 * liblull-webpush, with subscription.h, vapid.h and webhook.h.
 *
 *   lull_encryptor_new -> lull_push_encrypt ... -> lull_encryptor_destroy
 *
 * An encryptor holds the curve and the cipher's contexts, and may hold key pairs that were made
 * ahead in idle time. It belongs to one thread at a time. Every message has a key pair and a salt
 * of its own; a pair is used once and wiped, and a forked child finds none of its parent's.
 */
#ifndef LULL_WEBPUSH_H
#define LULL_WEBPUSH_H

#include <stddef.h>
#include <stdint.h>

#include "lull/api.h"
#include "lull/subscription.h"
#include "lull/vapid.h"
#include "lull/webhook.h"

LULL_BEGIN_DECLS

#define LULL_PUSH_BODY_MAX 4096
#define LULL_PUSH_HEADER_SIZE 86 /* salt, record size, and the public key as key id */
#define LULL_PUSH_OVERHEAD 103   /* that, the delimiter and the tag */
#define LULL_PUSH_TEXT_MAX 3993  /* plain text and padding together */

struct lull_encryptor;

/* keys_max: how many key pairs may be made ahead, 0 to 4096. LULL_ERR_RANGE, LULL_ERR_MEMORY. */
LULL_API int lull_encryptor_new(struct lull_encryptor **ret_encryptor, size_t keys_max);
LULL_API void lull_encryptor_destroy(struct lull_encryptor *encryptor); /* NULL is fine */

/* Makes up to count key pairs ahead. Returns how many are there now. */
LULL_API size_t lull_encryptor_prepare(struct lull_encryptor *encryptor, size_t count);

/* Writes length + padding + LULL_PUSH_OVERHEAD bytes to ret_body, which has room for
 * LULL_PUSH_BODY_MAX, and their number to *ret_length. p256dh is checked to be on the curve.
 * LULL_ERR_RANGE: text and padding are over LULL_PUSH_TEXT_MAX, or p256dh is no point;
 * LULL_ERR_MEMORY. */
LULL_API int lull_push_encrypt(struct lull_encryptor *encryptor,
                               const uint8_t p256dh[LULL_P256_POINT_SIZE],
                               const uint8_t auth[LULL_PUSH_AUTH_SIZE], const void *text,
                               size_t length, size_t padding, uint8_t *ret_body,
                               size_t *ret_length);

/* The receiver's side, for tests and for practice: its private key, and the auth secret. ret_text
 * has room for length bytes; nothing unverified is left in it. LULL_ERR_SYNTAX: not of that form,
 * or not for this receiver, or changed on the way; LULL_ERR_RANGE: a bad key; LULL_ERR_MEMORY. */
LULL_API int lull_push_decrypt(struct lull_encryptor *encryptor,
                               const uint8_t private_key[LULL_P256_SCALAR_SIZE],
                               const uint8_t auth[LULL_PUSH_AUTH_SIZE], const uint8_t *body,
                               size_t length, uint8_t *ret_text, size_t *ret_length);

/* A receiver's key pair, as a browser makes one. LULL_ERR_MEMORY. */
LULL_API int lull_push_keypair(struct lull_encryptor *encryptor,
                               uint8_t ret_private[LULL_P256_SCALAR_SIZE],
                               uint8_t ret_public[LULL_P256_POINT_SIZE]);

/* Base64url without padding, as the web uses it for keys. out has room for
 * LULL_BASE64URL_SIZE(length). Returns the length of the text. */
#define LULL_BASE64URL_SIZE(length) (((length) + 2) / 3 * 4 + 1)
LULL_API size_t lull_base64url_encode(const void *data, size_t length, char *out);

/* Base64url or base64, padded or not. out has room for size bytes. LULL_ERR_SYNTAX: not such text;
 * LULL_ERR_FULL: there is more than size. */
LULL_API int lull_base64_decode(const char *text, size_t length, uint8_t *out, size_t size,
                                size_t *ret_length);

LULL_END_DECLS

#endif
