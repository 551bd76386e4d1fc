/* model - the records, crashes, comparing, the end: see the header.
 * SPDX-License-Identifier: MIT */
#include "model.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool model_init(struct model *model, struct trace *trace, const struct plan *plan)
{
    memset(model, 0, sizeof *model);
    model->trace = trace;
    model->plan = plan;
    model->is_clock_steady = plan->clock_steps == 0;
    model->record_room = 1024;
    model->records = calloc(model->record_room, sizeof *model->records);
    model->live = calloc(model->record_room, sizeof *model->live);
    return model->records && model->live;
}

void model_clean_up(struct model *model)
{
    free(model->records);
    free(model->live);
}

/* ---- finding ---- */

struct record *model_find(struct model *model, uint64_t id)
{
    size_t low = 0;
    size_t high = model->record_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (model->records[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    bool is_there = low < model->record_count && model->records[low].id == id;
    return is_there ? &model->records[low] : NULL;
}

const struct letter *model_letter(const struct model *model, const struct record *record)
{
    return &model->letters[record->letter];
}

struct flight *model_flight(struct model *model, uint32_t node, uint64_t id, uint64_t lease)
{
    for (size_t i = 0; i < model->flight_count; i++) {
        struct flight *flight = &model->flights[i];
        if (flight->id == id && flight->node == node && flight->lease == lease) {
            return flight;
        }
    }
    return NULL;
}

void model_end_flight(struct model *model, struct flight *flight)
{
    *flight = model->flights[--model->flight_count];
}

uint32_t model_service_of(const struct model *model, uint32_t number)
{
    for (uint32_t i = 0; i < model->plan->service_count; i++) {
        if (model->services[i].number == number) {
            return i;
        }
    }
    trace_fail(model->trace, "P1", "service %" PRIu32 " was never named", number);
    return 0;
}

void model_set_fate(struct model *model, struct record *record, enum fate fate)
{
    bool was_live = record->fate == FATE_WAITING || record->fate == FATE_LEASED;
    bool is_live = fate == FATE_WAITING || fate == FATE_LEASED;
    record->fate = fate;
    if (!was_live || is_live) {
        return;
    }
    size_t index = (size_t)(record - model->records);
    for (size_t i = 0; i < model->live_count; i++) {
        if (model->live[i] == index) {
            model->live[i] = model->live[--model->live_count];
            return;
        }
    }
}

/* By what the store was told; one that is over is none. */
int64_t model_held_until_ms(const struct model *model, const struct record *record, int64_t now_ms)
{
    int64_t hold_ms = model->hold_ms[model_letter(model, record)->target];
    return hold_ms > now_ms ? hold_ms : 0;
}

/* T1: what remains is never more than all, also where a clock has stepped back. */
int64_t model_remaining_ms(const struct letter *letter, int64_t now_ms)
{
    int64_t age_ms = later_of(0, now_ms - letter->accepted_ms);
    return later_of(0, letter->ttl_ms - age_ms);
}

/* T2; a TTL of 0 is for one attempt, within five seconds. */
bool model_is_expired(const struct letter *letter, uint32_t attempts, int64_t now_ms)
{
    if (letter->ttl_ms == 0) {
        return attempts > 0 || now_ms - letter->accepted_ms > 5000;
    }
    return model_remaining_ms(letter, now_ms) == 0;
}

/* ---- processes ---- */

void model_on_crash(struct model *model, uint32_t node)
{
    model->totals.crashes++;
    for (size_t i = model->flight_count; i > 0; i--) {
        struct flight *flight = &model->flights[i - 1];
        if (flight->node != node) {
            continue;
        }
        struct record *record = model_find(model, flight->id);
        if (record && flight->is_processed) { /* a crash may repeat what was in flight */
            record->unexcused--;
        }
        model_end_flight(model, flight);
    }
    model->is_draining[node] = false;
    memset(model->heard_hold_ms[node], 0, sizeof model->heard_hold_ms[node]);
    memset(model->heard_pause_ms[node], 0, sizeof model->heard_pause_ms[node]);
    memset(model->is_operator_pause_due[node], 0, sizeof model->is_operator_pause_due[node]);
}

void model_on_drain(struct model *model, uint32_t node)
{
    model->is_draining[node] = true;
}

void model_on_reclaim(struct model *model, int64_t now_ms, bool is_all, uint64_t count)
{
    uint64_t expected = 0;
    must(model->trace, !is_all || model->plan->node_count == 1, "Q2",
         "the leases of another node are taken away");
    for (size_t i = 0; i < model->live_count; i++) {
        struct record *record = &model->records[model->live[i]];
        if (record->fate != FATE_LEASED || (!is_all && record->lease_until_ms > now_ms)) {
            continue;
        }
        expected++;
        struct flight *flight = model_flight(model, record->node, record->id, record->lease);
        if (flight && flight->is_processed) { /* its lease ran out */
            flight->is_processed = false;
            record->unexcused--;
        }
        model_set_fate(model, record, FATE_WAITING);
        record->lost++;
        record->due_ms = later_of(now_ms, model_held_until_ms(model, record, now_ms));
        record->checked = 0;
        record->held_ms = model_held_until_ms(model, record, now_ms);
    }
    model->totals.lost += expected;
    must(model->trace, count == expected, "Q2", "%" PRIu64 " leases ended, not %" PRIu64, count,
         expected);
    for (size_t i = 0; i < model->live_count && expected > 0; i++) {
        struct record *record = &model->records[model->live[i]];
        if (record->checked == 0) {
            model_compare(model, record);
        }
    }
}

/* ---- comparing ---- */

static const char *const fate_words[] = {"waiting", "leased", "dead", "delivered", "replaced"};

static void compare_kept(struct model *model, struct record *record, const struct message *kept)
{
    struct trace *trace = model->trace;
    const struct letter *letter = model_letter(model, record);
    must(trace, (int)kept->place == (int)record->fate, "Q3", "%" PRIu64 " is %s, not %s",
         record->id, message_place_to_string((enum message_place)kept->place),
         fate_words[record->fate]);
    must(trace, kept->attempts == record->attempts, "B5", "%" PRIu64 " has %u attempts, not %u",
         record->id, kept->attempts, record->attempts);
    must(trace, kept->lost == record->lost, "Q8", "%" PRIu64 " was lost %u times, not %u",
         record->id, kept->lost, record->lost);
    must(trace,
         kept->accepted_ms == letter->accepted_ms && kept->ttl_ms == letter->ttl_ms &&
             kept->target == model->plan->targets[letter->target].hash &&
             kept->topic == letter->topic && kept->urgency == letter->urgency &&
             kept->kind == letter->kind,
         "Q4", "%" PRIu64 " is not what was accepted", record->id);
    if (record->fate == FATE_LEASED) {
        must(trace, kept->lease == record->lease && kept->lease_until_ms == record->lease_until_ms,
             "Q2", "%" PRIu64 " has another's lease", record->id);
    } else if (record->fate == FATE_DEAD) {
        must(trace, kept->reason == record->reason && kept->status == record->status, "D1",
             "%" PRIu64 " died of %s", record->id,
             lull_reason_to_string((enum lull_reason)kept->reason));
    } else if (kept->due_ms == model->swept_hold_ms[letter->target]) {
        record->due_ms = later_of(record->due_ms, kept->due_ms);
    } else if (record->lost > 0 && kept->due_ms != record->due_ms) {
        /* after a lost lease it is due at once: not later than that, and not before its hold */
        must(trace, kept->due_ms <= record->due_ms && kept->due_ms >= record->held_ms, "Q2",
             "%" PRIu64 " is due at %" PRId64 ", not %" PRId64, record->id, kept->due_ms,
             record->due_ms);
        record->due_ms = kept->due_ms;
    } else {
        must(trace, kept->due_ms == record->due_ms, "B7",
             "%" PRIu64 " is due at %" PRId64 ", not %" PRId64, record->id, kept->due_ms,
             record->due_ms);
    }
}

void model_compare(struct model *model, struct record *record)
{
    struct message *kept = NULL;
    bool is_there = record->fate <= FATE_DEAD;
    record->checked = model->batch;
    must(model->trace, store_has_given(model->store, record->id), "Q1",
         "%" PRIu64 " is said never to have been given", record->id);
    if (store_find(model->store, record->id, &kept) != LULL_OK) {
        trace_fail(model->trace, "Q1", "the store does not answer");
    } else if (!kept && is_there) {
        trace_fail(model->trace, "Q1", "%" PRIu64 " is gone from the store, and was %s", record->id,
                   fate_words[record->fate]);
    } else if (kept && !is_there) {
        trace_fail(model->trace, "Q3", "%" PRIu64 " was %s, and is still in the store", record->id,
                   fate_words[record->fate]);
    } else if (kept) {
        compare_kept(model, record, kept);
    }
    message_free(kept);
}

static void compare_stats(struct model *model)
{
    uint64_t counts[FATE_DEAD + 1] = {0};
    int64_t oldest_ms = LULL_NEVER;
    for (size_t i = 0; i < model->live_count; i++) {
        const struct record *record = &model->records[model->live[i]];
        counts[record->fate]++;
        if (record->fate == FATE_WAITING) {
            oldest_ms = sooner_of(oldest_ms, record->due_ms);
        }
    }
    for (int i = 0; i < LULL_REASONS; i++) {
        counts[FATE_DEAD] += model->totals.dead[i];
    }
    struct store_stats stats = store_stats(model->store);
    must(model->trace,
         stats.waiting == counts[FATE_WAITING] && stats.leased == counts[FATE_LEASED] &&
             stats.dead == counts[FATE_DEAD],
         "Q3",
         "the store counts %" PRIu64 " %" PRIu64 " %" PRIu64 ", not %" PRIu64 " %" PRIu64
         " %" PRIu64,
         stats.waiting, stats.leased, stats.dead, counts[0], counts[1], counts[2]);
    must(model->trace, stats.oldest_due_ms == oldest_ms, "Q10",
         "the oldest is due at %" PRId64 ", not %" PRId64, stats.oldest_due_ms, oldest_ms);
}

void model_compare_all(struct model *model)
{
    for (size_t i = 0; i < model->record_count && !model->trace->has_failed; i++) {
        model_compare(model, &model->records[i]);
    }
    compare_stats(model);
}

/* ---- after a step, and at the end ---- */

void model_after_step(struct model *model, uint32_t node, struct delivery *delivery, int error,
                      int64_t now_ms)
{
    compare_stats(model);
    must(model->trace, error == LULL_OK || error == STORE_ERR_DISK_FULL, "Q1",
         "a step ended with %s", store_error_to_string(error));
    if (error != LULL_OK || delivery_wake_ms(delivery) <= now_ms) {
        return; /* it goes on at once */
    }
    uint32_t in_flight = 0;
    for (size_t i = 0; i < model->flight_count; i++) {
        const struct flight *flight = &model->flights[i];
        if (flight->node != node) {
            continue;
        }
        in_flight++;
        must(model->trace, !flight->has_answer && !flight->is_returned, "Q3",
             "%" PRIu64 " has its answer, and nothing was written down", flight->id);
        must(model->trace, flight->is_sent, "Q1", "%" PRIu64 " is leased, and was not sent",
             flight->id);
    }
    struct delivery_stats stats = delivery_stats(delivery, now_ms);
    must(model->trace, stats.engine.in_flight == in_flight, "Q3",
         "the engine counts %" PRIu32 " in flight, not %" PRIu32, stats.engine.in_flight,
         in_flight);
    must(model->trace, delivery_is_idle(delivery) == (in_flight == 0), "Q3",
         "idle with %" PRIu32 " in flight", in_flight);
    if (model->plan->node_count == 1) {
        struct store_stats kept = store_stats(model->store);
        must(model->trace, stats.engine.waiting == kept.waiting, "G6",
             "the engine counts %" PRIu64 " waiting, not %" PRIu64, stats.engine.waiting,
             kept.waiting);
        for (uint32_t i = 0; i < model->plan->service_count; i++) {
            must(model->trace, !model->is_operator_pause_due[node][i], "P5",
                 "the operator's pause was forgotten");
        }
    }
}

void model_at_end(struct model *model)
{
    model_compare_all(model);
    must(model->trace, model->live_count == 0, "Q1", "%zu messages are left", model->live_count);
    uint64_t dead = 0;
    for (int i = 0; i < LULL_REASONS; i++) {
        dead += model->totals.dead[i];
    }
    uint64_t ended = model->totals.delivered + model->totals.replaced + dead;
    must(model->trace, model->totals.accepted == ended, "Q1",
         "%" PRIu64 " were accepted, and %" PRIu64 " ended", model->totals.accepted, ended);
}
