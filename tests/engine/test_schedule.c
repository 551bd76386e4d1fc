/* Whose turn it is, against a list that is looked through from end to end. */
#include "suite.h"

#include "schedule.h"

#define PLACES 20
#define NUMBERS 60

static void test_the_first_that_is_due_and_then_the_others_in_turn(void **state)
{
    (void)state;
    struct schedule schedule;
    assert_true(schedule_init(&schedule, 4));
    for (uint32_t number = 1; number <= 3; number++) {
        schedule_wake(&schedule, schedule_add(&schedule, number), 10 * number);
    }
    assert_int_equal(schedule_wake_ms(&schedule), 10);
    assert_null(schedule_next(&schedule, 9));
    assert_int_equal(schedule_next(&schedule, 10)->number, 1);
    for (uint32_t number = 1; number <= 3; number++) { /* all at the same time: they take turns */
        schedule_wake(&schedule, schedule_find(&schedule, number), 50);
    }
    uint32_t seen = 0;
    for (int turn = 0; turn < 6; turn++) {
        seen += 1U << 4 * (schedule_next(&schedule, 50)->number - 1);
    }
    assert_int_equal(seen, 0x222);
    for (uint32_t number = 1; number <= 3; number++) {
        schedule_wake(&schedule, schedule_find(&schedule, number), LULL_NEVER);
    }
    assert_true(schedule_wake_ms(&schedule) == LULL_NEVER);
    schedule_clean_up(&schedule);
}

static void test_an_idle_service_makes_room_and_one_at_work_does_not(void **state)
{
    (void)state;
    struct schedule schedule;
    assert_true(schedule_init(&schedule, 2));
    schedule_add(&schedule, 1)->waiting = 1;
    schedule_add(&schedule, 2)->in_flight = 1;
    assert_null(schedule_add(&schedule, 3));
    schedule_find(&schedule, 2)->in_flight = 0;
    assert_non_null(schedule_add(&schedule, 3));
    assert_null(schedule_find(&schedule, 2));
    assert_non_null(schedule_find(&schedule, 1));
    schedule_clean_up(&schedule);
}

static void test_random_steps_agree_with_a_list(void **state)
{
    (void)state;
    struct lull_random random;
    struct schedule schedule;
    int64_t wake_ms[NUMBERS + 1] = {0}; /* 0: not known */
    lull_random_init(&random, test_seed("schedule"));
    assert_true(schedule_init(&schedule, PLACES));
    for (int step = 0; step < 200000; step++) {
        uint32_t number = (uint32_t)lull_random_between(&random, 1, NUMBERS);
        struct scheduled *service = schedule_find(&schedule, number);
        assert_true((service != NULL) == (wake_ms[number] != 0));
        if (!service) {
            service = schedule_add(&schedule, number); /* for one that is idle, if it has to be */
            assert_non_null(service);
            for (uint32_t other = 1; other <= NUMBERS; other++) {
                if (other != number && !schedule_find(&schedule, other)) {
                    wake_ms[other] = 0;
                }
            }
        }
        bool is_never = lull_random_between(&random, 0, 3) == 0;
        wake_ms[number] = is_never ? LULL_NEVER : lull_random_between(&random, 1, 1000);
        schedule_wake(&schedule, service, wake_ms[number]);
        int64_t first_ms = LULL_NEVER;
        for (uint32_t other = 1; other <= NUMBERS; other++) {
            first_ms = wake_ms[other] != 0 && wake_ms[other] < first_ms ? wake_ms[other] : first_ms;
        }
        assert_true(schedule_wake_ms(&schedule) == first_ms);
        const struct scheduled *next = schedule_next(&schedule, 1000);
        assert_true(next ? next->wake_ms == first_ms : first_ms == LULL_NEVER);
    }
    schedule_clean_up(&schedule);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_first_that_is_due_and_then_the_others_in_turn),
        cmocka_unit_test(test_an_idle_service_makes_room_and_one_at_work_does_not),
        cmocka_unit_test(test_random_steps_agree_with_a_list),
    };
    return cmocka_run_group_tests_name("schedule", tests, NULL, NULL);
}
