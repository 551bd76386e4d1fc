/* api_answer - see the header. SPDX-License-Identifier: MIT */
#include "api_answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "api_request.h"

#define PROBLEM_TYPE "application/problem+json"

static bool add(struct MHD_Response *response, const char *name, const char *value)
{
    return MHD_add_response_header(response, name, value) == MHD_YES;
}

enum MHD_Result answer(struct request *request, unsigned status, struct MHD_Response *response)
{
    request->is_answered = true;
    if (!response) {
        return MHD_NO; /* closes the connection: there is no memory to say anything */
    }
    bool is_complete =
        add(response, "X-Request-Id", request->id) && add(response, "Cache-Control", "no-store");
    if (is_complete && atomic_load(&request->api->is_closing)) {
        is_complete = add(response, "Connection", "close");
    }
    enum MHD_Result result =
        is_complete ? MHD_queue_response(request->connection, status, response) : MHD_NO;
    MHD_destroy_response(response);
    return result;
}

/* Takes a buffer as it is said by mode, also where it fails. */
static struct MHD_Response *new_response(const char *content_type, void *text, size_t length,
                                         enum MHD_ResponseMemoryMode mode)
{
    struct MHD_Response *response = MHD_create_response_from_buffer(length, text, mode);
    if (!response) {
        if (mode == MHD_RESPMEM_MUST_FREE) {
            free(text);
        }
        return NULL;
    }
    if (!add(response, "Content-Type", content_type)) {
        MHD_destroy_response(response);
        return NULL;
    }
    return response;
}

enum MHD_Result answer_text(struct request *request, unsigned status, const char *content_type,
                            const char *text, size_t length, const struct answer_header headers[2])
{
    struct MHD_Response *response =
        new_response(content_type, (void *)text, length, MHD_RESPMEM_MUST_COPY);
    for (size_t i = 0; response && headers && i < 2; i++) {
        if (headers[i].name && !add(response, headers[i].name, headers[i].value)) {
            MHD_destroy_response(response);
            response = NULL;
        }
    }
    return answer(request, status, response);
}

enum MHD_Result answer_json(struct request *request, unsigned status, json_t *json)
{
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    if (!text) {
        struct problem problem;
        problem_set(&problem, PROBLEM_INTERNAL, 0, "there is no memory");
        return answer_problem(request, &problem);
    }
    return answer(request, status,
                  new_response("application/json", text, strlen(text), MHD_RESPMEM_MUST_FREE));
}

/* The header that belongs to a problem of this kind. */
static struct answer_header header_of(const struct request *request, const struct problem *problem)
{
    switch (problem->kind) {
    case PROBLEM_UNAUTHORIZED:
        return (struct answer_header){"WWW-Authenticate", "Bearer"};
    case PROBLEM_METHOD_NOT_ALLOWED:
        return (struct answer_header){"Allow", request->route.allow};
    default:
        return (struct answer_header){0};
    }
}

enum MHD_Result answer_problem(struct request *request, const struct problem *problem)
{
    char text[PROBLEM_TEXT_SIZE];
    char seconds[16];
    size_t length = problem_write(problem, request->id, text);
    struct answer_header headers[2] = {header_of(request, problem)};
    if (problem->retry_after_s > 0) {
        (void)snprintf(seconds, sizeof seconds, "%" PRIu32, problem->retry_after_s);
        headers[1] = (struct answer_header){"Retry-After", seconds};
    }
    return answer_text(request, problem_status(problem->kind), PROBLEM_TYPE, text, length, headers);
}

enum MHD_Result answer_and_hang_up(struct request *request, const struct problem *problem)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(request->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (!info) {
        return MHD_NO;
    }
    char body[PROBLEM_TEXT_SIZE];
    char text[PROBLEM_TEXT_SIZE + 512];
    unsigned status = problem_status(problem->kind);
    size_t body_length = problem_write(problem, request->id, body);
    int length =
        snprintf(text, sizeof text,
                 "HTTP/1.1 %u %s\r\nContent-Type: " PROBLEM_TYPE
                 "\r\nContent-Length: %zu\r\nX-Request-Id: %s\r\n"
                 "Cache-Control: no-store\r\nConnection: close\r\n%s\r\n%s",
                 status, MHD_get_reason_phrase_for(status), body_length, request->id,
                 problem->kind == PROBLEM_UNAUTHORIZED ? "WWW-Authenticate: Bearer\r\n" : "", body);
    /* If it does not go out at once, the client is not reading either. */
    (void)send(info->connect_fd, text, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
    (void)shutdown(info->connect_fd, SHUT_WR);
    return MHD_NO;
}
