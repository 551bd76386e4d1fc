/* encryptor - what is behind lull/webpush.h: for the server, and for tests. */
#ifndef LULL_WEBPUSH_ENCRYPTOR_H
#define LULL_WEBPUSH_ENCRYPTOR_H

#include "aes128gcm.h"
#include "curve.h"
#include "lull/webpush.h"

/* For a subscription to which nothing is encrypted: is it one that could be? */
bool encryptor_is_point(struct lull_encryptor *encryptor,
                        const uint8_t p256dh[LULL_P256_POINT_SIZE]);

/* With a fixed key pair and salt, for published vectors alone. As lull_push_encrypt. Whoever uses a
 * pair or a salt twice gives the text away. */
int encrypt_with(struct lull_encryptor *encryptor, const struct pair *pair,
                 const uint8_t salt[AES128GCM_SALT_SIZE],
                 const uint8_t p256dh[LULL_P256_POINT_SIZE],
                 const uint8_t auth[LULL_PUSH_AUTH_SIZE], const void *text, size_t length,
                 size_t padding, uint8_t *ret_body, size_t *ret_length);

#endif
