/*
 * model - what must be true of a queue, worked out from the requirements alone.
 *
 * It is told of everything that passes between the parts of a world: what clients asked and were
 * answered, each batch that the store took, each request that went out and what came back, and
 * which processes died. From that it knows where every message has to be, and for each thing that
 * happens whether it was allowed. It shares no code with engine and store, and asks them nothing
 * but where a message is, to compare.
 *
 *   model.c          the records; crashes, comparing with the store, the end
 *   model_client.c   what clients may be told (Q1, Q3, Q6, G6)
 *   model_batch.c    what a commit may do (Q1, Q3, Q6, Q7, P3, P5)
 *   model_lease.c    whom a lease may take: due, held, paused, rate, in flight, order (Q2, Q5)
 *   model_verdict.c  what may follow from an outcome (A, B, C, D1, T2)
 *   model_flight.c   what may be sent, and when (A3, T2, Q8, C12)
 */
#ifndef LULL_TESTS_SIM_MODEL_H
#define LULL_TESTS_SIM_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answer.h"
#include "delivery.h"
#include "plan.h"
#include "store.h"
#include "trace.h"

/* What a client wants to have delivered. */
struct letter {
    uint32_t number; /* its place in the client's list */
    uint32_t target;
    uint32_t service;
    uint32_t policy;
    uint8_t kind;
    uint8_t urgency;
    uint64_t topic;
    int64_t accepted_ms;
    int64_t ttl_ms;
    int64_t due_ms;
    bool has_key;
    uint32_t key;     /* which of the client's keys */
    uint32_t request; /* what it is used for */
    bool is_killer;
    bool is_garbled;
    bool is_acknowledged; /* the client was given an id: */
    uint64_t id;
    bool is_given_up; /* the client was told no */
};

enum fate {
    FATE_WAITING,
    FATE_LEASED,
    FATE_DEAD,
    FATE_DELIVERED,
    FATE_REPLACED,
};

/* One message that the store has taken. */
struct record {
    uint64_t id;
    uint32_t letter;
    enum fate fate;
    int64_t due_ms;
    int64_t held_ms;       /* by its target, as its lease was lost */
    int64_t not_before_ms; /* what its own answers asked for (A3) */
    uint32_t attempts;
    uint32_t auth_retries;
    uint32_t lost;
    bool is_fresh_token_due; /* its last outcome was AUTH_SUSPECT (C8) */
    uint64_t lease;
    int64_t lease_until_ms;
    uint32_t node;
    uint8_t reason;
    uint16_t status;
    uint32_t processed;       /* how often the target acted on it: */
    uint32_t unexcused;       /* so often without an excuse for doing it again (C12) */
    int64_t could_go_mono_ms; /* since when it could be sent; 0: it could not */
    uint64_t back;            /* the batch in which it came to wait again */
    uint64_t checked;         /* the batch in which it was compared with the store */
};

/* A leased message in the hands of one process. */
struct flight {
    uint64_t id;
    uint64_t lease;
    uint32_t node;
    int64_t leased_ms;
    bool is_taken;
    bool is_sent;
    bool is_processed; /* and not excused yet */
    bool is_returned;
    bool is_cancelling;
    bool has_answer;
    struct answer answer;
    int64_t told_ms; /* by the sender's clock */
    int64_t asked_ms;
};

struct model_service {
    uint32_t number; /* in the store; 0: not named yet */
    struct gate gate;
    int64_t paused_until_ms; /* what answers and operator ask for (P4) */
    int64_t tokens_micro;    /* of its rate */
    int64_t tokens_at_ms;
    uint32_t passed_over[MESSAGE_URGENCIES]; /* leases since one of these was due and not taken */
    int32_t credit[MESSAGE_URGENCIES];       /* fifteenths of a lease before a more urgent one */
};

struct model_key {
    bool is_set;
    bool is_swept; /* it was over by one node's clock, and may be forgotten */
    uint64_t id;
    uint32_t request;
    int64_t until_ms;
    uint64_t batch; /* that brought it */
};

#define MODEL_KEYS 64
#define MODEL_FLIGHTS 1024

struct model {
    struct trace *trace;
    const struct plan *plan;
    const struct letter *letters; /* the client's: may move */
    struct store *store;          /* to compare with */
    bool is_clock_steady;         /* this world's clock never steps */

    struct record *records; /* in the order of their ids */
    size_t record_count;
    size_t record_room;
    size_t *live; /* those that wait or are leased: indices */
    size_t live_count;

