/* The contract of store.h, case by case, on every backend: Q2, Q3, Q5, Q6, Q7, Q8, P3, P5.
 * SPDX-License-Identifier: MIT */
#include "worlds.h"

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

/* ---- idempotency ---- */

static struct store_put put_key(struct world *world, uint8_t key, uint8_t request)
{
    struct store_put put = {.message = make_message(world),
                            .has_key = true,
                            .key = {key},
                            .request = {request},
                            .key_until_ms = NOW_MS + 1000};
    struct store_batch batch = {.puts = &put, .put_count = 1};
    apply(world, &batch);
    message_free(put.message);
    put.message = NULL;
    return put;
}

static void case_Q6_the_same_key_is_put_once(struct world *world)
{
    struct store_put first = put_key(world, 1, 1);
    assert_int_equal(first.ret_result, STORE_PUT_WAITING);
    struct store_put again = put_key(world, 1, 1);
    assert_int_equal(again.ret_result, STORE_PUT_REPEATED);
    assert_true(again.ret_id == first.ret_id);
    struct store_put other = put_key(world, 1, 2);
    assert_int_equal(other.ret_result, STORE_PUT_CONFLICT);
    assert_true(other.ret_id == first.ret_id);
    assert_counts(world, 1, 0, 0);
    assert_int_equal(put_key(world, 2, 2).ret_result, STORE_PUT_WAITING);
    struct message *message = NULL; /* also when it has left */
    (void)lease_some(world, world->service, &message, 1);
    assert_true(message->id == first.ret_id);
    (void)settle_message(world, message, STORE_DONE);
    (void)world_reopen(world);
    assert_true(put_key(world, 1, 1).ret_id == first.ret_id);
    world->now_ms += 999;
    assert_int_equal(store_sweep(world->store, world->now_ms), LULL_OK);
    assert_int_equal(put_key(world, 1, 1).ret_result, STORE_PUT_REPEATED);
    world->now_ms++; /* now it is over, swept or not */
    assert_int_equal(put_key(world, 2, 1).ret_result, STORE_PUT_WAITING);
    assert_int_equal(store_sweep(world->store, world->now_ms), LULL_OK);
    assert_int_equal(put_key(world, 1, 7).ret_result, STORE_PUT_WAITING);
}

static void case_Q6_within_a_batch(struct world *world)
{
    struct store_put puts[4];
    for (int i = 0; i < 4; i++) {
        puts[i] = (struct store_put){.message = make_message(world),
                                     .has_key = true,
                                     .key = {8},
                                     .request = {i == 2},
                                     .key_until_ms = NOW_MS + 1000};
    }
    puts[3].has_key = false;
    struct store_batch batch = {.puts = puts, .put_count = 4};
    apply(world, &batch);
    assert_int_equal(puts[0].ret_result, STORE_PUT_WAITING);
    assert_int_equal(puts[1].ret_result, STORE_PUT_UNDER_WAY);
    assert_true(puts[1].ret_id == puts[0].ret_id);
    assert_int_equal(puts[1].message->id, 0); /* it was not put */
    assert_int_equal(puts[2].ret_result, STORE_PUT_CONFLICT);
    assert_int_equal(puts[3].ret_result, STORE_PUT_WAITING);
    assert_counts(world, 2, 0, 0);
    for (int i = 0; i < 4; i++) {
        message_free(puts[i].message);
    }
}

/* ---- topics ---- */

static struct store_put put_topic(struct world *world, uint64_t target, uint64_t topic,
                                  bool is_lease_wanted)
{
    struct message *message = make_message(world);
    message->target = target;
    message->topic = topic;
    return put_message(world, message, is_lease_wanted);
}

static void case_Q7_the_newer_replaces_what_waits(struct world *world)
{
    uint64_t old = put_topic(world, 1, 5, false).ret_id;
    assert_int_equal(put_topic(world, 1, 6, false).ret_replaced, 0); /* another topic */
    assert_int_equal(put_topic(world, 2, 5, false).ret_replaced, 0); /* another target */
    assert_int_equal(put_topic(world, 1, 0, false).ret_replaced, 0); /* none */
    assert_int_equal(put_topic(world, 1, 0, false).ret_replaced, 0);
    struct store_put new = put_topic(world, 1, 5, true); /* also one that goes at once */
    assert_true(new.ret_replaced == old);
    assert_int_equal(new.ret_result, STORE_PUT_LEASED);
    assert_null(find_message(world, old));
    assert_true(store_has_given(world->store, old));
    assert_counts(world, 4, 1, 0);
    assert_int_equal(put_topic(world, 1, 5, false).ret_replaced, 0); /* what is in flight stays */
}

