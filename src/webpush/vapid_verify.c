/* vapid_verify - the receiver's side of VAPID: reading and judging a token.
 * SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <string.h>
#include <strings.h>

#include "lull/duration.h"
#include "refuse.h"
#include "vapid_key.h"

#define PART_MAX 2048 /* bytes of a decoded part of a token */
#define EXPIRES_MAX_S INT64_C(9007199254740991)

struct slice {
    const char *text;
    size_t length;
};

static struct slice trim(struct slice slice)
{
    while (slice.length > 0 && (*slice.text == ' ' || *slice.text == '\t')) {
        slice.text++;
        slice.length--;
    }
    while (slice.length > 0 && strchr(" \t", slice.text[slice.length - 1]) &&
           slice.text[slice.length - 1] != '\0') {
        slice.length--;
    }
    return slice;
}

/* Cuts off what stands before the mark, and the mark; all of it if there is none. */
static struct slice cut(struct slice *rest, char mark)
{
    const char *found = memchr(rest->text, mark, rest->length);
    struct slice first = {rest->text, found ? (size_t)(found - rest->text) : rest->length};
    size_t skipped = first.length + (found ? 1 : 0);
    rest->text += skipped;
    rest->length -= skipped;
    return first;
}

/* t and k of "vapid t=..., k=...", in any order, each once. */
static bool split_header(const char *header, size_t length, struct slice *ret_token,
                         struct slice *ret_key)
{
    struct slice rest = trim((struct slice){header, length});
    struct slice scheme = cut(&rest, ' ');
    if (scheme.length != 5 || strncasecmp(scheme.text, "vapid", 5) != 0) {
        return false;
    }
    while (rest.length > 0) {
        struct slice value = cut(&rest, ',');
        struct slice name = trim(cut(&value, '='));
        struct slice *ret = name.length != 1                         ? NULL
                            : *name.text == 't' || *name.text == 'T' ? ret_token
                            : *name.text == 'k' || *name.text == 'K' ? ret_key
                                                                     : NULL;
        if (ret && ret->text) {
            return false;
        }
        if (ret) {
            *ret = trim(value);
        }
    }
    return ret_token->length > 0 && ret_key->length > 0;
}

/* A part of the token, decoded, as a JSON object. NULL: it is none. */
static json_t *read_part(struct slice part)
{
    uint8_t bytes[PART_MAX];
    size_t length = 0;
    if (lull_base64_decode(part.text, part.length, bytes, sizeof bytes, &length) != LULL_OK) {
        return NULL;
    }
    json_t *object = json_loadb((const char *)bytes, length, JSON_REJECT_DUPLICATES, NULL);
    if (object && !json_is_object(object)) {
        json_decref(object);
        object = NULL;
    }
    return object;
}

static int read_header(struct slice part, struct lull_webpush_error *error)
{
    json_t *header = read_part(part);
    const char *algorithm = json_string_value(json_object_get(header, "alg"));
    bool is_es256 = algorithm && strcmp(algorithm, "ES256") == 0;
    json_decref(header);
    return is_es256 ? LULL_OK
                    : refuse(error, LULL_ERR_SYNTAX, "the token's header does not say alg ES256");
}

/* A text claim, which has to fit. */
static bool copy_claim(const json_t *claims, const char *name, char *out, size_t size)
{
    const char *text = json_string_value(json_object_get(claims, name));
    if (!text || strlen(text) >= size) {
        return false;
    }
    memcpy(out, text, strlen(text) + 1);
    return true;
}

static int read_claims(struct slice part, struct lull_vapid_claims *claims,
                       struct lull_webpush_error *error)
{
    json_t *object = read_part(part);
    const json_t *expires = json_object_get(object, "exp");
    int code = LULL_OK;
    if (!object) {
        code = refuse(error, LULL_ERR_SYNTAX, "the token's claims are no JSON object");
    } else if (!copy_claim(object, "aud", claims->audience, sizeof claims->audience)) {
        code = refuse(error, LULL_ERR_SYNTAX, "the token has no aud that is a string");
    } else if (!json_is_integer(expires) || json_integer_value(expires) < 0 ||
               json_integer_value(expires) > EXPIRES_MAX_S) {
        code = refuse(error, LULL_ERR_SYNTAX, "the token has no exp that is a number of seconds");
    } else if (json_object_get(object, "sub") &&
               !copy_claim(object, "sub", claims->subject, sizeof claims->subject)) {
        code = refuse(error, LULL_ERR_SYNTAX, "the token's sub is no string, or too long");
    } else {
        claims->expires_ms = json_integer_value(expires) * 1000;
    }
    json_decref(object);
    return code;
}

