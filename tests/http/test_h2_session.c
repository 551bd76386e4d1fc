/* h2_session: what a server says after our request, and what becomes of it. */
#include "h2_world.h"

/* ---- one request, and what the server says to it ---- */

enum say { SAY_NOTHING, SAY_HEAD, SAY_MORE, SAY_DATA, SAY_NUMBER, SAY_GOAWAY, SAY_FRAME, SAY_RAW };

struct step {
    enum say say;
    uint8_t type;
    uint8_t flags;
    uint32_t stream; /* or the last id of a GOAWAY */
    uint32_t number;
    const char *text;
};

/* clang-format off */
#define HEAD(flags, text) {SAY_HEAD, NGHTTP2_HEADERS, flags, 1, 0, text}
#define MORE(flags, text) {SAY_MORE, NGHTTP2_CONTINUATION, flags, 1, 0, text}
#define DATA(flags, text) {SAY_DATA, NGHTTP2_DATA, flags, 1, 0, text}
#define RST(code) {SAY_NUMBER, NGHTTP2_RST_STREAM, 0, 1, code, NULL}
#define WINDOW_UPDATE(stream, number) {SAY_NUMBER, NGHTTP2_WINDOW_UPDATE, 0, stream, number, NULL}
#define GOAWAY(last_id, code) {SAY_GOAWAY, NGHTTP2_GOAWAY, 0, last_id, code, NULL}
#define FRAME(type, flags, stream, text) {SAY_FRAME, type, flags, stream, 0, text}
#define RAW(text) {SAY_RAW, 0, 0, 0, 0, text}
/* clang-format on */

static void say(struct bytes *out, const struct step *step)
{
    struct bytes block = {0};
    size_t length = step->text ? strlen(step->text) : 0;
    switch (step->say) {
    case SAY_HEAD:
    case SAY_MORE:
        h2_fields(&block, step->text);
        h2_frame(out, step->type, step->flags, step->stream, block.data, block.length);
        bytes_free(&block);
        break;
    case SAY_DATA:
    case SAY_FRAME:
        h2_frame(out, step->type, step->flags, step->stream, step->text, length);
        break;
    case SAY_NUMBER:
        h2_number_frame(out, step->type, step->stream, step->number);
        break;
    case SAY_GOAWAY:
        h2_goaway(out, step->stream, step->number);
        break;
    case SAY_RAW:
        bytes_add(out, step->text, length);
        break;
    case SAY_NOTHING:
    default:
        break;
    }
}

struct story {
    const char *name;
    struct step steps[4];
    enum h2_end end;
    enum lull_transport failure;
    unsigned status;
    bool is_over; /* and the connection with it */
};

