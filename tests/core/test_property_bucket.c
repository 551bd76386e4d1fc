/* G5: the bucket never gives more than capacity and rate. */
#include "property.h"

struct bucket_world {
    struct lull_bucket bucket;
    int64_t now_ms;
    wide earned_micro; /* rate x real time, were the bucket never full */
    wide taken_micro;  /* less what was put back */
    wide limit_micro;  /* the least of (taken - earned + capacity) at any start so far */
};

static struct lull_bucket_config any_bucket(struct lull_random *random)
{
    static const uint64_t rates[] = {1, 1000, 100000, UINT64_C(1000000000000)};
    struct lull_bucket_config config = {
        .capacity = 1 + (uint32_t)any_up_to(random, 999999),
        .rate_milli_per_s = 1 + (uint64_t)any_up_to(random, INT64_C(999999999999)),
    };
    if (one_in(random, 4)) {
        config.rate_milli_per_s = rates[lull_random_between(random, 0, COUNT_OF(rates) - 1)];
    }
    return config;
}

static void print_bucket(const struct bucket_world *world)
{
    print_error("capacity %" PRIu32 ", rate %" PRIu64 "/1000 s, missing %" PRId64 ", now %" PRId64
                "; taken %.0f, earned %.0f, limit %.0f\n",
                world->bucket.config.capacity, world->bucket.config.rate_milli_per_s,
                world->bucket.missing_micro, world->now_ms, (double)world->taken_micro,
                (double)world->earned_micro, (double)world->limit_micro);
}

#define assert_bucket(world, condition) assert_that(condition, "%s", (print_bucket(world), ""))

/* An interval may begin here, with at most a full bucket. */
static void mark_start(struct bucket_world *world)
{
    wide limit =
        world->taken_micro - world->earned_micro + (wide)world->bucket.config.capacity * 1000000;
    world->limit_micro = limit < world->limit_micro ? limit : world->limit_micro;
}

/* How long an empty bucket takes to be full, rounded up. */
static int64_t full_after(const struct lull_bucket_config *config)
{
    return (int64_t)config->capacity * 1000000 / (int64_t)config->rate_milli_per_s + 1;
}

/* The wait that a refusal names is enough, and a millisecond less is not. A clock that has stepped
 * back costs at most one bucket. */
static void check_refusal(const struct bucket_world *world, uint32_t tokens, int64_t wait_ms)
{
    bool is_too_many = tokens > world->bucket.config.capacity;
    assert_bucket(world, wait_ms > 0 && (wait_ms == LULL_NEVER) == is_too_many);
    if (!is_too_many) {
        struct lull_bucket early = world->bucket;
        struct lull_bucket later = world->bucket;
        int64_t early_ms = lull_bucket_take(&early, world->now_ms + wait_ms - 1, tokens);
        int64_t later_ms = lull_bucket_take(&later, world->now_ms + wait_ms, tokens);
        assert_bucket(world, early_ms == 1 && later_ms == 0);
        assert_bucket(world, wait_ms <= 2 * full_after(&world->bucket.config));
    }
}

static void take_tokens(struct bucket_world *world, uint32_t tokens)
{
    struct lull_bucket *bucket = &world->bucket;
    mark_start(world);
    uint32_t available = lull_bucket_available(bucket, world->now_ms);
    int64_t foretold_ms = lull_bucket_wait(bucket, world->now_ms, tokens);
    int64_t wait_ms = lull_bucket_take(bucket, world->now_ms, tokens);
    uint32_t left = lull_bucket_available(bucket, world->now_ms);
    assert_bucket(world, wait_ms == foretold_ms);
    assert_bucket(world, (wait_ms == 0) == (tokens <= available));
    assert_bucket(world, left == (wait_ms == 0 ? available - tokens : available));
    if (wait_ms != 0) {
        check_refusal(world, tokens, wait_ms);
        return;
    }
    world->taken_micro += (wide)tokens * 1000000;
    /* taken - taken' <= capacity + rate x time, for every start at once. */
    assert_bucket(world, world->taken_micro - world->earned_micro <= world->limit_micro);
}

