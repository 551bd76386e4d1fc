/* vapid_text - a key as text: PEM, JWK, the base64url pair, and Lull's own file.
 * SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>

#include "refuse_json.h"
#include "vapid_key.h"

static const char *const format_words[LULL_KEY_FORMATS] = {"file", "jwk", "pem", "pair"};

const char *lull_key_format_to_string(enum lull_key_format format)
{
    return (unsigned)format < LULL_KEY_FORMATS ? format_words[format] : "unknown";
}

int lull_key_format_from_string(const char *word, enum lull_key_format *ret_format)
{
    for (unsigned i = 0; i < LULL_KEY_FORMATS; i++) {
        if (strcmp(word, format_words[i]) == 0) {
            *ret_format = (enum lull_key_format)i;
            return LULL_OK;
        }
    }
    return LULL_ERR_UNKNOWN;
}

/* ---- reading ---- */

/* What was found of a key, before it is known to be one. */
struct parts {
    uint8_t private_key[LULL_P256_SCALAR_SIZE];
    uint8_t public_key[LULL_P256_POINT_SIZE];
    bool has_public;
    char subject[LULL_VAPID_SUBJECT_SIZE];
};

static int read_bytes(const char *name, const char *text, size_t length, uint8_t *out, size_t size,
                      struct lull_webpush_error *error)
{
    uint8_t bytes[LULL_P256_POINT_SIZE];
    size_t count = 0;
    int code = lull_base64_decode(text, length, bytes, sizeof bytes, &count);
    if (code == LULL_ERR_SYNTAX) {
        code = refuse(error, LULL_ERR_SYNTAX, "the %s is not base64url", name);
    } else if (code != LULL_OK || count != size) {
        code = refuse(error, LULL_ERR_RANGE, "the %s must have %zu bytes", name, size);
    } else {
        memcpy(out, bytes, size);
    }
    OPENSSL_cleanse(bytes, sizeof bytes);
    return code;
}

static int read_member(const json_t *object, const char *name, uint8_t *out, size_t size,
                       struct lull_webpush_error *error)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_string(value)) {
        return refuse(error, LULL_ERR_SYNTAX, "%s is missing, or no string", name);
    }
    return read_bytes(name, json_string_value(value), json_string_length(value), out, size, error);
}

static int read_jwk(const json_t *object, struct parts *parts, struct lull_webpush_error *error)
{
    const char *type = json_string_value(json_object_get(object, "kty"));
    const char *curve = json_string_value(json_object_get(object, "crv"));
    if (!type || strcmp(type, "EC") != 0 || !curve || strcmp(curve, "P-256") != 0) {
        return refuse(error, LULL_ERR_RANGE, "a JWK must have kty EC and crv P-256");
    }
    parts->has_public = true;
    parts->public_key[0] = 4;
    int code = read_member(object, "d", parts->private_key, LULL_P256_SCALAR_SIZE, error);
    code = code != LULL_OK ? code : read_member(object, "x", parts->public_key + 1, 32, error);
    return code != LULL_OK ? code : read_member(object, "y", parts->public_key + 33, 32, error);
}

static int read_json(const char *text, size_t length, struct parts *parts,
                     struct lull_webpush_error *error)
{
    json_error_t where;
    json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, &where);
    int code = LULL_OK;
    if (!object) {
        return refuse_json(error, &where);
    }
    const char *subject = json_string_value(json_object_get(object, "sub"));
    subject = subject ? subject : json_string_value(json_object_get(object, "subject"));
    if (subject && strlen(subject) < sizeof parts->subject) {
        memcpy(parts->subject, subject, strlen(subject) + 1);
    }
    if (subject && strlen(subject) >= sizeof parts->subject) {
        code = lull_vapid_check_subject(subject, error);
    } else if (json_object_get(object, "kty")) {
        code = read_jwk(object, parts, error);
    } else {
        code = read_member(object, "privateKey", parts->private_key, LULL_P256_SCALAR_SIZE, error);
        if (code == LULL_OK && json_object_get(object, "publicKey")) {
            parts->has_public = true;
            code = read_member(object, "publicKey", parts->public_key, LULL_P256_POINT_SIZE, error);
        }
    }
    json_decref(object);
    return code;
}

