/* model_client - what clients may be told: see model.h. SPDX-License-Identifier: MIT */
#include "model.h"

#include <inttypes.h>

void model_on_put(struct model *model, const struct letter *letter, const struct store_put *put,
                  int error)
{
    if (error != LULL_OK) {
        for (size_t i = 0; i < model->live_count; i++) {
            must(model->trace, model->records[model->live[i]].letter != letter->number, "Q1",
                 "letter %" PRIu32 " was refused, and is in the store", letter->number);
        }
        return;
    }
    const struct record *record = model_find(model, put->ret_id);
    if (put->ret_result == STORE_PUT_CONFLICT) {
        must(model->trace, letter->has_key, "Q6", "a conflict without a key");
        return;
    }
    if (!record) {
        trace_fail(model->trace, "Q1", "id %" PRIu64 " was given for what is not in the store",
                   put->ret_id);
        return;
    }
    const struct letter *kept = model_letter(model, record);
    if (put->ret_result == STORE_PUT_WAITING || put->ret_result == STORE_PUT_LEASED) {
        must(model->trace, kept == letter, "Q1", "letter %" PRIu32 " was answered for another",
             letter->number);
    } else {
        must(model->trace,
             letter->has_key && kept->has_key && kept->key == letter->key &&
                 kept->request == letter->request,
             "Q6", "letter %" PRIu32 " was taken for a repeat of another", letter->number);
    }
}

void model_on_cancel(struct model *model, uint32_t node, uint64_t id, enum delivery_cancelled how)
{
    const struct record *record = model_find(model, id);
    if (!record) {
        must(model->trace, how == DELIVERY_CANCEL_UNKNOWN, "Q3", "an id that never was: %d",
             (int)how);
        return;
    }
    struct flight *flight = NULL;
    for (size_t i = 0; i < model->flight_count; i++) {
        if (model->flights[i].id == id && model->flights[i].node == node) {
            flight = &model->flights[i];
            flight->is_cancelling = flight->is_cancelling || how == DELIVERY_CANCELLING;
        }
    }
    switch (how) {
    case DELIVERY_CANCELLED:
        must(model->trace, record->fate == FATE_DEAD && record->reason == LULL_REASON_CANCELLED,
             "Q3", "%" PRIu64 " was said to be cancelled, and is not", id);
        break;
    case DELIVERY_CANCELLING:
        must(model->trace, flight, "Q3", "%" PRIu64 " is said to be in flight, and is not", id);
        break;
    case DELIVERY_CANCEL_LATE:
        must(model->trace, record->fate != FATE_WAITING && !flight, "Q3",
             "%" PRIu64 " could have been cancelled", id);
        break;
    case DELIVERY_CANCEL_UNKNOWN:
    default:
        trace_fail(model->trace, "Q3", "%" PRIu64 " was said never to have been", id);
        break;
    }
}

/* G6: by what waits, as closely as a node can know it. */
void model_on_admission(struct model *model, uint32_t node, struct engine_admission admission,
                        size_t underway)
{
    size_t waiting = 0;
    for (size_t i = 0; i < model->live_count; i++) {
        waiting += model->records[model->live[i]].fate == FATE_WAITING;
    }
    size_t most = model->live_count + underway;
    bool is_draining = model->is_draining[node];
    switch (admission.kind) {
    case ENGINE_ADMITTED:
        must(model->trace, !is_draining, "G6", "admitted while draining");
        must(model->trace, waiting < model->plan->waiting_soft_max || model->plan->node_count > 1,
             "G6", "admitted while %zu wait", waiting);
        break;
    case ENGINE_THROTTLED:
        must(model->trace, most >= model->plan->waiting_soft_max || model->plan->node_count > 1,
             "G6", "throttled while %zu are there", most);
        break;
    case ENGINE_REFUSED:
    default:
        must(model->trace,
             is_draining || most >= model->plan->waiting_hard_max || model->plan->node_count > 1,
             "G6", "refused while %zu are there", most);
        break;
    }
    must(model->trace, admission.kind == ENGINE_ADMITTED || admission.retry_after_s >= 1, "G6",
         "no Retry-After");
}
