/* G1, G2, G3: no history passes the retry budget, and none is locked out. */
#include "property.h"

struct budget_world {
    struct lull_budget budget;
    int64_t now_ms;
    int64_t seen_ms; /* the latest time that the budget was told: where its window is held */
    int64_t real_ms; /* since it was made */
    struct log requests;
    struct log paid; /* retries that the ratio paid for */
    uint64_t granted;
    uint64_t from_reserve;
    uint32_t tokens;
};

static struct lull_budget_config any_budget(struct lull_random *random, enum lull_budget_form form)
{
    struct lull_budget_config config;
    lull_budget_config_default(&config);
    config.form = form;
    if (one_in(random, 5)) {
        return config;
    }
    config.ratio_permille = (uint32_t)lull_random_between(random, 0, 1000);
    config.window_ms = LULL_WINDOW_SLOTS * (1 + any_up_to(random, 2000));
    config.warm_up = (uint32_t)any_up_to(random, 30);
    config.reserve = one_in(random, 3) ? 0 : 1 + (uint32_t)any_up_to(random, 50);
    config.reserve_milli_per_s = 1 + (uint32_t)any_up_to(random, 1000000);
    config.tokens_max = 1 + (uint32_t)any_up_to(random, 1000);
    config.tokens_retry = 1 + (uint32_t)any_up_to(random, config.tokens_max - 1);
    config.tokens_timeout = (uint32_t)any_up_to(random, config.tokens_max);
    config.tokens_success = (uint32_t)any_up_to(random, 20);
    return config;
}

static uint32_t reserve_available(struct budget_world *world)
{
    return world->budget.config.reserve > 0
               ? lull_bucket_available(&world->budget.reserve, world->now_ms)
               : 0;
}

static void see_now(struct budget_world *world)
{
    world->seen_ms = max_of(world->seen_ms, world->now_ms);
}

static void print_budget(const struct budget_world *world)
{
    const struct lull_budget_config *config = &world->budget.config;
    print_error("form %d, ratio %" PRIu32 ", window %" PRId64 ", warm-up %" PRIu32
                ", reserve %" PRIu32 " + %" PRIu32 "/1000 s, now %" PRId64 ", real %" PRId64
                "; requests %" PRIu64 ", granted %" PRIu64 ", by the ratio %" PRIu64 "\n",
                (int)config->form, config->ratio_permille, config->window_ms, config->warm_up,
                config->reserve, config->reserve_milli_per_s, world->now_ms, world->real_ms,
                log_total(&world->requests), world->granted, log_total(&world->paid));
}

#define assert_budget(world, condition) assert_that(condition, "%s", (print_budget(world), ""))

/* G1, at a retry that the ratio has just paid for: the true last window, by the log. */
static void check_ratio(const struct budget_world *world)
{
    const struct lull_budget_config *config = &world->budget.config;
    int64_t from_ms = world->seen_ms - config->window_ms + 1;
    uint64_t requests = log_since(&world->requests, from_ms);
    uint64_t retries = log_since(&world->paid, from_ms);
    assert_budget(world, retries * 1000 <= requests * config->ratio_permille);
    assert_budget(world, requests >= config->warm_up);
}

/* Over all time. Windows that end at a retry can be laid side by side without overlapping, so no
 * request pays twice; and the reserve gives what was in it, and what time has brought. */
static void check_total(const struct budget_world *world)
{
    const struct lull_budget_config *config = &world->budget.config;
    wide reserve_micro = 0;
    if (config->reserve > 0) {
        reserve_micro =
            (wide)config->reserve * 1000000 + (wide)config->reserve_milli_per_s * world->real_ms;
    }
    wide ratio_micro = (wide)log_total(&world->requests) * config->ratio_permille * 1000;
    assert_budget(world, (wide)world->from_reserve * 1000000 <= reserve_micro);
    if (config->form == LULL_BUDGET_RATIO) {
        assert_budget(world, (wide)world->granted * 1000000 <= ratio_micro + reserve_micro);
    }
}

static void on_granted(struct budget_world *world, bool is_from_reserve, bool was_timeout)
{
    const struct lull_budget_config *config = &world->budget.config;
    world->granted++;
    if (is_from_reserve) {
        world->from_reserve++;
    } else if (config->form == LULL_BUDGET_TOKEN) {
        uint32_t cost = was_timeout ? config->tokens_timeout : config->tokens_retry;
        assert_budget(world, world->tokens >= cost);
        world->tokens -= cost;
    } else {
        log_add(&world->paid, world->seen_ms, 1);
        check_ratio(world);
    }
    check_total(world);
}