static const struct story stories[] = {
    {"201", {HEAD(BOTH, ":status: 201\nlocation: /m/1")}, ANSWERED(201), false},
    {"200 with a body",
     {HEAD(END_HEADERS, ":status: 200"), DATA(0, "he"), DATA(END_STREAM, "llo")},
     ANSWERED(200),
     false},
    {"999", {HEAD(BOTH, ":status: 999")}, ANSWERED(999), false},
    {"100, then 201",
     {HEAD(END_HEADERS, ":status: 100"), HEAD(BOTH, ":status: 201")},
     ANSWERED(201),
     false},
    {"103 with a link, then 503",
     {HEAD(END_HEADERS, ":status: 103\nlink: </a>"), HEAD(BOTH, ":status: 503\nretry-after: 1")},
     ANSWERED(503),
     false},
    {"trailers",
     {HEAD(END_HEADERS, ":status: 200"), DATA(0, "hello"), HEAD(BOTH, "retry-after: 9")},
     ANSWERED(200),
     false},
    {"trailers with a status",
     {HEAD(END_HEADERS, ":status: 200"), DATA(0, "hello"), HEAD(BOTH, ":status: 503")},
     ANSWERED(200),
     false},
    {"trailers that do not end it",
     {HEAD(END_HEADERS, ":status: 200"), DATA(0, "hello"), HEAD(END_HEADERS, "a: b")},
     ANSWERED(200),
     false},
    {"a head in two frames",
     {HEAD(END_STREAM, ":status: 201"), MORE(END_HEADERS, "a: b")},
     ANSWERED(201),
     false},
    {"frames of no concern in between",
     {FRAME(NGHTTP2_PING, 0, 0, "12345678"), WINDOW_UPDATE(0, 1), FRAME(0xbe, 0xff, 1, "what"),
      HEAD(BOTH, ":status: 201")},
     ANSWERED(201),
     false},

    {"refused", {RST(NGHTTP2_REFUSED_STREAM)}, FAILED(REFUSED_STREAM), false},
    {"cancelled", {RST(NGHTTP2_CANCEL)}, FAILED(RESET), false},
    {"internal error", {RST(NGHTTP2_INTERNAL_ERROR)}, FAILED(RESET), false},
    {"calm", {RST(NGHTTP2_ENHANCE_YOUR_CALM)}, FAILED(RESET), false},
    {"HTTP/1.1", {RST(NGHTTP2_HTTP_1_1_REQUIRED)}, FAILED(REFUSED_STREAM), false},
    {"reset without a word", {RST(NGHTTP2_NO_ERROR)}, FAILED(RESET), false},
    {"reset with a reproach", {RST(NGHTTP2_PROTOCOL_ERROR)}, FAILED(RESET), false},
    {"reset with a code of its own", {RST(0xfeedbeef)}, FAILED(RESET), false},
    {"reset after a 1xx",
     {HEAD(END_HEADERS, ":status: 100"), RST(NGHTTP2_CANCEL)},
     FAILED(RESET),
     false},

    {"status, refused",
     {HEAD(END_HEADERS, ":status: 503"), RST(NGHTTP2_REFUSED_STREAM)},
     ANSWERED(503),
     false},
    {"status, cancelled",
     {HEAD(END_HEADERS, ":status: 201"), RST(NGHTTP2_CANCEL)},
     ANSWERED(201),
     false},
    {"status, internal error",
     {HEAD(END_HEADERS, ":status: 201"), RST(NGHTTP2_INTERNAL_ERROR)},
     ANSWERED(201),
     false},
    {"status, calm",
     {HEAD(END_HEADERS, ":status: 429"), RST(NGHTTP2_ENHANCE_YOUR_CALM)},
     ANSWERED(429),
     false},
    {"status, HTTP/1.1",
     {HEAD(END_HEADERS, ":status: 400"), RST(NGHTTP2_HTTP_1_1_REQUIRED)},
     ANSWERED(400),
     false},
    {"status, reset without a word",
     {HEAD(END_HEADERS, ":status: 413"), RST(NGHTTP2_NO_ERROR)},
     ANSWERED(413),
     false},

    {"goaway, none processed",
     {GOAWAY(0, NGHTTP2_NO_ERROR)},
     H2_GOAWAY,
     LULL_TRANSPORT_GOAWAY,
     0,
     true},
    {"goaway, ours is processed",
     {GOAWAY(1, NGHTTP2_NO_ERROR), HEAD(BOTH, ":status: 201")},
     ANSWERED(201),
     true},
    {"goaway in grace, then the answer",
     {GOAWAY(GRACEFUL, NGHTTP2_NO_ERROR), HEAD(BOTH, ":status: 201")},
     ANSWERED(201),
     true},
    {"goaway in grace, then for good",
     {GOAWAY(GRACEFUL, NGHTTP2_NO_ERROR), GOAWAY(0, NGHTTP2_NO_ERROR)},
     H2_GOAWAY,
     LULL_TRANSPORT_GOAWAY,
     0,
     true},
    {"status, then a goaway that leaves it out",
     {HEAD(END_HEADERS, ":status: 201"), GOAWAY(0, NGHTTP2_NO_ERROR)},
     ANSWERED(201),
     true},
    {"a goaway that takes back what the last one said",
     {GOAWAY(1, NGHTTP2_NO_ERROR), GOAWAY(GRACEFUL, NGHTTP2_NO_ERROR)},
     FAILED(PROTOCOL),
     true},
    /* It may have been processed: whoever says "goaway" of it sends it twice. */
    {"goaway in grace, then nonsense",
     {GOAWAY(GRACEFUL, NGHTTP2_NO_ERROR), FRAME(NGHTTP2_DATA, 0, 0, "x")},
     FAILED(PROTOCOL),
     true},

    {"a body shorter than was said",
     {HEAD(END_HEADERS, ":status: 201\ncontent-length: 5"), DATA(END_STREAM, "abc")},
     ANSWERED(201),
     false},
    {"a body longer than was said",
     {HEAD(END_HEADERS, ":status: 201\ncontent-length: 2"), DATA(END_STREAM, "abc")},
     ANSWERED(201),
     false},
    {"no body where one was said",
     {HEAD(BOTH, ":status: 201\ncontent-length: 5")},
     ANSWERED(201),
     false},

    {"no status", {HEAD(BOTH, "a: b")}, FAILED(PROTOCOL), false},
    {"two", {HEAD(BOTH, ":status: 201\n:status: 201")}, FAILED(PROTOCOL), false},
    {"one too late", {HEAD(BOTH, "a: b\n:status: 201")}, FAILED(PROTOCOL), false},
    {"one of letters", {HEAD(BOTH, ":status: abc")}, FAILED(PROTOCOL), false},
    {"one too short", {HEAD(BOTH, ":status: 20")}, FAILED(PROTOCOL), false},
    {"one too long", {HEAD(BOTH, ":status: 2010")}, FAILED(PROTOCOL), false},
    {"101", {HEAD(BOTH, ":status: 101")}, FAILED(PROTOCOL), false},
    {"099", {HEAD(BOTH, ":status: 099")}, FAILED(PROTOCOL), false},
    {"000 with a body",
     {HEAD(END_HEADERS, ":status: 000"), DATA(END_STREAM, "hello")},
     FAILED(PROTOCOL),
     false},
    {"042 with more of a body than is wanted",
     {HEAD(END_HEADERS, ":status: 042"), DATA(0, "hello, hello, hello")},
     FAILED(PROTOCOL),
     false},
    {"042, then 201",
     {HEAD(END_HEADERS, ":status: 042"), HEAD(BOTH, ":status: 201")},
     FAILED(PROTOCOL),
     false},
    {"1xx, and that was it", {HEAD(BOTH, ":status: 100")}, FAILED(PROTOCOL), false},
    {"1xx with a body",
     {HEAD(END_HEADERS, ":status: 100"), DATA(END_STREAM, "x")},
     FAILED(PROTOCOL),
     false},
    {"a name in capitals", {HEAD(BOTH, ":status: 201\nAbc: d")}, FAILED(PROTOCOL), false},
    {"a name of the connection",
     {HEAD(BOTH, ":status: 201\nconnection: close")},
     FAILED(PROTOCOL),
     false},
    {"a name that is none", {HEAD(BOTH, ":status: 201\na(b: c")}, FAILED(PROTOCOL), false},
    {"window of nothing", {WINDOW_UPDATE(1, 0)}, FAILED(PROTOCOL), true},
    {"window without end", {WINDOW_UPDATE(1, INT32_MAX)}, FAILED(RESET), false},

    {"HTTP/1.1 in words", {RAW("HTTP/1.1 400 Bad Request\r\n\r\n")}, FAILED(PROTOCOL), true},
    {"a body without a head", {DATA(END_STREAM, "hello")}, FAILED(PROTOCOL), true},
    {"data of the connection", {FRAME(NGHTTP2_DATA, 0, 0, "x")}, FAILED(PROTOCOL), true},
    {"data of a stream that never was", {FRAME(NGHTTP2_DATA, 0, 7, "x")}, FAILED(PROTOCOL), true},
    {"a promise, which we forbade",
     {FRAME(NGHTTP2_PUSH_PROMISE, END_HEADERS, 1, "\x01\x01\x01\x02\x88")},
     FAILED(PROTOCOL),
     true},
    {"a short ping", {FRAME(NGHTTP2_PING, 0, 0, "1234")}, FAILED(PROTOCOL), true},
    {"settings of a stream", {FRAME(NGHTTP2_SETTINGS, 0, 1, NULL)}, FAILED(PROTOCOL), true},
    {"a head that is interrupted",
     {HEAD(0, ":status: 201"), FRAME(NGHTTP2_PING, 0, 0, "12345678")},
     FAILED(PROTOCOL),
     true},
    {"more of a head that was none", {MORE(END_HEADERS, "a: b")}, FAILED(PROTOCOL), true},
    {"a head that cannot be unpacked",
     {FRAME(NGHTTP2_HEADERS, BOTH, 1, "\xff\xff\xff\xff\xff\xff")},
     FAILED(PROTOCOL),
     true},
    {"status, then nonsense",
     {HEAD(END_HEADERS, ":status: 201"), RAW("nonsense, nonsense")},
     ANSWERED(201),
     true},
};

