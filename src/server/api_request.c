/* api_request - see the header. SPDX-License-Identifier: MIT */
#include "api_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_answer.h"
#include "engine.h"
#include "lull/error.h"
#include "lull/random.h"
#include "token.h"

/* So much of a body that nobody wants is read, for the sake of the connection. */
#define DISCARD_MAX (UINT64_C(1) << 20)

static const struct api_action *const actions[ROUTE_ACTIONS] = {
    [ROUTE_PUT] = &api_put,         [ROUTE_BATCH] = &api_batch,   [ROUTE_LIST] = &api_list,
    [ROUTE_SHOW] = &api_show,       [ROUTE_CANCEL] = &api_cancel, [ROUTE_STATUS] = &api_status,
    [ROUTE_HEALTH] = &api_health,   [ROUTE_READY] = &api_ready,   [ROUTE_METRICS] = &api_metrics,
    [ROUTE_OPENAPI] = &api_openapi,
};

/* ---- the head ---- */

const char *request_header(const struct request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

bool request_refuse(struct request *request, enum problem_kind kind, uint32_t retry_after_s,
                    const char *detail)
{
    request->is_refused = true;
    problem_set(&request->problem, kind, retry_after_s, detail);
    return false;
}

bool request_refuse_memory(struct request *request)
{
    return request_refuse(request, PROBLEM_INTERNAL, 0, "there is no memory");
}

uint64_t request_body_length(const struct request *request)
{
    const char *text = request_header(request, "Content-Length");
    return text ? strtoull(text, NULL, 10) : UINT64_MAX; /* libmicrohttpd has checked it */
}

static bool has_body(const struct request *request)
{
    return request_header(request, "Transfer-Encoding") ||
           (request_header(request, "Content-Length") && request_body_length(request) > 0);
}

bool request_has_type(struct request *request, const char *media_type)
{
    char sentence[PROBLEM_DETAIL_SIZE];
    if (request_header(request, "Content-Encoding")) {
        return request_refuse(request, PROBLEM_UNSUPPORTED_MEDIA_TYPE, 0,
                              "a body with a Content-Encoding is not read");
    }
    if (!route_is_media_type(request_header(request, "Content-Type"), media_type)) {
        (void)snprintf(sentence, sizeof sentence, "the Content-Type here is %s, in UTF-8",
                       media_type);
        return request_refuse(request, PROBLEM_UNSUPPORTED_MEDIA_TYPE, 0, sentence);
    }
    return true;
}

/* The caller's own, if it can be given back, else a new one. */
static void set_id(struct request *request)
{
    const char *given = request_header(request, "X-Request-Id");
    if (route_is_request_id(given)) {
        memcpy(request->id, given, strlen(given) + 1);
        return;
    }
    struct lull_random random;
    lull_random_init(&random, request->api->request_seed +
                                  atomic_fetch_add_explicit(&request->api->request_count, 1,
                                                            memory_order_relaxed));
    (void)snprintf(request->id, sizeof request->id, "%016" PRIx64, lull_random_next(&random));
}

static bool is_authorized(const struct request *request)
{
    const struct config *config = request->api->config.config;
    return request->route.is_open || config->token_count == 0 ||
           token_find(config, request_header(request, "Authorization"));
}

/* Only a list has a query. */
static bool has_no_query(struct request *request)
{
    return request->route.action == ROUTE_LIST ||
           MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, NULL, NULL) == 0 ||
           request_refuse(request, PROBLEM_BAD_REQUEST, 0, "there are no query parameters here");
}

/* Finds what is asked for, and says why it is not done if it is not. */
static bool is_accepted(struct request *request, const char *method, const char *path)
{
    int error = route_parse(method, path, &request->route);
    if (!is_authorized(request)) {
        return request_refuse(request, PROBLEM_UNAUTHORIZED, 0,
                              "Authorization: Bearer and a token of the token file is needed");
    }
    if (error == LULL_ERR_UNKNOWN) {
        return request_refuse(request, PROBLEM_NOT_FOUND, 0,
                              "there is no such path; /openapi.yaml says which there are");
    }
    if (error) {
        return request_refuse(request, PROBLEM_METHOD_NOT_ALLOWED, 0,
                              "this path is not for this method; see Allow");
    }
    request->action = actions[request->route.action];
    return has_no_query(request) && (!request->action->begin || request->action->begin(request));
}

