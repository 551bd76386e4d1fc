/*
 * gate - what a service lets through, as data: paused until, how fast, how many at once.
 *
 * Pure. A store keeps one for each service and asks it where it leases, in the same atomic step; so
 * every node agrees, and what is not let through stays where it is and burns no attempt. Whoever
 * sets the gate does so by compare-and-set of its version.
 */
#ifndef LULL_STORE_GATE_H
#define LULL_STORE_GATE_H

#include <stdint.h>

#include "lull/bucket.h"

/* What is kept. All 0 is an open gate. */
struct gate {
    uint64_t version;          /* one more with each change; 0: never set */
    int64_t paused_until_ms;   /* wall clock; 0: not paused */
    uint64_t rate_milli_per_s; /* thousandths of a message per second; 0: any */
    uint32_t burst;            /* with a rate: at least 1 */
    uint32_t in_flight_max;    /* leased at once; 0: any */
};

/* What it has let through; not kept over a restart. All 0 to begin with. */
struct gate_use {
    struct lull_bucket bucket; /* of the gate of this version: */
    uint64_t version;
    uint32_t in_flight;
};

enum gate_stop {            /* why it let no more through */
                 GATE_OPEN, /* it did not stop anybody */
                 GATE_PAUSED,
                 GATE_RATE,
                 GATE_FULL, /* in_flight_max: wait for a settle */
};

/* How many of `wanted` may pass now, and takes them. If not all: *ret_stop says why, and
 * *ret_until_ms when to ask again; LULL_NEVER for GATE_FULL. */
uint32_t gate_pass(const struct gate *gate, struct gate_use *use, int64_t now_ms, uint32_t wanted,
                   enum gate_stop *ret_stop, int64_t *ret_until_ms);

/* So many of those that passed at this very time do not go after all. */
void gate_return(const struct gate *gate, struct gate_use *use, int64_t now_ms, uint32_t count);

/* So many of those in flight have ended. */
void gate_leave(struct gate_use *use, uint32_t count);

const char *gate_stop_to_string(enum gate_stop stop);

#endif
