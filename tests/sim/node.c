/* node - see the header. SPDX-License-Identifier: MIT */
#include "node.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "faulty.h"
#include "spy.h"
#include "world.h"

#define QUEUE_MAX_MS 400

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

/* ---- the host of delivery ---- */

static struct letter *letter_of(struct world *world, const struct message *message)
{
    uint32_t number = 0;
    memcpy(&number, message->envelope.data, sizeof number);
    return &world->letters[number];
}

static bool host_take(void *userdata, struct message *message, struct engine_message *ret_known)
{
    struct node *node = userdata;
    struct world *world = node->world;
    node->taken++;
    if (node_goes_on(node)) {
        model_on_take(&world->model, node->index, message);
    }
    const struct letter *letter = letter_of(world, message);
    if (letter->is_garbled) {
        return false;
    }
    ret_known->policy = &world->plan.policies[letter->policy];
    ret_known->kind = (enum lull_kind)letter->kind;
    ret_known->vendor = world->plan.services[letter->service].vendor;
    ret_known->method = LULL_METHOD_POST;
    return true;
}

/* It has a connection. */
static void go_out(struct node *node, struct request *request)
{
    request->is_out = true;
    delivery_queued(node->delivery, request->message, request->queued_ms);
    if (!request->is_returned) {
        model_on_out(&node->world->model, node->index, request->message, node_now_ms(node));
    }
}

static void host_send(void *userdata, struct message *message, const struct engine_order *order)
{
    struct node *node = userdata;
    struct world *world = node->world;
    if (!node_goes_on(node)) {
        return;
    }
    if (node->request_count == NODE_REQUESTS) {
        trace_fail(&world->trace, "G6", "far too many requests at once");
        return;
    }
    const struct letter *letter = letter_of(world, message);
    struct request *request = &node->requests[node->request_count++];
    *request = (struct request){.message = message};
    world_answer(world, letter, &request->answer);
    request->is_returned = !world->is_healed && chance(&world->random, world->plan.returns);
    if (request->is_returned) {
        request->answer.is_processed = false;
    }
    if (!world->is_healed && chance(&world->random, world->plan.queues)) {
        request->queued_ms = lull_random_between(&world->random, 1, QUEUE_MAX_MS);
    }
    request->goes_out_mono_ms = world->mono_ms + request->queued_ms;
    request->ends_mono_ms = request->goes_out_mono_ms + request->answer.takes_ms;
    trace_event(&world->trace, "node %" PRIu32 " sends %" PRIu64 " attempt %" PRIu32 ": %u/%s in %" PRId64
                "%s", node->index, message->id, message->attempts + 1,
                request->answer.outcome.status,
                lull_transport_to_string(request->answer.outcome.transport),
                request->answer.takes_ms, request->is_returned ? " returned" : "");
    model_on_send(&world->model, node->index, message, order, &request->answer,
                  node_now_ms(node));
    if (request->queued_ms == 0) {
        go_out(node, request);
    }
    if (letter->is_killer && !world->is_healed && node->dies_in == 0) {
        node->dies_in = 1 + any_of(&world->random, 4);
    }
}

/* What still queues for a connection is not sent (P3, P4). */
static void host_recall(void *userdata, const struct message *message, bool is_service)
{
    struct node *node = userdata;
    struct world *world = node->world;
    for (size_t i = 0; i < node->request_count; i++) {
        struct request *request = &node->requests[i];
        bool is_meant = is_service ? request->message->service == message->service
                                   : request->message->target == message->target;
        if (!request->is_out && !request->is_returned && is_meant) {
            trace_event(&world->trace, "node %" PRIu32 " calls back %" PRIu64, node->index,
                        request->message->id);
            request->is_returned = true;
            request->ends_mono_ms = world->mono_ms;
            model_on_recalled(&world->model, node->index, request->message);
        }
    }
}

static void host_let_go(void *userdata, struct message *message)
{
    struct node *node = userdata;
    (void)message;
    node->taken--;
}

static void unlink_errand(struct node *node, struct errand *errand)
{
    for (struct errand **at = &node->errands; *at; at = &(*at)->next) {
        if (*at == errand) {
            *at = errand->next;
            return;
        }
    }
}

