/*
 * api_batch - POST /v1/messages/batch: a message a line, read as it streams in, each a job at once.
 *
 * Nothing of a batch is kept but the line that is being read and 16 bytes of each result, so that
 * it may be far larger than the memory. Where the engine's thread is slower than the client, the
 * connection is suspended until it has caught up: the client's TCP feels it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_answer.h"
#include "api_request.h"
#include "batch_results.h"
#include "lull/error.h"

/* Jobs under way: enough for a few commits, few enough to stay in the cache. */
#define UNDER_WAY_MAX 2000
#define UNDER_WAY_LOW 1000

/* Lines between two looks at what is done; and the keys that are made in one go for them. */
#define ROUND_LINES 64

/* So much is thrown away of a batch that is over its bytes, before the connection is cut. */
#define EXCESS_MAX (UINT64_C(64) << 20)

#define KEY_SIZE 280 /* one of 256 letters, a colon and a number */

struct batch_state {
    struct batch_results *results;
    char *partial; /* a line that was cut by the end of a read; room for a whole one */
    size_t partial_length;
    bool is_too_long; /* the line that is being read: it is skipped to its end */
    bool is_over;     /* nothing more is looked at */
    uint32_t line;    /* the last one */
    uint32_t count;   /* of messages */
    uint64_t bytes;
};

static const struct config *config_of(const struct request *request)
{
    return request->api->config.config;
}

static bool begin(struct request *request)
{
    if (!request_has_type(request, "application/x-ndjson")) {
        return false;
    }
    if (!request_is_admitted(request, &request->problem)) {
        request->is_refused = true;
        return false;
    }
    uint64_t length = request_body_length(request);
    if (length != UINT64_MAX && length > config_of(request)->limits.batch_bytes_max) {
        char sentence[PROBLEM_DETAIL_SIZE];
        (void)snprintf(sentence, sizeof sentence, "a batch is at most %" PRIu64 " bytes here",
                       config_of(request)->limits.batch_bytes_max);
        return request_refuse(request, PROBLEM_TOO_LARGE, 0, sentence);
    }
    const char *key = request_header(request, "Idempotency-Key");
    if (key && strlen(key) + sizeof ":4294967295" > KEY_SIZE) {
        return request_refuse(request, PROBLEM_BAD_REQUEST, 0,
                              "an Idempotency-Key has at most 256 letters");
    }
    struct batch_state *state = calloc(1, sizeof *state);
    request->state = state;
    if (state) {
        state->results = batch_results_new();
        state->partial = malloc(config_of(request)->limits.body_max);
    }
    return (state && state->results && state->partial) || request_refuse_memory(request);
}

/* ---- what is done ---- */

static void on_done(struct job *job)
{
    struct batch_result *result = job->userdata;
    waiter_done(result->waiter, job);
}

static void collect(struct request *request)
{
    struct batch_state *state = request->state;
    for (struct job *job = waiter_take(&request->waiter), *next; job; job = next) {
        next = job->next;
        struct job_put *put = (struct job_put *)job; /* its first member */
        struct batch_result *result = job->userdata;
        struct put_result accepted;
        struct problem problem;
        if (put_result_of(put, &accepted, &problem)) {
            batch_result_accept(result, &accepted);
        } else {
            batch_result_refuse(state->results, result, &problem);
        }
        intake_free(put);
    }
}

/* ---- lines ---- */

static void refuse_line(struct batch_state *state, struct batch_result *result,
                        enum problem_kind kind, const char *sentence)
{
    struct problem problem;
    problem_set(&problem, kind, 0, sentence);
    batch_result_refuse(state->results, result, &problem);
}

