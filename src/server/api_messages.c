/* api_messages - POST /v1/messages: one message in, safe on disk before the 202 (Q1).
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_answer.h"
#include "api_request.h"
#include "lull/error.h"
#include "put_result.h"

#define FIRST_ROOM 4096 /* of a body whose length is not known */

struct put_state {
    char *text; /* the body, as it comes */
    size_t length;
    size_t room;
    struct job_put *put;
    char warning[INTAKE_WARNING_SIZE];
};

static bool refuse_size(struct request *request)
{
    char sentence[PROBLEM_DETAIL_SIZE];
    (void)snprintf(sentence, sizeof sentence, "a message is at most %u bytes here",
                   request->api->config.config->limits.body_max);
    return request_refuse(request, PROBLEM_TOO_LARGE, 0, sentence);
}

static bool begin(struct request *request)
{
    struct problem problem;
    if (!request_has_type(request, "application/json")) {
        return false;
    }
    if (!request_is_admitted(request, &problem)) {
        request->is_refused = true;
        request->problem = problem;
        return false;
    }
    uint64_t length = request_body_length(request);
    bool is_known = length != UINT64_MAX;
    if (is_known && length > request->api->config.config->limits.body_max) {
        return refuse_size(request);
    }
    struct put_state *state = calloc(1, sizeof *state);
    if (!state) {
        return request_refuse_memory(request);
    }
    request->state = state;
    state->room = is_known && length > 0 ? (size_t)length : FIRST_ROOM;
    state->text = malloc(state->room);
    return state->text || request_refuse_memory(request);
}

static size_t read_body(struct request *request, const char *data, size_t length)
{
    struct put_state *state = request->state;
    if (length > request->api->config.config->limits.body_max - state->length) {
        (void)refuse_size(request);
        return 0;
    }
    if (length > state->room - state->length) {
        size_t room = 2 * (state->length + length);
        char *text = realloc(state->text, room);
        if (!text) {
            (void)request_refuse_memory(request);
            return 0;
        }
        state->text = text;
        state->room = room;
    }
    memcpy(state->text + state->length, data, length);
    state->length += length;
    return length;
}

/* Reads and encrypts it, on this thread. */
static bool take_in(struct request *request, struct put_state *state)
{
    struct intake *intake = api_intake(request->api);
    if (!intake) {
        return request_refuse_memory(request);
    }
    struct intake_call call = {
        .now_ms = api_now_ms(request->api),
        .traceparent = request_header(request, "traceparent"),
        .idempotency_key = request_header(request, "Idempotency-Key"),
    };
    struct intake_problem problem = {0};
    int error = intake_read(intake, state->text, state->length, &call, &state->put, state->warning,
                            &problem);
    if (error == LULL_ERR_MEMORY) {
        return request_refuse_memory(request);
    }
    if (error) {
        request->is_refused = true;
        put_result_refused(&problem, &request->problem);
    }
    return !error;
}

static enum MHD_Result finish(struct request *request)
{
    struct put_state *state = request->state;
    if (!take_in(request, state)) {
        return answer_problem(request, &request->problem);
    }
    return request_run(request, &state->put->job);
}

/* No json_dumps: this is the way of each message. The warning is ours, and has nothing to escape
 * but what json_text_write does. */
static size_t write_accepted(const struct put_result *result, const char *warning, char *to)
{
    char id[MESSAGE_ID_TEXT_SIZE];
    message_id_write(result->id, id);
    size_t length = (size_t)sprintf(to, "{\"id\":\"%s\"", id);
    if (!result->is_replayed) {
        length += (size_t)sprintf(
            to + length, ",\"state\":\"%s\"",
            message_place_to_string(result->is_leased ? MESSAGE_LEASED : MESSAGE_WAITING));
    }
    if (result->replaced) {
        message_id_write(result->replaced, id);
        length += (size_t)sprintf(to + length, ",\"replaced\":\"%s\"", id);
    }
    if (warning[0]) {
        length += (size_t)sprintf(to + length, ",\"warning\":\"");
        length += json_text_write(to + length, warning);
        to[length++] = '"';
    }
    to[length++] = '}';
    return length;
}

static enum MHD_Result resume(struct request *request)
{
    struct put_state *state = request->state;
    struct put_result result;
    struct problem problem;
    if (!put_result_of(state->put, &result, &problem)) {
        return answer_problem(request, &problem);
    }
    if (state->put->put.put.ret_result == STORE_PUT_UNDER_WAY) {
        problem_set(&problem, PROBLEM_KEY_UNDER_WAY, 1,
                    "a request with this key came at the same moment; ask again for its answer");
        return answer_problem(request, &problem);
    }
    char id[MESSAGE_ID_TEXT_SIZE];
    char location[sizeof "/v1/messages/" + MESSAGE_ID_TEXT_SIZE];
    char text[256 + JSON_TEXT_SIZE(INTAKE_WARNING_SIZE)];
    message_id_write(result.id, id);
    (void)snprintf(location, sizeof location, "/v1/messages/%s", id);
    struct answer_header headers[2] = {{"Location", location}};
    if (result.is_replayed) {
        headers[1] = (struct answer_header){"Idempotency-Replayed", "true"};
    }
    size_t length = write_accepted(&result, state->warning, text);
    return answer_text(request, MHD_HTTP_ACCEPTED, "application/json", text, length, headers);
}

static void clean_up(struct request *request)
{
    struct put_state *state = request->state;
    if (!state) {
        return;
    }
    if (state->put) {
        intake_free(state->put);
    }
    if (state->text) {
        explicit_bzero(state->text, state->room); /* the plain text of a push */
    }
    free(state->text);
    free(state);
}

const struct api_action api_put = {
    .takes_body = true,
    .begin = begin,
    .read = read_body,
    .finish = finish,
    .resume = resume,
    .clean_up = clean_up,
};
