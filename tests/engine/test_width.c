/* How many of a service are in flight: found from how long they queue for a connection. */
#include "suite.h"

#include "width.h"

static void test_it_doubles_with_each_round_that_goes_out_at_once(void **state)
{
    (void)state;
    struct width width;
    width_init(&width, 16, 1000);
    for (int i = 0; i < 16 + 32 + 64; i++) {
        width_on_queued(&width, 0, width.now);
    }
    assert_int_equal(width.now, 128);
    for (int i = 0; i < 5000; i++) {
        width_on_queued(&width, 0, width.now);
    }
    assert_int_equal(width.now, 1000);
}

static void test_it_does_not_grow_for_nothing_nor_with_a_queue(void **state)
{
    (void)state;
    struct width width;
    width_init(&width, 16, 1000);
    for (int i = 0; i < 100; i++) {
        width_on_queued(&width, 0, 7); /* less than half of it is used */
        width_on_queued(&width, WIDTH_SHORT_MS, 16);
        width_on_queued(&width, WIDTH_LONG_MS, 16);
    }
    assert_int_equal(width.now, 16);
}

static void test_it_falls_once_a_round_and_keeps_a_few(void **state)
{
    (void)state;
    struct width width;
    width_init(&width, 64, 1000);
    for (int i = 0; i < 63; i++) {
        width_on_queued(&width, WIDTH_LONG_MS + 1, 64);
        assert_int_equal(width.now, 64);
    }
    width_on_queued(&width, WIDTH_LONG_MS + 1, 64);
    assert_int_equal(width.now, 48);
    for (int i = 0; i < 1000; i++) {
        width_on_queued(&width, 100000, 4);
    }
    assert_int_equal(width.now, WIDTH_MIN);
    width_init(&width, 16, 3); /* fewer than a few are allowed */
    for (int i = 0; i < 1000; i++) {
        width_on_queued(&width, 100000, 3);
    }
    assert_int_equal(width.now, 3);
}

/* Connections that take so many at once, for so long each: in the end there is a short queue, or
 * none, and the connections are busy. */
static void test_it_settles_where_the_connections_are_busy(void **state)
{
    (void)state;
    static const struct {
        uint32_t slots;
        int64_t round_ms;
    } cases[] = {{4, 10}, {4, 1000}, {400, 50}, {400, 5}, {1, 100}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct width width;
        width_init(&width, 16, 2000);
        for (int step = 0; step < 20000; step++) {
            uint32_t queue = width.now > cases[i].slots ? width.now - cases[i].slots : 0;
            width_on_queued(&width, (int64_t)queue * cases[i].round_ms / cases[i].slots, width.now);
        }
        uint32_t longest = (uint32_t)(cases[i].slots * WIDTH_LONG_MS / cases[i].round_ms);
        assert_true(width.now >= (cases[i].slots < WIDTH_MIN ? cases[i].slots : WIDTH_MIN));
        assert_true(width.now >= cases[i].slots || width.now == WIDTH_MIN);
        assert_true(width.now <= cases[i].slots + longest + WIDTH_MIN);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_doubles_with_each_round_that_goes_out_at_once),
        cmocka_unit_test(test_it_does_not_grow_for_nothing_nor_with_a_queue),
        cmocka_unit_test(test_it_falls_once_a_round_and_keeps_a_few),
        cmocka_unit_test(test_it_settles_where_the_connections_are_busy),
    };
    return cmocka_run_group_tests_name("width", tests, NULL, NULL);
}