/* Reads and encrypts a line. NULL: it was refused. */
static struct job_put *take_in(struct request *request, struct batch_result *result,
                               const char *text, size_t length)
{
    struct batch_state *state = request->state;
    struct intake *intake = api_intake(request->api);
    const char *key = request_header(request, "Idempotency-Key");
    char line_key[KEY_SIZE] = "";
    if (key && *key) {
        (void)snprintf(line_key, sizeof line_key, "%s:%" PRIu32, key, result->line);
    }
    struct intake_call call = {
        .now_ms = api_now_ms(request->api),
        .traceparent = request_header(request, "traceparent"),
        .idempotency_key = line_key,
        .is_key_default = true,
    };
    char warning[INTAKE_WARNING_SIZE];
    struct intake_problem why = {0};
    struct job_put *put = NULL;
    int error =
        intake ? intake_read(intake, text, length, &call, &put, warning, &why) : LULL_ERR_MEMORY;
    if (error == LULL_ERR_MEMORY) {
        refuse_line(state, result, PROBLEM_INTERNAL, "there is no memory");
        return NULL;
    }
    if (error) {
        struct problem problem;
        put_result_refused(&why, &problem);
        batch_result_refuse(state->results, result, &problem);
        return NULL;
    }
    return put;
}

static void submit_line(struct request *request, struct batch_result *result, const char *text,
                        size_t length)
{
    struct batch_state *state = request->state;
    struct problem problem;
    if (!request_is_admitted(request, &problem)) {
        batch_result_refuse(state->results, result, &problem);
        return;
    }
    struct job_put *put = take_in(request, result, text, length);
    if (!put) {
        return;
    }
    put->job.done = on_done;
    put->job.userdata = result;
    if (!waiter_submit(&request->waiter, &put->job)) {
        intake_free(put);
        refuse_line(state, result, PROBLEM_DRAINING, "the server is about to stop");
    }
}

static bool is_blank(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r') {
            return false;
        }
    }
    return true;
}

/* From here on nothing is read; the last result says so for all that follows. */
static void stop_reading(struct batch_state *state, struct batch_result *result)
{
    state->is_over = true;
    refuse_line(
        state, result, PROBLEM_TOO_LARGE,
        "there is far more than a batch may have: neither this line nor any after it was read");
}

/* One whole line, without its end; text NULL: it was too long to be kept. */
static void take_line(struct request *request, const char *text, size_t length)
{
    struct batch_state *state = request->state;
    uint32_t lines_max = config_of(request)->limits.batch_lines_max;
    state->line++;
    if (text && is_blank(text, length)) {
        return;
    }
    struct batch_result *result = batch_results_add(state->results, state->line, &request->waiter);
    if (!result) {
        state->is_over = true; /* the client sees that results are missing */
        return;
    }
    state->count++;
    /* Each line over the limit has a result of its own, but not without end. */
    if (state->count > lines_max && state->count - lines_max > lines_max) {
        stop_reading(state, result);
    } else if (state->count > lines_max) {
        refuse_line(state, result, PROBLEM_TOO_LARGE, "the batch has more lines than it may have");
    } else if (!text) {
        refuse_line(state, result, PROBLEM_TOO_LARGE, "the line is longer than a message may be");
    } else {
        submit_line(request, result, text, length);
    }
}

/* ---- the stream ---- */

/* Keeps a part of a line until the rest comes. */
static void keep(struct request *request, const char *data, size_t length)
{
    struct batch_state *state = request->state;
    if (state->is_too_long ||
        length > config_of(request)->limits.body_max - state->partial_length) {
        state->is_too_long = true;
        state->partial_length = 0;
        return;
    }
    memcpy(state->partial + state->partial_length, data, length);
    state->partial_length += length;
}

/* The line that ends with this part of it. */
static void end_line(struct request *request, const char *data, size_t length)
{
    struct batch_state *state = request->state;
    bool is_whole = state->partial_length == 0 && !state->is_too_long;
    if (is_whole && length <= config_of(request)->limits.body_max) {
        take_line(request, data, length); /* as most are: it is not copied */
        return;
    }
    keep(request, data, length);
    take_line(request, state->is_too_long ? NULL : state->partial, state->partial_length);
    state->partial_length = 0;
    state->is_too_long = false;
}

