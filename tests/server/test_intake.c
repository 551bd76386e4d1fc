/* Q4, Q6, W1, W3, W4, T1: what the API takes, and the message that comes of it. */
#include "intake_world.h"

#define APPLE "https://web.push.apple.com/QGuQyavXutnMH9dJ8mWb1pVxn6Cw0Rk"
#define WNS "https://wns2-par02p.notify.windows.com/w/?token=BQY%2bA"
#define DAY_MS LULL_DAYS(1)

/* ---- pushes ---- */

static void test_W1_a_push_is_encrypted(void **state)
{
    (void)state;
    struct taken taken = take_good("{" PUSH ",\"body\":\"Hello\"}", NULL);
    const struct message *message = taken.message;
    size_t length = 0;
    assert_int_equal(taken.put->job.kind, JOB_PUT);
    assert_string_equal(taken.put->service, "fcm");
    assert_int_equal(taken.put->service_length, 3);
    assert_int_equal(message->kind, LULL_KIND_PUSH);
    assert_int_equal(message->urgency, MESSAGE_NORMAL);
    assert_int_equal(message->cause, MESSAGE_CAUSE_NEW);
    assert_int_equal(message->accepted_ms, NOW_MS);
    assert_int_equal(message->due_ms, NOW_MS);
    assert_int_equal(message->ttl_ms, 28 * DAY_MS);
    assert_int_equal(message->topic, 0);
    assert_int_not_equal(message->target, 0);
    assert_int_equal(message->id + message->service + message->attempts + message->lost, 0);
    assert_false(taken.put->put.put.has_key);
    assert_string_equal(taken.envelope.url, FCM);
    assert_string_equal(taken.envelope.method, "POST");
    assert_string_equal(taken.envelope.urgency, "");
    assert_string_equal(taken.envelope.policy, "delivery");
    assert_string_equal(taken.envelope.key_id, world.key_id); /* S5: also where none was said */
    assert_string_equal(taken.envelope.content_type, "");
    assert_int_equal(taken.envelope.received_ms, NOW_MS);
    assert_string_equal(taken.warning, "");
    assert_int_equal(message->body.length, 5 + LULL_PUSH_OVERHEAD);
    char *text = open_push(message, &length);
    assert_string_equal(text, "Hello");
    free(text);
    intake_free(taken.put);
}

static const struct {
    const char *name;
    const char *members; /* besides the subscription */
    const char *text;
    size_t length;
} bodies[] = {
    {"text", "\"body\":\"Hello\"", "Hello", 5},
    {"no text", "\"body\":\"\"", "", 0},
    {"escapes, and a NUL", "\"body\":\"a\\u0000b\\n\\u00e9\"", "a\0b\n\xc3\xa9", 6},
    {"base64", "\"body_base64\":\"AAEC/w==\"", "\0\1\2\xff", 4},
    {"base64url without padding", "\"body_base64\":\"AAEC_w\"", "\0\1\2\xff", 4},
    {"an object", "\"json\":{\"a\":1}", "{\"a\":1}", 7},
    {"white space goes, but not that of strings",
     "\"json\" : { \"a b\" : [ 1 ,\t\"c  d\\\" ,}\" ] ,\r\n \"e\":{ } }",
     "{\"a b\":[1,\"c  d\\\" ,}\"],\"e\":{}}", 30},
    {"numbers as they came", "\"json\":[1.10,1E5,-0.0,9223372036854775807]",
     "[1.10,1E5,-0.0,9223372036854775807]", 35},
    {"escapes as they came", "\"json\":\"\\u00e9\\/\"", "\"\\u00e9\\/\"", 10},
    {"a name with an escape", "\"\\u006ason\":[true , null]", "[true,null]", 11},
    {"null", "\"json\":null", "null", 4},
    {"a number at the end", "\"ttl\":5,\"json\":7", "7", 1},
    {"among members that look like it", "\"correlation_id\":\"\\\"json\\\":1,\",\"json\" :[2]",
     "[2]", 3},
};

static void test_W1_bodies(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        char json[1024];
        size_t length = 0;
        (void)snprintf(json, sizeof json, "{" PUSH ",%s}", bodies[i].members);
        struct taken taken = take_good(json, NULL);
        char *text = open_push(taken.message, &length);
        if (length != bodies[i].length || memcmp(text, bodies[i].text, length) != 0) {
            fail_msg("%s: '%s'", bodies[i].name, text);
        }
        free(text);
        intake_free(taken.put);
        (void)snprintf(json, sizeof json, " {%s,\n" PUSH "} ", bodies[i].members);
        taken = take_good(json, NULL);
        assert_int_equal(taken.message->body.length, bodies[i].length + LULL_PUSH_OVERHEAD);
        intake_free(taken.put);
    }
}