bool request_is_able(const struct request *request, struct problem *ret_problem)
{
    const struct api_health *health = request->api->config.health;
    if (atomic_load(&health->is_broken)) {
        problem_set(ret_problem, PROBLEM_UNAVAILABLE, 60, "the store is broken; see the log");
        return false;
    }
    if (atomic_load(&health->is_draining)) {
        problem_set(ret_problem, PROBLEM_DRAINING, 5, "the server is about to stop");
        return false;
    }
    if (atomic_load(&health->is_disk_full)) {
        problem_set(ret_problem, PROBLEM_DISK_FULL, 5,
                    "the disk of the store is full: nothing can be made safe on it");
        return false;
    }
    return true;
}

bool request_is_admitted(const struct request *request, struct problem *ret_problem)
{
    if (!request_is_able(request, ret_problem)) {
        return false;
    }
    struct api_admission admission = atomic_load(&request->api->config.health->admission);
    uint32_t retry_after_s = admission.retry_after_s > 0 ? admission.retry_after_s : 1;
    if (admission.kind == ENGINE_THROTTLED) {
        problem_set(ret_problem, PROBLEM_QUEUE_FULL, retry_after_s,
                    "as many messages wait as may; there will be room when some have left");
    } else if (admission.kind == ENGINE_REFUSED) {
        problem_set(ret_problem, PROBLEM_UNAVAILABLE, retry_after_s,
                    "far more messages wait than should; there will be room when many have left");
    }
    return admission.kind == ENGINE_ADMITTED;
}

/* ---- from its beginning to its end ---- */

struct request *request_new(struct api *api, struct MHD_Connection *connection)
{
    struct request *request = calloc(1, sizeof *request);
    if (!request) {
        return NULL;
    }
    request->api = api;
    request->connection = connection;
    waiter_init(&request->waiter, &api->waiting, connection);
    set_id(request);
    return request;
}

enum MHD_Result request_begin(struct request *request, const char *method, const char *path)
{
    if (is_accepted(request, method, path) || !has_body(request)) {
        return MHD_YES; /* libmicrohttpd calls again, with the body or its end */
    }
    uint64_t length = request_body_length(request);
    bool is_long = length > DISCARD_MAX && length != UINT64_MAX;
    if (is_long || request_header(request, "Expect")) {
        return answer_problem(request, &request->problem);
    }
    return MHD_YES;
}

static enum MHD_Result discard(struct request *request, size_t *length)
{
    request->discarded += *length;
    *length = 0;
    if (request->discarded <= DISCARD_MAX) {
        return MHD_YES;
    }
    if (!request->is_refused) {
        (void)request_refuse(request, PROBLEM_TOO_LARGE, 0, "this method takes no body");
    }
    return answer_and_hang_up(request, &request->problem);
}

enum MHD_Result request_read(struct request *request, const char *data, size_t *length)
{
    if (!request->is_refused && request->action->takes_body) {
        size_t taken = request->action->read(request, data, *length);
        *length -= taken;
        if (!request->is_refused) {
            return MHD_YES;
        }
    }
    return discard(request, length);
}

enum MHD_Result request_finish(struct request *request)
{
    /* While it is stopped libmicrohttpd takes no more answers, and asks again instead. */
    if (request->is_answered) {
        return MHD_NO;
    }
    if (request->is_refused) {
        return answer_problem(request, &request->problem);
    }
    if (request->is_waiting) {
        request->is_waiting = false;
        return request->action->resume(request);
    }
    return request->action->finish(request);
}

static void on_done(struct job *job)
{
    waiter_done(job->userdata, job);
}

enum MHD_Result request_run(struct request *request, struct job *job)
{
    job->done = on_done;
    job->userdata = &request->waiter;
    if (!waiter_submit(&request->waiter, job)) {
        (void)request_refuse(request, PROBLEM_DRAINING, 5, "the server is about to stop");
        return answer_problem(request, &request->problem);
    }
    return request_wait(request);
}

enum MHD_Result request_wait(struct request *request)
{
    if (waiter_wait(&request->waiter, 0, 0)) {
        request->is_waiting = true;
        return MHD_YES;
    }
    return request->action->resume(request);
}

static void free_now(struct waiter *waiter)
{
    struct request *request = (struct request *)waiter; /* its first member */
    if (request->action && request->action->clean_up) {
        request->action->clean_up(request);
    }
    free(request);
}

void request_free(struct request *request)
{
    waiter_abandon(&request->waiter, free_now);
}