/* A key with a password would make libcrypto ask for it on the terminal. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the type is libcrypto's */
static int no_password(char *buffer, int size, int is_written, void *userdata)
{
    (void)buffer;
    (void)size;
    (void)is_written;
    (void)userdata;
    return -1;
}

static int read_pem(const char *text, size_t length, struct parts *parts,
                    struct lull_webpush_error *error)
{
    char group[32] = "";
    BIGNUM *number = NULL;
    BIGNUM *x = NULL;
    BIGNUM *y = NULL;
    BIO *source = BIO_new_mem_buf(text, (int)length);
    EVP_PKEY *pkey = source ? PEM_read_bio_PrivateKey(source, NULL, no_password, NULL) : NULL;
    int code = LULL_OK;
    if (!pkey) {
        code = refuse(error, LULL_ERR_SYNTAX,
                      "the PEM has no private key that can be read (one with a password cannot)");
    } else if (!EVP_PKEY_is_a(pkey, "EC") ||
               EVP_PKEY_get_utf8_string_param(pkey, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof group,
                                              NULL) != 1 ||
               strcmp(group, "prime256v1") != 0) {
        code = refuse(error, LULL_ERR_RANGE, "the PEM's key is not on the curve P-256");
    } else if (EVP_PKEY_get_bn_param(pkey, OSSL_PKEY_PARAM_PRIV_KEY, &number) != 1 ||
               BN_bn2binpad(number, parts->private_key, LULL_P256_SCALAR_SIZE) <= 0) {
        code = refuse(error, LULL_ERR_SYNTAX, "the PEM has no private key");
    } else if (EVP_PKEY_get_bn_param(pkey, OSSL_PKEY_PARAM_EC_PUB_X, &x) == 1 &&
               EVP_PKEY_get_bn_param(pkey, OSSL_PKEY_PARAM_EC_PUB_Y, &y) == 1) {
        /* libcrypto takes the public key that is in the PEM as it is */
        parts->public_key[0] = POINT_CONVERSION_UNCOMPRESSED;
        parts->has_public = BN_bn2binpad(x, parts->public_key + 1, 32) > 0 &&
                            BN_bn2binpad(y, parts->public_key + 33, 32) > 0;
    }
    BN_free(x);
    BN_free(y);
    BN_clear_free(number);
    EVP_PKEY_free(pkey);
    BIO_free(source);
    ERR_clear_error();
    return code;
}

/* The word behind "LABEL:", which may stand on the next line. Its length, 0: there is none. */
static size_t find_labelled(const char *text, size_t length, const char *label,
                            const char **ret_word)
{
    const char *at = memmem(text, length, label, strlen(label));
    const char *end = text + length;
    if (!at) {
        return 0;
    }
    at += strlen(label);
    while (at < end && strchr(" \t\r\n", *at) && *at != '\0') {
        at++;
    }
    *ret_word = at;
    while (at < end && !strchr(" \t\r\n", *at)) {
        at++;
    }
    return (size_t)(at - *ret_word);
}

/* As tools print a new pair, for people. */
static int read_labelled(const char *text, size_t length, struct parts *parts,
                         struct lull_webpush_error *error)
{
    const char *private_word = NULL;
    const char *public_word = NULL;
    size_t private_length = find_labelled(text, length, "Private Key:", &private_word);
    size_t public_length = find_labelled(text, length, "Public Key:", &public_word);
    if (private_length == 0 || public_length == 0) {
        return refuse(error, LULL_ERR_SYNTAX,
                      "neither PEM, nor JSON (a JWK, or publicKey and privateKey), nor the lines "
                      "'Public Key:' and 'Private Key:'");
    }
    parts->has_public = true;
    int code = read_bytes("private key", private_word, private_length, parts->private_key,
                          LULL_P256_SCALAR_SIZE, error);
    return code != LULL_OK ? code
                           : read_bytes("public key", public_word, public_length, parts->public_key,
                                        LULL_P256_POINT_SIZE, error);
}

