/*
 * model - the rules of store.h once more, in the slowest and plainest way: one array, looked
 * through from end to end. What a lease takes it does not choose, but checks that it may be taken
 * (Q5).
 */
#ifndef LULL_TESTS_STORE_MODEL_H
#define LULL_TESTS_STORE_MODEL_H

#include "suite.h"

#include "store.h"

#define MODEL_MESSAGES 4096
#define MODEL_SERVICES 2
#define MODEL_TARGETS 6 /* targets are 1 to this */
#define MODEL_KEYS 8    /* keys are one byte, from 0 on */

struct model_key {
    uint64_t id; /* 0: unknown */
    uint8_t request;
    int64_t until_ms;
};

struct model {
    struct message *messages[MODEL_MESSAGES]; /* by id */
    size_t count;
    uint64_t next_id;
    int64_t holds[MODEL_TARGETS + 1];
    struct model_key keys[MODEL_KEYS];
    struct gate gates[MODEL_SERVICES + 1];
    struct gate_use uses[MODEL_SERVICES + 1];
};

/* batch is as a store left it: fails the test if that was not what should have happened, and does
 * the same. */
void model_apply(struct model *model, const struct store_batch *batch, int64_t now_ms);
/* What is over is forgotten: it does not come back when the clock steps back. */
void model_sweep(struct model *model, int64_t now_ms);
uint64_t model_reclaim(struct model *model, int64_t now_ms, bool is_all);
struct message *model_find(const struct model *model, uint64_t id); /* its own; NULL: none */
uint64_t model_count(const struct model *model, enum message_place place);
int64_t model_next_due(const struct model *model, uint32_t service); /* 0: of any */
void model_clean_up(struct model *model);

#endif
