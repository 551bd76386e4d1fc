/* B6: one generator that a test can seed. */
#include "suite.h"

static void test_B6_same_seed_same_sequence(void **state)
{
    (void)state;
    struct lull_random a;
    struct lull_random b;
    struct lull_random c;
    lull_random_init(&a, 42);
    lull_random_init(&b, 42);
    lull_random_init(&c, 43);
    int differing = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t next = lull_random_next(&a);
        assert_true(next == lull_random_next(&b));
        differing += next != lull_random_next(&c);
    }
    assert_int_equal(differing, 1000);
}

static void test_B6_bounds_are_reached_and_kept(void **state)
{
    (void)state;
    struct lull_random random;
    int hits[3] = {0};
    lull_random_init(&random, test_seed("bounds"));
    for (int i = 0; i < 10000; i++) {
        int64_t drawn = lull_random_between(&random, -1, 1);
        assert_in_range(drawn + 1, 0, 2);
        hits[drawn + 1]++;
    }
    assert_true(hits[0] > 3000 && hits[1] > 3000 && hits[2] > 3000);
    assert_int_equal(lull_random_between(&random, 7, 7), 7);
    bool has_negative = false;
    bool has_positive = false;
    for (int i = 0; i < 100; i++) {
        int64_t drawn = lull_random_between(&random, INT64_MIN, INT64_MAX);
        has_negative = has_negative || drawn < 0;
        has_positive = has_positive || drawn > 0;
    }
    assert_true(has_negative && has_positive);
}

/* A span just over half of 2^64: a generator that took a remainder would favour the low half. */
static void test_B6_no_bias(void **state)
{
    (void)state;
    struct lull_random random;
    int64_t max = INT64_MAX / 4 * 3;
    int low = 0;
    lull_random_init(&random, test_seed("no_bias"));
    for (int i = 0; i < 100000; i++) {
        low += lull_random_between(&random, -max, max) < 0;
    }
    assert_in_range(low, 49000, 51000);
}

static void test_B6_seeds_of_the_system_differ(void **state)
{
    (void)state;
    assert_true(lull_os_seed() != lull_os_seed());
}

static void test_os_clocks(void **state)
{
    (void)state;
    int64_t mono_ms = lull_os_mono_ms();
    assert_true(lull_os_mono_ms() >= mono_ms);
    assert_true(lull_os_now_ms() > INT64_C(1700000000000)); /* after 2023 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_B6_same_seed_same_sequence),
        cmocka_unit_test(test_B6_bounds_are_reached_and_kept),
        cmocka_unit_test(test_B6_no_bias),
        cmocka_unit_test(test_B6_seeds_of_the_system_differ),
        cmocka_unit_test(test_os_clocks),
    };
    return cmocka_run_group_tests_name("random", tests, NULL, NULL);
}
