/* aes128gcm - see the header. SPDX-License-Identifier: MIT */
#include "aes128gcm.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <string.h>

#define KEY_SIZE 16
#define NONCE_SIZE 12
#define RECORD_SIZE_MIN 18 /* a delimiter and a tag, and one byte, by the RFC */

/* What stands behind the text in the last record, and in all others. */
enum delimiter { DELIMITER_MORE = 1, DELIMITER_LAST = 2 };

struct record_keys {
    uint8_t key[KEY_SIZE];
    uint8_t nonce[NONCE_SIZE];
};

bool aes128gcm_init(struct aes128gcm *coding)
{
    coding->cipher = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
    coding->context = EVP_CIPHER_CTX_new();
    return hkdf_init(&coding->hkdf) && coding->cipher && coding->context;
}

void aes128gcm_clean_up(struct aes128gcm *coding)
{
    hkdf_clean_up(&coding->hkdf);
    EVP_CIPHER_CTX_free(coding->context);
    EVP_CIPHER_free(coding->cipher);
    *coding = (struct aes128gcm){0};
}

static bool derive(struct aes128gcm *coding, const uint8_t salt[AES128GCM_SALT_SIZE],
                   const uint8_t *secret, size_t secret_length, struct record_keys *ret_keys)
{
    /* With the final zero, which the RFC counts in. */
    static const uint8_t key_info[] = "Content-Encoding: aes128gcm";
    static const uint8_t nonce_info[] = "Content-Encoding: nonce";
    uint8_t key[SHA256_SIZE];
    bool is_good =
        hkdf_extract(&coding->hkdf, salt, AES128GCM_SALT_SIZE, secret, secret_length, key) &&
        hkdf_expand(&coding->hkdf, key, key_info, sizeof key_info, ret_keys->key, KEY_SIZE) &&
        hkdf_expand(&coding->hkdf, key, nonce_info, sizeof nonce_info, ret_keys->nonce, NONCE_SIZE);
    OPENSSL_cleanse(key, sizeof key);
    return is_good;
}

static void put_u32(uint8_t *out, uint32_t number)
{
    for (int i = 0; i < 4; i++) {
        out[i] = (uint8_t)(number >> (24 - 8 * i));
    }
}

/* In place: out is filled with what is to be encrypted, and then with what came of it. */
static bool seal_record(struct aes128gcm *coding, const struct record_keys *keys,
                        const uint8_t *text, size_t length, size_t padding, uint8_t *out)
{
    EVP_CIPHER_CTX *context = coding->context;
    int written = 0;
    size_t size = length + 1 + padding;
    if (length > 0) {
        memmove(out, text, length);
    }
    out[length] = DELIMITER_LAST;
    memset(out + length + 1, 0, padding);
    return EVP_EncryptInit_ex2(context, coding->cipher, keys->key, keys->nonce, NULL) &&
           EVP_EncryptUpdate(context, out, &written, out, (int)size) &&
           EVP_EncryptFinal_ex(context, out + written, &written) &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, AES128GCM_TAG_SIZE, out + size);
}

bool aes128gcm_seal(struct aes128gcm *coding, const uint8_t salt[AES128GCM_SALT_SIZE],
                    const uint8_t *secret, size_t secret_length, uint32_t record_size,
                    const uint8_t *key_id, size_t key_id_length, const uint8_t *text, size_t length,
                    size_t padding, uint8_t *ret_body)
{
    struct record_keys keys;
    if (key_id_length > UINT8_MAX || length > INT_MAX || padding > INT_MAX ||
        length + 1 + padding + AES128GCM_TAG_SIZE > record_size) {
        return false;
    }
    memcpy(ret_body, salt, AES128GCM_SALT_SIZE);
    put_u32(ret_body + AES128GCM_SALT_SIZE, record_size);
    ret_body[AES128GCM_SALT_SIZE + 4] = (uint8_t)key_id_length;
    if (key_id_length > 0) {
        memcpy(ret_body + AES128GCM_FIXED_SIZE, key_id, key_id_length);
    }
    bool is_good = derive(coding, salt, secret, secret_length, &keys) &&
                   seal_record(coding, &keys, text, length, padding,
                               ret_body + AES128GCM_FIXED_SIZE + key_id_length);
    OPENSSL_cleanse(&keys, sizeof keys);
    return is_good;
}

