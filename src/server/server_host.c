/* server_host - what the delivery asks of the world: see delivery.h. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/subscription.h"
#include "owner.h"
#include "server_parts.h"

/* ---- parcels ---- */

static struct parcel *new_parcel(struct server *server)
{
    struct parcel *parcel = server->idle;
    if (!parcel) {
        return calloc(1, sizeof *parcel);
    }
    server->idle = parcel->next;
    return parcel;
}

static void put_away(struct server *server, struct parcel *parcel)
{
    parcel->message = NULL;
    parcel->next = server->idle;
    server->idle = parcel;
}

/* One of very many: read each time. */
static const struct lull_policy *own_policy(const struct config *config, struct parcel *parcel,
                                            const char *text)
{
    if (!parcel->own_policy && !(parcel->own_policy = malloc(sizeof *parcel->own_policy))) {
        abort(); /* as in take */
    }
    int error = config_policy_parse(config, text, strlen(text), parcel->own_policy, NULL);
    return error == LULL_OK ? parcel->own_policy : NULL;
}

/* By the text that it was accepted with; if the operator has taken that out of the configuration,
 * by the usual one: no message is lost by it. */
static const struct lull_policy *policy_of(struct server *server, struct parcel *parcel)
{
    const struct config *config = server->config;
    bool is_push = parcel->message->kind == LULL_KIND_PUSH;
    const char *usual = is_push ? config->push_policy : config->webhook_policy;
    const char *text = parcel->envelope.policy;
    const struct lull_policy *policy = policy_shelf_find(&server->policies, text);
    if (!policy && policy_shelf_is_full(&server->policies)) {
        policy = own_policy(config, parcel, text);
    }
    return policy ? policy : policy_shelf_find(&server->policies, usual);
}

static bool take(void *userdata, struct message *message, struct engine_message *ret_known)
{
    struct server *server = userdata;
    struct parcel *parcel = new_parcel(server);
    if (!parcel) {
        abort(); /* as every allocation that nothing can go on without */
    }
    const struct lull_policy *policy = NULL;
    message->userdata = parcel;
    if (!parcel_open(parcel, message) || !(policy = policy_of(server, parcel))) {
        return false;
    }
    ret_known->policy = policy;
    ret_known->vendor = parcel->vendor;
    ret_known->method = lull_method_from_string(parcel->envelope.method);
    return true;
}

static void send_parcel(void *userdata, struct message *message, const struct engine_order *order)
{
    struct server *server = userdata;
    struct parcel *parcel = message->userdata;
    struct parcel_row *row = &server->outgoing[message->target % server->sender_count];
    parcel->remaining_ms = order->remaining_ms;
    parcel->is_token_doubted = order->is_token_doubted;
    parcel->next = NULL;
    *(row->last ? &row->last->next : &row->first) = parcel;
    row->last = parcel;
}

static void let_go(void *userdata, struct message *message)
{
    put_away(userdata, message->userdata);
}

/* How long it waited for a connection, or has, until it gave up. */
static void tell_queued(struct server *server, const struct parcel *parcel)
{
    const struct transport_request *request = &parcel->request;
    bool is_sent = request->sent_ms >= 0;
    bool gave_up = !is_sent && request->outcome.transport == LULL_TRANSPORT_CONNECT_TIMEOUT;
    if (is_sent || gave_up) {
        delivery_queued(server->delivery, parcel->message,
                        is_sent ? request->sent_ms - request->submitted_ms
                                : request->connect_timeout_ms);
    }
}

static void recall(void *userdata, const struct message *message, bool is_service)
{
    struct server *server = userdata;
    const struct sender_recall wanted = {NULL, message->target, message->service, is_service};
    for (uint32_t i = 0; i < server->sender_count; i++) {
        if (is_service || i == message->target % server->sender_count) {
            sender_recall(server->senders[i], &wanted);
        }
    }
}

void server_take_back(struct server *server, struct parcel *parcel, int64_t now_ms)
{
    if (parcel->is_returned) {
        delivery_return(server->delivery, parcel->message, now_ms);
    } else {
        tell_queued(server, parcel);
        delivery_outcome(server->delivery, parcel->message, &parcel->request.outcome, now_ms);
    }
}

/* ---- jobs ---- */

static void on_put(void *userdata, struct delivery_put *put, int error)
{
    struct server *server = userdata;
    struct job_put *job = owner_of(put, struct job_put, put);
    struct store_put *done = &put->put;
    job->error = error;
    if (error == LULL_OK) {
        bool is_leased = done->ret_result == STORE_PUT_LEASED;
        bool is_new = is_leased || done->ret_result == STORE_PUT_WAITING;
        server->totals.accepted += is_new;
        server->totals.repeated +=
            done->ret_result == STORE_PUT_REPEATED || done->ret_result == STORE_PUT_UNDER_WAY;
        if (done->ret_replaced != 0) {
            server->totals.replaced++;
            departed_add(&server->departed, &(struct departed){.id = done->ret_replaced,
                                                               .at_ms = done->message->accepted_ms,
                                                               .is_replaced = true,
                                                               .replaced_by = done->ret_id});
        }
        if (is_leased) {
            done->message = NULL; /* the delivery's now */
        }
    }
    job->job.done(&job->job);
}

static void on_cancel(void *userdata, struct delivery_cancel *cancel, enum delivery_cancelled how)
{
    struct server *server = userdata;
    struct job_cancel *job = owner_of(cancel, struct job_cancel, cancel);
    job->how = how;
    server->totals.dead[LULL_REASON_CANCELLED] += how == DELIVERY_CANCELLED;
    job->job.done(&job->job);
}

/* ---- what is told ---- */

