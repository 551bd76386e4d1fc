/* P1 to P6, K1, K3: the parts put together into one gate. */
#include "suite.h"

struct fixture {
    struct lull_service service;
    struct lull_random random;
};

static void start(struct fixture *fixture, enum lull_vendor vendor, enum lull_rate_mode rate_mode)
{
    struct lull_service_config config;
    lull_service_config_default(&config);
    config.vendor = vendor;
    config.rate_mode = rate_mode;
    assert_int_equal(lull_service_init(&fixture->service, &config, 0), LULL_OK);
    lull_random_init(&fixture->random, 1);
}

static int64_t ask(struct fixture *fixture, int64_t mono_ms, struct lull_service_permit *permit,
                   enum lull_gate_cause *cause)
{
    return lull_service_ask(&fixture->service, mono_ms, &fixture->random, permit, cause);
}

static struct lull_service_events report(struct fixture *fixture, int64_t mono_ms,
                                         struct lull_service_permit permit, enum lull_class class_,
                                         uint64_t subscription, int64_t retry_after_ms)
{
    struct lull_service_outcome outcome = {class_, subscription, retry_after_ms};
    return lull_service_report(&fixture->service, mono_ms, permit, &outcome, &fixture->random);
}

/* One message, answered at once. */
static struct lull_service_events send(struct fixture *fixture, int64_t mono_ms,
                                       enum lull_class class_, uint64_t subscription,
                                       int64_t retry_after_ms)
{
    struct lull_service_permit permit;
    assert_int_equal(ask(fixture, mono_ms, &permit, NULL), 0);
    return report(fixture, mono_ms, permit, class_, subscription, retry_after_ms);
}

static struct lull_gate gate_at(struct fixture *fixture, int64_t mono_ms)
{
    return lull_service_gate(&fixture->service, mono_ms, &fixture->random);
}

static void test_G5_starts_small(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, LULL_VENDOR_OTHER, LULL_RATE_LEARNED);
    struct lull_gate gate = gate_at(&fixture, 0);
    assert_int_equal(gate.cause, LULL_GATE_OPEN);
    assert_int_equal(gate.rate_milli_per_s, 100000);
    assert_in_range(gate.burst, 1, 20);
    struct lull_service_permit permit;
    enum lull_gate_cause cause = LULL_GATE_OPEN;
    int sent = 0;
    while (ask(&fixture, 0, &permit, &cause) == 0) {
        sent++;
    }
    assert_in_range(sent, 1, 20);
    assert_int_equal(cause, LULL_GATE_RATE);
}

static void test_G5_fixed_and_unlimited(void **state)
{
    (void)state;
    struct fixture fixture;
    struct lull_service_permit permit;
    enum lull_gate_cause cause = LULL_GATE_OPEN;
    start(&fixture, LULL_VENDOR_OTHER, LULL_RATE_FIXED);
    for (int i = 0; i < 256; i++) {
        assert_int_equal(ask(&fixture, 0, &permit, &cause), 0);
    }
    assert_true(ask(&fixture, 0, &permit, &cause) > 0); /* as many in flight as may be */
    assert_int_equal(cause, LULL_GATE_FULL);
    start(&fixture, LULL_VENDOR_OTHER, LULL_RATE_UNLIMITED);
    assert_int_equal(gate_at(&fixture, 0).rate_milli_per_s, 0);
    for (int i = 0; i < 10000; i++) {
        send(&fixture, 0, LULL_CLASS_SUCCESS, 1, 0);
    }
}

