/* sqlite_open - opening and closing: the file is ours or it is left alone, its settings, and what
 * of it is kept in memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sqlite_store.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lull/error.h"
#include "sqlite_file.h"

/* Another program may write to the file for a moment, though none should. */
#define BUSY_MS 60000

/* What a file keeps for good is set when it is made: pages of 4 KiB, as the disk has them.
 * The cache is small: the table of what waits is not gone through but at its ends. The log keeps
 * the space it had when it begins anew, up to 64 MiB. */
static const char settings[] = "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;"
                               "PRAGMA synchronous = FULL; PRAGMA cache_size = -16384;"
                               "PRAGMA journal_size_limit = 67108864; PRAGMA mmap_size = 0;"
                               "PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = OFF";

static int on_log(void *userdata, sqlite3 *connection, const char *name, int frames)
{
    struct sqlite_store *store = userdata;
    (void)connection;
    (void)name;
    store->log_frames = frames;
    return SQLITE_OK;
}

/* ---- what is kept in memory ---- */

/* Calls for each row; its answer is SQLITE_OK or what went wrong. */
static int each_row(struct sqlite_store *store, const char *query,
                    int (*call)(struct sqlite_store *store, sqlite3_stmt *row))
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(store->connection, query, -1, &statement, NULL);
    while (rc == SQLITE_OK && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        rc = call(store, statement);
    }
    (void)sqlite3_finalize(statement);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int add_service(struct sqlite_store *store, sqlite3_stmt *row)
{
    uint32_t number = service_table_next(&store->services);
    const char *name = sqlite3_column_blob(row, 1);
    size_t length = (size_t)sqlite3_column_bytes(row, 1);
    if (sqlite3_column_int64(row, 0) != number || !name || !service_name_is_valid(name, length)) {
        return SQLITE_CORRUPT;
    }
    if (service_table_add(&store->services, name, length) != LULL_OK) {
        return SQLITE_NOMEM;
    }
    service_table_at(&store->services, number)->gate = (struct gate){
        .version = (uint64_t)sqlite3_column_int64(row, 2),
        .paused_until_ms = sqlite3_column_int64(row, 3),
        .rate_milli_per_s = (uint64_t)sqlite3_column_int64(row, 4),
        .burst = (uint32_t)sqlite3_column_int64(row, 5),
        .in_flight_max = (uint32_t)sqlite3_column_int64(row, 6),
    };
    return SQLITE_OK;
}

static int add_hold(struct sqlite_store *store, sqlite3_stmt *row)
{
    if (!hold_table_reserve(&store->holds, 1)) {
        return SQLITE_NOMEM;
    }
    hold_table_set(&store->holds, (uint64_t)sqlite3_column_int64(row, 0),
                   sqlite3_column_int64(row, 1));
    return SQLITE_OK;
}

/* NULL: there is no such service, which cannot be. */
static struct service_entry *counted(struct sqlite_store *store, sqlite3_stmt *row)
{
    int64_t number = sqlite3_column_int64(row, 0);
    bool is_known = number > 0 && number < service_table_next(&store->services);
    return is_known ? service_table_at(&store->services, (uint32_t)number) : NULL;
}

static int count_waiting(struct sqlite_store *store, sqlite3_stmt *row)
{
    struct service_entry *entry = counted(store, row);
    if (!entry) {
        return SQLITE_CORRUPT;
    }
    entry->waiting = (uint64_t)sqlite3_column_int64(row, 1);
    store->numbers.places[MESSAGE_WAITING] += entry->waiting;
    return SQLITE_OK;
}

static int count_leased(struct sqlite_store *store, sqlite3_stmt *row)
{
    struct service_entry *entry = counted(store, row);
    if (!entry) {
        return SQLITE_CORRUPT;
    }
    entry->use.in_flight = (uint32_t)sqlite3_column_int64(row, 1);
    store->numbers.places[MESSAGE_LEASED] += entry->use.in_flight;
    return SQLITE_OK;
}

static int count_dead(struct sqlite_store *store, sqlite3_stmt *row)
{
    store->numbers.places[MESSAGE_DEAD] = (uint64_t)sqlite3_column_int64(row, 0);
    return SQLITE_OK;
}

