/* worlds - see the header. SPDX-License-Identifier: MIT */
#include "worlds.h"

#include <dirent.h>
#include <unistd.h>

#include "faulty.h"

static const char *const names[BACKENDS] = {"sqlite", "memory", "faulty"};

const char *backend_name(enum backend backend)
{
    return names[backend];
}

void folder_make(char *ret_folder, size_t size)
{
    (void)snprintf(ret_folder, size, "/tmp/lull-store-XXXXXX");
    assert_non_null(mkdtemp(ret_folder));
}

void folder_remove(const char *folder)
{
    DIR *directory = opendir(folder);
    struct dirent *entry = NULL;
    while (directory && (entry = readdir(directory)) != NULL) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        (void)unlink(path);
    }
    if (directory) {
        (void)closedir(directory);
    }
    (void)rmdir(folder);
}

static void open_sqlite(struct world *world)
{
    struct store_opening opening;
    int error = store_sqlite_open(&world->store, world->path, &opening);
    if (error != LULL_OK) {
        print_error("%s\n", opening.problem);
    }
    assert_int_equal(error, LULL_OK);
}

void world_open(struct world *world, enum backend backend)
{
    *world = (struct world){.backend = backend, .now_ms = NOW_MS};
    if (backend == BACKEND_SQLITE) {
        folder_make(world->folder, sizeof world->folder);
        (void)snprintf(world->path, sizeof world->path, "%s/lull.db", world->folder);
        open_sqlite(world);
    } else {
        assert_int_equal(store_memory_open(&world->store), LULL_OK);
    }
    if (backend == BACKEND_FAULTY) {
        static const struct faulty_plan none = {0};
        struct store *inner = world->store;
        assert_int_equal(store_faulty_open(&world->store, inner, 1, &none), LULL_OK);
    }
    assert_int_equal(store_service(world->store, "fcm", 3, &world->service), LULL_OK);
}

void world_close(struct world *world)
{
    store_close(world->store);
    if (world->folder[0] != '\0') {
        folder_remove(world->folder);
    }
}

bool world_reopen(struct world *world)
{
    if (world->backend != BACKEND_SQLITE) {
        return false;
    }
    store_close(world->store);
    open_sqlite(world);
    return true;
}

/* ---- what cases do most ---- */

static const char envelope[] = "an envelope";
static const char body[] = "a body, which is a little longer";
static const char history[] = "h";

struct message *make_message(const struct world *world)
{
    struct message *message = message_new(sizeof envelope, sizeof body, sizeof history);
    assert_non_null(message);
    memcpy((void *)message->envelope.data, envelope, sizeof envelope);
    memcpy((void *)message->body.data, body, sizeof body);
    memcpy((void *)message->history.data, history, sizeof history);
    message->service = world->service;
    message->urgency = MESSAGE_NORMAL;
    message->target = 77;
    message->kind = 1;
    message->accepted_ms = world->now_ms;
    message->ttl_ms = LULL_HOURS(1);
    message->due_ms = world->now_ms;
    return message;
}

void apply(struct world *world, struct store_batch *batch)
{
    assert_int_equal(store_apply(world->store, batch, world->now_ms), LULL_OK);
}

struct store_put put_message(struct world *world, struct message *message, bool is_lease_wanted)
{
    struct store_put put = {
        .message = message,
        .is_lease_wanted = is_lease_wanted,
        .lease = ++world->lease,
        .lease_until_ms = world->now_ms + 1000,
    };
    struct store_batch batch = {.puts = &put, .put_count = 1};
    apply(world, &batch);
    message_free(message);
    put.message = NULL;
    return put;
}

uint64_t put_waiting(struct world *world)
{
    struct store_put put = put_message(world, make_message(world), false);
    assert_int_equal(put.ret_result, STORE_PUT_WAITING);
    return put.ret_id;
}

struct store_lease lease_some(struct world *world, uint32_t service, struct message **messages,
                              uint32_t max)
{
    struct store_lease lease = {
        .service = service,
        .max = max,
        .lease = ++world->lease,
        .lease_until_ms = world->now_ms + 1000,
        .messages = messages,
    };
    struct store_batch batch = {.leases = &lease, .lease_count = 1};
    apply(world, &batch);
    assert_true(lease.ret_count <= max);
    for (uint32_t i = 0; i < lease.ret_count; i++) {
        assert_int_equal(messages[i]->place, MESSAGE_LEASED);
        assert_int_equal(messages[i]->lease, lease.lease);
        assert_int_equal(messages[i]->lease_until_ms, lease.lease_until_ms);
    }
    return lease;
}

void free_messages(struct message **messages, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        message_free(messages[i]);
    }
}

uint32_t lease_count(struct world *world, uint32_t max, uint64_t *ret_ids)
{
    struct message *messages[256];
    assert_true(max <= 256);
    struct store_lease lease = lease_some(world, world->service, messages, max);
    for (uint32_t i = 0; ret_ids && i < lease.ret_count; i++) {
        ret_ids[i] = messages[i]->id;
    }
    free_messages(messages, lease.ret_count);
    return lease.ret_count;
}

bool settle_message(struct world *world, struct message *message, enum store_settle_kind kind)
{
    struct store_settle settle = {.kind = kind, .message = message};
    struct store_batch batch = {.settles = &settle, .settle_count = 1};
    apply(world, &batch);
    message_free(message);
    return settle.ret_is_stale;
}

void set_hold(struct world *world, uint64_t target, int64_t until_ms)
{
    struct store_hold hold = {.target = target, .until_ms = until_ms};
    struct store_batch batch = {.holds = &hold, .hold_count = 1};
    apply(world, &batch);
}

bool set_gate(struct world *world, uint32_t service, uint64_t expected_version, struct gate gate)
{
    struct store_set_gate set = {
        .service = service, .expected_version = expected_version, .gate = gate};
    struct store_batch batch = {.gates = &set, .gate_count = 1};
    apply(world, &batch);
    return set.ret_is_set;
}

struct message *find_message(struct world *world, uint64_t id)
{
    struct message *message = NULL;
    assert_int_equal(store_find(world->store, id, &message), LULL_OK);
    return message;
}

void assert_place(struct world *world, uint64_t id, enum message_place place)
{
    struct message *message = find_message(world, id);
    assert_non_null(message);
    assert_int_equal(message->place, place);
    message_free(message);
}

void assert_counts(struct world *world, uint64_t waiting, uint64_t leased, uint64_t dead)
{
    struct store_stats stats = store_stats(world->store);
    assert_int_equal(stats.waiting, waiting);
    assert_int_equal(stats.leased, leased);
    assert_int_equal(stats.dead, dead);
}

static bool is_same_text(struct message_bytes a, struct message_bytes b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.data, b.data, a.length) == 0);
}

bool messages_are_same(const struct message *a, const struct message *b)
{
    return a->id == b->id && a->service == b->service && a->target == b->target &&
           a->topic == b->topic && a->kind == b->kind && a->urgency == b->urgency &&
           a->accepted_ms == b->accepted_ms && a->ttl_ms == b->ttl_ms && a->due_ms == b->due_ms &&
           a->attempts == b->attempts && a->auth_retries == b->auth_retries && a->lost == b->lost &&
           a->previous_delay_ms == b->previous_delay_ms && a->cause == b->cause &&
           a->place == b->place && a->lease == b->lease && a->lease_until_ms == b->lease_until_ms &&
           a->reason == b->reason && a->status == b->status && a->died_ms == b->died_ms &&
           is_same_text(a->envelope, b->envelope) && is_same_text(a->body, b->body) &&
           is_same_text(a->history, b->history);
}
