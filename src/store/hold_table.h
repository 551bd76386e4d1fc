/*
 * hold_table - which targets are held, and until when (P3): a hash table from one number to
 * another.
 *
 * A hold that is over counts for nothing, whether it has been forgotten or not.
 */
#ifndef LULL_STORE_HOLD_TABLE_H
#define LULL_STORE_HOLD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "message.h"

struct hold_slot {
    uint64_t target;
    int64_t until_ms; /* 0: not held */
    bool is_used;
};

struct hold_table {
    struct hold_slot *slots;
    size_t used;
    size_t size; /* a power of two, or 0 */
};

void hold_table_clean_up(struct hold_table *table);

/* Room for so many more. False: no memory. */
bool hold_table_reserve(struct hold_table *table, size_t count);

/* What was set last, 0: nothing. */
int64_t hold_table_get(const struct hold_table *table, uint64_t target);

/* There must be room. 0 takes it out. */
void hold_table_set(struct hold_table *table, uint64_t target, int64_t until_ms);

/* Up to max targets whose hold is over. */
size_t hold_table_find_over(const struct hold_table *table, int64_t now_ms, uint64_t *ret_targets,
                            size_t max);

/* When a message of this target that would be due then is due, and why. */
void hold_table_apply(const struct hold_table *table, uint64_t target, int64_t now_ms,
                      int64_t *due_ms, uint8_t *cause);

#endif
