/*
 * sqlite_store - what the files of the SQLite backend share.
 *
 *   sqlite_open        the file: whose it is, its lock, its settings, and what is kept in memory
 *   sqlite_schema      the tables, and how older files become newer ones
 *   sqlite_statements  every statement, prepared once, and how one is called
 *   sqlite_commit      a transaction, and what is undone in memory when it fails
 *   sqlite_apply       a batch: settles, cancels, holds, gates
 *   sqlite_put, sqlite_lease   ... puts and leases
 *   sqlite_read        find, list, stats
 *   sqlite_services    services, reclaim and sweep
 *   sqlite_spare       room for the day when there is none
 *   sqlite_checkpoint  the thread that keeps the log short
 *
 * Inside, functions return SQLite's codes: SQLITE_OK, or what went wrong. sqlite_end makes one of
 * store.h's out of it.
 */
#ifndef LULL_STORE_SQLITE_STORE_H
#define LULL_STORE_SQLITE_STORE_H

#include <sqlite3.h>

#include "hold_table.h"
#include "service_table.h"
#include "sqlite_checkpoint.h"
#include "sqlite_spare.h"
#include "store.h"

enum sqlite_statement {
    STATEMENT_BEGIN,
    STATEMENT_COMMIT,
    STATEMENT_ROLLBACK,
    STATEMENT_PUT_WAITING,
    STATEMENT_PUT_LEASED,
    STATEMENT_SEE_LEASED,
    STATEMENT_SEE_WAITING,
    STATEMENT_DELETE_LEASED,
    STATEMENT_DELETE_WAITING,
    STATEMENT_DELETE_DEAD,
    STATEMENT_RETRY,
    STATEMENT_DIE,
    STATEMENT_CANCEL,
    STATEMENT_FIND_TOPIC,
    STATEMENT_FIND_HELD,
    STATEMENT_HOLD_WAITING,
    STATEMENT_SET_HOLD,
    STATEMENT_DELETE_HOLD,
    STATEMENT_SET_GATE,
    STATEMENT_FIND_KEY,
    STATEMENT_SET_KEY,
    STATEMENT_SWEEP_KEYS,
    STATEMENT_FIND_DUE,
    STATEMENT_NEXT_DUE,
    STATEMENT_READ_WAITING, /* these three and the next in the order of enum message_place */
    STATEMENT_READ_LEASED,
    STATEMENT_READ_DEAD,
    STATEMENT_LIST_WAITING,
    STATEMENT_LIST_LEASED,
    STATEMENT_LIST_DEAD,
    STATEMENT_FIND_LOST,
    STATEMENT_RECLAIM,
    STATEMENT_ADD_SERVICE,
    STATEMENT_SET_META,
    STATEMENTS, /* how many there are */
};

struct sqlite_numbers {              /* what a failed transaction gives back in one piece */
    uint64_t places[MESSAGE_PLACES]; /* how many are there */
    uint64_t first_id;               /* ever given; 0: none was */
    uint64_t next_id;
    uint64_t reserved_id; /* the file says that all below may have been given */
};

struct sqlite_hold_undo {
    uint64_t target;
    int64_t until_ms;
};

struct sqlite_store {
    struct store store;
    sqlite3 *connection;
    sqlite3_stmt *statements[STATEMENTS];
    struct checkpointer *checkpointer;
    int lock_file;
    bool is_synced; /* PRAGMA synchronous is FULL, else NORMAL */
    int log_frames;

    struct service_table services;
    struct hold_table holds;
    struct sqlite_numbers numbers;
    struct sqlite_numbers numbers_before;
    struct sqlite_hold_undo *hold_undo;
    size_t hold_undo_count;
    size_t hold_undo_size;
    uint64_t *ids; /* room for what a lease finds */
    size_t ids_size;

    struct spare spare;
    bool has_room; /* for what is new */
    bool is_broken;
    char problem[256];
};

static inline struct sqlite_store *sqlite_of(struct store *store)
{
    return (struct sqlite_store *)(void *)store;
}

/* ---- sqlite_schema: SQLITE_OK, or SQLITE_MISMATCH for a file of a later version ---- */

