/* W4. The HMAC example is the one that Standard Webhooks publishes; the Ed25519 key is RFC 8032's
 * first (section 7.1), and its signature was made with another implementation. */
#include "suite.h"

#include "lull/webhook.h"

#define ID "msg_p5jXN8AQM9LWM0D4loKWxJek"
#define TIME_S INT64_C(1614265330)
#define TIME "1614265330"
#define BODY "{\"test\": 2432232314}"

#define SECRET "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
#define SIGNATURE "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="

#define SECRET_64                                                                                  \
    "whsec_"                                                                                       \
    "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQg=="
#define SIGNATURE_64 "v1,C0r2zMkn7giq1AEKvD2vkV0AB+yD9KHedHBu1gLbluA="

#define PRIVATE "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A="
#define PRIVATE_AND_PUBLIC                                                                         \
    "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2DXWpgBgrEKt9VL/"                               \
    "tPJZAc6DuFy89qmIyWvAhpo9wdRGg=="
#define PUBLIC "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
#define SIGNATURE_A                                                                                \
    "v1a,fldxM4gAKugP6nnt1hdz3sgGfZ6d99nzrMFnZOELIxbzEHoVmAb2ADpkJK7zgPePmPsle0zV9jSeGlHFG2NVAw=="

static struct lull_webhook_secret secret_of(const char *text)
{
    struct lull_webhook_secret secret;
    assert_int_equal(lull_webhook_secret_parse(&secret, text, strlen(text)), LULL_OK);
    return secret;
}

static void sign(const char *const *texts, size_t count, char *ret_signature)
{
    struct lull_webhook_secret secrets[LULL_WEBHOOK_SECRETS_MAX];
    for (size_t i = 0; i < count; i++) {
        secrets[i] = secret_of(texts[i]);
    }
    assert_int_equal(
        lull_webhook_sign(secrets, count, ID, TIME_S, BODY, strlen(BODY), ret_signature), LULL_OK);
}

/* Of the message above, at its own time. */
static int verify(const char *secret_text, const char *signature)
{
    struct lull_webhook_secret secret = secret_of(secret_text);
    return lull_webhook_verify(&secret, 1, ID, TIME, signature, BODY, strlen(BODY), TIME_S,
                               LULL_WEBHOOK_TOLERANCE_S);
}

static void test_W4_secrets_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum lull_webhook_secret_kind kind;
        size_t length;
        uint8_t first;
        uint8_t last;
    } cases[] = {
        {SECRET, LULL_WEBHOOK_HMAC, 24, 0x31, 0xb0},
        {SECRET_64, LULL_WEBHOOK_HMAC, 64, 0x42, 0x42},
        {PRIVATE, LULL_WEBHOOK_ED25519_PRIVATE, 32, 0x9d, 0x60},
        {PRIVATE_AND_PUBLIC, LULL_WEBHOOK_ED25519_PRIVATE, 64, 0x9d, 0x1a},
        {PUBLIC, LULL_WEBHOOK_ED25519_PUBLIC, 32, 0xd7, 0x1a},
        /* base64url, and without padding */
        {"whpk_11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", LULL_WEBHOOK_ED25519_PUBLIC, 32, 0xd7,
         0x1a},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lull_webhook_secret secret = secret_of(cases[i].text);
        assert_int_equal(secret.kind, cases[i].kind);
        assert_int_equal(secret.length, cases[i].length);
        assert_int_equal(secret.key[0], cases[i].first);
        assert_int_equal(secret.key[secret.length - 1], cases[i].last);
    }
}

