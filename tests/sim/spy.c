/* spy - see the header. SPDX-License-Identifier: MIT */
#include "spy.h"

#include <inttypes.h>

#include "node_parts.h"
#include "world.h"

static struct node *node_of(const struct store *store)
{
    return (struct node *)((const char *)store - offsetof(struct node, spy));
}

/* What every verb that writes meets: death before it, a full disk. */
static int meet_trouble(struct node *node)
{
    if (!node_goes_on(node)) {
        return STORE_ERR_BROKEN;
    }
    return node->world->disk_room == DISK_FULL ? STORE_ERR_DISK_FULL : LULL_OK;
}

static int spy_apply(struct store *store, struct store_batch *batch, int64_t now_ms)
{
    struct node *node = node_of(store);
    int error = meet_trouble(node);
    if (error == LULL_OK && batch->put_count > 0 && node->world->disk_room != DISK_GOOD) {
        error = STORE_ERR_DISK_FULL;
    }
    if (error == LULL_OK) {
        error = store_apply(node->inner, batch, now_ms);
    }
    if (error == STORE_ERR_DISK_FULL) {
        node->world->disk_freed_mono_ms = node->world->mono_ms;
    } else if (error == LULL_OK) {
        model_on_apply(&node->world->model, node->index, batch, now_ms);
        (void)node_goes_on(node); /* or it dies with the commit done, and nobody told */
    }
    return error;
}

static int spy_service(struct store *store, const char *name, size_t length, uint32_t *ret_number)
{
    return store_service(node_of(store)->inner, name, length, ret_number);
}

static int spy_services(struct store *store, void (*call)(void *, const struct store_service *),
                        void *userdata)
{
    return store_services(node_of(store)->inner, call, userdata);
}

static int spy_reclaim(struct store *store, int64_t now_ms, bool is_all, uint64_t *ret_count)
{
    struct node *node = node_of(store);
    int error = meet_trouble(node);
    if (error == LULL_OK) {
        error = store_reclaim(node->inner, now_ms, is_all, ret_count);
    }
    if (error == LULL_OK) {
        trace_event(&node->world->trace, "node %" PRIu32 " reclaims %" PRIu64, node->index,
                    *ret_count);
        model_on_reclaim(&node->world->model, now_ms, is_all, *ret_count);
    }
    return error;
}

static int spy_find(struct store *store, uint64_t id, struct message **ret_message)
{
    return store_find(node_of(store)->inner, id, ret_message);
}

static bool spy_has_given(struct store *store, uint64_t id)
{
    return store_has_given(node_of(store)->inner, id);
}

static int spy_list(struct store *store, const struct store_filter *filter,
                    struct message **ret_list, size_t *ret_count, uint64_t *ret_after)
{
    return store_list(node_of(store)->inner, filter, ret_list, ret_count, ret_after);
}

static struct store_stats spy_stats(struct store *store)
{
    return store_stats(node_of(store)->inner);
}

static int spy_sweep(struct store *store, int64_t now_ms)
{
    struct node *node = node_of(store);
    int error = meet_trouble(node);
    if (error == LULL_OK) {
        error = store_sweep(node->inner, now_ms);
        model_on_sweep(&node->world->model, now_ms);
    }
    return error;
}

static int spy_room(struct store *store)
{
    const struct node *node = node_of(store);
    bool is_good = node->world->disk_room == DISK_GOOD;
    return is_good ? store_room(node->inner) : STORE_ERR_DISK_FULL;
}

static const char *spy_problem(const struct store *store)
{
    return store_problem(node_of(store)->inner);
}

static void spy_close(struct store *store)
{
    (void)store; /* the node closes what is behind it */
}

static const struct store_table table = {
    .name = "spy",
    .apply = spy_apply,
    .service = spy_service,
    .services = spy_services,
    .reclaim = spy_reclaim,
    .find = spy_find,
    .has_given = spy_has_given,
    .list = spy_list,
    .stats = spy_stats,
    .sweep = spy_sweep,
    .room = spy_room,
    .problem = spy_problem,
    .close = spy_close,
};

void spy_init(struct node *node)
{
    node->spy.table = &table;
}
