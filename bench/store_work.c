/* store_work - see the header. SPDX-License-Identifier: MIT */
#include "store_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lull/classify.h"
#include "lull/error.h"
#include "lull/os.h"

#define TTL_MS INT64_C(86400000)
#define LEASE_MS INT64_C(120000)

void work_fail(const char *what)
{
    (void)fprintf(stderr, "bench-store: %s\n", what);
    exit(2);
}

void work_open(struct work *work, const char *folder, uint32_t in_flight)
{
    struct store_opening opening = {0};
    *work = (struct work){.ring_size = in_flight + (size_t)2 * WORK_BATCH_MAX};
    (void)snprintf(work->path, sizeof work->path, "%.400s/bench-store-%ld.db", folder,
                   (long)getpid());
    work->ring = calloc(work->ring_size, sizeof(struct message *));
    if (!work->ring) {
        work_fail("no memory");
    }
    if (store_sqlite_open(&work->store, work->path, &opening) != LULL_OK) {
        work_fail(opening.problem);
    }
    if (store_service(work->store, "sink", strlen("sink"), &work->service) != LULL_OK) {
        work_fail(store_problem(work->store));
    }
}

void work_remove(const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-lock", "-spare"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char name[520];
        (void)snprintf(name, sizeof name, "%s%s", path, endings[i]);
        (void)unlink(name);
    }
}

void work_close(struct work *work)
{
    for (; work->settled < work->put; work->settled++) {
        message_free(work->ring[work->settled % work->ring_size]);
    }
    store_close(work->store);
    free(work->ring);
    work_remove(work->path);
}

static struct message *make_message(const struct work *work, uint64_t number, int64_t now_ms)
{
    struct message *message = message_new(WORK_ENVELOPE, WORK_BODY, 0);
    if (!message) {
        work_fail("no memory");
    }
    memset((void *)message->envelope.data, 'e', WORK_ENVELOPE);
    memset((void *)message->body.data, 'b', WORK_BODY);
    message->service = work->service;
    message->target = (number + 1) * UINT64_C(0x9e3779b97f4a7c15); /* a hash, as they are */
    message->kind = LULL_KIND_PUSH;
    message->urgency = MESSAGE_NORMAL;
    message->accepted_ms = message->due_ms = now_ms;
    message->ttl_ms = TTL_MS;
    return message;
}

static struct store_put make_put(const struct work *work, uint64_t number, bool is_leased,
                                 int64_t now_ms)
{
    return (struct store_put){
        .message = make_message(work, number, now_ms),
        .is_lease_wanted = is_leased,
        .lease = 1,
        .lease_until_ms = now_ms + LEASE_MS,
    };
}

static void apply(struct work *work, struct store_batch *batch, int64_t now_ms)
{
    if (store_apply(work->store, batch, now_ms) != LULL_OK) {
        work_fail(store_problem(work->store));
    }
}

/* The first of the ring are settled. */
static void forget(struct work *work, const struct store_batch *batch)
{
    for (size_t i = 0; i < batch->settle_count; i++, work->settled++) {
        if (batch->settles[i].ret_is_stale) {
            work_fail("a lease was lost");
        }
        message_free(work->ring[work->settled % work->ring_size]);
    }
}

void work_pass(struct work *work, uint32_t count, uint32_t in_flight)
{
    static struct store_put puts[WORK_BATCH_MAX];
    static struct store_settle settles[WORK_BATCH_MAX];
    int64_t now_ms = lull_os_now_ms();
    struct store_batch batch = {.puts = puts, .settles = settles, .is_durable = true};
    for (; batch.put_count < count; batch.put_count++) {
        puts[batch.put_count] = make_put(work, work->put + batch.put_count, true, now_ms);
    }
    while (work->put - work->settled >= in_flight + batch.settle_count &&
           batch.settle_count < count) {
        settles[batch.settle_count] = (struct store_settle){
            .kind = STORE_DONE,
            .message = work->ring[(work->settled + batch.settle_count) % work->ring_size],
        };
        batch.settle_count++;
    }
    apply(work, &batch, now_ms);
    forget(work, &batch);
    for (size_t i = 0; i < batch.put_count; i++, work->put++) {
        if (puts[i].ret_result != STORE_PUT_LEASED) {
            work_fail("a message was not leased");
        }
        work->ring[work->put % work->ring_size] = puts[i].message;
    }
}

void work_fill(struct work *work, uint32_t count)
{
    static struct store_put puts[WORK_BATCH_MAX];
    for (uint32_t done = 0; done < count; done += WORK_BATCH_MAX) {
        int64_t now_ms = lull_os_now_ms();
        struct store_batch batch = {.puts = puts, .put_count = WORK_BATCH_MAX};
        for (uint32_t i = 0; i < WORK_BATCH_MAX; i++) {
            puts[i] = make_put(work, done + i, false, now_ms);
        }
        apply(work, &batch, now_ms);
        for (uint32_t i = 0; i < WORK_BATCH_MAX; i++) {
            message_free(puts[i].message);
        }
    }
}

uint32_t work_claim(struct work *work, uint32_t count)
{
    static struct message *messages[WORK_BATCH_MAX];
    static struct store_settle settles[WORK_BATCH_MAX];
    int64_t now_ms = lull_os_now_ms();
    struct store_lease lease = {
        .service = work->service,
        .max = count,
        .lease = 1,
        .lease_until_ms = now_ms + LEASE_MS,
        .messages = messages,
    };
    struct store_batch batch = {
        .settles = settles, .leases = &lease, .lease_count = 1, .is_durable = true};
    for (; work->settled + batch.settle_count < work->put; batch.settle_count++) {
        settles[batch.settle_count] = (struct store_settle){
            .kind = STORE_DONE,
            .message = work->ring[(work->settled + batch.settle_count) % work->ring_size],
        };
    }
    apply(work, &batch, now_ms);
    forget(work, &batch);
    for (uint32_t i = 0; i < lease.ret_count; i++, work->put++) {
        work->ring[work->put % work->ring_size] = messages[i];
    }
    return lease.ret_count;
}