    struct flight flights[MODEL_FLIGHTS];
    size_t flight_count;
    struct model_service services[PLAN_SERVICES_MAX];
    int64_t required_hold_ms[PLAN_TARGETS_MAX]; /* by what the targets answered */
    int64_t hold_ms[PLAN_TARGETS_MAX];          /* by what the store was told */
    int64_t swept_hold_ms[PLAN_TARGETS_MAX];    /* over by one node's clock, and may be forgotten */
    struct model_key keys[MODEL_KEYS];
    int64_t heard_hold_ms[PLAN_NODES_MAX][PLAN_TARGETS_MAX]; /* told to that very process */
    int64_t heard_pause_ms[PLAN_NODES_MAX][PLAN_SERVICES_MAX];
    bool is_draining[PLAN_NODES_MAX];
    bool is_operator_pause_due[PLAN_NODES_MAX][PLAN_SERVICES_MAX];
    int64_t operator_pause_ms[PLAN_NODES_MAX][PLAN_SERVICES_MAX];
    uint64_t batch; /* number of the present one */

    struct {
        uint64_t accepted, repeated, replaced, delivered, attempts, retries, lost, crashes;
        uint64_t fast; /* leased as they were put */
        uint64_t leased;
        uint64_t duplicates; /* with an excuse */
        uint64_t dead[LULL_REASONS];
    } totals;
};

bool model_init(struct model *model, struct trace *trace, const struct plan *plan);
void model_clean_up(struct model *model);

/* ---- what the world tells ---- */

void model_on_service(struct model *model, uint32_t service, uint32_t number);
void model_on_apply(struct model *model, uint32_t node, const struct store_batch *batch,
                    int64_t now_ms);
void model_on_reclaim(struct model *model, int64_t now_ms, bool is_all, uint64_t count);
void model_on_sweep(struct model *model, int64_t now_ms);
void model_on_crash(struct model *model, uint32_t node);
void model_on_drain(struct model *model, uint32_t node);
void model_on_operator_pause(struct model *model, uint32_t node, uint32_t service,
                             int64_t until_ms);

void model_on_take(struct model *model, uint32_t node, const struct message *message);
void model_on_send(struct model *model, uint32_t node, const struct message *message,
                   const struct engine_order *order, const struct answer *answer, int64_t now_ms);
/* The process hears of it now; of one that was lost with its lease, too. */
void model_on_answer(struct model *model, uint32_t node, const struct message *message,
                     int64_t now_ms);
/* It goes out to the network; or it was called back before. */
void model_on_out(struct model *model, uint32_t node, const struct message *message,
                  int64_t now_ms);
void model_on_recalled(struct model *model, uint32_t node, const struct message *message);
void model_on_return(struct model *model, uint32_t node, const struct message *message);

void model_on_put(struct model *model, const struct letter *letter, const struct store_put *put,
                  int error);
void model_on_cancel(struct model *model, uint32_t node, uint64_t id, enum delivery_cancelled how);
void model_on_admission(struct model *model, uint32_t node, struct engine_admission admission,
                        size_t underway);

/* A step of that node has ended; error is what it returned. */
void model_after_step(struct model *model, uint32_t node, struct delivery *delivery, int error,
                      int64_t now_ms);

/* Everything against the store. */
void model_compare_all(struct model *model);

/* After all trouble, when nothing is left to do. */
void model_at_end(struct model *model);

/* ---- for its own files ---- */

struct record *model_find(struct model *model, uint64_t id); /* NULL: there never was one */
const struct letter *model_letter(const struct model *model, const struct record *record);
struct flight *model_flight(struct model *model, uint32_t node, uint64_t id, uint64_t lease);
void model_end_flight(struct model *model, struct flight *flight);
void model_set_fate(struct model *model, struct record *record, enum fate fate);
void model_compare(struct model *model, struct record *record);
bool model_is_expired(const struct letter *letter, uint32_t attempts, int64_t now_ms);
int64_t model_held_until_ms(const struct model *model, const struct record *record, int64_t now_ms);
int64_t model_remaining_ms(const struct letter *letter, int64_t now_ms);
uint32_t model_service_of(const struct model *model, uint32_t number); /* its index */

/* A put or lease of it was granted. */
void model_grant(struct model *model, struct record *record, uint32_t node, uint64_t lease,
                 int64_t lease_until_ms, bool is_put, int64_t now_ms);
void model_check_lease(struct model *model, uint32_t node, const struct store_lease *lease,
                       int64_t now_ms);

/* May this settle follow from what its flight has seen? */
void model_check_verdict(struct model *model, const struct record *record,
                         const struct flight *flight, const struct store_settle *settle,
                         int64_t now_ms);

/* What a refusal asks of a target or its whole service, at least (A3, A5, P3, P4). */
struct model_refusal {
    bool is_one;
    bool is_sender_wide;
    int64_t wait_ms;
};
struct model_refusal model_refusal(const struct model *model, const struct letter *letter,
                                   const struct flight *flight);

static inline int64_t later_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t sooner_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

#endif
