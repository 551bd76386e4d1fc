/* hkdf - see the header. SPDX-License-Identifier: MIT */
#include "hkdf.h"

#include <openssl/crypto.h>
#include <string.h>

#define BLOCK_SIZE 64

bool hkdf_init(struct hkdf *hkdf)
{
    hkdf->digest = EVP_MD_fetch(NULL, "SHA256", NULL);
    hkdf->context = EVP_MD_CTX_new();
    return hkdf->digest && hkdf->context;
}

void hkdf_clean_up(struct hkdf *hkdf)
{
    EVP_MD_CTX_free(hkdf->context);
    EVP_MD_free(hkdf->digest);
    *hkdf = (struct hkdf){0};
}

static bool digest_two(struct hkdf *hkdf, const uint8_t block[BLOCK_SIZE], const uint8_t *data,
                       size_t length, uint8_t ret[SHA256_SIZE])
{
    return EVP_DigestInit_ex2(hkdf->context, hkdf->digest, NULL) &&
           EVP_DigestUpdate(hkdf->context, block, BLOCK_SIZE) &&
           EVP_DigestUpdate(hkdf->context, data, length) &&
           EVP_DigestFinal_ex(hkdf->context, ret, NULL);
}

static bool hmac(struct hkdf *hkdf, const uint8_t *key, size_t key_length, const uint8_t *data,
                 size_t length, uint8_t ret[SHA256_SIZE])
{
    uint8_t inner[BLOCK_SIZE];
    uint8_t outer[BLOCK_SIZE];
    uint8_t sum[SHA256_SIZE];
    for (size_t i = 0; i < BLOCK_SIZE; i++) {
        uint8_t byte = i < key_length ? key[i] : 0;
        inner[i] = byte ^ 0x36;
        outer[i] = byte ^ 0x5c;
    }
    bool is_good =
        digest_two(hkdf, inner, data, length, sum) && digest_two(hkdf, outer, sum, sizeof sum, ret);
    OPENSSL_cleanse(inner, sizeof inner);
    OPENSSL_cleanse(outer, sizeof outer);
    return is_good;
}

bool hkdf_extract(struct hkdf *hkdf, const uint8_t *salt, size_t salt_length, const uint8_t *input,
                  size_t length, uint8_t ret_key[SHA256_SIZE])
{
    return hmac(hkdf, salt, salt_length, input, length, ret_key);
}

bool hkdf_expand(struct hkdf *hkdf, const uint8_t key[SHA256_SIZE], const uint8_t *info,
                 size_t info_length, uint8_t *ret_output, size_t size)
{
    uint8_t counted[256];
    uint8_t block[SHA256_SIZE];
    if (info_length >= sizeof counted || size > sizeof block) {
        return false;
    }
    memcpy(counted, info, info_length);
    counted[info_length] = 1;
    bool is_good = hmac(hkdf, key, SHA256_SIZE, counted, info_length + 1, block);
    memcpy(ret_output, block, size);
    OPENSSL_cleanse(block, sizeof block);
    return is_good;
}
