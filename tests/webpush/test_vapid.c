/* W2, W8, S5, V3: keys, their texts, the ring of tokens, and the receiver's side. */
#include "suite.h"

#include <jansson.h>
#include <openssl/ec.h>
#include <openssl/pem.h>

#include "lull/webpush.h"
#include "vapid_key.h"

#define T0 INT64_C(1767225600000) /* 2026-01-01 */
#define SUBJECT "mailto:push@example.com"
#define FCM "https://fcm.googleapis.com/fcm/send/abc"
#define MOZILLA "https://updates.push.services.mozilla.com/wpush/v2/abc"

/* The sender's pair of RFC 8291, and another one. Its id is the start of
 * `base64url -d | sha256sum` of the public key. */
#define PRIVATE "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"
#define PUBLIC                                                                                     \
    "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
#define X "_jP0qw3qcZFNtVgj9ztUlI9BMG2SBzLbuaWaUyhkgiA"
#define Y "Dll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
#define KEY_ID "-RYOphCUn-Y"
#define OTHER_PRIVATE "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
#define OTHER_PUBLIC                                                                               \
    "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
#define ZERO "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define ORDER "_____wAAAAD__________7zm-q2nF56E87nKwvxjJVE"
#define OVER_ORDER "_____wAAAAD__________7zm-q2nF56E87nKwvxjJVI"
#define ALL_ONES "__________________________________________8"

static struct lull_vapid_key *import(const char *text, const char *subject)
{
    struct lull_vapid_key *key = NULL;
    struct lull_webpush_error error = {""};
    if (lull_vapid_key_import(&key, text, strlen(text), subject, &error) != LULL_OK) {
        fail_msg("not imported: %s", error.text);
    }
    return key;
}

static struct lull_vapid_key *fixed_key(void)
{
    return import("{\"privateKey\":\"" PRIVATE "\"}", SUBJECT);
}

static struct lull_vapid_key *other_key(void)
{
    return import("{\"privateKey\":\"" OTHER_PRIVATE "\"}", "https://example.com/contact");
}

static struct lull_vapid_key *new_key(void)
{
    struct lull_vapid_key *key = NULL;
    assert_int_equal(lull_vapid_key_new(&key, SUBJECT, NULL), LULL_OK);
    return key;
}

/* ---- subjects ---- */

#define CHARACTERS                                                                                 \
    "the subject must be ASCII, without spaces, quotes or <>; push services refuse other tokens"
#define ADDRESS "a mailto: subject must be an address, like mailto:you@example.org"
#define NEITHER "the subject must be mailto: and an address, or an https: URL with a public host"

static const struct {
    const char *subject;
    const char *sentence; /* NULL: good */
} subjects[] = {
    {"mailto:push@example.com", NULL},
    {"mailto:a.b+c@mail.example.co.uk", NULL},
    {"mailto:o'neil_1@xn--bcher-kva.example", NULL},
    {"MAILTO:you@Example.ORG", NULL},
    {"mailto:you@1and1.com", NULL},
    {"https://example.com", NULL},
    {"https://example.com/", NULL},
    {"https://example.com/contact?who=push#form", NULL},
    {"HTTPS://Example.com:8443/x", NULL},
    {"https://1.example.com", NULL},
    {"https://notlocalhost.example", NULL},
    {"https://localhost.example.com", NULL},

    {"", NEITHER},
    {"you@example.org", NEITHER},
    {"example.org", NEITHER},
    {"http://example.com", NEITHER},
    {"ftp://example.com", NEITHER},
    {"tel:+1555", NEITHER},
    {"javascript:alert(1)", NEITHER},
    {"https:", NEITHER},
    {"https:example.com", NEITHER},
    {"https:/example.com", NEITHER},
    {"https://", NEITHER},
    {"https:///contact", NEITHER},
    {"https://example", NEITHER},
    {"https://localhost", NEITHER},
    {"https://localhost:8443/", NEITHER},
    {"https://push.localhost/", NEITHER},
    {"https://PUSH.LocalHost/", NEITHER},
    {"https://.example.com", NEITHER},
    {"https://example.com.", NEITHER},
    {"https://example..com", NEITHER},
    {"https://user@example.com", NEITHER},
    {"https://user:password@example.com", NEITHER},
    {"https://example.com:99999", NEITHER},
    {"https://127.0.0.1", NEITHER},
    {"https://10.0.0.1:8443/", NEITHER},
    {"https://[::1]/", NEITHER},
    {"https://[::ffff:192.0.2.1]/", NEITHER},
    {"https://%6c.example.com", NEITHER},

    {"mailto:", ADDRESS},
    {"mailto:you", ADDRESS},
    {"mailto:you@", ADDRESS},
    {"mailto:@example.org", ADDRESS},
    {"mailto:you@localhost", ADDRESS},
    {"mailto:you@mail.localhost", ADDRESS},
    {"mailto:you@mail.LOCALHOST", ADDRESS},
    {"mailto:you@example", ADDRESS},
    {"mailto:you@.org", ADDRESS},
    {"mailto:you@example.", ADDRESS},
    {"mailto:you@example..org", ADDRESS},
    {"mailto:you@.", ADDRESS},
    {"mailto:you@..", ADDRESS},
    {"mailto:you@...", ADDRESS},
    {"mailto:you@me@example.org", ADDRESS},
    {"mailto:you@example.org,me@example.org", ADDRESS},
    {"mailto:you,me@example.org", ADDRESS},
    {"mailto:you@example.org?subject=push", ADDRESS},
    {"mailto:?to=you@example.org", ADDRESS},
    {"mailto:you@example.org/", ADDRESS},
    {"mailto:you@example.org:25", ADDRESS},
    {"mailto://you@example.org", ADDRESS},
    {"mailto:you@127.0.0.1", ADDRESS},
    {"mailto:you@[127.0.0.1]", ADDRESS},
    {"mailto:mailto:you@example.org", ADDRESS},

    {" mailto:you@example.org", CHARACTERS},
    {"mailto: you@example.org", CHARACTERS},
    {"mailto:you@example.org ", CHARACTERS},
    {"mailto:you@example.org\n", CHARACTERS},
    {"mailto:you@example.org\r\nX: y", CHARACTERS},
    {"mailto:<you@example.org>", CHARACTERS},
    {"<mailto:you@example.org>", CHARACTERS},
    {"mailto:\"you\"@example.org", CHARACTERS},
    {"mailto:you\\@example.org", CHARACTERS},
    {"https://example.com/\",\"aud\":\"https://other.example", CHARACTERS},
    {"mailto:you\t@example.org", CHARACTERS},
    {"mailto:you@example.org\x7f", CHARACTERS},
    {"mailto:j\xc3\xbcrgen@example.org", CHARACTERS},
    {"mailto:you@b\xc3\xbc"
     "cher.example",
     CHARACTERS},
    {"https://b\xc3\xbc"
     "cher.example/",
     CHARACTERS},
    {"mailto:\xff@example.org", CHARACTERS},
    {"mailto:\x80@example.org", CHARACTERS},
};

static void test_W2_V3_subjects(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        struct lull_webpush_error error = {""};
        struct lull_vapid_key *key = NULL;
        const char *expected = subjects[i].sentence ? subjects[i].sentence : "";
        int code = lull_vapid_check_subject(subjects[i].subject, &error);
        if (code != (subjects[i].sentence ? LULL_ERR_RANGE : LULL_OK) ||
            strcmp(error.text, expected) != 0) {
            fail_msg("'%s': %s, '%s'", subjects[i].subject, lull_error_to_string(code), error.text);
        }
        assert_int_equal(lull_vapid_check_subject(subjects[i].subject, NULL), code);
        assert_int_equal(lull_vapid_key_new(&key, subjects[i].subject, NULL), code);
        assert_true((key != NULL) == (code == LULL_OK));
        lull_vapid_key_destroy(key);
    }
}

static void test_W2_longest_subject(void **state)
{
    (void)state;
    char subject[LULL_VAPID_SUBJECT_SIZE + 1];
    char text[LULL_KEY_TEXT_SIZE];
    struct lull_webpush_error error = {""};
    struct lull_vapid_key *key = NULL;
    memset(subject, 'a', sizeof subject);
    memcpy(subject, "https://example.com/", 20);
    subject[LULL_VAPID_SUBJECT_SIZE] = '\0';
    assert_int_equal(lull_vapid_key_new(&key, subject, &error), LULL_ERR_RANGE);
    assert_string_equal(error.text, "the subject has over 255 bytes");
    subject[LULL_VAPID_SUBJECT_SIZE - 1] = '\0';
    assert_int_equal(lull_vapid_key_new(&key, subject, &error), LULL_OK);
    assert_string_equal(lull_vapid_key_subject(key), subject);
    assert_int_equal(lull_vapid_key_export(key, LULL_KEY_FILE, text), LULL_OK);
    struct lull_vapid_key *again = import(text, NULL);
    assert_string_equal(lull_vapid_key_subject(again), subject);
    lull_vapid_key_destroy(again);
    lull_vapid_key_destroy(key);
}

/* ---- texts of keys ---- */

