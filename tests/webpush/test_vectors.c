/*
 * W1, W2, S3: published vectors, byte for byte.
 *
 *   tests/data/rfc-vectors.json   RFC 8188 section 3, RFC 8291 section 5 and appendix A,
 *                                 RFC 8292 section 2.4
 *   tests/data/ecdh_p256.json     Project Wycheproof, ecdh_secp256r1_ecpoint_test.json, 0.9rc5
 */
#include "suite.h"

#include <jansson.h>

#include "aes128gcm.h"
#include "curve.h"
#include "encryptor.h"
#include "hkdf.h"

#define TOKEN_EXPIRES_MS (INT64_C(1453523768) * 1000)

struct bytes {
    uint8_t data[512];
    size_t length;
};

static json_t *load(const char *file)
{
    char path[1024];
    const char *root = getenv("LULL_SOURCE_ROOT");
    snprintf(path, sizeof path, "%s/tests/data/%s", root ? root : ".", file);
    json_t *object = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    if (!object) {
        fail_msg("%s cannot be read (set LULL_SOURCE_ROOT)", path);
    }
    return object;
}

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (!text) {
        fail_msg("the vector has no %s", name);
    }
    return text;
}

static struct bytes bytes_of(const json_t *object, const char *name)
{
    struct bytes bytes = {.length = 0};
    const char *text = text_of(object, name);
    int code = lull_base64_decode(text, strlen(text), bytes.data, sizeof bytes.data, &bytes.length);
    assert_int_equal(code, LULL_OK);
    return bytes;
}

static void assert_bytes(const struct bytes *expected, const uint8_t *actual, size_t length)
{
    assert_int_equal(length, expected->length);
    assert_memory_equal(actual, expected->data, length);
}

/* ---- RFC 8291 ---- */

static struct pair pair_of(const json_t *object, const char *private_name, const char *public_name)
{
    struct pair pair;
    struct bytes private_key = bytes_of(object, private_name);
    struct bytes public_key = bytes_of(object, public_name);
    assert_int_equal(private_key.length, sizeof pair.private_key);
    assert_int_equal(public_key.length, sizeof pair.public_key);
    memcpy(pair.private_key, private_key.data, sizeof pair.private_key);
    memcpy(pair.public_key, public_key.data, sizeof pair.public_key);
    return pair;
}

static void test_W1_rfc8291_message(void **state)
{
    (void)state;
    json_t *file = load("rfc-vectors.json");
    const json_t *vector = json_object_get(file, "rfc8291_s5_appA");
    struct pair sender = pair_of(vector, "as_private", "as_public");
    struct pair receiver = pair_of(vector, "ua_private", "ua_public");
    struct bytes salt = bytes_of(vector, "salt");
    struct bytes auth = bytes_of(vector, "auth_secret");
    struct bytes text = bytes_of(vector, "plaintext_b64u");
    struct bytes message = bytes_of(vector, "message");
    struct lull_encryptor *encryptor = NULL;
    uint8_t body[LULL_PUSH_BODY_MAX];
    uint8_t opened[LULL_PUSH_BODY_MAX];
    size_t length = 0;
    assert_int_equal(lull_encryptor_new(&encryptor, 0), LULL_OK);
    assert_int_equal(encrypt_with(encryptor, &sender, salt.data, receiver.public_key, auth.data,
                                  text.data, text.length, 0, body, &length),
                     LULL_OK);
    assert_bytes(&message, body, length);
    struct bytes header = bytes_of(vector, "header");
    struct bytes sealed = bytes_of(vector, "ciphertext");
    assert_bytes(&header, body, LULL_PUSH_HEADER_SIZE);
    assert_bytes(&sealed, body + LULL_PUSH_HEADER_SIZE, length - LULL_PUSH_HEADER_SIZE);

    assert_int_equal(lull_push_decrypt(encryptor, receiver.private_key, auth.data, message.data,
                                       message.length, opened, &length),
                     LULL_OK);
    assert_bytes(&text, opened, length);
    assert_int_equal(length, strlen(text_of(vector, "plaintext")));
    assert_memory_equal(opened, text_of(vector, "plaintext"), length);
    lull_encryptor_destroy(encryptor);
    json_decref(file);
}

