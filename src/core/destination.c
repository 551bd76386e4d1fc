/* destination - see the header. SPDX-License-Identifier: MIT */
#include "lull/destination.h"

#include "lull/error.h"

int lull_destination_table_init(struct lull_destination_table *table,
                                const struct lull_budget_config *budget,
                                const struct lull_breaker_config *breaker,
                                struct lull_destination *slots, size_t slot_count)
{
    struct lull_budget trial_budget;
    struct lull_breaker trial_breaker;
    if (slot_count == 0 || lull_budget_init(&trial_budget, budget, 0) != LULL_OK ||
        lull_breaker_init(&trial_breaker, breaker, 0) != LULL_OK) {
        return LULL_ERR_RANGE;
    }
    *table = (struct lull_destination_table){*budget, *breaker, slots, slot_count};
    return LULL_OK;
}

/* How many neighbours a key may live in. More would be a slower look-up, fewer a worse choice of
 * whom to evict. */
#define PROBES 8

struct lull_destination *lull_destination_get(struct lull_destination_table *table, uint64_t key,
                                              int64_t mono_ms)
{
    uint64_t wanted = key != 0 ? key : 1;
    size_t start = (size_t)((wanted * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % table->slot_count;
    size_t probes = table->slot_count < PROBES ? table->slot_count : PROBES;
    struct lull_destination *idlest = &table->slots[start];
    for (size_t i = 0; i < probes; i++) {
        struct lull_destination *slot = &table->slots[(start + i) % table->slot_count];
        if (slot->key == wanted) {
            slot->used_ms = mono_ms;
            return slot;
        }
        if (idlest->key != 0 && (slot->key == 0 || slot->used_ms < idlest->used_ms)) {
            idlest = slot;
        }
    }
    idlest->key = wanted;
    idlest->used_ms = mono_ms;
    idlest->latency = (struct lull_latency){0};
    /* The configs were checked by _table_init, so these cannot fail. */
    (void)lull_budget_init(&idlest->budget, &table->budget, mono_ms);
    (void)lull_breaker_init(&idlest->breaker, &table->breaker, mono_ms);
    return idlest;
}
