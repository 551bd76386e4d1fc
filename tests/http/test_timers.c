/* timers: order, moves, what a call may do to the others, and a random run against a plain list. */
#include "suite.h"

#include "timers.h"

#define LOG_MAX 256

struct item {
    struct timer timer;
    int number;
    struct timers *timers;
    struct item *other;     /* what on_due does something to */
    int64_t other_due_ms;   /* it is set to, LULL_NEVER: cleared */
    int64_t again_after_ms; /* 0: not again */
};

static int called[LOG_MAX];
static int64_t called_due_ms[LOG_MAX];
static size_t called_count;

static void log_call(struct timer *timer, int64_t now_ms)
{
    struct item *item = owner_of(timer, struct item, timer);
    assert_int_equal(timer->place, 0); /* no longer set */
    assert_true(timer->due_ms <= now_ms);
    assert_true(called_count < LOG_MAX);
    called_due_ms[called_count] = timer->due_ms;
    called[called_count++] = item->number;
    if (item->other) {
        timers_set(item->timers, &item->other->timer, item->other_due_ms);
    }
    if (item->again_after_ms > 0) {
        timers_set(item->timers, timer, now_ms + item->again_after_ms);
    }
}

static void make(struct timers *timers, struct item *items, size_t count)
{
    memset(items, 0, count * sizeof *items);
    *timers = (struct timers){0};
    called_count = 0;
    for (size_t i = 0; i < count; i++) {
        items[i].number = (int)i;
        items[i].timers = timers;
        items[i].timer.on_due = log_call;
        assert_true(timers_reserve(timers));
    }
}

static void test_nothing_is_set(void **state)
{
    (void)state;
    struct timers timers = {0};
    struct timer timer = {0};
    assert_true(timers_due_ms(&timers) == LULL_NEVER);
    timers_run(&timers, INT64_MAX - 1);
    timers_clear(&timers, &timer);
    timers_set(&timers, &timer, LULL_NEVER); /* needs no room */
    assert_true(timers_due_ms(&timers) == LULL_NEVER);
    timers_free(&timers);
}

static void test_due_in_order_and_not_before(void **state)
{
    (void)state;
    struct timers timers;
    struct item items[5];
    make(&timers, items, 5);
    static const int64_t due_ms[5] = {50, -10, 30, 20, 40};
    for (size_t i = 0; i < 5; i++) {
        timers_set(&timers, &items[i].timer, due_ms[i]);
    }
    assert_int_equal(timers_due_ms(&timers), -10);
    timers_run(&timers, -11);
    assert_int_equal(called_count, 0);
    timers_run(&timers, 30);
    assert_int_equal(called_count, 3);
    assert_int_equal(called[0], 1);
    assert_int_equal(called[1], 3);
    assert_int_equal(called[2], 2);
    assert_int_equal(timers_due_ms(&timers), 40);
    timers_run(&timers, 50);
    assert_int_equal(called_count, 5);
    assert_int_equal(called[4], 0);
    assert_true(timers_due_ms(&timers) == LULL_NEVER);
    timers_free(&timers);
}

static void test_moved_and_cleared(void **state)
{
    (void)state;
    struct timers timers;
    struct item items[3];
    make(&timers, items, 3);
    for (size_t i = 0; i < 3; i++) {
        timers_set(&timers, &items[i].timer, 10 * (int64_t)(i + 1));
    }
    timers_set(&timers, &items[0].timer, 100); /* later */
    timers_set(&timers, &items[2].timer, 5);   /* earlier */
    timers_set(&timers, &items[1].timer, LULL_NEVER);
    timers_clear(&timers, &items[1].timer); /* once more does nothing */
    assert_int_equal(items[1].timer.place, 0);
    assert_int_equal(timers_due_ms(&timers), 5);
    timers_run(&timers, 1000);
    assert_int_equal(called_count, 2);
    assert_int_equal(called[0], 2);
    assert_int_equal(called[1], 0);
    timers_free(&timers);
}

