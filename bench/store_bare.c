/* store_bare - the same bytes through bare SQLite: one table without an index, prepared statements,
 * a log that SQLite keeps short by itself. SPDX-License-Identifier: MIT */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "store_work.h"

struct bare {
    sqlite3 *connection;
    sqlite3_stmt *begin;
    sqlite3_stmt *insert;
    sqlite3_stmt *remove;
    sqlite3_stmt *commit;
    int64_t next;
    int64_t oldest;
    char path[512];
    char bytes[WORK_SIZE];
};

static void step(sqlite3_stmt *statement)
{
    if (sqlite3_step(statement) != SQLITE_DONE) {
        work_fail("bare SQLite");
    }
    (void)sqlite3_reset(statement);
}

static sqlite3_stmt *prepare(const struct bare *bare, const char *text)
{
    sqlite3_stmt *statement = NULL;
    if (sqlite3_prepare_v2(bare->connection, text, -1, &statement, NULL) != SQLITE_OK) {
        work_fail("bare SQLite");
    }
    return statement;
}

static void insert(struct bare *bare)
{
    (void)sqlite3_bind_int64(bare->insert, 1, bare->next++);
    (void)sqlite3_bind_blob(bare->insert, 2, bare->bytes, sizeof bare->bytes, SQLITE_STATIC);
    step(bare->insert);
}

struct bare *bare_open(const char *folder, uint32_t in_flight)
{
    struct bare *bare = calloc(1, sizeof *bare);
    if (!bare) {
        work_fail("no memory");
    }
    (void)snprintf(bare->path, sizeof bare->path, "%.400s/bench-store-%ld.bare", folder,
                   (long)getpid());
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(bare->path, &bare->connection, flags, NULL) != SQLITE_OK ||
        sqlite3_exec(bare->connection,
                     "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                     "PRAGMA cache_size = -16384;"
                     "CREATE TABLE plain (id INTEGER PRIMARY KEY, bytes BLOB)",
                     NULL, NULL, NULL) != SQLITE_OK) {
        work_fail("bare SQLite");
    }
    bare->begin = prepare(bare, "BEGIN IMMEDIATE");
    bare->insert = prepare(bare, "INSERT INTO plain VALUES (?, ?)");
    bare->remove = prepare(bare, "DELETE FROM plain WHERE id = ?");
    bare->commit = prepare(bare, "COMMIT");
    bare->next = bare->oldest = 1;
    step(bare->begin);
    for (uint32_t i = 0; i < in_flight; i++) {
        insert(bare);
    }
    step(bare->commit);
    return bare;
}

void bare_pass(struct bare *bare, uint32_t batch)
{
    step(bare->begin);
    for (uint32_t i = 0; i < batch; i++) {
        (void)sqlite3_bind_int64(bare->remove, 1, bare->oldest++);
        step(bare->remove);
    }
    for (uint32_t i = 0; i < batch; i++) {
        insert(bare);
    }
    step(bare->commit);
}

void bare_close(struct bare *bare)
{
    (void)sqlite3_finalize(bare->begin);
    (void)sqlite3_finalize(bare->insert);
    (void)sqlite3_finalize(bare->remove);
    (void)sqlite3_finalize(bare->commit);
    (void)sqlite3_close(bare->connection);
    work_remove(bare->path);
    free(bare);
}
