/* delivery_flights - messages in flight: see delivery_parts.h. SPDX-License-Identifier: MIT */
#include <assert.h>
#include <string.h>

#include "delivery_parts.h"
#include "history.h"

struct flight *flight_find(const struct delivery *delivery, uint64_t id)
{
    uint32_t place = number_table_find(&delivery->by_id, id);
    return place != NUMBER_TABLE_NONE ? &delivery->flights[place] : NULL;
}

static struct flight *flight_of(const struct delivery *delivery, const struct message *message)
{
    struct flight *flight = flight_find(delivery, message->id);
    assert(flight && flight->message == message);
    return flight;
}

static void add_settlement(struct delivery *delivery, struct flight *flight)
{
    flight->next = NULL;
    *(delivery->settling_last ? &delivery->settling_last->next : &delivery->settling) = flight;
    delivery->settling_last = flight;
}

/* What an order changes of the message. */
static void change_message(struct message *message, const struct engine_order *order)
{
    message->attempts = order->attempts;
    message->auth_retries = order->auth_retries;
    if (order->kind == ENGINE_RETRY) {
        message->due_ms = order->due_ms;
        message->previous_delay_ms = order->verdict.delay_ms;
        message->cause = order->is_asked_for ? MESSAGE_CAUSE_RETRY_AFTER : MESSAGE_CAUSE_BACKOFF;
    } else if (order->kind == ENGINE_DIE) {
        message->reason = (uint8_t)order->reason;
    }
}

void flight_launch(struct delivery *delivery, struct message *message, int64_t now_ms)
{
    const struct delivery_host *host = &delivery->config.host;
    struct flight *flight = flight_find(delivery, message->id);
    if (flight) { /* its lease ran out under way, and we got it again: the flight goes on with it */
        flight->message->lease = message->lease;
        flight->message->lease_until_ms = message->lease_until_ms;
        engine_on_settled(delivery->engine, message->service, ENGINE_SEND, 0, now_ms);
        message_free(message);
        return;
    }
    assert(delivery->flights && delivery->idle_count > 0);
    uint32_t place = delivery->idle[--delivery->idle_count];
    flight = &delivery->flights[place];
    *flight = (struct flight){.message = message, .started_ms = now_ms};
    number_table_set(&delivery->by_id, message->id, place);
    flight->known = (struct engine_message){
        .kind = (enum lull_kind)message->kind,
        .service = message->service,
        .attempts = message->attempts,
        .auth_retries = message->auth_retries,
        .lost = message->lost,
        .accepted_ms = message->accepted_ms,
        .ttl_ms = message->ttl_ms,
        .previous_delay_ms = message->previous_delay_ms,
    };
    if (host->take(host->userdata, message, &flight->known)) {
        engine_before_send(delivery->engine, now_ms, &flight->known, &flight->order);
    } else {
        flight->order = (struct engine_order){
            .kind = ENGINE_DIE,
            .reason = LULL_REASON_POISON,
            .attempts = message->attempts,
            .auth_retries = message->auth_retries,
        };
    }
    if (flight->order.kind == ENGINE_SEND) {
        flight->is_out = true;
        host->send(host->userdata, message, &flight->order);
        return;
    }
    change_message(message, &flight->order);
    add_settlement(delivery, flight);
}

static void note_attempt(struct message *message, const struct lull_outcome *outcome,
                         const struct engine_order *order, int64_t started_ms, int64_t now_ms)
{
    uint8_t history[HISTORY_SIZE_MAX];
    const struct lull_verdict *verdict = &order->verdict;
    bool is_asked = verdict->retry_after.state == LULL_RETRY_AFTER_OK;
    const struct attempt attempt = {
        .number = (uint32_t)history_count(message->history.data, message->history.length) + 1,
        .started_ms = started_ms,
        .duration_ms = now_ms - started_ms,
        .status = (uint16_t)(outcome->kind == LULL_OUTCOME_STATUS ? outcome->status : 0),
        .transport = (uint8_t)(outcome->kind == LULL_OUTCOME_TRANSPORT ? outcome->transport
                                                                       : LULL_TRANSPORT_NONE),
        .class_ = (uint8_t)verdict->class_,
        .effect = (uint8_t)verdict->effect,
        .reason = (uint8_t)order->reason,
        .delay_ms = order->kind == ENGINE_RETRY ? verdict->delay_ms : 0,
        .retry_after_ms = is_asked ? verdict->retry_after.wait_ms : -1,
    };
    size_t length = history_add(message->history.data, message->history.length, &attempt, history);
    (void)message_set_history(message, history, length); /* without memory: one line less to show */
    message->status = attempt.status;
}

void delivery_queued(struct delivery *delivery, const struct message *message, int64_t queued_ms)
{
    engine_on_queued(delivery->engine, message->service, queued_ms);
}

void delivery_outcome(struct delivery *delivery, struct message *message,
                      const struct lull_outcome *outcome, int64_t now_ms)
{
    const struct delivery_host *host = &delivery->config.host;
    struct flight *flight = flight_of(delivery, message);
    struct engine_order *order = &flight->order;
    assert(flight->is_out);
    flight->is_out = false;
    message->lost = 0; /* its worker has lived through this one (Q8) */
    engine_on_outcome(delivery->engine, now_ms, &flight->known, outcome, order);
    host->on_attempt(host->userdata, message, outcome, order, flight->started_ms, now_ms);
    note_attempt(message, outcome, order, flight->started_ms, now_ms);
    change_message(message, order);
    if (host->recall && (order->hold_until_ms > 0 || order->pause_until_ms > 0)) {
        host->recall(host->userdata, message, order->pause_until_ms > 0); /* P3, P4 */
    }
    add_settlement(delivery, flight);
}

void delivery_return(struct delivery *delivery, struct message *message, int64_t now_ms)
{
    struct flight *flight = flight_of(delivery, message);
    assert(flight->is_out);
    flight->is_out = false;
    flight->order = (struct engine_order){
        .kind = flight->known.is_cancelled ? ENGINE_DIE : ENGINE_RETRY,
        .reason = flight->known.is_cancelled ? LULL_REASON_CANCELLED : LULL_REASON_NONE,
        .due_ms = now_ms,
        .attempts = message->attempts,
        .auth_retries = message->auth_retries,
    };
    message->due_ms = now_ms;
    message->cause = MESSAGE_CAUSE_RETURNED;
    message->reason = (uint8_t)flight->order.reason;
    add_settlement(delivery, flight);
}

void flight_end(struct delivery *delivery, struct flight *flight)
{
    const struct delivery_host *host = &delivery->config.host;
    number_table_remove(&delivery->by_id, flight->message->id);
    host->let_go(host->userdata, flight->message);
    message_free(flight->message);
    flight->message = NULL;
    delivery->idle[delivery->idle_count++] = (uint32_t)(flight - delivery->flights);
}