/* Up to a round of lines. Returns how much of the data they are. */
static size_t read_round(struct request *request, const char *data, size_t length)
{
    struct batch_state *state = request->state;
    size_t taken = 0;
    for (unsigned i = 0; i < ROUND_LINES && taken < length && !state->is_over; i++) {
        const char *at = data + taken;
        const char *end = memchr(at, '\n', length - taken);
        if (!end) {
            keep(request, at, length - taken);
            return length;
        }
        end_line(request, at, (size_t)(end - at));
        taken += (size_t)(end - at) + 1;
    }
    return state->is_over ? length : taken;
}

/* Too many bytes, of a batch that did not say its length. False: the connection is to be cut. */
static bool has_room(struct request *request, size_t length)
{
    struct batch_state *state = request->state;
    uint64_t max = config_of(request)->limits.batch_bytes_max;
    state->bytes += length;
    if (state->bytes <= max) {
        return true;
    }
    if (!state->is_over) {
        struct batch_result *result =
            batch_results_add(state->results, state->line + 1, &request->waiter);
        state->is_over = true;
        if (result) {
            stop_reading(state, result);
        }
    }
    return state->bytes - max <= EXCESS_MAX;
}

static size_t read_body(struct request *request, const char *data, size_t length)
{
    struct batch_state *state = request->state;
    struct intake *intake = api_intake(request->api);
    size_t taken = 0;
    if (!has_room(request, length)) {
        (void)request_refuse(request, PROBLEM_TOO_LARGE, 0, "the batch does not end");
        return 0;
    }
    if (state->is_over) {
        return length;
    }
    while (taken < length) {
        if (waiter_wait(&request->waiter, UNDER_WAY_MAX, UNDER_WAY_LOW)) {
            break;
        }
        if (intake) {
            intake_prepare(intake, ROUND_LINES);
        }
        taken += read_round(request, data + taken, length - taken);
        collect(request);
    }
    state->bytes -= length - taken; /* they come again */
    return taken;
}

static enum MHD_Result finish(struct request *request)
{
    struct batch_state *state = request->state;
    if (!state->is_over && (state->partial_length > 0 || state->is_too_long)) {
        end_line(request, "", 0);
    }
    return request_wait(request);
}

static ssize_t write_results(void *userdata, uint64_t position, char *to, size_t size)
{
    (void)position; /* it is asked for in order */
    size_t length = batch_results_write(userdata, to, size);
    return length > 0 ? (ssize_t)length : MHD_CONTENT_READER_END_OF_STREAM;
}

static void free_results(void *userdata)
{
    batch_results_free(userdata);
}

static enum MHD_Result resume(struct request *request)
{
    struct batch_state *state = request->state;
    collect(request);
    struct MHD_Response *response = MHD_create_response_from_callback(
        MHD_SIZE_UNKNOWN, 16384, write_results, state->results, free_results);
    if (!response) {
        return MHD_NO;
    }
    state->results = NULL; /* the response's now */
    if (MHD_add_response_header(response, "Content-Type", "application/x-ndjson") != MHD_YES) {
        MHD_destroy_response(response);
        return MHD_NO;
    }
    return answer(request, MHD_HTTP_OK, response);
}

static void clean_up(struct request *request)
{
    struct batch_state *state = request->state;
    if (!state) {
        return;
    }
    for (struct job *job = waiter_take(&request->waiter), *next; job; job = next) {
        next = job->next;
        intake_free((struct job_put *)job);
    }
    if (state->partial) {
        explicit_bzero(state->partial, config_of(request)->limits.body_max);
    }
    free(state->partial);
    batch_results_free(state->results);
    free(state);
}

const struct api_action api_batch = {
    .takes_body = true,
    .begin = begin,
    .read = read_body,
    .finish = finish,
    .resume = resume,
    .clean_up = clean_up,
};
