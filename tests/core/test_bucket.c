/* G5: a token bucket without drift. The bound itself is a property: test_property_bucket.c. */
#include "suite.h"

static struct lull_bucket make(uint32_t capacity, uint64_t rate_milli_per_s)
{
    struct lull_bucket bucket;
    struct lull_bucket_config config = {capacity, rate_milli_per_s};
    assert_int_equal(lull_bucket_init(&bucket, &config, 0), LULL_OK);
    return bucket;
}

static void test_G5_takes_all_or_none(void **state)
{
    (void)state;
    struct lull_bucket bucket = make(500, 100000);
    assert_int_equal(lull_bucket_take(&bucket, 0, 400), 0);
    assert_int_equal(lull_bucket_take(&bucket, 0, 200), 1000); /* 100 short, at 100/s */
    assert_int_equal(lull_bucket_available(&bucket, 0), 100);
    assert_int_equal(lull_bucket_take(&bucket, 999, 200), 1);
    assert_int_equal(lull_bucket_take(&bucket, 1000, 200), 0);
    assert_true(lull_bucket_take(&bucket, 0, 501) == LULL_NEVER);
    assert_int_equal(lull_bucket_take(&bucket, 1000, 0), 0);
}

/* A third of a token a second, for a year: not one token lost or won. */
static void test_G5_no_drift_at_low_rates(void **state)
{
    (void)state;
    struct lull_bucket bucket = make(1, 333);
    int64_t now_ms = 0;
    int64_t given = 0;
    assert_int_equal(lull_bucket_take(&bucket, now_ms, 1), 0);
    for (int i = 0; i < 100000; i++) {
        int64_t wait_ms = lull_bucket_take(&bucket, now_ms, 1);
        if (wait_ms == 0) {
            given++;
        } else {
            now_ms += wait_ms > 7 ? 7 : wait_ms;
        }
    }
    assert_in_range(given, now_ms * 333 / 1000000 - 1, now_ms * 333 / 1000000);
}

static void test_G5_return_and_configure(void **state)
{
    (void)state;
    struct lull_bucket bucket = make(10, 1000);
    struct lull_bucket_config larger = {20, 2000};
    struct lull_bucket_config smaller = {2, 1000};
    struct lull_bucket_config bad = {0, 1000};
    assert_int_equal(lull_bucket_take(&bucket, 0, 10), 0);
    lull_bucket_return(&bucket, 0, 4);
    assert_int_equal(lull_bucket_available(&bucket, 0), 4);
    assert_int_equal(lull_bucket_configure(&bucket, &larger, 0), LULL_OK);
    assert_int_equal(lull_bucket_available(&bucket, 0), 4); /* more room, not more tokens */
    assert_int_equal(lull_bucket_configure(&bucket, &smaller, 0), LULL_OK);
    assert_int_equal(lull_bucket_available(&bucket, 0), 2);
    assert_int_equal(lull_bucket_configure(&bucket, &bad, 0), LULL_ERR_RANGE);
    lull_bucket_return(&bucket, 0, 1000);
    assert_int_equal(lull_bucket_available(&bucket, 0), 2);
}

static void test_G5_clocks(void **state)
{
    (void)state;
    struct lull_bucket bucket = make(10, 1000);
    assert_int_equal(lull_bucket_take(&bucket, 0, 10), 0);
    assert_int_equal(lull_bucket_available(&bucket, INT64_MAX / 2), 10);
    assert_int_equal(lull_bucket_take(&bucket, INT64_MAX / 2, 10), 0);
    assert_int_equal(lull_bucket_take(&bucket, 0, 1), 1000); /* back: waits once, not for ever */
    assert_int_equal(lull_bucket_take(&bucket, 1000, 1), 0);
}

/* A clock that jitters between two values earns nothing by it. */
static void test_G5_jittering_clock(void **state)
{
    (void)state;
    struct lull_bucket bucket = make(10, 1000000);
    int taken = 0;
    for (int i = 0; i < 10000; i++) {
        taken += lull_bucket_take(&bucket, i % 2 ? 1000 : 999, 1) == 0;
    }
    assert_in_range(taken, 10, 11);
}

static void test_G5_ranges(void **state)
{
    (void)state;
    static const struct lull_bucket_config bad[] = {
        {0, 1}, {1, 0}, {1000001, 1}, {1, UINT64_C(1000000000001)}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct lull_bucket bucket = {.mono_ms = 77};
        assert_int_equal(lull_bucket_init(&bucket, &bad[i], 0), LULL_ERR_RANGE);
        assert_int_equal(bucket.mono_ms, 77); /* untouched */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_G5_takes_all_or_none),
        cmocka_unit_test(test_G5_no_drift_at_low_rates),
        cmocka_unit_test(test_G5_return_and_configure),
        cmocka_unit_test(test_G5_clocks),
        cmocka_unit_test(test_G5_jittering_clock),
        cmocka_unit_test(test_G5_ranges),
    };
    return cmocka_run_group_tests_name("bucket", tests, NULL, NULL);
}