/* Appendix A, step by step: where the message is wrong, this says at which step. */
static void test_W1_rfc8291_intermediate_values(void **state)
{
    (void)state;
    json_t *file = load("rfc-vectors.json");
    const json_t *vector = json_object_get(file, "rfc8291_s5_appA");
    struct pair sender = pair_of(vector, "as_private", "as_public");
    struct pair receiver = pair_of(vector, "ua_private", "ua_public");
    struct bytes auth = bytes_of(vector, "auth_secret");
    struct bytes salt = bytes_of(vector, "salt");
    struct bytes shared = bytes_of(vector, "ecdh_secret");
    struct curve curve;
    struct hkdf hkdf;
    uint8_t point[LULL_P256_POINT_SIZE];
    uint8_t secret[LULL_P256_SCALAR_SIZE];
    uint8_t key[SHA256_SIZE];
    uint8_t input[SHA256_SIZE];
    assert_true(curve_init(&curve));
    assert_true(hkdf_init(&hkdf));
    assert_true(curve_public(&curve, sender.private_key, point));
    assert_memory_equal(point, sender.public_key, sizeof point);
    assert_true(curve_public(&curve, receiver.private_key, point));
    assert_memory_equal(point, receiver.public_key, sizeof point);
    assert_true(curve_shared(&curve, sender.private_key, receiver.public_key, secret));
    assert_bytes(&shared, secret, sizeof secret);
    assert_true(curve_shared(&curve, receiver.private_key, sender.public_key, secret));
    assert_bytes(&shared, secret, sizeof secret);

    assert_true(hkdf_extract(&hkdf, auth.data, auth.length, secret, sizeof secret, key));
    struct bytes expected = bytes_of(vector, "prk_key");
    assert_bytes(&expected, key, sizeof key);
    struct bytes info = bytes_of(vector, "key_info");
    assert_true(hkdf_expand(&hkdf, key, info.data, info.length, input, sizeof input));
    expected = bytes_of(vector, "ikm");
    assert_bytes(&expected, input, sizeof input);
    assert_true(hkdf_extract(&hkdf, salt.data, salt.length, input, sizeof input, key));
    expected = bytes_of(vector, "prk");
    assert_bytes(&expected, key, sizeof key);
    info = bytes_of(vector, "cek_info");
    assert_true(hkdf_expand(&hkdf, key, info.data, info.length, input, 16));
    expected = bytes_of(vector, "cek");
    assert_bytes(&expected, input, 16);
    info = bytes_of(vector, "nonce_info");
    assert_true(hkdf_expand(&hkdf, key, info.data, info.length, input, 12));
    expected = bytes_of(vector, "nonce");
    assert_bytes(&expected, input, 12);
    hkdf_clean_up(&hkdf);
    curve_clean_up(&curve);
    json_decref(file);
}

/* ---- RFC 8188 ---- */

static void check_opened(struct aes128gcm *coding, const json_t *vector)
{
    struct bytes key = bytes_of(vector, "key");
    struct bytes salt = bytes_of(vector, "salt");
    struct bytes message = bytes_of(vector, "message");
    struct aes128gcm_header header;
    const char *key_id = text_of(vector, "keyid");
    const char *text = text_of(vector, "plaintext");
    uint8_t opened[512];
    size_t length = 0;
    assert_true(aes128gcm_read_header(message.data, message.length, &header));
    assert_int_equal(header.record_size, json_integer_value(json_object_get(vector, "rs")));
    assert_int_equal(header.size, AES128GCM_FIXED_SIZE + strlen(key_id));
    assert_int_equal(header.key_id_length, strlen(key_id));
    assert_memory_equal(header.key_id, key_id, strlen(key_id));
    assert_memory_equal(header.salt, salt.data, salt.length);
    assert_true(aes128gcm_open(coding, &header, key.data, key.length, message.data, message.length,
                               opened, &length));
    assert_int_equal(length, strlen(text));
    assert_memory_equal(opened, text, length);
}