static void name_message(struct log_line *line, const struct server *server,
                         const struct message *message)
{
    const struct parcel *parcel = message->userdata;
    char hash[LULL_ENDPOINT_HASH_SIZE];
    lull_endpoint_hash(parcel->envelope.url, hash);
    log_text(line, "id", parcel->id);
    log_text(line, "correlation_id",
             *parcel->envelope.correlation_id != '\0' ? parcel->envelope.correlation_id
                                                      : parcel->id);
    log_text(line, "endpoint_hash", hash);
    log_text(line, "service", delivery_service_name(server->delivery, message->service));
}

/* What a header of the answer says, cut to fit. */
static void log_header(struct log_line *line, const char *name, const struct lull_outcome *outcome,
                       const char *header)
{
    char text[128];
    for (size_t i = 0; i < outcome->header_count; i++) {
        const struct lull_header *one = &outcome->headers[i];
        if (one->name_length == strlen(header) &&
            strncasecmp(one->name, header, one->name_length) == 0) {
            size_t length = one->value_length < sizeof text ? one->value_length : sizeof text - 1;
            memcpy(text, one->value, length);
            text[length] = '\0';
            log_text(line, name, text);
            return;
        }
    }
}

static void log_failure(const struct server *server, const struct message *message,
                        const struct lull_outcome *outcome, const struct engine_order *order)
{
    struct log_line line;
    const struct parcel *parcel = message->userdata;
    bool is_warning = (order->verdict.side_effects &
                       (LULL_DO_WARN_AUTH_SUSPECT | LULL_DO_WARN_RETRY_AFTER_MISSING |
                        LULL_DO_WARN_RETRY_AFTER_MALFORMED | LULL_DO_ALERT)) != 0;
    log_begin(&line, is_warning ? LOG_WARN : LOG_INFO,
              order->kind == ENGINE_RETRY ? "retry" : "failed");
    if (!line.is_wanted) {
        return;
    }
    name_message(&line, server, message);
    if (outcome->kind == LULL_OUTCOME_STATUS) {
        log_number(&line, "status_code", outcome->status);
        log_header(&line, "retry_after_header", outcome, "retry-after");
        log_header(&line, "vendor_request_id", outcome, "x-request-id");
    } else {
        log_text(&line, "transport", lull_transport_to_string(outcome->transport));
        log_text(&line, "detail", parcel->request.detail ? parcel->request.detail : "");
    }
    log_number(&line, "attempt", (int64_t)message->attempts + 1);
    log_text(&line, "reason", lull_reason_to_string(order->reason));
    if (order->kind == ENGINE_RETRY) {
        log_number(&line, "delay_ms", order->verdict.delay_ms);
    }
    for (unsigned i = 0; is_warning && i < LULL_SIDE_EFFECTS; i++) {
        if (order->verdict.side_effects & (1U << i)) {
            log_text(&line, "note", lull_side_effect_to_string((enum lull_side_effect)(1U << i)));
        }
    }
    log_end(&line);
}

static void on_attempt(void *userdata, const struct message *message,
                       const struct lull_outcome *outcome, const struct engine_order *order,
                       int64_t started_ms, int64_t now_ms)
{
    struct server *server = userdata;
    (void)started_ms;
    (void)now_ms;
    server->totals.attempts++;
    server->totals.retries += message->attempts > 0;
    server->attempts_by_class[order->verdict.class_]++;
    if (order->kind != ENGINE_DONE) {
        log_failure(server, message, outcome, order);
    }
}

static void log_end_of(const struct server *server, const struct message *message,
                       const struct engine_order *order)
{
    struct log_line line;
    bool is_dead = order->kind == ENGINE_DIE;
    log_begin(&line, is_dead ? LOG_WARN : LOG_DEBUG, is_dead ? "dead" : "delivered");
    if (!line.is_wanted) {
        return;
    }
    const struct parcel *parcel = message->userdata;
    if (parcel->message) { /* else its envelope made no sense */
        name_message(&line, server, message);
    }
    log_number(&line, "attempts", message->attempts);
    if (is_dead) {
        log_text(&line, "reason", lull_reason_to_string(order->reason));
    }
    log_end(&line);
}

/* What is shown of it later. Without memory for it, less is shown. */
static struct message *kept_copy(const struct server *server, const struct message *message)
{
    return server->departed.size > 0 ? message_copy_without_body(message) : NULL;
}

static void on_settled(void *userdata, const struct message *message,
                       const struct engine_order *order, bool is_stale, int64_t now_ms)
{
    struct server *server = userdata;
    if (is_stale || order->kind == ENGINE_RETRY) {
        return;
    }
    if (order->kind == ENGINE_DONE) {
        server->totals.delivered++;
        departed_add(&server->departed, &(struct departed){.id = message->id,
                                                           .at_ms = now_ms,
                                                           .attempts = message->attempts,
                                                           .status = message->status,
                                                           .message = kept_copy(server, message)});
    } else {
        server->totals.dead[order->reason]++;
    }
    log_end_of(server, message, order);
}

static void limit(void *userdata, const char *name, struct gate *gate)
{
    const struct server *server = userdata;
    const struct config_service *service = config_find_service(server->config, name);
    gate->rate_milli_per_s = service ? service->rate_milli_per_s : 0;
    gate->burst = service ? service->burst : 0;
    gate->in_flight_max = service ? service->in_flight_max : 0;
}

struct delivery_host server_host(struct server *server)
{
    return (struct delivery_host){
        .userdata = server,
        .take = take,
        .send = send_parcel,
        .recall = recall,
        .let_go = let_go,
        .on_put = on_put,
        .on_cancel = on_cancel,
        .on_attempt = on_attempt,
        .on_settled = on_settled,
        .limit = limit,
    };
}
