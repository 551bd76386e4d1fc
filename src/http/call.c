/* call - see the header for the states. SPDX-License-Identifier: MIT */
#include "call.h"

#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "instant.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/os.h"
#include "multi.h"
#include "result.h"
#include "seldom.h"

/* ---- what is learned when it is needed ---- */

struct lull_random *call_random(struct call *call)
{
    if (!call->has_random) {
        lull_random_init(&call->random, client_draw(call->client));
        call->has_random = true;
    }
    return &call->random;
}

SELDOM static void begin_trace(struct call *call)
{
    const char *parent = call->request.traceparent;
    call->has_trace = true;
    /* What cannot be read is replaced by a trace of our own, as the standard has it. */
    if (lull_trace_context_parse(&call->trace, parent, strlen(parent)) != LULL_OK) {
        call->trace = lull_trace_context_new(call_random(call));
        call->request.tracestate = NULL;
    }
    memcpy(call->result->trace_id, call->trace.trace_id, sizeof call->trace.trace_id);
}

/* The wall clock is read for the first question to which it matters: of a success nobody asks. */
static int64_t wall_ms(struct call *call, int64_t mono_ms)
{
    if (!call->has_wall) {
        call->start_wall_ms = lull_os_now_ms() - (lull_os_mono_ms() - call->start_ms);
        call->facts.first_accepted_ms = call->start_wall_ms;
        call->has_wall = true;
    }
    return call->start_wall_ms + (mono_ms - call->start_ms);
}

/* ---- the end ---- */

static struct lull_response last_response(const struct call *call)
{
    return (struct lull_response){call->last.status, call->last.headers, call->last.header_count};
}

/* A response that was not streamed, because it might have been retried, is the one after all. */
SELDOM static void give_to_sink(struct call *call)
{
    const struct lull_sink *sink = &call->request.sink;
    struct lull_response response = last_response(call);
    if (!call->last.is_head_complete) {
        return;
    }
    if (!sink->begin(sink->userdata, &response, call->is_sink_begun) ||
        (call->last.body_length > 0 &&
         !sink->write(sink->userdata, call->last.body, call->last.body_length))) {
        call->is_last_complete = false;
        call->last_code = CURLE_WRITE_ERROR;
    }
    call->last.body_length = 0;
}

/* The result, with what is left of the response, whose body it takes. */
static void give_back(struct call *call, struct response *response,
                      const struct lull_verdict *verdict, int64_t mono_ms)
{
    struct lull_result *result = call->result;
    result->verdict = verdict->kind;
    result->reason = verdict->reason;
    result->code = call->last_code;
    result->duration_ms = mono_ms - call->start_ms;
    if (response->is_head_complete) {
        result->status = response->status;
        result->headers = response_copy_headers(response);
        result->header_count = result->headers ? response->header_count : 0;
        result->body = response->body;
        result->body_length = response->body_length;
        result->is_body_complete = call->is_last_complete;
        result->is_body_cut = response->is_body_cut;
        response->body = NULL;
        response->body_size = 0;
    }
    call->state = CALL_DONE;
    multi_reschedule(call->multi, call, LULL_NEVER);
}

static void end(struct call *call, const struct lull_verdict *verdict, bool was_streamed,
                int64_t mono_ms)
{
    if (call->request.sink.write && !was_streamed && verdict->reason != LULL_REASON_CANCELLED) {
        give_to_sink(call);
    }
    give_back(call, &call->last, verdict, mono_ms);
}

/* ---- attempts ---- */

static bool start_transfer(struct call *call, bool is_hedge, struct lull_breaker_permit permit,
                           int64_t mono_ms)
{
    struct lull_attempt *attempt = result_add_attempt(call->result);
    if (!attempt) {
        return false;
    }
    attempt->number = call->facts.attempt;
    attempt->is_hedge = is_hedge;
    attempt->started_ms = mono_ms - call->start_ms;
    attempt->retry_after_ms = -1;
    struct transfer *transfer =
        multi_start(call->multi, call, is_hedge, call->result->attempt_count - 1, mono_ms);
    if (!transfer) {
        call->result->attempt_count--;
        return false;
    }
    transfer->permit = permit;
    call->transfers[is_hedge] = transfer;
    return true;
}