static void test_W1_rfc8188_one_record(void **state)
{
    (void)state;
    json_t *file = load("rfc-vectors.json");
    const json_t *vector = json_object_get(file, "rfc8188_s3_1");
    struct bytes key = bytes_of(vector, "key");
    struct bytes salt = bytes_of(vector, "salt");
    struct bytes message = bytes_of(vector, "message");
    const char *text = text_of(vector, "plaintext");
    struct aes128gcm coding = {0};
    uint8_t body[512];
    assert_true(aes128gcm_init(&coding));
    assert_true(aes128gcm_seal(&coding, salt.data, key.data, key.length, 4096, NULL, 0,
                               (const uint8_t *)text, strlen(text), 0, body));
    assert_memory_equal(body, message.data, message.length);
    assert_int_equal(message.length, AES128GCM_FIXED_SIZE + strlen(text) + 1 + AES128GCM_TAG_SIZE);
    check_opened(&coding, vector);
    aes128gcm_clean_up(&coding);
    json_decref(file);
}

/* Two records, with padding in the first. Either alone, and both in the other order, are refused.
 */
static void test_W1_rfc8188_two_records(void **state)
{
    (void)state;
    json_t *file = load("rfc-vectors.json");
    const json_t *vector = json_object_get(file, "rfc8188_s3_2");
    struct bytes key = bytes_of(vector, "key");
    struct bytes message = bytes_of(vector, "message");
    struct aes128gcm coding = {0};
    struct aes128gcm_header header;
    uint8_t opened[512];
    size_t length = 77;
    assert_true(aes128gcm_init(&coding));
    check_opened(&coding, vector);
    assert_true(aes128gcm_read_header(message.data, message.length, &header));
    for (size_t cut = header.size; cut < message.length; cut++) {
        assert_false(aes128gcm_open(&coding, &header, key.data, key.length, message.data, cut,
                                    opened, &length));
    }
    uint8_t *first = message.data + header.size;
    size_t second_size = message.length - header.size - header.record_size;
    struct bytes swapped = message;
    memcpy(swapped.data + header.size, first + header.record_size, second_size);
    memcpy(swapped.data + header.size + second_size, first, header.record_size);
    assert_false(aes128gcm_open(&coding, &header, key.data, key.length, swapped.data,
                                swapped.length, opened, &length));
    assert_false(aes128gcm_open(&coding, &header, key.data, key.length, swapped.data,
                                header.size + second_size, opened, &length));
    assert_int_equal(length, 77);
    aes128gcm_clean_up(&coding);
    json_decref(file);
}

/* ---- RFC 8292 ---- */