#define APPLICATION_ID 0x4c756c6c /* "Lull" */
int sqlite_schema_version(void);
int sqlite_schema_migrate(sqlite3 *connection, int version);

/* ---- sqlite_statements ---- */

/* A statement under way: bind in order, then run it, or take its rows and end it. */
struct sqlite_call {
    sqlite3_stmt *statement;
    int bound;
    int rc;
};

int sqlite_prepare(struct sqlite_store *store);
void sqlite_finalize(struct sqlite_store *store);

struct sqlite_call sqlite_call(const struct sqlite_store *store, enum sqlite_statement which);
void sqlite_bind(struct sqlite_call *call, int64_t value);
void sqlite_bind_bytes(struct sqlite_call *call, const void *data, size_t length); /* borrowed */
int sqlite_run(struct sqlite_call *call); /* to its end: SQLITE_OK */
int sqlite_row(struct sqlite_call *call); /* SQLITE_ROW or SQLITE_DONE */
int64_t sqlite_column(const struct sqlite_call *call, int column);
void sqlite_done(struct sqlite_call *call); /* after the last row that is wanted */

/* All of a message that a READ or LIST is at. NULL: no memory. */
struct message *sqlite_read_message(const struct sqlite_call *call, enum message_place place);

/* As a new row: with its lease if it is leased. */
int sqlite_write_message(const struct sqlite_store *store, const struct message *message,
                         enum message_place place);

/* ---- sqlite_commit ---- */

/* Commits are held back, and what changes in memory is noted, until sqlite_end. */
int sqlite_begin(struct sqlite_store *store, bool is_durable);

/* Commits, or with an rc that is not SQLITE_OK undoes everything, here and in memory. Returns
 * LULL_OK or an error of store_apply. */
int sqlite_end(struct sqlite_store *store, int rc);

/* The error of store_apply that this is, outside of a transaction too. */
int sqlite_error(struct sqlite_store *store, int rc);

/* What happens to numbers in memory; SQLITE_NOMEM. A message that leaves waiting was due then; one
 * that enters leased has passed the gate. */
int sqlite_enter(struct sqlite_store *store, uint32_t service, enum message_place place,
                 int64_t due_ms);
int sqlite_leave(struct sqlite_store *store, uint32_t service, enum message_place place,
                 int64_t due_ms);
int sqlite_hold(struct sqlite_store *store, uint64_t target, int64_t until_ms);

/* When the next of what waits for it is due. */
int sqlite_next_due(struct sqlite_store *store, uint32_t service, int64_t *ret_due_ms);

/* ---- the verbs ---- */

int sqlite_apply(struct store *base, struct store_batch *batch, int64_t now_ms);
int sqlite_put(struct sqlite_store *store, struct store_put *put, uint64_t first_id,
               int64_t now_ms);
void sqlite_put_is_safe(const struct sqlite_store *store, struct store_put *put, int64_t now_ms);
int sqlite_delete_leased(struct sqlite_store *store, uint64_t id, uint32_t service);
int sqlite_delete_waiting(struct sqlite_store *store, uint64_t id, uint32_t service,
                          int64_t due_ms);
int sqlite_write_ids(struct sqlite_store *store, uint64_t next_id);
int sqlite_lease(struct sqlite_store *store, struct store_lease *lease, int64_t now_ms);
int sqlite_service(struct store *base, const char *name, size_t length, uint32_t *ret_number);
int sqlite_services(struct store *base, void (*call)(void *userdata, const struct store_service *),
                    void *userdata);
int sqlite_reclaim(struct store *base, int64_t now_ms, bool is_all, uint64_t *ret_count);
int sqlite_sweep(struct store *base, int64_t now_ms);
int sqlite_room(struct store *base);
int sqlite_find(struct store *base, uint64_t id, struct message **ret_message);
bool sqlite_has_given(struct store *base, uint64_t id);
int sqlite_list(struct store *base, const struct store_filter *filter, struct message **ret_list,
                size_t *ret_count, uint64_t *ret_after);
struct store_stats sqlite_stats(struct store *base);

#endif
