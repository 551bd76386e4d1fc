/* sqlite_statements - every statement, prepared once, and how one is called.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sqlite_store.h"

#include <string.h>

/* In the order of sqlite_read_message; what is behind them differs by place. */
#define NUMBERS                                                                                    \
    "id, service, urgency, due_ms, target, topic, kind, accepted_ms, ttl_ms, attempts,"            \
    " auth_retries, lost, previous_delay_ms, cause"
#define FIXED_NUMBERS "id, service, urgency, target, topic, kind, accepted_ms, ttl_ms"
#define CHANGING_NUMBERS "attempts, auth_retries, lost, previous_delay_ms, cause"
#define TEXTS "envelope, history, body"

static const char *const texts[STATEMENTS] = {
    [STATEMENT_BEGIN] = "BEGIN IMMEDIATE",
    [STATEMENT_COMMIT] = "COMMIT",
    [STATEMENT_ROLLBACK] = "ROLLBACK",
    [STATEMENT_PUT_WAITING] = "INSERT INTO waiting (" NUMBERS ", " TEXTS ") VALUES"
                              " (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [STATEMENT_PUT_LEASED] =
        "INSERT INTO leased (" NUMBERS ", " TEXTS ", lease, lease_until_ms) VALUES"
        " (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [STATEMENT_SEE_LEASED] = "SELECT lease, service, target FROM leased WHERE id = ?",
    [STATEMENT_SEE_WAITING] = "SELECT service, due_ms FROM waiting WHERE id = ?",
    [STATEMENT_DELETE_LEASED] = "DELETE FROM leased WHERE id = ?",
    [STATEMENT_DELETE_WAITING] = "DELETE FROM waiting WHERE id = ?",
    [STATEMENT_DELETE_DEAD] = "DELETE FROM dead WHERE id = ?",
    [STATEMENT_RETRY] = "INSERT INTO waiting (" FIXED_NUMBERS ", envelope, body, due_ms,"
                        " " CHANGING_NUMBERS ", history)"
                        " SELECT " FIXED_NUMBERS ", envelope, body, ?2, ?3, ?4, ?5, ?6, ?7, ?8"
                        " FROM leased WHERE id = ?1",
    [STATEMENT_DIE] =
        "INSERT INTO dead (" FIXED_NUMBERS ", envelope, body, due_ms,"
        " " CHANGING_NUMBERS ", history, reason, status, died_ms)"
        " SELECT " FIXED_NUMBERS ", envelope, body, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11"
        " FROM leased WHERE id = ?1",
    [STATEMENT_CANCEL] = "INSERT INTO dead (" NUMBERS ", " TEXTS ", reason, status, died_ms)"
                         " SELECT " NUMBERS ", " TEXTS ", ?2, 0, ?3 FROM waiting WHERE id = ?1",
    [STATEMENT_FIND_TOPIC] = "SELECT id, service, due_ms FROM waiting INDEXED BY waiting_target"
                             " WHERE target = ? AND topic = ? ORDER BY id LIMIT 1",
    [STATEMENT_FIND_HELD] = "SELECT DISTINCT service FROM waiting INDEXED BY waiting_target"
                            " WHERE target = ? AND due_ms < ?",
    [STATEMENT_HOLD_WAITING] =
        "UPDATE waiting INDEXED BY waiting_target SET due_ms = ?2, cause = ?3"
        " WHERE target = ?1 AND due_ms < ?2",
    [STATEMENT_SET_HOLD] = "INSERT OR REPLACE INTO holds (target, until_ms) VALUES (?, ?)",
    [STATEMENT_DELETE_HOLD] = "DELETE FROM holds WHERE target = ?",
    [STATEMENT_SET_GATE] =
        "UPDATE services SET gate_version = ?2, paused_until_ms = ?3,"
        " rate_milli_per_s = ?4, burst = ?5, in_flight_max = ?6 WHERE number = ?1",
    [STATEMENT_FIND_KEY] = "SELECT id, request FROM keys WHERE key = ? AND until_ms > ?",
    [STATEMENT_SET_KEY] =
        "INSERT OR REPLACE INTO keys (key, request, id, until_ms) VALUES (?, ?, ?, ?)",
    [STATEMENT_SWEEP_KEYS] = "DELETE FROM keys WHERE key IN (SELECT key FROM keys"
                             " INDEXED BY keys_until WHERE until_ms <= ? LIMIT ?)",
    [STATEMENT_FIND_DUE] = "SELECT id FROM waiting INDEXED BY waiting_due WHERE service = ?"
                           " AND urgency = ? AND due_ms <= ? ORDER BY due_ms, id LIMIT ?",
    [STATEMENT_NEXT_DUE] = "SELECT due_ms FROM waiting INDEXED BY waiting_due WHERE service = ?"
                           " AND urgency = ? ORDER BY due_ms LIMIT 1",
    [STATEMENT_READ_WAITING] = "SELECT " NUMBERS ", " TEXTS " FROM waiting WHERE id = ?",
    [STATEMENT_READ_LEASED] =
        "SELECT " NUMBERS ", " TEXTS ", lease, lease_until_ms FROM leased WHERE id = ?",
    [STATEMENT_READ_DEAD] =
        "SELECT " NUMBERS ", " TEXTS ", reason, status, died_ms FROM dead WHERE id = ?",
    [STATEMENT_LIST_WAITING] = "SELECT " NUMBERS ", envelope, history, NULL"
                               " FROM waiting WHERE id < ? ORDER BY id DESC",
    [STATEMENT_LIST_LEASED] = "SELECT " NUMBERS ", envelope, history, NULL, lease, lease_until_ms"
                              " FROM leased WHERE id < ? ORDER BY id DESC",
    [STATEMENT_LIST_DEAD] = "SELECT " NUMBERS ", envelope, history, NULL, reason, status, died_ms"
                            " FROM dead WHERE id < ? ORDER BY id DESC",
    [STATEMENT_FIND_LOST] = "SELECT id, service, target FROM leased WHERE lease_until_ms <= ? OR ?",
    [STATEMENT_RECLAIM] =
        "INSERT INTO waiting (" FIXED_NUMBERS ", " TEXTS ", attempts, auth_retries,"
        " previous_delay_ms, lost, due_ms, cause)"
        " SELECT " FIXED_NUMBERS ", " TEXTS ", attempts, auth_retries,"
        " previous_delay_ms, lost + 1, ?2, ?3 FROM leased WHERE id = ?1",
    [STATEMENT_ADD_SERVICE] = "INSERT INTO services VALUES (?, ?, 0, 0, 0, 0, 0)",
    [STATEMENT_SET_META] = "UPDATE meta SET value = CASE name WHEN 'first_id' THEN ?1 ELSE ?2 END",
};

