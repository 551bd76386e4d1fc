/* P2: the limit on what is in flight, from the share of 429s. */
#include "suite.h"

static struct lull_pacer make(uint32_t in_flight_max)
{
    struct lull_pacer pacer;
    struct lull_pacer_config config;
    lull_pacer_config_default(&config);
    config.in_flight_max = in_flight_max;
    assert_int_equal(lull_pacer_init(&pacer, &config, 0), LULL_OK);
    return pacer;
}

static void accept(struct lull_pacer *pacer, int64_t mono_ms, int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(lull_pacer_report(pacer, mono_ms, false), LULL_PACER_STEADY);
    }
}

static void test_P2_over_5_percent_cuts_a_quarter(void **state)
{
    (void)state;
    struct lull_pacer pacer = make(100);
    accept(&pacer, 0, 95);
    for (int i = 0; i < 5; i++) { /* five of a hundred is not over five */
        assert_int_equal(lull_pacer_report(&pacer, 1000, true), LULL_PACER_STEADY);
    }
    assert_int_equal(lull_pacer_report(&pacer, 1000, true), LULL_PACER_CUT);
    assert_int_equal(lull_pacer_limit(&pacer, 1000), 75);
}

static void test_P2_over_20_percent_halts(void **state)
{
    (void)state;
    struct lull_pacer pacer = make(100);
    for (int i = 0; i < 19; i++) {
        assert_int_equal(lull_pacer_report(&pacer, 0, true), LULL_PACER_STEADY); /* volume */
    }
    assert_int_equal(lull_pacer_report(&pacer, 0, true), LULL_PACER_HALT);
}

static void test_P2_calm_gives_back_a_tenth_each_30_s(void **state)
{
    (void)state;
    struct lull_pacer pacer = make(100);
    accept(&pacer, 0, 90);
    int64_t now_ms = 0;
    while (lull_pacer_report(&pacer, now_ms, true) != LULL_PACER_CUT) {
    }
    assert_int_equal(lull_pacer_limit(&pacer, 119999), 75);
    assert_int_equal(lull_pacer_limit(&pacer, 120000), 85);
    assert_int_equal(lull_pacer_limit(&pacer, 149999), 85);
    assert_int_equal(lull_pacer_limit(&pacer, 150000), 95);
    assert_int_equal(lull_pacer_limit(&pacer, 180000), 100);
    assert_int_equal(lull_pacer_limit(&pacer, 900000), 100);
}

static void test_P2_never_under_one(void **state)
{
    (void)state;
    struct lull_pacer pacer = make(4);
    for (int i = 0; i < 1000; i++) {
        (void)lull_pacer_report(&pacer, i, true);
    }
    assert_int_equal(lull_pacer_limit(&pacer, 1000), 1);
}

static void test_P2_ranges(void **state)
{
    (void)state;
    struct lull_pacer pacer;
    struct lull_pacer_config config;
    lull_pacer_config_default(&config);
    config.in_flight_max = 0;
    assert_int_equal(lull_pacer_init(&pacer, &config, 0), LULL_ERR_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_P2_over_5_percent_cuts_a_quarter),
        cmocka_unit_test(test_P2_over_20_percent_halts),
        cmocka_unit_test(test_P2_calm_gives_back_a_tenth_each_30_s),
        cmocka_unit_test(test_P2_never_under_one),
        cmocka_unit_test(test_P2_ranges),
    };
    return cmocka_run_group_tests_name("pacer", tests, NULL, NULL);
}
