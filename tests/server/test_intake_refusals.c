/* What the API does not take: each mistake with its member, and a sentence on what is accepted that
 * repeats nothing secret. */
#include "intake_world.h"

#include <jansson.h>

#define KNOWN                                                                                      \
    "known are subscription, webhook, body, body_base64, json, ttl, urgency, topic, policy, key, " \
    "padding, at, delay, correlation_id, idempotency_key"
#define NO_URL                                                                                     \
    " must be an absolute https or http URL with a host in ASCII, without user, spaces or "        \
    "controls"
#define PRIVATE                                                                                    \
    " must not be on a private, loopback or link-local address; the server's allow_private is off"
#define NOBODY                                                                                     \
    " is under .invalid, where nobody can ever be reached; a browser says so that the "            \
    "subscription is gone"
#define AT "at must be a time as RFC 3339 has it, 2026-01-31T09:30:00Z, at most 28 days ahead"
#define TEXT(member, max) member " must be a string of 1 to " max " characters"
#define ASCII(member, max)                                                                         \
    member " must be 1 to " max " characters of printable ASCII, without a space at either end"
#define HEADERS(headers) "{\"webhook\":{\"url\":\"" HOOK_URL "\",\"headers\":" headers "}}"
#define WEBHOOK(members) "{\"webhook\":{\"url\":\"" HOOK_URL "\"," members "}}"
#define WITH(members) "{" PUSH "," members "}"
#define TO(url) "{\"webhook\":{\"url\":\"" url "\"}}"
#define TTL "ttl must be a whole number of seconds from 0 to 2419200"
#define DELAY "delay must be a whole number of seconds from 0 to 2419200"
#define PADDING "padding must be a whole number of bytes from 0 to 3993, or \"random\""
#define TOPIC "topic must be 1 to 32 characters of A-Z a-z 0-9 - _"
#define URGENCY "urgency must be very-low, low, normal or high"
#define POINT86                                                                                    \
    "BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static const struct {
    const char *json;
    int code;
    const char *member;
    const char *detail; /* NULL: it is no JSON, and says where */
} refused[] = {
    /* the whole */
    {"", LULL_ERR_SYNTAX, "", NULL},
    {"secret", LULL_ERR_SYNTAX, "", NULL},
    {"{" PUSH, LULL_ERR_SYNTAX, "", NULL},
    {"{" PUSH "}{", LULL_ERR_SYNTAX, "", NULL},
    {"{" PUSH "," PUSH "}", LULL_ERR_SYNTAX, "", NULL},
    {WITH("\"ttl\":99999999999999999999"), LULL_ERR_SYNTAX, "", NULL},
    {WITH("\"body\":\"\xff\""), LULL_ERR_SYNTAX, "", NULL},
    {WITH("\"a\\u0000\":1"), LULL_ERR_SYNTAX, "", NULL},
    {"[{" PUSH "}]", LULL_ERR_SYNTAX, "",
     "a message is a JSON object with subscription or webhook"},
    {"[]", LULL_ERR_SYNTAX, "", "a message is a JSON object with subscription or webhook"},
    {"{}", LULL_ERR_SYNTAX, "", "there must be one of subscription and webhook, and there is none"},
    {"{" PUSH "," HOOK "}", LULL_ERR_SYNTAX, "",
     "there must be one of subscription and webhook, not both"},
    {WITH("\"boddy\":\"secret\""), LULL_ERR_UNKNOWN, "boddy", "boddy is not known; " KNOWN},
    {WITH("\"https://a/secret\":1"), LULL_ERR_UNKNOWN, "",
     "there is a member with a name that is not known; " KNOWN},
    {WITH("\"\":1"), LULL_ERR_UNKNOWN, "",
     "there is a member with a name that is not known; " KNOWN},

    /* S3, S6, W5: subscription */
    {"{\"subscription\":[]}", LULL_ERR_SYNTAX, "subscription",
     "a subscription is a JSON object with endpoint and keys"},
    {"{\"subscription\":{" KEYS "}}", LULL_ERR_SYNTAX, "subscription.endpoint",
     "subscription.endpoint is missing"},
    {"{\"subscription\":{\"endpoint\":\"" FCM "\"}}", LULL_ERR_SYNTAX, "subscription.keys",
     "subscription.keys is missing"},
    {"{\"subscription\":{\"endpoint\":\"" FCM "\",\"keys\":{\"auth\":\"$A\"}}}", LULL_ERR_SYNTAX,
     "subscription.keys.p256dh", "subscription.keys.p256dh is missing"},
    {"{\"subscription\":{\"endpoint\":\"" FCM "\",\"keys\":{\"p256dh\":\"$P\",\"auth\":\"AAAA\"}}}",
     LULL_ERR_RANGE, "subscription.keys.auth",
     "subscription.keys.auth must have 16 bytes, it has 3"},
    {"{\"subscription\":{\"endpoint\":\"" FCM "\",\"keys\":{\"p256dh\":\"" POINT86
     "A\",\"auth\":\"$A\"}}}",
     LULL_ERR_RANGE, "subscription.keys.p256dh",
     "subscription.keys.p256dh is not an uncompressed point on the curve P-256"},
    {"{\"body\":\"x\",\"subscription\":{\"endpoint\":\"" FCM "\",\"keys\":{\"p256dh\":\"" POINT86
     "A\",\"auth\":\"$A\"}}}",
     LULL_ERR_RANGE, "subscription.keys.p256dh",
     "subscription.keys.p256dh is not an uncompressed point on the curve P-256"},
    {"{\"subscription\":{\"endpoint\":\"" FCM "\",\"expirationTime\":\"secret\"," KEYS "}}",
     LULL_ERR_RANGE, "subscription.expirationTime",
     "subscription.expirationTime must be null or milliseconds since 1970"},
    {"{" PUSH_TO("ftp://secret.example/") "}", LULL_ERR_RANGE, "subscription.endpoint",
     "subscription.endpoint must be an absolute https (or http) URL with a host in ASCII, without "
     "user, spaces or controls"},
    {"{" PUSH_TO("https://push.example/s\xc3\xa9"
                 "cret") "}",
     LULL_ERR_RANGE, "subscription.endpoint", "subscription.endpoint" NO_URL},
    {"{" PUSH_TO("http://push.example/secret") "}", LULL_ERR_RANGE, "subscription.endpoint",
     "subscription.endpoint must be https; http is for practice, where the server allows private "
     "targets"},
    {"{" PUSH_TO("https://secret.invalid/") "}", LULL_ERR_RANGE, "subscription.endpoint",
     "subscription.endpoint" NOBODY},
    {"{" PUSH_TO("https://127.0.0.1/secret") "}", LULL_ERR_RANGE, "subscription.endpoint",
     "subscription.endpoint" PRIVATE},
    {"{" PUSH_TO("https://localhost:8443/secret") "}", LULL_ERR_RANGE, "subscription.endpoint",
     "subscription.endpoint" PRIVATE},

    /* W4, W5: webhook */
    {"{\"webhook\":\"" HOOK_URL "\"}", LULL_ERR_SYNTAX, "webhook",
     "webhook must be an object with url"},
    {"{\"webhook\":{}}", LULL_ERR_SYNTAX, "webhook.url", "webhook.url is missing"},
    {WEBHOOK("\"methd\":\"PUT\""), LULL_ERR_UNKNOWN, "webhook.methd",
     "webhook.methd is not known; known are url, method, headers, content_type, sign"},
    {"{\"webhook\":{\"url\":7}}", LULL_ERR_SYNTAX, "webhook.url", TEXT("webhook.url", "2048")},
    {TO(""), LULL_ERR_RANGE, "webhook.url", TEXT("webhook.url", "2048")},
    {TO("secret"), LULL_ERR_RANGE, "webhook.url", "webhook.url" NO_URL},
    {TO("https://user:secret@a.example/"), LULL_ERR_RANGE, "webhook.url", "webhook.url" NO_URL},
    {TO("https://a.example:0/"), LULL_ERR_RANGE, "webhook.url", "webhook.url" NO_URL},
    {TO("https://a.example/\\r\\nx: secret"), LULL_ERR_RANGE, "webhook.url", "webhook.url" NO_URL},
    {TO("https://a.example/\\u0000"), LULL_ERR_SYNTAX, "webhook.url", TEXT("webhook.url", "2048")},
    {TO("https://a.INVALID./secret"), LULL_ERR_RANGE, "webhook.url", "webhook.url" NOBODY},
    {TO("http://10.1.2.3/secret"), LULL_ERR_RANGE, "webhook.url", "webhook.url" PRIVATE},
    {TO("https://169.254.169.254/secret"), LULL_ERR_RANGE, "webhook.url", "webhook.url" PRIVATE},
    {TO("https://[::1]/secret"), LULL_ERR_RANGE, "webhook.url", "webhook.url" PRIVATE},
    {TO("https://0x7f.1/secret"), LULL_ERR_RANGE, "webhook.url", "webhook.url" PRIVATE},
    {TO("https://a.localhost/secret"), LULL_ERR_RANGE, "webhook.url", "webhook.url" PRIVATE},
    {WEBHOOK("\"method\":\"GET\""), LULL_ERR_RANGE, "webhook.method",
     "webhook.method must be POST, PUT or PATCH"},
    {WEBHOOK("\"method\":\"post\""), LULL_ERR_RANGE, "webhook.method",
     "webhook.method must be POST, PUT or PATCH"},
    {WEBHOOK("\"method\":\"PUT\\u0000\""), LULL_ERR_RANGE, "webhook.method",
     "webhook.method must be POST, PUT or PATCH"},
    {WEBHOOK("\"content_type\":\"a/b\\r\\nx: y\""), LULL_ERR_RANGE, "webhook.content_type",
     ASCII("webhook.content_type", "256")},
    {WEBHOOK("\"content_type\":\"\""), LULL_ERR_RANGE, "webhook.content_type",
     TEXT("webhook.content_type", "256")},
    {WEBHOOK("\"sign\":\"other\""), LULL_ERR_UNKNOWN, "webhook.sign",
     "webhook.sign must be the name of a webhook_secret of the configuration"},
    {WEBHOOK("\"sign\":true"), LULL_ERR_SYNTAX, "webhook.sign", TEXT("webhook.sign", "63")},
    {HEADERS("[]"), LULL_ERR_SYNTAX, "webhook.headers",
     "webhook.headers must be an object of names and values"},
    {HEADERS("{\"a\":1}"), LULL_ERR_RANGE, "webhook.headers",
     "webhook.headers must have strings as values, without NUL"},
    {HEADERS("{\"a\":\"secret\\u0000\"}"), LULL_ERR_RANGE, "webhook.headers",
     "webhook.headers must have strings as values, without NUL"},
    {HEADERS("{\"a\":\"secret\\r\\n\"}"), LULL_ERR_RANGE, "webhook.headers",
     "webhook.headers: a has a value with a control character, or a blank at an end"},
    {HEADERS("{\"A\":\" secret\"}"), LULL_ERR_RANGE, "webhook.headers",
     "webhook.headers: a has a value with a control character, or a blank at an end"},
    {HEADERS("{\"\":\"x\"}"), LULL_ERR_RANGE, "webhook.headers",
     "webhook.headers has a name with a character that no header may have"},
    {HEADERS("{\"a b\":\"x\"}"), LULL_ERR_RANGE, "webhook.headers",
     "webhook.headers has a name with a character that no header may have"},
    {HEADERS("{\":path\":\"x\"}"), LULL_ERR_RANGE, "webhook.headers",
     "webhook.headers has a name with a character that no header may have"},
    {HEADERS("{\"X-A\":\"1\",\"x-a\":\"2\"}"), LULL_ERR_RANGE, "webhook.headers",
     "webhook.headers: x-a is there twice"},
    {HEADERS("{\"Host\":\"x\"}"), LULL_ERR_RANGE, "webhook.headers",
     "webhook.headers: host is about the connection"},
    {HEADERS("{\"Transfer-Encoding\":\"x\"}"), LULL_ERR_RANGE, "webhook.headers",
     "webhook.headers: transfer-encoding is about the connection"},
    {HEADERS("{\"content-length\":\"5\"}"), LULL_ERR_RANGE, "webhook.headers",
     "webhook.headers: content-length is about the connection"},
    {HEADERS("{\"Webhook-Id\":\"x\"}"), LULL_ERR_RANGE, "webhook.headers",
     "webhook.headers: webhook-id is set by Lull; content_type, idempotency_key and sign are "
     "members of their own"},
    {HEADERS("{\"Idempotency-Key\":\"x\"}"), LULL_ERR_RANGE, "webhook.headers",
     "webhook.headers: idempotency-key is set by Lull; content_type, idempotency_key and sign are "
     "members of their own"},
    {"{" HOOK ",\"key\":\"$K\"}", LULL_ERR_RANGE, "key",
     "key is of a push: it goes with subscription, not with webhook"},
    {"{" HOOK ",\"padding\":5}", LULL_ERR_RANGE, "padding",
     "padding is of a push: it goes with subscription, not with webhook"},

    /* W1, W3: body, padding, key */
    {WITH("\"body\":{}"), LULL_ERR_SYNTAX, "body",
     "body must be a string; other values go into json, bytes into body_base64"},
    {WITH("\"body_base64\":7"), LULL_ERR_SYNTAX, "body_base64",
     "body_base64 must be a string of base64 or base64url"},
    {WITH("\"body_base64\":\"secret!\""), LULL_ERR_SYNTAX, "body_base64",
     "body_base64 must be a string of base64 or base64url"},
    {WITH("\"body\":\"a\",\"json\":1"), LULL_ERR_SYNTAX, "json",
     "only one of body, body_base64 and json may be there"},
    {WITH("\"body_base64\":\"\",\"body\":\"a\""), LULL_ERR_SYNTAX, "body_base64",
     "only one of body, body_base64 and json may be there"},
    {WITH("\"padding\":5"), LULL_ERR_RANGE, "padding", "padding is of a body, and there is none"},
    {WITH("\"body\":\"\",\"padding\":3994"), LULL_ERR_RANGE, "padding", PADDING},
    {WITH("\"body\":\"\",\"padding\":-1"), LULL_ERR_RANGE, "padding", PADDING},
    {WITH("\"body\":\"\",\"padding\":\"some\""), LULL_ERR_RANGE, "padding", PADDING},
    {WITH("\"body\":\"\",\"padding\":1.5"), LULL_ERR_RANGE, "padding", PADDING},
    {WITH("\"key\":\"nobodys\""), LULL_ERR_UNKNOWN, "key",
     "key must be the id of a VAPID key that this server has"},
    {WITH("\"key\":\"secretsecretsecret\""), LULL_ERR_RANGE, "key", TEXT("key", "11")},
    {WITH("\"key\":7"), LULL_ERR_SYNTAX, "key", TEXT("key", "11")},

    /* T1, Q5, Q7: when, how */
    {WITH("\"ttl\":-1"), LULL_ERR_RANGE, "ttl", TTL},
    {WITH("\"ttl\":2419201"), LULL_ERR_RANGE, "ttl", TTL},
    {WITH("\"ttl\":\"60\""), LULL_ERR_SYNTAX, "ttl", TTL},
    {WITH("\"ttl\":60.0"), LULL_ERR_SYNTAX, "ttl", TTL},
    {WITH("\"ttl\":null"), LULL_ERR_SYNTAX, "ttl", TTL},
    {WITH("\"urgency\":\"urgent\""), LULL_ERR_UNKNOWN, "urgency", URGENCY},
    {WITH("\"urgency\":\"high\\u0000\""), LULL_ERR_UNKNOWN, "urgency", URGENCY},
    {WITH("\"urgency\":3"), LULL_ERR_UNKNOWN, "urgency", URGENCY},
    {WITH("\"topic\":\"\""), LULL_ERR_RANGE, "topic", TOPIC},
    {WITH("\"topic\":\"a b\""), LULL_ERR_RANGE, "topic", TOPIC},
    {WITH("\"topic\":\"123456789012345678901234567890123\""), LULL_ERR_RANGE, "topic", TOPIC},
    {WITH("\"topic\":[]"), LULL_ERR_RANGE, "topic", TOPIC},
    {WITH("\"policy\":7"), LULL_ERR_SYNTAX, "policy", TEXT("policy", "2048")},
    {WITH("\"policy\":\"nonsense\""), LULL_ERR_UNKNOWN, "policy",
     "policy: at character 1: nonsense is not a policy; there are delivery, urgent, bulk, client "
     "and "
     "webhook"},
    {WITH("\"policy\":\"news retries=-1\""), LULL_ERR_SYNTAX, "policy",
     "policy: at character 14: retries must be a whole number"},
    {WITH("\"delay\":-1"), LULL_ERR_RANGE, "delay", DELAY},
    {WITH("\"delay\":2419201"), LULL_ERR_RANGE, "delay", DELAY},
    {WITH("\"delay\":\"1h\""), LULL_ERR_SYNTAX, "delay", DELAY},
    {WITH("\"delay\":5,\"at\":\"2026-09-21T14:13:20Z\""), LULL_ERR_SYNTAX, "delay",
     "only one of at and delay may be there"},
    {WITH("\"at\":1790000000"), LULL_ERR_SYNTAX, "at", AT},
    {WITH("\"at\":\"tomorrow\""), LULL_ERR_SYNTAX, "at", AT},
    {WITH("\"at\":\"2026-09-31T00:00:00Z\""), LULL_ERR_RANGE, "at", AT},
    {WITH("\"at\":\"2026-10-19T14:13:20.001Z\""), LULL_ERR_RANGE, "at", AT},
    {WITH("\"at\":\"9999-12-31T23:59:59Z\""), LULL_ERR_RANGE, "at", AT},

    /* Q4, Q6: names */
    {WITH("\"correlation_id\":\"\""), LULL_ERR_RANGE, "correlation_id",
     TEXT("correlation_id", "128")},
    {WITH("\"correlation_id\":17"), LULL_ERR_SYNTAX, "correlation_id",
     TEXT("correlation_id", "128")},
    {WITH("\"correlation_id\":\"a\\nb\""), LULL_ERR_RANGE, "correlation_id",
     ASCII("correlation_id", "128")},
    {WITH("\"correlation_id\":\"\xc3\xa9\""), LULL_ERR_RANGE, "correlation_id",
     ASCII("correlation_id", "128")},
    {WITH("\"idempotency_key\":\" a\""), LULL_ERR_RANGE, "idempotency_key",
     ASCII("idempotency_key", "256")},
    {WITH("\"idempotency_key\":{}"), LULL_ERR_SYNTAX, "idempotency_key",
     TEXT("idempotency_key", "256")},
};

