/*
 * store - where messages are safe: one table of functions, and a file for each backend.
 *
 * Everything that changes goes through one verb, store_apply, which takes a whole batch and does
 * all of it or nothing (Q3): that is the group commit, one transaction in SQLite, one script in
 * Redis. When it has returned LULL_OK, what it did survives a kill -9 and, where the batch asked
 * for it, a power loss (Q1).
 *
 *   store_X_open -> { store_service ... store_apply ... store_find, store_list, store_stats ... }
 *                -> store_close
 *
 * One thread uses a store at a time. Several nodes may have the same one, if the backend can: what
 * one of them leases, no other gets until it is settled or its lease has run out.
 *
 * Within a batch the order is: settles, cancels, holds, gates, puts, leases.
 */
#ifndef LULL_STORE_STORE_H
#define LULL_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gate.h"
#include "lull/decide.h"
#include "message.h"

/* Beside LULL_OK and enum lull_error. */
enum store_error {
    STORE_ERR_DISK_FULL = -20, /* nothing was changed; it may work later */
    STORE_ERR_BROKEN = -21,    /* nothing can be done with it any more: see store_problem */
    STORE_ERR_BUSY = -22,      /* another process has it */
    STORE_ERR_FOREIGN = -23,   /* it is not ours, or of a later version: it was not touched */
};

/* ---- what a batch is made of; ret_ fields are set by store_apply, when it returns LULL_OK ---- */

/* A lease that ended. */
enum store_settle_kind {
    STORE_DONE,  /* delivered: it leaves the store, wherever it is, also if the lease is lost */
    STORE_RETRY, /* waits again, with the changing fields of *message */
    STORE_DIE,   /* a dead letter, with the changing fields of *message, reason, status, died_ms */
};

struct store_settle {
    enum store_settle_kind kind;
    const struct message *message; /* the one that was leased: id, lease, and what has changed */
    bool ret_is_stale;             /* the lease was not ours any more: nothing was done, but DONE */
};

/* A message that is not wanted any more: if it waits, it dies `cancelled`. */
struct store_cancel {
    uint64_t id;
    bool ret_is_done;
    uint32_t ret_service; /* of the one that died */
};

/* What waits for this target is not due before until_ms, nor what comes (P3); never sooner than an
 * earlier hold said. */
struct store_hold {
    uint64_t target;
    int64_t until_ms;
};

/* Sets a gate, if its version is still expected_version: gate.version is set by the store. */
struct store_set_gate {
    uint32_t service;
    uint64_t expected_version;
    struct gate gate;
    bool ret_is_set;
};

enum store_put_result {
    STORE_PUT_WAITING,   /* it is in the store */
    STORE_PUT_LEASED,    /* it is, and leased to the caller at once */
    STORE_PUT_REPEATED,  /* the same key and request as ret_id's: it was not put again (Q6) */
    STORE_PUT_UNDER_WAY, /* ... and that one is in this same batch */
    STORE_PUT_CONFLICT,  /* the same key, another request */
};

struct store_put {
    struct message *message; /* id, place, lease, lease_until_ms, due_ms and cause are set */
    bool has_key;            /* an idempotency key: */
    uint8_t key[MESSAGE_KEY_SIZE];
    uint8_t request[MESSAGE_KEY_SIZE]; /* what it is used for */
    int64_t key_until_ms;
    /* Leases it, unless it is not due, its target is held, or the gate lets nothing through. The
     * caller asks only where nothing else that is due waits for the service (Q5). */
    bool is_lease_wanted;
    uint64_t lease;
    int64_t lease_until_ms;
    enum store_put_result ret_result;
    uint64_t ret_id;       /* of the message, or of that with the same key */
    uint64_t ret_replaced; /* one that waited for the same target with the same topic, and left
                              the store (Q7); 0: none */
};

/* Claims up to max messages of a service that are due, as far as the gate lets them: the urgent
 * first, but of every 15, one of the very-low, two of the low and four of the normal if there are
 * any (Q5); of the same urgency by due_ms. */
struct store_lease {
    uint32_t service;
    uint32_t max;
    uint64_t lease;
    int64_t lease_until_ms;
    struct message **messages; /* room for max. They are the caller's: message_free */
    uint32_t ret_count;
    enum gate_stop ret_stop; /* why it was not more: OPEN: there are no more that are due */
    int64_t ret_until_ms;    /* when to ask again: the gate's answer, or when the next is due;
                                LULL_NEVER: when something comes, or is settled */
};

struct store_batch {
    struct store_settle *settles;
    size_t settle_count;
    struct store_cancel *cancels;
    size_t cancel_count;
    const struct store_hold *holds;
    size_t hold_count;
    struct store_set_gate *gates;
    size_t gate_count;
    struct store_put *puts;
    size_t put_count;
    struct store_lease *leases;
    size_t lease_count;
    bool is_durable; /* safe from a power loss when store_apply returns; else only from a kill */
};

