/* delivery_batch - a batch from what came in to what follows from it: see delivery_parts.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "delivery_parts.h"
#include "lull/error.h"

/* ---- gather ---- */

static void gather_settles(struct delivery *delivery, struct store_batch *batch)
{
    struct batch_room *room = &delivery->room;
    for (struct flight *flight = delivery->settling; flight; flight = flight->next) {
        struct engine_order *order = &flight->order;
        enum store_settle_kind kind = order->kind == ENGINE_DONE    ? STORE_DONE
                                      : order->kind == ENGINE_RETRY ? STORE_RETRY
                                                                    : STORE_DIE;
        room->settles[batch->settle_count++] =
            (struct store_settle){.kind = kind, .message = flight->message};
        batch->is_durable |= kind != STORE_DONE; /* that one may be repeated, these not be lost */
        if (order->hold_until_ms > 0) {
            room->holds[batch->hold_count++] =
                (struct store_hold){flight->message->target, order->hold_until_ms};
        }
        if (order->pause_until_ms > 0) {
            /* From here on, also if another node has set the gate meanwhile, so that ours comes
             * later. */
            engine_on_gate(delivery->engine, flight->message->service,
                           services_want_pause(&delivery->services, flight->message->service,
                                               order->pause_until_ms, false));
        }
    }
}

static void gather_cancels(struct delivery *delivery, struct store_batch *batch)
{
    const struct delivery_cancel *cancel = delivery->cancelling;
    while (cancel && batch->cancel_count < BATCH_CANCELS_MAX) {
        delivery->room.cancels[batch->cancel_count++] = (struct store_cancel){.id = cancel->id};
        cancel = cancel->next;
        batch->is_durable = true;
    }
}

static void gather_puts(struct delivery *delivery, struct store_batch *batch, int64_t now_ms)
{
    struct delivery_put *put = delivery->putting;
    while (put && batch->put_count < BATCH_PUTS_MAX) {
        struct message *message = put->put.message;
        put->put.is_lease_wanted =
            engine_may_go(delivery->engine, message->service, message->due_ms, now_ms);
        put->put.lease = ++delivery->lease;
        put->put.lease_until_ms = now_ms + delivery->config.engine.lease_ms;
        delivery->room.puts[batch->put_count++] = put->put;
        put = put->next;
        batch->is_durable = true;
    }
}

static void gather_leases(struct delivery *delivery, struct store_batch *batch, int64_t now_ms)
{
    struct message **place = delivery->leased;
    uint32_t number = 0;
    uint32_t max = 0;
    while (batch->lease_count < BATCH_LEASES_MAX &&
           engine_next_lease(delivery->engine, now_ms, &number, &max)) {
        delivery->room.leases[batch->lease_count++] = (struct store_lease){
            .service = number,
            .max = max,
            .lease = ++delivery->lease,
            .lease_until_ms = now_ms + delivery->config.engine.lease_ms,
            .messages = place,
        };
        place += max; /* all of them together are never more than may be in flight */
    }
}

bool batch_gather(struct delivery *delivery, struct store_batch *batch, int64_t now_ms)
{
    struct batch_room *room = &delivery->room;
    *batch = (struct store_batch){
        .settles = room->settles,
        .cancels = room->cancels,
        .holds = room->holds,
        .gates = room->gates,
        .puts = room->puts,
        .leases = room->leases,
    };
    gather_settles(delivery, batch);
    gather_cancels(delivery, batch);
    batch->gate_count = services_gather(&delivery->services, room->gates, BATCH_GATES_MAX);
    batch->is_durable |= batch->gate_count > 0;
    gather_puts(delivery, batch, now_ms);
    gather_leases(delivery, batch, now_ms);
    return batch->settle_count + batch->cancel_count + batch->gate_count + batch->put_count +
               batch->lease_count >
           0;
}

/* ---- follow ---- */

static void follow_settles(struct delivery *delivery, const struct store_batch *batch,
                           int64_t now_ms)
{
    const struct delivery_host *host = &delivery->config.host;
    for (size_t i = 0; i < batch->settle_count; i++) {
        struct flight *flight = delivery->settling;
        struct message *message = flight->message;
        bool is_lost = batch->settles[i].ret_is_stale && flight->order.kind != ENGINE_DONE;
        delivery->settling = flight->next;
        delivery->is_miscounted |= batch->settles[i].ret_is_stale; /* was it waiting again? */
        message->died_ms = flight->order.kind == ENGINE_DIE ? now_ms : 0;
        engine_on_settled(delivery->engine, message->service,
                          is_lost ? ENGINE_SEND : flight->order.kind, flight->order.due_ms, now_ms);
        host->on_settled(host->userdata, message, &flight->order, is_lost, now_ms);
        flight_end(delivery, flight);
    }
    delivery->settling_last = delivery->settling ? delivery->settling_last : NULL;
}

