/* B1, B2, B3: each strategy's range, number by number. Distributions: test_property_jitter.c. */
#include "suite.h"

static const struct lull_backoff delivery = {LULL_BACKOFF_FULL_JITTER, 2000, 120000, 0, 2.0};

static void check(const struct lull_backoff *backoff, uint32_t n, int64_t previous_ms,
                  int64_t min_ms, int64_t max_ms)
{
    struct lull_backoff_range range = lull_backoff_bounds(backoff, n, previous_ms);
    if (range.min_ms != min_ms || range.max_ms != max_ms) {
        fail_msg("%s n=%u: [%lld, %lld]", lull_backoff_strategy_to_string(backoff->strategy), n,
                 (long long)range.min_ms, (long long)range.max_ms);
    }
}

static void test_B2_full_jitter(void **state)
{
    (void)state;
    static const int64_t ceilings[] = {2000, 4000, 8000, 16000, 32000, 64000, 120000, 120000};
    for (uint32_t n = 1; n <= 8; n++) {
        check(&delivery, n, 0, 0, ceilings[n - 1]);
    }
    check(&delivery, 0, 0, 0, 2000);
    check(&delivery, 1000, 0, 0, 120000);
    check(&delivery, UINT32_MAX, 0, 0, 120000);
}

static void test_B1_strategies(void **state)
{
    (void)state;
    struct lull_backoff backoff = delivery;
    backoff.strategy = LULL_BACKOFF_FIXED;
    check(&backoff, 1, 0, 2000, 2000);
    check(&backoff, 9, 0, 2000, 2000);
    backoff.strategy = LULL_BACKOFF_LINEAR;
    check(&backoff, 3, 0, 6000, 6000);
    check(&backoff, 60, 0, 120000, 120000);
    check(&backoff, UINT32_MAX, 0, 120000, 120000);
    backoff.strategy = LULL_BACKOFF_EXPONENTIAL;
    check(&backoff, 3, 0, 8000, 8000);
    check(&backoff, 64, 0, 120000, 120000);
    backoff.strategy = LULL_BACKOFF_EQUAL_JITTER;
    check(&backoff, 3, 0, 4000, 8000);
    check(&backoff, 64, 0, 60000, 120000);
    backoff.strategy = LULL_BACKOFF_DECORRELATED;
    check(&backoff, 1, 0, 2000, 6000);
    check(&backoff, 2, 5000, 2000, 15000);
    check(&backoff, 3, 2100, 2000, 6300); /* it shrinks again when the last draw was short */
    check(&backoff, 9, INT64_MAX, 2000, 120000);
    backoff.strategy = LULL_BACKOFF_IMMEDIATE;
    check(&backoff, 1, 0, 0, 0);
    check(&backoff, 2, 0, LULL_NEVER, LULL_NEVER);
}

static void test_B3_floor(void **state)
{
    (void)state;
    struct lull_backoff client = {LULL_BACKOFF_FULL_JITTER, 200, 30000, 50, 2.0};
    check(&client, 1, 0, 50, 200);
    check(&client, 20, 0, 50, 30000);
    client.strategy = LULL_BACKOFF_IMMEDIATE;
    check(&client, 1, 0, 50, 50);
}

static void test_B2_odd_multipliers(void **state)
{
    (void)state;
    struct lull_backoff backoff = delivery;
    backoff.multiplier = 1.0;
    check(&backoff, 1000, 0, 0, 2000);
    backoff.multiplier = 1.5;
    check(&backoff, 4, 0, 0, 6750);
    backoff.multiplier = 100.0;
    backoff.cap_ms = LULL_WAIT_MAX_MS;
    check(&backoff, 3, 0, 0, 20000000);
    check(&backoff, UINT32_MAX, 0, 0, LULL_WAIT_MAX_MS);
}

static void test_B1_draws_are_in_range(void **state)
{
    (void)state;
    struct lull_random random;
    struct lull_backoff backoff = delivery;
    lull_random_init(&random, test_seed("draws"));
    for (int i = 0; i < 1000; i++) {
        int64_t drawn = lull_backoff_draw(&backoff, 2, 0, &random);
        assert_in_range(drawn, 0, 4000);
    }
    backoff.strategy = LULL_BACKOFF_IMMEDIATE;
    assert_true(lull_backoff_draw(&backoff, 2, 0, &random) == LULL_NEVER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_B2_full_jitter),
        cmocka_unit_test(test_B1_strategies),
        cmocka_unit_test(test_B3_floor),
        cmocka_unit_test(test_B2_odd_multipliers),
        cmocka_unit_test(test_B1_draws_are_in_range),
    };
    return cmocka_run_group_tests_name("backoff", tests, NULL, NULL);
}