static void case_Q7_of_two_the_older_one_goes(struct world *world)
{
    struct message *message = NULL;
    uint64_t old = put_topic(world, 1, 5, false).ret_id;
    (void)lease_some(world, world->service, &message, 1);
    uint64_t newer = put_topic(world, 1, 5, false).ret_id;
    assert_false(settle_message(world, message, STORE_RETRY));
    assert_true(put_topic(world, 1, 5, false).ret_replaced == old);
    assert_true(put_topic(world, 1, 5, false).ret_replaced == newer);
}

/* ---- holds ---- */

static void assert_due(struct world *world, uint64_t id, int64_t due_ms, enum message_cause cause)
{
    struct message *message = find_message(world, id);
    assert_int_equal(message->due_ms, due_ms);
    assert_int_equal(message->cause, cause);
    message_free(message);
}

static void case_P3_a_hold_is_for_what_waits_and_what_comes(struct world *world)
{
    uint64_t waiting = put_waiting(world);
    struct message *message = make_message(world);
    message->due_ms = NOW_MS + 900;
    message->cause = MESSAGE_CAUSE_DELAYED;
    uint64_t later = put_message(world, message, false).ret_id;
    uint64_t other = put_topic(world, 78, 0, false).ret_id;
    set_hold(world, 77, NOW_MS + 600);
    assert_due(world, waiting, NOW_MS + 600, MESSAGE_CAUSE_HELD);
    assert_due(world, later, NOW_MS + 900, MESSAGE_CAUSE_DELAYED);
    assert_due(world, other, NOW_MS, MESSAGE_CAUSE_NEW);
    message = make_message(world);
    struct store_put put = {.message = message, .is_lease_wanted = true};
    struct store_batch batch = {.puts = &put, .put_count = 1};
    apply(world, &batch);
    assert_int_equal(put.ret_result, STORE_PUT_WAITING);
    assert_int_equal(message->due_ms, NOW_MS + 600); /* the caller is told */
    assert_int_equal(message->cause, MESSAGE_CAUSE_HELD);
    message_free(message);
    set_hold(world, 77, NOW_MS + 500); /* never sooner than was said */
    assert_due(world, waiting, NOW_MS + 600, MESSAGE_CAUSE_HELD);
    set_hold(world, 77, NOW_MS + 700);
    assert_due(world, waiting, NOW_MS + 700, MESSAGE_CAUSE_HELD);
    struct store_lease lease = lease_some(world, world->service, &message, 1);
    assert_true(lease.ret_count == 1 && message->id == other);
    assert_int_equal(lease.ret_until_ms, NOW_MS + 700);
    message_free(message);
}

static void case_P3_a_hold_is_for_what_comes_back(struct world *world)
{
    uint64_t id = put_message(world, make_message(world), true).ret_id;
    struct message *message = find_message(world, id);
    struct store_settle settle = {.kind = STORE_RETRY, .message = message};
    struct store_hold hold = {.target = 77, .until_ms = NOW_MS + 300};
    struct store_batch batch = {
        .settles = &settle, .settle_count = 1, .holds = &hold, .hold_count = 1};
    message->due_ms = NOW_MS + 100;
    message->cause = MESSAGE_CAUSE_RETRY_AFTER;
    apply(world, &batch); /* settles come before holds */
    assert_due(world, id, NOW_MS + 300, MESSAGE_CAUSE_HELD);
    message_free(message);
    (void)world_reopen(world);
    world->now_ms = NOW_MS + 299;
    assert_int_equal(lease_count(world, 1, NULL), 0);
    world->now_ms = NOW_MS + 300;
    assert_int_equal(lease_some(world, world->service, &message, 1).ret_count, 1);
    set_hold(world, 77, NOW_MS + 800);
    message->due_ms = NOW_MS + 400;
    assert_false(settle_message(world, message, STORE_RETRY));
    assert_due(world, id, NOW_MS + 800, MESSAGE_CAUSE_HELD);
    world->now_ms = NOW_MS + 800;
    uint64_t count = 0;
    assert_int_equal(lease_count(world, 1, NULL), 1);
    set_hold(world, 77, NOW_MS + 2000);
    assert_int_equal(store_reclaim(world->store, world->now_ms, true, &count), LULL_OK);
    assert_due(world, id, NOW_MS + 2000, MESSAGE_CAUSE_HELD);
}

