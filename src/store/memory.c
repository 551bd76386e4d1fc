/* memory - a store that keeps nothing: the rules of store.h in their plainest form. One or more
 * nodes on a memory_world. SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "claim.h"
#include "ids.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "memory_world.h"
#include "store.h"

struct memory_store {
    struct store store;
    struct memory_world *world;
};

/* Locks it: each verb is one step for the other nodes. */
static struct memory_world *enter(const struct store *store)
{
    struct memory_world *world = ((const struct memory_store *)(const void *)store)->world;
    (void)pthread_mutex_lock(&world->lock);
    return world;
}

static void leave(struct memory_world *world)
{
    (void)pthread_mutex_unlock(&world->lock);
}

/* ---- what a batch needs is there before it begins ---- */

struct preparation {
    struct message **settled;    /* as each will be after its settle, NULL: need not */
    struct memory_entry **added; /* one for each put */
};

static void clean_up(struct preparation *preparation, const struct store_batch *batch)
{
    for (size_t i = 0; preparation->settled && i < batch->settle_count; i++) {
        message_free(preparation->settled[i]);
    }
    for (size_t i = 0; preparation->added && i < batch->put_count; i++) {
        if (preparation->added[i]) {
            message_free(preparation->added[i]->message);
            free(preparation->added[i]);
        }
    }
    free(preparation->settled);
    free(preparation->added);
}

static bool is_ours(const struct memory_entry *entry, const struct message *message)
{
    return entry && entry->message->place == MESSAGE_LEASED &&
           entry->message->lease == message->lease;
}

/* All of what the store has, with the changing fields of the other. NULL: no memory. */
static struct message *with_changes(const struct message *kept, const struct message *changed)
{
    struct message message = *kept;
    message.due_ms = changed->due_ms;
    message.attempts = changed->attempts;
    message.auth_retries = changed->auth_retries;
    message.lost = changed->lost;
    message.previous_delay_ms = changed->previous_delay_ms;
    message.cause = changed->cause;
    message.history = changed->history;
    return message_copy(&message);
}

static bool prepare(struct preparation *preparation, struct memory_world *world,
                    const struct store_batch *batch)
{
    *preparation = (struct preparation){
        .settled = calloc(batch->settle_count + 1, sizeof(struct message *)),
        .added = calloc(batch->put_count + 1, sizeof(struct memory_entry *)),
    };
    bool is_ready =
        preparation->settled && preparation->added &&
        memory_world_reserve(world, batch->put_count, batch->hold_count, batch->put_count);
    for (size_t i = 0; is_ready && i < batch->settle_count; i++) {
        const struct store_settle *settle = &batch->settles[i];
        const struct memory_entry *entry = memory_world_find(world, settle->message->id);
        if (settle->kind != STORE_DONE && is_ours(entry, settle->message)) {
            preparation->settled[i] = with_changes(entry->message, settle->message);
            is_ready = preparation->settled[i];
        }
    }
    for (size_t i = 0; is_ready && i < batch->put_count; i++) {
        preparation->added[i] = calloc(1, sizeof(struct memory_entry));
        if (preparation->added[i]) {
            preparation->added[i]->message = message_copy(batch->puts[i].message);
        }
        is_ready = preparation->added[i] && preparation->added[i]->message;
    }
    if (!is_ready) {
        clean_up(preparation, batch);
    }
    return is_ready;
}

/* ---- the parts of a batch ---- */

static void wait_again(struct memory_world *world, struct memory_entry *entry, int64_t now_ms)
{
    struct message *message = entry->message;
    message->lease = 0;
    message->lease_until_ms = 0;
    hold_table_apply(&world->holds, message->target, now_ms, &message->due_ms, &message->cause);
    memory_world_move(world, entry, MESSAGE_WAITING);
}