int lull_vapid_key_import(struct lull_vapid_key **ret_key, const char *text, size_t length,
                          const char *subject, struct lull_webpush_error *error)
{
    static const char pem[] = "-----BEGIN ";
    struct parts parts = {0};
    int code = LULL_OK;
    if (length > 65536) {
        return refuse(error, LULL_ERR_SYNTAX, "a key has not so many bytes");
    }
    while (length > 0 && (*text == ' ' || *text == '\t' || *text == '\r' || *text == '\n')) {
        text++;
        length--;
    }
    if (length >= strlen(pem) && memcmp(text, pem, strlen(pem)) == 0) {
        code = read_pem(text, length, &parts, error);
    } else if (length > 0 && *text == '{') {
        code = read_json(text, length, &parts, error);
    } else {
        code = read_labelled(text, length, &parts, error);
    }
    subject = subject ? subject : parts.subject;
    if (code == LULL_OK && *subject == '\0') {
        code = refuse(error, LULL_ERR_RANGE,
                      "the text has no subject (mailto: or https:), and none was given");
    }
    if (code == LULL_OK) {
        code = vapid_key_from_private(ret_key, parts.private_key,
                                      parts.has_public ? parts.public_key : NULL, subject, error);
    }
    OPENSSL_cleanse(&parts, sizeof parts);
    return code;
}

/* ---- writing ---- */

static int write_pem(const struct lull_vapid_key *key, char ret_text[LULL_KEY_TEXT_SIZE])
{
    BIO *sink = BIO_new(BIO_s_secmem());
    char *data = NULL;
    int code = LULL_ERR_MEMORY;
    if (sink && PEM_write_bio_PKCS8PrivateKey(sink, key->signer, NULL, NULL, 0, NULL, NULL)) {
        long length = BIO_get_mem_data(sink, &data);
        if (length > 0 && length < LULL_KEY_TEXT_SIZE) {
            memcpy(ret_text, data, (size_t)length);
            ret_text[length] = '\0';
            code = LULL_OK;
        }
    }
    BIO_free(sink);
    return code;
}

static void write_jwk(const struct lull_vapid_key *key, bool is_file,
                      char ret_text[LULL_KEY_TEXT_SIZE])
{
    char d[LULL_BASE64URL_SIZE(32)];
    char x[LULL_BASE64URL_SIZE(32)];
    char y[LULL_BASE64URL_SIZE(32)];
    (void)lull_base64url_encode(key->pair.private_key, 32, d);
    (void)lull_base64url_encode(key->pair.public_key + 1, 32, x);
    (void)lull_base64url_encode(key->pair.public_key + 33, 32, y);
    if (is_file) {
        (void)snprintf(ret_text, LULL_KEY_TEXT_SIZE,
                       "{\n  \"kid\": \"%s\",\n  \"sub\": \"%s\",\n  \"kty\": \"EC\",\n"
                       "  \"crv\": \"P-256\",\n  \"x\": \"%s\",\n  \"y\": \"%s\",\n"
                       "  \"d\": \"%s\"\n}\n",
                       key->id, key->subject, x, y, d);
    } else {
        (void)snprintf(
            ret_text, LULL_KEY_TEXT_SIZE,
            "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"%s\",\"y\":\"%s\",\"d\":\"%s\"}\n", x, y, d);
    }
    OPENSSL_cleanse(d, sizeof d);
}

int lull_vapid_key_export(const struct lull_vapid_key *key, enum lull_key_format format,
                          char ret_text[LULL_KEY_TEXT_SIZE])
{
    char d[LULL_BASE64URL_SIZE(LULL_P256_SCALAR_SIZE)];
    switch (format) {
    case LULL_KEY_FILE:
    case LULL_KEY_JWK:
        write_jwk(key, format == LULL_KEY_FILE, ret_text);
        return LULL_OK;
    case LULL_KEY_PEM:
        return write_pem(key, ret_text);
    case LULL_KEY_PAIR:
        (void)lull_base64url_encode(key->pair.private_key, sizeof key->pair.private_key, d);
        (void)snprintf(ret_text, LULL_KEY_TEXT_SIZE,
                       "{\"publicKey\":\"%s\",\"privateKey\":\"%s\"}\n", key->public_text, d);
        OPENSSL_cleanse(d, sizeof d);
        return LULL_OK;
    default:
        return LULL_ERR_UNKNOWN;
    }
}