/* ---- what can be read ---- */

struct store_service {
    uint32_t number;
    char name[256]; /* a vendor's name, or a host (P1) */
    struct gate gate;
    uint64_t waiting;
    uint64_t leased;
    int64_t next_due_ms; /* of what waits; LULL_NEVER: nothing does */
};

struct store_stats {
    uint64_t waiting;
    uint64_t leased;
    uint64_t dead;
    int64_t oldest_due_ms; /* of what waits; LULL_NEVER: nothing does */
};

struct store_filter {
    uint64_t after; /* ids from there on, in their order: newest first, below it; 0: the newest */
    bool has_place; /* only those that are there: */
    enum message_place place;
    uint32_t service; /* 0: any */
    uint32_t limit;   /* of what is found */
    uint32_t scan;    /* of what is looked at, so that no call takes long */
};

struct store;

/* ---- the verbs ---- */

/* LULL_OK, LULL_ERR_MEMORY, STORE_ERR_DISK_FULL or STORE_ERR_BROKEN. If it is not LULL_OK nothing
 * has been done, and a later call may be made with the same batch; of a batch that was cut off by a
 * crash, all was done or nothing. */
int store_apply(struct store *store, struct store_batch *batch, int64_t now_ms);

/* The number of the service of this name, from 1; a new one is kept. The same errors, and
 * LULL_ERR_RANGE for a name that is empty or too long. */
int store_service(struct store *store, const char *name, size_t length, uint32_t *ret_number);

/* Calls for each service that was ever named, in the order of their numbers. */
int store_services(struct store *store, void (*call)(void *userdata, const struct store_service *),
                   void *userdata);

/* Every lease of a holder that has run out, and with is_all those that have not: when a backend of
 * one process is opened, all are from a process that is gone. Each goes back to wait, due at once
 * (Q2), with lost one more; *ret_count says how many. */
int store_reclaim(struct store *store, int64_t now_ms, bool is_all, uint64_t *ret_count);

/* A copy, for message_free; *ret_message is NULL if there is none. */
int store_find(struct store *store, uint64_t id, struct message **ret_message);

/* Has this id ever been given out? Then one that is not there was delivered, or replaced. */
bool store_has_given(struct store *store, uint64_t id);

/* Up to filter->limit copies without their bodies. *ret_after is what to go on with; 0: that was
 * all. */
int store_list(struct store *store, const struct store_filter *filter, struct message **ret_list,
               size_t *ret_count, uint64_t *ret_after);

struct store_stats store_stats(struct store *store);

/* Forgets idempotency keys and holds that are over. A bounded piece of work. */
int store_sweep(struct store *store, int64_t now_ms);

/* After STORE_ERR_DISK_FULL, and when it has been opened: is there room for more again? LULL_OK or
 * STORE_ERR_DISK_FULL; until it is LULL_OK, a batch with puts is refused, and what is there can
 * leave as far as the store has kept room for that. */
int store_room(struct store *store);

/* Of one that is broken: a sentence, with no text of a message in it. */
const char *store_problem(const struct store *store);

void store_close(struct store *store); /* NULL is fine */

const char *store_error_to_string(int error);

/* ---- backends ---- */

struct store_opening {
    char problem[256]; /* a sentence that says what is wrong, and what would be right */
};

/* One file beside which others of the same name grow; made if it is not there. STORE_ERR_BUSY,
 * STORE_ERR_FOREIGN, STORE_ERR_BROKEN, STORE_ERR_DISK_FULL, LULL_ERR_MEMORY. opening may be NULL.
 */
int store_sqlite_open(struct store **ret_store, const char *path, struct store_opening *opening);

/* Nothing is kept. For tests and simulation; several nodes share it by store_memory_join. */
int store_memory_open(struct store **ret_store);
int store_memory_join(struct store **ret_store, struct store *other);

/* ---- for backends: the table behind all this ---- */

struct store_table {
    const char *name;
    int (*apply)(struct store *store, struct store_batch *batch, int64_t now_ms);
    int (*service)(struct store *store, const char *name, size_t length, uint32_t *ret_number);
    int (*services)(struct store *store, void (*call)(void *, const struct store_service *),
                    void *userdata);
    int (*reclaim)(struct store *store, int64_t now_ms, bool is_all, uint64_t *ret_count);
    int (*find)(struct store *store, uint64_t id, struct message **ret_message);
    bool (*has_given)(struct store *store, uint64_t id);
    int (*list)(struct store *store, const struct store_filter *filter, struct message **ret_list,
                size_t *ret_count, uint64_t *ret_after);
    struct store_stats (*stats)(struct store *store);
    int (*sweep)(struct store *store, int64_t now_ms);
    int (*room)(struct store *store); /* NULL: to be found out by writing */
    const char *(*problem)(const struct store *store);
    void (*close)(struct store *store);
};

struct store {
    const struct store_table *table;
};

#endif
