/*
 * hkdf - RFC 5869 on HMAC-SHA-256, for outputs of one block, which is all that Web Push needs.
 *
 * HMAC by hand on one reused digest context: OpenSSL's own HKDF costs seven times as much.
 */
#ifndef LULL_WEBPUSH_HKDF_H
#define LULL_WEBPUSH_HKDF_H

#include <openssl/evp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_SIZE 32

struct hkdf {
    EVP_MD *digest;
    EVP_MD_CTX *context;
};

bool hkdf_init(struct hkdf *hkdf); /* false: no memory */
void hkdf_clean_up(struct hkdf *hkdf);

/* salt of up to 64 bytes. */
bool hkdf_extract(struct hkdf *hkdf, const uint8_t *salt, size_t salt_length, const uint8_t *input,
                  size_t length, uint8_t ret_key[SHA256_SIZE]);

/* size of up to 32 bytes. */
bool hkdf_expand(struct hkdf *hkdf, const uint8_t key[SHA256_SIZE], const uint8_t *info,
                 size_t info_length, uint8_t *ret_output, size_t size);

#endif