static void host_on_put(void *userdata, struct delivery_put *put, int error)
{
    struct node *node = userdata;
    struct errand *errand = put->userdata;
    bool is_deliverys = error == LULL_OK && put->put.ret_result == STORE_PUT_LEASED;
    if (node_goes_on(node)) {
        client_on_put(node->world, &node->world->letters[errand->letter], &put->put, error);
    }
    if (!is_deliverys) {
        message_free(put->put.message);
    }
    unlink_errand(node, errand);
    node->put_count--;
    free(errand);
}

static void host_on_cancel(void *userdata, struct delivery_cancel *cancel,
                           enum delivery_cancelled how)
{
    struct node *node = userdata;
    struct errand *errand = cancel->userdata;
    if (node_goes_on(node)) {
        trace_event(&node->world->trace, "cancel of %" PRIu64 " was answered %d", cancel->id,
                    (int)how);
        model_on_cancel(&node->world->model, node->index, cancel->id, how);
    }
    unlink_errand(node, errand);
    free(errand);
}

static void host_on_attempt(void *userdata, const struct message *message,
                            const struct lull_outcome *outcome, const struct engine_order *order,
                            int64_t started_ms, int64_t now_ms)
{
    struct node *node = userdata;
    must(&node->world->trace, outcome && order && started_ms <= now_ms && message, "C1",
         "an attempt that ended before it began");
}

static void host_on_settled(void *userdata, const struct message *message,
                            const struct engine_order *order, bool is_stale, int64_t now_ms)
{
    struct node *node = userdata;
    (void)now_ms;
    if (!node_goes_on(node) || is_stale) {
        return;
    }
    const struct record *record = model_find(&node->world->model, message->id);
    bool has_left = record && (record->fate == FATE_DELIVERED || record->fate == FATE_REPLACED);
    bool is_there = record && ((order->kind == ENGINE_DONE && has_left) ||
                               (order->kind == ENGINE_DIE && record->fate == FATE_DEAD) ||
                               order->kind == ENGINE_RETRY);
    must(&node->world->trace, is_there, "Q1", "%" PRIu64 " is said to be settled, and is not",
         message->id);
}

static void host_limit(void *userdata, const char *name, struct gate *gate)
{
    const struct node *node = userdata;
    const struct plan *plan = &node->world->plan;
    for (uint32_t i = 0; i < plan->service_count; i++) {
        if (strcmp(plan->services[i].name, name) == 0) {
            gate->rate_milli_per_s = plan->services[i].gate.rate_milli_per_s;
            gate->burst = plan->services[i].gate.burst;
            gate->in_flight_max = plan->services[i].gate.in_flight_max;
        }
    }
}

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
    config->host = (struct delivery_host){
        .userdata = node,
        .take = host_take,
        .send = host_send,
        .recall = host_recall,
        .let_go = host_let_go,
        .on_put = host_on_put,
        .on_cancel = host_on_cancel,
        .on_attempt = host_on_attempt,
        .on_settled = host_on_settled,
        .limit = host_limit,
    };
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
    memcpy((void *)(uintptr_t)message->envelope.data, &letter->number, sizeof letter->number);
    memcpy((void *)(uintptr_t)message->body.data, &body, sizeof body);
    message->service = service->number;
    message->target = plan->targets[letter->target].hash;
    message->topic = letter->topic;
    message->kind = letter->kind;
    message->urgency = letter->urgency;
    message->accepted_ms = letter->accepted_ms;
    message->ttl_ms = letter->ttl_ms;
    message->due_ms = letter->due_ms;
    message->cause = letter->due_ms > node->last_steady_ms ? MESSAGE_CAUSE_DELAYED
                                                           : MESSAGE_CAUSE_NEW;
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
            go_out(node, request);
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
    must(&world->trace, node->put_count == 0, "Q1", "%zu puts were not answered",
         node->put_count);
    must(&world->trace, error != LULL_OK || !node->errands, "Q3", "a cancel was not answered");
}

int64_t node_wake_mono_ms(struct node *node)
{
    const struct world *world = node->world;
    if (node->has_work) {
        return world->mono_ms;
    }
    int64_t wake_ms = delivery_wake_ms(node->delivery);
    int64_t mono_ms = LULL_NEVER;
    if (wake_ms != LULL_NEVER) {
        mono_ms = world->mono_ms + later_of(0, wake_ms - node_now_ms(node));
    }
    for (size_t i = 0; i < node->request_count; i++) {
        const struct request *request = &node->requests[i];
        bool is_queued = !request->is_out && !request->is_returned;
        mono_ms = sooner_of(mono_ms,
                            is_queued ? request->goes_out_mono_ms : request->ends_mono_ms);
    }
    return mono_ms;
}
