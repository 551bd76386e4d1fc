/*
 * engine - the delivery state machine: what happened comes in, what is to be done goes out.
 *
 * Pure: no clock, no I/O, no store, no memory but what engine_new took. It knows services by number
 * and of each how many messages wait, when the next is due and how many are in flight; of a message
 * it is told what it has to know. A million waiting messages cost it nothing.
 *
 *                     engine_may_go            engine_next_lease
 *   accepted ──► put ─────────────► leased ◄──────────────────── waiting ◄─┐
 *                 └───────────────────│───────────────────────────►        │
 *                    engine_before_send, send, engine_on_outcome           │
 *                                     ├─► DONE                             │
 *                                     ├─► DIE, with a reason (D1)          │
 *                                     └─► RETRY at due_ms (B7) ────────────┘
 *
 * Each function is one event; the order (struct engine_order) says what is to be written down, and
 * only when that is safe the engine is told of it: engine_on_put, engine_on_leased,
 * engine_on_settled.
 *
 * now_ms is a wall clock that does not step (src/server/steady.h).
 */
#ifndef LULL_ENGINE_ENGINE_H
#define LULL_ENGINE_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/decide.h"
#include "lull/outcome.h"
#include "lull/policy.h"

struct engine_config {
    uint32_t services_max;              /* known at once                         default 16,384 */
    uint32_t in_flight_max;             /* over all services                     default 8,000 */
    uint32_t in_flight_per_service_max; /* so that one that hangs leaves room    default 2,000 */
    uint32_t in_flight_start;           /* of a service, until it is known how many
                                           keep its connections busy             default 16 */
    uint32_t lease_max;                 /* messages claimed in one go            default 500 */
    int64_t lease_ms;                   /* longer than any request takes (Q2)    default 120,000 */
    uint32_t poison_after;              /* leases lost in a row (Q8)             default 10 */
    uint64_t waiting_soft_max; /* over it new work is throttled (G6)    default 5,000,000 */
    uint64_t waiting_hard_max; /* over it refused                       default 6,000,000 */
    uint64_t seed;             /*                                       default 1 */
};

void engine_config_default(struct engine_config *config);

struct engine;

/* LULL_ERR_RANGE: a number that is 0, a soft limit over the hard one; LULL_ERR_MEMORY. */
int engine_new(struct engine **ret_engine, const struct engine_config *config, int64_t now_ms);
void engine_destroy(struct engine *engine); /* NULL is fine */

/* ---- services ---- */

/* Tells of a service, once: those of the store at the start, and each new one before its first
 * message. LULL_ERR_FULL: services_max are known, and none of them is idle. */
int engine_add_service(struct engine *engine, uint32_t number, uint64_t waiting,
                       int64_t next_due_ms);
bool engine_knows(const struct engine *engine, uint32_t number);

/* What the store says of one that is known, where others put into it and lease from it, too. */
void engine_on_count(struct engine *engine, uint32_t number, uint64_t waiting, int64_t next_due_ms);

/* Leases none of its messages before until_ms: the gate says so anyway, this saves the asking. */
void engine_on_gate(struct engine *engine, uint32_t number, int64_t until_ms);

/* ---- new messages ---- */

enum engine_admission_kind {
    ENGINE_ADMITTED,
    ENGINE_THROTTLED, /* 429: too many wait */
    ENGINE_REFUSED,   /* 503: far too many wait, or it is draining */
};

struct engine_admission {
    enum engine_admission_kind kind;
    int64_t retry_after_s; /* from the rate at which messages leave: when there will be room */
};

struct engine_admission engine_admit(struct engine *engine, int64_t now_ms);

/* May this one be leased as it is put? Reserves its place in flight, until engine_on_put. */
bool engine_may_go(struct engine *engine, uint32_t number, int64_t due_ms, int64_t now_ms);

/* It is in the store. is_leased is only ever true after may_go was; not put at all: is_put false.
 */