static bool is_hedgeable(const struct call *call)
{
    enum lull_method method = call->facts.method;
    return call->request.is_hedged && call->request.body.kind == LULL_BODY_NONE &&
           (method == LULL_METHOD_GET || method == LULL_METHOD_HEAD ||
            method == LULL_METHOD_OPTIONS);
}

struct judgement {
    struct lull_verdict verdict;
    struct lull_trace trace; /* only if somebody wants to hear of it */
};

SELDOM static void judge(struct call *call, const struct lull_outcome *outcome, int64_t mono_ms,
                         struct judgement *ret)
{
    /* Facts and outcome are made here, within their range. */
    (void)lull_decide(call->policy, &call->facts, outcome, wall_ms(call, mono_ms),
                      call_random(call), &ret->verdict,
                      call->request.hooks.after_decision ? &ret->trace : NULL);
}

/* In the instant in which a call begins neither its time nor its attempts can have run out, so that
 * only a name under .invalid or an open circuit could keep it back. */
static bool is_sure_to_go(const struct call *call, int64_t mono_ms)
{
    return call->facts.attempt == 1 && mono_ms == call->start_ms && !call->facts.is_circuit_open &&
           call->facts.vendor != LULL_VENDOR_INVALID;
}

SELDOM static bool decide_before(struct call *call, int64_t mono_ms,
                                 struct lull_breaker_permit permit)
{
    struct lull_outcome outcome = {.kind = LULL_OUTCOME_PENDING};
    struct judgement judgement;
    judge(call, &outcome, mono_ms, &judgement);
    if (judgement.verdict.kind == LULL_VERDICT_SEND) {
        return true;
    }
    if (judgement.verdict.kind == LULL_VERDICT_WAIT) { /* a queue would keep it; here is none */
        judgement.verdict.kind = LULL_VERDICT_GIVE_UP;
    }
    client_report(call->client, call->origin.key, mono_ms, permit, LULL_CLASS_CANCELLED, 0, -1);
    if (call->request.hooks.after_decision) {
        call->request.hooks.after_decision(call->request.hooks.userdata, NULL, &judgement.verdict,
                                           &judgement.trace);
    }
    end(call, &judgement.verdict, false, mono_ms);
    return false;
}

/* The questions before an attempt: is there time, is the circuit closed, can the target exist? */
static bool ask_before(struct call *call, int64_t mono_ms, struct lull_breaker_permit *ret_permit)
{
    bool is_first = call->facts.attempt == 1;
    call->facts.is_budget_exhausted = false; /* this one has been paid for */
    call->facts.is_circuit_open =
        client_ask(call->client, call->origin.key, mono_ms, is_first, ret_permit) > 0;
    if (is_first && call->request.traceparent) {
        begin_trace(call);
    }
    return is_sure_to_go(call, mono_ms) || decide_before(call, mono_ms, *ret_permit);
}

/* The headers of this attempt. False: no memory. */
SELDOM static bool ask_headers(struct call *call, int64_t mono_ms)
{
    const struct lull_hooks *hooks = &call->request.hooks;
    int64_t ttl_ms =
        call->facts.ttl_ms == LULL_TTL_DEFAULT ? call->policy->ttl_ms : call->facts.ttl_ms;
    struct lull_attempt_plan plan = {
        .number = call->facts.attempt,
        .remaining_ms = LULL_NEVER,
        .is_jwt_doubted = call->is_jwt_doubted,
    };
    if (ttl_ms != LULL_NEVER) {
        int64_t age_ms = mono_ms - call->start_ms;
        plan.remaining_ms = age_ms < ttl_ms ? ttl_ms - age_ms : 0;
    }
    call->request.headers = hooks->before_attempt(hooks->userdata, &plan);
    return call->request.headers != NULL;
}