static void die(struct memory_world *world, struct memory_entry *entry, uint8_t reason,
                uint16_t status, int64_t died_ms)
{
    struct message *message = entry->message;
    message->lease = 0;
    message->lease_until_ms = 0;
    message->reason = reason;
    message->status = status;
    message->died_ms = died_ms;
    memory_world_move(world, entry, MESSAGE_DEAD);
}

static void settle_one(struct memory_world *world, struct store_settle *settle,
                       struct message **prepared, int64_t now_ms)
{
    const struct message *message = settle->message;
    struct memory_entry *entry = memory_world_find(world, message->id);
    settle->ret_is_stale = !is_ours(entry, message);
    if (settle->kind == STORE_DONE) {
        if (entry) {
            memory_world_remove(world, entry);
        }
        return;
    }
    if (settle->ret_is_stale) {
        return;
    }
    assert(*prepared);
    message_free(entry->message);
    entry->message = *prepared;
    *prepared = NULL;
    if (settle->kind == STORE_RETRY) {
        wait_again(world, entry, now_ms);
    } else {
        die(world, entry, message->reason, message->status, message->died_ms);
    }
}

static void cancel_one(struct memory_world *world, struct store_cancel *cancel, int64_t now_ms)
{
    struct memory_entry *entry = memory_world_find(world, cancel->id);
    cancel->ret_is_done = entry && entry->message->place == MESSAGE_WAITING;
    if (cancel->ret_is_done) {
        cancel->ret_service = entry->message->service;
        die(world, entry, LULL_REASON_CANCELLED, 0, now_ms);
    }
}

static void hold_one(struct memory_world *world, const struct store_hold *hold, int64_t now_ms)
{
    if (hold->until_ms <= now_ms || hold->until_ms <= hold_table_get(&world->holds, hold->target)) {
        return; /* over, or less than an earlier one said */
    }
    hold_table_set(&world->holds, hold->target, hold->until_ms);
    for (struct memory_entry *entry = memory_world_of_target(world, hold->target); entry;
         entry = memory_world_of_target_next(entry)) {
        if (entry->message->due_ms < hold->until_ms) {
            memory_world_set_due(world, entry, hold->until_ms, MESSAGE_CAUSE_HELD);
        }
    }
}

static void set_gate(struct memory_world *world, struct store_set_gate *set)
{
    struct service_entry *service = service_table_at(&world->services, set->service);
    set->ret_is_set = service->gate.version == set->expected_version;
    if (set->ret_is_set) {
        service->gate = set->gate;
        service->gate.version = set->expected_version + 1;
    }
}

/* The oldest that waits for the same target with the same topic leaves (Q7). */
static uint64_t replace(struct memory_world *world, const struct message *message)
{
    struct memory_entry *oldest = NULL;
    if (message->topic == 0) {
        return 0;
    }
    for (struct memory_entry *entry = memory_world_of_target(world, message->target); entry;
         entry = memory_world_of_target_next(entry)) {
        if (entry->message->topic == message->topic &&
            (!oldest || entry->message->id < oldest->message->id)) {
            oldest = entry;
        }
    }
    uint64_t id = oldest ? oldest->message->id : 0;
    if (oldest) {
        memory_world_remove(world, oldest);
    }
    return id;
}

/* Q6. True: there is nothing to be put. */
static bool is_known(const struct memory_world *world, struct store_put *put, uint64_t first_id,
                     int64_t now_ms)
{
    const struct key_slot *slot =
        put->has_key ? key_table_get(&world->keys, put->key, now_ms) : NULL;
    if (!slot) {
        return false;
    }
    bool is_same = memcmp(slot->request, put->request, MESSAGE_KEY_SIZE) == 0;
    put->ret_id = slot->id;
    put->ret_replaced = 0;
    put->ret_result = !is_same               ? STORE_PUT_CONFLICT
                      : slot->id >= first_id ? STORE_PUT_UNDER_WAY
                                             : STORE_PUT_REPEATED;
    return true;
}