static bool is_signed_by(const uint8_t public_key[LULL_P256_POINT_SIZE],
                         const uint8_t raw[ES256_SIGNATURE_SIZE], const char *data, size_t length)
{
    unsigned char *der = NULL;
    int der_length = 0;
    EVP_PKEY *pkey = vapid_pkey(public_key, NULL);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    ECDSA_SIG *signature = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn(raw, 32, NULL);
    BIGNUM *s = BN_bin2bn(raw + 32, 32, NULL);
    if (signature && r && s && ECDSA_SIG_set0(signature, r, s)) {
        der_length = i2d_ECDSA_SIG(signature, &der); /* r and s are the signature's now */
    } else {
        BN_free(r);
        BN_free(s);
    }
    bool is_right = pkey && context && der_length > 0 &&
                    EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, pkey) > 0 &&
                    EVP_DigestVerify(context, der, (size_t)der_length, (const unsigned char *)data,
                                     length) == 1;
    OPENSSL_free(der);
    ECDSA_SIG_free(signature);
    EVP_MD_CTX_free(context);
    EVP_PKEY_free(pkey);
    ERR_clear_error();
    return is_right;
}

int lull_vapid_verify(const char *header, size_t length, struct lull_vapid_claims *ret_claims,
                      struct lull_webpush_error *error)
{
    struct lull_vapid_claims claims = {0};
    struct slice token = {0};
    struct slice key = {0};
    uint8_t signature[ES256_SIGNATURE_SIZE];
    size_t count = 0;
    if (!split_header(header, length, &token, &key)) {
        return refuse(error, LULL_ERR_SYNTAX, "not of the form 'vapid t=TOKEN, k=KEY'");
    }
    if (lull_base64_decode(key.text, key.length, claims.public_key, sizeof claims.public_key,
                           &count) != LULL_OK ||
        count != sizeof claims.public_key) {
        return refuse(error, LULL_ERR_SYNTAX, "k is not base64url of 65 bytes");
    }
    struct slice rest = token;
    struct slice token_header = cut(&rest, '.');
    struct slice token_claims = cut(&rest, '.');
    size_t signed_length = token_header.length + 1 + token_claims.length;
    if (lull_base64_decode(rest.text, rest.length, signature, sizeof signature, &count) !=
            LULL_OK ||
        count != sizeof signature) {
        return refuse(error, LULL_ERR_SYNTAX,
                      "the token has not three parts, the last a signature of 64 bytes");
    }
    int code = read_header(token_header, error);
    code = code != LULL_OK ? code : read_claims(token_claims, &claims, error);
    if (code != LULL_OK) {
        return code;
    }
    if (!is_signed_by(claims.public_key, signature, token.text, signed_length)) {
        return refuse(error, LULL_ERR_RANGE, "the signature is not of the key k");
    }
    *ret_claims = claims;
    return LULL_OK;
}

int lull_vapid_check(const struct lull_vapid_claims *claims, const char *origin, int64_t now_ms,
                     struct lull_webpush_error *error)
{
    if (strcmp(claims->audience, origin) != 0) {
        return refuse(error, LULL_ERR_RANGE, "aud is not this push service's origin");
    }
    if (claims->expires_ms <= now_ms) {
        return refuse(error, LULL_ERR_RANGE, "exp is in the past");
    }
    /* what is left is positive, and all of an unsigned number's range is enough for it */
    if ((uint64_t)claims->expires_ms - (uint64_t)now_ms > (uint64_t)LULL_HOURS(24)) {
        return refuse(error, LULL_ERR_RANGE, "exp is more than 24 hours ahead");
    }
    return *claims->subject ? lull_vapid_check_subject(claims->subject, error) : LULL_OK;
}
