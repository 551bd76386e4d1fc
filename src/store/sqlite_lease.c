/* sqlite_lease - what is due goes from `waiting` to `leased`, and to a worker.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sqlite_store.h"

#include <stdlib.h>

#include "claim.h"

struct due_list { /* of one urgency: what is due, in its order */
    uint64_t *ids;
    uint32_t count;
    uint32_t taken;
};

static int find_due(const struct sqlite_store *store, uint32_t service, int urgency, uint32_t max,
                    int64_t now_ms, struct due_list *list)
{
    struct sqlite_call call = sqlite_call(store, STATEMENT_FIND_DUE);
    sqlite_bind(&call, service);
    sqlite_bind(&call, urgency);
    sqlite_bind(&call, now_ms);
    sqlite_bind(&call, max);
    int rc = SQLITE_ROW;
    while ((rc = sqlite_row(&call)) == SQLITE_ROW) {
        list->ids[list->count++] = (uint64_t)sqlite_column(&call, 0);
    }
    sqlite_done(&call);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int find_all_due(struct sqlite_store *store, uint32_t service, uint32_t max, int64_t now_ms,
                        struct due_list lists[MESSAGE_URGENCIES])
{
    if (store->ids_size < (size_t)max * MESSAGE_URGENCIES) {
        size_t size = (size_t)max * MESSAGE_URGENCIES;
        uint64_t *ids = realloc(store->ids, size * sizeof(uint64_t));
        if (!ids) {
            return SQLITE_NOMEM;
        }
        store->ids = ids;
        store->ids_size = size;
    }
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < MESSAGE_URGENCIES; i++) {
        lists[i] = (struct due_list){.ids = store->ids + (size_t)max * (size_t)i};
        rc = find_due(store, service, i, max, now_ms, &lists[i]);
    }
    return rc;
}

/* 0: nothing is left. */
static uint64_t take_next(struct claim *claim, struct due_list lists[MESSAGE_URGENCIES])
{
    bool has_due[MESSAGE_URGENCIES];
    bool has_any = false;
    for (int i = 0; i < MESSAGE_URGENCIES; i++) {
        has_due[i] = lists[i].taken < lists[i].count;
        has_any = has_any || has_due[i];
    }
    if (!has_any) {
        return 0;
    }
    struct due_list *list = &lists[claim_next(claim, has_due)];
    return list->ids[list->taken++];
}

static int move(struct sqlite_store *store, struct store_lease *lease, uint64_t id)
{
    struct sqlite_call call = sqlite_call(store, STATEMENT_READ_WAITING);
    sqlite_bind(&call, (int64_t)id);
    int rc = sqlite_row(&call);
    struct message *message = rc == SQLITE_ROW ? sqlite_read_message(&call, MESSAGE_WAITING) : NULL;
    sqlite_done(&call);
    if (!message) { /* an index that knows a row that is not there is a damaged one */
        return rc == SQLITE_ROW ? SQLITE_NOMEM : rc == SQLITE_DONE ? SQLITE_CORRUPT : rc;
    }
    message->place = MESSAGE_LEASED;
    message->lease = lease->lease;
    message->lease_until_ms = lease->lease_until_ms;
    lease->messages[lease->ret_count++] = message;
    rc = sqlite_write_message(store, message, MESSAGE_LEASED);
    if (rc == SQLITE_OK) {
        rc = sqlite_enter(store, message->service, MESSAGE_LEASED, 0);
    }
    return rc == SQLITE_OK ? sqlite_delete_waiting(store, id, message->service, message->due_ms)
                           : rc;
}

int sqlite_lease(struct sqlite_store *store, struct store_lease *lease, int64_t now_ms)
{
    struct service_entry *service = service_table_save(&store->services, lease->service);
    if (!service) {
        return SQLITE_NOMEM;
    }
    int64_t next_due_ms = 0;
    int rc = sqlite_next_due(store, lease->service, &next_due_ms);
    if (rc != SQLITE_OK) {
        return rc;
    }
    struct claim claim;
    struct due_list lists[MESSAGE_URGENCIES] = {0};
    claim_begin(&claim, service, next_due_ms, now_ms, lease->max);
    if (claim.allowed > 0) {
        rc = find_all_due(store, lease->service, claim.allowed, now_ms, lists);
    }
    uint64_t id = 0;
    while (rc == SQLITE_OK && lease->ret_count < claim.allowed &&
           (id = take_next(&claim, lists)) != 0) {
        rc = move(store, lease, id);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite_next_due(store, lease->service, &next_due_ms);
    }
    if (rc == SQLITE_OK) {
        claim_end(&claim, service, lease, next_due_ms, now_ms);
    }
    return rc;
}
