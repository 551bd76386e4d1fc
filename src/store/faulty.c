/* faulty - see the header. SPDX-License-Identifier: MIT */
#include "faulty.h"

#include <assert.h>
#include <stdlib.h>

#include "lull/error.h"
#include "lull/random.h"

#define MILLION 1000000

enum state {
    STATE_WELL,
    STATE_BROKEN,
    STATE_CUT,
};

struct faulty_store {
    struct store store;
    struct store *inner;
    struct faulty_plan plan;
    struct lull_random random;
    enum state state;
    uint32_t full_left; /* calls that still meet a full disk */
};

static struct faulty_store *faulty_of(struct store *store)
{
    return (struct faulty_store *)(void *)store;
}

static bool happens(struct faulty_store *store, uint32_t chance)
{
    return chance > 0 && lull_random_between(&store->random, 0, MILLION - 1) < chance;
}

/* What of a message store_apply sets. */
struct given {
    uint64_t id;
    int64_t due_ms;
    uint64_t lease;
    int64_t lease_until_ms;
    uint8_t cause;
    uint8_t place;
};

static void keep_given(const struct store_batch *batch, struct given *given)
{
    for (size_t i = 0; i < batch->put_count; i++) {
        const struct message *message = batch->puts[i].message;
        given[i] =
            (struct given){message->id,    message->due_ms, message->lease, message->lease_until_ms,
                           message->cause, message->place};
    }
}

/* As before the call: whoever made it is gone, and has seen nothing. */
static void take_back(struct store_batch *batch, const struct given *given)
{
    for (size_t i = 0; i < batch->put_count; i++) {
        struct message *message = batch->puts[i].message;
        message->id = given[i].id;
        message->due_ms = given[i].due_ms;
        message->lease = given[i].lease;
        message->lease_until_ms = given[i].lease_until_ms;
        message->cause = given[i].cause;
        message->place = given[i].place;
    }
    for (size_t i = 0; i < batch->lease_count; i++) {
        struct store_lease *lease = &batch->leases[i];
        while (lease->ret_count > 0) {
            message_free(lease->messages[--lease->ret_count]);
        }
    }
}

static int cut(struct faulty_store *store, struct store_batch *batch, int64_t now_ms)
{
    struct given *given = calloc(batch->put_count + 1, sizeof(struct given));
    if (!given) {
        return LULL_ERR_MEMORY;
    }
    keep_given(batch, given);
    bool is_done = lull_random_between(&store->random, 0, 1) == 1;
    if (is_done && store_apply(store->inner, batch, now_ms) == LULL_OK) {
        take_back(batch, given);
    }
    free(given);
    store->state = STATE_CUT;
    return STORE_ERR_BROKEN;
}

static int faulty_apply(struct store *base, struct store_batch *batch, int64_t now_ms)
{
    struct faulty_store *store = faulty_of(base);
    if (store->state != STATE_WELL) {
        return STORE_ERR_BROKEN;
    }
    if (store->full_left == 0 && happens(store, store->plan.disk_full)) {
        store->full_left = store->plan.disk_full_length > 0 ? store->plan.disk_full_length : 1;
    }
    if (store->full_left > 0) {
        store->full_left--;
        return STORE_ERR_DISK_FULL;
    }
    if (happens(store, store->plan.broken)) {
        store->state = STATE_BROKEN;
        return STORE_ERR_BROKEN;
    }
    if (happens(store, store->plan.cut)) {
        return cut(store, batch, now_ms);
    }
    return store_apply(store->inner, batch, now_ms);
}

/* What the other verbs that write meet: no faults of their own, but those that last. */
static int may_write(const struct faulty_store *store)
{
    if (store->state != STATE_WELL) {
        return STORE_ERR_BROKEN;
    }
    return store->full_left > 0 ? STORE_ERR_DISK_FULL : LULL_OK;
}

static int faulty_service(struct store *base, const char *name, size_t length, uint32_t *ret_number)
{
    struct faulty_store *store = faulty_of(base);
    int error = may_write(store);
    return error == LULL_OK ? store_service(store->inner, name, length, ret_number) : error;
}

static int faulty_services(struct store *base,
                           void (*call)(void *userdata, const struct store_service *),
                           void *userdata)
{
    struct faulty_store *store = faulty_of(base);
    return store->state == STATE_WELL ? store_services(store->inner, call, userdata)
                                      : STORE_ERR_BROKEN;
}

static int faulty_reclaim(struct store *base, int64_t now_ms, bool is_all, uint64_t *ret_count)
{
    struct faulty_store *store = faulty_of(base);
    int error = may_write(store);
    return error == LULL_OK ? store_reclaim(store->inner, now_ms, is_all, ret_count) : error;
}

static int faulty_find(struct store *base, uint64_t id, struct message **ret_message)
{
    struct faulty_store *store = faulty_of(base);
    return store->state == STATE_WELL ? store_find(store->inner, id, ret_message)
                                      : STORE_ERR_BROKEN;
}

static bool faulty_has_given(struct store *base, uint64_t id)
{
    return store_has_given(faulty_of(base)->inner, id);
}

static int faulty_list(struct store *base, const struct store_filter *filter,
                       struct message **ret_list, size_t *ret_count, uint64_t *ret_after)
{
    struct faulty_store *store = faulty_of(base);
    return store->state == STATE_WELL
               ? store_list(store->inner, filter, ret_list, ret_count, ret_after)
               : STORE_ERR_BROKEN;
}

static struct store_stats faulty_stats(struct store *base)
{
    return store_stats(faulty_of(base)->inner);
}

static int faulty_sweep(struct store *base, int64_t now_ms)
{
    struct faulty_store *store = faulty_of(base);
    int error = may_write(store);
    return error == LULL_OK ? store_sweep(store->inner, now_ms) : error;
}

static const char *faulty_problem(const struct store *base)
{
    const struct faulty_store *store = (const struct faulty_store *)(const void *)base;
    switch (store->state) {
    case STATE_BROKEN:
        return "the store was broken by plan";
    case STATE_CUT:
        return "the store was cut off by plan";
    case STATE_WELL:
    default:
        return store_problem(store->inner);
    }
}

static void faulty_close(struct store *base)
{
    store_close(faulty_of(base)->inner);
    free(base);
}

static const struct store_table faulty_table = {
    .name = "faulty",
    .apply = faulty_apply,
    .service = faulty_service,
    .services = faulty_services,
    .reclaim = faulty_reclaim,
    .find = faulty_find,
    .has_given = faulty_has_given,
    .list = faulty_list,
    .stats = faulty_stats,
    .sweep = faulty_sweep,
    .problem = faulty_problem,
    .close = faulty_close,
};

int store_faulty_open(struct store **ret_store, struct store *inner, uint64_t seed,
                      const struct faulty_plan *plan)
{
    struct faulty_store *store = calloc(1, sizeof *store);
    if (!store) {
        return LULL_ERR_MEMORY;
    }
    store->store.table = &faulty_table;
    store->inner = inner;
    store->plan = *plan;
    lull_random_init(&store->random, seed);
    *ret_store = &store->store;
    return LULL_OK;
}

void faulty_set_plan(struct store *store, const struct faulty_plan *plan)
{
    assert(store->table == &faulty_table);
    faulty_of(store)->plan = *plan;
    faulty_of(store)->full_left = 0;
}

bool faulty_is_cut(const struct store *store)
{
    assert(store->table == &faulty_table);
    return ((const struct faulty_store *)(const void *)store)->state == STATE_CUT;
}

void faulty_restart(struct store *store)
{
    assert(store->table == &faulty_table);
    faulty_of(store)->state = STATE_WELL;
}
