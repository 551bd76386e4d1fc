/* What keeps a message from being put or leased: keys, topics, holds and gates (Q6, Q7, P3, P5).
 * SPDX-License-Identifier: MIT */
#include "contract.h"

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

const struct contract_case rules_cases[] = {
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
    {NULL, NULL},
};
