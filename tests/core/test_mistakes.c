/* The known mistakes of retry libraries, each by its name. */
#include "suite.h"

static struct lull_policy policy_from(const char *text)
{
    struct lull_policy policy;
    assert_int_equal(lull_policy_parse(&policy, text, strlen(text), NULL), LULL_OK);
    return policy;
}

/* A8. The draw is cut at the cap, so that at the cap everybody waits for the same time. */
static void test_jitter_lost_at_the_cap(void **state)
{
    (void)state;
    static const enum lull_backoff_strategy jittered[] = {
        LULL_BACKOFF_FULL_JITTER, LULL_BACKOFF_EQUAL_JITTER, LULL_BACKOFF_DECORRELATED};
    struct lull_random random;
    lull_random_init(&random, test_seed("jitter_lost_at_the_cap"));
    for (size_t i = 0; i < 3; i++) {
        struct lull_backoff backoff = {jittered[i], 1000, 60000, 0, 2.0};
        int at_cap = 0;
        for (int j = 0; j < 10000; j++) {
            at_cap += lull_backoff_draw(&backoff, 50, 60000, &random) == 60000;
        }
        assert_in_range(at_cap, 0, 10);
    }
}

/* random(base, cap) with base = cap is taken as random(0, 0) by some. */
static void test_decorrelated_jitter_gives_0_when_base_is_cap(void **state)
{
    (void)state;
    struct lull_backoff backoff = {LULL_BACKOFF_DECORRELATED, 5000, 5000, 0, 2.0};
    struct lull_random random;
    lull_random_init(&random, 1);
    for (uint32_t n = 1; n < 100; n++) {
        assert_int_equal(lull_backoff_draw(&backoff, n, 5000, &random), 5000);
    }
}

/* The wait is kept as the largest so far, and only ever grows. */
static void test_decorrelated_jitter_never_shrinks(void **state)
{
    (void)state;
    struct lull_backoff backoff = {LULL_BACKOFF_DECORRELATED, 100, 60000, 0, 2.0};
    struct lull_random random;
    lull_random_init(&random, test_seed("decorrelated_never_shrinks"));
    int64_t previous_ms = 0;
    int shrunk = 0;
    for (uint32_t n = 1; n <= 1000; n++) {
        int64_t wait_ms = lull_backoff_draw(&backoff, n, previous_ms, &random);
        shrunk += wait_ms < previous_ms;
        previous_ms = wait_ms;
    }
    assert_in_range(shrunk, 200, 800);
}

/* A3. The wait is drawn around Retry-After, and so at times before it. */
static void test_jitter_that_undercuts_retry_after(void **state)
{
    (void)state;
    struct lull_policy policy = policy_from("delivery");
    struct lull_random random;
    struct lull_header header = {"Retry-After", 11, "30", 2};
    struct lull_outcome outcome = {
        .kind = LULL_OUTCOME_STATUS, .status = 503, .headers = &header, .header_count = 1};
    lull_random_init(&random, test_seed("undercuts"));
    int64_t least_ms = INT64_MAX;
    int64_t most_ms = 0;
    for (uint32_t i = 0; i < 100000; i++) {
        struct lull_facts facts;
        struct lull_verdict verdict;
        lull_facts_init(&facts, &policy, 0);
        facts.attempt = 1 + i % 5;
        assert_int_equal(lull_decide(&policy, &facts, &outcome, 0, &random, &verdict, NULL), 0);
        least_ms = verdict.delay_ms < least_ms ? verdict.delay_ms : least_ms;
        most_ms = verdict.delay_ms > most_ms ? verdict.delay_ms : most_ms;
    }
    assert_true(least_ms >= 30000);
    assert_true(most_ms > 32000); /* and the jitter is there all the same */
}

static struct lull_budget make_budget(enum lull_budget_form form)
{
    struct lull_budget budget;
    struct lull_budget_config config;
    lull_budget_config_default(&config);
    config.form = form;
    assert_int_equal(lull_budget_init(&budget, &config, 0), LULL_OK);
    return budget;
}

/* G3. All tokens are spent in an outage, only a success gives back, and nothing may be sent. */
static void test_budgets_that_cannot_refill(void **state)
{
    (void)state;
    for (int form = LULL_BUDGET_RATIO; form <= LULL_BUDGET_TOKEN; form++) {
        struct lull_budget budget = make_budget((enum lull_budget_form)form);
        int64_t wait_ms = 0;
        while ((wait_ms = lull_budget_take(&budget, 0, false)) == 0) {
        }
        assert_in_range(wait_ms, 1, 1000);
        assert_int_equal(lull_budget_take(&budget, wait_ms, false), 0);
    }
}

/* The token is taken, the check then refuses, and the token is gone. */
static void test_budget_tokens_taken_before_the_check(void **state)
{
    (void)state;
    for (int form = LULL_BUDGET_RATIO; form <= LULL_BUDGET_TOKEN; form++) {
        struct lull_budget budget = make_budget((enum lull_budget_form)form);
        while (lull_budget_take(&budget, 0, false) == 0) {
        }
        struct lull_budget before = budget;
        for (int i = 0; i < 1000; i++) {
            assert_true(lull_budget_take(&budget, 0, false) > 0);
            assert_true(lull_budget_wait(&budget, 0, false) > 0);
        }
        assert_memory_equal(&budget, &before, sizeof budget);
    }
}

