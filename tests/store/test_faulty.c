/* The store that goes wrong by plan: a fault changes nothing, a cut all or nothing, and a seed
 * repeats them. SPDX-License-Identifier: MIT */
#include "worlds.h"

#include "faulty.h"

#define MILLION 1000000

static void open_with(struct world *world, uint64_t seed, struct faulty_plan plan)
{
    struct store *memory = NULL;
    *world = (struct world){.now_ms = NOW_MS};
    assert_int_equal(store_memory_open(&memory), LULL_OK);
    assert_int_equal(store_service(memory, "fcm", 3, &world->service), LULL_OK);
    assert_int_equal(store_faulty_open(&world->store, memory, seed, &plan), LULL_OK);
}

static int put_three(struct world *world, uint64_t *ret_first_id)
{
    struct store_put puts[3];
    for (int i = 0; i < 3; i++) {
        puts[i] = (struct store_put){.message = make_message(world), .is_lease_wanted = i > 0};
    }
    struct message *leased = NULL;
    struct store_lease lease = {.service = world->service, .max = 1, .messages = &leased};
    struct store_batch batch = {.puts = puts, .put_count = 3, .leases = &lease, .lease_count = 1};
    int error = store_apply(world->store, &batch, world->now_ms);
    *ret_first_id = puts[0].message->id;
    if (error == LULL_OK) {
        assert_int_equal(lease.ret_count, 1);
        message_free(leased);
    }
    for (int i = 0; i < 3; i++) {
        assert_true(error == LULL_OK || puts[i].message->id == 0);
        message_free(puts[i].message);
    }
    return error;
}

static void test_a_full_disk_lasts_and_changes_nothing(void **state)
{
    (void)state;
    struct world world;
    uint64_t id = 0;
    open_with(&world, 1, (struct faulty_plan){.disk_full = MILLION, .disk_full_length = 3});
    assert_int_equal(put_three(&world, &id), STORE_ERR_DISK_FULL);
    uint32_t number = 0;
    uint64_t count = 0;
    assert_int_equal(store_service(world.store, "new", 3, &number), STORE_ERR_DISK_FULL);
    assert_int_equal(store_reclaim(world.store, NOW_MS, true, &count), STORE_ERR_DISK_FULL);
    assert_counts(&world, 0, 0, 0);
    faulty_set_plan(world.store, &(struct faulty_plan){0});
    assert_int_equal(put_three(&world, &id), LULL_OK);
    assert_counts(&world, 0, 3, 0);
    world_close(&world);
}

static void test_what_is_broken_stays_broken(void **state)
{
    (void)state;
    struct world world;
    uint64_t id = 0;
    struct message *message = NULL;
    open_with(&world, 1, (struct faulty_plan){.broken = MILLION});
    assert_int_equal(put_three(&world, &id), STORE_ERR_BROKEN);
    faulty_set_plan(world.store, &(struct faulty_plan){0});
    assert_int_equal(put_three(&world, &id), STORE_ERR_BROKEN);
    assert_int_equal(store_find(world.store, 1, &message), STORE_ERR_BROKEN);
    assert_false(faulty_is_cut(world.store));
    assert_true(strlen(store_problem(world.store)) > 0);
    faulty_restart(world.store);
    assert_int_equal(put_three(&world, &id), LULL_OK);
    world_close(&world);
}

/* Both ways a cut can end are seen, and no other. */
static void test_Q3_a_cut_is_all_or_nothing(void **state)
{
    (void)state;
    uint64_t done = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct world world;
        uint64_t id = 0;
        open_with(&world, seed, (struct faulty_plan){.cut = MILLION});
        assert_int_equal(put_three(&world, &id), STORE_ERR_BROKEN);
        assert_true(faulty_is_cut(world.store));
        faulty_restart(world.store);
        assert_false(faulty_is_cut(world.store));
        struct store_stats stats = store_stats(world.store);
        assert_true(stats.leased == 3 || stats.leased == 0);
        assert_int_equal(stats.waiting, 0);
        done += stats.leased == 3;
        world_close(&world);
    }
    assert_true(done > 60 && done < 140);
}

static uint64_t fates_of(uint64_t seed)
{
    struct world world;
    uint64_t fates = 0;
    open_with(
        &world, seed,
        (struct faulty_plan){.disk_full = MILLION / 5, .broken = MILLION / 9, .cut = MILLION / 7});
    for (int i = 0; i < 60; i++) {
        uint64_t id = 0;
        int error = put_three(&world, &id);
        fates = fates * 31 + (uint64_t)-error + store_stats(world.store).leased;
        if (error == STORE_ERR_BROKEN) {
            faulty_restart(world.store);
        }
    }
    world_close(&world);
    return fates;
}

static void test_a_seed_repeats_it(void **state)
{
    (void)state;
    assert_true(fates_of(7) == fates_of(7));
    assert_true(fates_of(7) != fates_of(8));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_full_disk_lasts_and_changes_nothing),
        cmocka_unit_test(test_what_is_broken_stays_broken),
        cmocka_unit_test(test_Q3_a_cut_is_all_or_nothing),
        cmocka_unit_test(test_a_seed_repeats_it),
    };
    return cmocka_run_group_tests_name("store faulty", tests, NULL, NULL);
}