static void test_W4_what_is_no_secret_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *text;
        int error;
    } cases[] = {
        {"nothing", "", LULL_ERR_SYNTAX},
        {"no prefix", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", LULL_ERR_SYNTAX},
        {"part of a prefix", "whse", LULL_ERR_SYNTAX},
        {"an unknown prefix", "whxx_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", LULL_ERR_SYNTAX},
        {"a prefix in upper case", "WHSEC_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", LULL_ERR_SYNTAX},
        {"space before it", " " SECRET, LULL_ERR_SYNTAX},
        {"a prefix alone", "whsec_", LULL_ERR_SYNTAX},
        {"a prefix alone", "whsk_", LULL_ERR_SYNTAX},
        {"a prefix alone", "whpk_", LULL_ERR_SYNTAX},
        {"no base64", "whsec_MfKQ9r8GKYqr!wjUPD8ILPZIo2LaLaSw", LULL_ERR_SYNTAX},
        {"a newline after it", SECRET "\n", LULL_ERR_SYNTAX},
        {"23 bytes", "whsec_QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkI=", LULL_ERR_RANGE},
        {"65 bytes",
         "whsec_"
         "QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJC"
         "QkI=",
         LULL_ERR_RANGE},
        {"a private key of 31 bytes",
         "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyufw==", LULL_ERR_RANGE},
        {"a private key of 33 bytes", "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2DX",
         LULL_ERR_RANGE},
        {"another's public key with it",
         "whsk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2DXWpgBgrEKt9VL/tPJZAc6DuFy89qmIyWvAhpo9wdR"
         "Gw==",
         LULL_ERR_RANGE},
        {"a public key of 31 bytes",
         "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHUQ==", LULL_ERR_RANGE},
        {"a public key of 64 bytes",
         "whpk_nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2DXWpgBgrEKt9VL/tPJZAc6DuFy89qmIyWvAhpo9wdR"
         "Gg==",
         LULL_ERR_RANGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lull_webhook_secret secret;
        struct lull_webhook_secret before;
        memset(&secret, 0xa5, sizeof secret);
        memcpy(&before, &secret, sizeof secret);
        int error = lull_webhook_secret_parse(&secret, cases[i].text, strlen(cases[i].text));
        if (error != cases[i].error) {
            fail_msg("%s: %s", cases[i].name, lull_error_to_string(error));
        }
        assert_memory_equal(&secret, &before, sizeof secret); /* untouched */
    }
}

/* The length counts, not a final zero. */
static void test_W4_a_secret_ends_where_its_length_says(void **state)
{
    (void)state;
    struct lull_webhook_secret secret;
    assert_int_equal(lull_webhook_secret_parse(&secret, SECRET " and more", strlen(SECRET)),
                     LULL_OK);
    assert_int_equal(secret.length, 24);
}

static void test_W4_the_published_example(void **state)
{
    (void)state;
    char signature[LULL_WEBHOOK_SIGNATURE_SIZE];
    sign((const char *const[]){SECRET}, 1, signature);
    assert_string_equal(signature, SIGNATURE);
    assert_int_equal(verify(SECRET, SIGNATURE), LULL_OK);
}

static void test_W4_ed25519(void **state)
{
    (void)state;
    char signature[LULL_WEBHOOK_SIGNATURE_SIZE];
    sign((const char *const[]){PRIVATE}, 1, signature);
    assert_string_equal(signature, SIGNATURE_A);
    sign((const char *const[]){PRIVATE_AND_PUBLIC}, 1, signature);
    assert_string_equal(signature, SIGNATURE_A);
    assert_int_equal(verify(PUBLIC, SIGNATURE_A), LULL_OK);
    assert_int_equal(verify(PRIVATE, SIGNATURE_A), LULL_OK);
    assert_int_equal(verify(PRIVATE_AND_PUBLIC, SIGNATURE_A), LULL_OK);
    assert_int_equal(verify(SECRET, SIGNATURE_A), LULL_ERR_UNKNOWN);
    /* 32 bytes that are no point of the curve: nothing fits them */
    assert_int_equal(verify("whpk_AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", SIGNATURE_A),
                     LULL_ERR_UNKNOWN);
}

/* A secret is changed: the sender signs with both, and either receiver is content. */
static void test_W4_rotation(void **state)
{
    (void)state;
    char signature[LULL_WEBHOOK_SIGNATURE_SIZE];
    sign((const char *const[]){SECRET_64, SECRET, PRIVATE}, 3, signature);
    assert_string_equal(signature, SIGNATURE_64 " " SIGNATURE " " SIGNATURE_A);
    assert_int_equal(verify(SECRET, signature), LULL_OK);
    assert_int_equal(verify(SECRET_64, signature), LULL_OK);
    assert_int_equal(verify(PUBLIC, signature), LULL_OK);
    assert_int_equal(verify("whsec_QkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJC", signature), LULL_ERR_UNKNOWN);

    /* and a receiver who knows several is content with the one that was used */
    struct lull_webhook_secret known[] = {secret_of(PUBLIC), secret_of(SECRET_64),
                                          secret_of(SECRET)};
    for (size_t i = 0; i < 3; i++) {
        const char *const made[] = {SIGNATURE, SIGNATURE_64, SIGNATURE_A};
        assert_int_equal(
            lull_webhook_verify(known, 3, ID, TIME, made[i], BODY, strlen(BODY), TIME_S, 0),
            LULL_OK);
    }
    assert_int_equal(
        lull_webhook_verify(known, 2, ID, TIME, SIGNATURE, BODY, strlen(BODY), TIME_S, 0),
        LULL_ERR_UNKNOWN);
    assert_int_equal(
        lull_webhook_verify(NULL, 0, ID, TIME, SIGNATURE, BODY, strlen(BODY), TIME_S, 0),
        LULL_ERR_UNKNOWN);
}

static void test_W4_as_many_secrets_as_there_may_be(void **state)
{
    (void)state;
    const char *texts[LULL_WEBHOOK_SECRETS_MAX];
    for (size_t i = 0; i < LULL_WEBHOOK_SECRETS_MAX; i++) {
        texts[i] = PRIVATE; /* its signature is the longer one */
    }
    char signature[LULL_WEBHOOK_SIGNATURE_SIZE];
    sign(texts, LULL_WEBHOOK_SECRETS_MAX, signature);
    size_t length = LULL_WEBHOOK_SECRETS_MAX * (strlen(SIGNATURE_A) + 1) - 1;
    assert_int_equal(strlen(signature), length);
    assert_true(length < LULL_WEBHOOK_SIGNATURE_SIZE);
    assert_int_equal(verify(PUBLIC, signature), LULL_OK);
}

static void test_W4_what_cannot_be_signed_is_refused(void **state)
{
    (void)state;
    struct lull_webhook_secret secrets[LULL_WEBHOOK_SECRETS_MAX + 1];
    for (size_t i = 0; i < LULL_WEBHOOK_SECRETS_MAX + 1; i++) {
        secrets[i] = secret_of(SECRET);
    }
    struct lull_webhook_secret too_long = secrets[0];
    too_long.length = sizeof too_long.key + 1;
    struct lull_webhook_secret with_public[] = {secret_of(SECRET), secret_of(PUBLIC)};
    const struct {
        const char *name;
        const struct lull_webhook_secret *secrets;
        size_t count;
        const char *id;
        int64_t timestamp_s;
    } cases[] = {
        {"no secret", secrets, 0, ID, TIME_S},
        {"no secret", NULL, 0, ID, TIME_S},
        {"one too many", secrets, LULL_WEBHOOK_SECRETS_MAX + 1, ID, TIME_S},
        {"a public key", with_public, 2, ID, TIME_S},
        {"a length that no key has", &too_long, 1, ID, TIME_S},
        {"no id", secrets, 1, "", TIME_S},
        {"a dot", secrets, 1, "msg.1", TIME_S},
        {"nothing but a dot", secrets, 1, ".", TIME_S},
        {"a dot at the end", secrets, 1, "msg_1.", TIME_S},
        {"a line break", secrets, 1, "msg_1\r\nX-Other: 1", TIME_S},
        {"a space", secrets, 1, "msg 1", TIME_S},
        {"no ASCII", secrets, 1, "msg_\xc3\xa4", TIME_S},
        {"before 1970", secrets, 1, ID, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char signature[LULL_WEBHOOK_SIGNATURE_SIZE];
        char before[LULL_WEBHOOK_SIGNATURE_SIZE];
        memset(signature, 0xa5, sizeof signature);
        memcpy(before, signature, sizeof signature);
        int error = lull_webhook_sign(cases[i].secrets, cases[i].count, cases[i].id,
                                      cases[i].timestamp_s, BODY, strlen(BODY), signature);
        if (error != LULL_ERR_RANGE) {
            fail_msg("%s: %s", cases[i].name, lull_error_to_string(error));
        }
        assert_memory_equal(signature, before, sizeof signature); /* untouched */
    }
}

/* Bytes, not text: zeros in it, or none at all. */
static void test_W4_any_body(void **state)
{
    (void)state;
    struct lull_webhook_secret secrets[] = {secret_of(SECRET), secret_of(PRIVATE)};
    uint8_t body[1000];
    for (size_t i = 0; i < sizeof body; i++) {
        body[i] = (uint8_t)i;
    }
    static const size_t lengths[] = {0, 1, 2, 63, 64, 65, 1000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        char signature[LULL_WEBHOOK_SIGNATURE_SIZE];
        const void *start = lengths[i] > 0 ? body : NULL;
        assert_int_equal(
            lull_webhook_sign(secrets, 2, "x", INT64_MAX, start, lengths[i], signature), LULL_OK);
        for (size_t k = 0; k < 2; k++) {
            assert_int_equal(lull_webhook_verify(&secrets[k], 1, "x", "9223372036854775807",
                                                 signature, start, lengths[i], INT64_MAX, 0),
                             LULL_OK);
            assert_int_equal(lull_webhook_verify(&secrets[k], 1, "x", "9223372036854775807",
                                                 signature, body, lengths[i] - (lengths[i] > 1),
                                                 INT64_MAX, 0),
                             lengths[i] > 1 ? LULL_ERR_UNKNOWN : LULL_OK);
        }
    }
}

static void test_W4_any_change_is_noticed(void **state)
{
    (void)state;
    static const char *const secrets[] = {SECRET, PUBLIC};
    static const char *const signatures[] = {SIGNATURE, SIGNATURE_A};
    for (size_t k = 0; k < 2; k++) {
        struct lull_webhook_secret secret = secret_of(secrets[k]);
        char body[] = BODY;
        for (size_t bit = 0; bit < 8 * strlen(BODY); bit++) {
            body[bit / 8] = (char)(body[bit / 8] ^ 1 << bit % 8);
            assert_int_equal(lull_webhook_verify(&secret, 1, ID, TIME, signatures[k], body,
                                                 strlen(BODY), TIME_S, 0),
                             LULL_ERR_UNKNOWN);
            body[bit / 8] = BODY[bit / 8];
        }
        assert_int_equal(lull_webhook_verify(&secret, 1, ID "x", TIME, signatures[k], BODY,
                                             strlen(BODY), TIME_S, 300),
                         LULL_ERR_UNKNOWN);
        assert_int_equal(lull_webhook_verify(&secret, 1, ID, "1614265331", signatures[k], BODY,
                                             strlen(BODY), TIME_S, 300),
                         LULL_ERR_UNKNOWN);
        char changed[LULL_WEBHOOK_SIGNATURE_SIZE];
        strcpy(changed, signatures[k]);
        size_t first = strcspn(changed, ",") + 1;
        for (size_t i = first; i < strcspn(changed, "="); i++) {
            changed[i] = changed[i] == 'A' ? 'B' : 'A';
            if (changed[i] != signatures[k][i]) {
                assert_int_equal(verify(secrets[k], changed), LULL_ERR_UNKNOWN);
            }
            changed[i] = signatures[k][i];
        }
        assert_int_equal(verify(secrets[k], changed), LULL_OK);
    }
}

/* The same bytes are signed for id "a" and a body that begins with a number and a dot, and for id
 * "a.<time>" without them: so no id may have a dot, there is no other reading. */
static void test_W4_the_parts_cannot_be_shifted(void **state)
{
    (void)state;
    struct lull_webhook_secret secret = secret_of(SECRET);
    char signature[LULL_WEBHOOK_SIGNATURE_SIZE];
    static const char body[] = "1614265400.pay";
    assert_int_equal(lull_webhook_sign(&secret, 1, "a", TIME_S, body, strlen(body), signature),
                     LULL_OK);
    assert_int_equal(
        lull_webhook_verify(&secret, 1, "a", TIME, signature, body, strlen(body), TIME_S, 300),
        LULL_OK);
    assert_int_equal(
        lull_webhook_verify(&secret, 1, "a." TIME, "1614265400", signature, "pay", 3, TIME_S, 300),
        LULL_ERR_UNKNOWN);
    assert_int_equal(lull_webhook_verify(&secret, 1, "a", "1614265330.1614265400", signature, "pay",
                                         3, TIME_S, 300),
                     LULL_ERR_SYNTAX);
}

static void test_W4_lists_of_signatures(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        int result;
    } cases[] = {
        {"", LULL_ERR_UNKNOWN},
        {" ", LULL_ERR_UNKNOWN},
        {"v1", LULL_ERR_UNKNOWN},
        {"v1,", LULL_ERR_UNKNOWN},
        {"v1,,", LULL_ERR_UNKNOWN},
        {"v1,AAAA", LULL_ERR_UNKNOWN},
        {"v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", LULL_ERR_UNKNOWN},
        {"v1,!!!!", LULL_ERR_UNKNOWN},
        {"g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", LULL_ERR_UNKNOWN},
        {"v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", LULL_ERR_UNKNOWN},
        {"v1a,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", LULL_ERR_UNKNOWN},
        {"V1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", LULL_ERR_UNKNOWN},
        {SIGNATURE "," SIGNATURE, LULL_ERR_UNKNOWN},
        {"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1A==", LULL_ERR_UNKNOWN}, /* 31 bytes */
        {SIGNATURE_64 " " SIGNATURE_A, LULL_ERR_UNKNOWN},
        {"v2,abc " SIGNATURE, LULL_OK},
        {"v2 , v1 v1, " SIGNATURE " v9,x", LULL_OK},
        {SIGNATURE_64 " " SIGNATURE_64 " " SIGNATURE, LULL_OK},
        {SIGNATURE_A " " SIGNATURE, LULL_OK},
        {"  " SIGNATURE "  ", LULL_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int result = verify(SECRET, cases[i].list);
        if (result != cases[i].result) {
            fail_msg("'%s': %s", cases[i].list, lull_error_to_string(result));
        }
    }
}

static void test_W4_tolerance(void **state)
{
    (void)state;
    static const struct {
        const char *timestamp; /* of the message, which is signed with it where it can be */
        int64_t now_s;
        int64_t tolerance_s;
        int result;
    } cases[] = {
        {TIME, TIME_S, 300, LULL_OK},
        {TIME, TIME_S + 300, 300, LULL_OK},
        {TIME, TIME_S + 301, 300, LULL_ERR_RANGE},
        {TIME, TIME_S - 300, 300, LULL_OK},
        {TIME, TIME_S - 301, 300, LULL_ERR_RANGE},
        {TIME, TIME_S, 0, LULL_OK},
        {TIME, TIME_S + 1, 0, LULL_ERR_RANGE},
        {TIME, TIME_S - 1, 0, LULL_ERR_RANGE},
        {TIME, TIME_S, -1, LULL_ERR_RANGE},
        {TIME, TIME_S, INT64_MIN, LULL_ERR_RANGE},
        {TIME, INT64_MIN, INT64_MAX, LULL_ERR_RANGE},
        {TIME, INT64_MAX, INT64_MAX, LULL_OK},
        {"9223372036854775807", -2, INT64_MAX, LULL_ERR_RANGE},
        {"9223372036854775808", TIME_S, 300, LULL_ERR_RANGE},
        {"99999999999999999999999999", TIME_S, 300, LULL_ERR_RANGE},
        {"0", TIME_S, 300, LULL_ERR_RANGE},
        {"", TIME_S, 300, LULL_ERR_SYNTAX},
        {"-1614265330", TIME_S, 300, LULL_ERR_SYNTAX},
        {"+1614265330", TIME_S, 300, LULL_ERR_SYNTAX},
        {" 1614265330", TIME_S, 300, LULL_ERR_SYNTAX},
        {"1614265330 ", TIME_S, 300, LULL_ERR_SYNTAX},
        {"1614265330.5", TIME_S, 300, LULL_ERR_SYNTAX},
        {"1.6e9", TIME_S, 300, LULL_ERR_SYNTAX},
        {"0x60378ff2", TIME_S, 300, LULL_ERR_SYNTAX},
        {"soon", TIME_S, 300, LULL_ERR_SYNTAX},
        {"01614265330", TIME_S, 300, LULL_ERR_UNKNOWN}, /* the same time, but not what was signed */
    };
    struct lull_webhook_secret secret = secret_of(SECRET);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int result = lull_webhook_verify(&secret, 1, ID, cases[i].timestamp, SIGNATURE, BODY,
                                         strlen(BODY), cases[i].now_s, cases[i].tolerance_s);
        if (result != cases[i].result) {
            fail_msg("case %zu, '%s': %s", i, cases[i].timestamp, lull_error_to_string(result));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_W4_secrets_are_read),
        cmocka_unit_test(test_W4_what_is_no_secret_is_refused),
        cmocka_unit_test(test_W4_a_secret_ends_where_its_length_says),
        cmocka_unit_test(test_W4_the_published_example),
        cmocka_unit_test(test_W4_ed25519),
        cmocka_unit_test(test_W4_rotation),
        cmocka_unit_test(test_W4_as_many_secrets_as_there_may_be),
        cmocka_unit_test(test_W4_what_cannot_be_signed_is_refused),
        cmocka_unit_test(test_W4_any_body),
        cmocka_unit_test(test_W4_any_change_is_noticed),
        cmocka_unit_test(test_W4_the_parts_cannot_be_shifted),
        cmocka_unit_test(test_W4_lists_of_signatures),
        cmocka_unit_test(test_W4_tolerance),
    };
    return cmocka_run_group_tests_name("webhook", tests, NULL, NULL);
}
