/* What can be read: services, ids, lists and numbers.
 * SPDX-License-Identifier: MIT */
#include "contract.h"

/* ---- services ---- */

struct seen {
    uint32_t count;
    struct store_service services[4];
};

static void see(void *userdata, const struct store_service *service)
{
    struct seen *seen = userdata;
    assert_true(seen->count < 4);
    seen->services[seen->count++] = *service;
}

static void case_P1_services_have_numbers_that_stay(struct world *world)
{
    uint32_t number = 0;
    char longest[256];
    memset(longest, 'x', sizeof longest);
    assert_int_equal(world->service, 1);
    assert_int_equal(store_service(world->store, longest, 255, &number), LULL_OK);
    assert_int_equal(number, 2);
    assert_int_equal(store_service(world->store, "apple", 5, &number), LULL_OK);
    assert_int_equal(number, 3);
    assert_int_equal(store_service(world->store, "fcm", 3, &number), LULL_OK);
    assert_int_equal(number, 1);
    assert_int_equal(store_service(world->store, longest, 256, &number), LULL_ERR_RANGE);
    assert_int_equal(store_service(world->store, "", 0, &number), LULL_ERR_RANGE);
    assert_int_equal(store_service(world->store, "a\0b", 3, &number), LULL_ERR_RANGE);
    struct message *message = make_message(world);
    message->service = 3;
    message->due_ms = NOW_MS + 44;
    (void)put_message(world, message, false);
    (void)put_message(world, make_message(world), true);
    assert_true(set_gate(world, 3, 0,
                         (struct gate){.burst = 8, .rate_milli_per_s = 1, .in_flight_max = 2}));
    (void)world_reopen(world);
    struct seen seen = {0};
    assert_int_equal(store_services(world->store, see, &seen), LULL_OK);
    assert_int_equal(seen.count, 3);
    assert_string_equal(seen.services[0].name, "fcm");
    assert_int_equal(seen.services[0].leased, 1);
    assert_int_equal(seen.services[0].waiting, 0);
    assert_true(seen.services[0].next_due_ms == LULL_NEVER);
    assert_int_equal(strlen(seen.services[1].name), 255);
    assert_string_equal(seen.services[2].name, "apple");
    assert_int_equal(seen.services[2].number, 3);
    assert_int_equal(seen.services[2].waiting, 1);
    assert_int_equal(seen.services[2].next_due_ms, NOW_MS + 44);
    assert_int_equal(seen.services[2].gate.version, 1);
    assert_int_equal(seen.services[2].gate.burst, 8);
    assert_int_equal(seen.services[2].gate.rate_milli_per_s, 1);
    assert_int_equal(seen.services[2].gate.in_flight_max, 2);
}

/* ---- ids ---- */

static void case_Q4_ids_go_up_and_are_never_given_twice(struct world *world)
{
    uint64_t first = put_waiting(world);
    uint64_t last = first;
    assert_false(store_has_given(world->store, 0));
    assert_false(store_has_given(world->store, first - 1));
    assert_false(store_has_given(world->store, first + 1));
    for (int i = 0; i < 20; i++) {
        world->now_ms += i % 3 == 0 ? -LULL_HOURS(1) : 5; /* a clock that steps back */
        uint64_t id = put_waiting(world);
        assert_true(id > last && id <= INT64_MAX);
        last = id;
        if (i % 5 == 0 && world_reopen(world)) {
            assert_true(store_has_given(world->store, first));
            assert_false(store_has_given(world->store, last + 1));
        }
    }
    struct message *found = NULL;
    assert_int_equal(store_find(world->store, UINT64_MAX, &found), LULL_OK);
    assert_null(found);
    assert_false(store_has_given(world->store, UINT64_MAX));
}

/* ---- reading ---- */