bool aes128gcm_read_header(const uint8_t *body, size_t length, struct aes128gcm_header *ret_header)
{
    if (length < AES128GCM_FIXED_SIZE) {
        return false;
    }
    const uint8_t *number = body + AES128GCM_SALT_SIZE;
    struct aes128gcm_header header = {
        .salt = body,
        .record_size = (uint32_t)number[0] << 24 | (uint32_t)number[1] << 16 |
                       (uint32_t)number[2] << 8 | number[3],
        .key_id = body + AES128GCM_FIXED_SIZE,
        .key_id_length = number[4],
        .size = AES128GCM_FIXED_SIZE + (size_t)number[4],
    };
    if (header.size > length || header.record_size < RECORD_SIZE_MIN) {
        return false;
    }
    *ret_header = header;
    return true;
}

static bool open_record(struct aes128gcm *coding, const struct record_keys *keys, uint64_t sequence,
                        const uint8_t *record, size_t size, uint8_t *out)
{
    EVP_CIPHER_CTX *context = coding->context;
    uint8_t nonce[NONCE_SIZE];
    uint8_t tag[AES128GCM_TAG_SIZE];
    int written = 0;
    memcpy(nonce, keys->nonce, sizeof nonce);
    for (int i = 0; i < 8; i++) {
        nonce[NONCE_SIZE - 1 - i] ^= (uint8_t)(sequence >> (8 * i));
    }
    size_t length = size - AES128GCM_TAG_SIZE;
    memcpy(tag, record + length, sizeof tag);
    return EVP_DecryptInit_ex2(context, coding->cipher, keys->key, nonce, NULL) &&
           EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, sizeof tag, tag) &&
           EVP_DecryptUpdate(context, out, &written, record, (int)length) &&
           EVP_DecryptFinal_ex(context, out + written, &written) > 0;
}

/* Without the padding and its delimiter; -1: there is none, or the wrong one. */
static int64_t text_length(const uint8_t *text, size_t length, bool is_last)
{
    while (length > 0 && text[length - 1] == 0) {
        length--;
    }
    uint8_t wanted = is_last ? DELIMITER_LAST : DELIMITER_MORE;
    return length > 0 && text[length - 1] == wanted ? (int64_t)length - 1 : -1;
}

bool aes128gcm_open(struct aes128gcm *coding, const struct aes128gcm_header *header,
                    const uint8_t *secret, size_t secret_length, const uint8_t *body, size_t length,
                    uint8_t *ret_text, size_t *ret_length)
{
    struct record_keys keys;
    size_t written = 0;
    size_t at = header->size;
    bool is_good = length <= INT_MAX &&
                   derive(coding, header->salt, secret, secret_length, &keys) && at < length;
    for (uint64_t sequence = 0; is_good && at < length; sequence++) {
        size_t left = length - at;
        size_t size = left < header->record_size ? left : header->record_size;
        bool is_last = size == left;
        int64_t kept = -1;
        if (size > AES128GCM_TAG_SIZE &&
            open_record(coding, &keys, sequence, body + at, size, ret_text + written)) {
            kept = text_length(ret_text + written, size - AES128GCM_TAG_SIZE, is_last);
        }
        is_good = kept >= 0;
        written += kept > 0 ? (size_t)kept : 0;
        at += size;
    }
    OPENSSL_cleanse(&keys, sizeof keys);
    ERR_clear_error();
    if (is_good) {
        *ret_length = written;
    } else if (at > header->size) { /* GCM decrypts first and finds out afterwards */
        OPENSSL_cleanse(ret_text, at - header->size);
    }
    return is_good;
}
