/* sqlite_services - services, and the two that tidy up: reclaim and sweep.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sqlite_store.h"

#include <stdlib.h>

#include "lull/duration.h"
#include "lull/error.h"

static int write_service(struct sqlite_store *store, uint32_t number, const char *name,
                         size_t length)
{
    int rc = sqlite_begin(store, true);
    if (rc == SQLITE_OK) {
        struct sqlite_call call = sqlite_call(store, STATEMENT_ADD_SERVICE);
        sqlite_bind(&call, number);
        sqlite_bind_bytes(&call, name, length);
        rc = sqlite_run(&call);
    }
    return sqlite_end(store, rc);
}

int sqlite_service(struct store *base, const char *name, size_t length, uint32_t *ret_number)
{
    struct sqlite_store *store = sqlite_of(base);
    if (!service_name_is_valid(name, length)) {
        return LULL_ERR_RANGE;
    }
    if (store->is_broken) {
        return STORE_ERR_BROKEN;
    }
    uint32_t number = service_table_find(&store->services, name, length);
    if (number != 0) {
        *ret_number = number;
        return LULL_OK;
    }
    number = service_table_next(&store->services);
    int error = service_table_add(&store->services, name, length);
    if (error != LULL_OK) {
        return error;
    }
    error = write_service(store, number, name, length);
    if (error != LULL_OK) {
        service_table_remove_last(&store->services);
        return error;
    }
    *ret_number = number;
    return LULL_OK;
}

int sqlite_services(struct store *base, void (*call)(void *userdata, const struct store_service *),
                    void *userdata)
{
    struct sqlite_store *store = sqlite_of(base);
    uint32_t end = service_table_next(&store->services);
    for (uint32_t number = 1; number < end; number++) {
        struct store_service service;
        service_entry_show(service_table_at(&store->services, number), number, &service);
        int error = store->is_broken
                        ? STORE_ERR_BROKEN
                        : sqlite_error(store, sqlite_next_due(store, number, &service.next_due_ms));
        if (error != LULL_OK) {
            return error;
        }
        call(userdata, &service);
    }
    return LULL_OK;
}

/* ---- reclaim ---- */

struct lost {
    uint64_t id;
    uint64_t target;
    uint32_t service;
};

struct lost_list {
    struct lost *all;
    size_t count;
    size_t size;
};

static bool add_lost(struct lost_list *list, struct lost lost)
{
    if (list->count == list->size) {
        size_t size = list->size > 0 ? list->size * 2 : 256;
        struct lost *all = realloc(list->all, size * sizeof(struct lost));
        if (!all) {
            return false;
        }
        list->all = all;
        list->size = size;
    }
    list->all[list->count++] = lost;
    return true;
}

/* Found first and moved then: a row that is deleted under a cursor would confuse it. */
static int find_lost(const struct sqlite_store *store, int64_t now_ms, bool is_all,
                     struct lost_list *list)
{
    struct sqlite_call call = sqlite_call(store, STATEMENT_FIND_LOST);
    sqlite_bind(&call, now_ms);
    sqlite_bind(&call, is_all);
    int rc = SQLITE_ROW;
    while ((rc = sqlite_row(&call)) == SQLITE_ROW) {
        struct lost lost = {
            .id = (uint64_t)sqlite_column(&call, 0),
            .service = (uint32_t)sqlite_column(&call, 1),
            .target = (uint64_t)sqlite_column(&call, 2),
        };
        if (!add_lost(list, lost)) {
            rc = SQLITE_NOMEM;
            break;
        }
    }
    sqlite_done(&call);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int reclaim_one(struct sqlite_store *store, const struct lost *lost, int64_t now_ms)
{
    int64_t due_ms = now_ms;
    uint8_t cause = MESSAGE_CAUSE_RETURNED;
    hold_table_apply(&store->holds, lost->target, now_ms, &due_ms, &cause);
    struct sqlite_call call = sqlite_call(store, STATEMENT_RECLAIM);
    sqlite_bind(&call, (int64_t)lost->id);
    sqlite_bind(&call, due_ms);
    sqlite_bind(&call, cause);
    int rc = sqlite_run(&call);
    if (rc == SQLITE_OK) {
        rc = sqlite_enter(store, lost->service, MESSAGE_WAITING, due_ms);
    }
    return rc == SQLITE_OK ? sqlite_delete_leased(store, lost->id, lost->service) : rc;
}

int sqlite_reclaim(struct store *base, int64_t now_ms, bool is_all, uint64_t *ret_count)
{
    struct sqlite_store *store = sqlite_of(base);
    if (store->is_broken) {
        return STORE_ERR_BROKEN;
    }
    struct lost_list list = {0};
    int rc = store->numbers.places[MESSAGE_LEASED] > 0 ? find_lost(store, now_ms, is_all, &list)
                                                       : SQLITE_OK;
    if (rc != SQLITE_OK || list.count == 0) {
        free(list.all);
        if (rc == SQLITE_OK) {
            *ret_count = 0;
        }
        return sqlite_error(store, rc);
    }
    rc = sqlite_begin(store, false); /* what a power loss undoes is found again */
    for (size_t i = 0; rc == SQLITE_OK && i < list.count; i++) {
        rc = reclaim_one(store, &list.all[i], now_ms);
    }
    int error = sqlite_end(store, rc);
    if (error == LULL_OK) {
        *ret_count = list.count;
    }
    free(list.all);
    return error;
}

/* ---- sweep ---- */

#define SWEEP_HOLDS 500
#define SWEEP_KEYS 1000

int sqlite_sweep(struct store *base, int64_t now_ms)
{
    struct sqlite_store *store = sqlite_of(base);
    if (store->is_broken) {
        return STORE_ERR_BROKEN;
    }
    uint64_t over[SWEEP_HOLDS];
    size_t count = hold_table_find_over(&store->holds, now_ms, over, SWEEP_HOLDS);
    int rc = sqlite_begin(store, false);
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++) {
        struct sqlite_call call = sqlite_call(store, STATEMENT_DELETE_HOLD);
        sqlite_bind(&call, (int64_t)over[i]);
        rc = sqlite_run(&call);
        if (rc == SQLITE_OK) {
            rc = sqlite_hold(store, over[i], 0);
        }
    }
    if (rc == SQLITE_OK) {
        struct sqlite_call call = sqlite_call(store, STATEMENT_SWEEP_KEYS);
        sqlite_bind(&call, now_ms);
        sqlite_bind(&call, SWEEP_KEYS);
        rc = sqlite_run(&call);
    }
    return sqlite_end(store, rc);
}
