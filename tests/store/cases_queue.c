/* The way of a message through a store: waiting, leased, gone or dead; in which order (Q2, Q3, Q5,
 * Q8). SPDX-License-Identifier: MIT */
#include "contract.h"

/* ---- the way through ---- */

static void case_Q3_a_message_waits_is_leased_and_leaves(struct world *world)
{
    uint64_t id = put_waiting(world);
    assert_true(id != 0);
    assert_counts(world, 1, 0, 0);
    struct message *message = NULL;
    struct store_lease lease = lease_some(world, world->service, &message, 1);
    assert_int_equal(lease.ret_count, 1);
    assert_true(message->id == id);
    assert_string_equal((const char *)message->envelope.data, "an envelope");
    assert_string_equal((const char *)message->body.data, "a body, which is a little longer");
    assert_counts(world, 0, 1, 0);
    assert_false(settle_message(world, message, STORE_DONE));
    assert_counts(world, 0, 0, 0);
    assert_null(find_message(world, id));
    assert_true(store_has_given(world->store, id));
}

static void case_Q3_a_message_that_may_go_is_leased_as_it_is_put(struct world *world)
{
    struct message *message = make_message(world);
    struct store_put put = {
        .message = message, .is_lease_wanted = true, .lease = 5, .lease_until_ms = NOW_MS + 9};
    struct store_batch batch = {.puts = &put, .put_count = 1, .is_durable = true};
    apply(world, &batch);
    assert_int_equal(put.ret_result, STORE_PUT_LEASED);
    assert_true(put.ret_id == message->id && message->id != 0);
    assert_int_equal(message->place, MESSAGE_LEASED);
    assert_int_equal(message->lease, 5);
    assert_int_equal(message->lease_until_ms, NOW_MS + 9);
    assert_counts(world, 0, 1, 0);
    struct message *kept = find_message(world, message->id);
    assert_true(messages_are_same(kept, message));
    message_free(kept);
    assert_false(settle_message(world, message, STORE_DONE));
    assert_counts(world, 0, 0, 0);
}

static void case_Q3_what_is_not_due_is_not_leased(struct world *world)
{
    struct message *message = make_message(world);
    message->due_ms = NOW_MS + 1;
    message->cause = MESSAGE_CAUSE_DELAYED;
    assert_int_equal(put_message(world, message, true).ret_result, STORE_PUT_WAITING);
    struct store_lease lease = lease_some(world, world->service, &message, 1);
    assert_int_equal(lease.ret_count, 0);
    assert_int_equal(lease.ret_stop, GATE_OPEN);
    assert_int_equal(lease.ret_until_ms, NOW_MS + 1);
    world->now_ms++;
    lease = lease_some(world, world->service, &message, 1);
    assert_int_equal(lease.ret_count, 1);
    assert_true(lease.ret_until_ms == LULL_NEVER);
    message_free(message);
}

static void case_Q3_a_retry_keeps_what_is_fixed_and_takes_what_changed(struct world *world)
{
    struct message *message = make_message(world);
    message->topic = 9;
    uint64_t id = put_message(world, message, true).ret_id;
    struct message *kept = find_message(world, id);
    struct message *change = message_new(0, 0, 0); /* nothing but what RETRY looks at */
    change->id = id;
    change->lease = world->lease;
    change->due_ms = NOW_MS + 500;
    change->attempts = 1;
    change->auth_retries = 2;
    change->lost = 3;
    change->previous_delay_ms = 500;
    change->cause = MESSAGE_CAUSE_BACKOFF;
    assert_true(message_set_history(change, "longer", 6));
    assert_false(settle_message(world, change, STORE_RETRY));
    assert_counts(world, 1, 0, 0);
    struct message *now = find_message(world, id);
    assert_int_equal(now->place, MESSAGE_WAITING);
    assert_int_equal(now->due_ms, NOW_MS + 500);
    assert_int_equal(now->attempts, 1);
    assert_int_equal(now->auth_retries, 2);
    assert_int_equal(now->lost, 3);
    assert_int_equal(now->previous_delay_ms, 500);
    assert_int_equal(now->cause, MESSAGE_CAUSE_BACKOFF);
    assert_int_equal(now->history.length, 6);
    assert_memory_equal(now->history.data, "longer", 6);
    assert_int_equal(now->lease, 0);
    assert_true(now->topic == 9 && now->target == kept->target);
    assert_int_equal(now->ttl_ms, kept->ttl_ms);
    assert_int_equal(now->accepted_ms, kept->accepted_ms);
    assert_memory_equal(now->envelope.data, kept->envelope.data, kept->envelope.length);
    assert_memory_equal(now->body.data, kept->body.data, kept->body.length);
    message_free(now);
    message_free(kept);
}

