/*
 * delivery - the engine and a store together: batches in, one commit, batches out.
 *
 * No thread, no clock, no socket: what talks to the world is a host (struct delivery_host), which
 * is the server, or a simulated world. So the glue that must not lose anything is the same in both.
 *
 *   delivery_new -> { delivery_put, delivery_outcome, delivery_cancel ... delivery_step } ...
 *                -> delivery_destroy
 *
 * Nothing is acted on before it is committed: on_put is called and send is called only by
 * delivery_step, after the store has said that it is safe.
 */
#ifndef LULL_SERVER_DELIVERY_H
#define LULL_SERVER_DELIVERY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine.h"
#include "store.h"

struct delivery;

/* A message that is being put, from delivery_put to on_put. The caller's memory. */
struct delivery_put {
    struct store_put put; /* all but lease, lease_until_ms and is_lease_wanted, which are ours */
    struct delivery_put *next;
    void *userdata;
};

struct delivery_cancel {
    uint64_t id;
    struct delivery_cancel *next;
    void *userdata;
};

enum delivery_cancelled {
    DELIVERY_CANCELLED,      /* it is a dead letter now */
    DELIVERY_CANCELLING,     /* it is in flight: this attempt is its last */
    DELIVERY_CANCEL_LATE,    /* it is dead already, or has left */
    DELIVERY_CANCEL_UNKNOWN, /* there never was such an id */
};

struct delivery_host {
    void *userdata;

    /* A message was leased: fill in policy, kind, vendor and method. The message's userdata is the
     * host's until let_go. False: its envelope makes no sense, and it dies as poison. */
    bool (*take)(void *userdata, struct message *message, struct engine_message *ret_known);

    /* Send it; it comes back by delivery_outcome or delivery_return, later, never from inside. */
    void (*send)(void *userdata, struct message *message, const struct engine_order *order);

    /* Its target is held now, or with is_service its whole service paused: what was given to send
     * of them and has not gone out is not to; it comes back by delivery_return. NULL: nothing is
     * ever kept back. */
    void (*recall)(void *userdata, const struct message *message, bool is_service);

    /* It is settled, and about to be freed. Called for each that take was called for. */
    void (*let_go)(void *userdata, struct message *message);

    /* The put is done: LULL_OK and put->put.ret_result, or the error of store_apply. If it was put
     * and leased, the message is delivery's now; else it is the caller's again. */
    void (*on_put)(void *userdata, struct delivery_put *put, int error);

    void (*on_cancel)(void *userdata, struct delivery_cancel *cancel, enum delivery_cancelled how);

    /* An attempt has ended, and this follows from it: for logs and metrics. */
    void (*on_attempt)(void *userdata, const struct message *message,
                       const struct lull_outcome *outcome, const struct engine_order *order,
                       int64_t started_ms, int64_t now_ms);

    /* It is in the store: DONE, RETRY or DIE, with or without an attempt. is_stale: it is not,
     * since the lease was lost meanwhile. */
    void (*on_settled)(void *userdata, const struct message *message,
                       const struct engine_order *order, bool is_stale, int64_t now_ms);

    /* The operator's limits of a service, where there are any: rate_milli_per_s, burst and
     * in_flight_max of the gate. */
    void (*limit)(void *userdata, const char *name, struct gate *gate);
};

struct delivery_config {
    struct engine_config engine;
    struct delivery_host host;
    struct store *store;   /* borrowed */
    uint64_t node;         /* which no other node of this store has      default 1 */
    bool is_only_node;     /* every lease in the store is of a process that is gone
                                                                         default true */
    int64_t retry_full_ms; /* a full disk is tried again after           default 250 */
    int64_t look_ms;       /* what other nodes have put is looked for    default 1,000 */
};

void delivery_config_default(struct delivery_config *config);

/* Reclaims leases and learns of the services. LULL_ERR_RANGE, LULL_ERR_MEMORY or a store's error.
 */
int delivery_new(struct delivery **ret_delivery, const struct delivery_config *config,
                 int64_t now_ms);

/* What is in flight is forgotten, with let_go; its leases run out. NULL is fine. */
void delivery_destroy(struct delivery *delivery);

/* The number of a service, known to the engine from now on. LULL_ERR_FULL: there are too many. */
int delivery_service(struct delivery *delivery, const char *name, size_t length,
                     uint32_t *ret_number);

/* "" for a number that is not known. Lasts as long as the delivery. */
const char *delivery_service_name(const struct delivery *delivery, uint32_t number);

/* What keeps the messages of a service that are due (Q10), as far as is known here. */
enum gate_stop delivery_stop_of(const struct delivery *delivery, uint32_t number, int64_t now_ms,
                                int64_t *ret_until_ms);

/* To be done by the next delivery_step. */
void delivery_put(struct delivery *delivery, struct delivery_put *put);
void delivery_cancel(struct delivery *delivery, struct delivery_cancel *cancel);

/* The attempt of a message that host.send got has ended. */
void delivery_outcome(struct delivery *delivery, struct message *message,
                      const struct lull_outcome *outcome, int64_t now_ms);

/* Before that: it waited so long for a connection. */
void delivery_queued(struct delivery *delivery, const struct message *message, int64_t queued_ms);

/* ... or never began: it waits again, due at once, and nothing is counted. */
void delivery_return(struct delivery *delivery, struct message *message, int64_t now_ms);

/* An operator's pause of a service, or its end (until_ms 0). */
void delivery_pause(struct delivery *delivery, uint32_t service, int64_t until_ms);

/* One commit of all that came since the last, then what follows from it; again while there is more.
 * LULL_OK; STORE_ERR_DISK_FULL: puts were refused, the rest is tried again later; STORE_ERR_BROKEN
 * or LULL_ERR_MEMORY: nothing more will ever be done. */
int delivery_step(struct delivery *delivery, int64_t now_ms);

/* When to step again if nothing comes; LULL_NEVER: need not. */
int64_t delivery_wake_ms(const struct delivery *delivery);

struct engine_admission delivery_admit(struct delivery *delivery, int64_t now_ms);
void delivery_drain(struct delivery *delivery);
bool delivery_is_idle(const struct delivery *delivery); /* nothing in flight, nothing to commit */

struct delivery_stats {
    struct engine_stats engine;
    uint64_t commits;
    uint64_t lost_leases;
    bool is_disk_full;
};

struct delivery_stats delivery_stats(struct delivery *delivery, int64_t now_ms);

#endif