static uint32_t any_tokens(struct bucket_world *world, struct lull_random *random)
{
    uint32_t capacity = world->bucket.config.capacity;
    if (one_in(random, 3)) { /* just what there is, or one more */
        return lull_bucket_available(&world->bucket, world->now_ms) + one_in(random, 2);
    }
    return (uint32_t)any_up_to(random, (int64_t)capacity + 2);
}

static void step_bucket(struct bucket_world *world, struct lull_random *random)
{
    struct lull_bucket *bucket = &world->bucket;
    int64_t rate = (int64_t)bucket->config.rate_milli_per_s;
    int64_t full_ms = full_after(&bucket->config);
    int64_t choice = lull_random_between(random, 0, 999);
    if (choice < 600) {
        take_tokens(world, any_tokens(world, random));
    } else if (choice < 950) {
        int64_t step_ms = any_up_to(random, one_in(random, 10)   ? 2 * full_ms
                                            : one_in(random, 50) ? INT64_C(1000000000000)
                                                                 : full_ms / 4 + 1);
        world->now_ms += step_ms;
        world->earned_micro += (wide)rate * step_ms;
    } else if (choice < 980) {
        uint32_t tokens = (uint32_t)any_up_to(random, bucket->config.capacity);
        lull_bucket_return(bucket, world->now_ms, tokens);
        world->taken_micro -= (wide)tokens * 1000000;
    } else if (choice < 990) {
        world->now_ms -= any_up_to(random, 3 * full_ms);
    } else {
        struct lull_bucket_config config = any_bucket(random);
        assert_int_equal(lull_bucket_configure(bucket, &config, world->now_ms), LULL_OK);
    }
}

static void test_g5_the_bucket_never_gives_more_than_capacity_and_rate(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("g5_the_bucket_never_gives_more_than_capacity_and_rate"));
    for (int i = 0; i < 1000; i++) {
        struct lull_bucket_config config = any_bucket(&random);
        struct bucket_world world = {.now_ms = any_up_to(&random, YEAR_MS) - YEAR_MS / 2};
        world.limit_micro = (wide)1000000 * config.capacity;
        assert_int_equal(lull_bucket_init(&world.bucket, &config, world.now_ms), LULL_OK);
        for (int j = 0; j < 1000; j++) {
            step_bucket(&world, &random);
        }
    }
}

/* Nor less: who takes all there is before the bucket is full gets every millionth that was
 * earned, at one token in a thousand seconds as at a million in a millisecond. */
static void test_g5_the_bucket_does_not_drift_at_any_rate(void **state)
{
    (void)state;
    static const struct lull_bucket_config rows[] = {
        {1, 1},
        {1, 7},
        {3, 999},
        {1, 1000},
        {20, 123457},
        {500, 100000},
        {1000000, 1},
        {1000000, 333333333},
        {1000, 1000000},
        {1000000, UINT64_C(999999999999)},
        {1000000, UINT64_C(1000000000000)},
    };
    struct lull_random random;
    lull_random_init(&random, test_seed("g5_the_bucket_does_not_drift_at_any_rate"));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bucket_world world = {.now_ms = 0};
        assert_int_equal(lull_bucket_init(&world.bucket, &rows[i], 0), LULL_OK);
        wide full_micro = (wide)rows[i].capacity * 1000000;
        wide rate = (wide)rows[i].rate_milli_per_s;
        for (int j = 0; j < 20000; j++) {
            uint32_t available = lull_bucket_available(&world.bucket, world.now_ms);
            int64_t wait_ms = lull_bucket_take(&world.bucket, world.now_ms, available);
            assert_bucket(&world, wait_ms == 0);
            world.taken_micro += (wide)available * 1000000;
            wide due_micro = full_micro + rate * world.now_ms;
            assert_bucket(&world, world.taken_micro == due_micro - due_micro % 1000000);
            int64_t until_full_ms = (int64_t)((world.taken_micro - rate * world.now_ms) / rate);
            world.now_ms += any_up_to(&random, until_full_ms);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_g5_the_bucket_never_gives_more_than_capacity_and_rate),
        cmocka_unit_test(test_g5_the_bucket_does_not_drift_at_any_rate),
    };
    return cmocka_run_group_tests_name("property_bucket", tests, NULL, NULL);
}