static void case_P3_a_hold_that_is_over_holds_nothing(struct world *world)
{
    set_hold(world, 77, NOW_MS);
    assert_int_equal(put_message(world, make_message(world), true).ret_result, STORE_PUT_LEASED);
    set_hold(world, 77, NOW_MS + 10);
    world->now_ms = NOW_MS + 10;
    assert_int_equal(put_message(world, make_message(world), true).ret_result, STORE_PUT_LEASED);
    assert_int_equal(store_sweep(world->store, world->now_ms), LULL_OK);
    (void)world_reopen(world);
    assert_int_equal(put_message(world, make_message(world), true).ret_result, STORE_PUT_LEASED);
}

/* ---- gates ---- */

static void case_P5_a_pause_leases_nothing_and_is_kept(struct world *world)
{
    struct gate pause = {.paused_until_ms = NOW_MS + 500};
    assert_true(set_gate(world, world->service, 0, pause));
    assert_int_equal(put_message(world, make_message(world), true).ret_result, STORE_PUT_WAITING);
    (void)world_reopen(world);
    struct message *message = NULL;
    struct store_lease lease = lease_some(world, world->service, &message, 1);
    assert_int_equal(lease.ret_count, 0);
    assert_int_equal(lease.ret_stop, GATE_PAUSED);
    assert_int_equal(lease.ret_until_ms, NOW_MS + 500);
    world->now_ms = NOW_MS + 500;
    assert_int_equal(lease_count(world, 1, NULL), 1);
    assert_int_equal(lease_some(world, world->service, &message, 1).ret_stop, GATE_OPEN);
}

static void case_P5_a_gate_is_set_by_its_version(struct world *world)
{
    struct gate gate = {.version = 77, .burst = 3, .rate_milli_per_s = 5};
    assert_false(set_gate(world, world->service, 1, gate));
    assert_true(set_gate(world, world->service, 0, gate));
    assert_false(set_gate(world, world->service, 0, gate));
    assert_true(set_gate(world, world->service, 1, gate));
    struct store_set_gate sets[2] = {
        {.service = world->service, .expected_version = 2, .gate = {.in_flight_max = 4}},
        {.service = world->service, .expected_version = 2, .gate = {.in_flight_max = 5}},
    };
    struct store_batch batch = {.gates = sets, .gate_count = 2};
    apply(world, &batch);
    assert_true(sets[0].ret_is_set);
    assert_false(sets[1].ret_is_set);
}

static void case_G5_rate_and_burst(struct world *world)
{
    struct message *messages[10];
    for (int i = 0; i < 8; i++) {
        put_waiting(world);
    }
    assert_true(
        set_gate(world, world->service, 0, (struct gate){.rate_milli_per_s = 10000, .burst = 3}));
    struct store_lease lease = lease_some(world, world->service, messages, 10);
    assert_int_equal(lease.ret_count, 3);
    assert_int_equal(lease.ret_stop, GATE_RATE);
    assert_int_equal(lease.ret_until_ms, NOW_MS + 100);
    free_messages(messages, 3);
    world->now_ms = NOW_MS + 99;
    assert_int_equal(lease_count(world, 10, NULL), 0);
    world->now_ms = NOW_MS + 200;
    assert_int_equal(lease_count(world, 10, NULL), 2);
    world->now_ms = NOW_MS + 1000;
    assert_int_equal(lease_count(world, 2, NULL), 2);
    lease =
        lease_some(world, world->service, messages, 10); /* all that are left: the gate is open */
    assert_int_equal(lease.ret_count, 1);
    assert_int_equal(lease.ret_stop, GATE_OPEN);
    free_messages(messages, 1);
    assert_int_equal(put_message(world, make_message(world), true).ret_result, STORE_PUT_WAITING);
    world->now_ms += 100;
    assert_int_equal(put_message(world, make_message(world), true).ret_result, STORE_PUT_LEASED);
}

