/* webhook - see the header. SPDX-License-Identifier: MIT */
#include "lull/webhook.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include "base64.h"
#include "lull/error.h"
#include "lull/webpush.h"

#define HMAC_SIZE 32
#define HMAC_KEY_MIN 24
#define ED25519_KEY_SIZE 32
#define ED25519_PAIR_SIZE 64 /* private and public key, one behind the other */
#define ED25519_SIGNATURE_SIZE 64
#define TIMESTAMP_SIZE 24

static const struct {
    char prefix[8];
    enum lull_webhook_secret_kind kind;
} secret_prefixes[] = {
    {"whsec_", LULL_WEBHOOK_HMAC},
    {"whsk_", LULL_WEBHOOK_ED25519_PRIVATE},
    {"whpk_", LULL_WEBHOOK_ED25519_PUBLIC},
};

/* ---- secrets ---- */

/* NULL: there was no memory. Any 32 bytes are a private key; those that are no public key are found
 * out when they are to verify. */
static EVP_PKEY *ed25519_key(const struct lull_webhook_secret *secret)
{
    return secret->kind == LULL_WEBHOOK_ED25519_PRIVATE
               ? EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret->key, ED25519_KEY_SIZE)
               : EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, secret->key, ED25519_KEY_SIZE);
}

/* Is the second half of a private key of 64 bytes the public key of the first? */
static int check_public_half(const struct lull_webhook_secret *secret)
{
    uint8_t public_key[ED25519_KEY_SIZE];
    size_t length = sizeof public_key;
    EVP_PKEY *key = ed25519_key(secret);
    if (!key || EVP_PKEY_get_raw_public_key(key, public_key, &length) != 1) {
        EVP_PKEY_free(key);
        return LULL_ERR_MEMORY;
    }
    EVP_PKEY_free(key);
    return memcmp(public_key, secret->key + ED25519_KEY_SIZE, sizeof public_key) == 0
               ? LULL_OK
               : LULL_ERR_RANGE;
}

/* The caller may have filled in the struct by itself, so this is asked before each use too. */
static bool is_length_right(const struct lull_webhook_secret *secret)
{
    switch (secret->kind) {
    case LULL_WEBHOOK_HMAC:
        return secret->length >= HMAC_KEY_MIN && secret->length <= sizeof secret->key;
    case LULL_WEBHOOK_ED25519_PRIVATE:
        return secret->length == ED25519_KEY_SIZE || secret->length == ED25519_PAIR_SIZE;
    case LULL_WEBHOOK_ED25519_PUBLIC:
        return secret->length == ED25519_KEY_SIZE;
    }
    return false;
}

static int read_key(struct lull_webhook_secret *secret, const char *text, size_t length)
{
    if (length == 0) {
        return LULL_ERR_SYNTAX;
    }
    int error = lull_base64_decode(text, length, secret->key, sizeof secret->key, &secret->length);
    if (error) {
        return error == LULL_ERR_FULL ? LULL_ERR_RANGE : error;
    }
    if (!is_length_right(secret)) {
        return LULL_ERR_RANGE;
    }
    bool is_pair =
        secret->kind == LULL_WEBHOOK_ED25519_PRIVATE && secret->length == ED25519_PAIR_SIZE;
    return is_pair ? check_public_half(secret) : LULL_OK;
}

int lull_webhook_secret_parse(struct lull_webhook_secret *ret_secret, const char *text,
                              size_t length)
{
    for (size_t i = 0; i < sizeof secret_prefixes / sizeof secret_prefixes[0]; i++) {
        size_t prefix_length = strlen(secret_prefixes[i].prefix);
        if (length < prefix_length || memcmp(text, secret_prefixes[i].prefix, prefix_length) != 0) {
            continue;
        }
        struct lull_webhook_secret secret = {.kind = secret_prefixes[i].kind};
        int error = read_key(&secret, text + prefix_length, length - prefix_length);
        if (!error) {
            *ret_secret = secret;
        }
        OPENSSL_cleanse(&secret, sizeof secret);
        return error;
    }
    return LULL_ERR_SYNTAX;
}

/* ---- what is signed ---- */

struct content {
    uint8_t *data;
    size_t length;
};

/* A dot would let the end of an id pass for a timestamp, and a timestamp for the start of a body;
 * and only what is printable can be sent in a header. */