static void case_D2_a_dead_letter_keeps_everything(struct world *world)
{
    put_waiting(world);
    struct message *message = NULL;
    (void)lease_some(world, world->service, &message, 1);
    uint64_t id = message->id;
    message->attempts = 6;
    message->reason = LULL_REASON_MAX_ATTEMPTS_EXCEEDED;
    message->status = 503;
    message->died_ms = NOW_MS + 3;
    assert_true(message_set_history(message, "the end", 7));
    assert_false(settle_message(world, message, STORE_DIE));
    assert_counts(world, 0, 0, 1);
    message = find_message(world, id);
    assert_int_equal(message->place, MESSAGE_DEAD);
    assert_int_equal(message->reason, LULL_REASON_MAX_ATTEMPTS_EXCEEDED);
    assert_int_equal(message->status, 503);
    assert_int_equal(message->died_ms, NOW_MS + 3);
    assert_int_equal(message->attempts, 6);
    assert_int_equal(message->lease, 0);
    assert_memory_equal(message->history.data, "the end", 7);
    assert_string_equal((const char *)message->body.data, "a body, which is a little longer");
    message_free(message);
}

static void case_Q3_texts_may_be_empty_or_long(struct world *world)
{
    struct message *message = message_new(0, 0, 0);
    message->service = world->service;
    message->due_ms = NOW_MS;
    uint64_t empty = put_message(world, message, false).ret_id;
    message = message_new(1, 200000, 3000);
    memset((void *)message->envelope.data, 'e', 1);
    memset((void *)message->body.data, 'b', 200000);
    memset((void *)message->history.data, 'h', 3000);
    message->service = world->service;
    message->due_ms = NOW_MS;
    struct message *copy = message_copy(message);
    copy->id = put_message(world, message, false).ret_id;
    message = find_message(world, copy->id);
    assert_true(messages_are_same(message, copy));
    message_free(message);
    message_free(copy);
    message = find_message(world, empty);
    assert_null(message->body.data);
    assert_int_equal(message->history.length, 0);
    message_free(message);
}

/* ---- leases ---- */

static void case_Q2_a_lease_that_ran_out_is_due_again(struct world *world)
{
    uint64_t id = put_waiting(world);
    struct message *first = NULL;
    struct message *second = NULL;
    (void)lease_some(world, world->service, &first, 1);
    uint64_t count = 9;
    assert_int_equal(store_reclaim(world->store, NOW_MS + 999, false, &count), LULL_OK);
    assert_int_equal(count, 0);
    world->now_ms = NOW_MS + 1000;
    assert_int_equal(store_reclaim(world->store, world->now_ms, false, &count), LULL_OK);
    assert_int_equal(count, 1);
    assert_counts(world, 1, 0, 0);
    struct message *found = find_message(world, id);
    assert_int_equal(found->due_ms, world->now_ms);
    assert_int_equal(found->cause, MESSAGE_CAUSE_RETURNED);
    assert_int_equal(found->lost, 1);
    message_free(found);
    assert_int_equal(lease_some(world, world->service, &second, 1).ret_count, 1);
    assert_int_equal(second->lost, 1);
    assert_true(settle_message(world, first, STORE_RETRY)); /* too late: it is the other's */
    assert_counts(world, 0, 1, 0);
    assert_false(settle_message(world, second, STORE_RETRY));
    assert_counts(world, 1, 0, 0);
}

