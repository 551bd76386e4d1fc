/* W4: webhooks as the API takes them. */
#include "intake_world.h"

static void test_W4_a_webhook(void **state)
{
    (void)state;
    struct taken taken = take_good(
        "{\"webhook\":{\"url\":\"" HOOK_URL "\",\"method\":\"PUT\",\"sign\":\"shop\","
        "\"headers\":{\"X-Shop\":\"a b\\t\xc3\xa9\",\"authorization\":\"Bearer x\",\"x\":\"\"},"
        "\"content_type\":\"application/cloudevents+json\"},\"body\":\"{}\"}",
        NULL);
    const struct envelope *envelope = &taken.envelope;
    assert_int_equal(taken.message->kind, LULL_KIND_WEBHOOK);
    assert_int_equal(taken.message->ttl_ms, LULL_DAYS(1));
    assert_int_equal(taken.message->body.length, 2);
    assert_memory_equal(taken.message->body.data, "{}", 2);
    assert_string_equal(taken.put->service, "hooks.example");
    assert_string_equal(envelope->url, HOOK_URL);
    assert_string_equal(envelope->method, "PUT");
    assert_string_equal(envelope->signer, "shop");
    assert_string_equal(envelope->policy, "webhook");
    assert_string_equal(envelope->key_id, "");
    assert_string_equal(envelope->content_type, "application/cloudevents+json");
    assert_int_equal(envelope->header_count, 3);
    assert_string_equal(envelope->headers[0].name, "x-shop");
    assert_string_equal(envelope->headers[0].value, "a b\t\xc3\xa9");
    assert_string_equal(envelope->headers[1].name, "authorization");
    assert_string_equal(envelope->headers[2].value, "");
    intake_free(taken.put);
}

static void test_W4_content_types(void **state)
{
    (void)state;
    static const struct {
        const char *members;
        const char *content_type;
        const char *body;
    } cases[] = {
        {"\"ttl\":1", "", ""},
        {"\"body\":\"x\"", "text/plain; charset=utf-8", "x"},
        {"\"body_base64\":\"eHl6\"", "application/octet-stream", "xyz"},
        {"\"json\":{ \"a\" : 1.10 }", "application/json", "{\"a\":1.10}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char json[512];
        (void)snprintf(json, sizeof json, "{" HOOK ",%s}", cases[i].members);
        struct taken taken = take_good(json, NULL);
        assert_string_equal(taken.envelope.content_type, cases[i].content_type);
        assert_int_equal(taken.message->body.length, strlen(cases[i].body));
        if (*cases[i].body) {
            assert_memory_equal(taken.message->body.data, cases[i].body, strlen(cases[i].body));
        }
        assert_string_equal(taken.envelope.method, "POST");
        intake_free(taken.put);
    }
}

static void test_W4_the_most_headers(void **state)
{
    (void)state;
    for (int count = 32; count <= 33; count++) {
        char json[2048] = "{\"webhook\":{\"url\":\"" HOOK_URL "\",\"headers\":{";
        for (int i = 0; i < count; i++) {
            char header[32];
            (void)snprintf(header, sizeof header, "%s\"H%d\":\"v\"", i ? "," : "", i);
            strcat(json, header);
        }
        strcat(json, "}}}");
        struct taken taken = take(json, NULL);
        assert_int_equal(taken.code, count == 32 ? LULL_OK : LULL_ERR_RANGE);
        if (taken.code == LULL_OK) {
            assert_int_equal(taken.envelope.header_count, 32);
            assert_string_equal(taken.envelope.headers[31].name, "h31");
        } else {
            assert_string_equal(taken.problem.detail, "webhook.headers has more than 32 headers");
        }
        intake_free(taken.put);
    }
}

static void test_W4_too_much_in_headers(void **state)
{
    (void)state;
    char *json =
        with_body("{\"webhook\":{\"url\":\"" HOOK_URL "\",\"headers\":{\"a\":\"", 32768, "\"}}}");
    struct taken taken = take(json, NULL);
    assert_int_equal(taken.problem.status, 413);
    assert_string_equal(taken.problem.member, "webhook.headers");
    assert_string_equal(taken.problem.detail,
                        "webhook.headers has 32769 bytes, at most 32768 are accepted");
    free(json);
}

static void test_P1_http_webhooks(void **state)
{
    (void)state;
    struct taken taken = take_good("{\"webhook\":{\"url\":\"http://a.example:80/\"}}", NULL);
    assert_string_equal(taken.put->service, "a.example");
    intake_free(taken.put);
    taken = take_good("{\"webhook\":{\"url\":\"http://a.example:443/\"}}", NULL);
    assert_string_equal(taken.put->service, "a.example:443");
    intake_free(taken.put);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_W4_a_webhook),        cmocka_unit_test(test_W4_content_types),
        cmocka_unit_test(test_W4_the_most_headers), cmocka_unit_test(test_W4_too_much_in_headers),
        cmocka_unit_test(test_P1_http_webhooks),
    };
    return cmocka_run_group_tests_name("intake_webhook", tests, intake_world_set_up,
                                       intake_world_tear_down);
}
