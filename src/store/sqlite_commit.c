/* sqlite_commit - a transaction, and what is undone in memory when it fails.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sqlite_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "lull/duration.h"
#include "lull/error.h"

/* FULL syncs the log at each commit, NORMAL only before a checkpoint. Only outside of a
 * transaction, and each change is parsed anew: so only when it changes. */
static int set_sync(struct sqlite_store *store, bool is_synced)
{
    if (store->is_synced == is_synced) {
        return SQLITE_OK;
    }
    int rc = sqlite3_exec(store->connection,
                          is_synced ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL",
                          NULL, NULL, NULL);
    if (rc == SQLITE_OK) {
        store->is_synced = is_synced;
    }
    return rc;
}

int sqlite_begin(struct sqlite_store *store, bool is_durable)
{
    checkpointer_enter(store->checkpointer);
    store->numbers_before = store->numbers;
    int rc = set_sync(store, is_durable);
    if (rc == SQLITE_OK) {
        struct sqlite_call call = sqlite_call(store, STATEMENT_BEGIN);
        rc = sqlite_run(&call);
    }
    return rc;
}

static void undo(struct sqlite_store *store)
{
    if (sqlite3_get_autocommit(store->connection) == 0) { /* some errors have done so already */
        struct sqlite_call call = sqlite_call(store, STATEMENT_ROLLBACK);
        (void)sqlite_run(&call);
    }
    service_table_rollback(&store->services);
    for (size_t i = store->hold_undo_count; i > 0; i--) {
        hold_table_set(&store->holds, store->hold_undo[i - 1].target,
                       store->hold_undo[i - 1].until_ms);
    }
    store->hold_undo_count = 0;
    store->numbers = store->numbers_before;
}

/* SQLite knows only one of the ways to say that there is no room; for the others there is what the
 * system said last, of which SQLite keeps a copy only for some statements. What a failed sync has
 * kept is not known: that is never one of them. */
static bool is_no_room(const struct sqlite_store *store, int rc, int last)
{
    switch (rc) {
    case SQLITE_IOERR_WRITE:
    case SQLITE_IOERR_TRUNCATE:
    case SQLITE_IOERR_SHMSIZE:
    case SQLITE_IOERR_SHMOPEN:
    case SQLITE_CANTOPEN:
        break;
    default:
        return (rc & 0xff) == SQLITE_FULL;
    }
    int kept = sqlite3_system_errno(store->connection); /* maybe of a fault long ago */
    if (last == EIO) {
        return false;
    }
    return last == ENOSPC || last == EDQUOT || last == EFBIG || kept == ENOSPC || kept == EDQUOT ||
           kept == EFBIG;
}

int sqlite_error(struct sqlite_store *store, int rc)
{
    int last = errno;
    if (rc == SQLITE_OK) {
        return LULL_OK;
    }
    if (is_no_room(store, rc, last)) {
        return STORE_ERR_DISK_FULL;
    }
    if ((rc & 0xff) == SQLITE_NOMEM || rc == SQLITE_IOERR_NOMEM) {
        return LULL_ERR_MEMORY;
    }
    store->is_broken = true;
    (void)snprintf(
        store->problem, sizeof store->problem,
        "the store cannot be used any more: %s (SQLite %d); look at the disk, and at the "
        "file with sqlite3 FILE 'PRAGMA integrity_check'",
        sqlite3_errstr(rc), rc);
    return STORE_ERR_BROKEN;
}

int sqlite_end(struct sqlite_store *store, int rc)
{
    if (rc == SQLITE_OK) {
        struct sqlite_call call = sqlite_call(store, STATEMENT_COMMIT);
        rc = sqlite_run(&call);
    }
    int error = sqlite_error(store, rc);
    if (error == LULL_OK) {
        service_table_commit(&store->services);
        store->hold_undo_count = 0;
    } else {
        undo(store);
    }
    if (error == STORE_ERR_DISK_FULL) {
        store->has_room = false;
        spare_give_up(&store->spare);
    }
    checkpointer_leave(store->checkpointer, store->log_frames, error == STORE_ERR_DISK_FULL);
    return error;
}

/* ---- numbers in memory ---- */

int sqlite_enter(struct sqlite_store *store, uint32_t service, enum message_place place,
                 int64_t due_ms)
{
    struct service_entry *entry = service_table_save(&store->services, service);
    if (!entry) {
        return SQLITE_NOMEM;
    }
    store->numbers.places[place]++;
    if (place == MESSAGE_WAITING) {
        entry->waiting++;
        entry->next_due_ms = due_ms < entry->next_due_ms ? due_ms : entry->next_due_ms;
    }
    return SQLITE_OK;
}

int sqlite_leave(struct sqlite_store *store, uint32_t service, enum message_place place,
                 int64_t due_ms)
{
    struct service_entry *entry = service_table_save(&store->services, service);
    if (!entry) {
        return SQLITE_NOMEM;
    }
    store->numbers.places[place]--;
    if (place == MESSAGE_WAITING) {
        entry->waiting--;
        entry->is_next_due_known = entry->is_next_due_known && due_ms > entry->next_due_ms;
    } else if (place == MESSAGE_LEASED) {
        gate_leave(&entry->use, 1);
    }
    return SQLITE_OK;
}

int sqlite_hold(struct sqlite_store *store, uint64_t target, int64_t until_ms)
{
    if (store->hold_undo_count == store->hold_undo_size) {
        size_t size = store->hold_undo_size > 0 ? store->hold_undo_size * 2 : 64;
        struct sqlite_hold_undo *more =
            realloc(store->hold_undo, size * sizeof(struct sqlite_hold_undo));
        if (!more) {
            return SQLITE_NOMEM;
        }
        store->hold_undo = more;
        store->hold_undo_size = size;
    }
    if (!hold_table_reserve(&store->holds, 1)) {
        return SQLITE_NOMEM;
    }
    store->hold_undo[store->hold_undo_count++] =
        (struct sqlite_hold_undo){target, hold_table_get(&store->holds, target)};
    hold_table_set(&store->holds, target, until_ms);
    return SQLITE_OK;
}

int sqlite_next_due(struct sqlite_store *store, uint32_t service, int64_t *ret_due_ms)
{
    struct service_entry *entry = service_table_at(&store->services, service);
    if (entry->waiting == 0) {
        entry->next_due_ms = LULL_NEVER;
        entry->is_next_due_known = true;
    }
    if (!entry->is_next_due_known) {
        int64_t next_ms = LULL_NEVER;
        for (int urgency = 0; urgency < MESSAGE_URGENCIES; urgency++) {
            struct sqlite_call call = sqlite_call(store, STATEMENT_NEXT_DUE);
            sqlite_bind(&call, service);
            sqlite_bind(&call, urgency);
            int rc = sqlite_row(&call);
            if (rc == SQLITE_ROW && sqlite_column(&call, 0) < next_ms) {
                next_ms = sqlite_column(&call, 0);
            }
            sqlite_done(&call);
            if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
                return rc;
            }
        }
        entry->next_due_ms = next_ms;
        entry->is_next_due_known = true;
    }
    *ret_due_ms = entry->next_due_ms;
    return SQLITE_OK;
}
