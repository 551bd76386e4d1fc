/* number_table - see the header. SPDX-License-Identifier: MIT */
#include "number_table.h"

#include <stdlib.h>

bool number_table_init(struct number_table *table, size_t entries_max)
{
    size_t size = 4;
    while (size < 2 * entries_max) {
        size *= 2;
    }
    table->slots = calloc(size, sizeof *table->slots);
    table->mask = size - 1;
    return table->slots != NULL;
}

void number_table_clean_up(struct number_table *table)
{
    free(table->slots);
    *table = (struct number_table){0};
}

static size_t home_of(const struct number_table *table, uint64_t key)
{
    return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) & table->mask; /* golden ratio */
}

/* Where the key stands, or the free slot where it would. */
static size_t slot_of(const struct number_table *table, uint64_t key)
{
    size_t slot = home_of(table, key);
    while (table->slots[slot].value_and_1 != 0 && table->slots[slot].key != key) {
        slot = (slot + 1) & table->mask;
    }
    return slot;
}

uint32_t number_table_find(const struct number_table *table, uint64_t key)
{
    return table->slots[slot_of(table, key)].value_and_1 - 1; /* 0 becomes _NONE */
}

void number_table_set(struct number_table *table, uint64_t key, uint32_t value)
{
    table->slots[slot_of(table, key)] = (struct number_slot){key, value + 1};
}

/* What stands behind the gap moves into it, unless the gap is before its home. */
void number_table_remove(struct number_table *table, uint64_t key)
{
    size_t mask = table->mask;
    size_t gap = slot_of(table, key);
    size_t slot = gap;
    table->slots[gap].value_and_1 = 0;
    for (;;) {
        slot = (slot + 1) & mask;
        if (table->slots[slot].value_and_1 == 0) {
            return;
        }
        size_t home = home_of(table, table->slots[slot].key);
        if (((slot - home) & mask) >= ((slot - gap) & mask)) {
            table->slots[gap] = table->slots[slot];
            table->slots[slot].value_and_1 = 0;
            gap = slot;
        }
    }
}
