/*
 * departed_list - the last messages that left the store: so that somebody who asks is told how.
 *
 * A ring of fixed size and a table of its ids. Belongs to the engine's thread.
 */
#ifndef LULL_SERVER_DEPARTED_H
#define LULL_SERVER_DEPARTED_H

#include <stdbool.h>
#include <stddef.h>

#include "job.h"
#include "number_table.h"

struct departed_list {
    struct departed *ring;
    struct number_table by_id;
    uint32_t size;
    uint32_t next;
};

/* size 0: none is remembered. False: no memory. */
bool departed_init(struct departed_list *list, uint32_t size);
void departed_clean_up(struct departed_list *list);

/* Takes its message over. */
void departed_add(struct departed_list *list, const struct departed *departed);
const struct departed *departed_find(const struct departed_list *list, uint64_t id); /* or NULL */

#endif
