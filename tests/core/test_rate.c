/* P6: the learned rate, against a limiter that is a bucket. bench/pace has the figures. */
#include "suite.h"

/* A service with a limit, next door: answers come after round_trip_ms. */
struct world {
    struct lull_rate rate;
    struct lull_bucket service;
    struct lull_bucket gate;
    int64_t now_ms;
    int64_t round_trip_ms;
    uint64_t accepted;
    uint64_t refused;
    struct {
        int64_t sent_ms;
        bool is_refused;
    } pending[4096];
    unsigned head;
    unsigned tail;
};

static void start(struct world *world, uint64_t limit_milli, uint32_t burst, int64_t round_trip_ms)
{
    struct lull_rate_config config;
    struct lull_bucket_config service = {burst, limit_milli};
    struct lull_bucket_config gate = {10, 100000};
    lull_rate_config_default(&config);
    *world = (struct world){.round_trip_ms = round_trip_ms};
    assert_int_equal(lull_rate_init(&world->rate, &config, 0), LULL_OK);
    assert_int_equal(lull_bucket_init(&world->service, &service, 0), LULL_OK);
    assert_int_equal(lull_bucket_init(&world->gate, &gate, 0), LULL_OK);
}

static void answer(struct world *world)
{
    while (world->head != world->tail &&
           world->now_ms - world->pending[world->head % 4096].sent_ms >= world->round_trip_ms) {
        int64_t sent_ms = world->pending[world->head % 4096].sent_ms;
        if (world->pending[world->head++ % 4096].is_refused) {
            world->refused++;
            (void)lull_rate_on_throttled(&world->rate, world->now_ms, sent_ms, 0);
        } else {
            world->accepted++;
            lull_rate_on_accepted(&world->rate, world->now_ms, sent_ms);
        }
    }
}

/* Runs with more work than it can send, or at most demand_per_s of it. */
static void run(struct world *world, int64_t for_ms, uint32_t demand_per_s)
{
    struct lull_bucket_config demand_config = {1 + demand_per_s / 100,
                                               (uint64_t)demand_per_s * 1000};
    struct lull_bucket demand;
    assert_int_equal(lull_bucket_init(&demand, &demand_config, world->now_ms), LULL_OK);
    for (int64_t end_ms = world->now_ms + for_ms; world->now_ms < end_ms; world->now_ms++) {
        answer(world);
        uint64_t rate = lull_rate_update(&world->rate, world->now_ms, LULL_BACKLOG_UNKNOWN, 0);
        struct lull_bucket_config gate = {(uint32_t)(rate / 20000) + 1, rate};
        assert_int_equal(lull_bucket_configure(&world->gate, &gate, world->now_ms), LULL_OK);
        while (lull_bucket_wait(&world->gate, world->now_ms, 1) == 0 &&
               lull_bucket_take(&demand, world->now_ms, 1) == 0) {
            (void)lull_bucket_take(&world->gate, world->now_ms, 1);
            world->pending[world->tail % 4096].sent_ms = world->now_ms;
            world->pending[world->tail++ % 4096].is_refused =
                lull_bucket_take(&world->service, world->now_ms, 1) > 0;
        }
    }
}

#define PLENTY 100000

/* Over limits, bursts and distances: near the limit, and hardly any refusal. */
static void test_P6_finds_the_limit(void **state)
{
    (void)state;
    static const struct {
        uint64_t limit_milli;
        uint32_t burst;
        int64_t round_trip_ms;
        uint64_t percent; /* of what is possible; a burst of 1 takes no two at once */
    } cases[] = {
        {200000, 50, 20, 97},  {200000, 5, 50, 93},    {200000, 500, 50, 97}, {20000, 10, 100, 93},
        {1000000, 50, 10, 93}, {5000000, 500, 30, 97}, {200000, 50, 300, 93}, {50000, 1, 40, 85},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        static struct world world;
        start(&world, cases[i].limit_milli, cases[i].burst, cases[i].round_trip_ms);
        run(&world, 20000, PLENTY);
        world.accepted = 0;
        world.refused = 0;
        run(&world, 60000, PLENTY);
        uint64_t possible = cases[i].limit_milli * 60 / 1000;
        if (world.accepted * 100 < possible * cases[i].percent ||
            world.refused * 100 > world.accepted * 2) {
            fail_msg("%llu/s burst %u: %llu of %llu, %llu refused",
                     (unsigned long long)cases[i].limit_milli / 1000, cases[i].burst,
                     (unsigned long long)world.accepted, (unsigned long long)possible,
                     (unsigned long long)world.refused);
        }
    }
}

/* However low the rate has fallen, it finds its way up again. */
static void test_P6_is_never_stuck_at_a_low_rate(void **state)
{
    (void)state;
    static const uint64_t lows_milli[] = {1, 500, 2000, 8000};
    for (size_t i = 0; i < sizeof lows_milli / sizeof lows_milli[0]; i++) {
        static struct world world;
        struct lull_bucket_config low = {1, lows_milli[i]};
        struct lull_bucket_config back = {50, 200000};
        start(&world, 200000, 50, 50);
        run(&world, 10000, PLENTY);
        assert_int_equal(lull_bucket_configure(&world.service, &low, world.now_ms), LULL_OK);
        run(&world, 10000, PLENTY);
        assert_int_equal(lull_bucket_configure(&world.service, &back, world.now_ms), LULL_OK);
        run(&world, 60000, PLENTY);
        if (world.rate.milli_per_s < 150000) {
            fail_msg("after %llu/1000 per s: %llu", (unsigned long long)lows_milli[i],
                     (unsigned long long)world.rate.milli_per_s);
        }
    }
}