static bool is_id(const char *id)
{
    for (const char *c = id; *c; c++) {
        if (*c <= ' ' || *c > '~' || *c == '.') {
            return false;
        }
    }
    return *id != '\0';
}

/* Returns the end of what was appended. data may be NULL where length is 0. */
static uint8_t *append(uint8_t *at, const void *data, size_t length)
{
    return length > 0 ? (uint8_t *)memcpy(at, data, length) + length : at;
}

/* "id.timestamp.body", in one piece, since Ed25519 reads it twice. The caller frees data. */
static int content_new(struct content *ret_content, const char *id, const char *timestamp,
                       const void *body, size_t length)
{
    size_t head_length = strlen(id) + strlen(timestamp) + 2;
    uint8_t *data = length <= SIZE_MAX - head_length ? malloc(head_length + length) : NULL;
    if (!data) {
        return LULL_ERR_MEMORY;
    }
    uint8_t *at = append(data, id, strlen(id));
    *at++ = '.';
    at = append(at, timestamp, strlen(timestamp));
    *at++ = '.';
    append(at, body, length);
    ret_content->data = data;
    ret_content->length = head_length + length;
    return LULL_OK;
}

static int hmac(const struct lull_webhook_secret *secret, const struct content *content,
                uint8_t ret_mac[HMAC_SIZE])
{
    return EVP_Q_mac(NULL, "HMAC", NULL, "SHA256", NULL, secret->key, secret->length, content->data,
                     content->length, ret_mac, HMAC_SIZE, NULL)
               ? LULL_OK
               : LULL_ERR_MEMORY;
}

/* ---- signing ---- */

static int ed25519_sign(const struct lull_webhook_secret *secret, const struct content *content,
                        uint8_t ret_signature[ED25519_SIGNATURE_SIZE])
{
    size_t length = ED25519_SIGNATURE_SIZE;
    EVP_PKEY *key = ed25519_key(secret);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    bool is_signed =
        key && context && EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1 &&
        EVP_DigestSign(context, ret_signature, &length, content->data, content->length) == 1;
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(key);
    return is_signed ? LULL_OK : LULL_ERR_MEMORY;
}

/* Appends "v1,..." or "v1a,..." at text, and moves *text to its end. */
static int append_signature(char **text, const struct lull_webhook_secret *secret,
                            const struct content *content)
{
    uint8_t signature[ED25519_SIGNATURE_SIZE];
    bool is_hmac = secret->kind == LULL_WEBHOOK_HMAC;
    int error =
        is_hmac ? hmac(secret, content, signature) : ed25519_sign(secret, content, signature);
    if (error) {
        return error;
    }
    *text = stpcpy(*text, is_hmac ? "v1," : "v1a,");
    *text += base64_encode(signature, is_hmac ? HMAC_SIZE : ED25519_SIGNATURE_SIZE, *text);
    return LULL_OK;
}

static bool can_sign(const struct lull_webhook_secret *secrets, size_t secret_count)
{
    if (secret_count == 0 || secret_count > LULL_WEBHOOK_SECRETS_MAX) {
        return false;
    }
    for (size_t i = 0; i < secret_count; i++) {
        if (secrets[i].kind == LULL_WEBHOOK_ED25519_PUBLIC || !is_length_right(&secrets[i])) {
            return false;
        }
    }
    return true;
}

int lull_webhook_sign(const struct lull_webhook_secret *secrets, size_t secret_count,
                      const char *id, int64_t timestamp_s, const void *body, size_t length,
                      char ret_signature[LULL_WEBHOOK_SIGNATURE_SIZE])
{
    if (!can_sign(secrets, secret_count) || !is_id(id) || timestamp_s < 0) {
        return LULL_ERR_RANGE;
    }
    char timestamp[TIMESTAMP_SIZE];
    struct content content;
    snprintf(timestamp, sizeof timestamp, "%" PRId64, timestamp_s);
    int error = content_new(&content, id, timestamp, body, length);
    if (error) {
        return error;
    }
    char text[LULL_WEBHOOK_SIGNATURE_SIZE];
    char *end = text;
    for (size_t i = 0; i < secret_count && !error; i++) {
        end = stpcpy(end, i > 0 ? " " : "");
        error = append_signature(&end, &secrets[i], &content);
    }
    free(content.data);
    if (!error) {
        memcpy(ret_signature, text, (size_t)(end - text) + 1);
    }
    return error;
}

/* ---- verifying ---- */

