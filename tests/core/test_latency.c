/* latency: percentiles in fixed memory, never too low, at most a quarter too high. */
#include "suite.h"

static void test_empty_knows_nothing(void **state)
{
    (void)state;
    struct lull_latency latency = {0};
    assert_int_equal(lull_latency_percentile(&latency, 950, 0), -1);
    for (int i = 0; i < 19; i++) {
        lull_latency_add(&latency, 1000);
    }
    assert_int_equal(lull_latency_percentile(&latency, 950, 20), -1);
    lull_latency_add(&latency, 1000);
    assert_in_range(lull_latency_percentile(&latency, 950, 20), 1000, 1250);
}

static void check_one(int64_t us)
{
    struct lull_latency latency = {0};
    lull_latency_add(&latency, us);
    int64_t told = lull_latency_percentile(&latency, 500, 1);
    int64_t most = us <= 64 ? 64 : us + us / 4;
    if (told < us || told > most) {
        fail_msg("%lld us was told as %lld", (long long)us, (long long)told);
    }
}

static void test_never_too_low_and_a_quarter_too_high_at_most(void **state)
{
    (void)state;
    for (int64_t us = 0; us < 5000; us++) {
        check_one(us);
    }
    for (int64_t octave = 4096; octave < INT64_C(1800000000); octave *= 2) {
        for (int64_t part = 0; part <= 16; part++) {
            int64_t us = octave + octave / 16 * part;
            check_one(us - 1);
            check_one(us);
            check_one(us + 1);
        }
    }
    check_one(INT64_C(3600000000));
}

static void test_odd_times_are_taken_as_the_nearest(void **state)
{
    (void)state;
    static const struct {
        int64_t us;
        int64_t min_us;
        int64_t max_us;
    } cases[] = {
        {-1, 0, 64},
        {INT64_MIN, 0, 64},
        {0, 0, 64},
        {INT64_C(3600000001), INT64_C(3600000000), INT64_C(4500000000)},
        {INT64_MAX, INT64_C(3600000000), INT64_C(4500000000)},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lull_latency latency = {0};
        lull_latency_add(&latency, cases[i].us);
        int64_t told = lull_latency_percentile(&latency, 1000, 1);
        assert_true(told >= cases[i].min_us && told <= cases[i].max_us);
    }
}

static void test_percentiles(void **state)
{
    (void)state;
    struct lull_latency latency = {0};
    for (int i = 0; i < 95; i++) {
        lull_latency_add(&latency, 1000);
    }
    for (int i = 0; i < 5; i++) {
        lull_latency_add(&latency, 1000000);
    }
    assert_in_range(lull_latency_percentile(&latency, 0, 1), 1000, 1250);
    assert_in_range(lull_latency_percentile(&latency, 500, 1), 1000, 1250);
    assert_in_range(lull_latency_percentile(&latency, 950, 1), 1000, 1250);
    assert_in_range(lull_latency_percentile(&latency, 951, 1), 1000000, 1250000);
    assert_in_range(lull_latency_percentile(&latency, 1000, 1), 1000000, 1250000);
}

static void test_what_is_old_fades(void **state)
{
    (void)state;
    struct lull_latency latency = {0};
    for (int i = 0; i < 100000; i++) {
        lull_latency_add(&latency, 1000000);
        assert_true(latency.total < LULL_LATENCY_MEMORY);
    }
    for (int i = 0; i < 5 * LULL_LATENCY_MEMORY; i++) {
        lull_latency_add(&latency, 1000);
    }
    assert_in_range(lull_latency_percentile(&latency, 950, 20), 1000, 1250);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_knows_nothing),
        cmocka_unit_test(test_never_too_low_and_a_quarter_too_high_at_most),
        cmocka_unit_test(test_odd_times_are_taken_as_the_nearest),
        cmocka_unit_test(test_percentiles),
        cmocka_unit_test(test_what_is_old_fades),
    };
    return cmocka_run_group_tests_name("latency", tests, NULL, NULL);
}