/* 0, or 1 and what was otherwise: all stories are told before the test fails. */
static int run(const struct story *story, size_t piece_size)
{
    struct world world;
    world_open_ready(&world);
    world.piece_size = piece_size;
    struct probe *probe =
        world_ask(&world, &(struct question){.body_length = 5, .response_max = 8});
    world_settle(&world);
    for (size_t i = 0; i < COUNT(story->steps); i++) {
        struct bytes out = {0};
        say(&out, &story->steps[i]);
        world_hear(&world, &out);
    }
    world_settle(&world);
    bool is_over = !world.is_good || h2_session_is_done(world.session);
    world_close_if_over(&world);
    bool is_good =
        is_end(probe, story->end, story->failure, story->status) && is_over == story->is_over;
    if (!is_good) {
        print_error("%s, in pieces of %zu: %d times, end %d, %s, status %u, over %d\n", story->name,
                    piece_size, probe->ends, (int)probe->end,
                    lull_transport_to_string(probe->failure), probe->status, is_over);
    }
    world_close(&world);
    return !is_good;
}

static void test_stories(void **state)
{
    (void)state;
    int failures = 0;
    for (size_t i = 0; i < COUNT(stories); i++) {
        for (size_t piece_size = 0; piece_size < 12; piece_size++) {
            /* nghttp2 allows 8 CONTINUATION frames, and counts each read of such a frame's head. */
            if (piece_size != 1 || stories[i].steps[1].say != SAY_MORE) {
                failures += run(&stories[i], piece_size);
            }
        }
    }
    assert_int_equal(failures, 0);
}