static void case_Q2_at_the_start_every_lease_is_of_one_who_is_gone(struct world *world)
{
    struct store_put put = put_message(world, make_message(world), true);
    assert_int_equal(put.ret_result, STORE_PUT_LEASED);
    if (world_reopen(world)) {
        assert_counts(world, 0, 1, 0);
    }
    uint64_t count = 0;
    assert_int_equal(store_reclaim(world->store, NOW_MS, true, &count), LULL_OK);
    assert_int_equal(count, 1);
    assert_counts(world, 1, 0, 0);
    assert_int_equal(lease_count(world, 5, NULL), 1);
}

static void case_Q8_every_lost_lease_is_counted(struct world *world)
{
    uint64_t id = put_waiting(world);
    for (uint32_t i = 1; i <= 4; i++) {
        uint64_t count = 0;
        assert_int_equal(lease_count(world, 1, NULL), 1);
        assert_int_equal(store_reclaim(world->store, world->now_ms, true, &count), LULL_OK);
        struct message *message = find_message(world, id);
        assert_int_equal(message->lost, i);
        message_free(message);
    }
}

static void case_Q3_delivered_is_delivered_wherever_it_is(struct world *world)
{
    struct message *leased[3];
    uint64_t count = 0;
    for (int i = 0; i < 3; i++) {
        put_waiting(world);
        (void)lease_some(world, world->service, &leased[i], 1);
    }
    assert_int_equal(store_reclaim(world->store, NOW_MS, true, &count), LULL_OK);
    assert_counts(world, 3, 0, 0);
    assert_true(settle_message(world, leased[0], STORE_DONE)); /* it waits */
    assert_counts(world, 2, 0, 0);
    assert_int_equal(lease_count(world, 1, NULL), 1);
    assert_counts(world, 1, 1, 0);
    assert_true(settle_message(world, leased[1], STORE_DONE)); /* another has it */
    assert_counts(world, 1, 0, 0);
    struct store_cancel cancel = {.id = leased[2]->id};
    struct store_batch batch = {.cancels = &cancel, .cancel_count = 1};
    apply(world, &batch);
    assert_counts(world, 0, 0, 1);
    struct message *again = message_copy(leased[2]);
    assert_true(settle_message(world, leased[2], STORE_DONE)); /* it is dead */
    assert_counts(world, 0, 0, 0);
    assert_true(settle_message(world, again, STORE_DONE)); /* it has left */
    assert_counts(world, 0, 0, 0);
}

static void case_Q3_only_the_first_settle_counts(struct world *world)
{
    put_waiting(world);
    struct message *message = NULL;
    (void)lease_some(world, world->service, &message, 1);
    struct store_settle settles[3] = {
        {.kind = STORE_RETRY, .message = message},
        {.kind = STORE_DIE, .message = message},
        {.kind = STORE_RETRY, .message = message},
    };
    struct store_batch batch = {.settles = settles, .settle_count = 3};
    apply(world, &batch);
    assert_false(settles[0].ret_is_stale);
    assert_true(settles[1].ret_is_stale);
    assert_true(settles[2].ret_is_stale);
    assert_counts(world, 1, 0, 0);
    message_free(message);
}

/* ---- order ---- */

static uint64_t put_with(struct world *world, enum message_urgency urgency, int64_t due_ms)
{
    struct message *message = make_message(world);
    message->urgency = (uint8_t)urgency;
    message->due_ms = due_ms;
    return put_message(world, message, false).ret_id;
}

static void case_Q5_by_due_time_then_by_id(struct world *world)
{
    uint64_t wanted[4];
    uint64_t leased[4];
    wanted[3] = put_with(world, MESSAGE_NORMAL, NOW_MS);
    wanted[1] = put_with(world, MESSAGE_NORMAL, NOW_MS - 5);
    wanted[2] = put_with(world, MESSAGE_NORMAL, NOW_MS - 5);
    wanted[0] = put_with(world, MESSAGE_NORMAL, NOW_MS - 9);
    assert_int_equal(lease_count(world, 10, leased), 4);
    assert_memory_equal(leased, wanted, sizeof wanted);
}

