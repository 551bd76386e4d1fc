/*
 * aes128gcm - RFC 8188's content coding: one record sealed, any number opened.
 *
 *   salt (16) | record size (4) | key id length (1) | key id | records
 */
#ifndef LULL_WEBPUSH_AES128GCM_H
#define LULL_WEBPUSH_AES128GCM_H

#include <openssl/evp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hkdf.h"

#define AES128GCM_SALT_SIZE 16
#define AES128GCM_TAG_SIZE 16
#define AES128GCM_FIXED_SIZE 21 /* the header without its key id */

struct aes128gcm {
    EVP_CIPHER *cipher;
    EVP_CIPHER_CTX *context;
    struct hkdf hkdf;
};

struct aes128gcm_header {
    const uint8_t *salt;
    uint32_t record_size;
    const uint8_t *key_id;
    size_t key_id_length;
    size_t size; /* of all of it */
};

bool aes128gcm_init(struct aes128gcm *coding); /* false: no memory */
void aes128gcm_clean_up(struct aes128gcm *coding);

/* Writes header and one record: AES128GCM_FIXED_SIZE + key_id_length + length + 1 + padding +
 * AES128GCM_TAG_SIZE bytes, all of which must fit a record of record_size. */
bool aes128gcm_seal(struct aes128gcm *coding, const uint8_t salt[AES128GCM_SALT_SIZE],
                    const uint8_t *secret, size_t secret_length, uint32_t record_size,
                    const uint8_t *key_id, size_t key_id_length, const uint8_t *text, size_t length,
                    size_t padding, uint8_t *ret_body);

/* Points into body. False: too short, or a record size that no record fits in. */
bool aes128gcm_read_header(const uint8_t *body, size_t length, struct aes128gcm_header *ret_header);

/* Opens all records behind the header. ret_text has room for length bytes. False: broken off, put
 * together from others, or changed; what was decrypted until then is wiped. */
bool aes128gcm_open(struct aes128gcm *coding, const struct aes128gcm_header *header,
                    const uint8_t *secret, size_t secret_length, const uint8_t *body, size_t length,
                    uint8_t *ret_text, size_t *ret_length);

#endif
