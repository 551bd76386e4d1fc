/*
 * plan - what one world is like, drawn from its seed.
 *
 * Not every world has every kind of trouble: each kind is there or not, so that some seeds meet two
 * kinds alone, which in a world of all of them would drown.
 */
#ifndef LULL_TESTS_SIM_PLAN_H
#define LULL_TESTS_SIM_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "faulty.h"
#include "gate.h"
#include "lull/lull.h"

#define PLAN_SERVICES_MAX 6
#define PLAN_TARGETS_MAX 40
#define PLAN_POLICIES 4
#define PLAN_NODES_MAX 2

struct plan_service {
    const char *name;
    enum lull_vendor vendor;
    bool is_webhook;  /* its messages are webhooks, not pushes */
    struct gate gate; /* what its operator has set, from the start: rate and in flight */
};

struct plan_target {
    uint64_t hash;
    uint32_t service; /* index */
};

struct plan {
    uint32_t node_count;
    uint32_t service_count;
    struct plan_service services[PLAN_SERVICES_MAX];
    uint32_t target_count;
    struct plan_target targets[PLAN_TARGETS_MAX];
    struct lull_policy policies[PLAN_POLICIES];

    uint32_t in_flight_max;
    uint32_t in_flight_per_service_max;
    uint32_t in_flight_start;
    uint32_t lease_max;
    int64_t lease_ms;
    uint32_t poison_after;
    uint64_t waiting_soft_max;
    uint64_t waiting_hard_max;
    int64_t key_ms;     /* how long an idempotency key counts */
    int64_t timeout_ms; /* of a request; shorter than a lease */

    /* Trouble: how many of a thousand steps bring it; 0: this world does not know it. */
    uint32_t crashes;
    uint32_t freezes;
    uint32_t clock_steps;
    uint32_t full_disks;
    uint32_t drains;
    uint32_t pauses;
    uint32_t cancels;
    uint32_t killers;                /* of a thousand messages: they take their process down (Q8) */
    uint32_t garbled;                /* of a thousand messages: an envelope that makes no sense */
    uint32_t queues;                 /* of a thousand sends: they wait for a connection */
    uint32_t returns;                /* of a thousand sends: they come back unsent */
    struct faulty_plan store_faults; /* a disk that is full for a few calls, a store that breaks */
    uint32_t storms;                 /* how often a service changes its mood */
    uint32_t busy_gap_ms;            /* between two things that happen, at most */
    uint32_t batch_ms;               /* what comes within that time is done in one step, at most */
};

void plan_draw(struct plan *plan, struct lull_random *random);
void plan_print(const struct plan *plan); /* to stdout */

static inline bool chance(struct lull_random *random, uint32_t of_a_thousand)
{
    return lull_random_between(random, 0, 999) < (int64_t)of_a_thousand;
}

static inline uint32_t any_of(struct lull_random *random, uint32_t count)
{
    return (uint32_t)lull_random_between(random, 0, (int64_t)count - 1);
}

#endif
