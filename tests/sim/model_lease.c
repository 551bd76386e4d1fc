/* model_lease - whom a lease may take: see model.h. SPDX-License-Identifier: MIT */
#include "model.h"

#include <inttypes.h>

/* Q5: of every 15 leases one is for the very-low, two for the low, four for the normal. So none
 * that is due is passed over for two such rounds, and no more than the others' shares of two rounds
 * go before a more urgent one. */
#define PASSED_OVER_MAX 30
#define ROUND 15
static const int32_t shares[MESSAGE_URGENCIES] = {
    [MESSAGE_VERY_LOW] = 1, [MESSAGE_LOW] = 2, [MESSAGE_NORMAL] = 4, [MESSAGE_HIGH] = 8};

static bool is_due(const struct record *record, int64_t now_ms)
{
    return record->fate == FATE_WAITING && record->due_ms <= now_ms;
}

static void check_limits(struct model *model, uint32_t node, uint32_t service)
{
    uint32_t of_service = 0;
    uint32_t of_node = 0;
    uint32_t of_both = 0;
    for (size_t i = 0; i < model->live_count; i++) {
        const struct record *record = &model->records[model->live[i]];
        bool is_same = model_letter(model, record)->service == service;
        if (record->fate == FATE_LEASED) {
            bool is_own = model_flight(model, node, record->id, record->lease);
            of_service += is_same;
            of_node += is_own;
            of_both += is_same && is_own;
        }
    }
    uint32_t gate_max = model->services[service].gate.in_flight_max;
    must(model->trace, gate_max == 0 || of_service <= gate_max, "G5",
         "service %" PRIu32 " has %" PRIu32 " in flight of %" PRIu32, service, of_service,
         gate_max);
    must(model->trace, of_node <= model->plan->in_flight_max, "G6",
         "node %" PRIu32 " has %" PRIu32 " in flight", node, of_node);
    must(model->trace, of_both <= model->plan->in_flight_per_service_max, "G6",
         "node %" PRIu32 " has %" PRIu32 " in flight to service %" PRIu32, node, of_both, service);
}

/* G5: never more than burst + rate x time. Only where clocks do not step: a step starts time anew.
 */
static void check_rate(struct model *model, uint32_t index, int64_t now_ms)
{
    struct model_service *service = &model->services[index];
    if (service->gate.rate_milli_per_s == 0 || !model->is_clock_steady) {
        return;
    }
    int64_t full = (int64_t)service->gate.burst * 1000000;
    int64_t earned = (now_ms - service->tokens_at_ms) * (int64_t)service->gate.rate_milli_per_s;
    bool is_first = service->tokens_at_ms == 0;
    service->tokens_micro =
        is_first ? full : sooner_of(full, service->tokens_micro + later_of(0, earned));
    service->tokens_at_ms = later_of(service->tokens_at_ms, now_ms);
    service->tokens_micro -= 1000000;
    must(model->trace, service->tokens_micro >= 0, "G5", "service %" PRIu32 " is over its rate",
         index);
}

/* Urgency and due time among those that are due: those before it, and those that wait on. */
static void check_order(struct model *model, const struct record *taken, bool is_put,
                        int64_t now_ms)
{
    const struct letter *letter = model_letter(model, taken);
    struct model_service *service = &model->services[letter->service];
    bool is_left[MESSAGE_URGENCIES] = {false};
    for (size_t i = 0; i < model->live_count; i++) {
        const struct record *record = &model->records[model->live[i]];
        const struct letter *other = model_letter(model, record);
        bool is_unknown = is_put && record->back == model->batch; /* as the put was made ready */
        if (record == taken || other->service != letter->service || !is_due(record, now_ms) ||
            is_unknown) {
            continue;
        }
        is_left[other->urgency] = true;
        must(model->trace, other->urgency != letter->urgency || record->due_ms >= taken->due_ms,
             "Q5", "%" PRIu64 " of the same urgency was due before %" PRIu64, record->id,
             taken->id);
    }
    bool is_out_of_turn = false;
    for (int urgency = 0; urgency < MESSAGE_URGENCIES; urgency++) {
        bool is_passed = is_left[urgency] && urgency != letter->urgency;
        uint32_t *passed = &service->passed_over[urgency];
        *passed = is_passed ? *passed + 1 : 0;
        must(model->trace, *passed <= PASSED_OVER_MAX, "Q5",
             "urgency %d of service %" PRIu32 " starves", urgency, letter->service);
        is_out_of_turn = is_out_of_turn || (is_left[urgency] && urgency > letter->urgency);
    }
    /* Each lease earns every urgency its share; one before a more urgent one costs a whole. */
    for (int urgency = 0; urgency < MESSAGE_URGENCIES; urgency++) {
        int32_t *credit = &service->credit[urgency];
        *credit += *credit < ROUND * (shares[urgency] + 1) ? shares[urgency] : 0;
    }
    service->credit[letter->urgency] -= is_out_of_turn ? ROUND : 0;
    must(model->trace, service->credit[letter->urgency] >= -ROUND * 2, "Q5",
         "%" PRIu64 ", less urgent, takes more than its share of service %" PRIu32, taken->id,
         letter->service);
}

