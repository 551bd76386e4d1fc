/* Who may go next: limits for each origin and in all, and the origins in turn. */
#include "suite.h"

#include "lanes.h"

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])

static void add(struct lanes *lanes, struct lane_item *item, const char *text)
{
    struct url url;
    assert_int_equal(url_split(text, &url), LULL_OK);
    assert_true(lanes_add(lanes, item, &url));
}

static void test_C1_first_come_first_served(void **state)
{
    (void)state;
    struct lanes lanes;
    struct lane_item items[4];
    lanes_init(&lanes, 2, 100);
    assert_null(lanes_next(&lanes));
    for (size_t i = 0; i < LENGTH(items); i++) {
        add(&lanes, &items[i], "http://a.test/x");
    }
    assert_ptr_equal(lanes_next(&lanes), &items[0]);
    assert_ptr_equal(lanes_next(&lanes), &items[1]);
    assert_false(lanes_has_next(&lanes));
    assert_null(lanes_next(&lanes));
    lanes_remove(&lanes, &items[1]);
    assert_true(lanes_has_next(&lanes));
    lanes_remove(&lanes, &items[2]); /* it gave up waiting */
    assert_ptr_equal(lanes_next(&lanes), &items[3]);
    assert_null(lanes_next(&lanes));
    lanes_remove(&lanes, &items[0]);
    lanes_remove(&lanes, &items[3]);
    assert_int_equal(lanes.running, 0);
    lanes_free(&lanes); /* has nothing to free, says the sanitizer */
}

static void test_C1_origins_take_turns(void **state)
{
    (void)state;
    static const char *const urls[] = {"http://a.test/1", "http://a.test/2", "http://a.test/3",
                                       "http://b.test/1", "https://a.test/", "http://a.test:81/"};
    static const size_t order[] = {0, 3, 4, 5, 1, 2};
    struct lanes lanes;
    struct lane_item items[LENGTH(urls)];
    lanes_init(&lanes, 4, 100);
    for (size_t i = 0; i < LENGTH(urls); i++) {
        add(&lanes, &items[i], urls[i]);
    }
    for (size_t i = 0; i < LENGTH(order); i++) {
        assert_ptr_equal(lanes_next(&lanes), &items[order[i]]);
    }
    assert_null(lanes_next(&lanes));
    lanes_free(&lanes);
}

static void test_C1_so_many_in_all(void **state)
{
    (void)state;
    struct lanes lanes;
    struct lane_item items[3];
    lanes_init(&lanes, 4, 2);
    add(&lanes, &items[0], "http://a.test/");
    add(&lanes, &items[1], "http://b.test/");
    add(&lanes, &items[2], "http://c.test/");
    assert_ptr_equal(lanes_next(&lanes), &items[0]);
    assert_ptr_equal(lanes_next(&lanes), &items[1]);
    assert_null(lanes_next(&lanes));
    lanes_remove(&lanes, &items[1]);
    assert_ptr_equal(lanes_next(&lanes), &items[2]);
    lanes_free(&lanes);
}

/* Against counts that are kept by hand. */
static void test_property_limits_hold(void **state)
{
    (void)state;
    enum { ITEMS = 300, ORIGINS = 7, PER_LANE = 3, ALL = 10, IDLE = 0, WAITING, RUNNING };
    static struct lane_item items[ITEMS];
    static int states[ITEMS];
    size_t running[ORIGINS] = {0};
    size_t waiting[ORIGINS] = {0};
    size_t all = 0;
    struct lull_random random;
    struct lanes lanes;
    lull_random_init(&random, test_seed("limits_hold"));
    lanes_init(&lanes, PER_LANE, ALL);
    for (int round = 0; round < 100000; round++) {
        size_t i = (size_t)lull_random_between(&random, 0, ITEMS - 1);
        size_t origin = i % ORIGINS;
        if (states[i] == IDLE) {
            char url[32];
            (void)snprintf(url, sizeof url, "http://host-%zu.test/", origin);
            add(&lanes, &items[i], url);
            states[i] = WAITING;
            waiting[origin]++;
        } else {
            lanes_remove(&lanes, &items[i]);
            *(states[i] == WAITING ? &waiting[origin] : &running[origin]) -= 1;
            all -= states[i] == RUNNING;
            states[i] = IDLE;
        }
        struct lane_item *item = NULL;
        while (lull_random_between(&random, 0, 3) > 0 && (item = lanes_next(&lanes))) {
            size_t index = (size_t)(item - items);
            assert_int_equal(states[index], WAITING);
            states[index] = RUNNING;
            waiting[index % ORIGINS]--;
            running[index % ORIGINS]++;
            all++;
            assert_true(running[index % ORIGINS] <= PER_LANE && all <= ALL);
        }
        bool may_one_go = false;
        for (size_t j = 0; j < ORIGINS; j++) {
            may_one_go = may_one_go || (waiting[j] > 0 && running[j] < PER_LANE);
        }
        assert_int_equal(lanes_has_next(&lanes), may_one_go && all < ALL);
    }
    for (size_t i = 0; i < ITEMS; i++) {
        if (states[i] != IDLE) {
            lanes_remove(&lanes, &items[i]);
        }
    }
    assert_int_equal(lanes.running, 0);
    assert_null(lanes.ready_first);
    lanes_free(&lanes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_C1_first_come_first_served),
        cmocka_unit_test(test_C1_origins_take_turns),
        cmocka_unit_test(test_C1_so_many_in_all),
        cmocka_unit_test(test_property_limits_hold),
    };
    return cmocka_run_group_tests_name("lanes", tests, NULL, NULL);
}
