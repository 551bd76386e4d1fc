/*
 * number_table - finds by a number what has a place: open addressing, without gaps, of a fixed
 * size.
 *
 * Pure, in memory that is taken once. A value is any number below UINT32_MAX.
 */
#ifndef LULL_ENGINE_NUMBER_TABLE_H
#define LULL_ENGINE_NUMBER_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct number_slot {
    uint64_t key;
    uint32_t value_and_1; /* 0: nothing is here */
};

struct number_table {
    struct number_slot *slots;
    size_t mask;
};

#define NUMBER_TABLE_NONE UINT32_MAX

/* Room for so many entries at once. False: no memory. */
bool number_table_init(struct number_table *table, size_t entries_max);
void number_table_clean_up(struct number_table *table);

uint32_t number_table_find(const struct number_table *table, uint64_t key); /* or _NONE */
void number_table_set(struct number_table *table, uint64_t key, uint32_t value);
void number_table_remove(struct number_table *table, uint64_t key);

#endif
