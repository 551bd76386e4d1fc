/* model - see the header. SPDX-License-Identifier: MIT */
#include "model.h"

struct message *model_find(const struct model *model, uint64_t id)
{
    for (size_t i = 0; i < model->count; i++) {
        if (model->messages[i]->id == id) {
            return model->messages[i];
        }
    }
    return NULL;
}

uint64_t model_count(const struct model *model, enum message_place place)
{
    uint64_t count = 0;
    for (size_t i = 0; i < model->count; i++) {
        count += model->messages[i]->place == place;
    }
    return count;
}

int64_t model_next_due(const struct model *model, uint32_t service)
{
    int64_t next_ms = LULL_NEVER;
    for (size_t i = 0; i < model->count; i++) {
        const struct message *message = model->messages[i];
        if (message->place == MESSAGE_WAITING && (service == 0 || message->service == service) &&
            message->due_ms < next_ms) {
            next_ms = message->due_ms;
        }
    }
    return next_ms;
}

void model_clean_up(struct model *model)
{
    for (size_t i = 0; i < model->count; i++) {
        message_free(model->messages[i]);
    }
    model->count = 0;
}

static void drop(struct model *model, const struct message *message)
{
    for (size_t i = 0; i < model->count; i++) {
        if (model->messages[i] == message) {
            if (message->place == MESSAGE_LEASED) {
                gate_leave(&model->uses[message->service], 1);
            }
            message_free(model->messages[i]);
            memmove(&model->messages[i], &model->messages[i + 1],
                    (model->count - i - 1) * sizeof(struct message *));
            model->count--;
            return;
        }
    }
}

static void hold_back(const struct model *model, struct message *message, int64_t now_ms)
{
    int64_t until_ms = model->holds[message->target];
    if (until_ms > now_ms && message->due_ms < until_ms) {
        message->due_ms = until_ms;
        message->cause = MESSAGE_CAUSE_HELD;
    }
}

static void land(struct model *model, struct message *message, enum message_place place)
{
    if (message->place == MESSAGE_LEASED) {
        gate_leave(&model->uses[message->service], 1);
    }
    message->place = (uint8_t)place;
    message->lease = 0;
    message->lease_until_ms = 0;
}

static void settle(struct model *model, const struct store_settle *settle, int64_t now_ms)
{
    const struct message *change = settle->message;
    struct message *message = model_find(model, change->id);
    bool is_ours = message && message->place == MESSAGE_LEASED && message->lease == change->lease;
    assert_int_equal(settle->ret_is_stale, !is_ours);
    if (settle->kind == STORE_DONE) {
        if (message) {
            drop(model, message);
        }
        return;
    }
    if (!is_ours) {
        return;
    }
    message->due_ms = change->due_ms;
    message->attempts = change->attempts;
    message->auth_retries = change->auth_retries;
    message->lost = change->lost;
    message->previous_delay_ms = change->previous_delay_ms;
    message->cause = change->cause;
    assert_true(message_set_history(message, change->history.data, change->history.length));
    if (settle->kind == STORE_DIE) {
        land(model, message, MESSAGE_DEAD);
        message->reason = change->reason;
        message->status = change->status;
        message->died_ms = change->died_ms;
    } else {
        hold_back(model, message, now_ms);
        land(model, message, MESSAGE_WAITING);
    }
}

static void cancel(struct model *model, const struct store_cancel *cancel, int64_t now_ms)
{
    struct message *message = model_find(model, cancel->id);
    bool is_waiting = message && message->place == MESSAGE_WAITING;
    assert_int_equal(cancel->ret_is_done, is_waiting);
    if (is_waiting) {
        assert_int_equal(cancel->ret_service, message->service);
        land(model, message, MESSAGE_DEAD);
        message->reason = LULL_REASON_CANCELLED;
        message->died_ms = now_ms;
    }
}

static void hold(struct model *model, const struct store_hold *hold, int64_t now_ms)
{
    if (hold->until_ms <= now_ms || hold->until_ms <= model->holds[hold->target]) {
        return;
    }
    model->holds[hold->target] = hold->until_ms;
    for (size_t i = 0; i < model->count; i++) {
        struct message *message = model->messages[i];
        if (message->place == MESSAGE_WAITING && message->target == hold->target) {
            hold_back(model, message, now_ms);
        }
    }
}

static void set_gate(struct model *model, const struct store_set_gate *set)
{
    struct gate *gate = &model->gates[set->service];
    assert_int_equal(set->ret_is_set, gate->version == set->expected_version);
    if (set->ret_is_set) {
        *gate = set->gate;
        gate->version = set->expected_version + 1;
    }
}

static uint64_t replace(struct model *model, const struct message *new)
{
    for (size_t i = 0; new->topic != 0 && i < model->count; i++) { /* by id: the oldest first */
        const struct message *message = model->messages[i];
        if (message->place == MESSAGE_WAITING && message->target == new->target &&
            message->topic == new->topic) {
            uint64_t id = message->id;
            drop(model, message);
            return id;
        }
    }
    return 0;
}

static bool is_known(const struct model *model, const struct store_put *put, uint64_t first_id,
                     int64_t now_ms)
{
    const struct model_key *key = &model->keys[put->key[0]];
    if (!put->has_key || key->id == 0 || key->until_ms <= now_ms) {
        return false;
    }
    assert_int_equal(put->ret_id, key->id);
    assert_int_equal(put->ret_result, key->request != put->request[0] ? STORE_PUT_CONFLICT
                                      : key->id >= first_id           ? STORE_PUT_UNDER_WAY
                                                                      : STORE_PUT_REPEATED);
    return true;
}