static void test_P3_sender_wide_429_pauses_the_service(void **state)
{
    (void)state;
    struct fixture fixture;
    struct lull_service_permit permits[10];
    struct lull_service_permit permit;
    enum lull_gate_cause cause = LULL_GATE_OPEN;
    start(&fixture, LULL_VENDOR_OTHER, LULL_RATE_UNLIMITED);
    for (int i = 0; i < 10; i++) {
        assert_int_equal(ask(&fixture, 0, &permits[i], NULL), 0);
    }
    assert_false(report(&fixture, 0, permits[0], LULL_CLASS_THROTTLED, 1, 9000).is_paused);
    struct lull_service_events events =
        report(&fixture, 0, permits[1], LULL_CLASS_THROTTLED, 2, 9000);
    assert_true(events.is_sender_throttled && events.is_paused);
    assert_int_equal(ask(&fixture, 1000, &permit, &cause), 8000);
    assert_int_equal(cause, LULL_GATE_PAUSED);
    assert_int_equal(gate_at(&fixture, 1000).closed_until_ms, 9000);
    assert_string_equal(lull_gate_cause_to_string(cause), "paused");
    /* the ones that were in flight change nothing more */
    assert_false(report(&fixture, 1000, permits[2], LULL_CLASS_THROTTLED, 3, 60000).is_paused);
    assert_int_equal(ask(&fixture, 8999, &permit, &cause), 1);
    assert_int_equal(ask(&fixture, 9000, &permit, &cause), 0);
}

static void test_P4_fcm_pauses_mozilla_does_not(void **state)
{
    (void)state;
    struct fixture fixture;
    struct lull_service_permit permit;
    start(&fixture, LULL_VENDOR_FCM, LULL_RATE_LEARNED);
    assert_true(send(&fixture, 0, LULL_CLASS_THROTTLED, 1, 0).is_paused);
    assert_int_equal(ask(&fixture, 0, &permit, NULL), 60000);
    start(&fixture, LULL_VENDOR_MOZILLA, LULL_RATE_LEARNED);
    uint64_t before = gate_at(&fixture, 0).rate_milli_per_s;
    assert_false(send(&fixture, 0, LULL_CLASS_THROTTLED, 1, 0).is_sender_throttled);
    assert_int_equal(ask(&fixture, 1, &permit, NULL), 0);
    assert_int_equal(gate_at(&fixture, 1).rate_milli_per_s, before);
    /* not even a hot one with a long Retry-After, among few others */
    start(&fixture, LULL_VENDOR_MOZILLA, LULL_RATE_UNLIMITED);
    for (int64_t i = 0; i < 400; i++) {
        enum lull_class class_ = i % 4 ? LULL_CLASS_SUCCESS : LULL_CLASS_THROTTLED;
        assert_false(send(&fixture, i * 20, class_, i % 4 ? 1 : 7, 3600000).is_breaker_opened);
    }
}

static void test_K1_503_opens_the_breaker_and_a_probe_closes_it(void **state)
{
    (void)state;
    struct fixture fixture;
    struct lull_service_permit permit;
    struct lull_service_permit other;
    enum lull_gate_cause cause = LULL_GATE_OPEN;
    start(&fixture, LULL_VENDOR_OTHER, LULL_RATE_UNLIMITED);
    bool is_opened = false;
    for (int i = 0; i < 20; i++) {
        is_opened = send(&fixture, 0, LULL_CLASS_UNAVAILABLE, 1, 0).is_breaker_opened;
    }
    assert_true(is_opened);
    assert_int_equal(ask(&fixture, 0, &permit, &cause), 30000);
    assert_int_equal(cause, LULL_GATE_BREAKER);
    struct lull_gate gate = gate_at(&fixture, 30000);
    assert_true(gate.is_probe_only && gate.in_flight_max == 1 && gate.closed_until_ms == 0);
    assert_int_equal(ask(&fixture, 30000, &permit, &cause), 0);
    assert_true(ask(&fixture, 30000, &other, &cause) > 0);
    assert_true(gate_at(&fixture, 30000).closed_until_ms > 30000);
    report(&fixture, 30010, permit, LULL_CLASS_SUCCESS, 1, 0);
    gate = gate_at(&fixture, 30010);
    assert_in_range(gate.rate_milli_per_s, 1000, 1000000); /* slow start lends it a rate */
    assert_int_equal(gate_at(&fixture, 60000).rate_milli_per_s, 0);
}