static enum delivery_cancelled how_cancelled(struct delivery *delivery, uint64_t id)
{
    struct flight *flight = flight_find(delivery, id);
    struct message *message = NULL;
    if (flight) {
        flight->known.is_cancelled = true;
        return DELIVERY_CANCELLING;
    }
    (void)store_find(delivery->store, id, &message);
    bool is_there = message != NULL;
    message_free(message);
    return is_there || store_has_given(delivery->store, id) ? DELIVERY_CANCEL_LATE
                                                            : DELIVERY_CANCEL_UNKNOWN;
}

static void follow_cancels(struct delivery *delivery, const struct store_batch *batch)
{
    const struct delivery_host *host = &delivery->config.host;
    for (size_t i = 0; i < batch->cancel_count; i++) {
        const struct store_cancel *done = &batch->cancels[i];
        struct delivery_cancel *cancel = delivery->cancelling;
        delivery->cancelling = cancel->next;
        if (done->ret_is_done && engine_knows(delivery->engine, done->ret_service)) {
            engine_on_removed(delivery->engine, done->ret_service);
        }
        host->on_cancel(host->userdata, cancel,
                        done->ret_is_done ? DELIVERY_CANCELLED
                                          : how_cancelled(delivery, cancel->id));
    }
    delivery->cancelling_last = delivery->cancelling ? delivery->cancelling_last : NULL;
}

static struct delivery_put *next_put(struct delivery *delivery)
{
    struct delivery_put *put = delivery->putting;
    delivery->putting = put->next;
    delivery->putting_last = delivery->putting ? delivery->putting_last : NULL;
    return put;
}

static void follow_puts(struct delivery *delivery, const struct store_batch *batch, int64_t now_ms)
{
    const struct delivery_host *host = &delivery->config.host;
    for (size_t i = 0; i < batch->put_count; i++) {
        struct delivery_put *put = next_put(delivery);
        put->put = batch->puts[i];
        struct message *message = put->put.message;
        bool is_leased = put->put.ret_result == STORE_PUT_LEASED;
        bool is_put = is_leased || put->put.ret_result == STORE_PUT_WAITING;
        engine_on_put(delivery->engine, message->service, put->put.is_lease_wanted, is_put,
                      is_leased, message->due_ms, now_ms);
        if (put->put.ret_replaced != 0) {
            engine_on_removed(delivery->engine, message->service);
        }
        host->on_put(host->userdata, put, LULL_OK);
        if (is_leased) {
            flight_launch(delivery, message, now_ms);
        }
    }
}

static void follow_leases(struct delivery *delivery, const struct store_batch *batch,
                          int64_t now_ms)
{
    for (size_t i = 0; i < batch->lease_count; i++) {
        const struct store_lease *lease = &batch->leases[i];
        services_note(&delivery->services, lease);
        bool is_all = lease->ret_count < lease->max && lease->ret_stop == GATE_OPEN;
        engine_on_leased(delivery->engine, lease->service, lease->max, lease->ret_count, !is_all,
                         lease->ret_count == lease->max ? now_ms : lease->ret_until_ms, now_ms);
        for (uint32_t k = 0; k < lease->ret_count; k++) {
            flight_launch(delivery, lease->messages[k], now_ms);
        }
    }
}

void batch_follow(struct delivery *delivery, const struct store_batch *batch, int64_t now_ms)
{
    follow_settles(delivery, batch, now_ms);
    services_follow(delivery, batch, now_ms);
    follow_cancels(delivery, batch);
    follow_puts(delivery, batch, now_ms);
    follow_leases(delivery, batch, now_ms);
}

/* ---- take back ---- */

void batch_refuse_puts(struct delivery *delivery, size_t count, int error, int64_t now_ms)
{
    const struct delivery_host *host = &delivery->config.host;
    for (size_t i = 0; i < count; i++) {
        struct delivery_put *put = next_put(delivery);
        const struct message *message = put->put.message;
        engine_on_put(delivery->engine, message->service, put->put.is_lease_wanted, false, false,
                      message->due_ms, now_ms);
        host->on_put(host->userdata, put, error);
    }
}

void batch_take_back(struct delivery *delivery, const struct store_batch *batch, int error,
                     int64_t now_ms)
{
    batch_refuse_puts(delivery, batch->put_count, error, now_ms);
    for (size_t i = 0; i < batch->lease_count; i++) {
        const struct store_lease *lease = &batch->leases[i];
        engine_on_leased(delivery->engine, lease->service, lease->max, 0, true,
                         now_ms + delivery->config.retry_full_ms, now_ms);
    }
}
