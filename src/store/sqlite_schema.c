/* sqlite_schema - the tables, and how older files become newer ones.
 *
 * What waits and what is in flight are in tables of their own, so that the fast path, into `leased`
 * and out of it, touches no index: a partial index on one table would have to be asked each time.
 * Bodies come last in a row: what is read without them does not go through their pages.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sqlite_store.h"

#include <stdio.h>

/* Of a message in each of the three. Numbers of 64 bits without a sign are kept as they would be
 * with one. */
#define MESSAGE_COLUMNS                                                                            \
    " service INTEGER NOT NULL, urgency INTEGER NOT NULL, due_ms INTEGER NOT NULL,"                \
    " target INTEGER NOT NULL, topic INTEGER NOT NULL, kind INTEGER NOT NULL,"                     \
    " accepted_ms INTEGER NOT NULL, ttl_ms INTEGER NOT NULL, attempts INTEGER NOT NULL,"           \
    " auth_retries INTEGER NOT NULL, lost INTEGER NOT NULL, previous_delay_ms INTEGER NOT NULL,"   \
    " cause INTEGER NOT NULL, envelope BLOB, history BLOB, body BLOB) STRICT;"

static const char version_1[] =
    "CREATE TABLE waiting (id INTEGER PRIMARY KEY," MESSAGE_COLUMNS
    "CREATE INDEX waiting_due ON waiting (service, urgency, due_ms);"
    "CREATE INDEX waiting_target ON waiting (target, topic);"
    "CREATE TABLE leased (id INTEGER PRIMARY KEY, lease INTEGER NOT NULL,"
    " lease_until_ms INTEGER NOT NULL," MESSAGE_COLUMNS
    "CREATE TABLE dead (id INTEGER PRIMARY KEY, reason INTEGER NOT NULL,"
    " status INTEGER NOT NULL, died_ms INTEGER NOT NULL," MESSAGE_COLUMNS
    "CREATE INDEX dead_service ON dead (service);"
    "CREATE TABLE services (number INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE,"
    " gate_version INTEGER NOT NULL, paused_until_ms INTEGER NOT NULL,"
    " rate_milli_per_s INTEGER NOT NULL, burst INTEGER NOT NULL,"
    " in_flight_max INTEGER NOT NULL) STRICT;"
    "CREATE TABLE holds (target INTEGER PRIMARY KEY, until_ms INTEGER NOT NULL) STRICT;"
    "CREATE TABLE keys (key BLOB PRIMARY KEY, request BLOB NOT NULL, id INTEGER NOT NULL,"
    " until_ms INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "CREATE INDEX keys_until ON keys (until_ms);"
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
    "INSERT INTO meta VALUES ('first_id', 0), ('next_id', 0);";

/* What makes each version out of the one before; 0 is an empty file. */
static const char *const migrations[] = {version_1};
#define VERSION ((int)(sizeof migrations / sizeof migrations[0]))

int sqlite_schema_version(void)
{
    return VERSION;
}

int sqlite_schema_migrate(sqlite3 *connection, int version)
{
    if (version > VERSION || version < 0) {
        return SQLITE_MISMATCH;
    }
    if (version == VERSION) {
        return SQLITE_OK;
    }
    int rc = sqlite3_exec(connection, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (int i = version; rc == SQLITE_OK && i < VERSION; i++) {
        rc = sqlite3_exec(connection, migrations[i], NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK) { /* in the same transaction: there is no file that is half ours */
        char mark[96];
        (void)snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                       APPLICATION_ID, VERSION);
        rc = sqlite3_exec(connection, mark, NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_exec(connection, "COMMIT", NULL, NULL, NULL);
    }
    if (sqlite3_get_autocommit(connection) == 0) {
        (void)sqlite3_exec(connection, "ROLLBACK", NULL, NULL, NULL);
    }
    return rc;
}
