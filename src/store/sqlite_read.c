/* sqlite_read - find, list and stats.
 *
 * SPDX-License-Identifier: MIT
 */
#include "sqlite_store.h"

#include "lull/duration.h"
#include "lull/error.h"

_Static_assert(STATEMENT_READ_DEAD == STATEMENT_READ_WAITING + MESSAGE_DEAD &&
                   STATEMENT_LIST_DEAD == STATEMENT_LIST_WAITING + MESSAGE_DEAD,
               "one for each place, in their order");

int sqlite_find(struct store *base, uint64_t id, struct message **ret_message)
{
    struct sqlite_store *store = sqlite_of(base);
    if (store->is_broken) {
        return STORE_ERR_BROKEN;
    }
    int rc = SQLITE_DONE;
    struct message *message = NULL;
    for (int place = 0; place < MESSAGE_PLACES && rc == SQLITE_DONE; place++) {
        struct sqlite_call call =
            sqlite_call(store, (enum sqlite_statement)(STATEMENT_READ_WAITING + place));
        sqlite_bind(&call, (int64_t)id);
        rc = sqlite_row(&call);
        if (rc == SQLITE_ROW) {
            message = sqlite_read_message(&call, (enum message_place)place);
        }
        sqlite_done(&call);
    }
    if (rc == SQLITE_ROW && !message) {
        return LULL_ERR_MEMORY;
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE) {
        return sqlite_error(store, rc);
    }
    *ret_message = message;
    return LULL_OK;
}

bool sqlite_has_given(struct store *base, uint64_t id)
{
    const struct sqlite_numbers *numbers = &sqlite_of(base)->numbers;
    return id != 0 && id >= numbers->first_id && id < numbers->next_id;
}

/* ---- list ---- */

struct cursor { /* at the newest of one place that has not been looked at */
    struct sqlite_call call;
    bool is_open;
    uint64_t id; /* 0: at the end */
};

static int advance(struct cursor *cursor)
{
    int rc = sqlite_row(&cursor->call);
    cursor->id = rc == SQLITE_ROW ? (uint64_t)sqlite_column(&cursor->call, 0) : 0;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? SQLITE_OK : rc;
}

static int open_cursors(const struct sqlite_store *store, const struct store_filter *filter,
                        struct cursor cursors[MESSAGE_PLACES])
{
    bool has_after = filter->after != 0 && filter->after <= INT64_MAX;
    int rc = SQLITE_OK;
    for (int place = 0; place < MESSAGE_PLACES; place++) {
        struct cursor *cursor = &cursors[place];
        *cursor = (struct cursor){0};
        if (rc != SQLITE_OK || (filter->has_place && (int)filter->place != place)) {
            continue;
        }
        cursor->call = sqlite_call(store, (enum sqlite_statement)(STATEMENT_LIST_WAITING + place));
        cursor->is_open = true;
        sqlite_bind(&cursor->call, has_after ? (int64_t)filter->after : INT64_MAX);
        rc = advance(cursor);
    }
    return rc;
}

static void close_cursors(struct cursor cursors[MESSAGE_PLACES])
{
    for (int place = 0; place < MESSAGE_PLACES; place++) {
        if (cursors[place].is_open) {
            sqlite_done(&cursors[place].call);
        }
    }
}

/* The place of the newest. */
static int newest_of(const struct cursor cursors[MESSAGE_PLACES])
{
    int newest = 0;
    for (int place = 1; place < MESSAGE_PLACES; place++) {
        newest = cursors[place].id > cursors[newest].id ? place : newest;
    }
    return newest;
}

static int walk(struct cursor cursors[MESSAGE_PLACES], const struct store_filter *filter,
                struct message **list, size_t *count, uint64_t *ret_after)
{
    uint64_t last = 0;
    int rc = SQLITE_OK;
    for (uint32_t scanned = 0; rc == SQLITE_OK; scanned++) {
        int place = newest_of(cursors);
        struct cursor *cursor = &cursors[place];
        bool is_enough = *count == filter->limit || scanned == filter->scan;
        if (cursor->id == 0 || is_enough) {
            *ret_after = cursor->id != 0 ? last : 0;
            return SQLITE_OK;
        }
        last = cursor->id;
        if (filter->service == 0 || sqlite_column(&cursor->call, 1) == filter->service) {
            list[*count] = sqlite_read_message(&cursor->call, (enum message_place)place);
            if (!list[*count]) {
                return SQLITE_NOMEM;
            }
            (*count)++;
        }
        rc = advance(cursor);
    }
    return rc;
}

int sqlite_list(struct store *base, const struct store_filter *filter, struct message **ret_list,
                size_t *ret_count, uint64_t *ret_after)
{
    struct sqlite_store *store = sqlite_of(base);
    if (store->is_broken) {
        return STORE_ERR_BROKEN;
    }
    struct cursor cursors[MESSAGE_PLACES];
    size_t count = 0;
    uint64_t after = 0;
    int rc = open_cursors(store, filter, cursors);
    if (rc == SQLITE_OK) {
        rc = walk(cursors, filter, ret_list, &count, &after);
    }
    close_cursors(cursors);
    if (rc != SQLITE_OK) {
        while (count > 0) {
            message_free(ret_list[--count]);
        }
        return sqlite_error(store, rc);
    }
    *ret_count = count;
    *ret_after = after;
    return LULL_OK;
}

/* ---- stats ---- */

struct store_stats sqlite_stats(struct store *base)
{
    struct sqlite_store *store = sqlite_of(base);
    struct store_stats stats = {
        .waiting = store->numbers.places[MESSAGE_WAITING],
        .leased = store->numbers.places[MESSAGE_LEASED],
        .dead = store->numbers.places[MESSAGE_DEAD],
        .oldest_due_ms = LULL_NEVER,
    };
    uint32_t end = service_table_next(&store->services);
    for (uint32_t number = 1; number < end && !store->is_broken; number++) {
        int64_t next_ms = LULL_NEVER;
        (void)sqlite_error(store, sqlite_next_due(store, number, &next_ms));
        stats.oldest_due_ms = next_ms < stats.oldest_due_ms ? next_ms : stats.oldest_due_ms;
    }
    return stats;
}