static void test_S5_key_ids(void **state)
{
    (void)state;
    struct lull_vapid_key *keys[16];
    struct lull_vapid_key *key = fixed_key();
    assert_string_equal(lull_vapid_key_id(key), KEY_ID);
    lull_vapid_key_destroy(key);
    key = import("{\"privateKey\":\"" PRIVATE "\"}", "https://example.com"); /* whoever has it */
    assert_string_equal(lull_vapid_key_id(key), KEY_ID);
    lull_vapid_key_destroy(key);
    for (size_t i = 0; i < 16; i++) {
        keys[i] = new_key();
        assert_int_equal(strlen(lull_vapid_key_id(keys[i])), LULL_KEY_ID_SIZE - 1);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(lull_vapid_key_id(keys[i]), lull_vapid_key_id(keys[k]));
            assert_memory_not_equal(lull_vapid_key_public(keys[i]), lull_vapid_key_public(keys[k]),
                                    LULL_P256_POINT_SIZE);
        }
    }
    for (size_t i = 0; i < 16; i++) {
        lull_vapid_key_destroy(keys[i]);
    }
    lull_vapid_key_destroy(NULL);
}

static void test_W2_round_trips(void **state)
{
    (void)state;
    for (int round = 0; round < 8; round++) {
        struct lull_vapid_key *key = round == 0 ? fixed_key() : new_key();
        for (unsigned format = 0; format < LULL_KEY_FORMATS; format++) {
            char text[LULL_KEY_TEXT_SIZE];
            char again_text[LULL_KEY_TEXT_SIZE];
            assert_int_equal(lull_vapid_key_export(key, (enum lull_key_format)format, text),
                             LULL_OK);
            assert_int_equal(text[strlen(text) - 1], '\n');
            /* only Lull's own file has the subject in it */
            struct lull_vapid_key *again = import(text, format == LULL_KEY_FILE ? NULL : SUBJECT);
            assert_string_equal(lull_vapid_key_id(again), lull_vapid_key_id(key));
            assert_string_equal(lull_vapid_key_subject(again), SUBJECT);
            assert_memory_equal(lull_vapid_key_public(again), lull_vapid_key_public(key),
                                LULL_P256_POINT_SIZE);
            assert_memory_equal(&again->pair, &key->pair, sizeof key->pair);
            assert_int_equal(lull_vapid_key_export(again, (enum lull_key_format)format, again_text),
                             LULL_OK);
            assert_string_equal(again_text, text);
            lull_vapid_key_destroy(again);
        }
        lull_vapid_key_destroy(key);
    }
}

static void test_W2_export_is_what_tools_read(void **state)
{
    (void)state;
    char text[LULL_KEY_TEXT_SIZE] = "untouched";
    struct lull_vapid_key *key = fixed_key();
    assert_int_equal(lull_vapid_key_export(key, LULL_KEY_FORMATS, text), LULL_ERR_UNKNOWN);
    assert_string_equal(text, "untouched");
    assert_int_equal(lull_vapid_key_export(key, LULL_KEY_PAIR, text), LULL_OK);
    assert_string_equal(text, "{\"publicKey\":\"" PUBLIC "\",\"privateKey\":\"" PRIVATE "\"}\n");
    assert_int_equal(lull_vapid_key_export(key, LULL_KEY_JWK, text), LULL_OK);
    assert_string_equal(text, "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" X "\",\"y\":\"" Y
                              "\",\"d\":\"" PRIVATE "\"}\n");
    assert_int_equal(lull_vapid_key_export(key, LULL_KEY_FILE, text), LULL_OK);
    json_t *file = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    static const char *const members[][2] = {{"kid", KEY_ID},  {"sub", SUBJECT}, {"kty", "EC"},
                                             {"crv", "P-256"}, {"x", X},         {"y", Y},
                                             {"d", PRIVATE}};
    assert_int_equal(json_object_size(file), 7);
    for (size_t i = 0; i < 7; i++) {
        assert_string_equal(json_string_value(json_object_get(file, members[i][0])), members[i][1]);
    }
    json_decref(file);
    assert_int_equal(lull_vapid_key_export(key, LULL_KEY_PEM, text), LULL_OK);
    assert_memory_equal(text, "-----BEGIN PRIVATE KEY-----\n", 28);
    assert_non_null(strstr(text, "\n-----END PRIVATE KEY-----\n"));
    lull_vapid_key_destroy(key);
}

static void test_format_words(void **state)
{
    (void)state;
    static const char *const words[] = {"file", "jwk", "pem", "pair"};
    for (unsigned i = 0; i < LULL_KEY_FORMATS; i++) {
        enum lull_key_format format = LULL_KEY_FORMATS;
        assert_string_equal(lull_key_format_to_string((enum lull_key_format)i), words[i]);
        assert_int_equal(lull_key_format_from_string(words[i], &format), LULL_OK);
        assert_int_equal(format, i);
    }
    enum lull_key_format format = LULL_KEY_PEM;
    assert_string_equal(lull_key_format_to_string(LULL_KEY_FORMATS), "unknown");
    assert_int_equal(lull_key_format_from_string("PEM", &format), LULL_ERR_UNKNOWN);
    assert_int_equal(lull_key_format_from_string("", &format), LULL_ERR_UNKNOWN);
    assert_int_equal(format, LULL_KEY_PEM);
}

#define JWK(members) "{\"kty\":\"EC\",\"crv\":\"P-256\"," members "}"
#define LINES(first, second)                                                                       \
    "\n=======================================\n\nPublic Key:\n" first "\n\nPrivate Key:\n" second \
    "\n\n=======================================\n"

static const struct {
    const char *name;
    const char *text;
    const char *subject; /* that comes out; NULL: it has to be given */
} imported[] = {
    {"the pair", "{\"publicKey\":\"" PUBLIC "\",\"privateKey\":\"" PRIVATE "\"}", NULL},
    {"the pair, padded", "{\"publicKey\":\"" PUBLIC "=\",\"privateKey\":\"" PRIVATE "=\"}", NULL},
    {"the pair, with a subject",
     "{\"subject\":\"" SUBJECT "\",\"publicKey\":\"" PUBLIC "\",\"privateKey\":\"" PRIVATE "\"}",
     SUBJECT},
    {"the private key alone", "{\"privateKey\":\"" PRIVATE "\"}", NULL},
    {"a JWK", JWK("\"x\":\"" X "\",\"y\":\"" Y "\",\"d\":\"" PRIVATE "\""), NULL},
    {"a JWK as a browser exports it",
     "{\"key_ops\":[\"sign\"],\"ext\":true,\"kty\":\"EC\",\"x\":\"" X "\",\"y\":\"" Y
     "\",\"crv\":\"P-256\",\"d\":\"" PRIVATE "\"}",
     NULL},
    {"Lull's file",
     JWK("\"kid\":\"" KEY_ID "\",\"sub\":\"" SUBJECT "\",\"x\":\"" X "\",\"y\":\"" Y
         "\",\"d\":\"" PRIVATE "\""),
     SUBJECT},
    {"white space before", " \r\n\t{\"privateKey\":\"" PRIVATE "\"}\n", NULL},
    {"as npm's web-push prints it", LINES(PUBLIC, PRIVATE), NULL},
    {"on one line each", "Public Key: " PUBLIC "\nPrivate Key: " PRIVATE "\n", NULL},
    {"the private one first", "Private Key:" PRIVATE "\r\nPublic Key:\t" PUBLIC "\r\n", NULL},
    {"with more words", "VAPID Public Key: " PUBLIC "\nVAPID Private Key: " PRIVATE, NULL},
};

static void test_W2_imported(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof imported / sizeof imported[0]; i++) {
        struct lull_vapid_key *key = NULL;
        struct lull_webpush_error error = {""};
        size_t length = strlen(imported[i].text);
        char *exact = malloc(length); /* not terminated: reading over the end is seen */
        assert_non_null(exact);
        memcpy(exact, imported[i].text, length);
        int code = lull_vapid_key_import(&key, exact, length, imported[i].subject ? NULL : SUBJECT,
                                         &error);
        if (code != LULL_OK) {
            fail_msg("%s: %s", imported[i].name, error.text);
        }
        assert_string_equal(lull_vapid_key_id(key), KEY_ID);
        assert_string_equal(lull_vapid_key_subject(key), SUBJECT);
        lull_vapid_key_destroy(key);
        if (!imported[i].subject) {
            key = NULL;
            assert_int_equal(lull_vapid_key_import(&key, exact, length, NULL, &error),
                             LULL_ERR_RANGE);
            assert_string_equal(error.text,
                                "the text has no subject (mailto: or https:), and none was given");
            assert_null(key);
        }
        key = NULL;
        assert_int_equal(
            lull_vapid_key_import(&key, exact, length, "https://given.example", &error), LULL_OK);
        assert_string_equal(lull_vapid_key_subject(key), "https://given.example");
        lull_vapid_key_destroy(key);
        free(exact);
    }
}

#define NOT_A_PAIR "public and private key are not of one pair"
#define NOT_IN_RANGE "the private key is 0 or not below the curve's order"
#define NOT_P256 "a JWK must have kty EC and crv P-256"
#define NO_FORMAT                                                                                  \
    "neither PEM, nor JSON (a JWK, or publicKey and privateKey), nor the lines 'Public Key:' and " \
    "'Private Key:'"
#define NO_PEM "the PEM has no private key that can be read (one with a password cannot)"
#define XY "\"x\":\"" X "\",\"y\":\"" Y "\","

