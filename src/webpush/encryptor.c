/* encryptor - RFC 8291: see lull/webpush.h. SPDX-License-Identifier: MIT */
#include "encryptor.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#include "lull/error.h"
#include "reserve.h"

#define KEYS_MAX 4096
#define SECRET_SIZE 32

struct lull_encryptor {
    struct curve curve;
    struct aes128gcm coding;
    struct reserve reserve;
};

int lull_encryptor_new(struct lull_encryptor **ret_encryptor, size_t keys_max)
{
    if (keys_max > KEYS_MAX) {
        return LULL_ERR_RANGE;
    }
    struct lull_encryptor *encryptor = calloc(1, sizeof *encryptor);
    if (!encryptor) {
        return LULL_ERR_MEMORY;
    }
    if (!curve_init(&encryptor->curve) || !aes128gcm_init(&encryptor->coding) ||
        !reserve_init(&encryptor->reserve, keys_max)) {
        lull_encryptor_destroy(encryptor);
        return LULL_ERR_MEMORY;
    }
    *ret_encryptor = encryptor;
    return LULL_OK;
}

void lull_encryptor_destroy(struct lull_encryptor *encryptor)
{
    if (encryptor) {
        reserve_clean_up(&encryptor->reserve);
        curve_clean_up(&encryptor->curve);
        aes128gcm_clean_up(&encryptor->coding);
        free(encryptor);
    }
}

size_t lull_encryptor_prepare(struct lull_encryptor *encryptor, size_t count)
{
    return reserve_prepare(&encryptor->reserve, &encryptor->curve, count);
}

bool encryptor_is_point(struct lull_encryptor *encryptor,
                        const uint8_t p256dh[LULL_P256_POINT_SIZE])
{
    bool is_point = curve_is_point(&encryptor->curve, p256dh);
    /* Asked again, as below: a good subscription is not called bad for want of memory. */
    return is_point || curve_is_point(&encryptor->curve, p256dh);
}

/* The secret of RFC 8291's section 3.4, which both sides come to. */
static bool derive_secret(struct lull_encryptor *encryptor, const uint8_t *private_key,
                          const uint8_t *peer, const uint8_t *receiver, const uint8_t *sender,
                          const uint8_t auth[LULL_PUSH_AUTH_SIZE], uint8_t ret_secret[SECRET_SIZE])
{
    static const char label[] = "WebPush: info"; /* with its final zero */
    uint8_t info[sizeof label + (size_t)2 * LULL_P256_POINT_SIZE];
    uint8_t shared[LULL_P256_SCALAR_SIZE];
    uint8_t key[SHA256_SIZE];
    memcpy(info, label, sizeof label);
    memcpy(info + sizeof label, receiver, LULL_P256_POINT_SIZE);
    memcpy(info + sizeof label + LULL_P256_POINT_SIZE, sender, LULL_P256_POINT_SIZE);
    struct hkdf *hkdf = &encryptor->coding.hkdf;
    bool is_good = curve_shared(&encryptor->curve, private_key, peer, shared) &&
                   hkdf_extract(hkdf, auth, LULL_PUSH_AUTH_SIZE, shared, sizeof shared, key) &&
                   hkdf_expand(hkdf, key, info, sizeof info, ret_secret, SECRET_SIZE);
    OPENSSL_cleanse(shared, sizeof shared);
    OPENSSL_cleanse(key, sizeof key);
    return is_good;
}

int encrypt_with(struct lull_encryptor *encryptor, const struct pair *pair,
                 const uint8_t salt[AES128GCM_SALT_SIZE],
                 const uint8_t p256dh[LULL_P256_POINT_SIZE],
                 const uint8_t auth[LULL_PUSH_AUTH_SIZE], const void *text, size_t length,
                 size_t padding, uint8_t *ret_body, size_t *ret_length)
{
    uint8_t secret[SECRET_SIZE];
    if (length > LULL_PUSH_TEXT_MAX || padding > LULL_PUSH_TEXT_MAX - length) {
        return LULL_ERR_RANGE;
    }
    bool is_good =
        derive_secret(encryptor, pair->private_key, p256dh, p256dh, pair->public_key, auth, secret);
    if (!is_good && !curve_is_point(&encryptor->curve, p256dh)) {
        return LULL_ERR_RANGE; /* else it was memory: a good subscription is not called bad */
    }
    is_good = is_good && aes128gcm_seal(&encryptor->coding, salt, secret, sizeof secret,
                                        LULL_PUSH_BODY_MAX, pair->public_key,
                                        sizeof pair->public_key, text, length, padding, ret_body);
    OPENSSL_cleanse(secret, sizeof secret);
    if (!is_good) {
        return LULL_ERR_MEMORY;
    }
    *ret_length = length + padding + LULL_PUSH_OVERHEAD;
    return LULL_OK;
}

int lull_push_encrypt(struct lull_encryptor *encryptor, const uint8_t p256dh[LULL_P256_POINT_SIZE],
                      const uint8_t auth[LULL_PUSH_AUTH_SIZE], const void *text, size_t length,
                      size_t padding, uint8_t *ret_body, size_t *ret_length)
{
    uint8_t salt[AES128GCM_SALT_SIZE];
    struct pair pair;
    if (!reserve_take_salt(&encryptor->reserve, salt) ||
        !reserve_take_pair(&encryptor->reserve, &encryptor->curve, &pair)) {
        return LULL_ERR_MEMORY;
    }
    int error = encrypt_with(encryptor, &pair, salt, p256dh, auth, text, length, padding, ret_body,
                             ret_length);
    OPENSSL_cleanse(&pair, sizeof pair);
    return error;
}

int lull_push_decrypt(struct lull_encryptor *encryptor,
                      const uint8_t private_key[LULL_P256_SCALAR_SIZE],
                      const uint8_t auth[LULL_PUSH_AUTH_SIZE], const uint8_t *body, size_t length,
                      uint8_t *ret_text, size_t *ret_length)
{
    uint8_t secret[SECRET_SIZE];
    uint8_t receiver[LULL_P256_POINT_SIZE];
    struct aes128gcm_header header;
    if (!curve_public(&encryptor->curve, private_key, receiver)) {
        return LULL_ERR_RANGE;
    }
    /* RFC 8291, section 4: one record, and the sender's public key as its key id. */
    if (!aes128gcm_read_header(body, length, &header) ||
        header.key_id_length != LULL_P256_POINT_SIZE || length - header.size > header.record_size ||
        !derive_secret(encryptor, private_key, header.key_id, receiver, header.key_id, auth,
                       secret)) {
        return LULL_ERR_SYNTAX;
    }
    bool is_good = aes128gcm_open(&encryptor->coding, &header, secret, sizeof secret, body, length,
                                  ret_text, ret_length);
    OPENSSL_cleanse(secret, sizeof secret);
    return is_good ? LULL_OK : LULL_ERR_SYNTAX;
}

int lull_push_keypair(struct lull_encryptor *encryptor, uint8_t ret_private[LULL_P256_SCALAR_SIZE],
                      uint8_t ret_public[LULL_P256_POINT_SIZE])
{
    struct pair pair;
    if (!curve_make_pair(&encryptor->curve, &pair)) {
        return LULL_ERR_MEMORY;
    }
    memcpy(ret_private, pair.private_key, sizeof pair.private_key);
    memcpy(ret_public, pair.public_key, sizeof pair.public_key);
    OPENSSL_cleanse(&pair, sizeof pair);
    return LULL_OK;
}
