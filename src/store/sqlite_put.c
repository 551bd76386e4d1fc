/* sqlite_put - a new message. Its fields are the caller's until the batch is safe: what is in the
 * file differs from them, and only sqlite_put_is_safe tells the caller.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sqlite_store.h"

#include <string.h>

/* Q6. SQLITE_ROW: it is known, and there is nothing to be put. */
static int find_key(const struct sqlite_store *store, struct store_put *put, uint64_t first_id,
                    int64_t now_ms)
{
    struct sqlite_call call = sqlite_call(store, STATEMENT_FIND_KEY);
    sqlite_bind_bytes(&call, put->key, MESSAGE_KEY_SIZE);
    sqlite_bind(&call, now_ms);
    int rc = sqlite_row(&call);
    if (rc == SQLITE_ROW) {
        bool is_same =
            sqlite3_column_bytes(call.statement, 1) == MESSAGE_KEY_SIZE &&
            memcmp(sqlite3_column_blob(call.statement, 1), put->request, MESSAGE_KEY_SIZE) == 0;
        put->ret_id = (uint64_t)sqlite_column(&call, 0);
        put->ret_replaced = 0;
        put->ret_result = !is_same                  ? STORE_PUT_CONFLICT
                          : put->ret_id >= first_id ? STORE_PUT_UNDER_WAY
                                                    : STORE_PUT_REPEATED;
    }
    sqlite_done(&call);
    return rc;
}

static int set_key(const struct sqlite_store *store, const struct store_put *put)
{
    struct sqlite_call call = sqlite_call(store, STATEMENT_SET_KEY);
    sqlite_bind_bytes(&call, put->key, MESSAGE_KEY_SIZE);
    sqlite_bind_bytes(&call, put->request, MESSAGE_KEY_SIZE);
    sqlite_bind(&call, (int64_t)put->ret_id);
    sqlite_bind(&call, put->key_until_ms);
    return sqlite_run(&call);
}

/* The oldest that waits for the same target with the same topic leaves (Q7). */
static int replace(struct sqlite_store *store, struct store_put *put)
{
    struct sqlite_call call = sqlite_call(store, STATEMENT_FIND_TOPIC);
    sqlite_bind(&call, (int64_t)put->message->target);
    sqlite_bind(&call, (int64_t)put->message->topic);
    int rc = sqlite_row(&call);
    uint32_t service = 0;
    int64_t due_ms = 0;
    if (rc == SQLITE_ROW) {
        put->ret_replaced = (uint64_t)sqlite_column(&call, 0);
        service = (uint32_t)sqlite_column(&call, 1);
        due_ms = sqlite_column(&call, 2);
    }
    sqlite_done(&call);
    if (rc == SQLITE_ROW) {
        return sqlite_delete_waiting(store, put->ret_replaced, service, due_ms);
    }
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/* As it is in the file: with id, place and hold. */
static struct message as_kept(const struct sqlite_store *store, const struct store_put *put,
                              int64_t now_ms)
{
    struct message kept = *put->message;
    kept.id = put->ret_id;
    hold_table_apply(&store->holds, kept.target, now_ms, &kept.due_ms, &kept.cause);
    return kept;
}

static int may_go(struct sqlite_store *store, const struct store_put *put,
                  const struct message *kept, int64_t now_ms, bool *ret_may)
{
    *ret_may = false;
    if (!put->is_lease_wanted || kept->due_ms > now_ms) {
        return SQLITE_OK;
    }
    struct service_entry *service = service_table_save(&store->services, kept->service);
    if (!service) {
        return SQLITE_NOMEM;
    }
    enum gate_stop stop = GATE_OPEN;
    int64_t until_ms = 0;
    *ret_may = gate_pass(&service->gate, &service->use, now_ms, 1, &stop, &until_ms) == 1;
    return SQLITE_OK;
}

int sqlite_put(struct sqlite_store *store, struct store_put *put, uint64_t first_id, int64_t now_ms)
{
    int rc = put->has_key ? find_key(store, put, first_id, now_ms) : SQLITE_DONE;
    if (rc != SQLITE_DONE) {
        return rc == SQLITE_ROW ? SQLITE_OK : rc;
    }
    put->ret_id = store->numbers.next_id++;
    put->ret_replaced = 0;
    rc = put->has_key ? set_key(store, put) : SQLITE_OK;
    if (rc == SQLITE_OK && put->message->topic != 0 && store->numbers.places[MESSAGE_WAITING] > 0) {
        rc = replace(store, put);
    }
    if (rc != SQLITE_OK) {
        return rc;
    }
    struct message kept = as_kept(store, put, now_ms);
    bool is_leased = false;
    rc = may_go(store, put, &kept, now_ms, &is_leased);
    if (rc != SQLITE_OK) {
        return rc;
    }
    enum message_place place = is_leased ? MESSAGE_LEASED : MESSAGE_WAITING;
    put->ret_result = is_leased ? STORE_PUT_LEASED : STORE_PUT_WAITING;
    kept.lease = put->lease;
    kept.lease_until_ms = put->lease_until_ms;
    rc = sqlite_write_message(store, &kept, place);
    return rc == SQLITE_OK ? sqlite_enter(store, kept.service, place, kept.due_ms) : rc;
}

void sqlite_put_is_safe(const struct sqlite_store *store, struct store_put *put, int64_t now_ms)
{
    if (put->ret_result != STORE_PUT_WAITING && put->ret_result != STORE_PUT_LEASED) {
        return;
    }
    bool is_leased = put->ret_result == STORE_PUT_LEASED;
    struct message kept = as_kept(store, put, now_ms); /* no hold has changed since */
    struct message *message = put->message;
    message->id = kept.id;
    message->due_ms = kept.due_ms;
    message->cause = kept.cause;
    message->place = is_leased ? MESSAGE_LEASED : MESSAGE_WAITING;
    message->lease = is_leased ? put->lease : 0;
    message->lease_until_ms = is_leased ? put->lease_until_ms : 0;
}
