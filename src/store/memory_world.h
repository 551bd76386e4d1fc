/*
 * memory_world - what the nodes of a memory store share: messages, and three ways to find them.
 *
 * By id: an array in their order, since a new id is always the highest. By service and urgency: a
 * heap of what waits. By target: a list of what waits. To be able to do all of a batch or nothing,
 * memory_world_reserve comes before the first change; nothing after it can fail.
 */
#ifndef LULL_STORE_MEMORY_WORLD_H
#define LULL_STORE_MEMORY_WORLD_H

#include <pthread.h>

#include "due_heap.h"
#include "hold_table.h"
#include "key_table.h"
#include "message.h"
#include "service_table.h"

struct memory_entry {
    struct due_node node; /* first, so that it is the entry too; in its heap while it waits */
    struct message *message;
    struct memory_entry *target_next; /* in the list of its target while it waits */
    struct memory_entry **target_link;
};

struct memory_slot {
    uint64_t id;
    struct memory_entry *entry; /* NULL: it has left */
};

struct memory_heaps {
    struct due_heap of[MESSAGE_URGENCIES];
};

struct memory_world {
    pthread_mutex_t lock; /* nodes may be threads */
    size_t nodes;
    struct memory_slot *slots; /* by id */
    size_t slot_count;
    size_t slot_size;
    struct memory_entry **targets; /* lists, by the target's low bits */
    size_t target_size;            /* a power of two */
    struct service_table services;
    struct memory_heaps *heaps; /* of each service */
    uint32_t heaps_size;
    struct hold_table holds;
    struct key_table keys;
    uint64_t first_id;
    uint64_t next_id;
    uint64_t places[MESSAGE_PLACES]; /* how many are there */
};

struct memory_world *memory_world_new(void); /* NULL: no memory */
void memory_world_destroy(struct memory_world *world);

/* LULL_ERR_MEMORY. */
int memory_world_add_service(struct memory_world *world, const char *name, size_t length);

/* Room for what a batch can add. False: no memory. */
bool memory_world_reserve(struct memory_world *world, size_t puts, size_t holds, size_t keys);

struct memory_entry *memory_world_find(const struct memory_world *world, uint64_t id);

/* The index of the first slot whose id is not below this one. */
size_t memory_world_place(const struct memory_world *world, uint64_t id);

/* A new message, whose id is the highest, in its place: WAITING or LEASED. */
void memory_world_add(struct memory_world *world, struct memory_entry *entry);

/* Takes it out; it is freed. */
void memory_world_remove(struct memory_world *world, struct memory_entry *entry);

/* To another place: message->place says where it is, and what depends on it is kept in step. The
 * gate is not asked, but told of what is not in flight any more. */
void memory_world_move(struct memory_world *world, struct memory_entry *entry,
                       enum message_place place);

/* A message that waits, to another time. */
void memory_world_set_due(struct memory_world *world, struct memory_entry *entry, int64_t due_ms,
                          uint8_t cause);

/* The first that waits for this target in its list, and on. NULL: none. */
struct memory_entry *memory_world_of_target(const struct memory_world *world, uint64_t target);
struct memory_entry *memory_world_of_target_next(const struct memory_entry *entry);

/* The one that is due first; NULL: none waits. */
struct memory_entry *memory_world_first(const struct memory_world *world, uint32_t service,
                                        enum message_urgency urgency);

/* When the next of a service is due; LULL_NEVER: nothing waits. */
int64_t memory_world_next_due(const struct memory_world *world, uint32_t service);

#endif