static const struct {
    const char *text;
    int code;
    const char *sentence; /* or how it starts */
} refused[] = {
    {"", LULL_ERR_SYNTAX, NO_FORMAT},
    {" \n", LULL_ERR_SYNTAX, NO_FORMAT},
    {PRIVATE, LULL_ERR_SYNTAX, NO_FORMAT},
    {"[\"" PRIVATE "\"]", LULL_ERR_SYNTAX, NO_FORMAT},
    {"Private Key:\n" PRIVATE, LULL_ERR_SYNTAX, NO_FORMAT},
    {"Public Key:\n" PUBLIC, LULL_ERR_SYNTAX, NO_FORMAT},
    {"Public Key:\n" PUBLIC "\nPrivate Key:", LULL_ERR_SYNTAX, NO_FORMAT},
    {"Public Key:\n" PUBLIC "\nPrivate Key:\n \n", LULL_ERR_SYNTAX, NO_FORMAT},
    {LINES(PRIVATE, PUBLIC), LULL_ERR_RANGE, "the private key must have 32 bytes"},
    {LINES(PRIVATE, PRIVATE), LULL_ERR_RANGE, "the public key must have 65 bytes"},
    {LINES(OTHER_PUBLIC, PRIVATE), LULL_ERR_RANGE, NOT_A_PAIR},
    {LINES(PUBLIC, "*" PRIVATE), LULL_ERR_SYNTAX, "the private key is not base64url"},
    {LINES(PUBLIC ".", PRIVATE), LULL_ERR_SYNTAX, "the public key is not base64url"},
    {LINES(PUBLIC, ORDER), LULL_ERR_RANGE, NOT_IN_RANGE},

    {"{", LULL_ERR_SYNTAX, "not valid JSON, or a name twice, at line "},
    {"{}", LULL_ERR_SYNTAX, "privateKey is missing, or no string"},
    {"{\"publicKey\":\"" PUBLIC "\"}", LULL_ERR_SYNTAX, "privateKey is missing, or no string"},
    {"{\"privateKey\":7}", LULL_ERR_SYNTAX, "privateKey is missing, or no string"},
    {"{\"privateKey\":\"\"}", LULL_ERR_RANGE, "the privateKey must have 32 bytes"},
    {"{\"privateKey\":\"" PUBLIC "\"}", LULL_ERR_RANGE, "the privateKey must have 32 bytes"},
    {"{\"privateKey\":\"" PUBLIC PUBLIC "AA\"}", LULL_ERR_RANGE,
     "the privateKey must have 32 bytes"},
    {"{\"privateKey\":\"" PRIVATE "!\"}", LULL_ERR_SYNTAX, "the privateKey is not base64url"},
    {"{\"privateKey\":\"" PRIVATE "\"} x", LULL_ERR_SYNTAX, "not valid JSON"},
    {"{\"privateKey\":\"" PRIVATE "\",\"privateKey\":\"" PRIVATE "\"}", LULL_ERR_SYNTAX,
     "not valid JSON"},
    {"{\"privateKey\":\"" PRIVATE "\",\"publicKey\":null}", LULL_ERR_SYNTAX,
     "publicKey is missing, or no string"},
    {"{\"privateKey\":\"" PRIVATE "\",\"publicKey\":\"" OTHER_PUBLIC "\"}", LULL_ERR_RANGE,
     NOT_A_PAIR},
    {"{\"privateKey\":\"" PRIVATE "\",\"publicKey\":\"" X "\"}", LULL_ERR_RANGE,
     "the publicKey must have 65 bytes"},
    {"{\"privateKey\":\"" ZERO "\"}", LULL_ERR_RANGE, NOT_IN_RANGE},
    {"{\"privateKey\":\"" ORDER "\"}", LULL_ERR_RANGE, NOT_IN_RANGE},
    {"{\"privateKey\":\"" OVER_ORDER "\"}", LULL_ERR_RANGE, NOT_IN_RANGE},
    {"{\"privateKey\":\"" ALL_ONES "\"}", LULL_ERR_RANGE, NOT_IN_RANGE},

    {JWK(XY "\"d\":\"" ZERO "\""), LULL_ERR_RANGE, NOT_IN_RANGE},
    {JWK(XY "\"d\":\"" ORDER "\""), LULL_ERR_RANGE, NOT_IN_RANGE},
    {JWK(XY "\"d\":\"" OTHER_PRIVATE "\""), LULL_ERR_RANGE, NOT_A_PAIR},
    {JWK("\"x\":\"" Y "\",\"y\":\"" X "\",\"d\":\"" PRIVATE "\""), LULL_ERR_RANGE, NOT_A_PAIR},
    {JWK(XY "\"k\":\"\""), LULL_ERR_SYNTAX, "d is missing, or no string"},
    {JWK("\"x\":\"" X "\",\"d\":\"" PRIVATE "\""), LULL_ERR_SYNTAX, "y is missing, or no string"},
    {JWK("\"y\":\"" X "\",\"d\":\"" PRIVATE "\""), LULL_ERR_SYNTAX, "x is missing, or no string"},
    {JWK(XY "\"d\":\"AQ\""), LULL_ERR_RANGE, "the d must have 32 bytes"},
    {"{\"kty\":\"EC\"," XY "\"d\":\"" PRIVATE "\"}", LULL_ERR_RANGE, NOT_P256},
    {"{\"kty\":\"EC\",\"crv\":\"P-384\"," XY "\"d\":\"" PRIVATE "\"}", LULL_ERR_RANGE, NOT_P256},
    {"{\"kty\":\"EC\",\"crv\":\"secp256k1\"," XY "\"d\":\"" PRIVATE "\"}", LULL_ERR_RANGE,
     NOT_P256},
    {"{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" X "\",\"d\":\"" PRIVATE "\"}", LULL_ERR_RANGE,
     NOT_P256},
    {"{\"kty\":\"oct\",\"k\":\"" PRIVATE "\"}", LULL_ERR_RANGE, NOT_P256},
    {"{\"kty\":7,\"crv\":\"P-256\"}", LULL_ERR_RANGE, NOT_P256},

    {"-----BEGIN ", LULL_ERR_SYNTAX, NO_PEM},
    {"-----BEGIN PRIVATE KEY-----\n", LULL_ERR_SYNTAX, NO_PEM},
    {"-----BEGIN PRIVATE KEY-----\n" PRIVATE "\n-----END PRIVATE KEY-----\n", LULL_ERR_SYNTAX,
     NO_PEM},
    {"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", LULL_ERR_SYNTAX, NO_PEM},
};

static void assert_no_secret(const char *sentence)
{
    static const char *const secrets[] = {PRIVATE, PUBLIC, OTHER_PRIVATE, OTHER_PUBLIC, X, Y};
    for (size_t k = 0; k < sizeof secrets / sizeof secrets[0]; k++) {
        for (size_t i = 0; i + 6 <= strlen(secrets[k]); i++) {
            assert_null(memmem(sentence, strlen(sentence), secrets[k] + i, 6));
        }
    }
}

static void assert_refused(const char *name, const char *text, size_t length, int expected,
                           const char *sentence)
{
    struct lull_vapid_key *key = NULL;
    struct lull_webpush_error error = {""};
    int code = lull_vapid_key_import(&key, text, length, SUBJECT, &error);
    if (code != expected || strncmp(error.text, sentence, strlen(sentence)) != 0) {
        lull_vapid_key_destroy(key);
        fail_msg("%s: %s, '%s'", name, lull_error_to_string(code), error.text);
    }
    assert_null(key);
    assert_no_secret(error.text);
    assert_int_equal(lull_vapid_key_import(&key, text, length, SUBJECT, NULL), expected);
}

static void test_W2_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        assert_refused(refused[i].text, refused[i].text, strlen(refused[i].text), refused[i].code,
                       refused[i].sentence);
    }
    static char long_text[65537];
    memset(long_text, ' ', sizeof long_text);
    assert_refused("too long", long_text, sizeof long_text, LULL_ERR_SYNTAX,
                   "a key has not so many bytes");
    assert_refused("a zero byte", "{\"privateKey\":\"\0\"}", 18, LULL_ERR_SYNTAX, "not valid JSON");
}

static void test_W2_bad_subject_in_a_text(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"privateKey\":\"" PRIVATE "\",\"sub\":\"mailto:you\"}", ADDRESS},
        {"{\"privateKey\":\"" PRIVATE "\",\"subject\":\"x\"}", NEITHER},
        {"{\"privateKey\":\"" PRIVATE "\",\"sub\":\"\"}",
         "the text has no subject (mailto: or https:), and none was given"},
        {"{\"privateKey\":\"" PRIVATE "\",\"sub\":7}",
         "the text has no subject (mailto: or https:), and none was given"},
    };
    struct lull_vapid_key *key = NULL;
    struct lull_webpush_error error = {""};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(
            lull_vapid_key_import(&key, cases[i][0], strlen(cases[i][0]), NULL, &error),
            LULL_ERR_RANGE);
        assert_string_equal(error.text, cases[i][1]);
    }
    char text[600];
    char subject[400];
    memset(subject, 'a', sizeof subject);
    memcpy(subject, "mailto:", 7);
    memcpy(subject + 380, "@example.org", 13);
    snprintf(text, sizeof text, "{\"privateKey\":\"" PRIVATE "\",\"sub\":\"%s\"}", subject);
    assert_int_equal(lull_vapid_key_import(&key, text, strlen(text), NULL, &error), LULL_ERR_RANGE);
    assert_string_equal(error.text, "the subject has over 255 bytes");
    assert_null(key);
}

/* ---- PEM ---- */

struct pem {
    char text[4096];
    size_t length;
};

