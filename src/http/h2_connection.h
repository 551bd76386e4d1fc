/*
 * h2_connection - one connection to an origin that may speak HTTP/2: from its name to its end.
 *
 *   LOOKING_UP -> CONNECTING -> SHAKING -> OPEN -> (gone)
 *        |            |            |        |
 *        +------------+------------+--------+--> on_closed
 *
 * OPEN begins with the handshake; requests may be sent once the peer's SETTINGS are there
 * (on_ready). A peer that speaks no HTTP/2 is on_closed with is_http_1. After on_closed the
 * connection is gone. No callback comes from inside h2_connection_open; from h2_connection_submit
 * only on_end.
 */
#ifndef LULL_HTTP_H2_CONNECTION_H
#define LULL_HTTP_H2_CONNECTION_H

#include <stdbool.h>
#include <stdint.h>

#include "h2_session.h"
#include "poller.h"
#include "resolver.h"
#include "timers.h"
#include "tls.h"
#include "transport.h"

struct h2_connection;

/* What all connections of a transport share. */
struct h2_shared {
    struct poller *poller;
    struct timers *timers;
    struct resolver *resolver;
    struct tls *tls;
    const struct transport_config *config;
    struct h2_connection *dirty; /* those with something to send, by h2_connection_flush_all */
    uint8_t *buffer;             /* H2_BUFFER_SIZE, for what is read */
};

#define H2_BUFFER_SIZE 32768

struct h2_closing {
    bool was_ready;
    bool is_http_1; /* it was fine, but speaks no HTTP/2 */
    enum lull_transport failure;
    const char *detail;
};

struct h2_connection_owner {
    void *userdata;
    void (*on_ready)(void *userdata, struct h2_connection *connection, int64_t now_ms);
    /* The peer has said something: there may be more room, or less. */
    void (*on_heard)(void *userdata, struct h2_connection *connection, int64_t now_ms);
    /* Its requests have all had their on_end before. */
    void (*on_closed)(void *userdata, struct h2_connection *connection,
                      const struct h2_closing *closing, int64_t now_ms);
    void (*on_end)(void *userdata, struct h2_connection *connection,
                   struct transport_request *request, enum h2_end end, enum lull_transport failure,
                   const char *detail, int64_t now_ms);
};

/* Where it is to go. */
struct h2_target {
    const char *host; /* borrowed for its life */
    uint16_t port;
    bool is_public_only;
    const struct addresses *addresses; /* known already; NULL: to be looked up */
    struct tls_sessions *sessions;     /* borrowed for its life */
};

/* NULL: no memory. */
struct h2_connection *h2_connection_open(struct h2_shared *shared, const struct h2_target *target,
                                         const struct h2_connection_owner *owner, int64_t now_ms);

/* Without any callback; what it has under way is forgotten. */
void h2_connection_destroy(struct h2_connection *connection);

/* What it found out for those after it; NULL: nothing yet. */
const struct addresses *h2_connection_addresses(const struct h2_connection *connection);

/* How many requests can be sent on it now. None while it must first show that it is alive. */
uint32_t h2_connection_room(const struct h2_connection *connection);
const struct h2_session_state *h2_connection_state(const struct h2_connection *connection);
bool h2_connection_is_resumed(const struct h2_connection *connection);

/* LULL_ERR_MEMORY: not taken on. It goes out with the next flush. */
int h2_connection_submit(struct h2_connection *connection, struct transport_request *request,
                         int64_t now_ms);

/* Lets go of it without on_end. Returns whether some of it has gone out, or will. */
bool h2_connection_abandon(struct h2_connection *connection, struct transport_request *request);

/* A request timed out on it, or it was silent for long: no more requests until it has answered a
 * ping. */
void h2_connection_check(struct h2_connection *connection, int64_t now_ms);

/* Since when it has been silent, and since when nobody has used it. */
int64_t h2_connection_heard_ms(const struct h2_connection *connection);
int64_t h2_connection_used_ms(const struct h2_connection *connection);

/* Ends it in good order: our GOAWAY, and on_closed from the next step. Only without requests. */
void h2_connection_retire(struct h2_connection *connection, int64_t now_ms);

/* Sends what has come together on all of them. */
void h2_connection_flush_all(struct h2_shared *shared, int64_t now_ms);

#endif