static bool may_go(struct memory_world *world, const struct store_put *put,
                   const struct message *message, int64_t now_ms)
{
    struct service_entry *service = service_table_at(&world->services, message->service);
    enum gate_stop stop = GATE_OPEN;
    int64_t until_ms = 0;
    return put->is_lease_wanted && message->due_ms <= now_ms &&
           gate_pass(&service->gate, &service->use, now_ms, 1, &stop, &until_ms) == 1;
}

static void put_one(struct memory_world *world, struct store_put *put,
                    struct memory_entry **prepared, uint64_t first_id, int64_t now_ms)
{
    if (is_known(world, put, first_id, now_ms)) {
        return;
    }
    struct memory_entry *entry = *prepared;
    struct message *kept = entry->message;
    *prepared = NULL;
    kept->id = world->next_id++;
    if (put->has_key) {
        struct key_slot slot = {.id = kept->id, .until_ms = put->key_until_ms};
        memcpy(slot.key, put->key, MESSAGE_KEY_SIZE);
        memcpy(slot.request, put->request, MESSAGE_KEY_SIZE);
        key_table_set(&world->keys, &slot);
    }
    put->ret_id = kept->id;
    put->ret_replaced = replace(world, kept);
    hold_table_apply(&world->holds, kept->target, now_ms, &kept->due_ms, &kept->cause);
    bool is_leased = may_go(world, put, kept, now_ms);
    put->ret_result = is_leased ? STORE_PUT_LEASED : STORE_PUT_WAITING;
    kept->place = is_leased ? MESSAGE_LEASED : MESSAGE_WAITING;
    kept->lease = is_leased ? put->lease : 0;
    kept->lease_until_ms = is_leased ? put->lease_until_ms : 0;
    kept->reason = 0;
    kept->status = 0;
    kept->died_ms = 0;

    struct message *message = put->message;
    message->id = kept->id;
    message->place = kept->place;
    message->lease = kept->lease;
    message->lease_until_ms = kept->lease_until_ms;
    message->due_ms = kept->due_ms;
    message->cause = kept->cause;
    memory_world_add(world, entry);
}

/* The next one that the lease takes, NULL: nothing is due. */
static struct memory_entry *take_next(struct memory_world *world, struct claim *claim,
                                      uint32_t service, int64_t now_ms)
{
    struct memory_entry *first[MESSAGE_URGENCIES];
    bool has_due[MESSAGE_URGENCIES];
    bool has_any = false;
    for (int i = 0; i < MESSAGE_URGENCIES; i++) {
        first[i] = memory_world_first(world, service, (enum message_urgency)i);
        has_due[i] = first[i] && first[i]->message->due_ms <= now_ms;
        has_any = has_any || has_due[i];
    }
    return has_any ? first[claim_next(claim, has_due)] : NULL;
}

static void lease_some(struct memory_world *world, struct store_lease *lease, int64_t now_ms)
{
    struct service_entry *service = service_table_at(&world->services, lease->service);
    struct claim claim;
    claim_begin(&claim, service, memory_world_next_due(world, lease->service), now_ms, lease->max);
    lease->ret_count = 0;
    while (lease->ret_count < claim.allowed) {
        struct memory_entry *entry = take_next(world, &claim, lease->service, now_ms);
        struct message *copy = entry ? message_copy(entry->message) : NULL;
        if (!copy) {
            break; /* without memory for more there are fewer: they stay where they are */
        }
        memory_world_move(world, entry, MESSAGE_LEASED);
        entry->message->lease = lease->lease;
        entry->message->lease_until_ms = lease->lease_until_ms;
        copy->place = MESSAGE_LEASED;
        copy->lease = lease->lease;
        copy->lease_until_ms = lease->lease_until_ms;
        lease->messages[lease->ret_count++] = copy;
    }
    claim_end(&claim, service, lease, memory_world_next_due(world, lease->service), now_ms);
}