static void test_each_with_its_member_and_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        struct taken taken = take(refused[i].json, NULL);
        const struct intake_problem *problem = &taken.problem;
        bool is_sentence =
            refused[i].detail
                ? strcmp(problem->detail, refused[i].detail) == 0
                : strncmp(problem->detail, "not valid JSON, or a name twice, at line ", 41) == 0;
        if (taken.code != refused[i].code || !is_sentence || problem->status != 400 ||
            strcmp(problem->member, refused[i].member) != 0) {
            fail_msg("%s: %s, %u, '%s': '%s'", refused[i].json, lull_error_to_string(taken.code),
                     problem->status, problem->member, problem->detail);
        }
        assert_true(!strstr(problem->detail, "secret") ||
                    strstr(problem->detail, "webhook_secret"));
        assert_null(strstr(problem->detail, "hooks.example"));
    }
}

static void test_lengths(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        const char *behind;
        size_t length; /* the longest that is accepted */
    } cases[] = {
        {"{" PUSH ",\"correlation_id\":\"", "\"}", 128},
        {"{" PUSH ",\"idempotency_key\":\"", "\"}", 256},
        {"{" PUSH ",\"topic\":\"", "\"}", 32},
        {"{\"webhook\":{\"url\":\"https://a.example/", "\"}}", 2048 - 18},
        {"{\"webhook\":{\"url\":\"https://", "/\"}}", 255 - 8},
        {"{\"webhook\":{\"url\":\"" HOOK_URL "\",\"content_type\":\"", "\"}}", 256},
        {"{\"webhook\":{\"url\":\"" HOOK_URL "\",\"headers\":{\"", "\":\"x\"}}}", 128},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t more = 0; more < 2; more++) {
            char json[4096];
            char middle[2100];
            memset(middle, 'a', cases[i].length + more);
            middle[cases[i].length + more] = '\0';
            (void)snprintf(json, sizeof json, "%s%s%s", cases[i].before, middle, cases[i].behind);
            struct taken taken = take(json, NULL);
            if ((taken.code == LULL_OK) != (more == 0)) {
                fail_msg("%s, %zu more: %s", cases[i].before, more, taken.problem.detail);
            }
            assert_true(more == 0 || taken.problem.status == 400);
            intake_free(taken.put);
        }
    }
}

