/* h2_session: requests that are many, early, left out, lost or let go of. */
#include "h2_world.h"

/* ---- how many at once ---- */

static void hear_most(struct world *world, uint32_t most)
{
    struct bytes out = {0};
    h2_setting(&out, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, most);
    world_hear(world, &out);
    world_settle(world);
}

static void test_room(void **state)
{
    (void)state;
    struct world world;
    struct h2_said said;
    world_open(&world);
    assert_int_equal(h2_session_room(world.session), 0);
    world_settle(&world); /* our own SETTINGS are no sign of the peer's */
    assert_int_equal(h2_session_room(world.session), 0);
    assert_false(h2_session_state(world.session)->is_ready);
    hear_most(&world, 2);
    assert_true(h2_session_state(world.session)->is_ready);
    assert_int_equal(h2_session_room(world.session), 2);
    struct probe *one = world_ask(&world, &(struct question){0});
    assert_int_equal(h2_session_room(world.session), 1);
    struct probe *two = world_ask(&world, &(struct question){0});
    assert_int_equal(h2_session_room(world.session), 0);
    world_settle(&world);

    hear_most(&world, 3);
    assert_int_equal(h2_session_room(world.session), 1);
    struct probe *three = world_ask(&world, &(struct question){0});
    hear_most(&world, 1); /* before it was drained */
    assert_int_equal(h2_session_room(world.session), 0);
    assert_true(world_find(&world, NGHTTP2_HEADERS, 3, &said));
    assert_false(world_find(&world, NGHTTP2_HEADERS, 5, &said)); /* the peer would refuse it */
    world_hear_head(&world, 1, BOTH, ":status: 201");
    check_end(one, ANSWERED(201));
    world_settle(&world);
    assert_int_equal(h2_session_room(world.session), 0);
    world_hear_head(&world, 3, BOTH, ":status: 202");
    check_end(two, ANSWERED(202));
    world_settle(&world);
    assert_true(world_find(&world, NGHTTP2_HEADERS, 5, &said));
    assert_int_equal(h2_session_room(world.session), 0);
    hear_most(&world, 0);
    world_hear_head(&world, 5, BOTH, ":status: 204");
    check_end(three, ANSWERED(204));
    assert_int_equal(h2_session_room(world.session), 0);
    hear_most(&world, UINT32_MAX);
    assert_true(h2_session_room(world.session) > 1000);
    assert_int_equal(h2_session_state(world.session)->submitted, 3);
    world_close(&world);
}

/* ---- an answer before we have said all ---- */

static void test_early_answer(void **state)
{
    (void)state;
    struct world world;
    struct bytes out = {0};
    struct h2_said said;
    world_open_ready(&world);
    struct probe *probe = world_ask(&world, &(struct question){.body_length = 10 * WINDOW});
    world_settle(&world);
    check_pending(probe);
    world_hear_head(&world, 1, BOTH, ":status: 413");
    check_end(probe, ANSWERED(413)); /* and its body is freed */
    assert_true(probe->is_body_complete);
    h2_number_frame(&out, NGHTTP2_WINDOW_UPDATE, 0, 20 * WINDOW);
    h2_number_frame(&out, NGHTTP2_WINDOW_UPDATE, 1, 20 * WINDOW);
    world_hear(&world, &out);
    world_settle(&world);
    size_t length = 0;
    bool is_reset = false;
    while (h2_listener_next(&world.listener, &said)) {
        assert_false(is_reset && said.stream == 1);
        length += said.type == NGHTTP2_DATA ? said.length : 0;
        if (said.type == NGHTTP2_RST_STREAM) {
            is_reset = true;
            assert_int_equal(said.stream, 1);
            assert_memory_equal(said.payload, "\0\0\0\0", 4);
        }
    }
    assert_true(is_reset);
    assert_int_equal(length, WINDOW);
    assert_true(h2_session_room(world.session) > 0);
    world_close(&world);
}