static void put(struct model *model, const struct store_put *put, uint64_t first_id, int64_t now_ms)
{
    if (is_known(model, put, first_id, now_ms)) {
        return;
    }
    assert_true(model->count < MODEL_MESSAGES);
    if (model->next_id == 0) {
        model->next_id = put->ret_id; /* where a store begins is its own affair */
    }
    assert_int_equal(put->ret_id, model->next_id);
    model->next_id++;
    if (put->has_key) {
        model->keys[put->key[0]] =
            (struct model_key){put->ret_id, put->request[0], put->key_until_ms};
    }
    struct message *message = message_copy(put->message);
    assert_non_null(message);
    assert_int_equal(put->ret_replaced, replace(model, message));
    bool is_wanted = put->is_lease_wanted && message->due_ms <= now_ms &&
                     model->holds[message->target] <= now_ms;
    enum gate_stop stop = GATE_OPEN;
    int64_t until_ms = 0;
    bool is_leased =
        is_wanted && gate_pass(&model->gates[message->service], &model->uses[message->service],
                               now_ms, 1, &stop, &until_ms) == 1;
    assert_int_equal(put->ret_result, is_leased ? STORE_PUT_LEASED : STORE_PUT_WAITING);
    assert_int_equal(message->place, is_leased ? MESSAGE_LEASED : MESSAGE_WAITING);
    assert_true(model->holds[message->target] <= now_ms ||
                message->due_ms >= model->holds[message->target]);
    model->messages[model->count++] = message;
}

/* Nothing of the same urgency was due before it. */
static bool is_next(const struct model *model, const struct message *message)
{
    for (size_t i = 0; i < model->count; i++) {
        const struct message *other = model->messages[i];
        if (other->place == MESSAGE_WAITING && other->service == message->service &&
            other->urgency == message->urgency &&
            (other->due_ms < message->due_ms ||
             (other->due_ms == message->due_ms && other->id < message->id))) {
            return false;
        }
    }
    return true;
}

static uint32_t count_due(const struct model *model, uint32_t service, int64_t now_ms)
{
    uint32_t count = 0;
    for (size_t i = 0; i < model->count; i++) {
        const struct message *message = model->messages[i];
        count += message->place == MESSAGE_WAITING && message->service == service &&
                 message->due_ms <= now_ms;
    }
    return count;
}

static void lease(struct model *model, const struct store_lease *lease, int64_t now_ms)
{
    uint32_t due = count_due(model, lease->service, now_ms);
    uint32_t wanted = due < lease->max ? due : lease->max;
    enum gate_stop stop = GATE_OPEN;
    int64_t until_ms = 0;
    uint32_t passed = gate_pass(&model->gates[lease->service], &model->uses[lease->service], now_ms,
                                wanted, &stop, &until_ms);
    assert_int_equal(lease->ret_count, passed);
    for (uint32_t i = 0; i < lease->ret_count; i++) {
        struct message *message = model_find(model, lease->messages[i]->id);
        assert_non_null(message);
        assert_int_equal(message->place, MESSAGE_WAITING);
        assert_true(message->due_ms <= now_ms);
        assert_true(is_next(model, message));
        message->place = MESSAGE_LEASED;
        message->lease = lease->lease;
        message->lease_until_ms = lease->lease_until_ms;
    }
    assert_int_equal(lease->ret_stop, stop);
    assert_true(lease->ret_until_ms ==
                (stop == GATE_OPEN ? model_next_due(model, lease->service) : until_ms));
}

void model_apply(struct model *model, const struct store_batch *batch, int64_t now_ms)
{
    for (size_t i = 0; i < batch->settle_count; i++) {
        settle(model, &batch->settles[i], now_ms);
    }
    for (size_t i = 0; i < batch->cancel_count; i++) {
        cancel(model, &batch->cancels[i], now_ms);
    }
    for (size_t i = 0; i < batch->hold_count; i++) {
        hold(model, &batch->holds[i], now_ms);
    }
    for (size_t i = 0; i < batch->gate_count; i++) {
        set_gate(model, &batch->gates[i]);
    }
    uint64_t first_id = model->next_id;
    for (size_t i = 0; i < batch->put_count; i++) {
        put(model, &batch->puts[i], first_id, now_ms);
    }
    for (size_t i = 0; i < batch->lease_count; i++) {
        lease(model, &batch->leases[i], now_ms);
    }
}

uint64_t model_reclaim(struct model *model, int64_t now_ms, bool is_all)
{
    uint64_t count = 0;
    for (size_t i = 0; i < model->count; i++) {
        struct message *message = model->messages[i];
        if (message->place == MESSAGE_LEASED && (is_all || message->lease_until_ms <= now_ms)) {
            message->due_ms = now_ms;
            message->cause = MESSAGE_CAUSE_RETURNED;
            message->lost++;
            hold_back(model, message, now_ms);
            land(model, message, MESSAGE_WAITING);
            count++;
        }
    }
    return count;
}

void model_sweep(struct model *model, int64_t now_ms)
{
    for (int key = 0; key < MODEL_KEYS; key++) {
        if (model->keys[key].until_ms <= now_ms) {
            model->keys[key] = (struct model_key){0};
        }
    }
    for (int target = 1; target <= MODEL_TARGETS; target++) {
        if (model->holds[target] <= now_ms) {
            model->holds[target] = 0;
        }
    }
}
