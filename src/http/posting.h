/*
 * posting - an attempt of the client that goes by the transport instead of an easy handle: that of
 * a push or a webhook. It turns the client's request into the transport's, and its end back.
 */
#ifndef LULL_HTTP_POSTING_H
#define LULL_HTTP_POSTING_H

#include <curl/curl.h>
#include <stdbool.h>

#include "lull/http.h"
#include "transport.h"

struct posting {
    struct transport_request request;
    struct lull_header headers[TRANSPORT_HEADERS_MAX];
    char *names; /* of the headers, in lower case */
    size_t names_size;
};

/* Is this request one for the transport? Not with a handle of the caller's, or a hook that sets up
 * one; nor with a body that is read bit by bit. */
bool posting_is_for(const struct lull_request *request);

/* headers: all that are sent; they and the request must last. LULL_ERR_MEMORY. */
int posting_prepare(struct posting *posting, const struct lull_request *request,
                    const struct curl_slist *headers, size_t response_max);
void posting_free(struct posting *posting); /* NULL is fine */

/* What libcurl would have said of this end. */
CURLcode posting_code(const struct transport_request *request);

#endif