static void start_attempt(struct call *call, int64_t mono_ms)
{
    struct lull_breaker_permit permit;
    if (!ask_before(call, mono_ms, &permit)) {
        return;
    }
    call->winner = NULL;
    bool has_headers = !call->request.hooks.before_attempt || ask_headers(call, mono_ms);
    if (!has_headers || !start_transfer(call, false, permit, mono_ms)) {
        struct lull_verdict verdict = {LULL_VERDICT_GIVE_UP, .reason = LULL_REASON_CANCELLED};
        client_report(call->client, call->origin.key, mono_ms, permit, LULL_CLASS_CANCELLED, 0, -1);
        call->last_code = CURLE_OUT_OF_MEMORY;
        end(call, &verdict, false, mono_ms);
        return;
    }
    call->state = CALL_RUNNING;
    int64_t timeout_ms = call->request.timeout_ms > 0 ? call->request.timeout_ms : LULL_NEVER;
    call->stop_at_ms = instant_earlier(instant_after(mono_ms, timeout_ms),
                                       instant_after(call->start_ms, call->policy->deadline_ms));
    call->hedge_at_ms = LULL_NEVER;
    if (is_hedgeable(call)) {
        call->hedge_at_ms =
            instant_after(mono_ms, client_hedge_delay_ms(call->client, call->origin.key, mono_ms));
    }
    multi_reschedule(call->multi, call, instant_earlier(call->stop_at_ms, call->hedge_at_ms));
}

SELDOM static void start_hedge(struct call *call, int64_t mono_ms)
{
    struct lull_breaker_permit permit;
    call->hedge_at_ms = LULL_NEVER; /* one at most */
    if (call->winner || call->transfers[1] ||
        !client_take_hedge(call->client, call->origin.key, mono_ms, &permit)) {
        return;
    }
    if (!start_transfer(call, true, permit, mono_ms)) {
        client_report(call->client, call->origin.key, mono_ms, permit, LULL_CLASS_CANCELLED, 0, -1);
    }
}

static struct lull_attempt *attempt_of(struct call *call, const struct transfer *transfer)
{
    return &call->result->attempts[transfer->attempt];
}

/* The other one has answered, or it is over. */
SELDOM static void abandon(struct call *call, struct transfer *transfer, int64_t mono_ms)
{
    struct lull_attempt *attempt = attempt_of(call, transfer);
    attempt->is_abandoned = true;
    attempt->duration_ms = mono_ms - transfer->started_ms;
    attempt->class_ = LULL_CLASS_CANCELLED;
    attempt->transport = LULL_TRANSPORT_CANCELLED;
    attempt->effect = LULL_EFFECT_UNKNOWN;
    attempt->reason = LULL_REASON_CANCELLED;
    client_report(call->client, call->origin.key, mono_ms, transfer->permit, LULL_CLASS_CANCELLED,
                  0, -1);
    call->transfers[transfer == call->transfers[1]] = NULL;
    multi_stop(call->multi, transfer);
}

static void abandon_all_but(struct call *call, const struct transfer *kept, int64_t mono_ms)
{
    for (int i = 0; i < 2; i++) {
        if (call->transfers[i] && call->transfers[i] != kept) {
            abandon(call, call->transfers[i], mono_ms);
        }
    }
}

/* ---- after an attempt ---- */

static void record(struct lull_attempt *attempt, const struct lull_verdict *verdict,
                   const struct lull_outcome *outcome)
{
    attempt->class_ = verdict->class_;
    attempt->effect = verdict->effect;
    attempt->reason = verdict->reason;
    attempt->side_effects = verdict->side_effects;
    attempt->delay_ms = verdict->kind == LULL_VERDICT_RETRY ? verdict->delay_ms : 0;
    attempt->transport =
        outcome->kind == LULL_OUTCOME_TRANSPORT ? outcome->transport : LULL_TRANSPORT_NONE;
    attempt->retry_after_ms =
        verdict->retry_after.state == LULL_RETRY_AFTER_OK ? verdict->retry_after.wait_ms : -1;
}