void model_grant(struct model *model, struct record *record, uint32_t node, uint64_t lease,
                 int64_t lease_until_ms, bool is_put, int64_t now_ms)
{
    const struct letter *letter = model_letter(model, record);
    struct model_service *service = &model->services[letter->service];
    struct trace *trace = model->trace;
    must(trace, record->fate == FATE_WAITING, "Q2", "%" PRIu64 " was leased, and did not wait",
         record->id);
    must(trace, record->due_ms <= now_ms, "B7",
         "%" PRIu64 " was leased at %" PRId64 " and is due at %" PRId64, record->id, now_ms,
         record->due_ms);
    must(trace, record->not_before_ms <= now_ms, "A3",
         "%" PRIu64 " was leased before its Retry-After was over", record->id);
    must(trace, model->required_hold_ms[letter->target] <= now_ms, "P3",
         "%" PRIu64 " was leased while its target is held", record->id);
    must(trace, service->gate.paused_until_ms <= now_ms, "P5",
         "%" PRIu64 " was leased while its service is paused", record->id);
    must(trace, !model->is_draining[node], "G6", "%" PRIu64 " was leased while draining",
         record->id);
    must(trace, lease_until_ms == now_ms + model->plan->lease_ms, "Q2", "a lease of %" PRId64,
         lease_until_ms - now_ms);
    if (!is_put || model->plan->node_count == 1) { /* what others have put it cannot know at once */
        check_order(model, record, is_put, now_ms);
    }
    check_rate(model, letter->service, now_ms);
    model_set_fate(model, record, FATE_LEASED);
    record->not_before_ms = 0; /* it was kept */
    record->lease = lease;
    record->lease_until_ms = lease_until_ms;
    record->node = node;
    model->totals.leased++;
    if (model_flight(model, node, record->id, lease) || model->flight_count == MODEL_FLIGHTS) {
        trace_fail(trace, "Q2", "%" PRIu64 " was leased twice by one lease", record->id);
        return;
    }
    model->flights[model->flight_count++] = (struct flight){
        .id = record->id, .lease = lease, .node = node, .leased_ms = now_ms, .asked_ms = -1};
    check_limits(model, node, letter->service);
}

/* For one token; a clock that was set back may cost all of a bucket. */
static int64_t longest_rate_wait_ms(const struct model *model, const struct model_service *service)
{
    int64_t tokens = model->is_clock_steady ? 1 : 1 + (int64_t)service->gate.burst;
    return 1 + tokens * 1000000 / (int64_t)service->gate.rate_milli_per_s;
}

/* Why it gave no more: it must be true, or messages wait for nothing. */
static void check_stop(struct model *model, const struct store_lease *lease, uint32_t index,
                       int64_t now_ms)
{
    const struct model_service *service = &model->services[index];
    uint32_t due = 0;
    uint32_t leased = 0;
    int64_t next_ms = LULL_NEVER;
    for (size_t i = 0; i < model->live_count; i++) {
        const struct record *record = &model->records[model->live[i]];
        if (model_letter(model, record)->service != index) {
            continue;
        }
        due += is_due(record, now_ms);
        leased += record->fate == FATE_LEASED;
        if (record->fate == FATE_WAITING && record->due_ms > now_ms) {
            next_ms = sooner_of(next_ms, record->due_ms);
        }
    }
    if (due == 0 || lease->ret_count == lease->max) {
        must(model->trace,
             due > 0 || lease->ret_stop != GATE_OPEN || lease->ret_until_ms <= next_ms, "Q10",
             "the next of service %" PRIu32 " is due before it is asked for", index);
        return;
    }
    switch (lease->ret_stop) {
    case GATE_PAUSED:
        must(model->trace,
             service->gate.paused_until_ms > now_ms &&
                 lease->ret_until_ms <= service->gate.paused_until_ms,
             "P5", "service %" PRIu32 " is not paused", index);
        break;
    case GATE_RATE:
        must(model->trace,
             service->gate.rate_milli_per_s > 0 &&
                 lease->ret_until_ms <= now_ms + longest_rate_wait_ms(model, service),
             "G5", "service %" PRIu32 " is not over its rate: for %" PRId64 " ms more", index,
             lease->ret_until_ms - now_ms);
        break;
    case GATE_FULL:
        must(model->trace, service->gate.in_flight_max > 0 && leased >= service->gate.in_flight_max,
             "G5", "service %" PRIu32 " is not full: %" PRIu32, index, leased);
        break;
    case GATE_OPEN:
    default:
        trace_fail(model->trace, "Q2",
                   "%" PRIu32 " of service %" PRIu32 " are due, and were not"
                   " leased",
                   due, index);
        break;
    }
}

void model_check_lease(struct model *model, uint32_t node, const struct store_lease *lease,
                       int64_t now_ms)
{
    uint32_t index = model_service_of(model, lease->service);
    must(model->trace, lease->ret_count <= lease->max, "Q2", "more than were wanted");
    for (uint32_t i = 0; i < lease->ret_count && !model->trace->has_failed; i++) {
        const struct message *message = lease->messages[i];
        struct record *record = model_find(model, message->id);
        if (!record || model_letter(model, record)->service != index) {
            trace_fail(model->trace, "Q2", "%" PRIu64 " is not of this service", message->id);
            return;
        }
        model_grant(model, record, node, lease->lease, lease->lease_until_ms, false, now_ms);
        trace_event(model->trace, "node %" PRIu32 " leased %" PRIu64, node, record->id);
    }
    if (!model->trace->has_failed) {
        check_stop(model, lease, index, now_ms);
    }
}
