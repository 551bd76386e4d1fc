/* service_table - see the header. SPDX-License-Identifier: MIT */
#include "service_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lull/error.h"

struct service_undo {
    uint32_t number;
    struct service_entry before;
};

void service_table_clean_up(struct service_table *table)
{
    for (uint32_t i = 0; i < table->count; i++) {
        free(table->entries[i].name);
    }
    free(table->entries);
    free(table->by_name);
    free(table->undo);
    *table = (struct service_table){0};
}

bool service_name_is_valid(const char *name, size_t length)
{
    return length > 0 && length < sizeof((struct store_service *)NULL)->name &&
           !memchr(name, '\0', length);
}

static int compare(const struct service_entry *entry, const char *name, size_t length)
{
    size_t shorter = entry->name_length < length ? entry->name_length : length;
    int order = memcmp(entry->name, name, shorter);
    if (order != 0) {
        return order;
    }
    return (entry->name_length > length) - (entry->name_length < length);
}

/* Where it is in by_name, or would be. */
static uint32_t find_place(const struct service_table *table, const char *name, size_t length)
{
    uint32_t low = 0;
    uint32_t high = table->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (compare(service_table_at(table, table->by_name[middle]), name, length) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

uint32_t service_table_find(const struct service_table *table, const char *name, size_t length)
{
    uint32_t place = find_place(table, name, length);
    if (place == table->count) {
        return 0;
    }
    uint32_t number = table->by_name[place];
    return compare(service_table_at(table, number), name, length) == 0 ? number : 0;
}

int service_table_reserve(struct service_table *table)
{
    if (table->count < table->size) {
        return LULL_OK;
    }
    uint32_t size = table->size > 0 ? table->size * 2 : 8;
    struct service_entry *entries = realloc(table->entries, size * sizeof(struct service_entry));
    if (!entries) {
        return LULL_ERR_MEMORY;
    }
    table->entries = entries;
    uint32_t *by_name = realloc(table->by_name, size * sizeof(uint32_t));
    if (!by_name) {
        return LULL_ERR_MEMORY;
    }
    table->by_name = by_name;
    table->size = size;
    return LULL_OK;
}

uint32_t service_table_next(const struct service_table *table)
{
    return table->count + 1;
}

int service_table_add(struct service_table *table, const char *name, size_t length)
{
    int error = service_table_reserve(table);
    char *copy = error == LULL_OK ? malloc(length) : NULL;
    if (!copy) {
        return LULL_ERR_MEMORY;
    }
    memcpy(copy, name, length);
    uint32_t place = find_place(table, name, length);
    memmove(&table->by_name[place + 1], &table->by_name[place],
            (table->count - place) * sizeof(uint32_t));
    table->entries[table->count] = (struct service_entry){.name = copy, .name_length = length};
    table->count++;
    table->by_name[place] = table->count;
    return LULL_OK;
}

void service_table_remove_last(struct service_table *table)
{
    const struct service_entry *last = service_table_at(table, table->count);
    uint32_t place = find_place(table, last->name, last->name_length);
    free(last->name);
    table->count--;
    memmove(&table->by_name[place], &table->by_name[place + 1],
            (table->count - place) * sizeof(uint32_t));
}

struct service_entry *service_table_at(const struct service_table *table, uint32_t number)
{
    assert(number >= 1 && number <= table->count);
    return &table->entries[number - 1];
}

void service_entry_show(const struct service_entry *entry, uint32_t number,
                        struct store_service *ret_service)
{
    *ret_service = (struct store_service){
        .number = number,
        .gate = entry->gate,
        .waiting = entry->waiting,
        .leased = entry->use.in_flight,
    };
    memcpy(ret_service->name, entry->name, entry->name_length);
}

struct service_entry *service_table_save(struct service_table *table, uint32_t number)
{
    struct service_entry *entry = service_table_at(table, number);
    if (entry->saved_in == table->batch + 1) {
        return entry;
    }
    if (table->undo_count == table->undo_size) {
        size_t size = table->undo_size > 0 ? table->undo_size * 2 : 8;
        struct service_undo *undo = realloc(table->undo, size * sizeof(struct service_undo));
        if (!undo) {
            return NULL;
        }
        table->undo = undo;
        table->undo_size = size;
    }
    table->undo[table->undo_count++] = (struct service_undo){number, *entry};
    entry->saved_in = table->batch + 1;
    return entry;
}

void service_table_commit(struct service_table *table)
{
    table->undo_count = 0;
    table->batch++;
}

void service_table_rollback(struct service_table *table)
{
    for (size_t i = table->undo_count; i > 0; i--) {
        const struct service_undo *undo = &table->undo[i - 1];
        *service_table_at(table, undo->number) = undo->before;
    }
    service_table_commit(table);
}
