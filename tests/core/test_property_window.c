/* G1, K1: the window brackets the true count. */
#include "property.h"

struct window_world {
    struct lull_window window;
    int64_t span_ms;
    int64_t now_ms;
    int64_t seen_ms; /* the latest time that it was told: where it is held */
    struct log logs[LULL_WINDOW_COUNTERS];
};

static void print_window(const struct window_world *world, unsigned counter)
{
    struct lull_window window = world->window;
    print_error("span %" PRId64 ", slot %" PRId64 " ms, now %" PRId64 ", held at %" PRId64
                ": over %" PRIu64 ", under %" PRIu64 "\n",
                world->span_ms, window.slot_ms, world->now_ms, world->seen_ms,
                lull_window_over(&window, world->now_ms, counter),
                lull_window_under(&window, world->now_ms, counter));
}

/* Never too few, never too many; and neither is off by more than one slot at the far end. */
static void check_window(struct window_world *world, unsigned counter)
{
    const struct log *log = &world->logs[counter];
    int64_t slot_ms = world->span_ms / LULL_WINDOW_SLOTS;
    world->seen_ms = max_of(world->seen_ms, world->now_ms);
    int64_t start_ms = world->seen_ms - world->span_ms;
    uint64_t over = lull_window_over(&world->window, world->now_ms, counter);
    uint64_t under = lull_window_under(&world->window, world->now_ms, counter);
    bool is_enough = over >= log_since(log, start_ms);
    bool is_recent = over <= log_since(log, start_ms - slot_ms + 1);
    bool is_within = under <= log_since(log, start_ms + 1);
    bool is_near = under >= log_since(log, start_ms + slot_ms + 1);
    if (!is_enough || !is_recent || !is_within || !is_near) {
        print_window(world, counter);
    }
    assert_true(is_enough);
    assert_true(is_recent);
    assert_true(is_within);
    assert_true(is_near);
}

static void step_window(struct window_world *world, struct lull_random *random)
{
    unsigned counter = (unsigned)lull_random_between(random, 0, LULL_WINDOW_COUNTERS - 1);
    int64_t choice = lull_random_between(random, 0, 9);
    if (choice < 4) {
        uint32_t amount = (uint32_t)any_up_to(random, 1000);
        world->seen_ms = max_of(world->seen_ms, world->now_ms);
        lull_window_add(&world->window, world->now_ms, counter, amount);
        log_add(&world->logs[counter], world->seen_ms, amount);
    } else if (choice < 7) {
        check_window(world, counter);
    } else {
        world->now_ms += any_step(random, world->span_ms);
    }
}

static void test_g1_k1_the_window_brackets_the_true_count(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("g1_k1_the_window_brackets_the_true_count"));
    static struct window_world world;
    for (int i = 0; i < 400; i++) {
        world.span_ms = LULL_WINDOW_SLOTS * (1 + any_up_to(&random, 100000));
        /* Anywhere, and often where 0 is crossed: dividing rounds the other way below it. */
        world.now_ms = one_in(&random, 2)
                           ? -any_up_to(&random, 2 * world.span_ms)
                           : lull_random_between(&random, -(INT64_C(1) << 60), INT64_C(1) << 60);
        world.seen_ms = world.now_ms;
        for (unsigned counter = 0; counter < LULL_WINDOW_COUNTERS; counter++) {
            world.logs[counter].count = 0;
        }
        assert_int_equal(lull_window_init(&world.window, world.span_ms, world.now_ms), LULL_OK);
        for (int j = 0; j < 2500; j++) {
            step_window(&world, &random);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_g1_k1_the_window_brackets_the_true_count),
    };
    return cmocka_run_group_tests_name("property_window", tests, NULL, NULL);
}
