/* The table of numbers, against one that is looked through from end to end. */
#include "suite.h"

#include "number_table.h"

#define ENTRIES 64

static void test_it_finds_what_was_set_and_nothing_else(void **state)
{
    (void)state;
    struct number_table table;
    assert_true(number_table_init(&table, 4));
    assert_int_equal(number_table_find(&table, 0), NUMBER_TABLE_NONE);
    number_table_set(&table, 0, 7); /* 0 is a number like others */
    number_table_set(&table, UINT64_MAX, 0);
    assert_int_equal(number_table_find(&table, 0), 7);
    assert_int_equal(number_table_find(&table, UINT64_MAX), 0);
    number_table_set(&table, 0, 8);
    assert_int_equal(number_table_find(&table, 0), 8);
    number_table_remove(&table, 0);
    number_table_remove(&table, 0); /* what is not there can go once more */
    assert_int_equal(number_table_find(&table, 0), NUMBER_TABLE_NONE);
    assert_int_equal(number_table_find(&table, UINT64_MAX), 0);
    number_table_clean_up(&table);
}

/* Few places and few keys, so that runs of neighbours come about and are broken up all the time. */
static void test_random_steps_agree_with_a_list(void **state)
{
    (void)state;
    struct lull_random random;
    struct number_table table;
    uint32_t values[4 * ENTRIES] = {0}; /* of each key; 0: not in */
    uint32_t count = 0;
    lull_random_init(&random, test_seed("number_table"));
    assert_true(number_table_init(&table, ENTRIES));
    for (uint32_t step = 1; step <= 300000; step++) {
        uint64_t key = (uint64_t)lull_random_between(&random, 0, 4 * ENTRIES - 1);
        if (lull_random_between(&random, 0, 1) == 0 && (values[key] != 0 || count < ENTRIES)) {
            count += values[key] == 0;
            values[key] = step;
            number_table_set(&table, key << 20, step);
        } else {
            count -= values[key] != 0;
            values[key] = 0;
            number_table_remove(&table, key << 20);
        }
        uint64_t other = (uint64_t)lull_random_between(&random, 0, 4 * ENTRIES - 1);
        assert_int_equal(number_table_find(&table, other << 20),
                         values[other] != 0 ? values[other] : NUMBER_TABLE_NONE);
    }
    number_table_clean_up(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_finds_what_was_set_and_nothing_else),
        cmocka_unit_test(test_random_steps_agree_with_a_list),
    };
    return cmocka_run_group_tests_name("number_table", tests, NULL, NULL);
}
