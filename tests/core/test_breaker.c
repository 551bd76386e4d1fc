/* K1, K2, K3, K5. "Never two probes" is a property: test_property_breaker.c. */
#include "suite.h"

struct fixture {
    struct lull_breaker breaker;
    struct lull_random random;
};

static struct fixture make(void)
{
    struct fixture fixture;
    struct lull_breaker_config config;
    lull_breaker_config_default(&config);
    assert_int_equal(lull_breaker_init(&fixture.breaker, &config, 0), LULL_OK);
    lull_random_init(&fixture.random, 1);
    return fixture;
}

static int64_t ask(struct fixture *fixture, int64_t mono_ms, struct lull_breaker_permit *permit)
{
    return lull_breaker_ask(&fixture->breaker, mono_ms, &fixture->random, permit);
}

static bool report(struct fixture *fixture, int64_t mono_ms, struct lull_breaker_permit permit,
                   enum lull_breaker_result result, int64_t retry_after_ms)
{
    return lull_breaker_report(&fixture->breaker, mono_ms, permit, result, retry_after_ms,
                               &fixture->random);
}

/* Asks and reports count times at one instant; says whether it opened on the way. */
static bool feed(struct fixture *fixture, int64_t mono_ms, int count,
                 enum lull_breaker_result result, int64_t retry_after_ms)
{
    bool is_opened = false;
    for (int i = 0; i < count; i++) {
        struct lull_breaker_permit permit;
        if (ask(fixture, mono_ms, &permit) == 0) {
            is_opened = report(fixture, mono_ms, permit, result, retry_after_ms) || is_opened;
        }
    }
    return is_opened;
}

static enum lull_breaker_state state_at(struct fixture *fixture, int64_t mono_ms)
{
    return lull_breaker_tick(&fixture->breaker, mono_ms, &fixture->random);
}

static void test_K1_thresholds(void **state)
{
    (void)state;
    static const struct {
        enum lull_breaker_result result;
        int successes;
        int failures;   /* one more opens it */
        int64_t gap_ms; /* between the two */
    } cases[] = {
        {LULL_BREAKER_UNAVAILABLE, 80, 20, 240000}, /* 20 % in 5 minutes */
        {LULL_BREAKER_THROTTLED, 80, 20, 50000},    /* 20 % in 60 s */
        {LULL_BREAKER_TRANSPORT, 80, 80, 50000},    /* 50 % in 60 s */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture fixture = make();
        assert_false(feed(&fixture, 0, cases[i].successes, LULL_BREAKER_SUCCESS, 0));
        assert_false(feed(&fixture, cases[i].gap_ms, cases[i].failures, cases[i].result, 0));
        assert_int_equal(state_at(&fixture, cases[i].gap_ms), LULL_BREAKER_CLOSED);
        assert_true(feed(&fixture, cases[i].gap_ms, 1, cases[i].result, 0));
        assert_int_equal(state_at(&fixture, cases[i].gap_ms), LULL_BREAKER_OPEN);
    }
}

static void test_K1_minimum_volume_and_window(void **state)
{
    (void)state;
    struct fixture fixture = make();
    assert_false(feed(&fixture, 0, 19, LULL_BREAKER_UNAVAILABLE, 0));
    assert_true(feed(&fixture, 0, 1, LULL_BREAKER_UNAVAILABLE, 0));
    fixture = make();
    assert_false(feed(&fixture, 0, 19, LULL_BREAKER_TRANSPORT, 0));
    assert_false(feed(&fixture, 70000, 1, LULL_BREAKER_TRANSPORT, 0)); /* the rest has left */
    assert_false(feed(&fixture, 70000, 1000, LULL_BREAKER_IGNORED, 0));
}

static void test_K2_open_lets_nothing_through(void **state)
{
    (void)state;
    struct fixture fixture = make();
    struct lull_breaker_permit permit;
    feed(&fixture, 0, 20, LULL_BREAKER_UNAVAILABLE, 0);
    assert_int_equal(ask(&fixture, 0, &permit), 30000);
    assert_int_equal(ask(&fixture, 29999, &permit), 1);
    assert_int_equal(state_at(&fixture, 30000), LULL_BREAKER_HALF_OPEN);
}

