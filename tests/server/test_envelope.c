/* Q4: what a message carries, packed into one piece and read again, strictly. */
#include "suite.h"

#include "envelope.h"
#include "packed.h"

#define HEADER(name_, value_)                                                                      \
    {                                                                                              \
        .name = (name_), .name_length = sizeof(name_) - 1, .value = (value_),                      \
        .value_length = sizeof(value_) - 1                                                         \
    }

static const struct envelope push = {
    .url = "https://push.example/abc",
    .method = "POST",
    .urgency = "high",
    .topic = "news",
    .key_id = "k1",
    .signer = "",
    .policy = "delivery",
    .correlation_id = "order-17",
    .idempotency_key = "",
    .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    .content_type = "",
    .received_ms = INT64_C(1798761600123),
};

static const struct envelope webhook = {
    .url = "https://hook.example/?a=b",
    .method = "PUT",
    .urgency = "",
    .topic = "",
    .key_id = "",
    .signer = "shop",
    .policy = "webhook retries=3",
    .correlation_id = "",
    .idempotency_key = "K:1",
    .traceparent = "",
    .content_type = "application/json",
    .received_ms = INT64_MIN,
    .header_count = 2,
    .headers = {HEADER("x-shop", "a\tb"), HEADER("x-empty", "")},
};

static const struct envelope nothing = {
    .url = "",
    .method = "",
    .urgency = "",
    .topic = "",
    .key_id = "",
    .signer = "",
    .policy = "",
    .correlation_id = "",
    .idempotency_key = "",
    .traceparent = "",
    .content_type = "",
};

static void assert_same(const struct envelope *actual, const struct envelope *expected)
{
    assert_string_equal(actual->url, expected->url);
    assert_string_equal(actual->method, expected->method);
    assert_string_equal(actual->urgency, expected->urgency);
    assert_string_equal(actual->topic, expected->topic);
    assert_string_equal(actual->key_id, expected->key_id);
    assert_string_equal(actual->signer, expected->signer);
    assert_string_equal(actual->policy, expected->policy);
    assert_string_equal(actual->correlation_id, expected->correlation_id);
    assert_string_equal(actual->idempotency_key, expected->idempotency_key);
    assert_string_equal(actual->traceparent, expected->traceparent);
    assert_string_equal(actual->content_type, expected->content_type);
    assert_int_equal(actual->received_ms, expected->received_ms);
    assert_int_equal(actual->header_count, expected->header_count);
    for (size_t i = 0; i < expected->header_count; i++) {
        const struct lull_header *header = &actual->headers[i];
        assert_string_equal(header->name, expected->headers[i].name);
        assert_int_equal(header->name_length, expected->headers[i].name_length);
        assert_string_equal(header->value, expected->headers[i].value);
        assert_int_equal(header->value_length, expected->headers[i].value_length);
    }
}

/* On its own, so that what goes over its end is seen. The caller frees it. */
static uint8_t *pack(const struct envelope *envelope, size_t *ret_length)
{
    size_t length = envelope_size(envelope);
    uint8_t *data = malloc(length);
    assert_non_null(data);
    envelope_pack(envelope, data);
    *ret_length = length;
    return data;
}

static void round_trip(const struct envelope *envelope)
{
    struct envelope actual;
    size_t length = 0;
    uint8_t *data = pack(envelope, &length);
    assert_int_equal(envelope_unpack(&actual, data, length), LULL_OK);
    assert_same(&actual, envelope);
    assert_true(*envelope->url == '\0' || (const uint8_t *)actual.url > data); /* no copy */
    free(data);
}

static void test_Q4_round_trip(void **state)
{
    (void)state;
    round_trip(&push);
    round_trip(&webhook);
    round_trip(&nothing);
}

static void test_Q4_most_headers_and_long_texts(void **state)
{
    (void)state;
    static char text[70000];
    struct envelope envelope = nothing;
    memset(text, 'a', sizeof text - 1);
    envelope.url = text;
    envelope.header_count = ENVELOPE_HEADERS_MAX;
    for (size_t i = 0; i < ENVELOPE_HEADERS_MAX; i++) {
        envelope.headers[i] = (struct lull_header)HEADER("x-header", "value");
    }
    round_trip(&envelope);
}

