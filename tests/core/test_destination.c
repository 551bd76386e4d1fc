/* G3: what is remembered of each destination is bounded, and the idle ones make room. */
#include "suite.h"

#define SLOTS_MAX 64

struct world {
    struct lull_destination_table table;
    struct lull_destination slots[SLOTS_MAX];
};

/* Too large for the stack of some. */
static struct world world;

static void make(size_t slot_count)
{
    struct lull_budget_config budget;
    struct lull_breaker_config breaker;
    memset(&world, 0, sizeof world);
    lull_budget_config_default(&budget);
    lull_breaker_config_default(&breaker);
    assert_int_equal(
        lull_destination_table_init(&world.table, &budget, &breaker, world.slots, slot_count),
        LULL_OK);
}

static bool is_there(uint64_t key)
{
    for (size_t i = 0; i < world.table.slot_count; i++) {
        if (world.slots[i].key == key) {
            return true;
        }
    }
    return false;
}

static void test_G3_one_key_one_destination(void **state)
{
    (void)state;
    make(SLOTS_MAX);
    struct lull_destination *first = lull_destination_get(&world.table, 7, 0);
    struct lull_destination *second = lull_destination_get(&world.table, 8, 0);
    assert_ptr_not_equal(first, second);
    lull_latency_add(&first->latency, 1000);
    assert_ptr_equal(lull_destination_get(&world.table, 7, 10), first);
    assert_int_equal(first->latency.total, 1);
    assert_int_equal(first->used_ms, 10);
    assert_int_equal(second->latency.total, 0);
}

static void test_G3_key_0_is_a_key(void **state)
{
    (void)state;
    make(8);
    struct lull_destination *zero = lull_destination_get(&world.table, 0, 0);
    assert_int_not_equal(zero->key, 0); /* that marks a free slot */
    lull_latency_add(&zero->latency, 1000);
    for (uint64_t key = 2; key < 9; key++) {
        (void)lull_destination_get(&world.table, key, 1);
    }
    assert_ptr_equal(lull_destination_get(&world.table, 0, 2), zero);
    assert_int_equal(zero->latency.total, 1);
}

static void test_G3_the_idlest_of_eight_makes_room(void **state)
{
    (void)state;
    make(8);
    for (uint64_t key = 1; key <= 8; key++) {
        (void)lull_destination_get(&world.table, key, (int64_t)key);
    }
    (void)lull_destination_get(&world.table, 1, 20); /* now 2 is the idlest */
    (void)lull_destination_get(&world.table, 99, 21);
    assert_false(is_there(2));
    assert_true(is_there(99));
    for (uint64_t key = 1; key <= 8; key++) {
        assert_true(key == 2 || is_there(key));
    }
    (void)lull_destination_get(&world.table, 100, 22);
    assert_false(is_there(3));
}

static void test_G3_fresh_after_eviction(void **state)
{
    (void)state;
    make(1);
    struct lull_random random;
    lull_random_init(&random, 1);
    struct lull_destination *destination = lull_destination_get(&world.table, 1, 0);
    uint64_t full = lull_budget_left(&destination->budget, 0);
    assert_true(full > 0);
    while (lull_budget_take(&destination->budget, 0, false) == 0) {
    }
    lull_breaker_trip(&destination->breaker, 0, 0, &random);
    lull_latency_add(&destination->latency, 1000);
    assert_int_equal(lull_budget_left(&destination->budget, 0), 0);
    struct lull_destination *other = lull_destination_get(&world.table, 2, 0);
    assert_ptr_equal(other, destination); /* there is only one place */
    assert_int_equal(lull_budget_left(&other->budget, 0), full);
    assert_int_equal(other->breaker.state, LULL_BREAKER_CLOSED);
    assert_int_equal(other->latency.total, 0);
    other = lull_destination_get(&world.table, 1, 0); /* and the first is forgotten */
    assert_int_equal(lull_budget_left(&other->budget, 0), full);
    assert_int_equal(other->breaker.state, LULL_BREAKER_CLOSED);
}

static void test_G3_bounded_for_any_number_of_keys(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 7, 8, 9, 63};
    struct lull_random random;
    lull_random_init(&random, test_seed("bounded_for_any_number_of_keys"));
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        make(sizes[i]);
        for (int j = 0; j < 2000; j++) {
            uint64_t key = lull_random_next(&random);
            struct lull_destination *destination = lull_destination_get(&world.table, key, j);
            assert_true(destination >= world.slots && destination < world.slots + sizes[i]);
            assert_ptr_equal(lull_destination_get(&world.table, key, j), destination);
        }
        assert_int_equal(world.slots[sizes[i]].key, 0); /* the one behind is untouched */
    }
}

static void test_G3_bad_configs_are_refused(void **state)
{
    (void)state;
    struct lull_budget_config budget;
    struct lull_breaker_config breaker;
    struct lull_destination_table before;
    make(8);
    memcpy(&before, &world.table, sizeof before);
    lull_budget_config_default(&budget);
    lull_breaker_config_default(&breaker);
    assert_int_equal(
        lull_destination_table_init(&world.table, &budget, &breaker, world.slots + 1, 0),
        LULL_ERR_RANGE);
    budget.ratio_permille = 1001;
    assert_int_equal(
        lull_destination_table_init(&world.table, &budget, &breaker, world.slots + 1, 4),
        LULL_ERR_RANGE);
    lull_budget_config_default(&budget);
    breaker.window_ms = 61;
    assert_int_equal(
        lull_destination_table_init(&world.table, &budget, &breaker, world.slots + 1, 4),
        LULL_ERR_RANGE);
    assert_memory_equal(&before, &world.table, sizeof before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_G3_one_key_one_destination),
        cmocka_unit_test(test_G3_key_0_is_a_key),
        cmocka_unit_test(test_G3_the_idlest_of_eight_makes_room),
        cmocka_unit_test(test_G3_fresh_after_eviction),
        cmocka_unit_test(test_G3_bounded_for_any_number_of_keys),
        cmocka_unit_test(test_G3_bad_configs_are_refused),
    };
    return cmocka_run_group_tests_name("destination", tests, NULL, NULL);
}
