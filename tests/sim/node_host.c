/*
 * node_host - what a process does for its delivery: see node.h. What a dead one still does is not
 * seen.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "node_parts.h"
#include "world.h"

#define QUEUE_MAX_MS 400

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
void node_go_out(struct node *node, struct request *request)
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
    trace_event(&world->trace,
                "node %" PRIu32 " sends %" PRIu64 " attempt %" PRIu32 ": %u/%s in %" PRId64 "%s",
                node->index, message->id, message->attempts + 1, request->answer.outcome.status,
                lull_transport_to_string(request->answer.outcome.transport),
                request->answer.takes_ms, request->is_returned ? " returned" : "");
    model_on_send(&world->model, node->index, message, order, &request->answer, node_now_ms(node));
    if (request->queued_ms == 0) {
        node_go_out(node, request);
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

void node_host(struct node *node, struct delivery_host *ret_host)
{
    *ret_host = (struct delivery_host){
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
