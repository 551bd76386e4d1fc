/* Batches by chance, on all backends at once and on a model: the same answers from all of them, and
 * the same messages in the end. LULL_TEST_SEED repeats a run. SPDX-License-Identifier: MIT */
#include "model.h"
#include "worlds.h"

#define STEPS 1500
#define PARTS_MAX 6
#define LEASE_MAX 8
#define REMEMBERED 64

/* One batch and the room for its answers, for one backend. */
struct copy {
    struct store_settle settles[PARTS_MAX];
    struct store_cancel cancels[PARTS_MAX];
    struct store_hold holds[PARTS_MAX];
    struct store_set_gate gates[PARTS_MAX];
    struct store_put puts[PARTS_MAX];
    struct store_lease leases[PARTS_MAX];
    struct message *settled[PARTS_MAX];
    struct message *messages[PARTS_MAX][LEASE_MAX];
    struct store_batch batch;
};

struct play {
    int backends; /* the first so many */
    struct lull_random random;
    struct world worlds[BACKENDS];
    struct copy copies[BACKENDS];
    struct model model;
    int64_t now_ms;
    uint64_t lease;
    struct message *leased[REMEMBERED]; /* what was handed out lately, settled or not */
    size_t leased_count;
    uint64_t ids[REMEMBERED];
    size_t id_count;
};

static int64_t any(struct play *play, int64_t min, int64_t max)
{
    return lull_random_between(&play->random, min, max);
}

static size_t any_count(struct play *play)
{
    return (size_t)(any(play, 0, 2) == 0 ? any(play, 0, PARTS_MAX) : any(play, 0, 1));
}

static void remember(struct play *play, const struct message *message)
{
    struct message **place = &play->leased[play->leased_count++ % REMEMBERED];
    message_free(*place);
    *place = message_copy(message);
    assert_non_null(*place);
}

/* ---- one batch ---- */

static void make_settles(struct play *play, struct copy *copy)
{
    size_t known = play->leased_count < REMEMBERED ? play->leased_count : REMEMBERED;
    copy->batch.settle_count = known > 0 ? any_count(play) : 0;
    for (size_t i = 0; i < copy->batch.settle_count; i++) {
        struct message *message = message_copy(play->leased[any(play, 0, (int64_t)known - 1)]);
        assert_non_null(message);
        message->due_ms = play->now_ms + any(play, -20, 60);
        message->attempts++;
        message->auth_retries += (uint32_t)any(play, 0, 1);
        message->lost = 0;
        message->previous_delay_ms = any(play, 0, 1000);
        message->cause = MESSAGE_CAUSE_BACKOFF;
        message->reason = LULL_REASON_REJECTED;
        message->status = (uint16_t)any(play, 400, 599);
        message->died_ms = play->now_ms;
        assert_true(message_set_history(message, "0123456789", (size_t)any(play, 0, 10)));
        copy->settled[i] = message;
        copy->settles[i] = (struct store_settle){
            .kind = (enum store_settle_kind)any(play, STORE_DONE, STORE_DIE), .message = message};
    }
}

static void make_small(struct play *play, struct copy *copy)
{
    size_t known = play->id_count < REMEMBERED ? play->id_count : REMEMBERED;
    copy->batch.cancel_count = known > 0 && any(play, 0, 3) == 0 ? any_count(play) : 0;
    for (size_t i = 0; i < copy->batch.cancel_count; i++) {
        copy->cancels[i] = (struct store_cancel){.id = play->ids[any(play, 0, (int64_t)known - 1)]};
    }
    copy->batch.hold_count = any(play, 0, 5) == 0 ? any_count(play) : 0;
    for (size_t i = 0; i < copy->batch.hold_count; i++) {
        copy->holds[i] = (struct store_hold){.target = (uint64_t)any(play, 1, MODEL_TARGETS),
                                             .until_ms = play->now_ms + any(play, -10, 50)};
    }
    copy->batch.gate_count = any(play, 0, 9) == 0 ? any_count(play) : 0;
    for (size_t i = 0; i < copy->batch.gate_count; i++) {
        uint32_t service = (uint32_t)any(play, 1, MODEL_SERVICES);
        copy->gates[i] = (struct store_set_gate){
            .service = service,
            .expected_version = play->model.gates[service].version + (uint64_t)any(play, 0, 1),
        };
        if (any(play, 0, 2) > 0) {
            copy->gates[i].gate = (struct gate){
                .paused_until_ms = any(play, 0, 1) * (play->now_ms + any(play, 0, 30)),
                .rate_milli_per_s = (uint64_t)(any(play, 0, 1) * any(play, 1, 200000)),
                .burst = (uint32_t)any(play, 1, 20),
                .in_flight_max = (uint32_t)(any(play, 0, 1) * any(play, 1, 20)),
            };
        }
    }
}