static int64_t latency_us(const struct transfer *transfer)
{
    curl_off_t us = -1;
    if (transfer->is_message) {
        return (transfer->posting->request.answered_ms - transfer->started_ms) * 1000;
    }
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_STARTTRANSFER_TIME_T, &us);
    return us;
}

static bool rewind_body(struct call *call, bool is_read)
{
    const struct lull_body *body = &call->request.body;
    return body->kind != LULL_BODY_CALLBACK || !is_read ||
           (body->rewind && body->rewind(body->userdata));
}

/* The verdict, told to the destination and checked against its budget and breaker. What the server
 * asked for must be known to report it, and circuit and budget only count after the report: so a
 * failure is judged twice, the first time without them. */
SELDOM static void judge_with_restraint(struct call *call, struct transfer *transfer,
                                        const struct lull_outcome *outcome, int64_t mono_ms,
                                        struct judgement *ret)
{
    struct lull_client *client = call->client;
    uint64_t key = call->origin.key;
    bool was_timeout =
        outcome->kind == LULL_OUTCOME_TRANSPORT && outcome->transport == LULL_TRANSPORT_TIMEOUT;
    call->facts.is_circuit_open = false;
    call->facts.is_budget_exhausted = false;
    call->facts.is_body_spent = false;
    judge(call, outcome, mono_ms, ret);
    int64_t retry_after_ms = ret->verdict.retry_after.state == LULL_RETRY_AFTER_OK
                                 ? ret->verdict.retry_after.wait_ms
                                 : 0;
    bool is_success = ret->verdict.class_ == LULL_CLASS_SUCCESS;
    client_report(client, key, mono_ms, transfer->permit, ret->verdict.class_, retry_after_ms,
                  is_success ? latency_us(transfer) : -1);
    if (ret->verdict.kind != LULL_VERDICT_RETRY || call->is_stopping) {
        return;
    }
    client_inspect_for_retry(client, key, mono_ms, was_timeout, &call->facts);
    judge(call, outcome, mono_ms, ret);
    if (ret->verdict.kind == LULL_VERDICT_RETRY && !rewind_body(call, transfer->is_body_read)) {
        call->facts.is_body_spent = true;
        judge(call, outcome, mono_ms, ret);
    }
    if (ret->verdict.kind == LULL_VERDICT_RETRY &&
        !client_take_retry(client, key, mono_ms, was_timeout)) {
        call->facts.is_budget_exhausted = true; /* another thread was quicker */
        judge(call, outcome, mono_ms, ret);
        if (ret->verdict.kind == LULL_VERDICT_RETRY) { /* a queue would keep it; here is none */
            ret->verdict.kind = LULL_VERDICT_GIVE_UP;
            ret->verdict.reason = LULL_REASON_BUDGET_EXHAUSTED;
            ret->verdict.delay_ms = 0;
        }
    }
}

SELDOM static void wait_for_retry(struct call *call, struct lull_attempt *attempt,
                                  const struct lull_verdict *verdict, int64_t mono_ms)
{
    const struct lull_hooks *hooks = &call->request.hooks;
    if (hooks->before_wait && !hooks->before_wait(hooks->userdata, attempt)) {
        struct lull_verdict stopped = *verdict;
        stopped.kind = LULL_VERDICT_GIVE_UP;
        stopped.reason = LULL_REASON_CANCELLED;
        attempt->reason = stopped.reason;
        attempt->delay_ms = 0;
        end(call, &stopped, false, mono_ms);
        return;
    }
    call->facts.attempt++;
    call->facts.auth_retries += (verdict->side_effects & LULL_DO_FRESH_JWT) != 0;
    call->is_jwt_doubted = (verdict->side_effects & LULL_DO_FRESH_JWT) != 0;
    call->facts.previous_delay_ms = verdict->delay_ms;
    call->state = CALL_WAITING;
    /* mono_ms has lost up to a millisecond in rounding: never earlier than asked (A3). */
    multi_reschedule(call->multi, call, instant_after(mono_ms + 1, verdict->delay_ms));
}

