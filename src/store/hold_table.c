/* hold_table - see the header. SPDX-License-Identifier: MIT */
#include "hold_table.h"

#include <assert.h>
#include <stdlib.h>

#define SIZE_FIRST 64

void hold_table_clean_up(struct hold_table *table)
{
    free(table->slots);
    *table = (struct hold_table){0};
}

/* Its slot, or the free one where it would be. At least one slot is free. */
static struct hold_slot *find(const struct hold_table *table, uint64_t target)
{
    size_t mask = table->size - 1;
    /* Targets are hashes, but of others' making: all bits have a say. */
    size_t at = (size_t)((target ^ target >> 29) * UINT64_C(0x9e3779b97f4a7c15) >> 32) & mask;
    while (table->slots[at].is_used && table->slots[at].target != target) {
        at = (at + 1) & mask;
    }
    return &table->slots[at];
}

static bool rebuild(struct hold_table *table, size_t size)
{
    struct hold_table new = {.slots = calloc(size, sizeof(struct hold_slot)), .size = size};
    if (!new.slots) {
        return false;
    }
    for (size_t i = 0; i < table->size; i++) {
        const struct hold_slot *slot = &table->slots[i];
        if (slot->is_used && slot->until_ms != 0) {
            *find(&new, slot->target) = *slot;
            new.used++;
        }
    }
    free(table->slots);
    *table = new;
    return true;
}

bool hold_table_reserve(struct hold_table *table, size_t count)
{
    size_t needed = (table->used + count) * 2;
    if (needed <= table->size) {
        return true;
    }
    size_t held = 0; /* those that were taken out may give room enough */
    for (size_t i = 0; i < table->size; i++) {
        held += table->slots[i].is_used && table->slots[i].until_ms != 0;
    }
    size_t size = SIZE_FIRST;
    while (size < (held + count) * 4) {
        size *= 2;
    }
    return rebuild(table, size);
}

int64_t hold_table_get(const struct hold_table *table, uint64_t target)
{
    if (table->used == 0) {
        return 0;
    }
    const struct hold_slot *slot = find(table, target);
    return slot->is_used ? slot->until_ms : 0;
}

void hold_table_set(struct hold_table *table, uint64_t target, int64_t until_ms)
{
    assert(table->used < table->size);
    struct hold_slot *slot = find(table, target);
    if (!slot->is_used) {
        table->used++;
    }
    *slot = (struct hold_slot){.target = target, .until_ms = until_ms, .is_used = true};
}

size_t hold_table_find_over(const struct hold_table *table, int64_t now_ms, uint64_t *ret_targets,
                            size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < table->size && count < max; i++) {
        const struct hold_slot *slot = &table->slots[i];
        if (slot->is_used && slot->until_ms != 0 && slot->until_ms <= now_ms) {
            ret_targets[count++] = slot->target;
        }
    }
    return count;
}

void hold_table_apply(const struct hold_table *table, uint64_t target, int64_t now_ms,
                      int64_t *due_ms, uint8_t *cause)
{
    int64_t until_ms = hold_table_get(table, target);
    if (until_ms > now_ms && *due_ms < until_ms) {
        *due_ms = until_ms;
        *cause = MESSAGE_CAUSE_HELD;
    }
}
