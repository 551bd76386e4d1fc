/* S3, S6, V4, W8, L1: what browsers give, and what is refused, with which words. */
#include "suite.h"

#include <jansson.h>

#include "lull/webpush.h"

#define EXPIRES_MS INT64_C(1798761600000)

/* ---- a receiver's keys, made anew for each run ---- */

static struct {
    uint8_t point[LULL_P256_POINT_SIZE];
    uint8_t auth[LULL_PUSH_AUTH_SIZE];
    char p256dh[LULL_BASE64URL_SIZE(LULL_P256_POINT_SIZE)];
    char auth_text[LULL_BASE64URL_SIZE(LULL_PUSH_AUTH_SIZE)];
} keys;

static int set_up(void **state)
{
    (void)state;
    struct lull_encryptor *encryptor = NULL;
    uint8_t private_key[LULL_P256_SCALAR_SIZE];
    struct lull_random random;
    if (lull_encryptor_new(&encryptor, 0) ||
        lull_push_keypair(encryptor, private_key, keys.point)) {
        return -1;
    }
    lull_encryptor_destroy(encryptor);
    lull_random_init(&random, test_seed("subscription"));
    for (size_t i = 0; i < sizeof keys.auth; i++) {
        keys.auth[i] = (uint8_t)lull_random_next(&random);
    }
    (void)lull_base64url_encode(keys.point, sizeof keys.point, keys.p256dh);
    (void)lull_base64url_encode(keys.auth, sizeof keys.auth, keys.auth_text);
    return 0;
}

/* A text with $P for the point and $A for auth. */
static size_t fill(const char *from, char *out, size_t size)
{
    size_t length = 0;
    for (; *from; from++) {
        const char *piece = strncmp(from, "$P", 2) == 0   ? keys.p256dh
                            : strncmp(from, "$A", 2) == 0 ? keys.auth_text
                                                          : NULL;
        size_t count = piece ? strlen(piece) : 1;
        assert_true(length + count < size);
        memcpy(out + length, piece ? piece : from, count);
        length += count;
        from += piece != NULL;
    }
    return length;
}

static int parse(const char *from, struct lull_subscription *ret_subscription,
                 struct lull_webpush_error *error)
{
    static char text[8192];
    size_t length = fill(from, text, sizeof text);
    char *exact = malloc(length + 1); /* not terminated: reading over the end is seen */
    assert_non_null(exact);
    memcpy(exact + 1, text, length);
    int code = lull_subscription_parse(ret_subscription, exact + 1, length, error);
    free(exact);
    return code;
}

/* ---- what browsers give ---- */

#define KEYS "\"keys\":{\"p256dh\":\"$P\",\"auth\":\"$A\"}"
#define FCM "https://fcm.googleapis.com/fcm/send/dPx3nqf1Xk0:APA91bHzK-_q7v0Jg"
#define MOZILLA "https://updates.push.services.mozilla.com/wpush/v2/gAAAAABlb3Zq_0-Xy7Zb3c2M1u8=/"
#define APPLE "https://web.push.apple.com/QGuQyavXutnMH9dJ8mWb1pVxn6Cw0Rk_-8aZ"
#define WNS                                                                                        \
    "https://wns2-par02p.notify.windows.com/w/"                                                    \
    "?token=BQYAAAC%2bJ7%2fkL9x3D%3d%3d&x=a+b%20c&&=%2F..%2e/./../~%7E"
#define GONE "https://permanently-removed.invalid/fcm/send/dPx3nqf1Xk0"

