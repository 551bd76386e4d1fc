/* message_json - see the header. SPDX-License-Identifier: MIT */
#include "message_json.h"

#include <string.h>

#include "envelope.h"
#include "history.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/subscription.h"
#include "lull/vendor.h"
#include "time_text.h"
#include "why_waiting.h"

/* The value is taken over. jansson refuses one that is NULL, and an object that is: so what there
 * was no memory for is found here. */
static bool set(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) == 0;
}

json_t *message_json_time(int64_t ms)
{
    char text[TIME_TEXT_SIZE];
    if (ms == LULL_NEVER) {
        return json_null();
    }
    time_text_write(ms, text);
    return json_string(text);
}

json_t *message_json_id(uint64_t id)
{
    char text[MESSAGE_ID_TEXT_SIZE];
    message_id_write(id, text);
    return json_string(text);
}

/* ---- the attempts ---- */

static json_t *number_or_null(bool is_there, int64_t number)
{
    return is_there ? json_integer(number) : json_null();
}

static json_t *attempt_json(const struct attempt *attempt)
{
    enum lull_transport transport = (enum lull_transport)attempt->transport;
    json_t *json = json_object();
    bool is_done =
        set(json, "number", json_integer(attempt->number)) &&
        set(json, "at", message_json_time(attempt->started_ms)) &&
        set(json, "duration_ms", json_integer(attempt->duration_ms)) &&
        set(json, "status", number_or_null(attempt->status != 0, attempt->status)) &&
        set(json, "transport",
            transport == LULL_TRANSPORT_NONE ? json_null()
                                             : json_string(lull_transport_to_string(transport))) &&
        set(json, "class", json_string(lull_class_to_string((enum lull_class)attempt->class_))) &&
        set(json, "effect",
            json_string(lull_effect_to_string((enum lull_effect)attempt->effect))) &&
        set(json, "reason",
            json_string(lull_reason_to_string((enum lull_reason)attempt->reason))) &&
        set(json, "delay_ms", json_integer(attempt->delay_ms)) &&
        set(json, "retry_after_ms",
            number_or_null(attempt->retry_after_ms >= 0, attempt->retry_after_ms));
    if (!is_done) {
        json_decref(json);
        return NULL;
    }
    return json;
}

static json_t *attempts_json(const struct message_bytes *history)
{
    json_t *list = json_array();
    struct attempt attempt;
    for (size_t i = 0; list && history_get(history->data, history->length, i, &attempt); i++) {
        if (json_array_append_new(list, attempt_json(&attempt))) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* ---- the message ---- */

static bool add_envelope(json_t *json, const struct message *message,
                         const struct envelope *envelope)
{
    char hash[LULL_ENDPOINT_HASH_SIZE];
    lull_endpoint_hash(envelope->url, hash);
    return set(json, "policy", json_string(envelope->policy)) &&
           (!envelope->topic[0] || set(json, "topic", json_string(envelope->topic))) &&
           set(json, "correlation_id",
               envelope->correlation_id[0] ? json_string(envelope->correlation_id)
                                           : message_json_id(message->id)) &&
           set(json, "endpoint_hash", json_string(hash)) &&
           set(json, "accepted_at", message_json_time(envelope->received_ms));
}

static bool add_waiting(json_t *json, const struct message *message, const struct job_gate *gate,
                        int64_t now_ms)
{
    struct why_waiting why;
    why_waiting(message, gate, now_ms, &why);
    json_t *waiting_for = json_object();
    bool is_done = set(waiting_for, "cause", json_string(why.cause)) &&
                   set(waiting_for, "until", message_json_time(why.until_ms)) &&
                   set(waiting_for, "text", json_string(why.text));
    return set(json, "due_at", message_json_time(message->due_ms)) &&
           set(json, "waiting_for", waiting_for) && is_done;
}

static bool add_death(json_t *json, const struct message *message)
{
    enum lull_reason reason = (enum lull_reason)message->reason;
    return set(json, "reason", json_string(lull_reason_to_string(reason))) &&
           (!message->status || set(json, "status", json_integer(message->status))) &&
           set(json, "died_at", message_json_time(message->died_ms));
}

/* What is said of a message wherever it is. */
static bool add_message(json_t *json, const struct message *message, const struct job_gate *gate,
                        bool has_attempts)
{
    struct envelope envelope;
    bool is_whole =
        envelope_unpack(&envelope, message->envelope.data, message->envelope.length) == LULL_OK;
    enum message_urgency urgency = (enum message_urgency)message->urgency;
    return set(json, "kind", json_string(lull_kind_to_string((enum lull_kind)message->kind))) &&
           set(json, "service", json_string(gate->service)) &&
           set(json, "urgency", json_string(message_urgency_to_string(urgency))) &&
           (!is_whole || add_envelope(json, message, &envelope)) &&
           set(json, "expires_at", message_json_time(message->accepted_ms + message->ttl_ms)) &&
           set(json, "ttl", json_integer(message->ttl_ms / 1000)) &&
           set(json, "attempts_made", json_integer(message->attempts)) &&
           (!has_attempts || set(json, "attempts", attempts_json(&message->history)));
}

json_t *message_json(const struct message *message, const struct job_gate *gate, int64_t now_ms,
                     bool has_attempts)
{
    enum message_place place = (enum message_place)message->place;
    json_t *json = json_object();
    bool is_done = set(json, "id", message_json_id(message->id)) &&
                   set(json, "state", json_string(message_place_to_string(place))) &&
                   add_message(json, message, gate, has_attempts) &&
                   (place != MESSAGE_WAITING || add_waiting(json, message, gate, now_ms)) &&
                   (place != MESSAGE_DEAD || add_death(json, message));
    if (!is_done) {
        json_decref(json);
        return NULL;
    }
    return json;
}

/* ---- what has left ---- */

static bool add_departure(json_t *json, const struct departed *departed)
{
    return departed->is_replaced
               ? set(json, "replaced_by", message_json_id(departed->replaced_by))
               : set(json, "delivered_at", message_json_time(departed->at_ms)) &&
                     (!departed->status || set(json, "status", json_integer(departed->status)));
}

json_t *message_json_departed(const struct departed *departed, const struct message *message,
                              const struct job_gate *gate)
{
    const char *state = departed->is_replaced ? "replaced" : "delivered";
    json_t *json = json_object();
    bool is_done = set(json, "id", message_json_id(departed->id)) &&
                   set(json, "state", json_string(state)) &&
                   (message ? add_message(json, message, gate, true)
                            : set(json, "attempts_made", json_integer(departed->attempts))) &&
                   add_departure(json, departed);
    if (!is_done) {
        json_decref(json);
        return NULL;
    }
    return json;
}

json_t *message_json_gone_by(uint64_t id)
{
    json_t *json = json_object();
    if (!set(json, "id", message_json_id(id)) || !set(json, "state", json_string("gone_by"))) {
        json_decref(json);
        return NULL;
    }
    return json;
}