int sqlite_prepare(struct sqlite_store *store)
{
    int rc = SQLITE_OK;
    for (int i = 0; rc == SQLITE_OK && i < STATEMENTS; i++) {
        rc = sqlite3_prepare_v3(store->connection, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                &store->statements[i], NULL);
    }
    return rc;
}

void sqlite_finalize(struct sqlite_store *store)
{
    for (int i = 0; i < STATEMENTS; i++) {
        (void)sqlite3_finalize(store->statements[i]);
        store->statements[i] = NULL;
    }
}

/* ---- calling one ---- */

struct sqlite_call sqlite_call(const struct sqlite_store *store, enum sqlite_statement which)
{
    return (struct sqlite_call){.statement = store->statements[which], .rc = SQLITE_OK};
}

static void note(struct sqlite_call *call, int rc)
{
    if (call->rc == SQLITE_OK) {
        call->rc = rc;
    }
}

void sqlite_bind(struct sqlite_call *call, int64_t value)
{
    note(call, sqlite3_bind_int64(call->statement, ++call->bound, value));
}

void sqlite_bind_bytes(struct sqlite_call *call, const void *data, size_t length)
{
    note(call, sqlite3_bind_blob64(call->statement, ++call->bound, data, length, SQLITE_STATIC));
}

int sqlite_run(struct sqlite_call *call)
{
    int rc = call->rc == SQLITE_OK ? sqlite3_step(call->statement) : call->rc;
    (void)sqlite3_reset(call->statement);
    return rc == SQLITE_DONE || rc == SQLITE_ROW ? SQLITE_OK : rc;
}

int sqlite_row(struct sqlite_call *call)
{
    return call->rc == SQLITE_OK ? sqlite3_step(call->statement) : call->rc;
}

int64_t sqlite_column(const struct sqlite_call *call, int column)
{
    return sqlite3_column_int64(call->statement, column);
}

void sqlite_done(struct sqlite_call *call)
{
    (void)sqlite3_reset(call->statement);
}

/* ---- a message ---- */

enum { /* columns of a READ or LIST */
       COLUMN_ID,
       COLUMN_SERVICE,
       COLUMN_URGENCY,
       COLUMN_DUE,
       COLUMN_TARGET,
       COLUMN_TOPIC,
       COLUMN_KIND,
       COLUMN_ACCEPTED,
       COLUMN_TTL,
       COLUMN_ATTEMPTS,
       COLUMN_AUTH_RETRIES,
       COLUMN_LOST,
       COLUMN_PREVIOUS_DELAY,
       COLUMN_CAUSE,
       COLUMN_ENVELOPE,
       COLUMN_HISTORY,
       COLUMN_BODY,
       COLUMN_FIRST_OF_PLACE,
};

