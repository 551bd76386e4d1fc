/* api_queries - GET and DELETE of messages: each is one job of the engine's thread.
 * SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "api_answer.h"
#include "api_request.h"
#include "lull/error.h"
#include "message_json.h"
#include "put_result.h"

static enum MHD_Result answer_with(struct request *request, enum problem_kind kind,
                                   const char *detail)
{
    (void)request_refuse(request, kind, 0, detail);
    return answer_problem(request, &request->problem);
}

static enum MHD_Result answer_error(struct request *request, int error)
{
    put_result_error(error, &request->problem);
    return answer_problem(request, &request->problem);
}

/* An id that could never have been given needs no look at the store. */
static bool has_id(struct request *request)
{
    return request->route.id > 0 ||
           request_refuse(request, PROBLEM_NOT_FOUND, 0, "there never was a message of this id");
}

/* ---- one ---- */

static bool show_begin(struct request *request)
{
    if (!has_id(request)) {
        return false;
    }
    request->state = calloc(1, sizeof(struct job_find));
    return request->state || request_refuse_memory(request);
}

static enum MHD_Result show_finish(struct request *request)
{
    struct job_find *find = request->state;
    find->job.kind = JOB_FIND;
    find->id = request->route.id;
    return request_run(request, &find->job);
}

static enum MHD_Result show_resume(struct request *request)
{
    struct job_find *find = request->state;
    if (find->error) {
        return answer_error(request, find->error);
    }
    switch (find->found) {
    case JOB_FOUND:
        return answer_json(
            request, MHD_HTTP_OK,
            message_json(find->message, &find->gate, api_now_ms(request->api), true));
    case JOB_DEPARTED:
        return answer_json(request, MHD_HTTP_OK,
                           message_json_departed(&find->departed, find->message, &find->gate));
    case JOB_GONE:
        return answer_json(request, MHD_HTTP_OK, message_json_gone_by(find->id));
    default:
        return answer_with(request, PROBLEM_NOT_FOUND, "there never was a message of this id");
    }
}

static void show_clean_up(struct request *request)
{
    struct job_find *find = request->state;
    if (find) {
        message_free(find->message);
        free(find);
    }
}

const struct api_action api_show = {
    .begin = show_begin,
    .finish = show_finish,
    .resume = show_resume,
    .clean_up = show_clean_up,
};

/* ---- many ---- */

struct reading {
    struct route_query query;
    struct problem *problem;
    bool is_wrong;
};

static enum MHD_Result read_parameter(void *userdata, enum MHD_ValueKind kind, const char *name,
                                      const char *value)
{
    struct reading *reading = userdata;
    (void)kind;
    reading->is_wrong = !route_query_add(&reading->query, name, value, reading->problem);
    return reading->is_wrong ? MHD_NO : MHD_YES;
}

static bool list_begin(struct request *request)
{
    struct reading reading = {.problem = &request->problem};
    route_query_init(&reading.query);
    (void)MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, read_parameter,
                                    &reading);
    if (reading.is_wrong) {
        request->is_refused = true;
        return false;
    }
    struct job_list *list = calloc(1, sizeof *list);
    request->state = list;
    if (!list) {
        return request_refuse_memory(request);
    }
    list->filter = reading.query.filter;
    memcpy(list->service_name, reading.query.service, sizeof list->service_name);
    list->list = calloc(list->filter.limit, sizeof(struct message *));
    list->gates = calloc(list->filter.limit, sizeof *list->gates);
    return (list->list && list->gates) || request_refuse_memory(request);
}

static enum MHD_Result list_finish(struct request *request)
{
    struct job_list *list = request->state;
    list->job.kind = JOB_LIST;
    return request_run(request, &list->job);
}

static enum MHD_Result list_resume(struct request *request)
{
    struct job_list *list = request->state;
    if (list->error) {
        return answer_error(request, list->error);
    }
    int64_t now_ms = api_now_ms(request->api);
    json_t *messages = json_array();
    bool is_whole = messages;
    for (size_t i = 0; is_whole && i < list->count; i++) {
        json_t *message = message_json(list->list[i], &list->gates[i], now_ms, false);
        is_whole = json_array_append_new(messages, message) == 0;
    }
    if (!is_whole) {
        json_decref(messages);
        return answer_json(request, MHD_HTTP_OK, NULL);
    }
    json_t *next = list->after ? message_json_id(list->after) : json_null();
    return answer_json(request, MHD_HTTP_OK,
                       json_pack("{s:o, s:o}", "messages", messages, "next", next));
}

static void list_clean_up(struct request *request)
{
    struct job_list *list = request->state;
    if (!list) {
        return;
    }
    for (size_t i = 0; list->list && i < list->count; i++) {
        message_free(list->list[i]);
    }
    free((void *)list->list);
    free(list->gates);
    free(list);
}

const struct api_action api_list = {
    .begin = list_begin,
    .finish = list_finish,
    .resume = list_resume,
    .clean_up = list_clean_up,
};

/* ---- cancelling ---- */

static bool cancel_begin(struct request *request)
{
    if (!has_id(request)) {
        return false;
    }
    request->state = calloc(1, sizeof(struct job_cancel));
    return request->state || request_refuse_memory(request);
}

static enum MHD_Result cancel_finish(struct request *request)
{
    struct job_cancel *cancel = request->state;
    cancel->job.kind = JOB_CANCEL;
    cancel->cancel.id = request->route.id;
    return request_run(request, &cancel->job);
}

static enum MHD_Result cancel_resume(struct request *request)
{
    struct job_cancel *cancel = request->state;
    if (cancel->error) {
        return answer_error(request, cancel->error);
    }
    json_t *id = message_json_id(cancel->cancel.id);
    switch (cancel->how) {
    case DELIVERY_CANCELLED:
        return answer_json(request, MHD_HTTP_OK,
                           json_pack("{s:o, s:s, s:s}", "id", id, "state",
                                     message_place_to_string(MESSAGE_DEAD), "reason",
                                     lull_reason_to_string(LULL_REASON_CANCELLED)));
    case DELIVERY_CANCELLING:
        return answer_json(request, MHD_HTTP_ACCEPTED,
                           json_pack("{s:o, s:s, s:b}", "id", id, "state",
                                     message_place_to_string(MESSAGE_LEASED), "cancelling", 1));
    case DELIVERY_CANCEL_LATE:
        json_decref(id);
        return answer_with(request, PROBLEM_TOO_LATE,
                           "it has been delivered or replaced, or is dead already");
    default:
        json_decref(id);
        return answer_with(request, PROBLEM_NOT_FOUND, "there never was a message of this id");
    }
}

static void cancel_clean_up(struct request *request)
{
    free(request->state);
}

const struct api_action api_cancel = {
    .begin = cancel_begin,
    .finish = cancel_finish,
    .resume = cancel_resume,
    .clean_up = cancel_clean_up,
};