static int read_first_id(struct sqlite_store *store, sqlite3_stmt *row)
{
    store->numbers.first_id = (uint64_t)sqlite3_column_int64(row, 0);
    return SQLITE_OK;
}

/* What was set aside is skipped: some of it may have been given. */
static int read_next_id(struct sqlite_store *store, sqlite3_stmt *row)
{
    store->numbers.next_id = (uint64_t)sqlite3_column_int64(row, 0);
    store->numbers.reserved_id = store->numbers.next_id;
    return SQLITE_OK;
}

/* Nothing here reads a message: a million that wait are counted in an index. */
static int load(struct sqlite_store *store)
{
    static const struct {
        const char *query;
        int (*call)(struct sqlite_store *store, sqlite3_stmt *row);
    } parts[] = {
        {"SELECT number, name, gate_version, paused_until_ms, rate_milli_per_s, burst,"
         " in_flight_max FROM services ORDER BY number",
         add_service},
        {"SELECT target, until_ms FROM holds", add_hold},
        {"SELECT service, count(*) FROM waiting INDEXED BY waiting_due GROUP BY service",
         count_waiting},
        {"SELECT service, count(*) FROM leased GROUP BY service", count_leased},
        {"SELECT count(*) FROM dead INDEXED BY dead_service", count_dead},
        {"SELECT value FROM meta WHERE name = 'first_id'", read_first_id},
        {"SELECT value FROM meta WHERE name = 'next_id'", read_next_id},
    };
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < sizeof parts / sizeof parts[0]; i++) {
        rc = each_row(store, parts[i].query, parts[i].call);
    }
    return rc;
}

static int read_number(sqlite3 *connection, const char *query, int *ret_number)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(connection, query, -1, &statement, NULL);
    if (rc == SQLITE_OK) {
        rc = sqlite3_step(statement);
        *ret_number = rc == SQLITE_ROW ? sqlite3_column_int(statement, 0) : 0;
        rc = rc == SQLITE_ROW ? SQLITE_OK : rc;
    }
    (void)sqlite3_finalize(statement);
    return rc;
}

/* ---- room ---- */

/* Pages that are free inside of the file are room as well, if there are as many as the log may get:
 * then it can be carried into them, and the disk is not asked for more. */
#define FREE_PAGES_WANTED 5120

int sqlite_room(struct store *base)
{
    struct sqlite_store *store = sqlite_of(base);
    int pages = 0;
    if (!store->has_room) {
        store->has_room =
            spare_take(&store->spare) ||
            (read_number(store->connection, "PRAGMA freelist_count", &pages) == SQLITE_OK &&
             pages >= FREE_PAGES_WANTED);
    }
    return store->has_room ? LULL_OK : STORE_ERR_DISK_FULL;
}

/* ---- opening ---- */