static void read_text(const struct sqlite_call *call, int column, struct message_bytes to)
{
    if (to.length > 0) {
        memcpy((void *)to.data, sqlite3_column_blob(call->statement, column), to.length);
    }
}

static void read_numbers(const struct sqlite_call *call, struct message *message)
{
    message->id = (uint64_t)sqlite_column(call, COLUMN_ID);
    message->service = (uint32_t)sqlite_column(call, COLUMN_SERVICE);
    message->urgency = (uint8_t)sqlite_column(call, COLUMN_URGENCY);
    message->due_ms = sqlite_column(call, COLUMN_DUE);
    message->target = (uint64_t)sqlite_column(call, COLUMN_TARGET);
    message->topic = (uint64_t)sqlite_column(call, COLUMN_TOPIC);
    message->kind = (uint8_t)sqlite_column(call, COLUMN_KIND);
    message->accepted_ms = sqlite_column(call, COLUMN_ACCEPTED);
    message->ttl_ms = sqlite_column(call, COLUMN_TTL);
    message->attempts = (uint32_t)sqlite_column(call, COLUMN_ATTEMPTS);
    message->auth_retries = (uint32_t)sqlite_column(call, COLUMN_AUTH_RETRIES);
    message->lost = (uint32_t)sqlite_column(call, COLUMN_LOST);
    message->previous_delay_ms = sqlite_column(call, COLUMN_PREVIOUS_DELAY);
    message->cause = (uint8_t)sqlite_column(call, COLUMN_CAUSE);
}

struct message *sqlite_read_message(const struct sqlite_call *call, enum message_place place)
{
    struct message *message =
        message_new((size_t)sqlite3_column_bytes(call->statement, COLUMN_ENVELOPE),
                    (size_t)sqlite3_column_bytes(call->statement, COLUMN_BODY),
                    (size_t)sqlite3_column_bytes(call->statement, COLUMN_HISTORY));
    if (!message) {
        return NULL;
    }
    read_numbers(call, message);
    read_text(call, COLUMN_ENVELOPE, message->envelope);
    read_text(call, COLUMN_HISTORY, message->history);
    read_text(call, COLUMN_BODY, message->body);
    message->place = (uint8_t)place;
    if (place == MESSAGE_LEASED) {
        message->lease = (uint64_t)sqlite_column(call, COLUMN_FIRST_OF_PLACE);
        message->lease_until_ms = sqlite_column(call, COLUMN_FIRST_OF_PLACE + 1);
    } else if (place == MESSAGE_DEAD) {
        message->reason = (uint8_t)sqlite_column(call, COLUMN_FIRST_OF_PLACE);
        message->status = (uint16_t)sqlite_column(call, COLUMN_FIRST_OF_PLACE + 1);
        message->died_ms = sqlite_column(call, COLUMN_FIRST_OF_PLACE + 2);
    }
    return message;
}

int sqlite_write_message(const struct sqlite_store *store, const struct message *message,
                         enum message_place place)
{
    struct sqlite_call call =
        sqlite_call(store, place == MESSAGE_LEASED ? STATEMENT_PUT_LEASED : STATEMENT_PUT_WAITING);
    sqlite_bind(&call, (int64_t)message->id);
    sqlite_bind(&call, message->service);
    sqlite_bind(&call, message->urgency);
    sqlite_bind(&call, message->due_ms);
    sqlite_bind(&call, (int64_t)message->target);
    sqlite_bind(&call, (int64_t)message->topic);
    sqlite_bind(&call, message->kind);
    sqlite_bind(&call, message->accepted_ms);
    sqlite_bind(&call, message->ttl_ms);
    sqlite_bind(&call, message->attempts);
    sqlite_bind(&call, message->auth_retries);
    sqlite_bind(&call, message->lost);
    sqlite_bind(&call, message->previous_delay_ms);
    sqlite_bind(&call, message->cause);
    sqlite_bind_bytes(&call, message->envelope.data, message->envelope.length);
    sqlite_bind_bytes(&call, message->history.data, message->history.length);
    sqlite_bind_bytes(&call, message->body.data, message->body.length);
    if (place == MESSAGE_LEASED) {
        sqlite_bind(&call, (int64_t)message->lease);
        sqlite_bind(&call, message->lease_until_ms);
    }
    return sqlite_run(&call);
}