/* ---- what is kept of an answer ---- */

static void test_body_and_trailers(void **state)
{
    (void)state;
    struct world world;
    world_open_ready(&world);
    struct probe *probe = world_ask(&world, &(struct question){.body_length = 5});
    world_settle(&world);
    world.now_ms = 1234;
    world_hear_head(&world, 1, END_HEADERS, ":status: 200\na: b\nc: d");
    check_pending(probe);
    world.now_ms = 2345;
    world_hear_data(&world, 1, 0, 3);
    world_hear_head(&world, 1, BOTH, "retry-after: 9");
    check_end(probe, ANSWERED(200));
    assert_int_equal(probe->header_count, 2);
    assert_string_equal(probe->body, "ddd");
    assert_true(probe->is_body_complete);
    assert_int_equal(probe->sent_ms, 1000);
    assert_int_equal(probe->answered_ms, 1234);
    world_close(&world);
}

static void test_many_1xx(void **state)
{
    (void)state;
    struct world world;
    world_open_ready(&world);
    struct probe *probe = world_ask(&world, &(struct question){0});
    world_settle(&world);
    for (int i = 0; i < 1000; i++) {
        world_hear_head(&world, 1, END_HEADERS, ":status: 103\nlink: </style.css>");
    }
    check_pending(probe);
    assert_int_equal(probe->request->response.header_count, 0);
    world_hear_head(&world, 1, BOTH, ":status: 201\na: b");
    check_end(probe, ANSWERED(201));
    assert_int_equal(probe->header_count, 1);

    /* Without end: past 1 MiB it is stopped, and the connection goes on. */
    struct probe *other = world_ask(&world, &(struct question){0});
    world_settle(&world);
    for (int i = 0; i < 30000 && other->ends == 0; i++) {
        world_hear_head(&world, 3, END_HEADERS, ":status: 103\nlink: </style.css>");
        world_settle(&world);
    }
    check_end(other, FAILED(RESET));
    struct probe *third = world_ask(&world, &(struct question){0});
    world_settle(&world);
    world_hear_head(&world, 5, BOTH, ":status: 201");
    check_end(third, ANSWERED(201));
    world_close(&world);
}