/* The key of a batch's header is longer by its line number. */
static void test_Q6_length_of_the_header(void **state)
{
    (void)state;
    char key[300];
    memset(key, 'k', sizeof key);
    for (size_t length = 250; length < 280; length++) {
        struct intake_call call = {.now_ms = NOW_MS, .idempotency_key = key};
        key[length] = '\0';
        for (int is_batch = 0; is_batch < 2; is_batch++) {
            call.is_key_default = is_batch;
            struct taken taken = take("{" PUSH "}", &call);
            assert_int_equal(taken.code == LULL_OK, length <= (is_batch ? 272 : 256));
            intake_free(taken.put);
        }
        key[length] = 'k';
    }
}

/* JSON of any depth is read, or refused, and nothing else. */
static void test_depth(void **state)
{
    (void)state;
    static char json[300000];
    for (size_t depth = 1; depth < 100000; depth = depth * 3 + 1) {
        size_t length = (size_t)snprintf(json, sizeof json, "{" PUSH ",\"json\":");
        memset(json + length, '[', depth);
        memset(json + length + depth, ']', depth);
        (void)snprintf(json + length + 2 * depth, 2, "}");
        struct intake_call call = {.now_ms = NOW_MS, .idempotency_key = "K"};
        struct taken taken = take(json, &call);
        assert_true(depth < 1500 ? taken.code == LULL_OK : taken.code != LULL_OK);
        intake_free(taken.put);
    }
}

