/*
 * due_heap - messages by when they are due, then by id: a pairing heap whose nodes are the owner's,
 * so that no operation can fail.
 */
#ifndef LULL_STORE_DUE_HEAP_H
#define LULL_STORE_DUE_HEAP_H

#include <stdint.h>

struct due_node { /* in one heap at a time, with these two set before */
    int64_t due_ms;
    uint64_t id;
    struct due_node *child;    /* the first of those that are later */
    struct due_node *next;     /* beside it */
    struct due_node *previous; /* beside it, or for the first child the parent */
};

struct due_heap {
    struct due_node *first; /* NULL: it is empty */
};

void due_heap_add(struct due_heap *heap, struct due_node *node);
void due_heap_remove(struct due_heap *heap, struct due_node *node);

#endif