/* A limit of a few a second is found, too. */
static void test_P6_slow_services(void **state)
{
    (void)state;
    static const uint64_t limits_milli[] = {1000, 5000};
    for (size_t i = 0; i < sizeof limits_milli / sizeof limits_milli[0]; i++) {
        static struct world world;
        start(&world, limits_milli[i], 5, 50);
        run(&world, 120000, PLENTY);
        world.accepted = 0;
        world.refused = 0;
        run(&world, 600000, PLENTY);
        uint64_t possible = limits_milli[i] * 600 / 1000;
        if (world.accepted * 100 < possible * 80 || world.refused * 100 > world.accepted * 20) {
            fail_msg("%llu/1000 per s: %llu of %llu, %llu refused",
                     (unsigned long long)limits_milli[i], (unsigned long long)world.accepted,
                     (unsigned long long)possible, (unsigned long long)world.refused);
        }
    }
}

static void test_P6_gives_way_and_comes_back(void **state)
{
    (void)state;
    static struct world world;
    struct lull_bucket_config lower = {50, 20000};
    struct lull_bucket_config higher = {50, 800000};
    start(&world, 200000, 50, 40);
    run(&world, 20000, PLENTY);
    assert_int_equal(lull_bucket_configure(&world.service, &lower, world.now_ms), LULL_OK);
    world.refused = 0;
    run(&world, 10000, PLENTY);
    assert_in_range(world.rate.milli_per_s, 14000, 30000);
    assert_in_range(world.refused, 1, 80);
    assert_int_equal(lull_bucket_configure(&world.service, &higher, world.now_ms), LULL_OK);
    run(&world, 25000, PLENTY);
    assert_in_range(world.rate.milli_per_s, 600000, 1000000);
}

/* A sender that has little to send learns nothing, and does not drift away. */
static void test_P6_an_idle_sender_does_not_ramp(void **state)
{
    (void)state;
    static struct world world;
    start(&world, 200000, 50, 40);
    run(&world, 60000, 10);
    assert_int_equal(world.rate.milli_per_s, 100000);
    assert_int_equal(world.refused, 0);
}

static void test_P6_answered_refusals_do_not_count_again(void **state)
{
    (void)state;
    struct lull_rate rate;
    struct lull_rate_config config;
    lull_rate_config_default(&config);
    assert_int_equal(lull_rate_init(&rate, &config, 0), LULL_OK);
    assert_true(lull_rate_on_throttled(&rate, 1000, 950, 0));
    uint64_t after = rate.milli_per_s;
    for (int i = 0; i < 100; i++) {
        assert_false(lull_rate_on_throttled(&rate, 1010 + i, 960, 0));
    }
    assert_int_equal(rate.milli_per_s, after);
}

static void test_P6_never_under_the_minimum(void **state)
{
    (void)state;
    struct lull_rate rate;
    struct lull_rate_config config;
    lull_rate_config_default(&config);
    assert_int_equal(lull_rate_init(&rate, &config, 0), LULL_OK);
    for (int64_t t = 0; t < 100000; t++) {
        (void)lull_rate_on_throttled(&rate, t * 100, t * 100 - 1, 0);
        (void)lull_rate_update(&rate, t * 100, LULL_BACKLOG_UNKNOWN, 0);
    }
    assert_in_range(rate.milli_per_s, config.min_milli_per_s, 2000);
}

/* No try for more when what is left is done sooner than a refused message could come back. */
static void test_P6_does_not_probe_at_the_end_of_the_backlog(void **state)
{
    (void)state;
    static struct world world;
    start(&world, 200000, 50, 40);
    run(&world, 20000, PLENTY);
    while (world.rate.phase != LULL_RATE_HOLD) {
        run(&world, 1, PLENTY);
    }
    for (int64_t end_ms = world.now_ms + 60000; world.now_ms < end_ms; world.now_ms += 10) {
        lull_rate_on_accepted(&world.rate, world.now_ms, world.now_ms - 40);
        lull_rate_on_accepted(&world.rate, world.now_ms, world.now_ms - 40);
        (void)lull_rate_update(&world.rate, world.now_ms, 100, 15000);
        assert_int_equal(world.rate.phase, LULL_RATE_HOLD);
    }
}

static void test_P6_clocks_and_ranges(void **state)
{
    (void)state;
    struct lull_rate rate;
    struct lull_rate_config config;
    lull_rate_config_default(&config);
    assert_int_equal(lull_rate_init(&rate, &config, 0), LULL_OK);
    assert_int_equal(lull_rate_update(&rate, INT64_MAX / 4, 1, 0), 100000);
    assert_int_equal(lull_rate_update(&rate, 0, 1, 0), 100000);
    config.min_milli_per_s = 0;
    assert_int_equal(lull_rate_init(&rate, &config, 0), LULL_ERR_RANGE);
    lull_rate_config_default(&config);
    config.hold_max_ms = 1;
    assert_int_equal(lull_rate_init(&rate, &config, 0), LULL_ERR_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_P6_finds_the_limit),
        cmocka_unit_test(test_P6_is_never_stuck_at_a_low_rate),
        cmocka_unit_test(test_P6_slow_services),
        cmocka_unit_test(test_P6_gives_way_and_comes_back),
        cmocka_unit_test(test_P6_an_idle_sender_does_not_ramp),
        cmocka_unit_test(test_P6_answered_refusals_do_not_count_again),
        cmocka_unit_test(test_P6_never_under_the_minimum),
        cmocka_unit_test(test_P6_does_not_probe_at_the_end_of_the_backlog),
        cmocka_unit_test(test_P6_clocks_and_ranges),
    };
    return cmocka_run_group_tests_name("rate", tests, NULL, NULL);
}