static void test_body_over_the_limit(void **state)
{
    (void)state;
    static const struct {
        size_t body_length;
        size_t kept;
        bool is_cut;
    } cases[] = {{99, 99, false}, {100, 100, false}, {101, 100, true}, {5000, 100, true}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct world world;
        struct h2_said said;
        world_open_ready(&world);
        struct probe *probe = world_ask(&world, &(struct question){.response_max = 100});
        world_settle(&world);
        world_hear_head(&world, 1, END_HEADERS, ":status: 500");
        world_hear_data(&world, 1, 0, cases[i].body_length);
        if (!cases[i].is_cut) {
            check_pending(probe);
            world_hear_data(&world, 1, END_STREAM, 0);
        }
        check_end(probe, ANSWERED(500));
        assert_int_equal(probe->body_length, cases[i].kept);
        assert_int_equal(probe->is_body_cut, cases[i].is_cut);
        assert_int_equal(probe->is_body_complete, !cases[i].is_cut);
        world_settle(&world);
        assert_int_equal(world_find(&world, NGHTTP2_RST_STREAM, 1, &said), cases[i].is_cut);
        world_close(&world);
    }
}

/* The peer's window comes back, though the body is dropped: else all streams would stall. */
static void test_window_comes_back(void **state)
{
    (void)state;
    struct world world;
    struct h2_said said;
    uint64_t given = WINDOW;
    world_open_ready(&world);
    while (h2_listener_next(&world.listener, &said)) {
    }
    for (int i = 0; i < 40; i++) {
        uint32_t stream = 2 * (uint32_t)i + 1;
        struct probe *probe = world_ask(&world, &(struct question){.response_max = 10});
        world_settle(&world);
        world_hear_head(&world, stream, END_HEADERS, ":status: 500");
        for (int j = 0; j < 3; j++) { /* two of them after the stream was stopped */
            world_hear_data(&world, stream, 0, 10000);
            assert_true(given >= 10000);
            given -= 10000;
        }
        check_end(probe, ANSWERED(500));
        world_settle(&world);
        while (h2_listener_next(&world.listener, &said)) {
            if (said.type == NGHTTP2_WINDOW_UPDATE && said.stream == 0) {
                given += (uint64_t)said.payload[0] << 24 | (uint64_t)said.payload[1] << 16 |
                         (uint64_t)said.payload[2] << 8 | said.payload[3];
            }
        }
    }
    world_close(&world);
}

/* ---- heads without end ---- */