static struct pem pem_of(BIO *sink)
{
    struct pem pem;
    int length = BIO_read(sink, pem.text, sizeof pem.text - 1);
    assert_true(length > 0);
    pem.length = (size_t)length;
    pem.text[length] = '\0';
    BIO_free(sink);
    return pem;
}

static struct pem pem_pkcs8(EVP_PKEY *pkey, const EVP_CIPHER *cipher)
{
    BIO *sink = BIO_new(BIO_s_mem());
    assert_true(PEM_write_bio_PKCS8PrivateKey(sink, pkey, cipher, NULL, 0, NULL,
                                              (void *)(uintptr_t)(cipher ? "password" : NULL)));
    return pem_of(sink);
}

static struct pem pem_sec1(EVP_PKEY *pkey, const EVP_CIPHER *cipher)
{
    BIO *sink = BIO_new(BIO_s_mem());
    assert_true(PEM_write_bio_PrivateKey_traditional(
        sink, pkey, cipher, NULL, 0, NULL, (void *)(uintptr_t)(cipher ? "password" : NULL)));
    return pem_of(sink);
}

static void test_W2_pem(void **state)
{
    (void)state;
    static const unsigned char curve[] = {0x06, 0x08, 0x2a, 0x86, 0x48,
                                          0xce, 0x3d, 0x03, 0x01, 0x07};
    struct lull_vapid_key *key = fixed_key();
    struct pem cases[4];
    cases[0] = pem_pkcs8(key->signer, NULL);
    cases[1] = pem_sec1(key->signer, NULL);
    /* as `openssl ecparam -genkey` has it */
    BIO *sink = BIO_new(BIO_s_mem());
    assert_true(PEM_write_bio(sink, "EC PARAMETERS", "", curve, sizeof curve));
    assert_true(BIO_write(sink, cases[1].text, (int)cases[1].length) == (int)cases[1].length);
    cases[2] = pem_of(sink);
    /* with other line ends, and space before */
    cases[3].length = 0;
    cases[3].text[cases[3].length++] = '\n';
    for (size_t i = 0; i < cases[0].length; i++) {
        if (cases[0].text[i] == '\n') {
            cases[3].text[cases[3].length++] = '\r';
        }
        cases[3].text[cases[3].length++] = cases[0].text[i];
    }
    for (size_t i = 0; i < 4; i++) {
        struct lull_vapid_key *again = NULL;
        struct lull_webpush_error error = {""};
        if (lull_vapid_key_import(&again, cases[i].text, cases[i].length, SUBJECT, &error)) {
            fail_msg("PEM %zu: %s", i, error.text);
        }
        assert_string_equal(lull_vapid_key_id(again), KEY_ID);
        lull_vapid_key_destroy(again);
    }
    lull_vapid_key_destroy(key);
}

static void test_W2_pem_with_a_password_is_refused_and_asks_nobody(void **state)
{
    (void)state;
    struct lull_vapid_key *key = fixed_key();
    struct pem pem = pem_pkcs8(key->signer, EVP_aes_128_cbc());
    assert_non_null(strstr(pem.text, "ENCRYPTED"));
    assert_refused("PKCS #8", pem.text, pem.length, LULL_ERR_SYNTAX, NO_PEM);
    pem = pem_sec1(key->signer, EVP_aes_128_cbc());
    assert_non_null(strstr(pem.text, "ENCRYPTED"));
    assert_refused("SEC 1", pem.text, pem.length, LULL_ERR_SYNTAX, NO_PEM);
    lull_vapid_key_destroy(key);
}

static void test_W2_pem_of_other_kinds(void **state)
{
    (void)state;
    static const char *const names[] = {"P-384", "P-521", "secp256k1", "P-224"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        EVP_PKEY *pkey = EVP_EC_gen(names[i]);
        assert_non_null(pkey);
        struct pem pem = pem_pkcs8(pkey, NULL);
        assert_refused(names[i], pem.text, pem.length, LULL_ERR_RANGE,
                       "the PEM's key is not on the curve P-256");
        pem = pem_sec1(pkey, NULL);
        assert_refused(names[i], pem.text, pem.length, LULL_ERR_RANGE,
                       "the PEM's key is not on the curve P-256");
        EVP_PKEY_free(pkey);
    }
    EVP_PKEY *pkey = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    struct pem pem = pem_pkcs8(pkey, NULL);
    assert_refused("Ed25519", pem.text, pem.length, LULL_ERR_RANGE,
                   "the PEM's key is not on the curve P-256");
    EVP_PKEY_free(pkey);
    struct lull_vapid_key *key = fixed_key();
    BIO *sink = BIO_new(BIO_s_mem());
    assert_true(PEM_write_bio_PUBKEY(sink, key->signer));
    pem = pem_of(sink);
    assert_refused("a public key", pem.text, pem.length, LULL_ERR_SYNTAX, NO_PEM);
    pem = pem_pkcs8(key->signer, NULL);
    for (size_t cut = 11; cut + 26 < pem.length; cut++) {
        assert_refused("cut off", pem.text, cut, LULL_ERR_SYNTAX, NO_PEM);
    }
    lull_vapid_key_destroy(key);
}

/* One part of the key in it exchanged for another. */
static struct pem pem_patched(const struct lull_vapid_key *key, bool is_sec1, const uint8_t *from,
                              const uint8_t *to, size_t size)
{
    unsigned char der[512];
    unsigned char *end = der;
    int length = 0;
    if (is_sec1) {
        length = i2d_PrivateKey(key->signer, &end);
    } else {
        PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key->signer);
        length = i2d_PKCS8_PRIV_KEY_INFO(info, &end);
        PKCS8_PRIV_KEY_INFO_free(info);
    }
    assert_true(length > 0 && (size_t)length <= sizeof der);
    uint8_t *place = memmem(der, (size_t)length, from, size);
    assert_non_null(place);
    memcpy(place, to, size);
    BIO *sink = BIO_new(BIO_s_mem());
    assert_true(PEM_write_bio(sink, is_sec1 ? "EC PRIVATE KEY" : "PRIVATE KEY", "", der, length));
    return pem_of(sink);
}

static void test_W2_pem_of_no_pair(void **state)
{
    (void)state;
    struct lull_vapid_key *key = fixed_key();
    struct lull_vapid_key *other = other_key();
    const struct pair *pair = &key->pair;
    for (int is_sec1 = 0; is_sec1 < 2; is_sec1++) {
        struct pem pem = pem_patched(key, is_sec1, pair->public_key, other->pair.public_key, 65);
        assert_refused("another public key", pem.text, pem.length, LULL_ERR_RANGE, NOT_A_PAIR);
        pem = pem_patched(key, is_sec1, pair->private_key, other->pair.private_key, 32);
        assert_refused("another private key", pem.text, pem.length, LULL_ERR_RANGE, NOT_A_PAIR);
        static const char *const numbers[] = {ZERO, ORDER, OVER_ORDER, ALL_ONES};
        for (size_t i = 0; i < 4; i++) {
            struct lull_vapid_key *none = NULL;
            uint8_t number[32];
            size_t length = 0;
            assert_int_equal(lull_base64_decode(numbers[i], 43, number, 32, &length), LULL_OK);
            pem = pem_patched(key, is_sec1, pair->private_key, number, 32);
            int code = lull_vapid_key_import(&none, pem.text, pem.length, SUBJECT, NULL);
            assert_true(code == LULL_ERR_RANGE || code == LULL_ERR_SYNTAX);
            assert_null(none);
        }
    }
    lull_vapid_key_destroy(key);
    lull_vapid_key_destroy(other);
}

/* ---- the ring ---- */

static struct lull_vapid_ring *new_ring(const struct lull_vapid_config *config)
{
    struct lull_vapid_ring *ring = NULL;
    assert_int_equal(lull_vapid_ring_new(&ring, config), LULL_OK);
    assert_int_equal(lull_vapid_ring_add(ring, fixed_key()), LULL_OK);
    return ring;
}

/* A copy of the header, which the next call may change. */
struct header {
    char text[2048];
};

static struct header authorize(struct lull_vapid_ring *ring, const char *key_id,
                               const char *endpoint, int64_t now_ms, bool is_fresh)
{
    struct header header;
    const char *text = NULL;
    assert_int_equal(lull_vapid_authorize(ring, key_id, endpoint, now_ms, is_fresh, &text),
                     LULL_OK);
    assert_true(strlen(text) < sizeof header.text);
    memcpy(header.text, text, strlen(text) + 1);
    return header;
}

static struct lull_vapid_claims claims_of(const struct header *header)
{
    struct lull_vapid_claims claims;
    struct lull_webpush_error error = {""};
    if (lull_vapid_verify(header->text, strlen(header->text), &claims, &error) != LULL_OK) {
        fail_msg("%s", error.text);
    }
    return claims;
}

static bool is_same(const struct header *a, const struct header *b)
{
    return strcmp(a->text, b->text) == 0;
}

