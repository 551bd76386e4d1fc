/* memory_world - see the header. SPDX-License-Identifier: MIT */
#include "memory_world.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lull/duration.h"
#include "lull/error.h"

#define TARGETS_FIRST 1024

struct memory_world *memory_world_new(void)
{
    struct memory_world *world = calloc(1, sizeof *world);
    if (!world) {
        return NULL;
    }
    world->targets = calloc(TARGETS_FIRST, sizeof(struct memory_entry *));
    world->target_size = TARGETS_FIRST;
    if (!world->targets || pthread_mutex_init(&world->lock, NULL) != 0) {
        free(world->targets);
        free(world);
        return NULL;
    }
    world->nodes = 1;
    return world;
}

void memory_world_destroy(struct memory_world *world)
{
    for (size_t i = 0; i < world->slot_count; i++) {
        if (world->slots[i].entry) {
            message_free(world->slots[i].entry->message);
            free(world->slots[i].entry);
        }
    }
    free(world->slots);
    free(world->targets);
    free(world->heaps);
    service_table_clean_up(&world->services);
    hold_table_clean_up(&world->holds);
    key_table_clean_up(&world->keys);
    (void)pthread_mutex_destroy(&world->lock);
    free(world);
}

int memory_world_add_service(struct memory_world *world, const char *name, size_t length)
{
    uint32_t number = service_table_next(&world->services);
    if (number > world->heaps_size) {
        uint32_t size = number * 2;
        struct memory_heaps *heaps = realloc(world->heaps, size * sizeof(struct memory_heaps));
        if (!heaps) {
            return LULL_ERR_MEMORY;
        }
        memset(&heaps[world->heaps_size], 0,
               (size - world->heaps_size) * sizeof(struct memory_heaps));
        world->heaps = heaps;
        world->heaps_size = size;
    }
    return service_table_add(&world->services, name, length);
}

/* ---- room ---- */

/* Without those that have left. */
static void compact(struct memory_world *world)
{
    size_t kept = 0;
    for (size_t i = 0; i < world->slot_count; i++) {
        if (world->slots[i].entry) {
            world->slots[kept++] = world->slots[i];
        }
    }
    world->slot_count = kept;
}

static bool reserve_slots(struct memory_world *world, size_t count)
{
    if (world->slot_count + count <= world->slot_size) {
        return true;
    }
    compact(world);
    size_t size = (world->slot_count + count) * 2;
    if (size <= world->slot_size) {
        return true;
    }
    struct memory_slot *slots = realloc(world->slots, size * sizeof(struct memory_slot));
    if (slots) {
        world->slots = slots;
        world->slot_size = size;
    }
    return slots || world->slot_count + count <= world->slot_size;
}