static void test_K2_opened_by_429_for_the_retry_after(void **state)
{
    (void)state;
    struct fixture fixture = make();
    struct lull_breaker_permit permit;
    feed(&fixture, 0, 20, LULL_BREAKER_THROTTLED, 77000);
    assert_int_equal(ask(&fixture, 0, &permit), 77000);
    fixture = make(); /* not only the last one counts */
    feed(&fixture, 0, 19, LULL_BREAKER_THROTTLED, 600000);
    assert_true(feed(&fixture, 1000, 1, LULL_BREAKER_THROTTLED, 0));
    assert_int_equal(ask(&fixture, 1000, &permit), 599000);
    fixture = make(); /* but only those of the same storm */
    feed(&fixture, 0, 1, LULL_BREAKER_THROTTLED, LULL_DAYS(1));
    feed(&fixture, 61300, 20, LULL_BREAKER_THROTTLED, 5000);
    assert_int_equal(ask(&fixture, 61300, &permit), 5000);
}

static void test_K2_grows_with_jitter_to_five_minutes(void **state)
{
    (void)state;
    struct fixture fixture = make();
    struct lull_breaker_permit permit;
    int64_t now_ms = 0;
    int64_t ceiling_ms = 30000;
    feed(&fixture, now_ms, 20, LULL_BREAKER_UNAVAILABLE, 0);
    for (int trip = 2; trip <= 10; trip++) {
        now_ms += ask(&fixture, now_ms, &permit);
        assert_int_equal(ask(&fixture, now_ms, &permit), 0);
        assert_true(permit.is_probe);
        assert_true(report(&fixture, now_ms, permit, LULL_BREAKER_UNAVAILABLE, 0));
        ceiling_ms = ceiling_ms * 2 < 300000 ? ceiling_ms * 2 : 300000;
        assert_in_range(ask(&fixture, now_ms, &permit), ceiling_ms / 2, ceiling_ms);
    }
}

/* Opens it, waits, and takes the probe. */
static struct lull_breaker_permit half_open(struct fixture *fixture, int64_t *now_ms)
{
    struct lull_breaker_permit permit;
    feed(fixture, *now_ms, 100, LULL_BREAKER_UNAVAILABLE, 0);
    *now_ms += ask(fixture, *now_ms, &permit);
    assert_int_equal(ask(fixture, *now_ms, &permit), 0);
    return permit;
}

static void test_K3_one_probe_then_slow_start(void **state)
{
    (void)state;
    struct fixture fixture = make();
    int64_t now_ms = 0;
    struct lull_breaker_permit other;
    struct lull_breaker_permit probe = half_open(&fixture, &now_ms);
    assert_int_equal(ask(&fixture, now_ms, &other), 60000); /* the probe's time */
    assert_false(report(&fixture, now_ms, probe, LULL_BREAKER_SUCCESS, 0));
    assert_int_equal(state_at(&fixture, now_ms), LULL_BREAKER_SLOW_START);
    assert_int_equal(state_at(&fixture, now_ms + 7999), LULL_BREAKER_SLOW_START);
    assert_int_equal(state_at(&fixture, now_ms + 8000), LULL_BREAKER_CLOSED);
}

/* Four steps of two seconds: each lets about twice as many through as the one before. */
static void test_K3_pace_doubles(void **state)
{
    (void)state;
    struct fixture fixture = make();
    int64_t now_ms = 0;
    for (int i = 0; i < 60; i++) { /* 160 a second before the trip */
        feed(&fixture, now_ms, 160, LULL_BREAKER_SUCCESS, 0);
        now_ms += 1000;
    }
    feed(&fixture, now_ms, 5000, LULL_BREAKER_UNAVAILABLE, 0);
    struct lull_breaker_permit probe;
    now_ms += ask(&fixture, now_ms, &probe);
    assert_int_equal(ask(&fixture, now_ms, &probe), 0);
    report(&fixture, now_ms, probe, LULL_BREAKER_SUCCESS, 0);
    int passed[4] = {0};
    for (int64_t t = 0; t < 8000; t++) {
        struct lull_breaker_permit permit;
        while (ask(&fixture, now_ms + t, &permit) == 0) {
            passed[t / 2000]++;
            report(&fixture, now_ms + t, permit, LULL_BREAKER_SUCCESS, 0);
        }
    }
    for (int step = 1; step < 4; step++) {
        assert_in_range(passed[step], passed[step - 1] * 3 / 2, passed[step - 1] * 3);
    }
    assert_in_range(passed[0], 10, 50); /* about 1/16 of 160/s, for 2 s */
}

static void test_K3_failure_in_slow_start_opens_again(void **state)
{
    (void)state;
    struct fixture fixture = make();
    int64_t now_ms = 0;
    struct lull_breaker_permit probe = half_open(&fixture, &now_ms);
    report(&fixture, now_ms, probe, LULL_BREAKER_SUCCESS, 0);
    bool is_opened = false;
    for (int i = 0; i < 10 && !is_opened; i++) {
        now_ms += 500;
        is_opened = feed(&fixture, now_ms, 1, LULL_BREAKER_UNAVAILABLE, 0);
    }
    assert_true(is_opened);
}

