/* vapid_key - making, checking and signing. SPDX-License-Identifier: MIT */
#include "vapid_key.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/param_build.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "refuse.h"

#define DER_SIGNATURE_MAX 80

/* ---- the subject ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_label_character(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
}

/* A domain that could be in the public DNS: labels between dots, the last of them no number (that
 * would be an address), and not localhost. */
static bool is_domain(const char *domain, size_t length)
{
    size_t label = 0; /* where the present one starts */
    bool is_number = true;
    for (size_t i = 0; i < length; i++) {
        if (domain[i] == '.' && i > label) {
            label = i + 1;
            is_number = true;
        } else if (is_label_character(domain[i])) {
            is_number = is_number && is_digit(domain[i]);
        } else {
            return false;
        }
    }
    return label > 0 && label < length && !is_number &&
           !(length - label == 9 && strncasecmp(domain + label, "localhost", 9) == 0);
}

/* What is between "mailto:" and the end: one address, without a mailto URL's other parts. */
static bool is_address(const char *address)
{
    size_t local = strcspn(address, "@,;:?#/()[]");
    return local > 0 && address[local] == '@' &&
           is_domain(address + local + 1, strlen(address + local + 1));
}

int lull_vapid_check_subject(const char *subject, struct lull_webpush_error *error)
{
    size_t length = strlen(subject);
    if (length >= LULL_VAPID_SUBJECT_SIZE) {
        return refuse(error, LULL_ERR_RANGE, "the subject has over %d bytes",
                      LULL_VAPID_SUBJECT_SIZE - 1);
    }
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)subject[i];
        if (byte <= ' ' || byte >= 0x7f || strchr("<>\"\\", byte)) {
            return refuse(error, LULL_ERR_RANGE,
                          "the subject must be ASCII, without spaces, quotes or <>; push services "
                          "refuse other tokens");
        }
    }
    if (strncasecmp(subject, "mailto:", 7) == 0) {
        return is_address(subject + 7)
                   ? LULL_OK
                   : refuse(error, LULL_ERR_RANGE,
                            "a mailto: subject must be an address, like mailto:you@example.org");
    }
    const char *host = NULL;
    size_t host_length = 0;
    if (strncasecmp(subject, "https://", 8) == 0 &&
        lull_url_host(subject, length, &host, &host_length) == LULL_OK &&
        is_domain(host, host_length)) {
        return LULL_OK;
    }
    return refuse(
        error, LULL_ERR_RANGE,
        "the subject must be mailto: and an address, or an https: URL with a public host");
}

/* ---- making one ---- */

EVP_PKEY *vapid_pkey(const uint8_t public_key[LULL_P256_POINT_SIZE], const uint8_t *private_key)
{
    EVP_PKEY *pkey = NULL;
    BIGNUM *number = private_key ? BN_secure_new() : NULL;
    OSSL_PARAM *params = NULL;
    OSSL_PARAM_BLD *builder = OSSL_PARAM_BLD_new();
    EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, "EC", NULL);
    /* libcrypto would read a hybrid point as well, which has as many bytes */
    bool is_good =
        public_key[0] == POINT_CONVERSION_UNCOMPRESSED && builder && context &&
        OSSL_PARAM_BLD_push_utf8_string(builder, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0) &&
        OSSL_PARAM_BLD_push_octet_string(builder, OSSL_PKEY_PARAM_PUB_KEY, public_key,
                                         LULL_P256_POINT_SIZE) &&
        (!private_key || (number && BN_bin2bn(private_key, LULL_P256_SCALAR_SIZE, number) &&
                          OSSL_PARAM_BLD_push_BN(builder, OSSL_PKEY_PARAM_PRIV_KEY, number)));
    if (is_good) {
        params = OSSL_PARAM_BLD_to_param(builder);
        is_good =
            params && EVP_PKEY_fromdata_init(context) > 0 &&
            EVP_PKEY_fromdata(context, &pkey, private_key ? EVP_PKEY_KEYPAIR : EVP_PKEY_PUBLIC_KEY,
                              params) > 0;
    }
    OSSL_PARAM_free(params);
    OSSL_PARAM_BLD_free(builder);
    EVP_PKEY_CTX_free(context);
    BN_clear_free(number);
    ERR_clear_error();
    return is_good ? pkey : NULL;
}

