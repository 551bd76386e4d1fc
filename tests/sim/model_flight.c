/* model_flight - what may be sent, and when: see model.h. SPDX-License-Identifier: MIT */
#include "model.h"

#include <inttypes.h>

void model_on_take(struct model *model, uint32_t node, const struct message *message)
{
    struct flight *flight = model_flight(model, node, message->id, message->lease);
    if (!flight || flight->is_taken) {
        trace_fail(model->trace, "Q2", "%" PRIu64 " was taken, and is not leased", message->id);
        return;
    }
    flight->is_taken = true;
}

/* In the hands of that node's senders now; more than leases that count, where some have run out. */
static void check_in_flight(struct model *model, uint32_t node, uint32_t service)
{
    uint32_t of_node = 0;
    uint32_t of_both = 0;
    for (size_t i = 0; i < model->flight_count; i++) {
        const struct flight *flight = &model->flights[i];
        if (flight->node == node && flight->is_sent && !flight->has_answer) {
            const struct record *record = model_find(model, flight->id);
            of_node++;
            of_both += record && model_letter(model, record)->service == service;
        }
    }
    must(model->trace, of_node <= model->plan->in_flight_max, "G6",
         "node %" PRIu32 " sends %" PRIu32 " at once", node, of_node);
    must(model->trace, of_both <= model->plan->in_flight_per_service_max, "G6",
         "node %" PRIu32 " sends %" PRIu32 " at once to service %" PRIu32, node, of_both, service);
}

static void check_right_to_send(struct model *model, const struct record *record,
                                const struct flight *flight, const struct message *message,
                                const struct engine_order *order, int64_t now_ms)
{
    struct trace *trace = model->trace;
    const struct letter *letter = model_letter(model, record);
    bool is_ours = record->fate == FATE_LEASED && record->lease == message->lease;
    must(trace, is_ours, "Q2", "%" PRIu64 " was sent without a lease", record->id);
    must(trace, !flight->is_sent, "Q2", "%" PRIu64 " was sent twice by one lease", record->id);
    must(trace, flight->is_taken, "Q2", "%" PRIu64 " was sent and not taken", record->id);
    must(trace, flight->leased_ms == now_ms, "P5", "%" PRIu64 " was kept back for %" PRId64 " ms",
         record->id, now_ms - flight->leased_ms);
    must(trace, order->kind == ENGINE_SEND, "Q3", "%" PRIu64 " was sent by order %d", record->id,
         (int)order->kind);
    must(trace, !model_is_expired(letter, record->attempts, now_ms), "T2",
         "%" PRIu64 " was sent and is expired", record->id);
    must(trace, order->remaining_ms == model_remaining_ms(letter, now_ms), "T3",
         "%" PRIu64 " was sent with %" PRId64 " ms left, not %" PRId64, record->id,
         order->remaining_ms, model_remaining_ms(letter, now_ms));
    must(trace, record->attempts <= model->plan->policies[letter->policy].retries, "B5",
         "%" PRIu64 " was sent after %" PRIu32 " attempts", record->id, record->attempts);
    must(trace, record->lost < model->plan->poison_after && !letter->is_garbled, "Q8",
         "%" PRIu64 " was sent and is poison", record->id);
    must(trace, order->is_token_doubted ? record->auth_retries > 0 : !record->is_fresh_token_due,
         "C8", "%" PRIu64 " was sent with%s a fresh token", record->id,
         order->is_token_doubted ? "" : "out");
    must(trace, record->unexcused == 0, "C12",
         "%" PRIu64 " was sent again, and had arrived for certain", record->id);
}

void model_on_send(struct model *model, uint32_t node, const struct message *message,
                   const struct engine_order *order, const struct answer *answer, int64_t now_ms)
{
    struct record *record = model_find(model, message->id);
    struct flight *flight = model_flight(model, node, message->id, message->lease);
    if (!record || !flight) {
        trace_fail(model->trace, "Q2", "%" PRIu64 " was sent, and is not leased", message->id);
        return;
    }
    check_right_to_send(model, record, flight, message, order, now_ms);
    const uint32_t *body = message->body.data;
    must(model->trace, message->body.length == sizeof *body && *body == ~record->letter, "Q4",
         "%" PRIu64 " has another body", record->id);
    flight->is_sent = true;
    flight->answer = *answer;
    if (answer->is_processed) {
        flight->is_processed = true;
        record->unexcused++;
        model->totals.duplicates += record->processed > 0;
        record->processed++;
    }
    check_in_flight(model, node, model_letter(model, record)->service);
}

/* P3, P4: what a process has been told binds it from then on, also for what it had leased before.
 */
void model_on_out(struct model *model, uint32_t node, const struct message *message, int64_t now_ms)
{
    const struct record *record = model_find(model, message->id);
    if (!record) {
        trace_fail(model->trace, "Q2", "%" PRIu64 " went out, and never was", message->id);
        return;
    }
    const struct letter *letter = model_letter(model, record);
    must(model->trace, model->heard_hold_ms[node][letter->target] <= now_ms, "P3",
         "%" PRIu64 " went out while its target is held", record->id);
    must(model->trace, model->heard_pause_ms[node][letter->service] <= now_ms, "P4",
         "%" PRIu64 " went out while its service is paused", record->id);
}

void model_on_recalled(struct model *model, uint32_t node, const struct message *message)
{
    struct record *record = model_find(model, message->id);
    struct flight *flight = model_flight(model, node, message->id, message->lease);
    if (record && flight && flight->answer.is_processed) { /* it was not, after all */
        flight->answer.is_processed = false;
        record->processed--;
        record->unexcused -= flight->is_processed;
        flight->is_processed = false;
    }
}

/* From now on this process knows that it has to wait. */
static void hear(struct model *model, uint32_t node, const struct letter *letter,
                 const struct flight *flight)
{
    struct model_refusal refusal = model_refusal(model, letter, flight);
    int64_t *until_ms = refusal.is_sender_wide ? &model->heard_pause_ms[node][letter->service]
                                               : &model->heard_hold_ms[node][letter->target];
    if (refusal.is_one) {
        *until_ms = later_of(*until_ms, flight->told_ms + refusal.wait_ms);
    }
}

void model_on_answer(struct model *model, uint32_t node, const struct message *message,
                     int64_t now_ms)
{
    struct record *record = model_find(model, message->id);
    struct flight *flight = model_flight(model, node, message->id, message->lease);
    if (!record || !flight || !flight->is_sent) {
        trace_fail(model->trace, "Q2", "%" PRIu64 " was answered, and not sent", message->id);
        return;
    }
    flight->has_answer = true;
    flight->told_ms = now_ms;
    flight->asked_ms = answer_asked_ms(&flight->answer, now_ms);
    hear(model, node, model_letter(model, record), flight);
    bool is_unknown = flight->answer.outcome.kind == LULL_OUTCOME_TRANSPORT;
    if (flight->is_processed && is_unknown) { /* sent, and no answer: it may be done again (C12) */
        flight->is_processed = false;
        record->unexcused--;
    }
}

void model_on_return(struct model *model, uint32_t node, const struct message *message)
{
    struct flight *flight = model_flight(model, node, message->id, message->lease);
    if (!flight || !flight->is_sent) {
        trace_fail(model->trace, "Q2", "%" PRIu64 " was returned, and not sent", message->id);
        return;
    }
    flight->is_returned = true;
    flight->is_sent = true;
}