static void test_K3_cancelled_probe_makes_room_for_another(void **state)
{
    (void)state;
    struct fixture fixture = make();
    int64_t now_ms = 0;
    struct lull_breaker_permit probe = half_open(&fixture, &now_ms);
    assert_false(report(&fixture, now_ms, probe, LULL_BREAKER_IGNORED, 0));
    assert_int_equal(ask(&fixture, now_ms, &probe), 0);
    assert_true(probe.is_probe);
}

/* A gateway that answers 502 for a dead service is no recovery; nor is it a reason to open. */
static void test_K3_a_probe_answered_5xx_opens_again(void **state)
{
    (void)state;
    struct fixture fixture = make();
    int64_t now_ms = 0;
    assert_false(feed(&fixture, now_ms, 1000, LULL_BREAKER_FAILED, 0));
    struct lull_breaker_permit probe;
    lull_breaker_trip(&fixture.breaker, now_ms, 0, &fixture.random);
    now_ms += ask(&fixture, now_ms, &probe);
    assert_int_equal(ask(&fixture, now_ms, &probe), 0);
    assert_true(report(&fixture, now_ms, probe, LULL_BREAKER_FAILED, 0));
    assert_int_equal(state_at(&fixture, now_ms), LULL_BREAKER_OPEN);
}

static void test_K1_ranges(void **state)
{
    (void)state;
    struct lull_breaker breaker;
    struct lull_breaker_config config;
    lull_breaker_config_default(&config);
    config.open_max_ms = 1;
    assert_int_equal(lull_breaker_init(&breaker, &config, 0), LULL_ERR_RANGE);
    lull_breaker_config_default(&config);
    config.throttled_permille = 1001;
    assert_int_equal(lull_breaker_init(&breaker, &config, 0), LULL_ERR_RANGE);
    lull_breaker_config_default(&config);
    config.window_ms = 61;
    assert_int_equal(lull_breaker_init(&breaker, &config, 0), LULL_ERR_RANGE);
    assert_string_equal(lull_breaker_state_to_string(LULL_BREAKER_SLOW_START), "slow_start");
}

/* Every class, so that a new one must be thought of here. */
static void test_K1_result_of_a_class(void **state)
{
    (void)state;
    static const struct {
        enum lull_class class_;
        enum lull_breaker_result result;
    } cases[] = {
        {LULL_CLASS_PENDING, LULL_BREAKER_IGNORED},
        {LULL_CLASS_SUCCESS, LULL_BREAKER_SUCCESS},
        {LULL_CLASS_THROTTLED, LULL_BREAKER_THROTTLED},
        {LULL_CLASS_UNAVAILABLE, LULL_BREAKER_UNAVAILABLE},
        {LULL_CLASS_SERVER_ERROR, LULL_BREAKER_FAILED},
        {LULL_CLASS_TRANSPORT, LULL_BREAKER_TRANSPORT},
        {LULL_CLASS_AUTH_SUSPECT, LULL_BREAKER_THROTTLED},
        {LULL_CLASS_AUTH, LULL_BREAKER_SUCCESS}, /* an answer, in health */
        {LULL_CLASS_GONE, LULL_BREAKER_SUCCESS},
        {LULL_CLASS_TOO_LARGE, LULL_BREAKER_SUCCESS},
        {LULL_CLASS_REJECTED, LULL_BREAKER_SUCCESS},
        {LULL_CLASS_INVALID_TARGET, LULL_BREAKER_IGNORED},
        {LULL_CLASS_CANCELLED, LULL_BREAKER_IGNORED},
    };
    assert_int_equal(sizeof cases / sizeof cases[0], LULL_CLASSES);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(cases[i].class_, i);
        assert_int_equal(lull_breaker_result_of(cases[i].class_), cases[i].result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_K1_thresholds),
        cmocka_unit_test(test_K1_minimum_volume_and_window),
        cmocka_unit_test(test_K2_open_lets_nothing_through),
        cmocka_unit_test(test_K2_opened_by_429_for_the_retry_after),
        cmocka_unit_test(test_K2_grows_with_jitter_to_five_minutes),
        cmocka_unit_test(test_K3_one_probe_then_slow_start),
        cmocka_unit_test(test_K3_pace_doubles),
        cmocka_unit_test(test_K3_failure_in_slow_start_opens_again),
        cmocka_unit_test(test_K3_cancelled_probe_makes_room_for_another),
        cmocka_unit_test(test_K3_a_probe_answered_5xx_opens_again),
        cmocka_unit_test(test_K1_result_of_a_class),
        cmocka_unit_test(test_K1_ranges),
    };
    return cmocka_run_group_tests_name("breaker", tests, NULL, NULL);
}