/* From a pair that is one, with a subject that is one. */
static int make(struct lull_vapid_key **ret_key, const struct pair *pair, const char *subject,
                struct lull_webpush_error *error)
{
    unsigned char sum[EVP_MAX_MD_SIZE];
    struct lull_vapid_key *key = calloc(1, sizeof *key);
    if (!key) {
        return refuse_memory(error);
    }
    key->pair = *pair;
    key->signer = vapid_pkey(pair->public_key, pair->private_key);
    if (!key->signer ||
        !EVP_Digest(pair->public_key, sizeof pair->public_key, sum, NULL, EVP_sha256(), NULL)) {
        lull_vapid_key_destroy(key);
        return refuse_memory(error);
    }
    (void)lull_base64url_encode(sum, 8, key->id);
    (void)lull_base64url_encode(pair->public_key, sizeof pair->public_key, key->public_text);
    memcpy(key->subject, subject, strlen(subject) + 1);
    *ret_key = key;
    return LULL_OK;
}

int vapid_key_from_private(struct lull_vapid_key **ret_key,
                           const uint8_t private_key[LULL_P256_SCALAR_SIZE],
                           const uint8_t *expected_public, const char *subject,
                           struct lull_webpush_error *error)
{
    struct curve curve;
    struct pair pair;
    int code = lull_vapid_check_subject(subject, error);
    if (code != LULL_OK) {
        return code;
    }
    memcpy(pair.private_key, private_key, sizeof pair.private_key);
    if (!curve_init(&curve)) {
        code = refuse_memory(error);
    } else if (!curve_public(&curve, private_key, pair.public_key)) {
        code = refuse(error, LULL_ERR_RANGE, "the private key is 0 or not below the curve's order");
    } else if (expected_public &&
               memcmp(expected_public, pair.public_key, sizeof pair.public_key) != 0) {
        code = refuse(error, LULL_ERR_RANGE, "public and private key are not of one pair");
    } else {
        code = make(ret_key, &pair, subject, error);
    }
    curve_clean_up(&curve);
    OPENSSL_cleanse(&pair, sizeof pair);
    return code;
}

int lull_vapid_key_new(struct lull_vapid_key **ret_key, const char *subject,
                       struct lull_webpush_error *error)
{
    struct curve curve;
    struct pair pair;
    int code = lull_vapid_check_subject(subject, error);
    if (code != LULL_OK) {
        return code;
    }
    bool is_made = curve_init(&curve) && curve_make_pair(&curve, &pair);
    curve_clean_up(&curve);
    code = is_made ? make(ret_key, &pair, subject, error) : refuse_memory(error);
    OPENSSL_cleanse(&pair, sizeof pair);
    return code;
}

void lull_vapid_key_destroy(struct lull_vapid_key *key)
{
    if (key) {
        EVP_PKEY_free(key->signer);
        OPENSSL_cleanse(key, sizeof *key);
        free(key);
    }
}

const char *lull_vapid_key_id(const struct lull_vapid_key *key)
{
    return key->id;
}

const char *lull_vapid_key_subject(const struct lull_vapid_key *key)
{
    return key->subject;
}

const uint8_t *lull_vapid_key_public(const struct lull_vapid_key *key)
{
    return key->pair.public_key;
}

/* ---- signing ---- */

bool vapid_key_sign(const struct lull_vapid_key *key, const void *data, size_t length,
                    uint8_t ret_signature[ES256_SIGNATURE_SIZE])
{
    uint8_t der[DER_SIGNATURE_MAX];
    size_t der_length = sizeof der;
    ECDSA_SIG *signature = NULL;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const unsigned char *at = der;
    if (context && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key->signer) > 0 &&
        EVP_DigestSign(context, der, &der_length, data, length) > 0) {
        signature = d2i_ECDSA_SIG(NULL, &at, (long)der_length);
    }
    bool is_good = signature && BN_bn2binpad(ECDSA_SIG_get0_r(signature), ret_signature, 32) > 0 &&
                   BN_bn2binpad(ECDSA_SIG_get0_s(signature), ret_signature + 32, 32) > 0;
    ECDSA_SIG_free(signature);
    EVP_MD_CTX_free(context);
    return is_good;
}