static const struct {
    const char *name;
    const char *json;
    const char *endpoint;
    enum lull_vendor vendor;
    int64_t expires_ms;
} browsers[] = {
    {"Chrome", "{\"endpoint\":\"" FCM "\",\"expirationTime\":null," KEYS "}", FCM, LULL_VENDOR_FCM,
     LULL_NEVER},
    {"Firefox",
     "{\"endpoint\":\"" MOZILLA "\",\"expirationTime\":null,"
     "\"keys\":{\"auth\":\"$A\",\"p256dh\":\"$P\"}}",
     MOZILLA, LULL_VENDOR_MOZILLA, LULL_NEVER},
    {"Firefox, without expirationTime", "{\"endpoint\":\"" MOZILLA "\"," KEYS "}", MOZILLA,
     LULL_VENDOR_MOZILLA, LULL_NEVER},
    {"Safari", "{\"endpoint\":\"" APPLE "\"," KEYS "}", APPLE, LULL_VENDOR_APPLE, LULL_NEVER},
    {"Edge", "{\"endpoint\":\"" WNS "\",\"expirationTime\":1798761600000," KEYS "}", WNS,
     LULL_VENDOR_WNS, EXPIRES_MS},
    {"Edge, the time as a fraction",
     "{\"endpoint\":\"" WNS "\",\"expirationTime\":1798761600000.5," KEYS "}", WNS, LULL_VENDOR_WNS,
     EXPIRES_MS},
    {"S6: gone by name", "{\"endpoint\":\"" GONE "\"," KEYS "}", GONE, LULL_VENDOR_INVALID,
     LULL_NEVER},
    {"S6: in capitals, with a final dot", "{\"endpoint\":\"https://X.INVALID./\"," KEYS "}",
     "https://X.INVALID./", LULL_VENDOR_INVALID, LULL_NEVER},
    {"one's own service", "{\"endpoint\":\"http://127.0.0.1:8080/push/1\"," KEYS "}",
     "http://127.0.0.1:8080/push/1", LULL_VENDOR_OTHER, LULL_NEVER},
    {"written by a person",
     " \n{ \"keys\" : {\t\"auth\":\"$A\",\r\n\"p256dh\" : \"$P\" } ,\n \"endpoint\": \"" FCM
     "\" }\n",
     FCM, LULL_VENDOR_FCM, LULL_NEVER},
    {"other members are passed over",
     "{\"id\":7,\"endpoint\":\"" FCM "\",\"keys\":{\"p256dh\":\"$P\",\"auth\":\"$A\",\"z\":[]},"
     "\"options\":{\"userVisibleOnly\":true}}",
     FCM, LULL_VENDOR_FCM, LULL_NEVER},
    {"escapes in JSON", "{\"endpoint\":\"https:\\/\\/fcm.googleapis.com\\/a\\u0062c\"," KEYS "}",
     "https://fcm.googleapis.com/abc", LULL_VENDOR_FCM, LULL_NEVER},
    {"at the first instant", "{\"endpoint\":\"" FCM "\",\"expirationTime\":0," KEYS "}", FCM,
     LULL_VENDOR_FCM, 0},
    {"at the last one", "{\"endpoint\":\"" FCM "\",\"expirationTime\":8.64e15," KEYS "}", FCM,
     LULL_VENDOR_FCM, INT64_C(8640000000000000)},
};

static void test_S3_V4_browsers(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof browsers / sizeof browsers[0]; i++) {
        struct lull_subscription actual;
        struct lull_webpush_error error = {""};
        memset(&actual, 0xa5, sizeof actual);
        int code = parse(browsers[i].json, &actual, &error);
        if (code != LULL_OK) {
            fail_msg("%s: %s", browsers[i].name, error.text);
        }
        assert_string_equal(actual.endpoint, browsers[i].endpoint); /* byte for byte */
        assert_int_equal(actual.vendor, browsers[i].vendor);
        assert_int_equal(actual.expires_ms, browsers[i].expires_ms);
        assert_memory_equal(actual.p256dh, keys.point, sizeof keys.point);
        assert_memory_equal(actual.auth, keys.auth, sizeof keys.auth);
    }
}