/* Of every 15: one, two, four, and the rest the most urgent; in one lease as in many. */
static void case_Q5_the_urgent_first_and_nobody_starves(struct world *world)
{
    uint32_t seen[MESSAGE_URGENCIES] = {0};
    for (int i = 0; i < 60; i++) {
        for (int urgency = 0; urgency < MESSAGE_URGENCIES; urgency++) {
            (void)put_with(world, (enum message_urgency)urgency, NOW_MS);
        }
    }
    for (int i = 0; i < 45;) {
        struct message *messages[7];
        struct store_lease lease = lease_some(world, world->service, messages, i % 2 == 0 ? 1 : 4);
        for (uint32_t k = 0; k < lease.ret_count; k++, i++) {
            assert_true(i > 0 || messages[k]->urgency == MESSAGE_HIGH);
            if (i < 45) {
                seen[messages[k]->urgency]++;
            }
        }
        free_messages(messages, lease.ret_count);
    }
    assert_int_equal(seen[MESSAGE_VERY_LOW], 3);
    assert_int_equal(seen[MESSAGE_LOW], 6);
    assert_int_equal(seen[MESSAGE_NORMAL], 12);
    assert_int_equal(seen[MESSAGE_HIGH], 24);
}

static void case_Q5_the_turns_of_those_that_are_not_there_go_to_others(struct world *world)
{
    uint64_t low = put_with(world, MESSAGE_LOW, NOW_MS);
    uint64_t leased[20];
    for (int i = 0; i < 15; i++) {
        (void)put_with(world, MESSAGE_VERY_LOW, NOW_MS - 100);
    }
    assert_int_equal(lease_count(world, 20, leased), 16);
    assert_true(leased[0] == low);
}

/* ---- cancels ---- */

static void case_D1_only_what_waits_can_be_cancelled(struct world *world)
{
    uint64_t leased = put_message(world, make_message(world), true).ret_id;
    uint64_t waiting = put_waiting(world);
    world->now_ms += 7;
    struct store_cancel cancels[4] = {
        {.id = leased}, {.id = waiting}, {.id = waiting}, {.id = waiting + 1}};
    struct store_batch batch = {.cancels = cancels, .cancel_count = 4};
    apply(world, &batch);
    assert_false(cancels[0].ret_is_done);
    assert_true(cancels[1].ret_is_done);
    assert_int_equal(cancels[1].ret_service, world->service);
    assert_false(cancels[2].ret_is_done);
    assert_false(cancels[3].ret_is_done);
    assert_counts(world, 0, 1, 1);
    struct message *message = find_message(world, waiting);
    assert_int_equal(message->place, MESSAGE_DEAD);
    assert_int_equal(message->reason, LULL_REASON_CANCELLED);
    assert_int_equal(message->died_ms, NOW_MS + 7);
    assert_string_equal((const char *)message->body.data, "a body, which is a little longer");
    message_free(message);
}

const struct contract_case queue_cases[] = {
    CASE(Q3_a_message_waits_is_leased_and_leaves),
    CASE(Q3_a_message_that_may_go_is_leased_as_it_is_put),
    CASE(Q3_what_is_not_due_is_not_leased),
    CASE(Q3_a_retry_keeps_what_is_fixed_and_takes_what_changed),
    CASE(D2_a_dead_letter_keeps_everything),
    CASE(Q3_texts_may_be_empty_or_long),
    CASE(Q2_a_lease_that_ran_out_is_due_again),
    CASE(Q2_at_the_start_every_lease_is_of_one_who_is_gone),
    CASE(Q8_every_lost_lease_is_counted),
    CASE(Q3_delivered_is_delivered_wherever_it_is),
    CASE(Q3_only_the_first_settle_counts),
    CASE(Q5_by_due_time_then_by_id),
    CASE(Q5_the_urgent_first_and_nobody_starves),
    CASE(Q5_the_turns_of_those_that_are_not_there_go_to_others),
    CASE(D1_only_what_waits_can_be_cancelled),
    {NULL, NULL},
};