static struct memory_entry **target_list(const struct memory_world *world, uint64_t target)
{
    uint64_t mixed = (target ^ target >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return &world->targets[(size_t)(mixed >> 32) & (world->target_size - 1)];
}

static void enlist(struct memory_world *world, struct memory_entry *entry)
{
    struct memory_entry **list = target_list(world, entry->message->target);
    entry->target_next = *list;
    entry->target_link = list;
    if (*list) {
        (*list)->target_link = &entry->target_next;
    }
    *list = entry;
}

static void delist(struct memory_entry *entry)
{
    *entry->target_link = entry->target_next;
    if (entry->target_next) {
        entry->target_next->target_link = entry->target_link;
    }
}

/* More lists, so that they stay short. Without memory they are longer, that is all. */
static void reserve_targets(struct memory_world *world, size_t count)
{
    size_t size = world->target_size;
    while (size < world->places[MESSAGE_WAITING] + count) {
        size *= 2;
    }
    struct memory_entry **targets =
        size > world->target_size ? calloc(size, sizeof(struct memory_entry *)) : NULL;
    if (!targets) {
        return;
    }
    free(world->targets);
    world->targets = targets;
    world->target_size = size;
    for (size_t i = 0; i < world->slot_count; i++) {
        struct memory_entry *entry = world->slots[i].entry;
        if (entry && entry->message->place == MESSAGE_WAITING) {
            enlist(world, entry);
        }
    }
}

bool memory_world_reserve(struct memory_world *world, size_t puts, size_t holds, size_t keys)
{
    if (!reserve_slots(world, puts) || !hold_table_reserve(&world->holds, holds) ||
        !key_table_reserve(&world->keys, keys)) {
        return false;
    }
    reserve_targets(world, puts);
    return true;
}

/* ---- by id ---- */

size_t memory_world_place(const struct memory_world *world, uint64_t id)
{
    size_t low = 0;
    size_t high = world->slot_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (world->slots[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

struct memory_entry *memory_world_find(const struct memory_world *world, uint64_t id)
{
    size_t place = memory_world_place(world, id);
    bool is_there = place < world->slot_count && world->slots[place].id == id;
    return is_there ? world->slots[place].entry : NULL;
}

/* ---- places ---- */

static struct due_heap *heap_of(const struct memory_world *world, const struct message *message)
{
    return &world->heaps[message->service - 1].of[message->urgency];
}

static void enter(struct memory_world *world, struct memory_entry *entry, enum message_place place)
{
    struct message *message = entry->message;
    message->place = (uint8_t)place;
    world->places[place]++;
    if (place == MESSAGE_WAITING) {
        entry->node.due_ms = message->due_ms;
        entry->node.id = message->id;
        due_heap_add(heap_of(world, message), &entry->node);
        enlist(world, entry);
        service_table_at(&world->services, message->service)->waiting++;
    }
}

static void leave(struct memory_world *world, struct memory_entry *entry)
{
    const struct message *message = entry->message;
    struct service_entry *service = service_table_at(&world->services, message->service);
    world->places[message->place]--;
    if (message->place == MESSAGE_WAITING) {
        due_heap_remove(heap_of(world, message), &entry->node);
        delist(entry);
        service->waiting--;
    } else if (message->place == MESSAGE_LEASED) {
        gate_leave(&service->use, 1);
    }
}

void memory_world_add(struct memory_world *world, struct memory_entry *entry)
{
    assert(world->slot_count < world->slot_size);
    world->slots[world->slot_count++] =
        (struct memory_slot){.id = entry->message->id, .entry = entry};
    enter(world, entry, (enum message_place)entry->message->place);
}

void memory_world_remove(struct memory_world *world, struct memory_entry *entry)
{
    leave(world, entry);
    world->slots[memory_world_place(world, entry->message->id)].entry = NULL;
    message_free(entry->message);
    free(entry);
}

void memory_world_move(struct memory_world *world, struct memory_entry *entry,
                       enum message_place place)
{
    leave(world, entry);
    enter(world, entry, place);
}

void memory_world_set_due(struct memory_world *world, struct memory_entry *entry, int64_t due_ms,
                          uint8_t cause)
{
    struct due_heap *heap = heap_of(world, entry->message);
    due_heap_remove(heap, &entry->node);
    entry->message->due_ms = due_ms;
    entry->message->cause = cause;
    entry->node.due_ms = due_ms;
    due_heap_add(heap, &entry->node);
}

/* ---- what waits ---- */

static struct memory_entry *first_of(struct memory_entry *entry, uint64_t target)
{
    while (entry && entry->message->target != target) { /* others share the list */
        entry = entry->target_next;
    }
    return entry;
}

struct memory_entry *memory_world_of_target(const struct memory_world *world, uint64_t target)
{
    return first_of(*target_list(world, target), target);
}

struct memory_entry *memory_world_of_target_next(const struct memory_entry *entry)
{
    return first_of(entry->target_next, entry->message->target);
}

struct memory_entry *memory_world_first(const struct memory_world *world, uint32_t service,
                                        enum message_urgency urgency)
{
    return (struct memory_entry *)(void *)world->heaps[service - 1].of[urgency].first;
}

int64_t memory_world_next_due(const struct memory_world *world, uint32_t service)
{
    int64_t next_ms = LULL_NEVER;
    for (int urgency = 0; urgency < MESSAGE_URGENCIES; urgency++) {
        const struct due_node *first = world->heaps[service - 1].of[urgency].first;
        if (first && first->due_ms < next_ms) {
            next_ms = first->due_ms;
        }
    }
    return next_ms;
}