/* The same while a frame of its body waits for room in our own buffer. */
static void test_early_answer_between_two_drains(void **state)
{
    (void)state;
    for (int drains = 1; drains < 5; drains++) {
        struct world world;
        world_open_ready(&world);
        struct probe *probe = world_ask(&world, &(struct question){.body_length = WINDOW});
        for (int i = 0; i < drains; i++) {
            assert_true(world_drain_once(&world) > 0);
        }
        world_hear_head(&world, 1, BOTH, ":status: 413");
        check_end(probe, ANSWERED(413));
        world_settle(&world);
        struct probe *next = world_ask(&world, &(struct question){.body_length = 5});
        world_settle(&world);
        world_hear_head(&world, 3, BOTH, ":status: 201");
        check_end(next, ANSWERED(201));
        world_close(&world);
    }
}

/* ---- GOAWAY ---- */

static void test_goaway_in_the_middle(void **state)
{
    (void)state;
    struct world world;
    struct bytes out = {0};
    struct probe *probes[6];
    world_open_ready(&world);
    for (size_t i = 0; i < COUNT(probes); i++) {
        probes[i] = world_ask(&world, &(struct question){.body_length = 5});
    }
    world_settle(&world);
    h2_goaway(&out, GRACEFUL, NGHTTP2_NO_ERROR);
    world_hear(&world, &out);
    assert_int_equal(h2_session_room(world.session), 0);
    assert_true(h2_session_state(world.session)->is_draining);
    for (size_t i = 0; i < COUNT(probes); i++) {
        check_pending(probes[i]);
    }
    h2_goaway(&out, 5, NGHTTP2_NO_ERROR);
    world_hear(&world, &out);
    const struct h2_session_state *known = h2_session_state(world.session);
    assert_int_equal(known->goaway_last_id, 5);
    assert_true(known->is_goaway_clean);
    assert_false(h2_session_is_done(world.session));
    assert_int_equal(known->requests, 3);
    for (size_t i = 0; i < COUNT(probes); i++) {
        if (i < 3) {
            check_pending(probes[i]);
            world_hear_head(&world, 2 * (uint32_t)i + 1, BOTH, ":status: 201");
            check_end(probes[i], ANSWERED(201));
        } else {
            check_end(probes[i], H2_GOAWAY, LULL_TRANSPORT_GOAWAY, 0);
        }
    }
    world_settle(&world);
    assert_true(h2_session_is_done(world.session));
    world_close(&world);
}

static void test_goaway_before_anything_is_drained(void **state)
{
    (void)state;
    for (uint32_t last_id = 1; last_id <= GRACEFUL - 2; last_id += GRACEFUL - 3) {
        struct world world;
        struct bytes out = {0};
        struct h2_said said;
        world_open_ready(&world);
        struct probe *sent = world_ask(&world, &(struct question){0});
        world_settle(&world);
        struct probe *unsent = world_ask(&world, &(struct question){.body_length = 5});
        h2_goaway(&out, last_id, NGHTTP2_ENHANCE_YOUR_CALM);
        world_hear(&world, &out);
        world_settle(&world);
        check_end(unsent, H2_NOT_SENT, LULL_TRANSPORT_REFUSED, 0);
        assert_int_equal(unsent->sent_ms, -1);
        assert_false(world_find(&world, NGHTTP2_HEADERS, 3, &said));
        assert_true(h2_session_state(world.session)->is_calm_asked);
        assert_false(h2_session_state(world.session)->is_goaway_clean);
        check_pending(sent);
        world_hear_head(&world, 1, BOTH, ":status: 201");
        check_end(sent, ANSWERED(201));
        world_close(&world);
    }
}

