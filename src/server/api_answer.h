/* api_answer - what goes back to the client: each function queues the one answer of a request. */
#ifndef LULL_SERVER_API_ANSWER_H
#define LULL_SERVER_API_ANSWER_H

#include <jansson.h>
#include <microhttpd.h>
#include <stddef.h>

#include "problem.h"

struct request;

/* A header more; name NULL: none. */
struct answer_header {
    const char *name;
    const char *value;
};

/* The response is taken over, and may be NULL: then it is as if the memory were over. */
enum MHD_Result answer(struct request *request, unsigned status, struct MHD_Response *response);

/* text is copied. */
enum MHD_Result answer_text(struct request *request, unsigned status, const char *content_type,
                            const char *text, size_t length, const struct answer_header headers[2]);

/* json is taken over, and may be NULL: then there was no memory for it. */
enum MHD_Result answer_json(struct request *request, unsigned status, json_t *json);

/* With the headers that its kind asks for. */
enum MHD_Result answer_problem(struct request *request, const struct problem *problem);

/* In the middle of a body, where libmicrohttpd can answer no more: written to the socket, and then
 * the connection ends. */
enum MHD_Result answer_and_hang_up(struct request *request, const struct problem *problem);

#endif
