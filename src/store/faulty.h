/*
 * faulty - a store around another one that goes wrong by plan: for tests and for simulation.
 *
 * All chance comes from the seed, and there is no clock: the same calls meet the same faults.
 *
 *   store_faulty_open -> store_apply ... faulty_is_cut -> faulty_restart -> ... -> store_close
 *
 * A cut is the process dying in the middle of store_apply: the batch was done as a whole or not at
 * all, and nobody will ever tell which. The caller sees STORE_ERR_BROKEN, from then on in each
 * call, until faulty_restart is what opening the store again would be. Of what a cut batch did,
 * nothing is handed out.
 */
#ifndef LULL_STORE_FAULTY_H
#define LULL_STORE_FAULTY_H

#include "store.h"

struct faulty_plan { /* chances of one store_apply, in millionths; all 0: nothing ever goes wrong */
    uint32_t disk_full;
    uint32_t disk_full_length; /* how many calls it lasts, from 1 on; 0 is 1 */
    uint32_t broken;
    uint32_t cut;
};

/* Owns the other one: store_close closes both. LULL_ERR_MEMORY: it is still the caller's. */
int store_faulty_open(struct store **ret_store, struct store *inner, uint64_t seed,
                      const struct faulty_plan *plan);

/* From now on; a disk that is full is so no more. */
void faulty_set_plan(struct store *store, const struct faulty_plan *plan);

/* Was it cut, and not restarted yet? */
bool faulty_is_cut(const struct store *store);

/* After a cut or when it was broken: as if it had been opened again. */
void faulty_restart(struct store *store);

#endif
