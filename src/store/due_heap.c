/* due_heap - see the header. SPDX-License-Identifier: MIT */
#include "due_heap.h"

#include <stdbool.h>
#include <stddef.h>

static bool is_before(const struct due_node *a, const struct due_node *b)
{
    return a->due_ms != b->due_ms ? a->due_ms < b->due_ms : a->id < b->id;
}

/* Two heaps into one: the later root becomes a child of the sooner. */
static struct due_node *meld(struct due_node *a, struct due_node *b)
{
    if (!a || !b) {
        return a ? a : b;
    }
    struct due_node *first = is_before(b, a) ? b : a;
    struct due_node *second = first == a ? b : a;
    second->next = first->child;
    second->previous = first;
    if (first->child) {
        first->child->previous = second;
    }
    first->child = second;
    return first;
}

/* The children of a node into one heap: in pairs from the left, then these together. */
static struct due_node *meld_children(struct due_node *node)
{
    struct due_node *pairs = NULL;
    for (struct due_node *left = node->child, *rest = NULL; left; left = rest) {
        struct due_node *right = left->next;
        rest = right ? right->next : NULL;
        left->next = left->previous = NULL;
        if (right) {
            right->next = right->previous = NULL;
        }
        struct due_node *pair = meld(left, right);
        pair->next = pairs;
        pairs = pair;
    }
    struct due_node *all = NULL;
    while (pairs) {
        struct due_node *pair = pairs;
        pairs = pair->next;
        pair->next = NULL;
        all = meld(all, pair);
    }
    node->child = NULL;
    return all;
}

void due_heap_add(struct due_heap *heap, struct due_node *node)
{
    node->child = node->next = node->previous = NULL;
    heap->first = meld(heap->first, node);
}

void due_heap_remove(struct due_heap *heap, struct due_node *node)
{
    if (node == heap->first) {
        heap->first = meld_children(node);
        return;
    }
    if (node->previous->child == node) {
        node->previous->child = node->next;
    } else {
        node->previous->next = node->next;
    }
    if (node->next) {
        node->next->previous = node->previous;
    }
    node->next = node->previous = NULL;
    heap->first = meld(heap->first, meld_children(node));
}
