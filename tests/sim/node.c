/* node - see the header. SPDX-License-Identifier: MIT */
#include "node.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "faulty.h"
#include "node_parts.h"
#include "spy.h"
#include "world.h"

/* ---- life and death ---- */

/* Something that can be seen from outside. False: it is dead, and this is not seen any more. */
bool node_goes_on(struct node *node)
{
    if (node->is_dead) {
        return false;
    }
    if (node->dies_in > 0 && --node->dies_in == 0) {
        node->is_dead = true;
        trace_event(&node->world->trace, "node %" PRIu32 " dies", node->index);
        model_on_crash(&node->world->model, node->index);
        return false;
    }
    return true;
}

int64_t node_now_ms(struct node *node)
{
    const struct world *world = node->world;
    int64_t now_ms = steady_now_ms(&node->steady, world->wall_ms, world->mono_ms);
    int64_t gone_ms = now_ms - node->last_steady_ms;
    int64_t mono_ms = world->mono_ms - node->last_mono_ms;
    /* T4: no step; at most a tenth slower, and faster by hardly anything, since waits must not
     * get shorter by it (A3) */
    must(&node->world->trace, gone_ms >= mono_ms - mono_ms / 10 - 1 && gone_ms >= 0, "T4",
         "the clock went on by %" PRId64 " ms in %" PRId64, gone_ms, mono_ms);
    must(&node->world->trace, gone_ms <= mono_ms + mono_ms / 1000 + 1, "T4",
         "the clock went on by %" PRId64 " ms in %" PRId64, gone_ms, mono_ms);
    must(&node->world->trace, world->plan.clock_steps > 0 || now_ms == world->wall_ms, "T4",
         "the clock is off by %" PRId64 " ms, and nobody set it", now_ms - world->wall_ms);
    node->last_steady_ms = now_ms;
    node->last_mono_ms = world->mono_ms;
    return now_ms;
}

/* ---- beginning and end ---- */

static void configure(struct node *node, struct delivery_config *config)
{
    struct world *world = node->world;
    const struct plan *plan = &world->plan;
    delivery_config_default(config);
    config->store = &node->spy;
    config->node = node->index + 1;
    config->is_only_node = plan->node_count == 1;
    config->engine.in_flight_max = plan->in_flight_max;
    config->engine.in_flight_per_service_max = plan->in_flight_per_service_max;
    config->engine.in_flight_start = plan->in_flight_start;
    config->engine.lease_max = plan->lease_max;
    config->engine.lease_ms = plan->lease_ms;
    config->engine.poison_after = plan->poison_after;
    config->engine.waiting_soft_max = plan->waiting_soft_max;
    config->engine.waiting_hard_max = plan->waiting_hard_max;
    config->engine.seed = lull_random_next(&world->random);
    node_host(node, &config->host);
}

static bool open_store(struct node *node)
{
    struct world *world = node->world;
    const struct faulty_plan sound = {.disk_full = 0};
    struct store *shared = NULL;
    if (store_memory_join(&shared, world->disk) != LULL_OK) {
        return false;
    }
    if (store_faulty_open(&node->inner, shared, lull_random_next(&world->random),
                          world->is_healed ? &sound : &world->plan.store_faults) != LULL_OK) {
        store_close(shared);
        return false;
    }
    return true;
}

void node_start(struct node *node)
{
    struct world *world = node->world;
    trace_event(&world->trace, "node %" PRIu32 " starts", node->index);
    if (!open_store(node)) {
        trace_fail(&world->trace, "memory", "the store cannot be joined");
        return;
    }
    spy_init(node);
    steady_init(&node->steady, world->wall_ms, world->mono_ms);
    node->last_steady_ms = world->wall_ms;
    node->last_mono_ms = world->mono_ms;
    node->is_up = true;
    node->is_dead = node->is_frozen = node->is_draining = false;
    node->dies_in = 0;
    node->has_work = true;
    node->request_count = 0;
    struct delivery_config config;
    configure(node, &config);
    int error = delivery_new(&node->delivery, &config, node_now_ms(node));
    must(&world->trace, error == LULL_OK, "Q1", "a node cannot start: %s",
         store_error_to_string(error));
    for (uint32_t i = 0; i < world->plan.service_count && error == LULL_OK; i++) {
        const char *name = world->plan.services[i].name;
        uint32_t number = 0;
        error = delivery_service(node->delivery, name, strlen(name), &number);
        must(&world->trace, error == LULL_OK, "P1", "a service cannot be named: %s",
             store_error_to_string(error));
        model_on_service(&world->model, i, number);
    }
}

void node_end(struct node *node)
{
    if (!node->is_dead) {
        node->is_dead = true;
        model_on_crash(&node->world->model, node->index);
    }
    delivery_destroy(node->delivery);
    node->delivery = NULL;
    must(&node->world->trace, node->taken == 0, "memory", "%zu messages were not let go",
         node->taken);
    node->taken = 0;
    while (node->errands) {
        struct errand *errand = node->errands;
        node->errands = errand->next;
        message_free(errand->put.put.message);
        free(errand);
    }
    node->put_count = 0;
    node->request_count = 0;
    store_close(node->inner);
    node->inner = NULL;
    node->is_up = node->is_dead = false;
}

/* ---- what is asked of it ---- */

static struct errand *new_errand(struct node *node)
{
    struct errand *errand = calloc(1, sizeof *errand);
    if (!errand) {
        trace_fail(&node->world->trace, "memory", "there is none");
        return NULL;
    }
    errand->put.userdata = errand;
    errand->cancel.userdata = errand;
    errand->next = node->errands;
    node->errands = errand;
    node->has_work = true;
    return errand;
}