void engine_on_put(struct engine *engine, uint32_t number, bool may_go, bool is_put, bool is_leased,
                   int64_t due_ms, int64_t now_ms);

/* One that waited has left otherwise: cancelled, or replaced (Q7). */
void engine_on_removed(struct engine *engine, uint32_t number);

/* ---- leasing ---- */

/* The next service to lease from now, and how many; reserves their places until engine_on_leased.
 * Services take turns. False: none. */
bool engine_next_lease(struct engine *engine, int64_t now_ms, uint32_t *ret_number,
                       uint32_t *ret_max);

/* The store gave so many of max. has_more: others are due, which it did not give (its gate closed,
 * or max was reached); it may be asked again at until_ms. Else that is when the next is due.
 * LULL_NEVER: when something changes. */
void engine_on_leased(struct engine *engine, uint32_t number, uint32_t max, uint32_t count,
                      bool has_more, int64_t until_ms, int64_t now_ms);

/* ---- messages in flight ---- */

/* What it has to know of one. */
struct engine_message {
    const struct lull_policy *policy;
    enum lull_kind kind;
    enum lull_vendor vendor;
    enum lull_method method;
    uint32_t service;
    uint32_t attempts; /* that ended before */
    uint32_t auth_retries;
    uint32_t lost;
    int64_t accepted_ms;
    int64_t ttl_ms;
    int64_t previous_delay_ms;
    bool is_cancelled; /* somebody asked, while it was in flight */
};

enum engine_order_kind {
    ENGINE_SEND,
    ENGINE_DONE,
    ENGINE_RETRY,
    ENGINE_DIE,
};

struct engine_order {
    enum engine_order_kind kind;
    enum lull_reason reason;     /* RETRY, DIE: why */
    struct lull_verdict verdict; /* in full: for logs, metrics and the history */
    int64_t remaining_ms;        /* SEND: of the TTL (T3) */
    bool is_token_doubted;       /* SEND: sign anew (C8) */
    int64_t due_ms;              /* RETRY */
    bool is_asked_for;           /* RETRY: the wait is the service's Retry-After, not ours */
    uint32_t attempts;           /* RETRY, DIE: what they are now */
    uint32_t auth_retries;
    int64_t hold_until_ms;  /* this target waits until then; 0: it need not (P3) */
    int64_t pause_until_ms; /* its whole service does; 0: it need not (P4) */
};

/* It is leased: SEND, or DIE (its TTL is over, it was cancelled, it is poison). */
void engine_before_send(struct engine *engine, int64_t now_ms, const struct engine_message *message,
                        struct engine_order *ret_order);

/* What its attempt came to: DONE, RETRY or DIE. */
void engine_on_outcome(struct engine *engine, int64_t now_ms, const struct engine_message *message,
                       const struct lull_outcome *outcome, struct engine_order *ret_order);

/* It waited so long for a connection: what is known from this is how many to have in flight. */
void engine_on_queued(struct engine *engine, uint32_t number, int64_t queued_ms);

/* What an order said is in the store: DONE, RETRY (due_ms) or DIE; SEND: nothing was written, since
 * its lease was lost. Gives back the place in flight. */
void engine_on_settled(struct engine *engine, uint32_t number, enum engine_order_kind kind,
                       int64_t due_ms, int64_t now_ms);

/* ---- and else ---- */

/* From now on nothing new is leased or admitted; what is in flight ends. */
void engine_drain(struct engine *engine);

/* Could one more message of this service be in flight, as far as the engine's own limits go? */
bool engine_has_room(const struct engine *engine, uint32_t number);

/* When engine_next_lease will have something, if nothing happens before; LULL_NEVER: not at all. */
int64_t engine_wake_ms(const struct engine *engine);

struct engine_stats {
    uint64_t waiting;
    uint32_t in_flight;
    uint32_t services;
    uint64_t leaving_milli_per_s; /* messages that were delivered or died, over the last minute */
};

struct engine_stats engine_stats(struct engine *engine, int64_t now_ms);

#endif
