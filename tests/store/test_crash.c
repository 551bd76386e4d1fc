/* A process that is killed in the middle: what it was told is safe is there, and of a batch that
 * was cut off all or nothing (Q1, Q3). SPDX-License-Identifier: MIT */
#include "worlds.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILLS 100
#define BATCH 7             /* messages of one, all with its number as their target */
#define MAX_SLEEP_US 150000 /* opening takes its part of it */

/* What the child says of each batch that store_apply has returned from. */
struct said {
    uint64_t number;
    uint64_t first_id;
    uint64_t settled; /* the number of the batch that it settled, 0: none */
};

static struct message *make_one(const struct world *world, uint64_t number)
{
    struct message *message = make_message(world);
    message->target = number;
    return message;
}

/* Puts batch after batch; each settles the whole of the one before: half of it delivered, half of
 * it to wait again, one dead. It ends by being killed. */
static void work(const char *path, uint64_t number, int pipe_end)
{
    struct world world = {.now_ms = NOW_MS};
    uint64_t count = 0;
    if (store_sqlite_open(&world.store, path, NULL) != LULL_OK ||
        store_service(world.store, "fcm", 3, &world.service) != LULL_OK ||
        store_reclaim(world.store, NOW_MS, true, &count) != LULL_OK) {
        _exit(3);
    }
    struct message *last[BATCH] = {0};
    for (uint64_t before = 0;; before = number, number++) {
        struct store_put puts[BATCH] = {0};
        struct store_settle settles[BATCH] = {0};
        for (int i = 0; i < BATCH; i++) {
            puts[i] = (struct store_put){.message = make_one(&world, number),
                                         .is_lease_wanted = true,
                                         .lease = number,
                                         .lease_until_ms = NOW_MS + 1000};
            settles[i].message = last[i];
            settles[i].kind = i == 0 ? STORE_DIE : i < 4 ? STORE_DONE : STORE_RETRY;
        }
        struct store_batch batch = {.puts = puts,
                                    .put_count = BATCH,
                                    .settles = settles,
                                    .settle_count = before > 0 ? BATCH : 0,
                                    .is_durable = number % 3 == 0};
        if (store_apply(world.store, &batch, NOW_MS) != LULL_OK) {
            _exit(4);
        }
        for (int i = 0; i < BATCH; i++) {
            message_free(last[i]);
            last[i] = puts[i].message;
        }
        struct said said = {number, last[0]->id, before};
        if (write(pipe_end, &said, sizeof said) != sizeof said) {
            _exit(5);
        }
    }
}

/* How many of a batch's messages are where. */
struct found {
    uint32_t waiting;
    uint32_t dead;
};

struct tally {
    struct found *batches; /* by number */
    size_t size;
    uint64_t id_max;
};

static void count_all(struct store *store, struct tally *tally)
{
    struct message *list[200];
    struct store_filter filter = {.limit = 200, .scan = 200};
    memset(tally->batches, 0, tally->size * sizeof *tally->batches);
    do {
        size_t count = 0;
        assert_int_equal(store_list(store, &filter, list, &count, &filter.after), LULL_OK);
        for (size_t i = 0; i < count; i++) {
            assert_true(list[i]->target < tally->size);
            struct found *found = &tally->batches[list[i]->target];
            found->waiting += list[i]->place == MESSAGE_WAITING;
            found->dead += list[i]->place == MESSAGE_DEAD;
            tally->id_max = list[i]->id > tally->id_max ? list[i]->id : tally->id_max;
        }
        free_messages(list, (uint32_t)count);
    } while (filter.after != 0);
}

/* After everything was reclaimed: a batch waits as a whole, or was settled as a whole, or never
 * was. */
static void check_batch(const struct found *found, bool is_said, bool is_settled)
{
    bool is_whole = found->waiting == BATCH && found->dead == 0;
    bool is_done = found->waiting == 3 && found->dead == 1;
    bool is_absent = found->waiting == 0 && found->dead == 0;
    assert_true(is_whole || is_done || is_absent);
    if (is_settled) {
        assert_true(is_done);
    } else if (is_said) {
        assert_true(is_whole || is_done);
    }
}

#define BATCHES_MAX 400000

struct ledger {
    bool is_said[BATCHES_MAX];    /* it was acknowledged */
    bool is_settled[BATCHES_MAX]; /* and so was its settle */
    uint64_t number_max;          /* that may have been used */
    uint64_t id_max;
};

/* What the child said before it died. */
static void listen(int pipe_end, struct ledger *ledger)
{
    struct said said;
    while (read(pipe_end, &said, sizeof said) == sizeof said) {
        assert_true(said.first_id > ledger->id_max); /* no id is given twice */
        ledger->id_max = said.first_id + BATCH - 1;
        assert_true(said.number < BATCHES_MAX);
        ledger->is_said[said.number] = true;
        ledger->is_settled[said.settled] = true;
        ledger->number_max = said.number;
    }
}

static void kill_once(const char *path, struct lull_random *random, struct ledger *ledger)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(ends[0]);
        work(path, ledger->number_max + 1, ends[1]);
    }
    (void)close(ends[1]);
    struct timespec time = {.tv_nsec = 1000 * lull_random_between(random, 0, MAX_SLEEP_US)};
    (void)nanosleep(&time, NULL); /* not to wait for anything: to hit any moment */
    assert_int_equal(kill(child, SIGKILL), 0);
    listen(ends[0], ledger);
    ledger->number_max++; /* one that was cut off keeps its number */
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    (void)close(ends[0]);
}

/* Also those of the runs before: they are as they were. */
static void check_all(const char *path, struct ledger *ledger, struct tally *tally)
{
    struct store *store = NULL;
    struct store_opening opening;
    uint64_t count = 0;
    assert_int_equal(store_sqlite_open(&store, path, &opening), LULL_OK);
    assert_int_equal(store_reclaim(store, NOW_MS, true, &count), LULL_OK);
    count_all(store, tally);
    for (uint64_t batch = 1; batch <= ledger->number_max; batch++) {
        check_batch(&tally->batches[batch], ledger->is_said[batch], ledger->is_settled[batch]);
    }
    ledger->id_max = tally->id_max > ledger->id_max ? tally->id_max : ledger->id_max;
    store_close(store);
}

static void test_Q1_what_was_acknowledged_survives_any_kill(void **state)
{
    (void)state;
    char folder[64];
    char path[96];
    struct lull_random random;
    struct ledger *ledger = calloc(1, sizeof *ledger);
    struct tally tally = {.size = BATCHES_MAX};
    tally.batches = calloc(tally.size, sizeof *tally.batches);
    assert_true(ledger && tally.batches);
    lull_random_init(&random, test_seed("store crash"));
    folder_make(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/lull.db", folder);
    for (int i = 0; i < KILLS; i++) {
        kill_once(path, &random, ledger);
        check_all(path, ledger, &tally);
    }
    assert_true(ledger->number_max > 10 * KILLS); /* most of them were in the middle of something */
    free(tally.batches);
    free(ledger);
    folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_Q1_what_was_acknowledged_survives_any_kill),
    };
    return cmocka_run_group_tests_name("store crash", tests, NULL, NULL);
}
