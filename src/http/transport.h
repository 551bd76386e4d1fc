/*
 * transport - requests out, outcomes back (C1, C12). It has no thread of its own and never blocks.
 *
 *   transport_new -> { transport_submit ... transport_step, transport_collect ... }
 *                 -> transport_destroy
 *
 * One instance belongs to one thread, which waits until transport_fd is readable or
 * transport_wake_at_ms has come, and then calls transport_step. What is submitted between two steps
 * goes out together. Each request that was taken on comes back from transport_collect exactly once,
 * and never from inside another call. now_ms is any clock that does not step, always the same one.
 *
 * HTTP/2 is transport_h2's (nghttp2 on OpenSSL); HTTP/1.1 and proxies are transport_curl's. Which
 * of them an origin gets is found out by ALPN, before anything is sent, and remembered. A request
 * is sent once, with one exception: what a connection did not take that had served others and then
 * said GOAWAY goes to the next connection.
 *
 * Redirects are never followed. No request, whole or in part, is ever logged.
 */
#ifndef LULL_HTTP_TRANSPORT_H
#define LULL_HTTP_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/outcome.h"
#include "response.h"
#include "timers.h"
#include "url.h"

enum transport_protocol {
    TRANSPORT_PROTOCOL_NONE, /* there was no connection */
    TRANSPORT_PROTOCOL_HTTP_1,
    TRANSPORT_PROTOCOL_HTTP_2,
};

/* In zeroed memory, or that of a request that came back, whose buffers it uses again. */
struct transport_request {
    /* The caller's. All that is pointed to is borrowed until the request has come back, the body
     * too: it is not copied. transport_request_init sets the defaults. */
    const char *url;                   /* http or https, absolute */
    const char *method;                /* default POST */
    const struct lull_header *headers; /* names in lower case; no host, no content-length, none
                                          that is about the connection */
    size_t header_count;               /* at most TRANSPORT_HEADERS_MAX */
    const void *body;
    size_t body_length;
    int64_t connect_timeout_ms;    /* until it is on a connection        default 10,000 */
    int64_t first_byte_timeout_ms; /* from then until the status         default 30,000 */
    int64_t timeout_ms;            /* all of it, LULL_NEVER: none        default 60,000 */
    size_t response_max;           /* bytes of the body that are kept    default 16,384 */
    bool is_public_only;           /* to no private, loopback or link-local address, by no proxy
                                      either (W5)                        default true */
    void *userdata;

    /* What it came to. outcome points into response. */
    struct lull_outcome outcome; /* STATUS or TRANSPORT */
    struct response response;
    bool is_body_complete; /* all of the response arrived, and response_max was enough for it */
    const char *detail;    /* of a transport failure: why, in a few words that last for ever and
                              hold no secret; else NULL */
    enum transport_protocol protocol;
    int64_t submitted_ms;
    int64_t sent_ms;     /* handed to a connection; -1: never */
    int64_t answered_ms; /* the status arrived; -1: never */

    /* The transport's own. */
    struct {
        struct transport_request *next;
        struct transport_request *previous;
        struct url url; /* its parts */
        struct timer timer;
        void *place;         /* where it is: an origin, a connection, an easy handle */
        uint64_t first_byte; /* of what its connection has ever written, where its head begins */
        size_t body_sent;
        size_t header_bytes; /* that arrived, kept or not */
        int32_t stream_id;
        uint8_t state;
        uint8_t moves; /* to other connections */
    } own;
};

#define TRANSPORT_HEADERS_MAX 48
#define TRANSPORT_HEAD_MAX 60000 /* bytes of URL and headers, each of these with 32 more */

struct transport_config {
    const char *ca_file;   /* PEM; NULL: the system's                      default NULL */
    const char *proxy;     /* of HTTP/1.1: a URL; "": none; NULL: as the environment says
                                                                           default NULL */
    uint32_t requests_max; /* taken on at once             default 10,000 */
    uint32_t connections_max_per_origin;        /*                              default 4 */
    uint32_t http_1_connections_max_per_origin; /* of one without HTTP/2, where each has one
                                                   request at a time; 0: as many   default 0 */
    uint32_t connections_max;                   /* in all                       default 256 */
    uint32_t streams_max;                       /* per connection               default 100 */
    uint32_t origins_max;                       /* remembered at once           default 1,024 */
    /* Each up to a year. */
    int64_t idle_ping_ms;    /* a connection silent for so long is pinged  default 30,000 */
    int64_t ping_timeout_ms; /* and closed if it stays silent            default 5,000 */
    int64_t idle_close_ms;   /* unused for so long, it is closed         default 300,000 */
};

struct transport;

void transport_config_default(struct transport_config *config);

/* NULL: all defaults. LULL_ERR_RANGE: a field out of range, or a ca_file that cannot be read;
 * LULL_ERR_MEMORY. */
int transport_new(struct transport **ret_transport, const struct transport_config *config);

/* What is under way is forgotten: it does not come back. NULL is fine. */
void transport_destroy(struct transport *transport);

/* All defaults for a zeroed request; one that came back keeps its buffers. */
void transport_request_init(struct transport_request *request, const char *url);
void transport_request_clean_up(struct transport_request *request);

/* LULL_ERR_SYNTAX: the URL; LULL_ERR_RANGE: a header or a timeout that cannot be; LULL_ERR_FULL:
 * requests_max are under way; LULL_ERR_MEMORY. Then it was not taken on. */
int transport_submit(struct transport *transport, struct transport_request *request,
                     int64_t now_ms);

/* Ends it; it comes back as CANCELLED, unless a status had arrived, or it has come back already. */
void transport_cancel(struct transport *transport, struct transport_request *request,
                      int64_t now_ms);

/* Takes it back at once, wherever it is: its outcome is the one that transport_cancel would give
 * it, and it does not come back from transport_collect any more. */
void transport_withdraw(struct transport *transport, struct transport_request *request,
                        int64_t now_ms);

/* Moves everything as far as it goes. */
void transport_step(struct transport *transport, int64_t now_ms);

/* The next that is done; NULL: none. It is the caller's again. */
struct transport_request *transport_collect(struct transport *transport);

int transport_fd(const struct transport *transport);
int64_t transport_wake_at_ms(const struct transport *transport); /* LULL_NEVER: only by its fd */

/* How many are under way, and how many have not been collected. */
size_t transport_count(const struct transport *transport);

/* For metrics and tests. */
struct transport_stats {
    uint64_t requests;    /* taken on */
    uint64_t moves;       /* sent again, or for the first time, on another connection */
    uint64_t connections; /* of HTTP/2 that were ready to use */
    uint64_t resumptions; /* of those, by a TLS session from before */
    uint64_t connect_failures;
    uint64_t open_connections; /* of HTTP/2, now */
};

struct transport_stats transport_stats(const struct transport *transport);

#endif