static void test_W2_a_token(void **state)
{
    (void)state;
    struct lull_vapid_ring *ring = new_ring(NULL);
    struct header header = authorize(ring, NULL, FCM, T0 + 999, false);
    struct lull_vapid_claims claims = claims_of(&header);
    assert_string_equal(claims.audience, "https://fcm.googleapis.com");
    assert_string_equal(claims.subject, SUBJECT);
    assert_int_equal(claims.expires_ms, T0 + LULL_HOURS(12)); /* whole seconds, rounded down */
    assert_memory_equal(claims.public_key, lull_vapid_key_public(lull_vapid_ring_find(ring, NULL)),
                        65);
    assert_int_equal(lull_vapid_check(&claims, "https://fcm.googleapis.com", T0 + 999, NULL),
                     LULL_OK);
    /* the very form that services ask for */
    assert_memory_equal(header.text, "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.", 45);
    assert_non_null(strstr(header.text, ", k=" PUBLIC));
    assert_null(strpbrk(header.text + 8, "+/\r\n"));
    lull_vapid_ring_destroy(ring);
    lull_vapid_ring_destroy(NULL);
}

static void test_W8_reused_until_a_twelfth_is_left(void **state)
{
    (void)state;
    struct lull_vapid_ring *ring = new_ring(NULL);
    struct header first = authorize(ring, NULL, FCM, T0, false);
    static const int64_t same_ms[] = {0, 1, LULL_HOURS(1), LULL_HOURS(6), LULL_HOURS(11) - 1};
    for (size_t i = 0; i < sizeof same_ms / sizeof same_ms[0]; i++) {
        struct header again = authorize(ring, NULL, FCM "/another", T0 + same_ms[i], false);
        assert_true(is_same(&first, &again));
    }
    struct header second = authorize(ring, NULL, FCM, T0 + LULL_HOURS(11), false);
    assert_false(is_same(&first, &second));
    assert_int_equal(claims_of(&second).expires_ms, T0 + LULL_HOURS(23));
    struct header again = authorize(ring, KEY_ID, FCM, T0 + LULL_HOURS(22) - 1, false);
    assert_true(is_same(&second, &again));
    again = authorize(ring, NULL, FCM, T0 + LULL_DAYS(400), false); /* long out of date */
    assert_int_equal(claims_of(&again).expires_ms, T0 + LULL_DAYS(400) + LULL_HOURS(12));
    lull_vapid_ring_destroy(ring);
}

static void test_W8_fresh_at_most_once_an_hour(void **state)
{
    (void)state;
    struct lull_vapid_ring *ring = new_ring(NULL);
    struct header first = authorize(ring, NULL, FCM, T0, true); /* there was none */
    struct header again = authorize(ring, NULL, FCM, T0, true);
    assert_true(is_same(&first, &again));
    again = authorize(ring, NULL, FCM, T0 + LULL_HOURS(1) - 1, true);
    assert_true(is_same(&first, &again));
    again = authorize(ring, NULL, FCM, T0 + LULL_HOURS(1), false);
    assert_true(is_same(&first, &again));
    struct header second = authorize(ring, NULL, FCM, T0 + LULL_HOURS(1), true);
    assert_false(is_same(&first, &second));
    again = authorize(ring, NULL, FCM, T0 + LULL_HOURS(1) + 1, true);
    assert_true(is_same(&second, &again));
    again = authorize(ring, NULL, FCM, T0 + LULL_HOURS(2) - 1, true);
    assert_true(is_same(&second, &again));
    /* another origin's token is its own affair */
    struct header other = authorize(ring, NULL, MOZILLA, T0 + LULL_HOURS(2) - 1, true);
    assert_false(is_same(&second, &other));
    /* asked for once a minute for a day: 24 tokens, and never one that is out of date */
    size_t count = 0;
    for (int64_t minute = 0; minute < 24 * 60; minute++) {
        int64_t now_ms = T0 + LULL_DAYS(2) + LULL_MINUTES(minute);
        struct header next = authorize(ring, NULL, FCM, now_ms, true);
        count += !is_same(&again, &next);
        again = next;
    }
    assert_int_equal(count, 24);
    lull_vapid_ring_destroy(ring);
}

static void test_W8_clock_set_back(void **state)
{
    (void)state;
    struct lull_vapid_ring *ring = new_ring(NULL);
    struct header first = authorize(ring, NULL, FCM, T0, false);
    struct header second = authorize(ring, NULL, FCM, T0 - 1, false);
    assert_false(is_same(&first, &second));
    struct header again = authorize(ring, NULL, FCM, T0, false);
    assert_true(is_same(&second, &again));
    struct header third = authorize(ring, NULL, FCM, T0 - LULL_DAYS(3), false);
    struct lull_vapid_claims claims = claims_of(&third);
    assert_int_equal(claims.expires_ms, T0 - LULL_DAYS(3) + LULL_HOURS(12));
    assert_int_equal(
        lull_vapid_check(&claims, "https://fcm.googleapis.com", T0 - LULL_DAYS(3), NULL), LULL_OK);
    lull_vapid_ring_destroy(ring);
}

/* Clocks that cannot be: no overflow, and a token that can be read. */
static void test_W8_impossible_clocks(void **state)
{
    (void)state;
    static const int64_t clocks_ms[] = {INT64_MAX,     INT64_MIN,    0, -1, INT64_MAX, 1, INT64_MIN,
                                        INT64_MAX - 1, INT64_MIN + 1};
    struct lull_vapid_ring *ring = new_ring(NULL);
    for (size_t i = 0; i < sizeof clocks_ms / sizeof clocks_ms[0]; i++) {
        struct header header = authorize(ring, NULL, FCM, clocks_ms[i], i % 2);
        struct lull_vapid_claims claims = claims_of(&header);
        assert_true(claims.expires_ms > 0);
        (void)lull_vapid_check(&claims, "https://fcm.googleapis.com", clocks_ms[i], NULL);
    }
    struct lull_vapid_claims claims = {.audience = "a", .expires_ms = INT64_MAX};
    assert_int_equal(lull_vapid_check(&claims, "a", INT64_MAX - 1, NULL), LULL_OK);
    assert_int_equal(lull_vapid_check(&claims, "a", INT64_MIN, NULL), LULL_ERR_RANGE);
    claims.expires_ms = INT64_MIN;
    assert_int_equal(lull_vapid_check(&claims, "a", INT64_MIN, NULL), LULL_ERR_RANGE);
    lull_vapid_ring_destroy(ring);
}

static void test_W8_audiences(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"https://push.example:8443/x", "https://push.example:8443"},
        {"https://push.example:443/x", "https://push.example"},
        {"HTTPS://Push.Example/x", "https://push.example"},
        {"http://push.example/x", "http://push.example"},
        {"http://push.example:8080/", "http://push.example:8080"},
        {"https://[2001:DB8::1]:8443/", "https://[2001:db8::1]:8443"},
    };
    struct lull_vapid_ring *ring = new_ring(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct header header = authorize(ring, NULL, cases[i][0], T0, false);
        assert_string_equal(claims_of(&header).audience, cases[i][1]);
    }
    struct header first = authorize(ring, NULL, "https://push.example/1", T0, false);
    struct header second = authorize(ring, NULL, "https://PUSH.example:443/2?x", T0, false);
    assert_true(is_same(&first, &second));
    lull_vapid_ring_destroy(ring);
}

/* The longest origin and the longest subject fit. */
static void test_W8_longest_token(void **state)
{
    (void)state;
    struct lull_vapid_ring *ring = NULL;
    struct lull_vapid_key *key = NULL;
    char subject[LULL_VAPID_SUBJECT_SIZE];
    char endpoint[LULL_ORIGIN_SIZE + 1];
    const char *header = "untouched";
    memset(subject, 'a', sizeof subject);
    memcpy(subject, "https://example.com/", 20);
    subject[sizeof subject - 1] = '\0';
    memset(endpoint, 'h', sizeof endpoint);
    memcpy(endpoint, "https://", 8);
    endpoint[LULL_ORIGIN_SIZE] = '\0';
    assert_int_equal(lull_vapid_key_new(&key, subject, NULL), LULL_OK);
    assert_int_equal(lull_vapid_ring_new(&ring, NULL), LULL_OK);
    assert_int_equal(lull_vapid_ring_add(ring, key), LULL_OK);
    assert_int_equal(lull_vapid_authorize(ring, NULL, endpoint, T0, false, &header), LULL_ERR_FULL);
    assert_string_equal(header, "untouched");
    endpoint[LULL_ORIGIN_SIZE - 1] = '\0';
    struct header longest = authorize(ring, NULL, endpoint, LULL_WAIT_MAX_MS, false);
    struct lull_vapid_claims claims = claims_of(&longest);
    assert_string_equal(claims.audience, endpoint);
    assert_string_equal(claims.subject, subject);
    lull_vapid_ring_destroy(ring);
}

static void test_W2_exp_at_most_24_hours(void **state)
{
    (void)state;
    struct lull_vapid_config config;
    lull_vapid_config_default(&config);
    assert_int_equal(config.lifetime_ms, LULL_HOURS(12));
    assert_int_equal(config.renew_min_ms, LULL_HOURS(1));
    assert_int_equal(config.tokens_max, 256);
    config.lifetime_ms = LULL_HOURS(24);
    struct lull_vapid_ring *ring = new_ring(&config);
    for (int64_t ms = 0; ms < 2000; ms += 111) {
        struct header header = authorize(ring, NULL, FCM, T0 + LULL_DAYS(ms) + ms, false);
        struct lull_vapid_claims claims = claims_of(&header);
        assert_true(claims.expires_ms <= T0 + LULL_DAYS(ms) + ms + LULL_HOURS(24));
        assert_int_equal(
            lull_vapid_check(&claims, "https://fcm.googleapis.com", T0 + LULL_DAYS(ms) + ms, NULL),
            LULL_OK);
    }
    /* a twelfth of 24 h is left after 22 */
    struct header first = authorize(ring, NULL, MOZILLA, T0, false);
    struct header again = authorize(ring, NULL, MOZILLA, T0 + LULL_HOURS(22) - 1, false);
    assert_true(is_same(&first, &again));
    again = authorize(ring, NULL, MOZILLA, T0 + LULL_HOURS(22), false);
    assert_false(is_same(&first, &again));
    lull_vapid_ring_destroy(ring);
}