/* One of two has failed without an answer: the other may still bring one. */
SELDOM static void lose_one(struct call *call, struct transfer *transfer,
                            const struct lull_outcome *outcome, int64_t mono_ms)
{
    struct judgement judgement;
    struct lull_attempt *attempt = attempt_of(call, transfer);
    judge(call, outcome, mono_ms, &judgement);
    record(attempt, &judgement.verdict, outcome);
    attempt->delay_ms = 0;
    client_report(call->client, call->origin.key, mono_ms, transfer->permit,
                  judgement.verdict.class_, 0, -1);
    call->transfers[transfer == call->transfers[1]] = NULL;
    multi_stop(call->multi, transfer);
}

/* A 2xx that came whole, where neither the policy nor the name of the host could say otherwise:
 * lull_decide has one verdict on it, whatever the facts. */
static bool is_plain_success(const struct call *call, const struct transfer *transfer,
                             CURLcode code)
{
    bool is_taken = !call->request.sink.write || transfer->is_streaming;
    return code == CURLE_OK && response_is_success(&transfer->response) &&
           transfer->response.is_head_complete && call->winner == transfer && is_taken &&
           !transfer->is_sink_refused && call->policy->status_count == 0 &&
           call->facts.vendor != LULL_VENDOR_INVALID && !call->request.hooks.after_decision;
}

/* That verdict. It is what nearly all requests come to, and the time of these is all that a caller
 * notices of us. */
static void succeed(struct call *call, struct transfer *transfer, int64_t mono_ms)
{
    static const struct lull_verdict delivered = {
        .kind = LULL_VERDICT_DELIVERED,
        .reason = LULL_REASON_DELIVERED,
    };
    struct lull_attempt *attempt = attempt_of(call, transfer);
    attempt->status = transfer->response.status;
    attempt->duration_ms = mono_ms - transfer->started_ms;
    attempt->detail = transfer->detail;
    attempt->class_ = LULL_CLASS_SUCCESS;
    attempt->effect = LULL_EFFECT_REFUSED;
    attempt->reason = LULL_REASON_DELIVERED;
    if (call->transfers[0] && call->transfers[1]) {
        abandon_all_but(call, transfer, mono_ms);
    }
    client_report(call->client, call->origin.key, mono_ms, transfer->permit, LULL_CLASS_SUCCESS, 0,
                  latency_us(transfer));
    call->last_code = CURLE_OK;
    call->is_last_complete = true;
    call->transfers[transfer == call->transfers[1]] = NULL;
    multi_stop(call->multi, transfer); /* which leaves the response until its next one */
    give_back(call, &transfer->response, &delivered, mono_ms);
}

SELDOM static void end_attempt(struct call *call, struct transfer *transfer, CURLcode code,
                               int64_t mono_ms)
{
    transfer_ask_method(transfer);
    struct lull_outcome outcome = transfer_outcome(transfer, code);
    struct lull_attempt *attempt = attempt_of(call, transfer);
    const struct transfer *other = call->transfers[transfer == call->transfers[0]];
    attempt->code = code;
    attempt->detail = transfer->detail;
    if (code != CURLE_OK && !attempt->detail) {
        attempt->detail = curl_easy_strerror(code);
    }
    attempt->status = transfer->response.is_head_complete ? transfer->response.status : 0;
    attempt->duration_ms = mono_ms - transfer->started_ms;
    if (other && call->winner != transfer && outcome.kind == LULL_OUTCOME_TRANSPORT) {
        lose_one(call, transfer, &outcome, mono_ms);
        return;
    }
    abandon_all_but(call, transfer, mono_ms);
    struct judgement judgement;
    judge_with_restraint(call, transfer, &outcome, mono_ms, &judgement);
    record(attempt, &judgement.verdict, &outcome);
    bool was_streamed = transfer->is_streaming;
    call->last_code = code;
    call->is_last_complete = transfer_is_body_complete(transfer, code);
    struct response swapped = call->last;
    call->last = transfer->response;
    transfer->response = swapped;
    call->transfers[transfer == call->transfers[1]] = NULL;
    multi_stop(call->multi, transfer);
    if (judgement.verdict.kind == LULL_VERDICT_RETRY && call->is_stopping) {
        judgement.verdict.kind = LULL_VERDICT_GIVE_UP;
        judgement.verdict.reason = LULL_REASON_CANCELLED;
        attempt->reason = LULL_REASON_CANCELLED;
        attempt->delay_ms = 0;
    }
    if (call->request.hooks.after_decision) {
        call->request.hooks.after_decision(call->request.hooks.userdata, attempt,
                                           &judgement.verdict, &judgement.trace);
    }
    if (judgement.verdict.kind == LULL_VERDICT_RETRY) {
        wait_for_retry(call, attempt, &judgement.verdict, mono_ms);
    } else {
        end(call, &judgement.verdict, was_streamed, mono_ms);
    }
}