static int memory_apply(struct store *store, struct store_batch *batch, int64_t now_ms)
{
    struct memory_world *world = enter(store);
    struct preparation preparation;
    if (!prepare(&preparation, world, batch)) {
        leave(world);
        return LULL_ERR_MEMORY;
    }
    for (size_t i = 0; i < batch->settle_count; i++) {
        settle_one(world, &batch->settles[i], &preparation.settled[i], now_ms);
    }
    for (size_t i = 0; i < batch->cancel_count; i++) {
        cancel_one(world, &batch->cancels[i], now_ms);
    }
    for (size_t i = 0; i < batch->hold_count; i++) {
        hold_one(world, &batch->holds[i], now_ms);
    }
    for (size_t i = 0; i < batch->gate_count; i++) {
        set_gate(world, &batch->gates[i]);
    }
    if (batch->put_count > 0 && world->next_id == 0) {
        world->first_id = world->next_id = ids_begin(now_ms);
    }
    uint64_t first_id = world->next_id;
    for (size_t i = 0; i < batch->put_count; i++) {
        put_one(world, &batch->puts[i], &preparation.added[i], first_id, now_ms);
    }
    for (size_t i = 0; i < batch->lease_count; i++) {
        lease_some(world, &batch->leases[i], now_ms);
    }
    clean_up(&preparation, batch);
    leave(world);
    return LULL_OK;
}

/* ---- the other verbs ---- */

static int memory_service(struct store *store, const char *name, size_t length,
                          uint32_t *ret_number)
{
    if (!service_name_is_valid(name, length)) {
        return LULL_ERR_RANGE;
    }
    struct memory_world *world = enter(store);
    uint32_t number = service_table_find(&world->services, name, length);
    int error = LULL_OK;
    if (number == 0) {
        number = service_table_next(&world->services);
        error = memory_world_add_service(world, name, length);
    }
    if (error == LULL_OK) {
        *ret_number = number;
    }
    leave(world);
    return error;
}

static int memory_services(struct store *store,
                           void (*call)(void *userdata, const struct store_service *),
                           void *userdata)
{
    struct memory_world *world = enter(store);
    uint32_t end = service_table_next(&world->services);
    for (uint32_t number = 1; number < end; number++) {
        struct store_service service;
        service_entry_show(service_table_at(&world->services, number), number, &service);
        service.next_due_ms = memory_world_next_due(world, number);
        call(userdata, &service);
    }
    leave(world);
    return LULL_OK;
}

static int memory_reclaim(struct store *store, int64_t now_ms, bool is_all, uint64_t *ret_count)
{
    struct memory_world *world = enter(store);
    uint64_t count = 0;
    for (size_t i = 0; i < world->slot_count; i++) {
        struct memory_entry *entry = world->slots[i].entry;
        if (!entry || entry->message->place != MESSAGE_LEASED ||
            (!is_all && entry->message->lease_until_ms > now_ms)) {
            continue;
        }
        entry->message->due_ms = now_ms;
        entry->message->cause = MESSAGE_CAUSE_RETURNED;
        entry->message->lost++;
        wait_again(world, entry, now_ms);
        count++;
    }
    *ret_count = count;
    leave(world);
    return LULL_OK;
}

static int memory_find(struct store *store, uint64_t id, struct message **ret_message)
{
    struct memory_world *world = enter(store);
    const struct memory_entry *entry = memory_world_find(world, id);
    struct message *copy = entry ? message_copy(entry->message) : NULL;
    leave(world);
    if (entry && !copy) {
        return LULL_ERR_MEMORY;
    }
    *ret_message = copy;
    return LULL_OK;
}

static bool memory_has_given(struct store *store, uint64_t id)
{
    struct memory_world *world = enter(store);
    bool has_given = id != 0 && id >= world->first_id && id < world->next_id;
    leave(world);
    return has_given;
}

