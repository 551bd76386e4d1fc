/*
 * service_table - the services that a store knows, in memory: name, gate, and how many messages.
 *
 * A backend that can fail in the middle of a batch keeps an undo: service_table_save before it
 * changes an entry, then service_table_commit or service_table_rollback for all of them.
 *
 * Adding a service may move the entries: no pointer to one is kept over it.
 */
#ifndef LULL_STORE_SERVICE_TABLE_H
#define LULL_STORE_SERVICE_TABLE_H

#include "gate.h"
#include "store.h"

struct service_entry {
    char *name;
    size_t name_length;
    struct gate gate;
    struct gate_use use; /* use.in_flight is how many are leased */
    uint64_t waiting;
    uint32_t turn;     /* of claim */
    uint64_t saved_in; /* the batch that saved it */

    /* For a backend that has to look it up: of what waits, LULL_NEVER: nothing does. */
    int64_t next_due_ms;
    bool is_next_due_known;
};

struct service_undo;

struct service_table {
    struct service_entry *entries; /* number 1 is the first */
    uint32_t count;
    uint32_t size;
    uint32_t *by_name; /* numbers, sorted */
    struct service_undo *undo;
    size_t undo_count;
    size_t undo_size;
    uint64_t batch;
};

void service_table_clean_up(struct service_table *table);

/* May this be a name? */
bool service_name_is_valid(const char *name, size_t length);

/* Its number, 0: there is none of this name. */
uint32_t service_table_find(const struct service_table *table, const char *name, size_t length);

/* Room for one more, so that service_table_add cannot fail. LULL_ERR_MEMORY. */
int service_table_reserve(struct service_table *table);

/* The number that a new one would get. */
uint32_t service_table_next(const struct service_table *table);

/* With the next number. LULL_ERR_MEMORY. */
int service_table_add(struct service_table *table, const char *name, size_t length);

/* Takes the last one out again. */
void service_table_remove_last(struct service_table *table);

/* Of a number that was given out: anything else is a mistake of the caller. */
struct service_entry *service_table_at(const struct service_table *table, uint32_t number);

/* Fills in all but next_due_ms. */
void service_entry_show(const struct service_entry *entry, uint32_t number,
                        struct store_service *ret_service);

/* The entry, for a change that can be undone. NULL: no memory. */
struct service_entry *service_table_save(struct service_table *table, uint32_t number);
void service_table_commit(struct service_table *table);
void service_table_rollback(struct service_table *table);

#endif