static void try_retry(struct budget_world *world, bool was_timeout)
{
    struct lull_budget *budget = &world->budget;
    see_now(world);
    uint32_t reserve_before = reserve_available(world);
    uint64_t left_before = lull_budget_left(budget, world->now_ms);
    int64_t foretold_ms = lull_budget_wait(budget, world->now_ms, was_timeout);
    int64_t wait_ms = lull_budget_take(budget, world->now_ms, was_timeout);
    uint64_t left_after = lull_budget_left(budget, world->now_ms);
    bool is_from_reserve = reserve_available(world) < reserve_before;
    assert_budget(world, wait_ms == foretold_ms);
    if (wait_ms == 0) {
        assert_budget(world,
                      budget->config.form == LULL_BUDGET_TOKEN || left_after == left_before - 1);
        on_granted(world, is_from_reserve, was_timeout);
        return;
    }
    /* A refusal changes nothing, and names the wait after which there is none (G3). */
    assert_budget(world, wait_ms > 0 && left_after == left_before && !is_from_reserve);
    assert_budget(world, was_timeout || left_before == 0);
    assert_budget(world, (wait_ms == LULL_NEVER) == (budget->config.reserve == 0));
    if (wait_ms != LULL_NEVER) {
        struct lull_budget later = *budget;
        int64_t later_ms = lull_budget_take(&later, world->now_ms + wait_ms, was_timeout);
        assert_budget(world, later_ms == 0);
    }
}

static void succeed(struct budget_world *world)
{
    const struct lull_budget_config *config = &world->budget.config;
    lull_budget_on_success(&world->budget, world->now_ms);
    world->tokens =
        (uint32_t)min_of((int64_t)world->tokens + config->tokens_success, config->tokens_max);
}

static void step_budget(struct budget_world *world, struct lull_random *random)
{
    int64_t choice = lull_random_between(random, 0, 99);
    int64_t step_ms = 0;
    if (choice < 45) {
        see_now(world);
        lull_budget_on_request(&world->budget, world->now_ms);
        log_add(&world->requests, world->seen_ms, 1);
    } else if (choice < 75) {
        try_retry(world, one_in(random, 4));
    } else if (choice < 80) {
        succeed(world);
    } else {
        step_ms = any_step(random, world->budget.config.window_ms);
    }
    world->now_ms += step_ms;
    world->real_ms += max_of(0, step_ms);
}

/* G3: spend all there is; what was left says how much that was. Then time alone gives one back,
 * however many of the requests were retries: the time of one, and after a clock that has stepped
 * back at most that of a full reserve besides. */
static void check_not_locked_out(const struct budget_world *world)
{
    struct lull_budget budget = world->budget;
    int64_t now_ms = world->now_ms;
    uint64_t left = lull_budget_left(&budget, now_ms);
    uint64_t spent = 0;
    while (spent <= left && lull_budget_take(&budget, now_ms, false) == 0) {
        spent++;
    }
    assert_budget(world, spent == left);
    if (budget.config.reserve > 0) {
        int64_t rate = budget.config.reserve_milli_per_s;
        now_ms += ((int64_t)budget.config.reserve + 1) * 1000000 / rate + 2;
        int64_t wait_ms = lull_budget_take(&budget, now_ms, false);
        assert_budget(world, wait_ms == 0);
    }
}

static void run_budget_history(struct budget_world *world, enum lull_budget_form form,
                               struct lull_random *random)
{
    struct lull_budget_config config = any_budget(random, form);
    memset(world, 0, sizeof *world);
    world->now_ms = any_up_to(random, YEAR_MS) - YEAR_MS / 2;
    world->seen_ms = world->now_ms;
    world->tokens = config.tokens_max;
    assert_int_equal(lull_budget_init(&world->budget, &config, world->now_ms), LULL_OK);
    for (int i = 0; i < 2500; i++) {
        step_budget(world, random);
        if (i % 50 == 0) {
            check_not_locked_out(world);
        }
        if (form == LULL_BUDGET_TOKEN) {
            assert_int_equal(world->budget.tokens, world->tokens); /* G2 */
        }
    }
}

static void test_g1_g3_the_ratio_budget_holds_in_every_window(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("g1_g3_the_ratio_budget_holds_in_every_window"));
    static struct budget_world world;
    uint64_t by_ratio = 0;
    for (int i = 0; i < 400; i++) {
        run_budget_history(&world, LULL_BUDGET_RATIO, &random);
        by_ratio += log_total(&world.paid);
    }
    assert_in_range(by_ratio, 10000, 1000000); /* else it would show little */
}

static void test_g2_g3_the_token_budget_is_never_locked_out(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("g2_g3_the_token_budget_is_never_locked_out"));
    static struct budget_world world;
    for (int i = 0; i < 100; i++) {
        run_budget_history(&world, LULL_BUDGET_TOKEN, &random);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_g1_g3_the_ratio_budget_holds_in_every_window),
        cmocka_unit_test(test_g2_g3_the_token_budget_is_never_locked_out),
    };
    return cmocka_run_group_tests_name("property_budget", tests, NULL, NULL);
}
