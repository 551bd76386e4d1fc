/*
 * message - an attempt of the client that goes by the transport instead of an easy handle: that of
 * a push or a webhook. It turns the client's request into the transport's, and its end back.
 */
#ifndef LULL_HTTP_MESSAGE_H
#define LULL_HTTP_MESSAGE_H

#include <curl/curl.h>
#include <stdbool.h>

#include "lull/http.h"
#include "transport.h"

struct message {
    struct transport_request request;
    struct lull_header headers[TRANSPORT_HEADERS_MAX];
    char *names; /* of the headers, in lower case */
    size_t names_size;
};

/* Is this request one for the transport? Not with a handle of the caller's, or a hook that sets up
 * one; nor with a body that is read bit by bit. */
bool message_is_for(const struct lull_request *request);

/* headers: all that are sent; they and the request must last. LULL_ERR_MEMORY. */
int message_prepare(struct message *message, const struct lull_request *request,
                    const struct curl_slist *headers, size_t response_max);
void message_free(struct message *message); /* NULL is fine */

/* What libcurl would have said of this end. */
CURLcode message_code(const struct transport_request *request);

#endif