/* Until it is known to be ours, nothing may be written to it, not even when it is closed. */
static int check_version(struct sqlite_store *store)
{
    int version = 0;
    (void)sqlite3_db_config(store->connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    int rc = read_number(store->connection, "PRAGMA user_version", &version);
    if (rc == SQLITE_OK && version > sqlite_schema_version()) {
        rc = SQLITE_MISMATCH;
    }
    if (rc == SQLITE_OK) {
        (void)sqlite3_db_config(store->connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
        rc = sqlite_schema_migrate(store->connection, version);
    }
    return rc;
}

static int open_connection(struct sqlite_store *store, const char *path)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int rc = sqlite3_open_v2(path, &store->connection, flags, NULL);
    if (rc != SQLITE_OK) {
        return rc;
    }
    (void)sqlite3_busy_timeout(store->connection, BUSY_MS);
    rc = check_version(store);
    if (rc == SQLITE_OK) {
        rc = sqlite3_exec(store->connection, settings, NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK) {
        store->is_synced = true;
        (void)sqlite3_wal_hook(store->connection, on_log, store);
        rc = sqlite_prepare(store);
    }
    return rc == SQLITE_OK ? load(store) : rc;
}

static int explain(struct sqlite_store *store, int rc, struct store_opening *opening)
{
    if (rc == SQLITE_MISMATCH) {
        (void)snprintf(
            opening->problem, sizeof opening->problem,
            "the file is of a later version than this program knows: it was not touched; "
            "use the newer program");
        return STORE_ERR_FOREIGN;
    }
    int error = sqlite_error(store, rc);
    if (error == STORE_ERR_DISK_FULL) {
        (void)snprintf(opening->problem, sizeof opening->problem, "the disk is full");
    } else if (error == STORE_ERR_BROKEN) {
        (void)snprintf(
            opening->problem, sizeof opening->problem,
            "the file cannot be used: %s (SQLite %d); put a backup in its place, or save "
            "what can be read with sqlite3 FILE .recover",
            sqlite3_errstr(rc), rc);
    } else {
        (void)snprintf(opening->problem, sizeof opening->problem, "there is no memory");
    }
    return error;
}

/* ---- closing ---- */

/* So that the next start need not skip what was set aside. */
static void give_back_ids(struct sqlite_store *store)
{
    if (store->is_broken || store->numbers.next_id == store->numbers.reserved_id) {
        return;
    }
    int rc = sqlite_begin(store, true);
    if (rc == SQLITE_OK) {
        rc = sqlite_write_ids(store, store->numbers.next_id);
    }
    (void)sqlite_end(store, rc); /* it is not lost if this fails: ids are skipped */
}

static void clean_up(struct sqlite_store *store)
{
    checkpointer_stop(store->checkpointer);
    sqlite_finalize(store);
    (void)sqlite3_close(store->connection); /* the last one: it carries the log into the file */
    service_table_clean_up(&store->services);
    hold_table_clean_up(&store->holds);
    free(store->hold_undo);
    free(store->ids);
    spare_clean_up(&store->spare);
    if (store->lock_file >= 0) {
        (void)close(store->lock_file);
    }
    free(store);
}

static void sqlite_close(struct store *base)
{
    struct sqlite_store *store = sqlite_of(base);
    give_back_ids(store);
    clean_up(store);
}

static const char *sqlite_problem(const struct store *base)
{
    return ((const struct sqlite_store *)(const void *)base)->problem;
}

static const struct store_table sqlite_table = {
    .name = "sqlite",
    .apply = sqlite_apply,
    .service = sqlite_service,
    .services = sqlite_services,
    .reclaim = sqlite_reclaim,
    .find = sqlite_find,
    .has_given = sqlite_has_given,
    .list = sqlite_list,
    .stats = sqlite_stats,
    .sweep = sqlite_sweep,
    .room = sqlite_room,
    .problem = sqlite_problem,
    .close = sqlite_close,
};

static int open_file(struct sqlite_store *store, const char *path, struct store_opening *opening)
{
    int error = sqlite_file_look(path, APPLICATION_ID, (uint32_t)sqlite_schema_version(), opening);
    if (error == LULL_OK) {
        error = sqlite_file_lock(path, &store->lock_file, opening);
    }
    if (error == LULL_OK) {
        error = sqlite_file_make(path, opening);
    }
    if (error != LULL_OK) {
        return error;
    }
    int rc = spare_init(&store->spare, path) ? open_connection(store, path) : SQLITE_NOMEM;
    if (rc != SQLITE_OK) {
        return explain(store, rc, opening);
    }
    (void)sqlite_room(&store->store);
    store->checkpointer = checkpointer_start(path);
    return store->checkpointer ? LULL_OK : explain(store, SQLITE_NOMEM, opening);
}

int store_sqlite_open(struct store **ret_store, const char *path, struct store_opening *opening)
{
    struct store_opening unread = {0};
    struct store_opening *said = opening ? opening : &unread;
    said->problem[0] = '\0';
    struct sqlite_store *store = calloc(1, sizeof *store);
    if (!store) {
        return LULL_ERR_MEMORY;
    }
    store->store.table = &sqlite_table;
    store->lock_file = -1;
    int error = open_file(store, path, said);
    if (error != LULL_OK) {
        clean_up(store);
        return error;
    }
    *ret_store = &store->store;
    return LULL_OK;
}
