/*
 * delivery_parts - what delivery.c is made of, beside the engine and the store: the flights, the
 * services with the gates that are wanted for them, and the memory of a batch.
 */
#ifndef LULL_SERVER_DELIVERY_PARTS_H
#define LULL_SERVER_DELIVERY_PARTS_H

#include "delivery.h"
#include "number_table.h"

#define BATCH_PUTS_MAX 2000
#define BATCH_LEASES_MAX 64
#define BATCH_CANCELS_MAX 256
#define BATCH_GATES_MAX 64

/* A message in flight, from its lease until what became of it is in the store. */
struct flight {
    struct message *message; /* NULL: this place is idle */
    struct engine_message known;
    struct engine_order order;
    struct flight *next; /* of those whose order is to be written down */
    int64_t started_ms;
    bool is_out; /* with the host */
};

struct batch_room {
    struct store_settle *settles; /* for as many as may be in flight */
    struct store_hold *holds;
    struct store_put *puts;
    struct store_lease *leases;
    struct store_cancel *cancels;
    struct store_set_gate *gates;
};

bool batch_room_init(struct batch_room *room, uint32_t in_flight_max);
void batch_room_clean_up(struct batch_room *room);

/* What is known of a service here, and what its gate is to become. */
struct service_gate {
    uint32_t number;
    char name[256];
    struct gate gate; /* as the store has it */
    struct gate wanted;
    bool is_wanted;           /* there is a change to be made */
    bool is_by_operator;      /* ... of its pause, which may make it shorter */
    int64_t asked_ms;         /* ... the pause that 429s ask for */
    enum gate_stop last_stop; /* of its last lease, until: */
    int64_t last_until_ms;
    struct service_gate *next_wanted;
};

/* Pointers stay good: each is a piece of memory of its own. */
struct service_gates {
    struct service_gate **list; /* by number - 1 */
    size_t size;
    struct service_gate *wanted;
    bool is_shared;      /* other nodes set the same gates */
    char last_name[256]; /* the one that was asked for last */
    size_t last_length;
    uint32_t last_number;
};

struct delivery {
    struct delivery_config config;
    struct engine *engine;
    struct store *store;
    struct flight *flights;
    uint32_t *idle; /* places of flights */
    uint32_t idle_count;
    struct number_table by_id; /* ids to places of flights */
    struct message **leased;   /* room for what a batch leases */
    struct flight *settling;
    struct flight *settling_last;
    struct delivery_put *putting;
    struct delivery_put *putting_last;
    struct delivery_cancel *cancelling;
    struct delivery_cancel *cancelling_last;
    struct batch_room room;
    struct service_gates services;
    uint64_t lease; /* the last one given */
    uint64_t commits;
    uint64_t lost_leases;
    bool is_crowded;       /* there are services that the engine had no place for */
    bool is_miscounted;    /* of what waits: the store has to be asked */
    bool is_full;          /* the disk is: nothing new is taken */
    int64_t room_ms;       /* when to ask the store for room again, if it is */
    int64_t full_until_ms; /* there was not even room for what is there */
    int64_t reclaim_ms;
    int64_t sweep_ms;
    int64_t look_ms;
};

/* ---- flights ---- */

struct flight *flight_find(const struct delivery *delivery, uint64_t id); /* NULL: none */

/* A message that was leased goes to the host, or dies at the door: then that is written down by the
 * next batch. */
void flight_launch(struct delivery *delivery, struct message *message, int64_t now_ms);

/* It is settled: the message is freed. */
void flight_end(struct delivery *delivery, struct flight *flight);

/* ---- a batch ---- */

/* All that came in since the last one, and leases for what is due. False: there is nothing. */
bool batch_gather(struct delivery *delivery, struct store_batch *batch, int64_t now_ms);

/* It is in the store: the engine and the host are told. */
void batch_follow(struct delivery *delivery, const struct store_batch *batch, int64_t now_ms);

/* It is not: its puts are refused, its settles stay for the next one. */
void batch_take_back(struct delivery *delivery, const struct store_batch *batch, int error,
                     int64_t now_ms);
void batch_refuse_puts(struct delivery *delivery, size_t count, int error, int64_t now_ms);

/* ---- services ---- */

void services_clean_up(struct service_gates *services);

/* By its name, known to the engine from then on. */
int services_number(struct delivery *delivery, const char *name, size_t length,
                    uint32_t *ret_number);

/* Reads all from the store: what waits, what is due, the gates. */
int services_look(struct delivery *delivery, int64_t now_ms);

/* Until then nothing is to be leased. is_final: also if that is sooner than now (an operator's).
 * Returns until when that makes it. */
int64_t services_want_pause(struct service_gates *services, uint32_t number, int64_t until_ms,
                            bool is_final);
bool services_has_wish(const struct service_gates *services);

/* The changes that are wanted, up to max; and, when they are in the store, what follows. */
size_t services_gather(struct service_gates *services, struct store_set_gate *gates, size_t max);
void services_follow(struct delivery *delivery, const struct store_batch *batch, int64_t now_ms);

/* What the last lease came to. */
void services_note(struct service_gates *services, const struct store_lease *lease);

#endif
