/* model_batch - what a commit may do: see model.h. SPDX-License-Identifier: MIT */
#include "model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- settles (Q3) ---- */

static void die(struct model *model, struct record *record, uint8_t reason, uint16_t status)
{
    model_set_fate(model, record, FATE_DEAD);
    record->reason = reason;
    record->status = status;
    model->totals.dead[reason]++;
}

static void deliver(struct model *model, struct record *record)
{
    if (record->fate == FATE_DEAD) { /* too late: it arrived after all */
        model->totals.dead[record->reason]--;
    }
    if (record->fate != FATE_REPLACED && record->fate != FATE_DELIVERED) {
        model_set_fate(model, record, FATE_DELIVERED);
        model->totals.delivered++;
    }
}

static void apply_settle(struct model *model, struct record *record,
                         const struct store_settle *settle, int64_t now_ms)
{
    const struct message *message = settle->message;
    switch (settle->kind) {
    case STORE_DONE:
        deliver(model, record);
        return;
    case STORE_RETRY:
        model->totals.retries++;
        record->back = model->batch;
        record->due_ms = later_of(message->due_ms, model_held_until_ms(model, record, now_ms));
        model_set_fate(model, record, FATE_WAITING);
        break;
    case STORE_DIE:
    default:
        die(model, record, message->reason, message->status);
        break;
    }
    record->attempts = message->attempts;
    record->auth_retries = message->auth_retries;
    record->lost = message->lost;
}

/* What the answer asks for counts from this commit on, whoever has the message now. */
static void require_waits(struct model *model, struct record *record, const struct flight *flight,
                          int64_t now_ms)
{
    const struct letter *letter = model_letter(model, record);
    if (!flight->has_answer) {
        return;
    }
    model->totals.attempts++;
    struct model_refusal refusal = model_refusal(model, letter, flight);
    int64_t until_ms = flight->told_ms + refusal.wait_ms;
    if (refusal.is_one && refusal.is_sender_wide) {
        struct model_service *service = &model->services[letter->service];
        service->paused_until_ms = later_of(service->paused_until_ms, until_ms);
    } else if (refusal.is_one && until_ms > now_ms) {
        int64_t *hold_ms = &model->required_hold_ms[letter->target];
        *hold_ms = later_of(*hold_ms, until_ms);
    }
    if (record->fate != FATE_LEASED || record->lease != flight->lease) {
        return; /* its lease was lost, and with it what this answer says of the message alone */
    }
    if (flight->asked_ms > 0) {
        record->not_before_ms = later_of(record->not_before_ms, flight->told_ms + flight->asked_ms);
    }
    record->is_fresh_token_due = flight->answer.class_ == ANSWER_AUTH_SUSPECT;
}

static void on_settle(struct model *model, uint32_t node, const struct store_settle *settle,
                      int64_t now_ms)
{
    struct record *record = model_find(model, settle->message->id);
    struct flight *flight = model_flight(model, node, settle->message->id, settle->message->lease);
    if (!record || !flight) {
        trace_fail(model->trace, "Q3", "%" PRIu64 " was settled, and not in flight",
                   settle->message->id);
        return;
    }
    bool is_ours = record->fate == FATE_LEASED && record->lease == settle->message->lease;
    must(model->trace, settle->ret_is_stale == !is_ours, "Q2", "%" PRIu64 " is%s stale", record->id,
         settle->ret_is_stale ? "" : " not");
    trace_event(model->trace, "node %" PRIu32 " settle %" PRIu64 " kind %d %s%s", node, record->id,
                (int)settle->kind,
                settle->kind == STORE_DIE
                    ? lull_reason_to_string((enum lull_reason)settle->message->reason)
                    : "",
                is_ours ? "" : " stale");
    model_check_verdict(model, record, flight, settle, now_ms);
    require_waits(model, record, flight, now_ms);
    if (is_ours || settle->kind == STORE_DONE) {
        apply_settle(model, record, settle, now_ms);
    }
    model_end_flight(model, flight);
}

/* ---- cancels, holds, gates ---- */