static void test_W2_config_is_checked(void **state)
{
    (void)state;
    static const struct {
        struct lull_vapid_config config;
        int code;
    } cases[] = {
        {{LULL_MINUTES(5), 0, 1}, LULL_OK},
        {{LULL_HOURS(24), LULL_HOURS(1), 65536}, LULL_OK},
        {{LULL_HOURS(12), INT64_MAX, 256}, LULL_OK},
        {{LULL_MINUTES(5) - 1, 0, 1}, LULL_ERR_RANGE},
        {{0, 0, 1}, LULL_ERR_RANGE},
        {{-1, 0, 1}, LULL_ERR_RANGE},
        {{LULL_HOURS(24) + 1, 0, 1}, LULL_ERR_RANGE},
        {{INT64_MAX, 0, 1}, LULL_ERR_RANGE},
        {{LULL_HOURS(12), -1, 1}, LULL_ERR_RANGE},
        {{LULL_HOURS(12), 0, 0}, LULL_ERR_RANGE},
        {{LULL_HOURS(12), 0, 65537}, LULL_ERR_RANGE},
        {{LULL_HOURS(12), 0, SIZE_MAX}, LULL_ERR_RANGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lull_vapid_ring *ring = NULL;
        assert_int_equal(lull_vapid_ring_new(&ring, &cases[i].config), cases[i].code);
        assert_true((ring != NULL) == (cases[i].code == LULL_OK));
        lull_vapid_ring_destroy(ring);
    }
}

static void test_S5_several_keys(void **state)
{
    (void)state;
    struct lull_vapid_ring *ring = NULL;
    const char *header = "untouched";
    assert_int_equal(lull_vapid_ring_new(&ring, NULL), LULL_OK);
    assert_null(lull_vapid_ring_find(ring, NULL));
    assert_int_equal(lull_vapid_authorize(ring, NULL, FCM, T0, false, &header), LULL_ERR_UNKNOWN);
    struct lull_vapid_key *first = fixed_key();
    struct lull_vapid_key *second = other_key();
    struct lull_vapid_key *twin = fixed_key();
    assert_int_equal(lull_vapid_ring_add(ring, first), LULL_OK);
    assert_int_equal(lull_vapid_ring_add(ring, second), LULL_OK);
    assert_int_equal(lull_vapid_ring_add(ring, twin), LULL_ERR_RANGE);
    lull_vapid_key_destroy(twin); /* still ours */
    assert_ptr_equal(lull_vapid_ring_find(ring, NULL), first);
    assert_ptr_equal(lull_vapid_ring_find(ring, KEY_ID), first);
    assert_ptr_equal(lull_vapid_ring_find(ring, lull_vapid_key_id(second)), second);
    assert_null(lull_vapid_ring_find(ring, ""));
    assert_null(lull_vapid_ring_find(ring, "nobody"));

    struct header a = authorize(ring, NULL, FCM, T0, false);
    struct header b = authorize(ring, lull_vapid_key_id(second), FCM, T0, false);
    struct header c = authorize(ring, lull_vapid_key_id(second), MOZILLA, T0, false);
    struct lull_vapid_claims claims = claims_of(&b);
    assert_memory_equal(claims.public_key, lull_vapid_key_public(second), 65);
    assert_string_equal(claims.subject, "https://example.com/contact");
    claims = claims_of(&c);
    assert_string_equal(claims.audience, "https://updates.push.services.mozilla.com");
    struct header again = authorize(ring, KEY_ID, FCM, T0 + 1, false);
    assert_true(is_same(&a, &again));
    again = authorize(ring, lull_vapid_key_id(second), FCM, T0 + 1, false);
    assert_true(is_same(&b, &again));
    again = authorize(ring, lull_vapid_key_id(second), MOZILLA, T0 + 1, false);
    assert_true(is_same(&c, &again));

    static const char *const none[] = {"",
                                       "push.example",
                                       "ftp://push.example/",
                                       "https://",
                                       "https://u@push.example/",
                                       "https://push.example/a b",
                                       "https://push\"example/",
                                       "https://p\xc3\xbcsh.example/",
                                       "https://\xff.example/"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        assert_int_equal(lull_vapid_authorize(ring, NULL, none[i], T0, false, &header),
                         LULL_ERR_SYNTAX);
    }
    assert_int_equal(lull_vapid_authorize(ring, "nobody", FCM, T0, false, &header),
                     LULL_ERR_UNKNOWN);
    assert_string_equal(header, "untouched");
    lull_vapid_ring_destroy(ring);
}

static void test_S5_ring_is_full(void **state)
{
    (void)state;
    struct lull_vapid_ring *ring = NULL;
    assert_int_equal(lull_vapid_ring_new(&ring, NULL), LULL_OK);
    for (int i = 0; i < 64; i++) {
        assert_int_equal(lull_vapid_ring_add(ring, new_key()), LULL_OK);
    }
    struct lull_vapid_key *key = new_key();
    assert_int_equal(lull_vapid_ring_add(ring, key), LULL_ERR_FULL);
    lull_vapid_key_destroy(key);
    lull_vapid_ring_destroy(ring);
}

static void test_W8_the_idlest_token_goes_first(void **state)
{
    (void)state;
    struct lull_vapid_config config = {LULL_HOURS(12), LULL_HOURS(1), 2};
    struct lull_vapid_ring *ring = new_ring(&config);
    struct header a = authorize(ring, NULL, "https://a.example", T0, false);
    struct header b = authorize(ring, NULL, "https://b.example", T0 + 1, false);
    /* the clock is set back, and a is used again: by the clock it would be the idlest */
    struct header again = authorize(ring, NULL, "https://a.example", T0, false);
    assert_true(is_same(&a, &again));
    struct header c = authorize(ring, NULL, "https://c.example", T0 + 2, false);
    again = authorize(ring, NULL, "https://a.example", T0 + 3, false);
    assert_true(is_same(&a, &again));
    again = authorize(ring, NULL, "https://c.example", T0 + 4, false);
    assert_true(is_same(&c, &again));
    again = authorize(ring, NULL, "https://b.example", T0 + 5, false);
    assert_false(is_same(&b, &again));
    assert_string_equal(claims_of(&again).audience, "https://b.example");
    again = authorize(ring, NULL, "https://c.example", T0 + 6, false);
    assert_true(is_same(&c, &again)); /* a went */
    again = authorize(ring, NULL, "https://a.example", T0 + 7, false);
    assert_false(is_same(&a, &again));
    lull_vapid_ring_destroy(ring);
}

static void test_W8_one_place_and_many_origins(void **state)
{
    (void)state;
    struct lull_vapid_config config = {LULL_HOURS(12), LULL_HOURS(1), 1};
    struct lull_vapid_ring *ring = new_ring(&config);
    for (int i = 0; i < 100; i++) {
        char endpoint[64];
        snprintf(endpoint, sizeof endpoint, "https://push%d.example", i);
        struct header header = authorize(ring, NULL, endpoint, T0, false);
        assert_string_equal(claims_of(&header).audience, endpoint);
        struct header again = authorize(ring, NULL, endpoint, T0, false);
        assert_true(is_same(&header, &again));
    }
    lull_vapid_ring_destroy(ring);
}

/* ---- the receiver's side ---- */

#define GOOD_HEADER "{\"typ\":\"JWT\",\"alg\":\"ES256\"}"
#define GOOD_CLAIMS "{\"aud\":\"https://push.example\",\"exp\":1767229200,\"sub\":\"" SUBJECT "\"}"

/* A token of these two parts, rightly signed. */
static struct header make_token(const char *header, const char *claims)
{
    struct header token;
    uint8_t signature[ES256_SIGNATURE_SIZE];
    struct lull_vapid_key *key = fixed_key();
    size_t length = lull_base64url_encode(header, strlen(header), token.text);
    token.text[length++] = '.';
    length += lull_base64url_encode(claims, strlen(claims), token.text + length);
    assert_true(vapid_key_sign(key, token.text, length, signature));
    token.text[length++] = '.';
    (void)lull_base64url_encode(signature, sizeof signature, token.text + length);
    lull_vapid_key_destroy(key);
    return token;
}

static int verify(const char *text, size_t length, struct lull_webpush_error *error)
{
    struct lull_vapid_claims claims;
    struct lull_vapid_claims untouched;
    memset(&claims, 0xa5, sizeof claims);
    memset(&untouched, 0xa5, sizeof untouched);
    char *exact = malloc(length + 1); /* not terminated */
    assert_non_null(exact);
    memcpy(exact + 1, text, length);
    int code = lull_vapid_verify(exact + 1, length, &claims, error);
    free(exact);
    if (code != LULL_OK) {
        assert_memory_equal(&claims, &untouched, sizeof claims);
    }
    return code;
}

static void test_W2_forms_of_the_header(void **state)
{
    (void)state;
    static const struct {
        const char *form; /* $T for the token, $K for the key */
        bool is_good;
    } cases[] = {
        {"vapid t=$T, k=$K", true},
        {"vapid k=$K, t=$T", true},
        {"vapid t=$T,k=$K", true},
        {"vapid t=$T ,\tk=$K", true},
        {"  vapid   t=$T,    k=$K  ", true},
        {"vapid t = $T, k =\t$K", true}, /* RFC 9110 wants this read, though none may write it */
        {"Vapid T=$T, K=$K", true},
        {"VAPID t=$T, k=$K,", true},
        {"vapid ,t=$T,, k=$K", true},
        {"vapid t=$T, k=$K, x=y, kk=z", true},
        {"vapid t=$T, k=$K=", true}, /* padded */
        {"", false},
        {" ", false},
        {"vapid", false},
        {"vapid ", false},
        {"vapid t=$T", false},
        {"vapid k=$K", false},
        {"vapid t=, k=$K", false},
        {"vapid t=$T, k=", false},
        {"vapid t=$T; k=$K", false},
        {"vapid t=$T k=$K", false},
        {"vapidt=$T, k=$K", false},
        {"vapid\tt=$T, k=$K", false},
        {"vapi t=$T, k=$K", false},
        {"vapids t=$T, k=$K", false},
        {"Bearer $T", false},
        {"WebPush $T", false},
        {"t=$T, k=$K", false},
        {"vapid t=$T, t=$T, k=$K", false},
        {"vapid t=$T, k=$K, k=$K", false},
        {"vapid t=$K, k=$T", false},
        {"vapid t$T, k$K", false},
        {"vapid =$T, =$K", false},
        {"vapid ,,,,", false},
        {"vapid =,=,=", false},
    };
    struct header token = make_token(GOOD_HEADER, GOOD_CLAIMS);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static char text[8192];
        size_t length = 0;
        struct lull_webpush_error error = {""};
        for (const char *at = cases[i].form; *at; at++) {
            const char *piece = *at != '$' ? NULL : at[1] == 'T' ? token.text : PUBLIC;
            size_t count = piece ? strlen(piece) : 1;
            memcpy(text + length, piece ? piece : at, count);
            length += count;
            at += piece != NULL;
        }
        int code = verify(text, length, &error);
        if (code != (cases[i].is_good ? LULL_OK : LULL_ERR_SYNTAX)) {
            fail_msg("'%s': %s, '%s'", cases[i].form, lull_error_to_string(code), error.text);
        }
        assert_no_secret(error.text);
    }
}