static void test_what_is_asked_for(void **state)
{
    (void)state;
    static const struct {
        uint32_t code;
        bool is_goaway;
        bool is_calm;
        bool is_http_1;
    } cases[] = {
        {NGHTTP2_ENHANCE_YOUR_CALM, false, true, false},
        {NGHTTP2_ENHANCE_YOUR_CALM, true, true, false},
        {NGHTTP2_HTTP_1_1_REQUIRED, false, false, true},
        {NGHTTP2_HTTP_1_1_REQUIRED, true, false, true},
        {NGHTTP2_CANCEL, false, false, false},
        {NGHTTP2_NO_ERROR, true, false, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct world world;
        struct bytes out = {0};
        world_open_ready(&world);
        struct probe *probe = world_ask(&world, &(struct question){0});
        world_settle(&world);
        if (cases[i].is_goaway) {
            h2_goaway(&out, 0, cases[i].code);
        } else {
            h2_number_frame(&out, NGHTTP2_RST_STREAM, 1, cases[i].code);
        }
        world_hear(&world, &out);
        assert_int_equal(probe->ends, 1);
        assert_int_equal(h2_session_state(world.session)->is_calm_asked, cases[i].is_calm);
        assert_int_equal(h2_session_state(world.session)->is_http_1_asked, cases[i].is_http_1);
        world_close(&world);
    }
}

/* ---- the connection is lost ---- */

static void test_connection_lost(void **state)
{
    (void)state;
    struct world world;
    world_open_ready(&world);
    struct probe *answered = world_ask(&world, &(struct question){.body_length = 5});
    struct probe *written = world_ask(&world, &(struct question){.body_length = 5});
    world_settle(&world);
    struct probe *begun = world_ask(&world, &(struct question){.body_length = 5});
    uint64_t before = world.drained;
    world_drain(&world);
    h2_session_written(world.session, before + 1); /* a byte of its head is with the peer */
    struct probe *drained = world_ask(&world, &(struct question){.body_length = 5});
    world_drain(&world);
    struct probe *submitted = world_ask(&world, &(struct question){.body_length = 5});
    world_hear_head(&world, 1, END_HEADERS, ":status: 201");
    h2_session_fail(world.session, LULL_TRANSPORT_RESET, "the peer closed the connection");
    check_end(answered, ANSWERED(201));
    assert_false(answered->is_body_complete);
    check_end(written, FAILED(RESET));
    check_end(begun, FAILED(RESET));
    check_end(drained, H2_NOT_SENT, LULL_TRANSPORT_RESET, 0);
    check_end(submitted, H2_NOT_SENT, LULL_TRANSPORT_RESET, 0);
    world_close(&world);
}

/* Each byte more that was written: never sent and not sent at once, never a gap. */
static void test_written_byte_by_byte(void **state)
{
    (void)state;
    uint64_t total = 1;
    uint64_t start = 0;
    for (uint64_t written = 0; written <= total; written++) {
        struct world world;
        world_open_ready(&world);
        start = world.drained;
        struct probe *probe = world_ask(&world, &(struct question){.body_length = 5});
        world_drain(&world);
        total = world.drained - start;
        h2_session_written(world.session, start + written);
        h2_session_fail(world.session, LULL_TRANSPORT_RESET, "gone");
        if (written == 0) {
            check_end(probe, H2_NOT_SENT, LULL_TRANSPORT_RESET, 0);
        } else {
            check_end(probe, FAILED(RESET));
        }
        world_close(&world);
    }
    assert_true(total > 20);
}

/* ---- letting go ---- */

static void test_abandon(void **state)
{
    (void)state;
    static const size_t lengths[] = {0, 5, 9000, 20000, WINDOW, 3 * WINDOW};
    enum { BEFORE_DRAIN, AFTER_ONE_DRAIN, AFTER_DRAIN, AFTER_WRITTEN, AFTER_HEAD, STAGES };
    for (size_t i = 0; i < COUNT(lengths); i++) {
        for (int stage = BEFORE_DRAIN; stage < STAGES; stage++) {
            struct world world;
            struct bytes out = {0};
            struct h2_said said;
            world_open_ready(&world);
            struct probe *first = world_ask(&world, &(struct question){.body_length = 20});
            struct probe *probe = world_ask(&world, &(struct question){.body_length = lengths[i]});
            struct probe *last = world_ask(&world, &(struct question){.body_length = 20});
            if (stage == AFTER_ONE_DRAIN) {
                (void)world_drain_once(&world);
            } else if (stage == AFTER_DRAIN) {
                world_drain(&world);
            } else if (stage >= AFTER_WRITTEN) {
                world_settle(&world);
            }
            if (stage == AFTER_HEAD) {
                world_hear_head(&world, 3, END_HEADERS, ":status: 200");
            }
            assert_int_equal(world_abandon(&world, probe), stage != BEFORE_DRAIN);
            assert_int_equal(h2_session_state(world.session)->requests, 2);
            world_settle(&world);
            h2_number_frame(&out, NGHTTP2_WINDOW_UPDATE, 0, 5 * WINDOW);
            if (stage != BEFORE_DRAIN) { /* it did not know yet */
                world_hear_head(&world, 3, BOTH, stage == AFTER_HEAD ? "a: b" : ":status: 201");
                h2_number_frame(&out, NGHTTP2_WINDOW_UPDATE, 3, 5 * WINDOW);
            }
            world_hear(&world, &out);
            world_settle(&world);
            world_hear_head(&world, 5, BOTH, ":status: 201");
            world_hear_head(&world, 1, BOTH, ":status: 201");
            check_end(first, ANSWERED(201));
            check_end(last, ANSWERED(201));
            assert_true(world.is_good);
            assert_int_equal(world_find(&world, NGHTTP2_HEADERS, 3, &said), stage != BEFORE_DRAIN);
            if (stage != BEFORE_DRAIN) {
                assert_true(world_find(&world, NGHTTP2_RST_STREAM, 3, &said));
                assert_memory_equal(said.payload, "\0\0\0\x08", 4);
            }
            world_close(&world);
        }
    }
}

/* A session that is destroyed with requests under way does not look at them again. */
static void test_destroy_forgets(void **state)
{
    (void)state;
    for (int stage = 0; stage < 3; stage++) {
        struct world world;
        world_open_ready(&world);
        struct probe *probe = world_ask(&world, &(struct question){.body_length = 3 * WINDOW});
        if (stage == 1) {
            (void)world_drain_once(&world);
        } else if (stage == 2) {
            world_settle(&world);
        }
        h2_session_destroy(world.session);
        check_pending(probe);
        assert_null(probe->request->own.next);
        world_forget(&world, probe);
    }
}

/* ---- floods ---- */

static void test_ping_flood(void **state)
{
    (void)state;
    struct world world;
    world_open_ready(&world);
    struct probe *probe = world_ask(&world, &(struct question){0});
    world_settle(&world);
    uint64_t before = world.drained;
    struct bytes out = {0};
    for (int i = 0; i < 100000; i++) {
        h2_frame(&out, NGHTTP2_PING, 0, 0, "12345678", 8);
    }
    world.piece_size = 16384;
    world_hear(&world, &out); /* and we have no chance to answer */
    assert_false(world.is_good);
    world_settle(&world);
    assert_true(world.drained - before < 100000);
    world_close_if_over(&world);
    check_end(probe, FAILED(PROTOCOL));
    world_close(&world);
}

static void test_ping_is_answered(void **state)
{
    (void)state;
    struct world world;
    struct h2_said said;
    world_open_ready(&world);
    for (int i = 0; i < 5000; i++) {
        struct bytes out = {0};
        h2_frame(&out, NGHTTP2_PING, 0, 0, "12345678", 8);
        world_hear(&world, &out);
        world_settle(&world);
        assert_true(world_find(&world, NGHTTP2_PING, 0, &said));
        assert_int_equal(said.flags, NGHTTP2_FLAG_ACK);
        assert_memory_equal(said.payload, "12345678", 8);
    }
    assert_true(world.is_good);
    h2_session_ping(world.session);
    world_settle(&world);
    assert_true(world_find(&world, NGHTTP2_PING, 0, &said));
    assert_int_equal(said.flags, 0);
    h2_session_goodbye(world.session);
    world_settle(&world);
    assert_true(world_find(&world, NGHTTP2_GOAWAY, 0, &said));
    assert_true(h2_session_is_done(world.session));
    assert_int_equal(h2_session_room(world.session), 0);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room),
        cmocka_unit_test(test_early_answer),
        cmocka_unit_test(test_early_answer_between_two_drains),
        cmocka_unit_test(test_goaway_in_the_middle),
        cmocka_unit_test(test_goaway_before_anything_is_drained),
        cmocka_unit_test(test_what_is_asked_for),
        cmocka_unit_test(test_connection_lost),
        cmocka_unit_test(test_written_byte_by_byte),
        cmocka_unit_test(test_abandon),
        cmocka_unit_test(test_destroy_forgets),
        cmocka_unit_test(test_ping_flood),
        cmocka_unit_test(test_ping_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