static void add_bomb(struct bytes *out, uint32_t stream, const char *status)
{
    char value[3001];
    struct bytes block = {0};
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = '\0';
    if (status) {
        h2_field(&block, ":status", status);
    }
    h2_remember(&block, "x", value);
    for (int i = 0; i < 1000; i++) {
        h2_indexed(&block, 62);
    }
    h2_frame(out, NGHTTP2_HEADERS, END_HEADERS, stream, block.data, block.length);
    bytes_free(&block);
}

static void test_header_bomb(void **state)
{
    (void)state;
    struct world world;
    struct bytes out = {0};
    struct h2_said said;
    world_open_ready(&world);
    struct probe *before = world_ask(&world, &(struct question){.body_length = 5});
    struct probe *bombed = world_ask(&world, &(struct question){.body_length = 5});
    struct probe *unsaid = world_ask(&world, &(struct question){.body_length = 5});
    struct probe *after = world_ask(&world, &(struct question){.body_length = 5});
    world_settle(&world);
    world_hear_head(&world, 1, END_HEADERS, ":status: 200\na: b");
    add_bomb(&out, 3, "503");
    add_bomb(&out, 5, NULL);
    world_hear(&world, &out);
    world_settle(&world);
    assert_true(world.is_good);
    check_end(bombed, ANSWERED(503));
    assert_true(bombed->header_count <= 65536 / 3000);
    assert_false(bombed->is_body_complete);
    assert_true(world_find(&world, NGHTTP2_RST_STREAM, 3, &said));
    check_end(unsaid, FAILED(RESET)); /* by us */
    world_hear_data(&world, 1, END_STREAM, 3);
    check_end(before, ANSWERED(200));
    assert_int_equal(before->header_count, 1);
    world_hear_head(&world, 7, BOTH, ":status: 201\na: b");
    check_end(after, ANSWERED(201));
    world_close(&world);
}

static void test_more_headers_than_are_kept(void **state)
{
    (void)state;
    struct world world;
    struct bytes block = {0};
    struct bytes out = {0};
    world_open_ready(&world);
    struct probe *probe = world_ask(&world, &(struct question){0});
    world_settle(&world);
    h2_field(&block, ":status", "201");
    for (int i = 0; i < RESPONSE_HEADERS_MAX + 50; i++) {
        h2_field(&block, "a", "b");
    }
    h2_frame(&out, NGHTTP2_HEADERS, BOTH, 1, block.data, block.length);
    bytes_free(&block);
    world_hear(&world, &out);
    check_end(probe, ANSWERED(201));
    assert_int_equal(probe->header_count, RESPONSE_HEADERS_MAX);
    world_close(&world);
}

/* What a first connection left behind is not part of what the next one answers. */
static void test_second_connection_begins_anew(void **state)
{
    (void)state;
    struct world first;
    struct world second;
    struct bytes out = {0};
    world_open_ready(&first);
    world_open_ready(&second);
    struct probe *probe = world_ask(&first, &(struct question){0});
    world_settle(&first);
    world_hear_head(&first, 1, BOTH, ":status: 503\nretry-after: 7\nCAPITAL: x");
    check_pending(probe); /* our RST_STREAM is not out yet */
    struct transport_request *request = probe->request;
    assert_true(h2_session_abandon(first.session, request));
    assert_int_equal(h2_session_submit(second.session, request), LULL_OK);
    world_settle(&second);
    world_hear_head(&second, 1, BOTH, ":status: 201\na: b");
    check_end(probe, ANSWERED(201));
    assert_int_equal(probe->header_count, 1);
    h2_goaway(&out, 0, NGHTTP2_NO_ERROR);
    world_hear(&first, &out);
    world_settle(&first);
    world_close(&first);
    world_close(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stories),
        cmocka_unit_test(test_body_and_trailers),
        cmocka_unit_test(test_many_1xx),
        cmocka_unit_test(test_body_over_the_limit),
        cmocka_unit_test(test_window_comes_back),
        cmocka_unit_test(test_header_bomb),
        cmocka_unit_test(test_more_headers_than_are_kept),
        cmocka_unit_test(test_second_connection_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