static void on_cancel(struct model *model, const struct store_cancel *cancel)
{
    struct record *record = model_find(model, cancel->id);
    bool is_waiting = record && record->fate == FATE_WAITING;
    must(model->trace, cancel->ret_is_done == is_waiting, "Q3", "cancel of %" PRIu64 ": %d",
         cancel->id, (int)cancel->ret_is_done);
    if (is_waiting) {
        die(model, record, LULL_REASON_CANCELLED, 0);
        record->status = 0;
    }
}

static void on_hold(struct model *model, const struct store_hold *hold, int64_t now_ms)
{
    if (hold->until_ms <= now_ms) { /* over already */
        return;
    }
    for (uint32_t i = 0; i < model->plan->target_count; i++) {
        if (model->plan->targets[i].hash != hold->target) {
            continue;
        }
        model->hold_ms[i] = later_of(model->hold_ms[i], hold->until_ms);
        for (size_t j = 0; j < model->live_count; j++) {
            struct record *record = &model->records[model->live[j]];
            if (record->fate == FATE_WAITING && model_letter(model, record)->target == i) {
                record->due_ms = later_of(record->due_ms, hold->until_ms);
            }
        }
        return;
    }
    trace_fail(model->trace, "P3", "a hold of no target");
}

static void on_gate(struct model *model, uint32_t node, const struct store_set_gate *set)
{
    uint32_t index = model_service_of(model, set->service);
    struct model_service *service = &model->services[index];
    const struct gate *wanted = &model->plan->services[index].gate;
    bool is_expected = service->gate.version == set->expected_version;
    must(model->trace, set->ret_is_set == is_expected, "P5",
         "a gate of version %" PRIu64 " was set for %" PRIu64, set->expected_version,
         service->gate.version);
    if (!is_expected) {
        return;
    }
    must(model->trace,
         set->gate.rate_milli_per_s == wanted->rate_milli_per_s &&
             set->gate.in_flight_max == wanted->in_flight_max &&
             (wanted->rate_milli_per_s == 0 || set->gate.burst == wanted->burst),
         "G5", "the operator's limits of a service are lost");
    must(model->trace,
         model->is_operator_pause_due[node][index] ||
             set->gate.paused_until_ms >= service->gate.paused_until_ms,
         "P5", "a pause of service %" PRIu32 " is made shorter, and not by its operator", index);
    if (model->is_operator_pause_due[node][index]) {
        model->is_operator_pause_due[node][index] = false;
        service->paused_until_ms = model->operator_pause_ms[node][index];
        must(model->trace, set->gate.paused_until_ms >= service->paused_until_ms, "P5",
             "the operator's pause is another");
    }
    uint64_t version = service->gate.version;
    trace_event(model->trace,
                "node %" PRIu32 " sets gate %" PRIu64 " of service %" PRIu32
                ", paused until %" PRId64,
                node, version + 1, index, set->gate.paused_until_ms);
    service->gate = set->gate;
    service->gate.version = version + 1;
}

/* ---- puts (Q6, Q7) ---- */

static struct record *add_record(struct model *model, uint64_t id, uint32_t letter)
{
    if (model->record_count == model->record_room) {
        size_t room = model->record_room + 1024;
        struct record *more = realloc(model->records, room * sizeof *more);
        size_t *live = realloc(model->live, room * sizeof *live);
        model->records = more ? more : model->records;
        model->live = live ? live : model->live;
        if (!more || !live) {
            trace_fail(model->trace, "memory", "there is none");
            return NULL;
        }
        model->record_room = room;
    }
    model->live[model->live_count++] = model->record_count;
    struct record *record = &model->records[model->record_count++];
    *record = (struct record){.id = id, .letter = letter};
    return record;
}

/* Which letter it is: its number is in the envelope. */
static const struct letter *letter_of(struct model *model, const struct message *message)
{
    uint32_t number = 0;
    if (message->envelope.length < sizeof number) {
        trace_fail(model->trace, "Q4", "an envelope is cut");
        return &model->letters[0];
    }
    memcpy(&number, message->envelope.data, sizeof number);
    return &model->letters[number];
}