static void case_P2_in_flight_max(struct world *world)
{
    struct message *messages[4];
    assert_true(set_gate(world, world->service, 0, (struct gate){.in_flight_max = 2}));
    for (int i = 0; i < 3; i++) {
        put_waiting(world);
    }
    struct store_lease lease = lease_some(world, world->service, messages, 4);
    assert_int_equal(lease.ret_count, 2);
    assert_int_equal(lease.ret_stop, GATE_FULL);
    assert_true(lease.ret_until_ms == LULL_NEVER);
    assert_int_equal(lease_count(world, 4, NULL), 0);
    assert_int_equal(put_message(world, make_message(world), true).ret_result, STORE_PUT_WAITING);
    assert_false(settle_message(world, messages[0], STORE_DONE));
    assert_int_equal(lease_count(world, 4, NULL), 1);
    messages[1]->due_ms = NOW_MS + 60000;
    assert_false(settle_message(world, messages[1], STORE_RETRY));
    if (world_reopen(world)) { /* what is leased is still counted */
        assert_int_equal(lease_count(world, 4, NULL), 1);
    } else {
        assert_int_equal(lease_count(world, 1, NULL), 1);
    }
    uint64_t count = 0;
    assert_int_equal(lease_count(world, 4, NULL), 0);
    assert_int_equal(store_reclaim(world->store, world->now_ms, true, &count), LULL_OK);
    assert_int_equal(count, 2);
    assert_int_equal(lease_count(world, 4, NULL), 2);
}

static void case_P1_each_service_has_its_own_queue(struct world *world)
{
    uint32_t other = 0;
    assert_int_equal(store_service(world->store, "mozilla", 7, &other), LULL_OK);
    assert_true(set_gate(world, world->service, 0, (struct gate){.paused_until_ms = NOW_MS + 9}));
    put_waiting(world);
    struct message *message = make_message(world);
    message->service = other;
    uint64_t id = put_message(world, message, false).ret_id;
    assert_int_equal(lease_count(world, 5, NULL), 0);
    assert_int_equal(lease_some(world, other, &message, 1).ret_count, 1);
    assert_true(message->id == id);
    message_free(message);
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

/* ---- all of them, on all backends ---- */

struct contract_case {
    const char *name;
    void (*run)(struct world *world);
};

#define CASE(name)                                                                                 \
    {                                                                                              \
#name, case_##name                                                                         \
    }

static const struct contract_case cases[] = {
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
    CASE(Q6_the_same_key_is_put_once),
    CASE(Q6_within_a_batch),
    CASE(Q7_the_newer_replaces_what_waits),
    CASE(Q7_of_two_the_older_one_goes),
    CASE(P3_a_hold_is_for_what_waits_and_what_comes),
    CASE(P3_a_hold_is_for_what_comes_back),
    CASE(P3_a_hold_that_is_over_holds_nothing),
    CASE(P5_a_pause_leases_nothing_and_is_kept),
    CASE(P5_a_gate_is_set_by_its_version),
    CASE(G5_rate_and_burst),
    CASE(P2_in_flight_max),
    CASE(P1_each_service_has_its_own_queue),
    CASE(D1_only_what_waits_can_be_cancelled),
    CASE(P1_services_have_numbers_that_stay),
    CASE(Q4_ids_go_up_and_are_never_given_twice),
    CASE(list_is_newest_first_and_goes_on),
    CASE(stats_say_what_is_due_first),
    CASE(an_empty_batch_does_nothing),
};
#define CASES (sizeof cases / sizeof cases[0])

struct run {
    enum backend backend;
    const struct contract_case *contract_case;
};

static void run_case(void **state)
{
    const struct run *run = *state;
    struct world world;
    world_open(&world, run->backend);
    run->contract_case->run(&world);
    world_close(&world);
}

int main(void)
{
    static struct run runs[CASES * BACKENDS];
    static char names[CASES * BACKENDS][128];
    static struct CMUnitTest tests[CASES * BACKENDS];
    size_t count = 0;
    for (int backend = 0; backend < BACKENDS; backend++) {
        for (size_t i = 0; i < CASES; i++, count++) {
            runs[count] = (struct run){(enum backend)backend, &cases[i]};
            (void)snprintf(names[count], sizeof names[count], "%s %s",
                           backend_name((enum backend)backend), cases[i].name);
            tests[count] = (struct CMUnitTest){
                .name = names[count], .test_func = run_case, .initial_state = &runs[count]};
        }
    }
    return _cmocka_run_group_tests("store contract", tests, count, NULL, NULL);
}
