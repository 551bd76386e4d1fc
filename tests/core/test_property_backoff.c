/* B1, B2, B3, A8: no strategy leaves its bounds. */
#include "property.h"

static uint32_t any_n(struct lull_random *random)
{
    return one_in(random, 20) ? UINT32_MAX : (uint32_t)any_up_to(random, UINT32_MAX);
}

/* ceiling(n) by the formula of B2, multiplied out; false where that would take too long or is not
 * exact. No wait is over LULL_WAIT_MAX_MS, so 128 bits are plenty. */
static bool model_ceiling(const struct lull_backoff *backoff, uint32_t n, int64_t *ret_ceiling_ms)
{
    wide multiplier = (wide)backoff->multiplier;
    wide ceiling = backoff->base_ms;
    if ((double)multiplier != backoff->multiplier) {
        return false;
    }
    for (uint32_t i = 1; i < n && multiplier > 1 && ceiling < backoff->cap_ms; i++) {
        ceiling *= multiplier;
    }
    *ret_ceiling_ms = ceiling < backoff->cap_ms ? (int64_t)ceiling : backoff->cap_ms;
    return true;
}

/* The range of B1, floor included; where the ceiling is not known exactly, it is the one given. */
static struct lull_backoff_range model_range(const struct lull_backoff *backoff, uint32_t n,
                                             int64_t previous_ms, int64_t ceiling_ms)
{
    wide product = 0;
    struct lull_backoff_range range = {ceiling_ms, ceiling_ms};
    switch (backoff->strategy) {
    case LULL_BACKOFF_IMMEDIATE:
        range.min_ms = range.max_ms = n > 1 ? LULL_NEVER : 0;
        break;
    case LULL_BACKOFF_FIXED:
        range.min_ms = range.max_ms = backoff->base_ms;
        break;
    case LULL_BACKOFF_LINEAR:
        product = (wide)backoff->base_ms * (n > 0 ? n : 1);
        range.max_ms = product < backoff->cap_ms ? (int64_t)product : backoff->cap_ms;
        range.min_ms = range.max_ms;
        break;
    case LULL_BACKOFF_FULL_JITTER:
        range.min_ms = 0;
        break;
    case LULL_BACKOFF_EQUAL_JITTER:
        range.min_ms = ceiling_ms / 2;
        break;
    case LULL_BACKOFF_DECORRELATED:
        product = (wide)max_of(previous_ms, backoff->base_ms) * 3;
        range.min_ms = backoff->base_ms;
        range.max_ms = product < backoff->cap_ms ? (int64_t)product : backoff->cap_ms;
        break;
    default:
        break;
    }
    range.min_ms = max_of(range.min_ms, backoff->floor_ms);
    range.max_ms = max_of(range.max_ms, range.min_ms);
    return range;
}

static void check_draw(const struct lull_backoff *backoff, uint32_t n, int64_t previous_ms,
                       struct lull_random *random)
{
    struct lull_backoff_range range = lull_backoff_bounds(backoff, n, previous_ms);
    int64_t ceiling_ms = range.max_ms;
    bool is_exact = model_ceiling(backoff, n, &ceiling_ms);
    struct lull_backoff_range model = model_range(backoff, n, previous_ms, ceiling_ms);
    int64_t wait_ms = lull_backoff_draw(backoff, n, previous_ms, random);
    bool is_never = backoff->strategy == LULL_BACKOFF_IMMEDIATE && n > 1;
    bool is_bounded =
        is_never || (range.min_ms >= backoff->floor_ms && range.max_ms <= backoff->cap_ms);
    bool is_model = range.min_ms == model.min_ms && range.max_ms == model.max_ms;
    bool is_inside = wait_ms >= model.min_ms && wait_ms <= model.max_ms;
    if (!is_bounded || !is_model || !is_inside) {
        print_backoff(backoff, n, previous_ms);
        print_error("%" PRId64 " ms drawn from [%" PRId64 ", %" PRId64 "], %s model [%" PRId64
                    ", %" PRId64 "]\n",
                    wait_ms, range.min_ms, range.max_ms, is_exact ? "exact" : "near", model.min_ms,
                    model.max_ms);
    }
    assert_true(is_bounded);
    assert_true(is_model);
    assert_true(is_inside);
}

static void test_b1_b2_b3_a8_no_strategy_leaves_its_bounds(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("b1_b2_b3_a8_no_strategy_leaves_its_bounds"));
    struct lull_backoff backoff = any_backoff(&random);
    for (int i = 0; i < 1000000; i++) {
        if (i % 4 == 0) {
            backoff = any_backoff(&random);
        }
        check_draw(&backoff, any_n(&random), any_previous(&random), &random);
    }
}

/* The exponential ceiling of retry n, which has no jitter in it. */
static int64_t ceiling_of(struct lull_backoff backoff, uint32_t n)
{
    backoff.strategy = LULL_BACKOFF_EXPONENTIAL;
    backoff.floor_ms = 0;
    return lull_backoff_bounds(&backoff, n, 0).max_ms;
}

/* Multiplied one by one, in more digits than a double has; for few n. */
static int64_t slow_ceiling(const struct lull_backoff *backoff, uint32_t n)
{
    long double ceiling = (long double)backoff->base_ms;
    for (uint32_t i = 1; i < n && ceiling < (long double)backoff->cap_ms; i++) {
        ceiling *= (long double)backoff->multiplier;
    }
    return ceiling < (long double)backoff->cap_ms ? (int64_t)ceiling : backoff->cap_ms;
}

static void test_b2_the_ceiling_follows_its_formula(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("b2_the_ceiling_follows_its_formula"));
    for (int i = 0; i < 100000; i++) {
        struct lull_backoff backoff = any_backoff(&random);
        uint32_t n = (uint32_t)lull_random_between(&random, 1, 64);
        int64_t found = ceiling_of(backoff, n);
        int64_t model = slow_ceiling(&backoff, n);
        /* 64 roundings of a double, and one to whole milliseconds. */
        int64_t slack = 1 + model / 10000000000000;
        if (found < model - slack || found > model + slack) {
            print_backoff(&backoff, n, 0);
        }
        assert_in_range(found, max_of(0, model - slack), model + slack);
    }
}

/* A later retry never has the shorter ceiling, up to the last n there is. */
static void test_b2_the_ceiling_never_falls(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("b2_the_ceiling_never_falls"));
    for (int i = 0; i < 300000; i++) {
        struct lull_backoff backoff = any_backoff(&random);
        uint32_t n = any_n(&random);
        uint32_t next = n < UINT32_MAX ? n + 1 : n;
        uint32_t later = (uint32_t)lull_random_between(&random, next, UINT32_MAX);
        int64_t here_ms = ceiling_of(backoff, n);
        int64_t next_ms = ceiling_of(backoff, next);
        int64_t later_ms = ceiling_of(backoff, later);
        if (here_ms > next_ms || next_ms > later_ms) {
            print_backoff(&backoff, n, 0);
        }
        assert_that(backoff.base_ms <= here_ms && here_ms <= next_ms && next_ms <= later_ms &&
                        later_ms <= backoff.cap_ms,
                    "ceilings %" PRId64 " at n, %" PRId64 " at n + 1, %" PRId64 " at %" PRIu32 "\n",
                    here_ms, next_ms, later_ms, later);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_b1_b2_b3_a8_no_strategy_leaves_its_bounds),
        cmocka_unit_test(test_b2_the_ceiling_follows_its_formula),
        cmocka_unit_test(test_b2_the_ceiling_never_falls),
    };
    return cmocka_run_group_tests_name("property_backoff", tests, NULL, NULL);
}