/* The bytes are the same on every machine, and stay so: they are on disks. */
static void test_Q4_the_form_is_fixed(void **state)
{
    (void)state;
    static const char expected[] = "\x01\x02\x07\0\0\0\0\0\0\0"
                                   "u\0m\0\0\0\0\0p\0\0\0\0\0"
                                   "a\0b\0c\0\0";
    struct envelope envelope = nothing;
    size_t length = 0;
    envelope.url = "u";
    envelope.method = "m";
    envelope.policy = "p";
    envelope.received_ms = 7;
    envelope.header_count = 2;
    envelope.headers[0] = (struct lull_header)HEADER("a", "b");
    envelope.headers[1] = (struct lull_header)HEADER("c", "");
    uint8_t *data = pack(&envelope, &length);
    assert_int_equal(length, sizeof expected - 1 + 4);
    assert_memory_equal(data, expected, sizeof expected - 1);
    assert_int_equal(packed_read(data + length - 4, 4), 0xb7261cef);
    free(data);
}

/* Any change of a bit, and any cut, is refused, and touches nothing. */
static void test_Q4_damage(void **state)
{
    (void)state;
    struct envelope actual;
    struct envelope untouched;
    size_t length = 0;
    uint8_t *data = pack(&webhook, &length);
    memset(&actual, 0xa5, sizeof actual);
    memset(&untouched, 0xa5, sizeof untouched);
    for (size_t i = 0; i < length; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            data[i] ^= (uint8_t)(1U << bit);
            assert_int_equal(envelope_unpack(&actual, data, length), LULL_ERR_SYNTAX);
            data[i] ^= (uint8_t)(1U << bit);
        }
    }
    for (size_t cut = 0; cut < length; cut++) {
        uint8_t *exact = malloc(cut + 1);
        assert_non_null(exact);
        memcpy(exact + 1, data, cut);
        assert_int_equal(envelope_unpack(&actual, exact + 1, cut), LULL_ERR_SYNTAX);
        free(exact);
    }
    assert_int_equal(envelope_unpack(&actual, NULL, 0), LULL_ERR_SYNTAX);
    assert_memory_equal(&actual, &untouched, sizeof actual);
    free(data);
}

/* Where the checksum fits, it may still be what this version never wrote. */
static void test_Q4_what_was_never_written(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *data;
        size_t length;
    } cases[] = {
#define CASE(name_, data_) {name_, data_, sizeof(data_) - 1}
#define ELEVEN "\0\0\0\0\0\0\0\0\0\0\0"
        CASE("nothing", ""),
        CASE("a later version", "\x02\0\0\0\0\0\0\0\0\0" ELEVEN),
        CASE("no texts", "\x01\0\0\0\0\0\0\0\0\0"),
        CASE("a text too few", "\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
        CASE("a text without its end", "\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0x"),
        CASE("a text too many", "\x01\0\0\0\0\0\0\0\0\0" ELEVEN "x\0"),
        CASE("a header without a value", "\x01\x01\0\0\0\0\0\0\0\0" ELEVEN "x\0"),
        CASE("too many headers",
             "\x01\x21\0\0\0\0\0\0\0\0" ELEVEN ELEVEN ELEVEN ELEVEN ELEVEN ELEVEN
             "\0\0\0\0\0\0\0\0\0\0\0"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct envelope ignored;
        uint8_t data[256];
        size_t length = cases[i].length;
        memcpy(data, cases[i].data, length);
        packed_write(data + length, packed_checksum(data, length), 4);
        if (envelope_unpack(&ignored, data, length + 4) != LULL_ERR_SYNTAX) {
            fail_msg("%s", cases[i].name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_Q4_round_trip),
        cmocka_unit_test(test_Q4_most_headers_and_long_texts),
        cmocka_unit_test(test_Q4_the_form_is_fixed),
        cmocka_unit_test(test_Q4_damage),
        cmocka_unit_test(test_Q4_what_was_never_written),
    };
    return cmocka_run_group_tests_name("envelope", tests, NULL, NULL);
}