static void fill_text(struct message_bytes text, char letter)
{
    if (text.length > 0) {
        memset((void *)text.data, letter, text.length);
    }
}

static void make_puts(struct play *play, struct copy *copy)
{
    /* As many as leave, so that there are some but not ever more. */
    copy->batch.put_count = play->model.count < 300 ? any_count(play) : 0;
    for (size_t i = 0; i < copy->batch.put_count; i++) {
        struct message *message = message_new((size_t)any(play, 0, 40), (size_t)any(play, 0, 5000),
                                              (size_t)any(play, 0, 1));
        assert_non_null(message);
        fill_text(message->envelope, 'e');
        fill_text(message->body, 'b');
        fill_text(message->history, 'h');
        message->service = (uint32_t)any(play, 1, MODEL_SERVICES);
        message->target = (uint64_t)any(play, 1, MODEL_TARGETS);
        message->topic = (uint64_t)(any(play, 0, 1) * any(play, 1, 3));
        message->kind = (uint8_t)any(play, 0, 1);
        message->urgency = (uint8_t)any(play, 0, MESSAGE_URGENCIES - 1);
        message->accepted_ms = play->now_ms;
        message->ttl_ms = any(play, 0, 100000);
        message->due_ms = play->now_ms + any(play, 0, 1) * any(play, 0, 40);
        copy->puts[i] = (struct store_put){
            .message = message,
            .has_key = any(play, 0, 3) == 0,
            .key = {(uint8_t)any(play, 0, MODEL_KEYS - 1)},
            .request = {(uint8_t)any(play, 0, 1)},
            .key_until_ms = play->now_ms + any(play, 0, 60),
            .is_lease_wanted = any(play, 0, 1) == 1,
            .lease = ++play->lease,
            .lease_until_ms = play->now_ms + any(play, 1, 50),
        };
    }
}

static void make_leases(struct play *play, struct copy *copy)
{
    copy->batch.lease_count = (size_t)any(play, 0, 2);
    for (size_t i = 0; i < copy->batch.lease_count; i++) {
        copy->leases[i] = (struct store_lease){
            .service = (uint32_t)any(play, 1, MODEL_SERVICES),
            .max = (uint32_t)any(play, 0, LEASE_MAX),
            .lease = ++play->lease,
            .lease_until_ms = play->now_ms + any(play, 1, 50),
        };
    }
}

static void point_to_own(struct copy *copy)
{
    copy->batch.settles = copy->settles;
    copy->batch.cancels = copy->cancels;
    copy->batch.holds = copy->holds;
    copy->batch.gates = copy->gates;
    copy->batch.puts = copy->puts;
    copy->batch.leases = copy->leases;
    for (size_t i = 0; i < PARTS_MAX; i++) {
        copy->leases[i].messages = copy->messages[i];
    }
}

/* The others get the same, with messages of their own. */
static void make_batch(struct play *play)
{
    struct copy *first = &play->copies[0];
    *first = (struct copy){.batch = {.is_durable = any(play, 0, 9) == 0}};
    make_settles(play, first);
    make_small(play, first);
    make_puts(play, first);
    make_leases(play, first);
    for (int backend = 1; backend < play->backends; backend++) {
        struct copy *copy = &play->copies[backend];
        *copy = *first;
        for (size_t i = 0; i < copy->batch.settle_count; i++) {
            copy->settled[i] = message_copy(first->settled[i]);
            copy->settles[i].message = copy->settled[i];
        }
        for (size_t i = 0; i < copy->batch.put_count; i++) {
            copy->puts[i].message = message_copy(first->puts[i].message);
        }
    }
    for (int backend = 0; backend < play->backends; backend++) {
        point_to_own(&play->copies[backend]);
    }
}