/* True: the key decides, and nothing is put. */
static bool on_key(struct model *model, const struct store_put *put, const struct letter *letter,
                   int64_t now_ms)
{
    struct model_key *key = &model->keys[letter->key % MODEL_KEYS];
    bool is_new = put->ret_result == STORE_PUT_WAITING || put->ret_result == STORE_PUT_LEASED;
    if (!letter->has_key || !key->is_set || now_ms >= key->until_ms || (key->is_swept && is_new)) {
        return false;
    }
    enum store_put_result expected = key->request != letter->request ? STORE_PUT_CONFLICT
                                     : key->batch == model->batch    ? STORE_PUT_UNDER_WAY
                                                                     : STORE_PUT_REPEATED;
    must(model->trace, put->ret_result == expected, "Q6", "a key was used again: %d, not %d",
         (int)put->ret_result, (int)expected);
    must(model->trace, expected == STORE_PUT_CONFLICT || put->ret_id == key->id, "Q6",
         "the same key: %" PRIu64 ", not %" PRIu64, put->ret_id, key->id);
    model->totals.repeated++;
    return true;
}

/* Q7: of those that wait for the same target with the same topic one is replaced, an older one. */
static void on_topic(struct model *model, const struct store_put *put, const struct letter *letter)
{
    struct record *replaced = NULL;
    bool is_any_waiting = false;
    for (size_t i = 0; i < model->live_count && letter->topic; i++) {
        struct record *record = &model->records[model->live[i]];
        const struct letter *other = model_letter(model, record);
        if (record->fate == FATE_WAITING && record->id != put->ret_id &&
            other->target == letter->target && other->topic == letter->topic) {
            is_any_waiting = true;
            replaced = record->id == put->ret_replaced ? record : replaced;
        }
    }
    must(model->trace, (put->ret_replaced != 0) == is_any_waiting, "Q7",
         "topic: %" PRIu64 " was replaced", put->ret_replaced);
    must(model->trace, put->ret_replaced < put->ret_id, "Q7", "a newer one was replaced");
    if (put->ret_replaced == 0) {
        return;
    }
    if (!replaced) {
        trace_fail(model->trace, "Q7", "%" PRIu64 " was replaced, and has not that topic",
                   put->ret_replaced);
        return;
    }
    model_set_fate(model, replaced, FATE_REPLACED);
    model->totals.replaced++;
}

static void on_put(struct model *model, uint32_t node, const struct store_put *put, int64_t now_ms)
{
    const struct letter *letter = letter_of(model, put->message);
    if (on_key(model, put, letter, now_ms)) {
        return;
    }
    must(model->trace, put->ret_result == STORE_PUT_WAITING || put->ret_result == STORE_PUT_LEASED,
         "Q6", "letter %" PRIu32 " was not taken: %d", letter->number, (int)put->ret_result);
    uint64_t last = model->record_count ? model->records[model->record_count - 1].id : 0;
    must(model->trace, put->ret_id > last, "Q4", "ids do not grow");
    if (model->trace->has_failed) {
        return;
    }
    on_topic(model, put, letter);
    struct record *record = add_record(model, put->ret_id, letter->number);
    if (!record) {
        return;
    }
    model->totals.accepted++;
    record->due_ms = later_of(letter->due_ms, model_held_until_ms(model, record, now_ms));
    trace_event(model->trace,
                "node %" PRIu32 " put letter %" PRIu32 " as %" PRIu64 " due %" PRId64 "%s", node,
                letter->number, record->id, record->due_ms,
                put->ret_result == STORE_PUT_LEASED ? " leased" : "");
    if (letter->has_key) {
        model->keys[letter->key % MODEL_KEYS] = (struct model_key){
            true, false, record->id, letter->request, put->key_until_ms, model->batch};
    }
    if (put->ret_result == STORE_PUT_LEASED) {
        must(model->trace, put->is_lease_wanted, "Q2", "leased, and not wanted");
        model->totals.fast++;
        model_grant(model, record, node, put->lease, put->lease_until_ms, true, now_ms);
    }
}

/* ---- the whole ---- */

/* What was told to us is in the store as soon as the message that brought it is settled: a crash
 * after that must not forget it (P3, P5). Among several nodes a gate may take another round. */