static int memory_list(struct store *store, const struct store_filter *filter,
                       struct message **ret_list, size_t *ret_count, uint64_t *ret_after)
{
    struct memory_world *world = enter(store);
    size_t at = filter->after != 0 ? memory_world_place(world, filter->after) : world->slot_count;
    uint32_t scanned = 0;
    uint64_t last = 0;
    size_t count = 0;
    uint64_t after = 0;
    int error = LULL_OK;
    for (; at > 0; at--) {
        const struct memory_entry *entry = world->slots[at - 1].entry;
        if (!entry || (filter->has_place && entry->message->place != filter->place)) {
            continue;
        }
        if (count == filter->limit || scanned == filter->scan) {
            after = last; /* here is one more to look at */
            break;
        }
        scanned++;
        last = entry->message->id;
        if (filter->service != 0 && entry->message->service != filter->service) {
            continue;
        }
        ret_list[count] = message_copy_without_body(entry->message);
        if (!ret_list[count]) {
            error = LULL_ERR_MEMORY;
            break;
        }
        count++;
    }
    leave(world);
    if (error != LULL_OK) {
        while (count > 0) {
            message_free(ret_list[--count]);
        }
        return error;
    }
    *ret_count = count;
    *ret_after = after;
    return LULL_OK;
}

static struct store_stats memory_stats(struct store *store)
{
    struct memory_world *world = enter(store);
    struct store_stats stats = {
        .waiting = world->places[MESSAGE_WAITING],
        .leased = world->places[MESSAGE_LEASED],
        .dead = world->places[MESSAGE_DEAD],
        .oldest_due_ms = LULL_NEVER,
    };
    uint32_t end = service_table_next(&world->services);
    for (uint32_t number = 1; number < end; number++) {
        int64_t next_ms = memory_world_next_due(world, number);
        stats.oldest_due_ms = next_ms < stats.oldest_due_ms ? next_ms : stats.oldest_due_ms;
    }
    leave(world);
    return stats;
}

#define SWEEP_HOLDS 1000

static int memory_sweep(struct store *store, int64_t now_ms)
{
    struct memory_world *world = enter(store);
    uint64_t over[SWEEP_HOLDS];
    size_t count = hold_table_find_over(&world->holds, now_ms, over, SWEEP_HOLDS);
    for (size_t i = 0; i < count; i++) {
        hold_table_set(&world->holds, over[i], 0);
    }
    key_table_sweep(&world->keys, now_ms);
    leave(world);
    return LULL_OK;
}

static const char *memory_problem(const struct store *store)
{
    (void)store;
    return "";
}

static void memory_close(struct store *store)
{
    struct memory_world *world = enter(store);
    bool is_last = --world->nodes == 0;
    leave(world);
    if (is_last) {
        memory_world_destroy(world);
    }
    free(store);
}

static const struct store_table memory_table = {
    .name = "memory",
    .apply = memory_apply,
    .service = memory_service,
    .services = memory_services,
    .reclaim = memory_reclaim,
    .find = memory_find,
    .has_given = memory_has_given,
    .list = memory_list,
    .stats = memory_stats,
    .sweep = memory_sweep,
    .problem = memory_problem,
    .close = memory_close,
};

static struct memory_store *new_node(struct memory_world *world)
{
    struct memory_store *memory = malloc(sizeof *memory);
    if (memory) {
        *memory = (struct memory_store){.store = {.table = &memory_table}, .world = world};
    }
    return memory;
}

int store_memory_open(struct store **ret_store)
{
    struct memory_world *world = memory_world_new();
    struct memory_store *memory = world ? new_node(world) : NULL;
    if (!memory) {
        if (world) {
            memory_world_destroy(world);
        }
        return LULL_ERR_MEMORY;
    }
    *ret_store = &memory->store;
    return LULL_OK;
}

int store_memory_join(struct store **ret_store, struct store *other)
{
    assert(other->table == &memory_table);
    struct memory_world *world = enter(other);
    struct memory_store *memory = new_node(world);
    if (memory) {
        world->nodes++;
        *ret_store = &memory->store;
    }
    leave(world);
    return memory ? LULL_OK : LULL_ERR_MEMORY;
}
