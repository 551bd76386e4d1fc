/* P3: one subscription, or the whole sender. */
#include "suite.h"

static struct lull_scope_tracker make(int sends)
{
    struct lull_scope_tracker tracker;
    struct lull_scope_config config;
    lull_scope_config_default(&config);
    assert_int_equal(lull_scope_init(&tracker, &config, 0), LULL_OK);
    for (int i = 0; i < sends; i++) {
        lull_scope_on_sent(&tracker, 0);
    }
    return tracker;
}

static void test_P3_more_than_5_percent_of_two_subscriptions(void **state)
{
    (void)state;
    struct lull_scope_tracker tracker = make(40);
    assert_false(lull_scope_on_throttled(&tracker, 0, 1));
    assert_false(lull_scope_on_throttled(&tracker, 0, 2)); /* 2 of 40 is not over 5 % */
    assert_true(lull_scope_on_throttled(&tracker, 0, 1));
}

static void test_P3_one_subscription_is_never_the_sender(void **state)
{
    (void)state;
    struct lull_scope_tracker tracker = make(10);
    for (int i = 0; i < 10; i++) {
        assert_false(lull_scope_on_throttled(&tracker, i, 7));
    }
    assert_true(lull_scope_on_throttled(&tracker, 20, 8));
}

static void test_P3_only_the_last_ten_seconds(void **state)
{
    (void)state;
    struct lull_scope_tracker tracker = make(10);
    assert_false(lull_scope_on_throttled(&tracker, 0, 1));
    assert_false(lull_scope_on_throttled(&tracker, 11000, 2)); /* the other was too long ago */
    assert_true(lull_scope_on_throttled(&tracker, 12000, 3));
}

static void test_P3_clear_begins_anew(void **state)
{
    (void)state;
    struct lull_scope_tracker tracker = make(1);
    (void)lull_scope_on_throttled(&tracker, 0, 1);
    assert_true(lull_scope_on_throttled(&tracker, 0, 2));
    lull_scope_clear(&tracker, 0);
    assert_false(lull_scope_on_throttled(&tracker, 0, 1));
}

static void test_P3_ranges(void **state)
{
    (void)state;
    struct lull_scope_tracker tracker;
    struct lull_scope_config config = {1001, 10000};
    assert_int_equal(lull_scope_init(&tracker, &config, 0), LULL_ERR_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_P3_more_than_5_percent_of_two_subscriptions),
        cmocka_unit_test(test_P3_one_subscription_is_never_the_sender),
        cmocka_unit_test(test_P3_only_the_last_ten_seconds),
        cmocka_unit_test(test_P3_clear_begins_anew),
        cmocka_unit_test(test_P3_ranges),
    };
    return cmocka_run_group_tests_name("scope", tests, NULL, NULL);
}