static void fill_key(uint8_t *key, uint32_t number, uint8_t salt)
{
    memset(key, salt, MESSAGE_KEY_SIZE);
    memcpy(key, &number, sizeof number);
}

void node_put(struct node *node, const struct letter *letter)
{
    const struct plan *plan = &node->world->plan;
    const struct model_service *service = &node->world->model.services[letter->service];
    struct message *message = message_new(sizeof letter->number, sizeof letter->number, 0);
    struct errand *errand = new_errand(node);
    if (!message || !errand) {
        message_free(message);
        return;
    }
    uint32_t body = ~letter->number;
    memcpy((void *)message->envelope.data, &letter->number, sizeof letter->number);
    memcpy((void *)message->body.data, &body, sizeof body);
    message->service = service->number;
    message->target = plan->targets[letter->target].hash;
    message->topic = letter->topic;
    message->kind = letter->kind;
    message->urgency = letter->urgency;
    message->accepted_ms = letter->accepted_ms;
    message->ttl_ms = letter->ttl_ms;
    message->due_ms = letter->due_ms;
    message->cause =
        letter->due_ms > node->last_steady_ms ? MESSAGE_CAUSE_DELAYED : MESSAGE_CAUSE_NEW;
    errand->letter = letter->number;
    errand->put.put.message = message;
    errand->put.put.has_key = letter->has_key;
    fill_key(errand->put.put.key, letter->key, 1);
    fill_key(errand->put.put.request, letter->request, 2);
    errand->put.put.key_until_ms = node->last_steady_ms + plan->key_ms;
    node->put_count++;
    delivery_put(node->delivery, &errand->put);
}

void node_cancel(struct node *node, uint64_t id)
{
    struct errand *errand = new_errand(node);
    if (errand) {
        errand->cancel.id = id;
        trace_event(&node->world->trace, "node %" PRIu32 " cancel %" PRIu64, node->index, id);
        delivery_cancel(node->delivery, &errand->cancel);
    }
}

void node_pause(struct node *node, uint32_t service, int64_t until_ms)
{
    struct world *world = node->world;
    trace_event(&world->trace, "node %" PRIu32 " pauses service %" PRIu32 " until %" PRId64,
                node->index, service, until_ms);
    model_on_operator_pause(&world->model, node->index, service, until_ms);
    delivery_pause(node->delivery, world->model.services[service].number, until_ms);
    node->has_work = true;
}

void node_drain(struct node *node)
{
    trace_event(&node->world->trace, "node %" PRIu32 " drains", node->index);
    node->is_draining = true;
    node->has_work = true;
    model_on_drain(&node->world->model, node->index);
    delivery_drain(node->delivery);
}

/* ---- going on ---- */

void node_answer(struct node *node)
{
    struct world *world = node->world;
    int64_t now_ms = node_now_ms(node);
    for (size_t i = 0; i < node->request_count; i++) {
        struct request *request = &node->requests[i];
        if (!request->is_out && !request->is_returned &&
            request->goes_out_mono_ms <= world->mono_ms) {
            node_go_out(node, request);
        }
    }
    for (size_t i = 0; i < node->request_count && !world->trace.has_failed; i++) {
        struct request request = node->requests[i];
        if (request.ends_mono_ms > world->mono_ms) {
            continue;
        }
        node->requests[i--] = node->requests[--node->request_count];
        node->has_work = true;
        if (request.is_returned) {
            model_on_return(&world->model, node->index, request.message);
            delivery_return(node->delivery, request.message, now_ms);
        } else {
            model_on_answer(&world->model, node->index, request.message, now_ms);
            delivery_outcome(node->delivery, request.message, answer_outcome(&request.answer),
                             now_ms);
        }
    }
}

void node_step(struct node *node)
{
    struct world *world = node->world;
    int64_t now_ms = node_now_ms(node);
    node->has_work = false;
    node->steps_mono_ms = world->mono_ms;
    if (world->plan.batch_ms > 0) {
        node->steps_mono_ms += lull_random_between(&world->random, 0, world->plan.batch_ms);
    }
    int error = delivery_step(node->delivery, now_ms);
    if (node->is_dead) {
        return;
    }
    if (error == STORE_ERR_BROKEN) { /* it has nothing left to live for */
        trace_event(&world->trace, "node %" PRIu32 " cannot use its store", node->index);
        node->is_dead = true;
        model_on_crash(&world->model, node->index);
        return;
    }
    model_after_step(&world->model, node->index, node->delivery, error, now_ms);
    must(&world->trace, node->put_count == 0, "Q1", "%zu puts were not answered", node->put_count);
    must(&world->trace, error != LULL_OK || !node->errands, "Q3", "a cancel was not answered");
}

int64_t node_step_mono_ms(struct node *node)
{
    const struct world *world = node->world;
    int64_t mono_ms = world->mono_ms;
    if (!node->has_work) {
        int64_t wake_ms = delivery_wake_ms(node->delivery);
        if (wake_ms == LULL_NEVER) {
            return LULL_NEVER;
        }
        mono_ms += later_of(0, wake_ms - node_now_ms(node));
    }
    return later_of(mono_ms, node->steps_mono_ms);
}

int64_t node_wake_mono_ms(struct node *node)
{
    int64_t mono_ms = node_step_mono_ms(node);
    for (size_t i = 0; i < node->request_count; i++) {
        const struct request *request = &node->requests[i];
        bool is_queued = !request->is_out && !request->is_returned;
        mono_ms = sooner_of(mono_ms, is_queued ? request->goes_out_mono_ms : request->ends_mono_ms);
    }
    return later_of(mono_ms, node->world->mono_ms);
}
