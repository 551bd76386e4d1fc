/*
 * h2_session - the client's side of one HTTP/2 connection, without the connection: a server's bytes
 * in, our bytes out. No socket, no TLS, no clock; nghttp2 is inside.
 *
 *   h2_session_new -> { h2_session_submit, h2_session_drain, h2_session_written,
 *                       h2_session_receive, h2_session_abandon } ...
 *                  -> h2_session_fail, once the connection is gone -> h2_session_destroy
 *
 * A request ends by exactly one call of on_end, from inside h2_session_receive, _drain or _fail.
 * Nothing may be submitted from there. A session that is destroyed forgets its requests.
 *
 * The names and values of headers are packed from where they are, and the body is gathered straight
 * into the buffer that is encrypted: there is no copy of the request.
 */
#ifndef LULL_HTTP_H2_SESSION_H
#define LULL_HTTP_H2_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "transport.h"

/* The largest room that h2_session_drain needs: a frame of DATA is never larger than half of it. */
#define H2_DRAIN_MIN 16384

enum h2_end {
    H2_ANSWERED, /* a status has arrived and stands */
    H2_NOT_SENT, /* nothing of it has left this machine: it may go elsewhere */
    H2_GOAWAY,   /* sent, but the peer's GOAWAY says that it was not and will not be processed */
    H2_FAILED,   /* by the transport failure that is said */
};

struct h2_session_owner {
    void *userdata;
    void (*on_end)(void *userdata, struct transport_request *request, enum h2_end end,
                   enum lull_transport failure, const char *detail);
};

struct h2_session;

int h2_session_new(struct h2_session **ret_session, const struct h2_session_owner *owner);
void h2_session_destroy(struct h2_session *session); /* NULL is fine */

/* How many requests the peer lets us open now: none before its SETTINGS are there, and none after
 * its GOAWAY. */
uint32_t h2_session_room(const struct h2_session *session);

/* Only if there is room. LULL_ERR_MEMORY: it was not taken on. */
int h2_session_submit(struct h2_session *session, struct transport_request *request);

/* Lets go of it without on_end, and tells the peer to stop. Returns whether some of it has gone
 * out, or will. */
bool h2_session_abandon(struct h2_session *session, struct transport_request *request);

/* What the server sent. False: it cannot go on, and the connection is to be closed when what
 * h2_session_drain still has is written. Most of what breaks the rules is known only then, by the
 * state's is_broken. */
bool h2_session_receive(struct h2_session *session, const uint8_t *data, size_t length,
                        int64_t now_ms);

/* What is to be sent, up to size bytes. 0: nothing, or what is next does not fit. -1: no memory. */
int64_t h2_session_drain(struct h2_session *session, uint8_t *buffer, size_t size, int64_t now_ms);

/* So many bytes of all that was ever drained have been given to the peer. */
void h2_session_written(struct h2_session *session, uint64_t total);

/* The connection is gone. Ends all requests: what was not written to it has not been sent. */
void h2_session_fail(struct h2_session *session, enum lull_transport failure, const char *detail);

void h2_session_ping(struct h2_session *session);    /* any answer of the peer will do */
void h2_session_goodbye(struct h2_session *session); /* our GOAWAY */

/* What is known of it. */
struct h2_session_state {
    uint32_t requests;       /* under way */
    uint64_t submitted;      /* ever */
    bool is_ready;           /* the peer's SETTINGS are there */
    bool is_draining;        /* the peer said GOAWAY */
    bool is_broken;          /* our GOAWAY is out, which says that the peer broke the rules */
    bool is_calm_asked;      /* ENHANCE_YOUR_CALM was said, of a stream or of all */
    bool is_http_1_asked;    /* HTTP_1_1_REQUIRED */
    bool is_goaway_clean;    /* the GOAWAY was no reproach */
    uint32_t goaway_last_id; /* the last that the peer will process; 2^31-1: not said yet */
};

const struct h2_session_state *h2_session_state(const struct h2_session *session);
bool h2_session_is_done(const struct h2_session *session); /* nothing more can come of it */

#endif