/* Some tools write base64 where the web has base64url, some pad. */
static void test_S3_four_ways_of_base64(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        char point[100];
        char auth[32];
        char json[512];
        struct lull_subscription actual;
        struct lull_webpush_error error = {""};
        snprintf(point, sizeof point, "%s%s", keys.p256dh, way & 1 ? "=" : "");
        snprintf(auth, sizeof auth, "%s%s", keys.auth_text, way & 1 ? "==" : "");
        for (char *c = point; way & 2 && *c; c++) {
            *c = *c == '-' ? '+' : *c == '_' ? '/' : *c;
        }
        for (char *c = auth; way & 2 && *c; c++) {
            *c = *c == '-' ? '+' : *c == '_' ? '/' : *c;
        }
        snprintf(json, sizeof json,
                 "{\"endpoint\":\"" FCM "\",\"keys\":{\"p256dh\":\"%s\",\"auth\":\"%s\"}}", point,
                 auth);
        if (parse(json, &actual, &error) != LULL_OK) {
            fail_msg("way %d: %s", way, error.text);
        }
        assert_memory_equal(actual.p256dh, keys.point, sizeof keys.point);
        assert_memory_equal(actual.auth, keys.auth, sizeof keys.auth);
    }
}

/* ---- what is refused ---- */

#define AUTH "\"auth\":\"$A\""
#define NO_URL                                                                                     \
    "endpoint must be an absolute https (or http) URL with a host in ASCII, without user, spaces " \
    "or controls"
#define NO_POINT "keys.p256dh is not an uncompressed point on the curve P-256"
#define NO_TIME "expirationTime must be null or milliseconds since 1970"
#define NO_OBJECT "a subscription is a JSON object with endpoint and keys"
#define WITH(endpoint) "{\"endpoint\":\"" endpoint "\"," KEYS "}"
#define AND_KEYS(keys) "{\"endpoint\":\"" FCM "\",\"keys\":{" keys "}}"
#define AND_TIME(time) "{\"endpoint\":\"" FCM "\"," KEYS ",\"expirationTime\":" time "}"
#define A43 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
#define A86 A43 A43