#define NO_ALG "the token's header does not say alg ES256"
#define NO_AUD "the token has no aud that is a string"
#define NO_EXP "the token has no exp that is a number of seconds"
#define NO_CLAIMS "the token's claims are no JSON object"
#define NO_SUB "the token's sub is no string, or too long"
#define AUD "\"aud\":\"https://push.example\""

static void test_W2_parts_of_the_token(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        const char *claims;
        const char *sentence; /* NULL: good */
    } cases[] = {
        {GOOD_HEADER, GOOD_CLAIMS, NULL},
        {"{\"alg\":\"ES256\"}", GOOD_CLAIMS, NULL},
        {" { \"kid\" : 1, \"alg\" : \"ES256\" } ", GOOD_CLAIMS, NULL},
        {"{\"alg\":\"none\"}", GOOD_CLAIMS, NO_ALG},
        {"{\"alg\":\"None\"}", GOOD_CLAIMS, NO_ALG},
        {"{\"alg\":\"HS256\"}", GOOD_CLAIMS, NO_ALG},
        {"{\"alg\":\"ES384\"}", GOOD_CLAIMS, NO_ALG},
        {"{\"alg\":\"es256\"}", GOOD_CLAIMS, NO_ALG},
        {"{\"alg\":[\"ES256\"]}", GOOD_CLAIMS, NO_ALG},
        {"{\"alg\":\"none\",\"alg\":\"ES256\"}", GOOD_CLAIMS, NO_ALG},
        {"{\"typ\":\"JWT\"}", GOOD_CLAIMS, NO_ALG},
        {"{}", GOOD_CLAIMS, NO_ALG},
        {"[]", GOOD_CLAIMS, NO_ALG},
        {"\"ES256\"", GOOD_CLAIMS, NO_ALG},
        {"{\"alg\":\"ES256\"", GOOD_CLAIMS, NO_ALG},
        {"", GOOD_CLAIMS, NO_ALG},
        {GOOD_HEADER, "", NO_CLAIMS},
        {GOOD_HEADER, "{", NO_CLAIMS},
        {GOOD_HEADER, "[1]", NO_CLAIMS},
        {GOOD_HEADER, "{\"aud\":\"https://\xff.example\",\"exp\":1}", NO_CLAIMS},
        {GOOD_HEADER, "{" AUD ",\"exp\":1,\"exp\":2}", NO_CLAIMS},
        {GOOD_HEADER, "{}", NO_AUD},
        {GOOD_HEADER, "{\"exp\":1767229200}", NO_AUD},
        {GOOD_HEADER, "{\"aud\":[\"https://push.example\"],\"exp\":1767229200}", NO_AUD},
        {GOOD_HEADER, "{\"aud\":null,\"exp\":1767229200}", NO_AUD},
        {GOOD_HEADER, "{" AUD "}", NO_EXP},
        {GOOD_HEADER, "{" AUD ",\"exp\":\"1767229200\"}", NO_EXP},
        {GOOD_HEADER, "{" AUD ",\"exp\":null}", NO_EXP},
        {GOOD_HEADER, "{" AUD ",\"exp\":-1}", NO_EXP},
        {GOOD_HEADER, "{" AUD ",\"exp\":9007199254740992}", NO_EXP},
        {GOOD_HEADER, "{" AUD ",\"exp\":9223372036854775807}", NO_EXP},
        {GOOD_HEADER, "{" AUD ",\"exp\":99999999999999999999}", NO_CLAIMS},
        {GOOD_HEADER, "{" AUD ",\"exp\":9007199254740991}", NULL},
        {GOOD_HEADER, "{" AUD ",\"exp\":0}", NULL},
        {GOOD_HEADER, "{" AUD ",\"exp\":1767229200}", NULL}, /* RFC 8292: sub may be missing */
        {GOOD_HEADER, "{" AUD ",\"exp\":1767229200,\"sub\":7}", NO_SUB},
        {GOOD_HEADER, "{" AUD ",\"exp\":1767229200,\"sub\":null}", NO_SUB},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct header token = make_token(cases[i].header, cases[i].claims);
        static char text[4096];
        struct lull_webpush_error error = {""};
        snprintf(text, sizeof text, "vapid t=%s, k=" PUBLIC, token.text);
        int code = verify(text, strlen(text), &error);
        if (code != (cases[i].sentence ? LULL_ERR_SYNTAX : LULL_OK) ||
            strcmp(error.text, cases[i].sentence ? cases[i].sentence : "") != 0) {
            fail_msg("%s %s: %s, '%s'", cases[i].header, cases[i].claims,
                     lull_error_to_string(code), error.text);
        }
    }
}

static void test_W2_long_claims(void **state)
{
    (void)state;
    static char claims[1024];
    static char text[4096];
    char name[400];
    memset(name, 'a', sizeof name);
    for (size_t length = 250; length < 310; length++) {
        struct lull_webpush_error error = {""};
        snprintf(claims, sizeof claims, "{\"aud\":\"%.*s\",\"exp\":1}", (int)length, name);
        struct header token = make_token(GOOD_HEADER, claims);
        snprintf(text, sizeof text, "vapid t=%s, k=" PUBLIC, token.text);
        assert_int_equal(verify(text, strlen(text), &error),
                         length < LULL_ORIGIN_SIZE ? LULL_OK : LULL_ERR_SYNTAX);
        snprintf(claims, sizeof claims, "{" AUD ",\"exp\":1,\"sub\":\"%.*s\"}", (int)length, name);
        token = make_token(GOOD_HEADER, claims);
        snprintf(text, sizeof text, "vapid t=%s, k=" PUBLIC, token.text);
        assert_int_equal(verify(text, strlen(text), &error),
                         length < LULL_VAPID_SUBJECT_SIZE ? LULL_OK : LULL_ERR_SYNTAX);
    }
}

/* Unsigned, signed by another, signed in another way. */
static void test_W2_signatures(void **state)
{
    (void)state;
    static const char no_parts[] =
        "the token has not three parts, the last a signature of 64 bytes";
    static const char not_of_k[] = "the signature is not of the key k";
    struct header token = make_token(GOOD_HEADER, GOOD_CLAIMS);
    const char *dot = strrchr(token.text, '.');
    char text[4096];
    char zeros[1 + LULL_BASE64URL_SIZE(64)] = ".";
    char ones[1 + LULL_BASE64URL_SIZE(64)] = ".";
    char twice[256];
    uint8_t bytes[64] = {0};
    (void)lull_base64url_encode(bytes, sizeof bytes, zeros + 1);
    memset(bytes, 0xff, sizeof bytes);
    (void)lull_base64url_encode(bytes, sizeof bytes, ones + 1);
    snprintf(twice, sizeof twice, "%s%s", dot, dot);
    const struct {
        const char *name;
        const char *ending; /* instead of the signature and its dot */
        int code;
        const char *sentence;
    } cases[] = {
        {"as it was", dot, LULL_OK, ""},
        {"no signature", ".", LULL_ERR_SYNTAX, no_parts},
        {"two parts", "", LULL_ERR_SYNTAX, no_parts},
        {"four parts", twice, LULL_ERR_SYNTAX, no_parts},
        {"32 bytes, as HS256 has", "." X, LULL_ERR_SYNTAX, no_parts},
        {"65 bytes", "." PUBLIC, LULL_ERR_SYNTAX, no_parts},
        {"no base64", ".!", LULL_ERR_SYNTAX, no_parts},
        {"zeros", zeros, LULL_ERR_RANGE, not_of_k},
        {"ones", ones, LULL_ERR_RANGE, not_of_k},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lull_webpush_error error = {""};
        snprintf(text, sizeof text, "vapid t=%.*s%s, k=" PUBLIC, (int)(dot - token.text),
                 token.text, cases[i].ending);
        int code = verify(text, strlen(text), &error);
        if (code != cases[i].code || strcmp(error.text, cases[i].sentence) != 0) {
            fail_msg("%s: %s, '%s'", cases[i].name, lull_error_to_string(code), error.text);
        }
    }
    struct lull_webpush_error error = {""};
    snprintf(text, sizeof text, "vapid t=%s, k=" OTHER_PUBLIC, token.text);
    assert_int_equal(verify(text, strlen(text), &error), LULL_ERR_RANGE);
    assert_string_equal(error.text, not_of_k);
}