static void test_W2_rfc8292_token(void **state)
{
    (void)state;
    json_t *file = load("rfc-vectors.json");
    const json_t *vector = json_object_get(file, "rfc8292_s2_4");
    struct bytes key = bytes_of(vector, "k");
    struct lull_vapid_claims claims;
    struct lull_webpush_error error = {""};
    char header[1024];
    snprintf(header, sizeof header, "vapid t=%s, k=%s", text_of(vector, "jwt"),
             text_of(vector, "k"));
    assert_int_equal(lull_vapid_verify(header, strlen(header), &claims, &error), LULL_OK);
    assert_string_equal(claims.audience, "https://push.example.net");
    assert_string_equal(claims.subject, "mailto:push@example.com");
    assert_int_equal(claims.expires_ms, TOKEN_EXPIRES_MS);
    assert_bytes(&key, claims.public_key, sizeof claims.public_key);

    static const struct {
        const char *name;
        const char *origin;
        int64_t now_ms;
        const char *sentence; /* NULL: good */
    } cases[] = {
        {"an hour before", "https://push.example.net", TOKEN_EXPIRES_MS - LULL_HOURS(1), NULL},
        {"at the last moment", "https://push.example.net", TOKEN_EXPIRES_MS - 1, NULL},
        {"at its end", "https://push.example.net", TOKEN_EXPIRES_MS, "exp is in the past"},
        {"after it", "https://push.example.net", TOKEN_EXPIRES_MS + 1, "exp is in the past"},
        {"24 h before", "https://push.example.net", TOKEN_EXPIRES_MS - LULL_HOURS(24), NULL},
        {"more than that", "https://push.example.net", TOKEN_EXPIRES_MS - LULL_HOURS(24) - 1,
         "exp is more than 24 hours ahead"},
        {"elsewhere", "https://push.example.org", TOKEN_EXPIRES_MS - LULL_HOURS(1),
         "aud is not this push service's origin"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int code = lull_vapid_check(&claims, cases[i].origin, cases[i].now_ms, &error);
        if (code != (cases[i].sentence ? LULL_ERR_RANGE : LULL_OK)) {
            fail_msg("%s: %s", cases[i].name, lull_error_to_string(code));
        }
        if (cases[i].sentence) {
            assert_string_equal(error.text, cases[i].sentence);
        }
    }
    json_decref(file);
}

/* ---- Wycheproof ---- */

static size_t from_hex(const char *hex, uint8_t *out, size_t size)
{
    size_t length = strlen(hex) / 2;
    assert_true(length <= size);
    for (size_t i = 0; i < length; i++) {
        unsigned byte = 0;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        out[i] = (uint8_t)byte;
    }
    return length;
}

/* The file writes numbers as ASN.1 does: with a zero in front, or without those that lead. */
static void read_scalar(const char *hex, uint8_t ret[LULL_P256_SCALAR_SIZE])
{
    uint8_t bytes[64];
    size_t length = from_hex(hex, bytes, sizeof bytes);
    const uint8_t *at = bytes;
    for (; length > LULL_P256_SCALAR_SIZE; length--) {
        assert_int_equal(*at++, 0);
    }
    memset(ret, 0, LULL_P256_SCALAR_SIZE);
    memcpy(ret + LULL_P256_SCALAR_SIZE - length, at, length);
}

static bool has_flag(const json_t *row, const char *flag)
{
    size_t i = 0;
    const json_t *value = NULL;
    json_array_foreach(json_object_get(row, "flags"), i, value)
    {
        if (strcmp(json_string_value(value), flag) == 0) {
            return true;
        }
    }
    return false;
}

/* Points of another size than 65 (the compressed ones) do not exist in Web Push: their bytes, with
 * zeros behind, must not pass for a point either. */
static bool check_row(struct curve *curve, const json_t *row)
{
    uint8_t point[128] = {0};
    uint8_t private_key[LULL_P256_SCALAR_SIZE];
    uint8_t expected[LULL_P256_SCALAR_SIZE];
    uint8_t secret[LULL_P256_SCALAR_SIZE];
    uint8_t untouched[LULL_P256_SCALAR_SIZE];
    const char *result = text_of(row, "result");
    bool is_compressed = has_flag(row, "CompressedPoint");
    bool is_valid = strcmp(result, "valid") == 0;
    size_t length = from_hex(text_of(row, "public"), point, sizeof point);
    assert_int_equal(length, is_compressed ? 33 : 65);
    assert_true(is_valid || is_compressed || strcmp(result, "invalid") == 0);
    read_scalar(text_of(row, "private"), private_key);
    memset(secret, 0xa5, sizeof secret);
    memset(untouched, 0xa5, sizeof untouched);
    bool is_point = curve_is_point(curve, point);
    bool is_shared = curve_shared(curve, private_key, point, secret);
    if (!is_valid) {
        return !is_point && !is_shared && memcmp(secret, untouched, sizeof secret) == 0;
    }
    assert_int_equal(from_hex(text_of(row, "shared"), expected, sizeof expected), sizeof expected);
    return is_point && is_shared && memcmp(secret, expected, sizeof secret) == 0;
}

static void test_S3_ecdh(void **state)
{
    (void)state;
    json_t *file = load("ecdh_p256.json");
    struct curve curve;
    size_t count = 0;
    size_t g = 0;
    const json_t *group = NULL;
    assert_true(curve_init(&curve));
    json_array_foreach(json_object_get(file, "testGroups"), g, group)
    {
        size_t i = 0;
        const json_t *row = NULL;
        json_array_foreach(json_object_get(group, "tests"), i, row)
        {
            if (!check_row(&curve, row)) {
                fail_msg("row %lld (%s) is wrong",
                         (long long)json_integer_value(json_object_get(row, "tcId")),
                         text_of(row, "comment"));
            }
            count++;
        }
    }
    assert_int_equal(count, 237);
    assert_int_equal(count, json_integer_value(json_object_get(file, "numberOfTests")));
    curve_clean_up(&curve);
    json_decref(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_W1_rfc8291_message),
        cmocka_unit_test(test_W1_rfc8291_intermediate_values),
        cmocka_unit_test(test_W1_rfc8188_one_record),
        cmocka_unit_test(test_W1_rfc8188_two_records),
        cmocka_unit_test(test_W2_rfc8292_token),
        cmocka_unit_test(test_S3_ecdh),
    };
    return cmocka_run_group_tests_name("vectors", tests, NULL, NULL);
}