static void compare_answers(const struct copy *a, const struct copy *b)
{
    for (size_t i = 0; i < a->batch.settle_count; i++) {
        assert_int_equal(a->settles[i].ret_is_stale, b->settles[i].ret_is_stale);
    }
    for (size_t i = 0; i < a->batch.cancel_count; i++) {
        assert_int_equal(a->cancels[i].ret_is_done, b->cancels[i].ret_is_done);
    }
    for (size_t i = 0; i < a->batch.gate_count; i++) {
        assert_int_equal(a->gates[i].ret_is_set, b->gates[i].ret_is_set);
    }
    for (size_t i = 0; i < a->batch.put_count; i++) {
        assert_int_equal(a->puts[i].ret_result, b->puts[i].ret_result);
        assert_int_equal(a->puts[i].ret_id, b->puts[i].ret_id);
        assert_int_equal(a->puts[i].ret_replaced, b->puts[i].ret_replaced);
        assert_true(messages_are_same(a->puts[i].message, b->puts[i].message));
    }
    for (size_t i = 0; i < a->batch.lease_count; i++) {
        assert_int_equal(a->leases[i].ret_count, b->leases[i].ret_count);
        assert_int_equal(a->leases[i].ret_stop, b->leases[i].ret_stop);
        assert_true(a->leases[i].ret_until_ms == b->leases[i].ret_until_ms);
        for (uint32_t k = 0; k < a->leases[i].ret_count; k++) {
            assert_true(messages_are_same(a->messages[i][k], b->messages[i][k]));
        }
    }
}

static void remember_answers(struct play *play, const struct copy *copy)
{
    for (size_t i = 0; i < copy->batch.put_count; i++) {
        play->ids[play->id_count++ % REMEMBERED] = copy->puts[i].ret_id;
        if (copy->puts[i].ret_result == STORE_PUT_LEASED) {
            remember(play, copy->puts[i].message);
        }
    }
    for (size_t i = 0; i < copy->batch.lease_count; i++) {
        for (uint32_t k = 0; k < copy->leases[i].ret_count; k++) {
            remember(play, copy->messages[i][k]);
        }
    }
}

static void free_copy(const struct copy *copy)
{
    for (size_t i = 0; i < copy->batch.settle_count; i++) {
        message_free(copy->settled[i]);
    }
    for (size_t i = 0; i < copy->batch.put_count; i++) {
        message_free(copy->puts[i].message);
    }
    for (size_t i = 0; i < copy->batch.lease_count; i++) {
        for (uint32_t k = 0; k < copy->leases[i].ret_count; k++) {
            message_free(copy->messages[i][k]);
        }
    }
}

static void play_batch(struct play *play)
{
    make_batch(play);
    for (int backend = 0; backend < play->backends; backend++) {
        assert_int_equal(
            store_apply(play->worlds[backend].store, &play->copies[backend].batch, play->now_ms),
            LULL_OK);
    }
    model_apply(&play->model, &play->copies[0].batch, play->now_ms);
    for (int backend = 1; backend < play->backends; backend++) {
        compare_answers(&play->copies[0], &play->copies[backend]);
    }
    remember_answers(play, &play->copies[0]);
    for (int backend = 0; backend < play->backends; backend++) {
        free_copy(&play->copies[backend]);
    }
}

/* ---- the rest ---- */

static void check_service(void *userdata, const struct store_service *service)
{
    const struct model *model = userdata;
    uint64_t waiting = 0;
    for (size_t i = 0; i < model->count; i++) {
        waiting += model->messages[i]->place == MESSAGE_WAITING &&
                   model->messages[i]->service == service->number;
    }
    assert_int_equal(service->waiting, waiting);
    assert_int_equal(service->leased, model->uses[service->number].in_flight);
    assert_true(service->next_due_ms == model_next_due(model, service->number));
    assert_int_equal(service->gate.version, model->gates[service->number].version);
}