/* K1: a storm that a pause has answered does not also open the breaker. */
static void test_K1_pacing_comes_first(void **state)
{
    (void)state;
    struct fixture fixture;
    static struct lull_service_permit permits[200];
    start(&fixture, LULL_VENDOR_FCM, LULL_RATE_UNLIMITED);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(ask(&fixture, 0, &permits[i], NULL), 0);
    }
    bool is_opened = false;
    for (uint64_t i = 0; i < 200; i++) {
        is_opened |=
            report(&fixture, 10, permits[i], LULL_CLASS_THROTTLED, i, 1000).is_breaker_opened;
    }
    assert_false(is_opened);
    assert_int_equal(fixture.service.breaker.state, LULL_BREAKER_CLOSED);
}

/* ... but one that goes on after every pause does. */
static void test_P2_a_storm_that_goes_on_trips_the_breaker(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, LULL_VENDOR_FCM, LULL_RATE_UNLIMITED);
    bool is_opened = false;
    for (int64_t i = 0; i < 40 && !is_opened; i++) {
        is_opened =
            send(&fixture, i * 1000, LULL_CLASS_THROTTLED, (uint64_t)i, 1000).is_breaker_opened;
    }
    assert_true(is_opened);
}

static void test_P5_pause_by_the_operator(void **state)
{
    (void)state;
    struct fixture fixture;
    struct lull_service_permit permit;
    start(&fixture, LULL_VENDOR_OTHER, LULL_RATE_LEARNED);
    lull_service_pause(&fixture.service, 0, INT64_MAX);
    assert_int_equal(ask(&fixture, 0, &permit, NULL), LULL_WAIT_MAX_MS);
    lull_service_pause(&fixture.service, 0, 0);
    assert_int_equal(ask(&fixture, 0, &permit, NULL), 0);
}

/* What says nothing about the service leaves it alone. */
static void test_K1_cancelled_and_invalid_targets_do_not_count(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, LULL_VENDOR_OTHER, LULL_RATE_UNLIMITED);
    for (int i = 0; i < 1000; i++) {
        send(&fixture, 0, LULL_CLASS_CANCELLED, 1, 0);
        send(&fixture, 0, LULL_CLASS_INVALID_TARGET, 1, 0);
    }
    assert_int_equal(fixture.service.breaker.state, LULL_BREAKER_CLOSED);
}

/* P3, A3: a later 429 makes a pause longer, never shorter; not even the operator's. */
static void test_P3_a_429_never_shortens_a_pause(void **state)
{
    (void)state;
    struct fixture fixture;
    struct lull_service_permit permits[3];
    struct lull_service_permit other;
    start(&fixture, LULL_VENDOR_FCM, LULL_RATE_UNLIMITED);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ask(&fixture, 0, &permits[i], NULL), 0);
    }
    lull_service_pause(&fixture.service, 10, 3600000);
    assert_false(report(&fixture, 20, permits[0], LULL_CLASS_THROTTLED, 1, 1000).is_paused);
    assert_int_equal(ask(&fixture, 20, &other, NULL), 3600000 - 10);
    lull_service_pause(&fixture.service, 30, 1000);
    assert_true(report(&fixture, 40, permits[1], LULL_CLASS_THROTTLED, 2, 600000).is_paused);
    assert_false(report(&fixture, 40, permits[2], LULL_CLASS_THROTTLED, 3, 5000).is_paused);
    assert_int_equal(ask(&fixture, 40, &other, NULL), 600000);
}

/* C8 is a 429 all the same: it is never counted as taken, and opens what 429s open. */
static void test_C8_auth_suspect_counts_as_429(void **state)
{
    (void)state;
    struct fixture fixture;
    start(&fixture, LULL_VENDOR_OTHER, LULL_RATE_UNLIMITED);
    bool is_opened = false;
    for (int i = 0; i < 20; i++) {
        is_opened = send(&fixture, 0, LULL_CLASS_AUTH_SUSPECT, 1, 0).is_breaker_opened;
    }
    assert_true(is_opened);
}

