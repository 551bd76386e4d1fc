/* The small parts: a message and its words, and two nodes on one memory store.
 * SPDX-License-Identifier: MIT */
#include "worlds.h"

static void test_an_id_and_its_text(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("message id"));
    char before[MESSAGE_ID_TEXT_SIZE] = "";
    uint64_t id = 0;
    for (int i = 0; i < 100000; i++) {
        char text[MESSAGE_ID_TEXT_SIZE];
        uint64_t read = 1;
        message_id_write(id, text);
        assert_int_equal(strlen(text), 13);
        assert_true(message_id_read(text, 13, &read) && read == id);
        assert_true(i == 0 || strcmp(before, text) < 0); /* they sort as the ids do */
        memcpy(before, text, sizeof text);
        id += 1 + lull_random_next(&random) / 100001;
    }
    static const char *const wrong[] = {"",
                                        "0",
                                        "000000000000",
                                        "00000000000000",
                                        "000000000000i",
                                        "000000000000A",
                                        "g000000000000",
                                        "zzzzzzzzzzzzz",
                                        "00000000 0000"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(message_id_read(wrong[i], strlen(wrong[i]), &id));
    }
    assert_false(message_id_read("000000\0"
                                 "000000",
                                 13, &id));
    assert_true(message_id_read("fzzzzzzzzzzzz", 13, &id) && id == UINT64_MAX);
}

static void test_words(void **state)
{
    (void)state;
    static const char *const causes[] = {"new",         "delayed", "backoff",
                                         "retry_after", "held",    "returned"};
    for (int i = 0; i < MESSAGE_CAUSES; i++) {
        assert_string_equal(message_cause_to_string((enum message_cause)i), causes[i]);
    }
    assert_string_equal(message_place_to_string(MESSAGE_WAITING), "waiting");
    assert_string_equal(message_place_to_string(MESSAGE_LEASED), "leased");
    assert_string_equal(message_place_to_string(MESSAGE_DEAD), "dead");
    for (int i = 0; i < MESSAGE_URGENCIES; i++) {
        enum message_urgency urgency = MESSAGE_URGENCIES;
        assert_true(message_urgency_from_string(message_urgency_to_string((enum message_urgency)i),
                                                &urgency));
        assert_int_equal(urgency, i);
    }
    enum message_urgency unknown = MESSAGE_HIGH;
    assert_false(message_urgency_from_string("urgent", &unknown));
    assert_string_equal(store_error_to_string(STORE_ERR_DISK_FULL), "disk_full");
    assert_string_equal(store_error_to_string(STORE_ERR_BROKEN), "broken");
    assert_string_equal(store_error_to_string(STORE_ERR_BUSY), "busy");
    assert_string_equal(store_error_to_string(STORE_ERR_FOREIGN), "foreign");
    assert_string_equal(store_error_to_string(LULL_ERR_MEMORY), "memory");
}

static void test_a_history_can_grow_out_of_itself(void **state)
{
    (void)state;
    struct message *message = message_new(2, 3, 4);
    memcpy((void *)message->history.data, "abcd", 4);
    assert_true(message_set_history(message, message->history.data, 3));
    assert_true(message_set_history(message, message->history.data, 2));
    assert_int_equal(message->history.length, 2);
    assert_memory_equal(message->history.data, "ab", 2);
    assert_true(message_set_history(message, NULL, 0));
    assert_null(message->history.data);
    message_free(message);
    message_free(NULL);
    assert_null(message_new(SIZE_MAX, 1, 0));
}

static void test_Q9_two_nodes_share_a_store(void **state)
{
    (void)state;
    struct world one;
    world_open(&one, BACKEND_MEMORY);
    struct world two = {.backend = BACKEND_MEMORY, .now_ms = NOW_MS, .service = one.service};
    assert_int_equal(store_memory_join(&two.store, one.store), LULL_OK);
    two.lease = 1000;
    for (int i = 0; i < 4; i++) {
        put_waiting(&one);
    }
    struct message *ours = NULL;
    struct message *theirs[4];
    assert_int_equal(lease_some(&one, one.service, &ours, 1).ret_count, 1);
    assert_int_equal(lease_some(&two, two.service, theirs, 4).ret_count, 3); /* the others */
    assert_counts(&two, 0, 4, 0);
    /* A pause is seen by all before their next send (P5), and the gate is one. */
    assert_true(set_gate(&one, one.service, 0, (struct gate){.in_flight_max = 5}));
    assert_false(set_gate(&two, two.service, 0, (struct gate){.in_flight_max = 9}));
    put_waiting(&two);
    put_waiting(&two);
    assert_int_equal(lease_count(&two, 4, NULL), 1);
    assert_int_equal(lease_count(&one, 4, NULL), 0);
    assert_false(settle_message(&one, ours, STORE_DONE));
    assert_int_equal(lease_count(&one, 4, NULL), 1);
    /* One that is gone: what it had runs out, and the other gets it. */
    store_close(two.store);
    uint64_t count = 0;
    one.now_ms += 1000;
    assert_int_equal(store_reclaim(one.store, one.now_ms, false, &count), LULL_OK);
    assert_int_equal(count, 5);
    free_messages(theirs, 3);
    world_close(&one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_id_and_its_text),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_a_history_can_grow_out_of_itself),
        cmocka_unit_test(test_Q9_two_nodes_share_a_store),
    };
    return cmocka_run_group_tests_name("store parts", tests, NULL, NULL);
}