static void test_W1_no_body(void **state)
{
    (void)state;
    struct taken taken = take_good("{" PUSH "}", NULL);
    assert_int_equal(taken.message->body.length, 0);
    intake_free(taken.put);
}

/* Each ciphertext is another, with a key pair and a salt of its own. */
static void test_W1_never_twice_the_same(void **state)
{
    (void)state;
    intake_prepare(world.intake, 3);
    struct taken one = take_good("{" PUSH ",\"body\":\"Hello\"}", NULL);
    struct taken two = take_good("{" PUSH ",\"body\":\"Hello\"}", NULL);
    assert_int_equal(one.message->body.length, two.message->body.length);
    assert_memory_not_equal(one.message->body.data, two.message->body.data, LULL_PUSH_HEADER_SIZE);
    assert_int_equal(one.message->target, two.message->target);
    intake_free(one.put);
    intake_free(two.put);
}

static void test_W1_the_longest_text(void **state)
{
    (void)state;
    char *json = with_body("{" PUSH ",\"body\":\"", LULL_PUSH_TEXT_MAX, "\"}");
    struct taken taken = take_good(json, NULL);
    assert_int_equal(taken.message->body.length, LULL_PUSH_BODY_MAX);
    intake_free(taken.put);
    free(json);
}

static void test_W1_too_long(void **state)
{
    (void)state;
    static const struct {
        const char *before;
        size_t length;
        const char *behind;
        const char *member;
        const char *detail;
    } cases[] = {
        {"{" PUSH ",\"body\":\"", 3994, "\"}", "body",
         "body has 3994 bytes, at most 3993 fit into a push"},
        {"{" PUSH ",\"body\":\"", 60000, "\",\"padding\":\"random\"}", "body",
         "body has 60000 bytes, at most 3993 fit into a push"},
        {"{" PUSH ",\"body_base64\":\"", 5328, "\"}", "body_base64",
         "body_base64 has 3996 bytes, at most 3993 fit into a push"},
        {"{" PUSH ",\"json\":\"", 3992, "\"}", "json",
         "json has 3994 bytes, at most 3993 fit into a push"},
        {"{" PUSH ",\"padding\":10,\"body\":\"", 3984, "\"}", "padding",
         "body and padding have 3994 bytes, at most 3993 fit into a push"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *json = with_body(cases[i].before, cases[i].length, cases[i].behind);
        struct taken taken = take(json, NULL);
        assert_int_equal(taken.code, LULL_ERR_RANGE);
        assert_int_equal(taken.problem.status, 413);
        assert_string_equal(taken.problem.member, cases[i].member);
        assert_string_equal(taken.problem.detail, cases[i].detail);
        free(json);
    }
}

static void test_W3_padding(void **state)
{
    (void)state;
    struct taken taken = take_good("{" PUSH ",\"body\":\"Hello\",\"padding\":100}", NULL);
    size_t length = 0;
    assert_int_equal(taken.message->body.length, 105 + LULL_PUSH_OVERHEAD);
    char *text = open_push(taken.message, &length);
    assert_string_equal(text, "Hello");
    free(text);
    intake_free(taken.put);
}

static void test_W3_random_padding(void **state)
{
    (void)state;
    size_t least = SIZE_MAX;
    size_t most = 0;
    for (int i = 0; i < 100; i++) {
        struct taken taken =
            take_good("{" PUSH ",\"body\":\"Hello\",\"padding\":\"random\"}", NULL);
        size_t length = taken.message->body.length;
        least = length < least ? length : least;
        most = length > most ? length : most;
        intake_free(taken.put);
    }
    assert_true(least < 1000 && most > 3000 && most <= LULL_PUSH_BODY_MAX); /* but once in 10^12 */
}

static void test_S5_the_key_that_is_named(void **state)
{
    (void)state;
    struct taken taken = take_good("{" PUSH ",\"key\":\"$L\"}", NULL);
    assert_string_equal(taken.envelope.key_id, world.other_key_id);
    intake_free(taken.put);
}

/* ---- services ---- */

static void test_P1_services(void **state)
{
    (void)state;
    static const struct {
        const char *endpoint;
        const char *service;
    } cases[] = {
        {FCM, "fcm"},
        {"https://updates.push.services.mozilla.com/wpush/v2/gAA", "mozilla"},
        {APPLE, "apple"},
        {WNS, "wns"},
        {"https://Push.Example/a", "push.example"},
        {"https://push.example./a", "push.example"},
        {"https://push.example:443/a", "push.example"},
        {"https://push.example:8443/a", "push.example:8443"},
        {"https://[2600::A]/a", "[2600::a]"},
        {"https://[2600::a]:8443/a", "[2600::a]:8443"},
        {"https://fcm/a", "fcm:443"}, /* a host of that name is not the vendor */
        {"https://fcm:8443/a", "fcm:8443"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char json[1024];
        (void)snprintf(json, sizeof json, "{\"subscription\":{\"endpoint\":\"%s\"," KEYS "}}",
                       cases[i].endpoint);
        struct taken push = take_good(json, NULL);
        assert_string_equal(push.put->service, cases[i].service);
        assert_int_equal(push.put->service_length, strlen(cases[i].service));
        (void)snprintf(json, sizeof json, "{\"webhook\":{\"url\":\"%s\"}}", cases[i].endpoint);
        struct taken webhook = take_good(json, NULL);
        assert_string_equal(webhook.put->service, cases[i].service);
        assert_int_equal(webhook.message->target, push.message->target);
        intake_free(push.put);
        intake_free(webhook.put);
    }
}

static void test_W5_private_targets_where_they_are_allowed(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "{" PUSH_TO("http://127.0.0.1:8080/p") "}",
        "{" PUSH_TO("https://localhost/p") "}",
        "{" PUSH_TO("http://[::1]:8080/p") "}",
        "{\"webhook\":{\"url\":\"http://10.0.0.1/\"}}",
    };
    world.config.is_private_allowed = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct taken taken = take_good(cases[i], NULL);
        intake_free(taken.put);
    }
    world.config.is_private_allowed = false;
}

