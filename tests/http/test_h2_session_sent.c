/* h2_session: what we say to the server, frame by frame and header by header. */
#include "h2_world.h"

static void test_drain_in_small_rooms(void **state)
{
    (void)state;
    static const size_t sizes[] = {H2_DRAIN_MIN, H2_DRAIN_MIN + 1, 20000, 100000};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct world world;
        struct bytes out = {0};
        struct h2_said said;
        size_t received[PROBES_MAX] = {0};
        bool is_ended[PROBES_MAX] = {false};
        size_t count = 40;
        world_open_ready(&world);
        world.drain_size = sizes[i];
        h2_number_frame(&out, NGHTTP2_WINDOW_UPDATE, 0, 100 * WINDOW);
        world_hear(&world, &out);
        for (size_t j = 0; j < count; j++) {
            (void)world_ask(&world, &(struct question){.body_length = j * 1000});
        }
        world_settle(&world);
        while (h2_listener_next(&world.listener, &said)) {
            if (said.type == NGHTTP2_DATA) {
                assert_true(said.length <= H2_DRAIN_MIN / 2);
                received[said.stream / 2] += said.length;
                for (size_t k = 0; k < said.length; k++) {
                    assert_int_equal(said.payload[k], 'b');
                }
            }
            if (said.stream > 0 && said.flags & END_STREAM) {
                is_ended[said.stream / 2] = true;
            }
        }
        for (size_t j = 0; j < count; j++) {
            assert_int_equal(received[j], j * 1000);
            assert_true(is_ended[j]);
            world_hear_head(&world, 2 * (uint32_t)j + 1, BOTH, ":status: 201");
            check_end(&world.probes[j], ANSWERED(201));
        }
        world_settle(&world);
        assert_false(world_find(&world, NGHTTP2_RST_STREAM, 1, &said)); /* all was in order */
        world_close(&world);
    }
}

/* A record that is nearly full is filled with what fits, and the rest goes into the next. */
static void test_drain_into_what_is_left(void **state)
{
    (void)state;
    for (size_t left = 1; left < H2_DRAIN_MIN / 2 + 100; left += left < 200 ? 1 : 997) {
        struct world world;
        struct h2_said said;
        size_t received = 0;
        world_open_ready(&world);
        for (int i = 0; i < 3; i++) {
            (void)world_ask(&world, &(struct question){.body_length = 9000});
            world.drain_size = left;
            world_drain(&world);
            world.drain_size = H2_DRAIN_MIN;
        }
        world_settle(&world);
        while (h2_listener_next(&world.listener, &said)) {
            received += said.type == NGHTTP2_DATA ? said.length : 0;
        }
        assert_int_equal(received, 3 * 9000);
        for (uint32_t i = 0; i < 3; i++) {
            world_hear_head(&world, 2 * i + 1, BOTH, ":status: 201");
            check_end(&world.probes[i], ANSWERED(201));
        }
        world_close(&world);
    }
}

static void check_said(const struct h2_said *said, const char *name, const char *value)
{
    const struct h2_said_field *field = h2_said_find(said, name);
    if (!value) {
        assert_null(field);
        return;
    }
    assert_non_null(field);
    assert_string_equal(field->value, value);
}

static void test_requests(void **state)
{
    (void)state;
    static const struct {
        struct question question;
        const char *method;
        const char *authority;
        const char *path;
        const char *content_length;
    } cases[] = {
        {{.body_length = 12345}, "POST", "push.example", "/p", "12345"},
        {{0}, "POST", "push.example", "/p", "0"},
        {{.method = "PUT"}, "PUT", "push.example", "/p", "0"},
        {{.method = "GET"}, "GET", "push.example", "/p", NULL},
        {{.method = "HEAD"}, "HEAD", "push.example", "/p", NULL},
        {{.method = "DELETE"}, "DELETE", "push.example", "/p", NULL},
        {{.method = "DELETE", .body_length = 3}, "DELETE", "push.example", "/p", "3"},
        {{.url = "https://a.example?x=1"}, "POST", "a.example", "/?x=1", "0"},
        {{.url = "https://a.example:8443?"}, "POST", "a.example:8443", "/?", "0"},
        {{.url = "https://a.example"}, "POST", "a.example", "/", "0"},
        {{.url = "https://[::1]:1/a/../b?c#d"}, "POST", "[::1]:1", "/a/../b?c", "0"},
    };
    struct world world;
    world_open_ready(&world);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct h2_said said;
        uint32_t stream = 2 * (uint32_t)i + 1;
        struct probe *probe = world_ask(&world, &cases[i].question);
        world_settle(&world);
        assert_true(world_find(&world, NGHTTP2_HEADERS, stream, &said));
        check_said(&said, ":method", cases[i].method);
        check_said(&said, ":scheme", "https");
        check_said(&said, ":authority", cases[i].authority);
        check_said(&said, ":path", cases[i].path);
        check_said(&said, "content-length", cases[i].content_length);
        bool has_body = cases[i].question.body_length > 0;
        assert_int_equal((said.flags & END_STREAM) != 0, !has_body);
        assert_int_equal(world_find(&world, NGHTTP2_DATA, stream, &said), has_body);
        world_hear_head(&world, stream, BOTH, ":status: 201");
        check_end(probe, ANSWERED(201));
    }
    world_close(&world);
}