static const struct {
    const char *json;
    int code;
    const char *sentence; /* NULL: it is about where, and starts with "not valid JSON" */
} refused[] = {
    {"", LULL_ERR_SYNTAX, NULL},
    {"secret", LULL_ERR_SYNTAX, NULL},
    {"{\"endpoint\":\"" FCM "\"", LULL_ERR_SYNTAX, NULL},
    {WITH(FCM) "secret", LULL_ERR_SYNTAX, NULL},
    {WITH(FCM) WITH(FCM), LULL_ERR_SYNTAX, NULL},
    {"{\"endpoint\":\"" FCM "\",\"endpoint\":\"" FCM "\"," KEYS "}", LULL_ERR_SYNTAX, NULL},
    {"{'endpoint':'secret'}", LULL_ERR_SYNTAX, NULL},
    {WITH("https://\xff\xfe/"), LULL_ERR_SYNTAX, NULL},
    {"\xef\xbb\xbf" WITH(FCM), LULL_ERR_SYNTAX, NULL},
    {"null", LULL_ERR_SYNTAX, NULL},
    {"[]", LULL_ERR_SYNTAX, NO_OBJECT},
    {"[" WITH(FCM) "]", LULL_ERR_SYNTAX, NO_OBJECT},

    {"{}", LULL_ERR_SYNTAX, "endpoint is missing"},
    {"{" KEYS "}", LULL_ERR_SYNTAX, "endpoint is missing"},
    {"{\"Endpoint\":\"" FCM "\"," KEYS "}", LULL_ERR_SYNTAX, "endpoint is missing"},
    {"{\"endpoint\":null," KEYS "}", LULL_ERR_SYNTAX, "endpoint must be a string"},
    {"{\"endpoint\":7," KEYS "}", LULL_ERR_SYNTAX, "endpoint must be a string"},
    {"{\"endpoint\":[\"" FCM "\"]," KEYS "}", LULL_ERR_SYNTAX, "endpoint must be a string"},
    {WITH(""), LULL_ERR_RANGE, NO_URL},
    {WITH("/secret"), LULL_ERR_RANGE, NO_URL},
    {WITH("//secret.example/"), LULL_ERR_RANGE, NO_URL},
    {WITH("secret.example/a"), LULL_ERR_RANGE, NO_URL},
    {WITH("ftp://secret.example/"), LULL_ERR_RANGE, NO_URL},
    {WITH("file:///etc/passwd"), LULL_ERR_RANGE, NO_URL},
    {WITH("javascript:alert(1)"), LULL_ERR_RANGE, NO_URL},
    {WITH("https:secret.example"), LULL_ERR_RANGE, NO_URL},
    {WITH("https:/secret.example"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://"), LULL_ERR_RANGE, NO_URL},
    {WITH("https:///secret"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://?secret"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://:443/secret"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://secret@push.example/"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://user:secret@push.example/"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://user:443@push.example/"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://push.example:secret/"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://push.example:65536/"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://push.example:-1/"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://push.example\\\\@secret/"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://p\xc3\xbcsh.example/secret"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://[::1/secret"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://push.example/a secret"), LULL_ERR_RANGE, NO_URL},
    {WITH(" https://push.example/secret"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://push.example/secret\\n"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://push.example/secret\\r\\nHost: x"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://push.example/\\u0000secret"), LULL_ERR_RANGE, NO_URL},
    {WITH("https://push.example/secret\\u007f"), LULL_ERR_RANGE, NO_URL},

    {"{\"endpoint\":\"" FCM "\"}", LULL_ERR_SYNTAX, "keys is missing"},
    {"{\"endpoint\":\"" FCM "\",\"p256dh\":\"$P\",\"auth\":\"$A\"}", LULL_ERR_SYNTAX,
     "keys is missing"},
    {"{\"endpoint\":\"" FCM "\",\"keys\":null}", LULL_ERR_SYNTAX,
     "keys must be an object with p256dh and auth"},
    {"{\"endpoint\":\"" FCM "\",\"keys\":[\"$P\",\"$A\"]}", LULL_ERR_SYNTAX,
     "keys must be an object with p256dh and auth"},
    {AND_KEYS(AUTH), LULL_ERR_SYNTAX, "keys.p256dh is missing"},
    {AND_KEYS("\"p256dh\":null," AUTH), LULL_ERR_SYNTAX, "keys.p256dh must be a string"},
    {AND_KEYS("\"p256dh\":\"\"," AUTH), LULL_ERR_RANGE, "keys.p256dh must have 65 bytes, it has 0"},
    {AND_KEYS("\"p256dh\":\"" A86 "\"," AUTH), LULL_ERR_RANGE,
     "keys.p256dh must have 65 bytes, it has 64"},
    {AND_KEYS("\"p256dh\":\"" A86 "AA\"," AUTH), LULL_ERR_RANGE,
     "keys.p256dh must have 65 bytes, it has 66"},
    {AND_KEYS("\"p256dh\":\"" A86 A86 "\"," AUTH), LULL_ERR_RANGE,
     "keys.p256dh must have 65 bytes, it has over 66"},
    {AND_KEYS("\"p256dh\":\"$P \"," AUTH), LULL_ERR_RANGE, "keys.p256dh is not base64url"},
    {AND_KEYS("\"p256dh\":\"$P\\n\"," AUTH), LULL_ERR_RANGE, "keys.p256dh is not base64url"},
    {AND_KEYS("\"p256dh\":\"$P\\u0000\"," AUTH), LULL_ERR_RANGE, "keys.p256dh is not base64url"},
    {AND_KEYS("\"p256dh\":\"$P==\"," AUTH), LULL_ERR_RANGE, "keys.p256dh is not base64url"},
    {AND_KEYS("\"p256dh\":\"secret!\"," AUTH), LULL_ERR_RANGE, "keys.p256dh is not base64url"},
    {AND_KEYS("\"p256dh\":\"" A86 "A\"," AUTH), LULL_ERR_RANGE, NO_POINT},
    {AND_KEYS("\"p256dh\":\"BA" A86 "\"," AUTH), LULL_ERR_RANGE,
     "keys.p256dh must have 65 bytes, it has 66"},
    {AND_KEYS("\"p256dh\":\"B" A86 "\"," AUTH), LULL_ERR_RANGE, NO_POINT},
    {AND_KEYS("\"p256dh\":\"$P\""), LULL_ERR_SYNTAX, "keys.auth is missing"},
    {AND_KEYS("\"p256dh\":\"$P\",\"auth\":16"), LULL_ERR_SYNTAX, "keys.auth must be a string"},
    {AND_KEYS("\"p256dh\":\"$P\",\"auth\":\"\""), LULL_ERR_RANGE,
     "keys.auth must have 16 bytes, it has 0"},
    {AND_KEYS("\"p256dh\":\"$P\",\"auth\":\"c2VjcmV0c2VjcmV0c2Vj\""), LULL_ERR_RANGE,
     "keys.auth must have 16 bytes, it has 15"},
    {AND_KEYS("\"p256dh\":\"$P\",\"auth\":\"$P\""), LULL_ERR_RANGE,
     "keys.auth must have 16 bytes, it has 65"},
    {AND_KEYS("\"p256dh\":\"$P\",\"auth\":\"" A86 A86 "\""), LULL_ERR_RANGE,
     "keys.auth must have 16 bytes, it has over 66"},
    {AND_KEYS("\"p256dh\":\"$P\",\"auth\":\"$A.\""), LULL_ERR_RANGE, "keys.auth is not base64url"},

    {AND_TIME("\"secret\""), LULL_ERR_RANGE, NO_TIME},
    {AND_TIME("\"1798761600000\""), LULL_ERR_RANGE, NO_TIME},
    {AND_TIME("true"), LULL_ERR_RANGE, NO_TIME},
    {AND_TIME("{}"), LULL_ERR_RANGE, NO_TIME},
    {AND_TIME("-1"), LULL_ERR_RANGE, NO_TIME},
    {AND_TIME("8.640001e15"), LULL_ERR_RANGE, NO_TIME},
    {AND_TIME("9223372036854775807"), LULL_ERR_RANGE, NO_TIME},
    {AND_TIME("1e308"), LULL_ERR_RANGE, NO_TIME},
};

/* Any run of eight characters of a value would be too much. */
static void assert_no_secret(const char *sentence)
{
    static const char *const secrets[] = {"secret",       "fcm/send", "APA91",   "fcm.googleapis",
                                          "dPx3",         "c2VjcmV0", "AAAAAAA", "passwd",
                                          "push.example", "17987"};
    for (size_t i = 0; i < sizeof secrets / sizeof secrets[0]; i++) {
        assert_null(strstr(sentence, secrets[i]));
    }
    for (size_t i = 0; i + 8 <= strlen(keys.p256dh); i++) {
        assert_null(memmem(sentence, strlen(sentence), keys.p256dh + i, 8));
    }
    for (size_t i = 0; i + 8 <= strlen(keys.auth_text); i++) {
        assert_null(memmem(sentence, strlen(sentence), keys.auth_text + i, 8));
    }
}

static void test_S3_refused_with_its_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct lull_subscription actual;
        struct lull_subscription untouched;
        struct lull_webpush_error error = {""};
        memset(&actual, 0xa5, sizeof actual);
        memset(&untouched, 0xa5, sizeof untouched);
        int code = parse(refused[i].json, &actual, &error);
        bool is_sentence =
            refused[i].sentence
                ? strcmp(error.text, refused[i].sentence) == 0
                : strncmp(error.text, "not valid JSON, or a name twice, at line ", 41) == 0;
        if (code != refused[i].code || !is_sentence) {
            fail_msg("%s: %s, '%s'", refused[i].json, lull_error_to_string(code), error.text);
        }
        assert_memory_equal(&actual, &untouched, sizeof actual);
        assert_no_secret(error.text);
        assert_int_equal(parse(refused[i].json, &actual, NULL), code);
    }
}

/* Points: compressed ones have 33 bytes, infinity one, hybrids are 65 with another first byte. */
static void test_S3_points_of_other_forms(void **state)
{
    (void)state;
    static const struct {
        uint8_t prefix;
        size_t size;
        const char *sentence;
    } cases[] = {
        {2, 33, "keys.p256dh must have 65 bytes, it has 33"},
        {3, 33, "keys.p256dh must have 65 bytes, it has 33"},
        {0, 1, "keys.p256dh must have 65 bytes, it has 1"},
        {0, 65, NO_POINT},
        {2, 65, NO_POINT},
        {3, 65, NO_POINT},
        {6, 65, NO_POINT},
        {7, 65, NO_POINT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t point[LULL_P256_POINT_SIZE];
        char text[100];
        char json[512];
        struct lull_subscription actual;
        struct lull_webpush_error error = {""};
        memcpy(point, keys.point, sizeof point);
        point[0] = cases[i].prefix;
        (void)lull_base64url_encode(point, cases[i].size, text);
        snprintf(json, sizeof json, AND_KEYS("\"p256dh\":\"%s\"," AUTH), text);
        assert_int_equal(parse(json, &actual, &error), LULL_ERR_RANGE);
        assert_string_equal(error.text, cases[i].sentence);
    }
}

static void test_S3_length_of_the_endpoint(void **state)
{
    (void)state;
    static char json[4096];
    static char endpoint[LULL_ENDPOINT_SIZE + 1];
    struct lull_subscription actual;
    struct lull_webpush_error error = {""};
    memset(endpoint, 'a', LULL_ENDPOINT_SIZE);
    memcpy(endpoint, "https://push.example/", 21);
    snprintf(json, sizeof json, "{\"endpoint\":\"%s\"," KEYS "}", endpoint);
    assert_int_equal(parse(json, &actual, &error), LULL_ERR_RANGE);
    assert_string_equal(error.text, "endpoint has 2049 bytes, at most 2048 are accepted");
    endpoint[LULL_ENDPOINT_SIZE - 1] = '\0';
    snprintf(json, sizeof json, "{\"endpoint\":\"%s\"," KEYS "}", endpoint);
    assert_int_equal(parse(json, &actual, &error), LULL_OK);
    assert_string_equal(actual.endpoint, endpoint);
}

/* What is accepted can be sent to: a host that no origin has room for cannot. */
static void test_S3_length_of_the_host(void **state)
{
    (void)state;
    static char json[4096];
    char host[LULL_ORIGIN_SIZE + 1];
    struct lull_subscription actual;
    struct lull_webpush_error error = {""};
    memset(host, 'a', sizeof host);
    host[LULL_ORIGIN_SIZE] = '\0';
    snprintf(json, sizeof json, "{\"endpoint\":\"https://%s/\"," KEYS "}", host);
    assert_int_equal(parse(json, &actual, &error), LULL_ERR_RANGE);
    assert_string_equal(error.text, "endpoint has a host that is too long");
    host[LULL_ORIGIN_SIZE - 1 - 8] = '\0';
    snprintf(json, sizeof json, "{\"endpoint\":\"https://%s/\"," KEYS "}", host);
    assert_int_equal(parse(json, &actual, &error), LULL_OK);
}

/* Cut off at any byte, it is never taken for whole; with any byte changed, it never crashes. */
static void test_S3_broken_input(void **state)
{
    (void)state;
    char text[512];
    struct lull_subscription actual;
    struct lull_webpush_error error = {""};
    size_t length = fill("{\"endpoint\":\"" WNS "\",\"expirationTime\":1798761600000," KEYS "}",
                         text, sizeof text);
    for (size_t cut = 0; cut < length; cut++) {
        assert_int_equal(lull_subscription_parse(&actual, text, cut, &error), LULL_ERR_SYNTAX);
        assert_no_secret(error.text);
    }
    for (size_t i = 0; i < length; i++) {
        static const char bytes[] = {'\0', '"', '\\', '{', '}', ',', '\x80', ' '};
        char before = text[i];
        for (size_t k = 0; k < sizeof bytes; k++) {
            text[i] = bytes[k];
            error.text[0] = '\0';
            if (lull_subscription_parse(&actual, text, length, &error) != LULL_OK) {
                assert_no_secret(error.text);
            }
        }
        text[i] = before;
    }
    static char deep[100000];
    memset(deep, '[', sizeof deep);
    assert_int_equal(lull_subscription_parse(&actual, deep, sizeof deep, &error), LULL_ERR_SYNTAX);
}

/* ---- no memory ---- */

static size_t allocations_left;

static void *scarce_malloc(size_t size)
{
    return allocations_left > 0 && allocations_left-- ? malloc(size) : NULL;
}

/* Each allocation of the reader fails once. Some of them jansson itself takes for bad JSON; where
 * it has no words, memory is what was missing, and not line -1. */
static void test_no_memory(void **state)
{
    (void)state;
    struct lull_subscription actual;
    struct lull_subscription untouched;
    char text[512];
    size_t length = fill("{\"expirationTime\":1798761600000.5,\"endpoint\":\"" FCM "\"," KEYS "}",
                         text, sizeof text);
    int code = LULL_ERR_MEMORY;
    size_t count = 0;
    memset(&actual, 0xa5, sizeof actual);
    memset(&untouched, 0xa5, sizeof untouched);
    for (; code != LULL_OK && count < 1000; count++) {
        struct lull_webpush_error error = {""};
        allocations_left = count;
        json_set_alloc_funcs(scarce_malloc, free);
        code = lull_subscription_parse(&actual, text, length, &error);
        json_set_alloc_funcs(malloc, free);
        assert_true(code == LULL_OK || code == LULL_ERR_MEMORY || code == LULL_ERR_SYNTAX);
        assert_true(count > 0 || code == LULL_ERR_MEMORY);
        assert_null(strstr(error.text, "-1"));
        assert_true(code == LULL_OK || memcmp(&actual, &untouched, sizeof actual) == 0);
        if (code == LULL_ERR_MEMORY) {
            assert_string_equal(error.text, "there is not enough memory");
        }
    }
    assert_true(count > 10 && count < 1000);
}

/* ---- origin and hash ---- */

static void test_W8_origins(void **state)
{
    (void)state;
    static const struct {
        const char *endpoint;
        const char *origin; /* NULL: no such URL */
    } cases[] = {
        {FCM, "https://fcm.googleapis.com"},
        {MOZILLA, "https://updates.push.services.mozilla.com"},
        {APPLE, "https://web.push.apple.com"},
        {WNS, "https://wns2-par02p.notify.windows.com"},
        {"https://push.example", "https://push.example"},
        {"https://push.example?x=y", "https://push.example"},
        {"https://push.example#x", "https://push.example"},
        {"HTTPS://Push.EXAMPLE/Path", "https://push.example"},
        {"hTTp://PUSH.example/", "http://push.example"},
        {"https://push.example:443/x", "https://push.example"},
        {"https://push.example:0443/x", "https://push.example"},
        {"https://push.example:/x", "https://push.example"},
        {"https://push.example:", "https://push.example"},
        {"https://push.example:?1", "https://push.example"},
        {"https://push.example:#-1", "https://push.example"},
        {"http://push.example:80/x", "http://push.example"},
        {"http://push.example:443/x", "http://push.example:443"},
        {"https://push.example:80/x", "https://push.example:80"},
        {"https://push.example:8443/x", "https://push.example:8443"},
        {"https://push.example:8443", "https://push.example:8443"},
        {"https://push.example:8443?a:1", "https://push.example:8443"},
        {"https://push.example:08443/", "https://push.example:8443"},
        {"https://push.example:65535/", "https://push.example:65535"},
        {"https://push.example:1/", "https://push.example:1"},
        {"https://push.example:0/", "https://push.example:0"},
        {"https://push.example./", "https://push.example."},
        {"https://192.0.2.7:8443/", "https://192.0.2.7:8443"},
        {"https://[2001:DB8::1]/x", "https://[2001:db8::1]"},
        {"https://[2001:db8::1]:443/x", "https://[2001:db8::1]"},
        {"https://[2001:db8::1]:8443/x", "https://[2001:db8::1]:8443"},
        {"http://[::ffff:192.0.2.7]:80", "http://[::ffff:192.0.2.7]"},
        {"https://push.example/:8443", "https://push.example"},
        {"https://push.example/@other.example:1/", "https://push.example"},
        {"https://user@push.example/", NULL},
        {"https://user:password@push.example/", NULL},
        {"https://user:443@push.example/", NULL},
        {"https://@push.example/", NULL},
        {"https://[2001:db8::1/", NULL},
        {"https://[]/", NULL},
        {"https://p\xc3\xbcsh.example/", NULL},
        {"https://\xff.example/", NULL},
        {"https://push.example/\xc3\xbc", "https://push.example"},
        {"https://[::1]x/", NULL},
        {"https://push.example:65536/", NULL},
        {"https://push.example:4294967739/", NULL},
        {"https://push.example:+443/", NULL},
        {"https://push.example: 443/", NULL},
        {"https://push.example:443x/", NULL},
        {"https://push\"example/", NULL},
        {"https://push.example\\", NULL},
        {"wss://push.example/", NULL},
        {"https:/push.example/", NULL},
        {"push.example", NULL},
        {"https://", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char origin[LULL_ORIGIN_SIZE] = "untouched";
        int code = lull_endpoint_origin(cases[i].endpoint, origin);
        const char *expected = cases[i].origin ? cases[i].origin : "untouched";
        if (code != (cases[i].origin ? LULL_OK : LULL_ERR_SYNTAX) ||
            strcmp(origin, expected) != 0) {
            fail_msg("%s: %s, %s", cases[i].endpoint, lull_error_to_string(code), origin);
        }
    }
}

static void test_W8_longest_origin(void **state)
{
    (void)state;
    char endpoint[LULL_ORIGIN_SIZE + 32];
    for (size_t host = 270; host < 310; host++) {
        char origin[LULL_ORIGIN_SIZE] = "untouched";
        memset(endpoint, 'h', sizeof endpoint);
        memcpy(endpoint, "https://", 8);
        memcpy(endpoint + 8 + host, ":8443/", 7);
        bool is_room = 8 + host + 5 < LULL_ORIGIN_SIZE;
        assert_int_equal(lull_endpoint_origin(endpoint, origin), is_room ? LULL_OK : LULL_ERR_FULL);
        assert_int_equal(strlen(origin), is_room ? 8 + host + 5 : strlen("untouched"));
        memcpy(endpoint + 8 + host, ":443/", 6);
        is_room = 8 + host < LULL_ORIGIN_SIZE;
        assert_int_equal(lull_endpoint_origin(endpoint, origin), is_room ? LULL_OK : LULL_ERR_FULL);
    }
}

/* By `printf %s ENDPOINT | sha256sum`. */
static void test_L1_hashes(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"", "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {FCM, "sha256:6141608fbcf58d7f86bcdba12eaf243e944bfaa620b3c482fb0d62f2ba179471"},
        {WNS, "sha256:d6b1b5d7299ea226a326a206a061f176446c19783aeac88f35a3f8922bade3f5"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char hash[LULL_ENDPOINT_HASH_SIZE];
        lull_endpoint_hash(cases[i][0], hash);
        assert_string_equal(hash, cases[i][1]);
        assert_int_equal(strlen(hash), LULL_ENDPOINT_HASH_SIZE - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_S3_V4_browsers),
        cmocka_unit_test(test_S3_four_ways_of_base64),
        cmocka_unit_test(test_S3_refused_with_its_sentence),
        cmocka_unit_test(test_S3_points_of_other_forms),
        cmocka_unit_test(test_S3_length_of_the_endpoint),
        cmocka_unit_test(test_S3_length_of_the_host),
        cmocka_unit_test(test_S3_broken_input),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_W8_origins),
        cmocka_unit_test(test_W8_longest_origin),
        cmocka_unit_test(test_L1_hashes),
    };
    return cmocka_run_group_tests_name("subscription", tests, set_up, NULL);
}