static void check_waits(struct model *model)
{
    for (uint32_t i = 0; i < model->plan->target_count; i++) {
        must(model->trace, model->hold_ms[i] >= model->required_hold_ms[i], "P3",
             "target %" PRIu32 " is held until %" PRId64 ", not %" PRId64, i, model->hold_ms[i],
             model->required_hold_ms[i]);
    }
    for (uint32_t i = 0; i < model->plan->service_count && model->plan->node_count == 1; i++) {
        must(model->trace,
             model->services[i].gate.paused_until_ms >= model->services[i].paused_until_ms, "P4",
             "service %" PRIu32 " is paused until %" PRId64 ", not %" PRId64, i,
             model->services[i].gate.paused_until_ms, model->services[i].paused_until_ms);
    }
}

static void compare_touched(struct model *model, const struct store_batch *batch)
{
    for (size_t i = 0; i < batch->settle_count; i++) {
        struct record *record = model_find(model, batch->settles[i].message->id);
        if (record) {
            model_compare(model, record);
        }
    }
    for (size_t i = 0; i < batch->cancel_count; i++) {
        struct record *record = model_find(model, batch->cancels[i].id);
        if (record) {
            model_compare(model, record);
        }
    }
    for (size_t i = 0; i < batch->put_count; i++) {
        struct record *record = model_find(model, batch->puts[i].ret_id);
        if (record && batch->puts[i].ret_result <= STORE_PUT_LEASED) {
            model_compare(model, record);
        }
    }
    for (size_t i = 0; i < model->live_count; i++) { /* leased ones, and what a hold has moved */
        struct record *record = &model->records[model->live[i]];
        if (record->checked != model->batch && (batch->hold_count || batch->lease_count)) {
            model_compare(model, record);
        }
    }
}

void model_on_apply(struct model *model, uint32_t node, const struct store_batch *batch,
                    int64_t now_ms)
{
    model->batch++;
    for (size_t i = 0; i < batch->settle_count; i++) {
        on_settle(model, node, &batch->settles[i], now_ms);
    }
    for (size_t i = 0; i < batch->cancel_count; i++) {
        on_cancel(model, &batch->cancels[i]);
    }
    for (size_t i = 0; i < batch->hold_count; i++) {
        on_hold(model, &batch->holds[i], now_ms);
    }
    for (size_t i = 0; i < batch->gate_count; i++) {
        on_gate(model, node, &batch->gates[i]);
    }
    check_waits(model);
    for (size_t i = 0; i < batch->put_count; i++) {
        on_put(model, node, &batch->puts[i], now_ms);
    }
    for (size_t i = 0; i < batch->lease_count; i++) {
        model_check_lease(model, node, &batch->leases[i], now_ms);
    }
    if (!model->trace->has_failed) {
        compare_touched(model, batch);
    }
}

/* What is over may be forgotten: also for a node whose clock is behind. */
void model_on_sweep(struct model *model, int64_t now_ms)
{
    for (uint32_t i = 0; i < model->plan->target_count; i++) {
        if (model->hold_ms[i] <= now_ms && model->hold_ms[i] > 0) {
            model->swept_hold_ms[i] = model->hold_ms[i];
            model->hold_ms[i] = 0;
        }
        if (model->required_hold_ms[i] <= now_ms) {
            model->required_hold_ms[i] = 0;
            for (uint32_t j = 0; j < PLAN_NODES_MAX; j++) {
                model->heard_hold_ms[j][i] = 0;
            }
        }
    }
    for (uint32_t i = 0; i < MODEL_KEYS; i++) {
        if (model->keys[i].until_ms <= now_ms) {
            model->keys[i].is_swept = true;
        }
    }
}

void model_on_service(struct model *model, uint32_t service, uint32_t number)
{
    struct model_service *kept = &model->services[service];
    must(model->trace, number > 0 && (kept->number == 0 || kept->number == number), "P1",
         "service %" PRIu32 " has another number", service);
    kept->number = number;
}

void model_on_operator_pause(struct model *model, uint32_t node, uint32_t service, int64_t until_ms)
{
    struct model_service *kept = &model->services[service];
    for (uint32_t i = 0; i < PLAN_NODES_MAX; i++) { /* the operator's word is the last */
        model->heard_pause_ms[i][service] = 0;
    }
    bool is_written = kept->gate.paused_until_ms != until_ms || model->plan->node_count > 1;
    model->is_operator_pause_due[node][service] = is_written;
    model->operator_pause_ms[node][service] = until_ms;
    if (!is_written) { /* it is so already */
        kept->paused_until_ms = until_ms;
    }
}
