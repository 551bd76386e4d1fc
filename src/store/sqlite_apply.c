/* sqlite_apply - a batch as one transaction: here its settles, cancels, holds and gates.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sqlite_store.h"

#include "ids.h"
#include "lull/error.h"

/* A start of the process costs so many ids at most. */
#define IDS_RESERVED (UINT64_C(1) << 20)

/* ---- settles ---- */

struct seen { /* of a message that is leased, or waits */
    bool is_there;
    uint64_t lease;
    uint32_t service;
    uint64_t target;
    int64_t due_ms;
};

static int see_leased(const struct sqlite_store *store, uint64_t id, struct seen *ret_seen)
{
    struct sqlite_call call = sqlite_call(store, STATEMENT_SEE_LEASED);
    sqlite_bind(&call, (int64_t)id);
    int rc = sqlite_row(&call);
    *ret_seen = (struct seen){.is_there = rc == SQLITE_ROW};
    if (ret_seen->is_there) {
        ret_seen->lease = (uint64_t)sqlite_column(&call, 0);
        ret_seen->service = (uint32_t)sqlite_column(&call, 1);
        ret_seen->target = (uint64_t)sqlite_column(&call, 2);
    }
    sqlite_done(&call);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int see_waiting(const struct sqlite_store *store, uint64_t id, struct seen *ret_seen)
{
    struct sqlite_call call = sqlite_call(store, STATEMENT_SEE_WAITING);
    sqlite_bind(&call, (int64_t)id);
    int rc = sqlite_row(&call);
    *ret_seen = (struct seen){.is_there = rc == SQLITE_ROW};
    if (ret_seen->is_there) {
        ret_seen->service = (uint32_t)sqlite_column(&call, 0);
        ret_seen->due_ms = sqlite_column(&call, 1);
    }
    sqlite_done(&call);
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int delete_one(const struct sqlite_store *store, enum sqlite_statement which, uint64_t id)
{
    struct sqlite_call call = sqlite_call(store, which);
    sqlite_bind(&call, (int64_t)id);
    return sqlite_run(&call);
}

int sqlite_delete_leased(struct sqlite_store *store, uint64_t id, uint32_t service)
{
    int rc = delete_one(store, STATEMENT_DELETE_LEASED, id);
    return rc == SQLITE_OK ? sqlite_leave(store, service, MESSAGE_LEASED, 0) : rc;
}

int sqlite_delete_waiting(struct sqlite_store *store, uint64_t id, uint32_t service, int64_t due_ms)
{
    int rc = delete_one(store, STATEMENT_DELETE_WAITING, id);
    return rc == SQLITE_OK ? sqlite_leave(store, service, MESSAGE_WAITING, due_ms) : rc;
}

/* One whose lease was lost was delivered after all: wherever it is now, it leaves. */
static int delete_elsewhere(struct sqlite_store *store, uint64_t id)
{
    struct seen seen;
    int rc = see_waiting(store, id, &seen);
    if (rc != SQLITE_OK) {
        return rc;
    }
    if (seen.is_there) {
        return sqlite_delete_waiting(store, id, seen.service, seen.due_ms);
    }
    rc = delete_one(store, STATEMENT_DELETE_DEAD, id);
    if (rc == SQLITE_OK && sqlite3_changes(store->connection) > 0) {
        store->numbers.places[MESSAGE_DEAD]--;
    }
    return rc;
}

static void bind_changes(struct sqlite_call *call, const struct message *message, int64_t due_ms,
                         uint8_t cause)
{
    sqlite_bind(call, (int64_t)message->id);
    sqlite_bind(call, due_ms);
    sqlite_bind(call, message->attempts);
    sqlite_bind(call, message->auth_retries);
    sqlite_bind(call, message->lost);
    sqlite_bind(call, message->previous_delay_ms);
    sqlite_bind(call, cause);
    sqlite_bind_bytes(call, message->history.data, message->history.length);
}

static int retry(struct sqlite_store *store, const struct message *message, const struct seen *seen,
                 int64_t now_ms)
{
    int64_t due_ms = message->due_ms;
    uint8_t cause = message->cause;
    hold_table_apply(&store->holds, seen->target, now_ms, &due_ms, &cause);
    struct sqlite_call call = sqlite_call(store, STATEMENT_RETRY);
    bind_changes(&call, message, due_ms, cause);
    int rc = sqlite_run(&call);
    return rc == SQLITE_OK ? sqlite_enter(store, seen->service, MESSAGE_WAITING, due_ms) : rc;
}

static int die(struct sqlite_store *store, const struct message *message, const struct seen *seen)
{
    struct sqlite_call call = sqlite_call(store, STATEMENT_DIE);
    bind_changes(&call, message, message->due_ms, message->cause);
    sqlite_bind(&call, message->reason);
    sqlite_bind(&call, message->status);
    sqlite_bind(&call, message->died_ms);
    int rc = sqlite_run(&call);
    return rc == SQLITE_OK ? sqlite_enter(store, seen->service, MESSAGE_DEAD, 0) : rc;
}

static int settle(struct sqlite_store *store, struct store_settle *settle, int64_t now_ms)
{
    const struct message *message = settle->message;
    struct seen seen;
    int rc = see_leased(store, message->id, &seen);
    if (rc != SQLITE_OK) {
        return rc;
    }
    settle->ret_is_stale = !seen.is_there || seen.lease != message->lease;
    if (settle->kind == STORE_DONE) {
        return seen.is_there ? sqlite_delete_leased(store, message->id, seen.service)
                             : delete_elsewhere(store, message->id);
    }
    if (settle->ret_is_stale) {
        return SQLITE_OK;
    }
    rc = settle->kind == STORE_RETRY ? retry(store, message, &seen, now_ms)
                                     : die(store, message, &seen);
    return rc == SQLITE_OK ? sqlite_delete_leased(store, message->id, seen.service) : rc;
}

/* ---- cancels, holds, gates ---- */

static int cancel(struct sqlite_store *store, struct store_cancel *cancel, int64_t now_ms)
{
    struct seen seen;
    int rc = see_waiting(store, cancel->id, &seen);
    cancel->ret_is_done = seen.is_there;
    if (rc != SQLITE_OK || !seen.is_there) {
        return rc;
    }
    cancel->ret_service = seen.service;
    struct sqlite_call call = sqlite_call(store, STATEMENT_CANCEL);
    sqlite_bind(&call, (int64_t)cancel->id);
    sqlite_bind(&call, LULL_REASON_CANCELLED);
    sqlite_bind(&call, now_ms);
    rc = sqlite_run(&call);
    if (rc == SQLITE_OK) {
        rc = sqlite_enter(store, seen.service, MESSAGE_DEAD, 0);
    }
    return rc == SQLITE_OK ? sqlite_delete_waiting(store, cancel->id, seen.service, seen.due_ms)
                           : rc;
}

/* What waits for the target and is due before. */
static int hold_waiting(struct sqlite_store *store, const struct store_hold *hold)
{
    struct sqlite_call held = sqlite_call(store, STATEMENT_FIND_HELD);
    sqlite_bind(&held, (int64_t)hold->target);
    sqlite_bind(&held, hold->until_ms);
    int rc = SQLITE_ROW;
    bool is_any = false;
    while ((rc = sqlite_row(&held)) == SQLITE_ROW) { /* of one service, as a rule */
        struct service_entry *entry =
            service_table_save(&store->services, (uint32_t)sqlite_column(&held, 0));
        if (!entry) {
            rc = SQLITE_NOMEM;
            break;
        }
        entry->is_next_due_known = false;
        is_any = true;
    }
    sqlite_done(&held);
    if (rc != SQLITE_DONE || !is_any) {
        return rc == SQLITE_DONE ? SQLITE_OK : rc;
    }
    struct sqlite_call call = sqlite_call(store, STATEMENT_HOLD_WAITING);
    sqlite_bind(&call, (int64_t)hold->target);
    sqlite_bind(&call, hold->until_ms);
    sqlite_bind(&call, MESSAGE_CAUSE_HELD);
    return sqlite_run(&call);
}

static int hold(struct sqlite_store *store, const struct store_hold *hold, int64_t now_ms)
{
    if (hold->until_ms <= now_ms || hold->until_ms <= hold_table_get(&store->holds, hold->target)) {
        return SQLITE_OK; /* over, or less than an earlier one said */
    }
    int rc = sqlite_hold(store, hold->target, hold->until_ms);
    if (rc != SQLITE_OK) {
        return rc;
    }
    struct sqlite_call call = sqlite_call(store, STATEMENT_SET_HOLD);
    sqlite_bind(&call, (int64_t)hold->target);
    sqlite_bind(&call, hold->until_ms);
    rc = sqlite_run(&call);
    return rc == SQLITE_OK && store->numbers.places[MESSAGE_WAITING] > 0 ? hold_waiting(store, hold)
                                                                         : rc;
}

static int set_gate(struct sqlite_store *store, struct store_set_gate *set)
{
    struct service_entry *entry = service_table_save(&store->services, set->service);
    if (!entry) {
        return SQLITE_NOMEM;
    }
    set->ret_is_set = entry->gate.version == set->expected_version;
    if (!set->ret_is_set) {
        return SQLITE_OK;
    }
    entry->gate = set->gate;
    entry->gate.version = set->expected_version + 1;
    struct sqlite_call call = sqlite_call(store, STATEMENT_SET_GATE);
    sqlite_bind(&call, set->service);
    sqlite_bind(&call, (int64_t)entry->gate.version);
    sqlite_bind(&call, entry->gate.paused_until_ms);
    sqlite_bind(&call, (int64_t)entry->gate.rate_milli_per_s);
    sqlite_bind(&call, entry->gate.burst);
    sqlite_bind(&call, entry->gate.in_flight_max);
    return sqlite_run(&call);
}

/* ---- the whole ---- */

/* Is the file to be told that more ids may have been given? That has to outlive a power loss before
 * any of them is seen. */
static bool must_reserve(const struct sqlite_store *store, const struct store_batch *batch)
{
    return batch->put_count > 0 &&
           store->numbers.next_id + batch->put_count > store->numbers.reserved_id;
}

static int reserve(struct sqlite_store *store, const struct store_batch *batch, int64_t now_ms)
{
    struct sqlite_numbers *numbers = &store->numbers;
    if (numbers->next_id == 0) {
        numbers->first_id = numbers->next_id = ids_begin(now_ms);
    }
    numbers->reserved_id = numbers->next_id + batch->put_count + IDS_RESERVED;
    return sqlite_write_ids(store, numbers->reserved_id);
}

int sqlite_write_ids(struct sqlite_store *store, uint64_t next_id)
{
    struct sqlite_call call = sqlite_call(store, STATEMENT_SET_META);
    sqlite_bind(&call, (int64_t)store->numbers.first_id);
    sqlite_bind(&call, (int64_t)next_id);
    return sqlite_run(&call);
}

static int apply_parts(struct sqlite_store *store, struct store_batch *batch, int64_t now_ms)
{
    int rc = must_reserve(store, batch) ? reserve(store, batch, now_ms) : SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < batch->settle_count; i++) {
        rc = settle(store, &batch->settles[i], now_ms);
    }
    for (size_t i = 0; rc == SQLITE_OK && i < batch->cancel_count; i++) {
        rc = cancel(store, &batch->cancels[i], now_ms);
    }
    for (size_t i = 0; rc == SQLITE_OK && i < batch->hold_count; i++) {
        rc = hold(store, &batch->holds[i], now_ms);
    }
    for (size_t i = 0; rc == SQLITE_OK && i < batch->gate_count; i++) {
        rc = set_gate(store, &batch->gates[i]);
    }
    uint64_t first_id = store->numbers.next_id;
    for (size_t i = 0; rc == SQLITE_OK && i < batch->put_count; i++) {
        rc = sqlite_put(store, &batch->puts[i], first_id, now_ms);
    }
    for (size_t i = 0; rc == SQLITE_OK && i < batch->lease_count; i++) {
        rc = sqlite_lease(store, &batch->leases[i], now_ms);
    }
    return rc;
}

/* Of a batch that failed: what its leases were given already. */
static void give_back(struct store_batch *batch)
{
    for (size_t i = 0; i < batch->lease_count; i++) {
        struct store_lease *lease = &batch->leases[i];
        while (lease->ret_count > 0) {
            message_free(lease->messages[--lease->ret_count]);
        }
    }
}

int sqlite_apply(struct store *base, struct store_batch *batch, int64_t now_ms)
{
    struct sqlite_store *store = sqlite_of(base);
    if (store->is_broken) {
        return STORE_ERR_BROKEN;
    }
    for (size_t i = 0; i < batch->lease_count; i++) {
        batch->leases[i].ret_count = 0;
    }
    if (batch->put_count > 0 && !store->has_room) {
        return STORE_ERR_DISK_FULL; /* what room there is, is for what is there */
    }
    int rc = sqlite_begin(store, batch->is_durable || must_reserve(store, batch));
    if (rc == SQLITE_OK) {
        rc = apply_parts(store, batch, now_ms);
    }
    int error = sqlite_end(store, rc);
    if (error != LULL_OK) {
        give_back(batch);
        return error;
    }
    for (size_t i = 0; i < batch->put_count; i++) {
        sqlite_put_is_safe(store, &batch->puts[i], now_ms);
    }
    return LULL_OK;
}