static struct lull_breaker open_breaker(struct lull_random *random)
{
    struct lull_breaker breaker;
    struct lull_breaker_config config;
    lull_breaker_config_default(&config);
    lull_random_init(random, 1);
    assert_int_equal(lull_breaker_init(&breaker, &config, 0), LULL_OK);
    lull_breaker_trip(&breaker, 0, 0, random);
    return breaker;
}

/* K3. The probe's worker dies, and nobody is ever let through again. */
static void test_half_open_breaker_that_sticks_when_its_probe_is_lost(void **state)
{
    (void)state;
    struct lull_random random;
    struct lull_breaker breaker = open_breaker(&random);
    struct lull_breaker_permit lost;
    struct lull_breaker_permit probe;
    assert_int_equal(lull_breaker_ask(&breaker, 30000, &random, &lost), 0);
    int64_t now_ms = 30000;
    int64_t wait_ms = 0;
    for (int i = 0; i < 3 && (wait_ms = lull_breaker_ask(&breaker, now_ms, &random, &probe)) > 0;
         i++) {
        now_ms += wait_ms;
    }
    assert_int_equal(wait_ms, 0);
    assert_true(probe.is_probe);
    /* and the lost one's late success means nothing */
    (void)lull_breaker_report(&breaker, now_ms, lost, LULL_BREAKER_SUCCESS, 0, &random);
    assert_int_equal(breaker.state, LULL_BREAKER_HALF_OPEN);
}

/* K3. Ten thousand callers wait for the circuit to close, and all go in the same instant. */
static void test_all_callers_rushing_through_when_it_closes(void **state)
{
    (void)state;
    struct lull_random random;
    struct lull_breaker breaker = open_breaker(&random);
    struct lull_breaker_permit permit;
    assert_int_equal(lull_breaker_ask(&breaker, 30000, &random, &permit), 0);
    (void)lull_breaker_report(&breaker, 30010, permit, LULL_BREAKER_SUCCESS, 0, &random);
    int passed = 0;
    for (int i = 0; i < 10000; i++) {
        passed += lull_breaker_ask(&breaker, 30010, &random, &permit) == 0;
    }
    assert_in_range(passed, 1, 4);
}

/* A breaker that reads the wall clock opens for an hour when the clock is set back by one. Ours
 * takes a clock that is handed in; even if that one breaks its word, it stays open no longer than
 * it was to. */
static void test_wall_clock_in_a_breaker(void **state)
{
    (void)state;
    struct lull_random random;
    struct lull_breaker breaker = open_breaker(&random);
    struct lull_breaker_permit permit;
    int64_t wait_ms = lull_breaker_ask(&breaker, -LULL_HOURS(1), &random, &permit);
    assert_in_range(wait_ms, 1, 30000);
    assert_int_equal(lull_breaker_ask(&breaker, -LULL_HOURS(1) + wait_ms, &random, &permit), 0);
}

/* 20 % of 4 requests is 0.8, not 0; and 3 of 14 is more than 20 %, not 0 of 1. */
static void test_ratios_truncated_to_integers(void **state)
{
    (void)state;
    struct lull_budget budget;
    struct lull_budget_config config;
    lull_budget_config_default(&config);
    config.reserve = 0;
    config.warm_up = 1;
    assert_int_equal(lull_budget_init(&budget, &config, 0), LULL_OK);
    int granted = 0;
    for (int i = 0; i < 1000; i++) { /* one at a time: the fractions must add up */
        lull_budget_on_request(&budget, 0);
        granted += lull_budget_take(&budget, 0, false) == 0;
    }
    assert_int_equal(granted, 200);

    struct lull_breaker breaker;
    struct lull_breaker_config breaker_config;
    struct lull_random random;
    lull_breaker_config_default(&breaker_config);
    breaker_config.volume_min = 14;
    lull_random_init(&random, 1);
    assert_int_equal(lull_breaker_init(&breaker, &breaker_config, 0), LULL_OK);
    bool is_opened = false;
    for (int i = 0; i < 14; i++) {
        struct lull_breaker_permit permit;
        assert_int_equal(lull_breaker_ask(&breaker, 0, &random, &permit), 0);
        is_opened = lull_breaker_report(&breaker, 0, permit,
                                        i >= 11 ? LULL_BREAKER_UNAVAILABLE : LULL_BREAKER_SUCCESS,
                                        0, &random);
    }
    assert_true(is_opened);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jitter_lost_at_the_cap),
        cmocka_unit_test(test_decorrelated_jitter_gives_0_when_base_is_cap),
        cmocka_unit_test(test_decorrelated_jitter_never_shrinks),
        cmocka_unit_test(test_jitter_that_undercuts_retry_after),
        cmocka_unit_test(test_budgets_that_cannot_refill),
        cmocka_unit_test(test_budget_tokens_taken_before_the_check),
        cmocka_unit_test(test_half_open_breaker_that_sticks_when_its_probe_is_lost),
        cmocka_unit_test(test_all_callers_rushing_through_when_it_closes),
        cmocka_unit_test(test_wall_clock_in_a_breaker),
        cmocka_unit_test(test_ratios_truncated_to_integers),
    };
    return cmocka_run_group_tests_name("mistakes", tests, NULL, NULL);
}