static void case_list_is_newest_first_and_goes_on(struct world *world)
{
    uint64_t ids[9];
    struct message *list[9];
    uint32_t other = 0;
    assert_int_equal(store_service(world->store, "other", 5, &other), LULL_OK);
    for (int i = 0; i < 9; i++) { /* waiting, leased of another, dead */
        struct message *message = make_message(world);
        message->service = i % 3 == 1 ? other : world->service;
        ids[i] = put_message(world, message, i % 3 == 1).ret_id;
        if (i % 3 == 2) {
            struct store_cancel cancel = {.id = ids[i]};
            struct store_batch batch = {.cancels = &cancel, .cancel_count = 1};
            apply(world, &batch);
        }
    }
    struct store_filter filter = {.limit = 4, .scan = 100};
    uint64_t after = 1;
    size_t count = 0;
    int at = 8;
    do {
        assert_int_equal(store_list(world->store, &filter, list, &count, &after), LULL_OK);
        for (size_t i = 0; i < count; i++, at--) {
            assert_true(list[i]->id == ids[at]);
            assert_int_equal(list[i]->body.length, 0);
            assert_string_equal((const char *)list[i]->envelope.data, "an envelope");
            assert_int_equal(list[i]->place, at % 3 == 0   ? MESSAGE_WAITING
                                             : at % 3 == 1 ? MESSAGE_LEASED
                                                           : MESSAGE_DEAD);
        }
        free_messages(list, (uint32_t)count);
        filter.after = after;
    } while (after != 0);
    assert_int_equal(at, -1);

    filter =
        (struct store_filter){.limit = 3, .scan = 100, .has_place = true, .place = MESSAGE_DEAD};
    assert_int_equal(store_list(world->store, &filter, list, &count, &after), LULL_OK);
    assert_true(count == 3 && after == 0 && list[2]->id == ids[2]);
    free_messages(list, (uint32_t)count);

    /* What is looked at is bounded, also where nothing is found. */
    filter = (struct store_filter){.limit = 9, .scan = 2, .service = other};
    assert_int_equal(store_list(world->store, &filter, list, &count, &after), LULL_OK);
    assert_true(count == 1 && list[0]->id == ids[7] && after == ids[7]);
    free_messages(list, (uint32_t)count);
    filter.after = after;
    assert_int_equal(store_list(world->store, &filter, list, &count, &after), LULL_OK);
    assert_true(count == 0 && after == ids[5]);
    filter = (struct store_filter){.limit = 9, .scan = 9, .after = ids[0]};
    assert_int_equal(store_list(world->store, &filter, list, &count, &after), LULL_OK);
    assert_true(count == 0 && after == 0);
    filter.after = UINT64_MAX;
    assert_int_equal(store_list(world->store, &filter, list, &count, &after), LULL_OK);
    assert_true(count == 9 && after == 0);
    free_messages(list, (uint32_t)count);
}

static void case_stats_say_what_is_due_first(struct world *world)
{
    assert_true(store_stats(world->store).oldest_due_ms == LULL_NEVER);
    struct message *message = make_message(world);
    message->due_ms = NOW_MS + 10;
    uint64_t id = put_message(world, message, false).ret_id;
    assert_int_equal(store_stats(world->store).oldest_due_ms, NOW_MS + 10);
    put_waiting(world);
    assert_int_equal(store_stats(world->store).oldest_due_ms, NOW_MS);
    assert_int_equal(lease_count(world, 1, NULL), 1);
    assert_int_equal(store_stats(world->store).oldest_due_ms, NOW_MS + 10);
    set_hold(world, 77, NOW_MS + 30);
    assert_int_equal(store_stats(world->store).oldest_due_ms, NOW_MS + 30);
    struct store_cancel cancel = {.id = id};
    struct store_batch batch = {.cancels = &cancel, .cancel_count = 1};
    apply(world, &batch);
    assert_true(store_stats(world->store).oldest_due_ms == LULL_NEVER);
}

static void case_an_empty_batch_does_nothing(struct world *world)
{
    struct store_batch batch = {.is_durable = true};
    apply(world, &batch);
    assert_counts(world, 0, 0, 0);
    assert_string_equal(store_problem(world->store), "");
}

const struct contract_case reading_cases[] = {
    CASE(P1_services_have_numbers_that_stay), CASE(Q4_ids_go_up_and_are_never_given_twice),
    CASE(list_is_newest_first_and_goes_on),   CASE(stats_say_what_is_due_first),
    CASE(an_empty_batch_does_nothing),        {NULL, NULL},
};
