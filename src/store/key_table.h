/*
 * key_table - the idempotency keys of the memory store (Q6): what each was used for, and until
 * when.
 */
#ifndef LULL_STORE_KEY_TABLE_H
#define LULL_STORE_KEY_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "message.h"

struct key_slot {
    uint8_t key[MESSAGE_KEY_SIZE];
    uint8_t request[MESSAGE_KEY_SIZE];
    uint64_t id; /* of its message; 0: the slot is free */
    int64_t until_ms;
};

struct key_table {
    struct key_slot *slots;
    size_t used;
    size_t size; /* a power of two, or 0 */
};

void key_table_clean_up(struct key_table *table);

/* Room for so many more. False: no memory. */
bool key_table_reserve(struct key_table *table, size_t count);

/* What is kept of the key, NULL: nothing, or it is over. */
const struct key_slot *key_table_get(const struct key_table *table,
                                     const uint8_t key[MESSAGE_KEY_SIZE], int64_t now_ms);

/* There must be room. */
void key_table_set(struct key_table *table, const struct key_slot *slot);

/* Forgets those that are over. */
void key_table_sweep(struct key_table *table, int64_t now_ms);

#endif
