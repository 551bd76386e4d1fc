/* window: counts in, counts out, and what leaves when. */
#include "suite.h"

static void test_counts_leave_with_their_slot(void **state)
{
    (void)state;
    struct lull_window window;
    assert_int_equal(lull_window_init(&window, 60000, 0), LULL_OK);
    lull_window_add(&window, 0, 0, 5);
    lull_window_add(&window, 30000, 0, 7);
    lull_window_add(&window, 30000, 1, 1);
    assert_int_equal(lull_window_over(&window, 59999, 0), 12);
    assert_int_equal(lull_window_over(&window, 60000, 0), 12); /* the slot is half in ... */
    assert_int_equal(lull_window_under(&window, 60000, 0), 7); /* ... and half out */
    assert_int_equal(lull_window_over(&window, 61200, 0), 7);
    assert_int_equal(lull_window_over(&window, 61200, 1), 1);
    assert_int_equal(lull_window_over(&window, 200000, 0), 0);
}

static void test_a_clock_that_steps_back_is_held(void **state)
{
    (void)state;
    struct lull_window window;
    assert_int_equal(lull_window_init(&window, 60000, 100000), LULL_OK);
    lull_window_add(&window, 100000, 0, 1);
    lull_window_add(&window, 5000, 0, 1);
    assert_int_equal(lull_window_over(&window, 5000, 0), 2);
    assert_int_equal(lull_window_over(&window, INT64_MIN / 2, 0), 2);
}

static void test_times_below_zero(void **state)
{
    (void)state;
    struct lull_window window;
    assert_int_equal(lull_window_init(&window, 60000, -90000), LULL_OK);
    lull_window_add(&window, -90000, 0, 3);
    assert_int_equal(lull_window_over(&window, -40000, 0), 3);
    assert_int_equal(lull_window_over(&window, 0, 0), 0);
}

static void test_a_slot_saturates(void **state)
{
    (void)state;
    struct lull_window window;
    assert_int_equal(lull_window_init(&window, 60000, 0), LULL_OK);
    lull_window_add(&window, 0, 2, UINT32_MAX);
    lull_window_add(&window, 0, 2, 10);
    assert_int_equal(lull_window_over(&window, 0, 2), UINT32_MAX);
    assert_int_equal(lull_window_over(&window, 100000, 2), 0);
}

static void test_bad_spans(void **state)
{
    (void)state;
    struct lull_window window;
    assert_int_equal(lull_window_init(&window, 0, 0), LULL_ERR_RANGE);
    assert_int_equal(lull_window_init(&window, -60000, 0), LULL_ERR_RANGE);
    assert_int_equal(lull_window_init(&window, 60001, 0), LULL_ERR_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts_leave_with_their_slot),
        cmocka_unit_test(test_a_clock_that_steps_back_is_held),
        cmocka_unit_test(test_times_below_zero),
        cmocka_unit_test(test_a_slot_saturates),
        cmocka_unit_test(test_bad_spans),
    };
    return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
