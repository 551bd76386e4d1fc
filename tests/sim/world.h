/*
 * world - clocks, network, disk, clients and processes of one simulation, from one seed.
 */
#ifndef LULL_TESTS_SIM_WORLD_H
#define LULL_TESTS_SIM_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answer.h"
#include "lull/lull.h"
#include "model.h"
#include "node.h"
#include "plan.h"
#include "trace.h"

enum disk {
    DISK_GOOD,
    DISK_FULL_FOR_NEW, /* what is there can go on and leave */
    DISK_FULL,         /* nothing can be written */
};

struct world {
    struct trace trace;
    struct lull_random random;
    struct plan plan;
    struct model model;
    struct store *disk;
    enum disk disk_room;
    int64_t disk_freed_mono_ms;
    int64_t mono_ms;
    int64_t wall_ms;   /* as all machines have it */
    int64_t offset_ms; /* by which it is wrong: the services' clocks are right */
    bool is_healed;    /* no trouble any more */
    enum mood moods[PLAN_SERVICES_MAX];
    struct node nodes[PLAN_NODES_MAX];
    struct letter *letters;
    size_t letter_count;
    size_t letter_room;
    uint64_t steps;
};

struct world_result {
    bool is_good;
    uint64_t hash;
    uint64_t events;
    int64_t virtual_ms;
};

/* Prints what failed, if anything. */
struct world_result world_run(uint64_t seed, uint64_t steps, bool is_verbose, bool is_summed_up);

/* ---- for nodes and clients ---- */

/* What the network makes of a request that is sent now. */
void world_answer(struct world *world, const struct letter *letter, struct answer *ret_answer);

#endif