/* Digits only. A number that no int64_t can hold is one that is far too new. */
static int read_timestamp(const char *text, int64_t *ret_timestamp_s)
{
    int64_t value = 0;
    if (*text == '\0') {
        return LULL_ERR_SYNTAX;
    }
    for (; *text; text++) {
        if (*text < '0' || *text > '9') {
            return LULL_ERR_SYNTAX;
        }
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *text - '0', &value)) {
            value = INT64_MAX;
        }
    }
    *ret_timestamp_s = value;
    return LULL_OK;
}

static bool is_near(int64_t timestamp_s, int64_t now_s, int64_t tolerance_s)
{
    int64_t age_s = 0;
    return tolerance_s >= 0 && !__builtin_sub_overflow(now_s, timestamp_s, &age_s) &&
           age_s <= tolerance_s && age_s >= -tolerance_s;
}

/* The next signature of that version in a list with spaces between: decoded to just size bytes.
 * Passes over those of other versions and of other lengths. */
static bool next_signature(const char **list, const char *version, uint8_t *ret_signature,
                           size_t size)
{
    size_t version_length = strlen(version);
    while (**list) {
        const char *word = *list;
        size_t length = strcspn(word, " ");
        *list = word + length + (word[length] == ' ');
        size_t decoded = 0;
        if (length > version_length && memcmp(word, version, version_length) == 0 &&
            lull_base64_decode(word + version_length, length - version_length, ret_signature, size,
                               &decoded) == LULL_OK &&
            decoded == size) {
            return true;
        }
    }
    return false;
}

static int verify_hmac(const struct lull_webhook_secret *secret, const struct content *content,
                       const char *list)
{
    uint8_t expected[HMAC_SIZE];
    uint8_t signature[HMAC_SIZE];
    bool is_found = false;
    int error = hmac(secret, content, expected);
    if (error) {
        return error;
    }
    while (next_signature(&list, "v1,", signature, sizeof signature)) {
        is_found |= CRYPTO_memcmp(signature, expected, sizeof expected) == 0;
    }
    OPENSSL_cleanse(expected, sizeof expected); /* it would sign what was refused */
    return is_found ? LULL_OK : LULL_ERR_UNKNOWN;
}

static int verify_ed25519(const struct lull_webhook_secret *secret, const struct content *content,
                          const char *list)
{
    uint8_t signature[ED25519_SIGNATURE_SIZE];
    int result = LULL_ERR_UNKNOWN;
    EVP_PKEY *key = ed25519_key(secret);
    if (!key) {
        return LULL_ERR_MEMORY;
    }
    ERR_set_mark(); /* a signature that does not fit is no error for others on this thread to find
                     */
    while (result == LULL_ERR_UNKNOWN &&
           next_signature(&list, "v1a,", signature, sizeof signature)) {
        EVP_MD_CTX *context = EVP_MD_CTX_new();
        if (!context || EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) != 1) {
            result = LULL_ERR_MEMORY;
        } else if (EVP_DigestVerify(context, signature, sizeof signature, content->data,
                                    content->length) == 1) {
            result = LULL_OK;
        }
        EVP_MD_CTX_free(context);
    }
    ERR_pop_to_mark();
    EVP_PKEY_free(key);
    return result;
}

int lull_webhook_verify(const struct lull_webhook_secret *secrets, size_t secret_count,
                        const char *id, const char *timestamp, const char *signature,
                        const void *body, size_t length, int64_t now_s, int64_t tolerance_s)
{
    int64_t timestamp_s = 0;
    struct content content;
    int result = read_timestamp(timestamp, &timestamp_s);
    if (result) {
        return result;
    }
    if (!is_near(timestamp_s, now_s, tolerance_s)) {
        return LULL_ERR_RANGE;
    }
    if (!is_id(id)) {
        return LULL_ERR_UNKNOWN;
    }
    result = content_new(&content, id, timestamp, body, length);
    if (result) {
        return result;
    }
    result = LULL_ERR_UNKNOWN;
    for (size_t i = 0; i < secret_count && result == LULL_ERR_UNKNOWN; i++) {
        if (!is_length_right(&secrets[i])) {
            continue;
        }
        result = secrets[i].kind == LULL_WEBHOOK_HMAC
                     ? verify_hmac(&secrets[i], &content, signature)
                     : verify_ed25519(&secrets[i], &content, signature);
    }
    free(content.data);
    return result;
}