/* ---- what both have ---- */

static void test_Q5_urgencies(void **state)
{
    (void)state;
    static const char *const words[] = {"very-low", "low", "normal", "high"};
    for (int i = 0; i < MESSAGE_URGENCIES; i++) {
        char json[512];
        (void)snprintf(json, sizeof json, "{" PUSH ",\"urgency\":\"%s\"}", words[i]);
        struct taken taken = take_good(json, NULL);
        assert_int_equal(taken.message->urgency, i);
        assert_string_equal(taken.envelope.urgency, words[i]);
        intake_free(taken.put);
    }
}

/* Q7: the same topic of the same target is the same; of another it is not. */
static void test_Q7_topics(void **state)
{
    (void)state;
    static const char *const jsons[] = {
        "{" PUSH ",\"topic\":\"news\"}", "{\"topic\":\"news\",\"body\":\"x\"," PUSH "}",
        "{" PUSH ",\"topic\":\"News\"}", "{" PUSH_TO(APPLE) ",\"topic\":\"news\"}",
        "{" HOOK ",\"topic\":\"news\"}",
    };
    uint64_t first = 0;
    for (size_t i = 0; i < sizeof jsons / sizeof jsons[0]; i++) {
        struct taken taken = take_good(jsons[i], NULL);
        assert_int_not_equal(taken.message->topic, 0);
        first = i == 0 ? taken.message->topic : first;
        assert_int_equal(taken.message->topic == first, i < 2);
        assert_true(*taken.envelope.topic == 'n' || *taken.envelope.topic == 'N');
        intake_free(taken.put);
    }
}

static void test_T1_ttl(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        int64_t ttl_ms;
        const char *policy;
    } cases[] = {
        {"{" PUSH "}", 28 * DAY_MS, "delivery"},
        {"{" HOOK "}", DAY_MS, "webhook"},
        {"{" PUSH ",\"ttl\":0}", 0, "delivery"},
        {"{" PUSH ",\"ttl\":2419200}", 28 * DAY_MS, "delivery"},
        {"{" HOOK ",\"ttl\":60}", 60000, "webhook"},
        {"{" PUSH ",\"policy\":\"bulk ttl=1h\"}", 3600000, "bulk ttl=1h"},
        {"{" PUSH ",\"policy\":\"news\"}", 7200000, "news"},
        {"{" PUSH ",\"policy\":\"news, ttl=3h\"}", 10800000, "news, ttl=3h"},
        {"{" PUSH ",\"policy\":\"news\",\"ttl\":5}", 5000, "news"},
        {"{" PUSH ",\"policy\":\"client\"}", 28 * DAY_MS, "client"}, /* it has none of its own */
        {"{" HOOK ",\"policy\":\"client\"}", DAY_MS, "client"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct taken taken = take_good(cases[i].json, NULL);
        assert_int_equal(taken.message->ttl_ms, cases[i].ttl_ms);
        assert_string_equal(taken.envelope.policy, cases[i].policy);
        intake_free(taken.put);
    }
}