/* Each bit of the signature, and each character of what it is over. */
static void test_W2_everything_is_signed(void **state)
{
    (void)state;
    struct header token = make_token(GOOD_HEADER, GOOD_CLAIMS);
    char text[4096];
    char *signature = strrchr(token.text, '.') + 1;
    uint8_t bytes[ES256_SIGNATURE_SIZE];
    size_t length = 0;
    assert_int_equal(lull_base64_decode(signature, strlen(signature), bytes, sizeof bytes, &length),
                     LULL_OK);
    for (size_t i = 0; i < sizeof bytes * 8; i++) {
        bytes[i / 8] ^= (uint8_t)(1U << i % 8);
        (void)lull_base64url_encode(bytes, sizeof bytes, signature);
        snprintf(text, sizeof text, "vapid t=%s, k=" PUBLIC, token.text);
        assert_int_equal(verify(text, strlen(text), NULL), LULL_ERR_RANGE);
        bytes[i / 8] ^= (uint8_t)(1U << i % 8);
    }
    (void)lull_base64url_encode(bytes, sizeof bytes, signature);
    for (char *at = token.text; at < signature; at++) {
        char before = *at;
        *at = before == 'A' ? 'B' : 'A';
        snprintf(text, sizeof text, "vapid t=%s, k=" PUBLIC, token.text);
        int code = verify(text, strlen(text), NULL);
        assert_true(code == LULL_ERR_SYNTAX || code == LULL_ERR_RANGE);
        *at = before;
    }
    snprintf(text, sizeof text, "vapid t=%s, k=" PUBLIC, token.text);
    for (size_t cut = 0; cut < strlen(text); cut++) {
        assert_int_not_equal(verify(text, cut, NULL), LULL_OK);
    }
    assert_int_equal(verify(text, strlen(text), NULL), LULL_OK);
}

/* k is 65 bytes that start with 4, and a point. */
static void test_W2_forms_of_k(void **state)
{
    (void)state;
    struct header token = make_token(GOOD_HEADER, GOOD_CLAIMS);
    uint8_t point[LULL_P256_POINT_SIZE + 1] = {0};
    size_t length = 0;
    assert_int_equal(lull_base64_decode(PUBLIC, strlen(PUBLIC), point, sizeof point, &length),
                     LULL_OK);
    static const struct {
        const char *name;
        uint8_t prefix;
        uint8_t last; /* exclusive or */
        size_t size;
        int code;
    } cases[] = {
        {"as it should be", 4, 0, 65, LULL_OK},
        {"too short", 4, 0, 64, LULL_ERR_SYNTAX},
        {"too long", 4, 0, 66, LULL_ERR_SYNTAX},
        {"compressed", 3, 0, 33, LULL_ERR_SYNTAX},
        {"infinity", 0, 0, 1, LULL_ERR_SYNTAX},
        {"hybrid, even", 6, 0, 65, LULL_ERR_RANGE},
        {"hybrid, odd", 7, 0, 65, LULL_ERR_RANGE},
        {"infinity with more", 0, 0, 65, LULL_ERR_RANGE},
        {"compressed with more", 3, 0, 65, LULL_ERR_RANGE},
        {"not on the curve", 4, 1, 65, LULL_ERR_RANGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char key[LULL_BASE64URL_SIZE(sizeof point)];
        char text[4096];
        point[0] = cases[i].prefix;
        point[64] ^= cases[i].last;
        (void)lull_base64url_encode(point, cases[i].size, key);
        point[64] ^= cases[i].last;
        snprintf(text, sizeof text, "vapid t=%s, k=%s", token.text, key);
        int code = verify(text, strlen(text), NULL);
        if (code != cases[i].code) {
            fail_msg("%s: %s", cases[i].name, lull_error_to_string(code));
        }
    }
}

static void test_W2_check(void **state)
{
    (void)state;
    static const struct {
        const char *audience;
        const char *subject;
        int64_t expires_in_ms;
        const char *sentence; /* NULL: good */
    } cases[] = {
        {"https://push.example", SUBJECT, LULL_HOURS(12), NULL},
        {"https://push.example", SUBJECT, 1, NULL},
        {"https://push.example", SUBJECT, LULL_HOURS(24), NULL},
        {"https://push.example", "", LULL_HOURS(12), NULL},
        {"https://push.example", SUBJECT, 0, "exp is in the past"},
        {"https://push.example", SUBJECT, -1, "exp is in the past"},
        {"https://push.example", SUBJECT, -T0, "exp is in the past"},
        {"https://push.example", SUBJECT, LULL_HOURS(24) + 1, "exp is more than 24 hours ahead"},
        {"https://push.example", SUBJECT, LULL_DAYS(400), "exp is more than 24 hours ahead"},
        {"https://push.example/", SUBJECT, 1, "aud is not this push service's origin"},
        {"https://push.example:443", SUBJECT, 1, "aud is not this push service's origin"},
        {"http://push.example", SUBJECT, 1, "aud is not this push service's origin"},
        {"https://PUSH.example", SUBJECT, 1, "aud is not this push service's origin"},
        {"push.example", SUBJECT, 1, "aud is not this push service's origin"},
        {"", SUBJECT, 1, "aud is not this push service's origin"},
        {"https://push.example", "mailto:you", 1, ADDRESS},
        {"https://push.example", "mailto:you@localhost", 1, ADDRESS},
        {"https://push.example", "mailto: you@example.org", 1, CHARACTERS},
        {"https://push.example", "you", 1, NEITHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lull_vapid_claims claims = {.expires_ms = T0 + cases[i].expires_in_ms};
        struct lull_webpush_error error = {""};
        strcpy(claims.audience, cases[i].audience);
        strcpy(claims.subject, cases[i].subject);
        int code = lull_vapid_check(&claims, "https://push.example", T0, &error);
        if (code != (cases[i].sentence ? LULL_ERR_RANGE : LULL_OK)) {
            fail_msg("case %zu: %s, '%s'", i, lull_error_to_string(code), error.text);
        }
        assert_string_equal(error.text, cases[i].sentence ? cases[i].sentence : "");
        assert_int_equal(lull_vapid_check(&claims, "https://push.example", T0, NULL), code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_W2_V3_subjects),
        cmocka_unit_test(test_W2_longest_subject),
        cmocka_unit_test(test_S5_key_ids),
        cmocka_unit_test(test_W2_round_trips),
        cmocka_unit_test(test_W2_export_is_what_tools_read),
        cmocka_unit_test(test_format_words),
        cmocka_unit_test(test_W2_imported),
        cmocka_unit_test(test_W2_refused),
        cmocka_unit_test(test_W2_bad_subject_in_a_text),
        cmocka_unit_test(test_W2_pem),
        cmocka_unit_test(test_W2_pem_with_a_password_is_refused_and_asks_nobody),
        cmocka_unit_test(test_W2_pem_of_other_kinds),
        cmocka_unit_test(test_W2_pem_of_no_pair),
        cmocka_unit_test(test_W2_a_token),
        cmocka_unit_test(test_W8_reused_until_a_twelfth_is_left),
        cmocka_unit_test(test_W8_fresh_at_most_once_an_hour),
        cmocka_unit_test(test_W8_clock_set_back),
        cmocka_unit_test(test_W8_impossible_clocks),
        cmocka_unit_test(test_W8_audiences),
        cmocka_unit_test(test_W8_longest_token),
        cmocka_unit_test(test_W2_exp_at_most_24_hours),
        cmocka_unit_test(test_W2_config_is_checked),
        cmocka_unit_test(test_S5_several_keys),
        cmocka_unit_test(test_S5_ring_is_full),
        cmocka_unit_test(test_W8_the_idlest_token_goes_first),
        cmocka_unit_test(test_W8_one_place_and_many_origins),
        cmocka_unit_test(test_W2_forms_of_the_header),
        cmocka_unit_test(test_W2_parts_of_the_token),
        cmocka_unit_test(test_W2_long_claims),
        cmocka_unit_test(test_W2_signatures),
        cmocka_unit_test(test_W2_everything_is_signed),
        cmocka_unit_test(test_W2_forms_of_k),
        cmocka_unit_test(test_W2_check),
    };
    return cmocka_run_group_tests_name("vapid", tests, NULL, NULL);
}
