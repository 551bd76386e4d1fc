/* store - see the header. Here is the door that all backends share: what a caller may not do is
 * caught before any of them sees it. SPDX-License-Identifier: MIT */
#include "store.h"

#include <assert.h>

#include "lull/error.h"

static void check_settles(const struct store_batch *batch)
{
    assert(batch->settles || batch->settle_count == 0);
    for (size_t i = 0; i < batch->settle_count; i++) {
        assert(batch->settles[i].message && batch->settles[i].message->id != 0);
        assert(batch->settles[i].kind <= STORE_DIE);
    }
}

static void check_puts(const struct store_batch *batch)
{
    assert(batch->puts || batch->put_count == 0);
    for (size_t i = 0; i < batch->put_count; i++) {
        const struct message *message = batch->puts[i].message;
        assert(message && message->service != 0);
        assert(message->urgency < MESSAGE_URGENCIES && message->cause < MESSAGE_CAUSES);
    }
}

static void check_rest(const struct store_batch *batch)
{
    assert(batch->cancels || batch->cancel_count == 0);
    assert(batch->holds || batch->hold_count == 0);
    assert(batch->gates || batch->gate_count == 0);
    assert(batch->leases || batch->lease_count == 0);
    for (size_t i = 0; i < batch->gate_count; i++) {
        assert(batch->gates[i].service != 0);
    }
    for (size_t i = 0; i < batch->lease_count; i++) {
        assert(batch->leases[i].service != 0);
        assert(batch->leases[i].messages || batch->leases[i].max == 0);
    }
}

int store_apply(struct store *store, struct store_batch *batch, int64_t now_ms)
{
    check_settles(batch);
    check_puts(batch);
    check_rest(batch);
    return store->table->apply(store, batch, now_ms);
}

int store_service(struct store *store, const char *name, size_t length, uint32_t *ret_number)
{
    return store->table->service(store, name, length, ret_number);
}

int store_services(struct store *store, void (*call)(void *userdata, const struct store_service *),
                   void *userdata)
{
    return store->table->services(store, call, userdata);
}

int store_reclaim(struct store *store, int64_t now_ms, bool is_all, uint64_t *ret_count)
{
    return store->table->reclaim(store, now_ms, is_all, ret_count);
}

int store_find(struct store *store, uint64_t id, struct message **ret_message)
{
    return store->table->find(store, id, ret_message);
}

bool store_has_given(struct store *store, uint64_t id)
{
    return store->table->has_given(store, id);
}

int store_list(struct store *store, const struct store_filter *filter, struct message **ret_list,
               size_t *ret_count, uint64_t *ret_after)
{
    assert(filter->limit > 0 && filter->scan > 0);
    assert(!filter->has_place || filter->place < MESSAGE_PLACES);
    return store->table->list(store, filter, ret_list, ret_count, ret_after);
}

struct store_stats store_stats(struct store *store)
{
    return store->table->stats(store);
}

int store_sweep(struct store *store, int64_t now_ms)
{
    return store->table->sweep(store, now_ms);
}

int store_room(struct store *store)
{
    return store->table->room ? store->table->room(store) : LULL_OK;
}

const char *store_problem(const struct store *store)
{
    return store->table->problem(store);
}

void store_close(struct store *store)
{
    if (store) {
        store->table->close(store);
    }
}

const char *store_error_to_string(int error)
{
    switch (error) {
    case STORE_ERR_DISK_FULL:
        return "disk_full";
    case STORE_ERR_BROKEN:
        return "broken";
    case STORE_ERR_BUSY:
        return "busy";
    case STORE_ERR_FOREIGN:
        return "foreign";
    default:
        return lull_error_to_string(error);
    }
}
