/* The clock that does not step (T4, A3). */
#include "suite.h"

#include "steady.h"

#define START INT64_C(1700000000000)

static void test_it_is_the_wall_clock_while_that_goes_on(void **state)
{
    (void)state;
    struct steady steady;
    steady_init(&steady, START, 500);
    for (int64_t passed = 0; passed < 100000; passed += 7) {
        assert_int_equal(steady_now_ms(&steady, START + passed, 500 + passed), START + passed);
    }
}

static void test_T4_A3_a_step_ahead_makes_no_wait_shorter(void **state)
{
    (void)state;
    struct steady steady;
    steady_init(&steady, START, 0);
    for (int64_t passed = 1; passed <= 60000; passed++) { /* an hour ahead, and a minute goes by */
        int64_t now_ms = steady_now_ms(&steady, START + LULL_HOURS(1) + passed, passed);
        assert_in_range(now_ms, START + passed, START + passed + 30);
    }
    assert_int_equal(steady.now_ms, START + 60030); /* and it is followed */
}

static void test_T4_a_step_back_is_followed_without_going_back(void **state)
{
    (void)state;
    struct steady steady;
    int64_t last_ms = START;
    int64_t passed = 0;
    steady_init(&steady, START, 0);
    while (last_ms != START - 10000 + passed) { /* ten seconds back */
        assert_true(passed < 110000);
        passed += 3;
        int64_t now_ms = steady_now_ms(&steady, START - 10000 + passed, passed);
        assert_true(now_ms >= last_ms);
        last_ms = now_ms;
    }
    assert_in_range(passed, 99000, 101000); /* a tenth of that time is ten seconds */
}

static void test_random_steps_never_turn_it_back_nor_make_it_run(void **state)
{
    (void)state;
    struct lull_random random;
    struct steady steady;
    int64_t wall_ms = START;
    int64_t mono_ms = 0;
    lull_random_init(&random, test_seed("steady"));
    steady_init(&steady, wall_ms, mono_ms);
    for (int i = 0; i < 200000; i++) {
        int64_t passed_ms = lull_random_between(&random, 0, 50);
        int64_t before_ms = steady.now_ms;
        mono_ms += passed_ms;
        wall_ms += passed_ms;
        if (lull_random_between(&random, 0, 999) == 0) {
            wall_ms += lull_random_between(&random, -LULL_HOURS(2), LULL_HOURS(2));
        }
        int64_t now_ms = steady_now_ms(&steady, wall_ms, mono_ms);
        assert_true(now_ms >= before_ms);
        assert_true(now_ms - START <= mono_ms + mono_ms / 2000 + 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_the_wall_clock_while_that_goes_on),
        cmocka_unit_test(test_T4_A3_a_step_ahead_makes_no_wait_shorter),
        cmocka_unit_test(test_T4_a_step_back_is_followed_without_going_back),
        cmocka_unit_test(test_random_steps_never_turn_it_back_nor_make_it_run),
    };
    return cmocka_run_group_tests_name("steady", tests, NULL, NULL);
}
