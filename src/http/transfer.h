/*
 * transfer - one attempt, from its options to its end: on an easy handle, or by the transport.
 *
 * It knows what was done and what came back; what that means for the call is call.c's.
 */
#ifndef LULL_HTTP_TRANSFER_H
#define LULL_HTTP_TRANSFER_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "curl_guard.h"
#include "lull/breaker.h"
#include "lull/outcome.h"
#include "posting.h"
#include "response.h"

struct call;

/* The first ones of a multi are known by their handle: all that a blocking call can have out. The
 * others by their place in the multi's table, which curl keeps as CURLOPT_PRIVATE. */
#define TRANSFERS_FOUND_BY_HANDLE 2

struct transfer {
    struct call *call;       /* NULL: free for the next */
    CURL *pooled;            /* our own handle, kept from one request to the next */
    CURL *easy;              /* the one in use: pooled, the caller's, or a copy of that */
    size_t index;            /* in the multi's table */
    bool is_message;         /* it goes by the transport, and easy is NULL */
    bool is_stopped;         /* by us, before its end */
    struct posting *posting; /* kept from one to the next; NULL: there was none yet */
    const char *detail;      /* why a message failed */
    bool is_hedge;
    struct curl_guard guard;
    bool is_stream_refused; /* curl would repeat it, which the HTTP/2 peer had not processed */
    bool is_below_goaway;   /* the same, by a GOAWAY with a smaller last stream */
    unsigned stream_id;     /* HTTP/2, where it is known; else 0 */
    bool is_body_read;      /* at least a byte of the request's body was asked for */
    bool is_streaming;      /* the response goes to the caller's sink */
    bool is_sink_refused;   /* and that would take no more */
    int64_t body_offset;    /* FILE: how far it has been read */
    struct curl_slist *own_headers; /* ours, with the caller's hung on behind */
    struct response response;
    struct lull_breaker_permit permit;
    size_t attempt;     /* which of the result's */
    int64_t started_ms; /* monotonic */
};

/* Makes it ready for one attempt. False: no memory. Undo with transfer_release. */
bool transfer_prepare(struct transfer *transfer, struct call *call, bool is_hedge, bool is_message);

/* The method of a handle of the caller's, once the request is written. To be asked before its
 * verdict, unless that is a success: most never need it. */
void transfer_ask_method(const struct transfer *transfer);

/* The transport has given the message back. Returns what libcurl would have said. */
CURLcode transfer_take_message(struct transfer *transfer);

/* Gives the caller's handle back, drops a copy, keeps ours; the response stays until the next. */
void transfer_release(struct transfer *transfer);

/* At the end of the multi. */
void transfer_free(struct transfer *transfer);

/* How the transfer that ended with this code is to be seen. Points into the response. */
struct lull_outcome transfer_outcome(const struct transfer *transfer, CURLcode code);

/* Did all of the body arrive? An HTTP/2 peer may end the stream badly after it. */
bool transfer_is_body_complete(const struct transfer *transfer, CURLcode code);

#endif
