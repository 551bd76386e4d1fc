/* K6: a wave of 401/403 pauses our key, not the subscriptions. */
#include "suite.h"

static struct lull_key_guard make(void)
{
    struct lull_key_guard guard;
    struct lull_key_guard_config config;
    lull_key_guard_config_default(&config);
    assert_int_equal(lull_key_guard_init(&guard, &config, 0), LULL_OK);
    return guard;
}

static void test_K6_many_subscriptions_pause_the_key(void **state)
{
    (void)state;
    struct lull_key_guard guard = make();
    for (uint64_t subscription = 1; subscription <= 4; subscription++) {
        assert_false(lull_key_guard_report(&guard, 0, subscription, true));
    }
    assert_int_equal(lull_key_guard_wait(&guard, 0), 0);
    assert_true(lull_key_guard_report(&guard, 0, 5, true));
    assert_false(lull_key_guard_report(&guard, 0, 6, true)); /* one alert */
    assert_int_equal(lull_key_guard_wait(&guard, 0), 300000);
    assert_int_equal(lull_key_guard_wait(&guard, 300000), 0);
}

static void test_K6_one_bad_subscription_does_not(void **state)
{
    (void)state;
    struct lull_key_guard guard = make();
    for (int i = 0; i < 1000; i++) {
        assert_false(lull_key_guard_report(&guard, i, 7, true));
    }
}

static void test_K6_a_minority_does_not(void **state)
{
    (void)state;
    struct lull_key_guard guard = make();
    for (uint64_t i = 0; i < 100; i++) {
        assert_false(lull_key_guard_report(&guard, 0, 1000 + i, false));
    }
    for (uint64_t i = 0; i < 100; i++) {
        assert_false(lull_key_guard_report(&guard, 0, i, true));
    }
    assert_true(lull_key_guard_report(&guard, 0, 5000, true)); /* over half now */
}

static void test_K6_the_operator_resumes(void **state)
{
    (void)state;
    struct lull_key_guard guard = make();
    for (uint64_t i = 1; i <= 5; i++) {
        (void)lull_key_guard_report(&guard, 0, i, true);
    }
    lull_key_guard_resume(&guard, 1000);
    assert_int_equal(lull_key_guard_wait(&guard, 1000), 0);
    assert_false(lull_key_guard_report(&guard, 1000, 1, true)); /* counted from nothing again */
}

static void test_K6_old_failures_do_not_count(void **state)
{
    (void)state;
    struct lull_key_guard guard = make();
    for (uint64_t i = 1; i <= 20; i++) {
        assert_false(lull_key_guard_report(&guard, (int64_t)i * 20000, i, true));
    }
}

static void test_K6_ranges(void **state)
{
    (void)state;
    struct lull_key_guard guard;
    struct lull_key_guard_config config;
    lull_key_guard_config_default(&config);
    config.subscriptions_min = LULL_KEY_GUARD_SUBSCRIPTIONS_MAX + 1;
    assert_int_equal(lull_key_guard_init(&guard, &config, 0), LULL_ERR_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_K6_many_subscriptions_pause_the_key),
        cmocka_unit_test(test_K6_one_bad_subscription_does_not),
        cmocka_unit_test(test_K6_a_minority_does_not),
        cmocka_unit_test(test_K6_the_operator_resumes),
        cmocka_unit_test(test_K6_old_failures_do_not_count),
        cmocka_unit_test(test_K6_ranges),
    };
    return cmocka_run_group_tests_name("key_guard", tests, NULL, NULL);
}
