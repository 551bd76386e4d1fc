/* G1 to G4. "Never passed in any history" is a property: test_property_budget.c. */
#include "suite.h"

static struct lull_budget make(void (*change)(struct lull_budget_config *))
{
    struct lull_budget budget;
    struct lull_budget_config config;
    lull_budget_config_default(&config);
    if (change) {
        change(&config);
    }
    assert_int_equal(lull_budget_init(&budget, &config, 0), LULL_OK);
    return budget;
}

static void without_reserve(struct lull_budget_config *config)
{
    config->reserve = 0;
}

static void token_form(struct lull_budget_config *config)
{
    config->form = LULL_BUDGET_TOKEN;
    config->reserve = 0;
}

static void token_form_with_reserve(struct lull_budget_config *config)
{
    config->form = LULL_BUDGET_TOKEN;
    config->tokens_max = 10;
}

static int take_all(struct lull_budget *budget, int64_t mono_ms)
{
    int taken = 0;
    while (taken < 100000 && lull_budget_take(budget, mono_ms, false) == 0) {
        taken++;
    }
    return taken;
}

static void test_G1_ratio_and_warm_up(void **state)
{
    (void)state;
    struct lull_budget budget = make(without_reserve);
    for (int i = 0; i < 9; i++) {
        lull_budget_on_request(&budget, 0);
    }
    assert_int_equal(take_all(&budget, 0), 0); /* warming up */
    lull_budget_on_request(&budget, 0);
    assert_int_equal(take_all(&budget, 0), 2); /* 20 % of 10 */
    for (int i = 0; i < 990; i++) {
        lull_budget_on_request(&budget, 30000);
    }
    assert_int_equal(take_all(&budget, 30000), 198);
    assert_int_equal(take_all(&budget, 95000), 0); /* all of it out of the window */
    assert_true(lull_budget_wait(&budget, 95000, false) == LULL_NEVER);
}

static void test_G1_reserve_for_a_quiet_client(void **state)
{
    (void)state;
    struct lull_budget budget = make(NULL);
    assert_int_equal(lull_budget_left(&budget, 0), 10);
    assert_int_equal(take_all(&budget, 0), 10);
    assert_int_equal(lull_budget_wait(&budget, 0, false), 100); /* 10 a second */
    assert_int_equal(lull_budget_take(&budget, 100, false), 0);
    assert_int_equal(take_all(&budget, 10000), 10); /* never more than a full reserve */
}

static void test_G2_tokens(void **state)
{
    (void)state;
    struct lull_budget budget = make(token_form);
    assert_int_equal(lull_budget_left(&budget, 0), 100);
    assert_int_equal(take_all(&budget, 0), 100);
    lull_budget_on_success(&budget, 0);
    assert_int_equal(budget.tokens, 5);
    assert_true(lull_budget_wait(&budget, 0, true) == LULL_NEVER); /* a timeout costs 10 */
    assert_int_equal(lull_budget_take(&budget, 0, false), 0);
    for (int i = 0; i < 1000; i++) {
        lull_budget_on_success(&budget, 0);
    }
    assert_int_equal(budget.tokens, 500);
}

/* A client whose every request is a retry gives nothing back, and is still let in again. */
static void test_G3_never_locked_out(void **state)
{
    (void)state;
    struct lull_budget budget = make(token_form_with_reserve);
    assert_int_equal(take_all(&budget, 0), 2 + 10);
    for (int64_t second = 1; second < 100; second++) {
        assert_int_equal(lull_budget_take(&budget, second * 1000, false), 0);
    }
}

static void test_G1_ranges(void **state)
{
    (void)state;
    struct lull_budget budget;
    struct lull_budget_config config;
    lull_budget_config_default(&config);
    config.tokens_timeout = 501;
    assert_int_equal(lull_budget_init(&budget, &config, 0), LULL_ERR_RANGE);
    lull_budget_config_default(&config);
    config.window_ms = 7;
    assert_int_equal(lull_budget_init(&budget, &config, 0), LULL_ERR_RANGE);
    lull_budget_config_default(&config);
    config.reserve_milli_per_s = 0;
    assert_int_equal(lull_budget_init(&budget, &config, 0), LULL_ERR_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_G1_ratio_and_warm_up),
        cmocka_unit_test(test_G1_reserve_for_a_quiet_client),
        cmocka_unit_test(test_G2_tokens),
        cmocka_unit_test(test_G3_never_locked_out),
        cmocka_unit_test(test_G1_ranges),
    };
    return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