/* Cut off at any byte it is never taken for whole; with any byte changed it never crashes. */
static void test_broken_input(void **state)
{
    (void)state;
    static const char json[] =
        "{\"webhook\":{\"url\":\"" HOOK_URL "\",\"method\":\"PUT\",\"headers\":{\"x-a\":\"b\"},"
        "\"sign\":\"shop\"},\"json\":{\"a\":[1,\"\\u00e9\"]},\"ttl\":60,\"policy\":\"bulk cap=5m\","
        "\"at\":\"2026-09-21T14:14:20.5Z\",\"topic\":\"t\",\"idempotency_key\":\"k\"}";
    static const char bytes[] = {'\0', '"', '\\', '{', '}', ',', '\x80', ' ', '9'};
    char text[sizeof json];
    for (size_t cut = 0; cut < sizeof json - 1; cut++) {
        memcpy(text, json, cut);
        text[cut] = '\0';
        assert_int_equal(take(text, NULL).code, LULL_ERR_SYNTAX);
    }
    intake_free(take_good(json, NULL).put);
    for (size_t i = 0; i < sizeof json - 1; i++) {
        for (size_t k = 0; k < sizeof bytes; k++) {
            memcpy(text, json, sizeof json);
            text[i] = bytes[k];
            intake_free(take(text, NULL).put);
        }
    }
}

/* No keys at all: an operator's mistake, and no crash. */
static void test_no_vapid_key(void **state)
{
    (void)state;
    struct lull_vapid_ring *ring = NULL;
    struct intake *usual = world.intake;
    assert_int_equal(lull_vapid_ring_new(&ring, NULL), LULL_OK);
    assert_int_equal(intake_new(&world.intake, &world.config, ring), LULL_OK);
    struct taken taken = take("{" PUSH "}", NULL);
    assert_string_equal(taken.problem.member, "key");
    intake_destroy(world.intake);
    lull_vapid_ring_destroy(ring);
    world.intake = usual;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_with_its_member_and_sentence),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_Q6_length_of_the_header),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_broken_input),
        cmocka_unit_test(test_no_vapid_key),
    };
    return cmocka_run_group_tests_name("intake_refusals", tests, intake_world_set_up,
                                       intake_world_tear_down);
}
