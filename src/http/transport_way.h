/*
 * transport_way - the table behind transport.h: what each way of sending must do, and what it may
 * ask of the transport that it is part of.
 */
#ifndef LULL_HTTP_TRANSPORT_WAY_H
#define LULL_HTTP_TRANSPORT_WAY_H

#include "poller.h"
#include "resolver.h"
#include "timers.h"
#include "transport.h"

struct transport_way;

struct transport_table {
    /* Takes it on; its fields were checked, its own.url is set, and its timer has room. 0 or
     * LULL_ERR_MEMORY. */
    int (*submit)(struct transport_way *way, struct transport_request *request, int64_t now_ms);
    /* Ends it as cancelled, by transport_finish. Only for a request that it has. */
    void (*cancel)(struct transport_way *way, struct transport_request *request, int64_t now_ms);
    /* After sockets and timers had their turn: sends what has come together. */
    void (*flush)(struct transport_way *way, int64_t now_ms);
    void (*destroy)(struct transport_way *way); /* drops its requests without a word */
};

struct transport_way {
    const struct transport_table *table;
    struct transport *transport;
};

/* Each way: NULL if there is no memory, or LULL_ERR_RANGE by *ret_error for a bad ca_file. */
struct transport_way *transport_h2_new(struct transport *transport, int *ret_error);
struct transport_way *transport_curl_new(struct transport *transport, int *ret_error);

/* What a way works with. */
const struct transport_config *transport_settings(const struct transport *transport);
struct poller *transport_poller(struct transport *transport);
struct timers *transport_timers(struct transport *transport);
struct transport_stats *transport_counters(struct transport *transport);

/* There is more to do, without waiting for a socket or a timer: wake for another step at once. */
void transport_ask_step(struct transport *transport);

/* The request is over: it has a status (response.is_head_complete), or ended by this failure.
 * Clears its timer and queues it for transport_collect. A status that has arrived stands: then
 * transport and detail are passed over. */
void transport_finish(struct transport *transport, struct transport_request *request,
                      enum lull_transport failure, const char *detail);

/* From transport_h2: the origin speaks no HTTP/2, and nothing of the request was sent. */
void transport_hand_to_curl(struct transport *transport, struct transport_request *request,
                            int64_t now_ms);

#endif