static void check_store(struct store *store, struct model *model)
{
    struct store_stats stats = store_stats(store);
    assert_int_equal(stats.waiting, model_count(model, MESSAGE_WAITING));
    assert_int_equal(stats.leased, model_count(model, MESSAGE_LEASED));
    assert_int_equal(stats.dead, model_count(model, MESSAGE_DEAD));
    assert_true(stats.oldest_due_ms == model_next_due(model, 0));
    assert_int_equal(store_services(store, check_service, model), LULL_OK);
    for (size_t i = 0; i < model->count; i++) {
        struct message *message = NULL;
        assert_int_equal(store_find(store, model->messages[i]->id, &message), LULL_OK);
        assert_non_null(message);
        assert_true(messages_are_same(message, model->messages[i]));
        message_free(message);
    }
    struct message *list[16];
    struct store_filter filter = {.limit = 16, .scan = 20};
    size_t left = model->count;
    do {
        size_t count = 0;
        assert_int_equal(store_list(store, &filter, list, &count, &filter.after), LULL_OK);
        for (size_t i = 0; i < count; i++) {
            assert_true(left > 0 && list[i]->id == model->messages[--left]->id);
        }
        free_messages(list, (uint32_t)count);
    } while (filter.after != 0);
    assert_int_equal(left, 0);
}

/* What has passed a gate by its rate does not outlive a process: it begins with a full bucket. */
static void reopen(struct play *play)
{
    (void)world_reopen(&play->worlds[BACKEND_SQLITE]);
    for (int number = 1; number <= MODEL_SERVICES; number++) {
        play->model.uses[number] =
            (struct gate_use){.in_flight = play->model.uses[number].in_flight};
    }
}

static void play_other(struct play *play)
{
    bool is_all = any(play, 0, 4) == 0;
    switch (any(play, 0, 9)) {
    case 0:
    case 1:
    case 2: {
        uint64_t wanted = model_reclaim(&play->model, play->now_ms, is_all);
        for (int backend = 0; backend < play->backends; backend++) {
            uint64_t count = 0;
            assert_int_equal(
                store_reclaim(play->worlds[backend].store, play->now_ms, is_all, &count), LULL_OK);
            assert_int_equal(count, wanted);
        }
        break;
    }
    case 3:
        model_sweep(&play->model, play->now_ms);
        for (int backend = 0; backend < play->backends; backend++) {
            assert_int_equal(store_sweep(play->worlds[backend].store, play->now_ms), LULL_OK);
        }
        break;
    case 4:
        for (int backend = 0; backend < play->backends; backend++) {
            check_store(play->worlds[backend].store, &play->model);
        }
        break;
    default:
        break;
    }
}

static void open_all(struct play *play)
{
    for (int backend = 0; backend < play->backends; backend++) {
        uint32_t number = 0;
        world_open(&play->worlds[backend], (enum backend)backend);
        assert_int_equal(store_service(play->worlds[backend].store, "second", 6, &number), LULL_OK);
        assert_int_equal(number, MODEL_SERVICES);
    }
}

static void play_all(int backends, bool is_reopened, const char *name)
{
    struct play *play = calloc(1, sizeof *play);
    assert_non_null(play);
    play->backends = backends;
    play->now_ms = NOW_MS;
    lull_random_init(&play->random, test_seed(name));
    open_all(play);
    for (int step = 0; step < STEPS; step++) {
        play->now_ms += any(play, 0, 20) == 0 ? any(play, -5, 100) : any(play, 0, 5);
        play_batch(play);
        play_other(play);
        if (is_reopened && any(play, 0, 39) == 0) {
            reopen(play);
        }
    }
    for (int backend = 0; backend < play->backends; backend++) {
        check_store(play->worlds[backend].store, &play->model);
        world_close(&play->worlds[backend]);
    }
    for (size_t i = 0; i < REMEMBERED; i++) {
        message_free(play->leased[i]);
    }
    model_clean_up(&play->model);
    free(play);
}

static void test_all_backends_do_what_the_model_does(void **state)
{
    (void)state;
    play_all(BACKENDS, false, "all backends");
}

/* Whose turn it is among the urgencies does not outlive a process either: so this one is alone. */
static void test_sqlite_does_so_when_it_is_opened_again_and_again(void **state)
{
    (void)state;
    play_all(1, true, "sqlite");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_backends_do_what_the_model_does),
        cmocka_unit_test(test_sqlite_does_so_when_it_is_opened_again_and_again),
    };
    return cmocka_run_group_tests_name("store random", tests, NULL, NULL);
}