static void test_answer_to_head(void **state)
{
    (void)state;
    struct world world;
    world_open_ready(&world);
    struct probe *probe = world_ask(&world, &(struct question){.method = "HEAD"});
    world_settle(&world);
    world_hear_head(&world, 1, BOTH, ":status: 200\ncontent-length: 1234");
    check_end(probe, ANSWERED(200));
    assert_true(probe->is_body_complete);
    world_close(&world);
}

/* clang-format off */
#define HEADER(name, value) {name, sizeof(name) - 1, value, sizeof(value) - 1}
/* clang-format on */

static void test_only_constants_are_indexed(void **state)
{
    (void)state;
    static const struct lull_header headers[] = {
        HEADER("ttl", "2419200"),
        HEADER("urgency", "normal"),
        HEADER("user-agent", "lull/1.0 (+https://example.com)"),
        HEADER("content-type", "application/octet-stream"),
        HEADER("content-encoding", "aes128gcm"),
        HEADER("authorization", "vapid t=eyJ0eXAiOiJKV1QifQ.payload.signature, k=BASE64"),
        HEADER("topic", "upd"),
        HEADER("idempotency-key", "4f5ae0a4"),
        HEADER("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
        HEADER("x-empty", ""),
    };
    const size_t constants = 5;
    struct world world;
    struct h2_said said;
    size_t sizes[3];
    size_t tables[3];
    world_open_ready(&world);
    for (size_t i = 0; i < COUNT(sizes); i++) {
        (void)world_ask(&world, &(struct question){.headers = headers,
                                                   .header_count = COUNT(headers),
                                                   .body_length = 100 + i});
        world_settle(&world);
        assert_true(world_find(&world, NGHTTP2_HEADERS, 2 * (uint32_t)i + 1, &said));
        sizes[i] = said.length;
        tables[i] = h2_listener_table_size(&world.listener);
        for (size_t j = 0; j < COUNT(headers); j++) {
            const struct h2_said_field *field = h2_said_find(&said, headers[j].name);
            assert_non_null(field);
            assert_string_equal(field->value, headers[j].value);
            assert_int_equal(field->is_never_indexed, j >= constants);
        }
        assert_true(h2_said_find(&said, ":path")->is_never_indexed);
    }
    /* The table has :authority and the constants, each with 32 bytes more, and nothing else. */
    size_t expected = strlen(":authority") + strlen("push.example") + 32;
    for (size_t i = 0; i < constants; i++) {
        expected += headers[i].name_length + headers[i].value_length + 32;
    }
    assert_int_equal(tables[0], expected);
    assert_int_equal(tables[1], expected);
    assert_int_equal(tables[2], expected);
    assert_true(sizes[1] + 50 < sizes[0]);
    assert_int_equal(sizes[1], sizes[2]);
    world_close(&world);
}

/* More than one frame, and more than one drain, for the head alone. */
static void test_long_head(void **state)
{
    (void)state;
    struct world world;
    struct h2_said said;
    struct lull_header headers[12];
    char *value = malloc(4000);
    assert_non_null(value);
    memset(value, '\\', 4000); /* 19 bits by Huffman, so it is sent as it is */
    for (size_t i = 0; i < COUNT(headers); i++) {
        headers[i] = (struct lull_header){"x-long", 6, value, 4000};
    }
    world_open_ready(&world);
    struct question question = {
        .headers = headers, .header_count = COUNT(headers), .body_length = 100};
    struct probe *probe = world_ask(&world, &question);
    world_drain(&world);
    h2_session_written(world.session, world.drained);
    assert_true(world_find(&world, NGHTTP2_HEADERS, 1, &said));
    assert_true(world_find(&world, NGHTTP2_CONTINUATION, 1, &said));
    assert_true(world_find(&world, NGHTTP2_DATA, 1, &said));
    assert_int_equal(said.length, 100);
    world_hear_head(&world, 1, BOTH, ":status: 431");
    check_end(probe, ANSWERED(431));

    /* Let go of when half of its head is out. */
    struct probe *second = world_ask(&world, &question);
    (void)world_drain_once(&world);
    assert_true(world_abandon(&world, second));
    world_settle(&world);
    assert_true(world_find(&world, NGHTTP2_RST_STREAM, 3, &said));
    free(value);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drain_in_small_rooms),
        cmocka_unit_test(test_drain_into_what_is_left),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_answer_to_head),
        cmocka_unit_test(test_only_constants_are_indexed),
        cmocka_unit_test(test_long_head),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