static void test_a_call_may_set_and_clear(void **state)
{
    (void)state;
    struct timers timers;
    struct item items[4];
    make(&timers, items, 4);
    timers_set(&timers, &items[0].timer, 10);
    timers_set(&timers, &items[1].timer, 10);
    timers_set(&timers, &items[3].timer, 30);
    items[0].other = &items[2]; /* becomes due by the call: called in the same run */
    items[0].other_due_ms = 15;
    items[2].other = &items[3]; /* cleared before its turn */
    items[2].other_due_ms = LULL_NEVER;
    items[1].again_after_ms = 1; /* not due in this run */
    timers_run(&timers, 30);
    assert_int_equal(called_count, 3);
    assert_int_equal(called[2], 2);
    assert_int_equal(timers_due_ms(&timers), 31);
    timers_run(&timers, 31);
    assert_int_equal(called_count, 4);
    assert_int_equal(called[3], 1);
    timers_free(&timers);
}

/* Rooms are counted, not tied to a timer: what is given up is used by the next. */
static void test_reserved_rooms_are_used_again(void **state)
{
    (void)state;
    struct timers timers;
    struct item items[8];
    make(&timers, items, 8);
    size_t size = timers.size;
    for (int i = 0; i < 100; i++) {
        timers_unreserve(&timers);
        assert_true(timers_reserve(&timers));
    }
    assert_int_equal(timers.size, size);
    assert_int_equal(timers.reserved, 8);
    timers_free(&timers);
    assert_int_equal(timers.size, 0);
}

/* ---- against a model ---- */

#define ITEMS 100
#define STEPS 200000

static int64_t model_ms[ITEMS]; /* LULL_NEVER: not set */

static int64_t model_due_ms(void)
{
    int64_t due_ms = LULL_NEVER;
    for (size_t i = 0; i < ITEMS; i++) {
        due_ms = model_ms[i] < due_ms ? model_ms[i] : due_ms;
    }
    return due_ms;
}

static void run_both(struct timers *timers, int64_t now_ms)
{
    size_t expected = 0;
    called_count = 0;
    timers_run(timers, now_ms);
    for (size_t i = 0; i < ITEMS; i++) {
        expected += model_ms[i] <= now_ms;
    }
    assert_int_equal(called_count, expected);
    for (size_t i = 0; i < called_count; i++) {
        assert_true(i == 0 || called_due_ms[i - 1] <= called_due_ms[i]);
        assert_true(model_ms[called[i]] == called_due_ms[i]);
        model_ms[called[i]] = LULL_NEVER;
    }
}

static void test_random_steps_against_a_list(void **state)
{
    (void)state;
    struct lull_random random;
    struct timers timers;
    struct item items[ITEMS];
    int64_t now_ms = 0;
    size_t calls = 0;
    lull_random_init(&random, test_seed("timers"));
    make(&timers, items, ITEMS);
    for (size_t i = 0; i < ITEMS; i++) {
        model_ms[i] = LULL_NEVER;
    }
    for (int step = 0; step < STEPS; step++) {
        size_t i = (size_t)lull_random_between(&random, 0, ITEMS - 1);
        int64_t what = lull_random_between(&random, 0, 9);
        if (what < 6) {
            model_ms[i] = now_ms + lull_random_between(&random, -5, 300);
            timers_set(&timers, &items[i].timer, model_ms[i]);
        } else if (what < 8) {
            model_ms[i] = LULL_NEVER;
            timers_clear(&timers, &items[i].timer);
        } else {
            now_ms += lull_random_between(&random, 0, 20);
            run_both(&timers, now_ms);
            calls += called_count;
        }
        assert_true(timers_due_ms(&timers) == model_due_ms());
        assert_true((items[i].timer.place != 0) == (model_ms[i] != LULL_NEVER));
    }
    assert_true(calls > STEPS / 100);
    timers_free(&timers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_set),
        cmocka_unit_test(test_due_in_order_and_not_before),
        cmocka_unit_test(test_moved_and_cleared),
        cmocka_unit_test(test_a_call_may_set_and_clear),
        cmocka_unit_test(test_reserved_rooms_are_used_again),
        cmocka_unit_test(test_random_steps_against_a_list),
    };
    return cmocka_run_group_tests_name("timers", tests, NULL, NULL);
}