/* K3: permits that nobody reports do not close the gate for good. */
static void test_K3_lost_permits_come_back(void **state)
{
    (void)state;
    struct fixture fixture;
    struct lull_service_permit permit;
    enum lull_gate_cause cause = LULL_GATE_OPEN;
    start(&fixture, LULL_VENDOR_OTHER, LULL_RATE_UNLIMITED);
    for (int i = 0; i < 256; i++) {
        assert_int_equal(ask(&fixture, 0, &permit, NULL), 0);
    }
    assert_true(ask(&fixture, 59999, &permit, &cause) > 0);
    assert_int_equal(cause, LULL_GATE_FULL);
    assert_int_equal(ask(&fixture, 60000, &permit, &cause), 0);
}

/* P4, P6: where each 429 costs a pause, the rate settles under the limit instead of spending its
 * time paused. */
static void test_P6_fcm_settles_under_the_limit(void **state)
{
    (void)state;
    static const int64_t retry_afters_ms[] = {0, 1000, 10000, 60000};
    for (size_t i = 0; i < sizeof retry_afters_ms / sizeof retry_afters_ms[0]; i++) {
        struct fixture fixture;
        struct lull_bucket limiter;
        struct lull_bucket_config limit = {50, 200000};
        int64_t accepted = 0;
        start(&fixture, LULL_VENDOR_FCM, LULL_RATE_LEARNED);
        assert_int_equal(lull_bucket_init(&limiter, &limit, 0), LULL_OK);
        for (int64_t now_ms = 0; now_ms < 1800000; now_ms++) {
            struct lull_service_permit permit;
            while (ask(&fixture, now_ms, &permit, NULL) == 0) {
                bool is_taken = lull_bucket_take(&limiter, now_ms, 1) == 0;
                accepted += is_taken;
                report(&fixture, now_ms, permit,
                       is_taken ? LULL_CLASS_SUCCESS : LULL_CLASS_THROTTLED, (uint64_t)now_ms,
                       is_taken ? 0 : retry_afters_ms[i]);
            }
        }
        if (accepted < 1800 * 200 * 65 / 100) {
            fail_msg("Retry-After %lld ms: %lld accepted", (long long)retry_afters_ms[i],
                     (long long)accepted);
        }
    }
}

static void test_ranges(void **state)
{
    (void)state;
    struct lull_service service;
    struct lull_service_config config;
    lull_service_config_default(&config);
    config.learned_burst = 0;
    assert_int_equal(lull_service_init(&service, &config, 0), LULL_ERR_RANGE);
    lull_service_config_default(&config);
    config.rate_mode = LULL_RATE_FIXED;
    config.fixed.capacity = 0;
    assert_int_equal(lull_service_init(&service, &config, 0), LULL_ERR_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_G5_starts_small),
        cmocka_unit_test(test_G5_fixed_and_unlimited),
        cmocka_unit_test(test_P3_sender_wide_429_pauses_the_service),
        cmocka_unit_test(test_P4_fcm_pauses_mozilla_does_not),
        cmocka_unit_test(test_K1_503_opens_the_breaker_and_a_probe_closes_it),
        cmocka_unit_test(test_K1_pacing_comes_first),
        cmocka_unit_test(test_P2_a_storm_that_goes_on_trips_the_breaker),
        cmocka_unit_test(test_P5_pause_by_the_operator),
        cmocka_unit_test(test_K1_cancelled_and_invalid_targets_do_not_count),
        cmocka_unit_test(test_P3_a_429_never_shortens_a_pause),
        cmocka_unit_test(test_C8_auth_suspect_counts_as_429),
        cmocka_unit_test(test_K3_lost_permits_come_back),
        cmocka_unit_test(test_P6_fcm_settles_under_the_limit),
        cmocka_unit_test(test_ranges),
    };
    return cmocka_run_group_tests_name("service", tests, NULL, NULL);
}