void call_on_end(struct call *call, struct transfer *transfer, CURLcode code, int64_t mono_ms)
{
    if (is_plain_success(call, transfer, code)) {
        succeed(call, transfer, mono_ms);
    } else {
        end_attempt(call, transfer, code, mono_ms);
    }
}

bool call_on_head(struct call *call, struct transfer *transfer)
{
    const struct lull_sink *sink = &call->request.sink;
    const struct response *response = &transfer->response;
    if (call->winner && call->winner != transfer) {
        return true;
    }
    call->winner = transfer;
    if (call->transfers[0] && call->transfers[1]) {
        multi_reschedule(call->multi, call, 0); /* the other is stopped outside of this callback */
    }
    if (!sink->write) {
        return true;
    }
    struct lull_outcome outcome = response_outcome(response);
    if (lull_classify(call->policy, call->facts.kind, call->origin.vendor, &outcome).class_ !=
        LULL_CLASS_SUCCESS) {
        return true;
    }
    struct lull_response head = {response->status, response->headers, response->header_count};
    transfer->is_sink_refused = !sink->begin(sink->userdata, &head, call->is_sink_begun);
    transfer->is_streaming = !transfer->is_sink_refused;
    call->is_sink_begun = true;
    return transfer->is_streaming;
}

/* ---- timers ---- */

/* Ends what is out as if curl had said so. */
SELDOM static void stop_running(struct call *call, CURLcode code, int64_t mono_ms)
{
    struct transfer *kept = call->winner         ? call->winner
                            : call->transfers[0] ? call->transfers[0]
                                                 : call->transfers[1];
    abandon_all_but(call, kept, mono_ms);
    multi_withdraw(call->multi, kept, mono_ms);
    call_on_end(call, kept, code, mono_ms);
}

static void on_running(struct call *call, int64_t mono_ms)
{
    if (call->winner) {
        abandon_all_but(call, call->winner, mono_ms);
    }
    if (mono_ms >= call->stop_at_ms) {
        stop_running(call, CURLE_OPERATION_TIMEDOUT, mono_ms);
        return;
    }
    if (mono_ms >= call->hedge_at_ms) {
        start_hedge(call, mono_ms);
    }
    multi_reschedule(call->multi, call, instant_earlier(call->stop_at_ms, call->hedge_at_ms));
}

void call_on_timer(struct call *call, int64_t mono_ms)
{
    switch (call->state) {
    case CALL_QUEUED:
    case CALL_WAITING:
        start_attempt(call, mono_ms);
        break;
    case CALL_RUNNING:
        on_running(call, mono_ms);
        break;
    case CALL_DONE:
    default:
        break;
    }
}

void call_on_cancel(struct call *call, int64_t mono_ms)
{
    call->is_stopping = true;
    if (call->state == CALL_RUNNING) {
        stop_running(call, CURLE_ABORTED_BY_CALLBACK, mono_ms);
    } else if (call->state != CALL_DONE) {
        struct lull_verdict verdict = {LULL_VERDICT_GIVE_UP, .reason = LULL_REASON_CANCELLED};
        end(call, &verdict, false, mono_ms);
    }
}
