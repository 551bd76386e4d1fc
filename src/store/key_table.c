/* key_table - see the header. SPDX-License-Identifier: MIT */
#include "key_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define SIZE_FIRST 64

void key_table_clean_up(struct key_table *table)
{
    free(table->slots);
    *table = (struct key_table){0};
}

/* Its slot, or the free one where it would be. At least one slot is free. */
static struct key_slot *find(const struct key_table *table, const uint8_t key[MESSAGE_KEY_SIZE])
{
    uint64_t hash = 0; /* keys are hashes: their first bytes will do */
    memcpy(&hash, key, sizeof hash);
    size_t at = (size_t)(hash * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (table->size - 1);
    while (table->slots[at].id != 0 && memcmp(table->slots[at].key, key, MESSAGE_KEY_SIZE) != 0) {
        at = (at + 1) & (table->size - 1);
    }
    return &table->slots[at];
}

/* Into a table of another size, without those that were over then. */
static bool rebuild(struct key_table *table, size_t size, int64_t over_ms)
{
    struct key_table new = {.slots = calloc(size, sizeof(struct key_slot)), .size = size};
    if (!new.slots) {
        return false;
    }
    for (size_t i = 0; i < table->size; i++) {
        const struct key_slot *slot = &table->slots[i];
        if (slot->id != 0 && slot->until_ms > over_ms) {
            key_table_set(&new, slot);
        }
    }
    free(table->slots);
    *table = new;
    return true;
}

bool key_table_reserve(struct key_table *table, size_t count)
{
    size_t size = table->size > 0 ? table->size : SIZE_FIRST;
    while (size < (table->used + count) * 2) {
        size *= 2;
    }
    return size == table->size || rebuild(table, size, INT64_MIN);
}

const struct key_slot *key_table_get(const struct key_table *table,
                                     const uint8_t key[MESSAGE_KEY_SIZE], int64_t now_ms)
{
    if (table->used == 0) {
        return NULL;
    }
    const struct key_slot *slot = find(table, key);
    return slot->id != 0 && slot->until_ms > now_ms ? slot : NULL;
}

void key_table_set(struct key_table *table, const struct key_slot *slot)
{
    assert(slot->id != 0 && table->used < table->size);
    struct key_slot *place = find(table, slot->key);
    table->used += place->id == 0;
    *place = *slot;
}

void key_table_sweep(struct key_table *table, int64_t now_ms)
{
    if (table->size > 0) {
        (void)rebuild(table, table->size, now_ms); /* without memory they are forgotten later */
    }
}