/* A TTL counts from when it is due. */
static void test_T1_delays(void **state)
{
    (void)state;
    static const struct {
        const char *member;
        int64_t delay_ms;
    } cases[] = {
        {"\"delay\":0", 0},
        {"\"delay\":90", 90000},
        {"\"delay\":2419200", 28 * DAY_MS},
        {"\"at\":\"2026-09-21T14:13:20Z\"", 0},
        {"\"at\":\"2026-09-21T14:13:20.250Z\"", 250},
        {"\"at\":\"2026-09-21t14:14:20z\"", 60000},
        {"\"at\":\"2026-09-21T16:14:20+02:00\"", 60000},
        {"\"at\":\"2026-09-21T08:44:20-05:30\"", 60000},
        {"\"at\":\"2026-10-19T14:13:20Z\"", 28 * DAY_MS},
        {"\"at\":\"2020-01-01T00:00:00Z\"", 0}, /* over: now */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char json[512];
        (void)snprintf(json, sizeof json, "{" PUSH ",\"ttl\":5,%s}", cases[i].member);
        struct taken taken = take_good(json, NULL);
        if (taken.message->due_ms - NOW_MS != cases[i].delay_ms) {
            fail_msg("%s: %lld", cases[i].member, (long long)(taken.message->due_ms - NOW_MS));
        }
        assert_int_equal(taken.message->accepted_ms, taken.message->due_ms);
        assert_int_equal(taken.message->cause,
                         cases[i].delay_ms ? MESSAGE_CAUSE_DELAYED : MESSAGE_CAUSE_NEW);
        assert_int_equal(taken.message->ttl_ms, 5000);
        assert_int_equal(taken.envelope.received_ms, NOW_MS);
        intake_free(taken.put);
    }
}

static void test_L5_what_comes_along(void **state)
{
    (void)state;
    static const char trace[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    struct intake_call call = {.now_ms = NOW_MS, .traceparent = trace};
    struct taken taken = take_good("{" PUSH ",\"correlation_id\":\"order 17\"}", &call);
    assert_string_equal(taken.envelope.traceparent, trace);
    assert_string_equal(taken.envelope.correlation_id, "order 17");
    intake_free(taken.put);
    call.traceparent = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
    taken = take_good("{" PUSH "}", &call);
    assert_string_equal(taken.envelope.traceparent, ""); /* as if there were none */
    intake_free(taken.put);
}

/* ---- idempotency keys ---- */

static void test_Q6_where_the_key_comes_from(void **state)
{
    (void)state;
    static const struct {
        const char *header;
        bool is_key_default;
        const char *member;
        const char *key; /* NULL: refused */
    } cases[] = {
        {NULL, false, "", ""},
        {"", false, "", ""},
        {"H", false, "", "H"},
        {NULL, false, ",\"idempotency_key\":\"a b\"", "a b"},
        {"H", false, ",\"idempotency_key\":\"H\"", "H"},
        {"H", false, ",\"idempotency_key\":\"M\"", NULL},
        {"H:7", true, ",\"idempotency_key\":\"M\"", "M"},
        {"H:7", true, "", "H:7"},
        {"a\x7f", false, "", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct intake_call call = {.now_ms = NOW_MS,
                                   .idempotency_key = cases[i].header,
                                   .is_key_default = cases[i].is_key_default};
        char json[512];
        (void)snprintf(json, sizeof json, "{" HOOK "%s}", cases[i].member);
        struct taken taken = take(json, &call);
        assert_int_equal(taken.code, cases[i].key ? LULL_OK : LULL_ERR_RANGE);
        if (cases[i].key) {
            const struct store_put *put = &taken.put->put.put;
            assert_string_equal(taken.envelope.idempotency_key, cases[i].key);
            assert_int_equal(put->has_key, *cases[i].key != '\0');
            assert_int_equal(put->key_until_ms, *cases[i].key ? NOW_MS + DAY_MS : 0);
        } else {
            assert_string_equal(taken.problem.member, "idempotency_key");
        }
        intake_free(taken.put);
    }
}

/* The same key and request have the same hashes, however the request was written; and the
 * ciphertext has no part in it. */
static void test_Q6_what_is_the_same_request(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        bool is_same;
    } cases[] = {
        {"{" PUSH ",\"json\":{\"a\":1,\"b\":[2]},\"ttl\":60}", true},
        {" { \"ttl\" : 60,\"json\":{\"b\":[ 2],\"\\u0061\":1}," PUSH "}", true},
        {"{" PUSH ",\"json\":{\"a\":1,\"b\":[2]},\"ttl\":60,\"correlation_id\":\"c\"}", true},
        {"{" PUSH ",\"json\":{\"a\":1,\"b\":[2]},\"ttl\":60,\"idempotency_key\":\"K\"}", true},
        {"{" PUSH ",\"json\":{\"a\":1,\"b\":[3]},\"ttl\":60}", false},
        {"{" PUSH ",\"json\":{\"a\":1,\"b\":[2]},\"ttl\":61}", false},
        {"{" PUSH ",\"json\":{\"a\":1,\"b\":[2]}}", false},
        {"{" PUSH_TO(APPLE) ",\"json\":{\"a\":1,\"b\":[2]},\"ttl\":60}", false},
    };
    const struct intake_call call = {.now_ms = NOW_MS, .idempotency_key = "K"};
    struct store_put first = {.has_key = false};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct taken taken = take_good(cases[i].json, &call);
        struct store_put put = taken.put->put.put;
        first = i == 0 ? put : first;
        assert_memory_equal(put.key, first.key, sizeof put.key);
        if ((memcmp(put.request, first.request, sizeof put.request) == 0) != cases[i].is_same) {
            fail_msg("%s", cases[i].json);
        }
        intake_free(taken.put);
    }
}

