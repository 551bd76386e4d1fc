/*
 * node - one process of the server in a world: a delivery, its store, and the requests that it has
 * on the network. It can die between any two things that can be seen from outside.
 *
 *   node_start -> { node_put, node_cancel, node_answer ..., node_step } ... -> node_end
 *
 * A process that dies in the middle of a step is dead at once for the world and the model: nothing
 * that it still does is seen, and its store refuses. Its memory is freed afterwards, by node_end.
 */
#ifndef LULL_TESTS_SIM_NODE_H
#define LULL_TESTS_SIM_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answer.h"
#include "delivery.h"
#include "model.h"
#include "plan.h"
#include "steady.h"
#include "store.h"
#include "trace.h"

struct world;

/* A put from the client's hand to the answer. */
struct errand {
    struct delivery_put put;
    struct delivery_cancel cancel;
    uint32_t letter;
    struct errand *next;
};

/* On the network. */
struct request {
    struct message *message;
    struct answer answer;
    int64_t queued_ms; /* for a connection */
    int64_t goes_out_mono_ms;
    bool is_out;
    bool is_returned; /* it never went out */
    int64_t ends_mono_ms;
};

#define NODE_REQUESTS 256

struct node {
    struct world *world;
    uint32_t index;
    struct store spy; /* what delivery sees */
    struct store *inner;
    struct delivery *delivery;
    struct steady steady;
    bool is_up;
    bool is_dead; /* it died, and is to be buried */
    bool is_draining;
    uint32_t dies_in;      /* things seen from outside; 0: not now */
    int64_t until_mono_ms; /* down or frozen until then */
    bool is_frozen;
    bool has_work;          /* to be stepped now */
    int64_t steps_mono_ms;  /* ... but not before that: more may come */
    int64_t last_steady_ms; /* to check that the clock does not step */
    int64_t last_mono_ms;
    struct request requests[NODE_REQUESTS];
    size_t request_count;
    size_t taken; /* messages that delivery has and are not let go */
    struct errand *errands;
    size_t put_count;       /* of the errands */
    uint64_t steps_at_once; /* without time going on */
};

/* A new process on the store of the world. */
void node_start(struct node *node);

int64_t node_now_ms(struct node *node);

void node_put(struct node *node, const struct letter *letter);
void node_cancel(struct node *node, uint64_t id);
void node_pause(struct node *node, uint32_t service, int64_t until_ms);
void node_drain(struct node *node);

/* The requests that end by now are answered. */
void node_answer(struct node *node);
void node_step(struct node *node);

/* When it wants to be stepped, and that or when a request goes out or ends; by the monotonic clock.
 */
int64_t node_step_mono_ms(struct node *node);
int64_t node_wake_mono_ms(struct node *node);

/* It dies here; or it was drained and goes in peace. Frees it. */
void node_end(struct node *node);

#endif