/* ---- warnings ---- */

static void test_V3_W9_warnings(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *warning;
    } cases[] = {
        {"{" PUSH_TO(APPLE) ",\"topic\":\"abcde\"}",
         "Apple refuses a topic of this length (1 modulo 4)"},
        {"{" PUSH_TO(APPLE) ",\"topic\":\"abcd\"}", ""},
        {"{" PUSH ",\"topic\":\"abcde\"}", ""},
        {"{" PUSH_TO(WNS) ",\"ttl\":0}",
         "WNS drops a message with ttl 0 unless the device is connected at that moment"},
        {"{" PUSH_TO(WNS) ",\"ttl\":1}", ""},
        {"{" PUSH ",\"ttl\":0}", ""},
        {"{" HOOK ",\"ttl\":0,\"topic\":\"abcde\"}", ""},
        {"{\"subscription\":{\"endpoint\":\"" FCM "\",\"expirationTime\":1789999999999," KEYS "}}",
         "the subscription's expirationTime is over"},
        {"{\"subscription\":{\"endpoint\":\"" FCM "\",\"expirationTime\":1790000000001," KEYS "}}",
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct taken taken = take_good(cases[i].json, NULL);
        assert_string_equal(taken.warning, cases[i].warning);
        intake_free(taken.put);
    }
}

/* ---- the whole ---- */

static void test_bad_defaults(void **state)
{
    (void)state;
    struct intake *intake = NULL;
    struct config config = world.config;
    config.push_policy = (char[]){"nonsense"};
    assert_int_equal(intake_new(&intake, &config, world.ring), LULL_ERR_UNKNOWN);
    assert_null(intake);
    intake_destroy(NULL);
    intake_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_W1_a_push_is_encrypted),
        cmocka_unit_test(test_W1_bodies),
        cmocka_unit_test(test_W1_no_body),
        cmocka_unit_test(test_W1_never_twice_the_same),
        cmocka_unit_test(test_W1_the_longest_text),
        cmocka_unit_test(test_W1_too_long),
        cmocka_unit_test(test_W3_padding),
        cmocka_unit_test(test_W3_random_padding),
        cmocka_unit_test(test_S5_the_key_that_is_named),
        cmocka_unit_test(test_P1_services),
        cmocka_unit_test(test_W5_private_targets_where_they_are_allowed),
        cmocka_unit_test(test_Q5_urgencies),
        cmocka_unit_test(test_Q7_topics),
        cmocka_unit_test(test_T1_ttl),
        cmocka_unit_test(test_T1_delays),
        cmocka_unit_test(test_L5_what_comes_along),
        cmocka_unit_test(test_Q6_where_the_key_comes_from),
        cmocka_unit_test(test_Q6_what_is_the_same_request),
        cmocka_unit_test(test_V3_W9_warnings),
        cmocka_unit_test(test_bad_defaults),
    };
    return cmocka_run_group_tests_name("intake", tests, intake_world_set_up,
                                       intake_world_tear_down);
}
