/*
 * h2_world - one h2_session, what it sent, and its requests, for tests.
 *
 *   world_open -> { world_ask, world_settle, world_hear ... } -> world_close
 *
 * All memory of a request (struct, URL, headers, body) is freed inside its on_end, or right after
 * it was abandoned: the address sanitizer sees whoever looks at it later. What it came to is kept
 * in its probe, and world_close fails the test unless each one ended exactly once.
 */
#ifndef LULL_TESTS_H2_WORLD_H
#define LULL_TESTS_H2_WORLD_H

#include "suite.h"

#include "h2_frames.h"
#include "h2_session.h"

#define PROBES_MAX 64

#define END_STREAM NGHTTP2_FLAG_END_STREAM
#define END_HEADERS NGHTTP2_FLAG_END_HEADERS
#define BOTH (NGHTTP2_FLAG_END_STREAM | NGHTTP2_FLAG_END_HEADERS)
#define GRACEFUL INT32_MAX
#define WINDOW 65535 /* of a stream and of the connection, unless the peer says otherwise */

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* An end, as check_end takes it. */
#define ANSWERED(status) H2_ANSWERED, LULL_TRANSPORT_NONE, status
#define FAILED(failure) H2_FAILED, LULL_TRANSPORT_##failure, 0

struct probe {
    struct transport_request *request; /* NULL: it is over */
    int ends;                          /* on_end, or abandoned */
    bool is_abandoned;
    enum h2_end end;
    enum lull_transport failure;
    bool has_detail;
    unsigned status; /* 0: its head is not complete */
    size_t header_count;
    char body[32]; /* cut */
    size_t body_length;
    bool is_body_complete;
    bool is_body_cut;
    int64_t sent_ms;
    int64_t answered_ms;
};

struct world {
    struct h2_session *session;
    struct h2_listener listener;
    struct probe probes[PROBES_MAX];
    size_t count;
    uint64_t drained;
    size_t drain_size; /* room that each drain is given */
    size_t piece_size; /* what it hears comes in pieces of so much; 0: whole */
    int64_t now_ms;
    bool is_good; /* no h2_session_receive has said otherwise */
};

/* What is asked; zeroed fields: a POST without headers and body to https://push.example/p. */
struct question {
    const char *url;
    const char *method;
    const struct lull_header *headers;
    size_t header_count;
    size_t body_length; /* of 'b' */
    size_t response_max;
};

void world_open(struct world *world);       /* the session has nothing of the peer yet */
void world_open_ready(struct world *world); /* the peer's SETTINGS are there, all is written */
void world_close(struct world *world);      /* ends what is under way by h2_session_fail */

/* Submits it; its stream is 2 * index + 1 if all were submitted and none was moved. */
struct probe *world_ask(struct world *world, const struct question *question);
bool world_abandon(struct world *world, struct probe *probe);

/* One drain; returns its bytes. All of it, until there is no more. That, and all is written. */
size_t world_drain_once(struct world *world);
void world_drain(struct world *world);
void world_settle(struct world *world);

/* The server says this, and out is empty again. */
void world_hear(struct world *world, struct bytes *out);
void world_hear_head(struct world *world, uint32_t stream, uint8_t flags, const char *lines);
void world_hear_data(struct world *world, uint32_t stream, uint8_t flags, size_t length);

/* As h2_connection does once all is written: the end of the connection, if there is one. */
void world_close_if_over(struct world *world);

/* The first frame from where the listener is that has the type and stream. */
bool world_find(struct world *world, uint8_t type, uint32_t stream, struct h2_said *ret_said);

/* It is ours again, since its session was destroyed. The world is closed with it. */
void world_forget(struct world *world, struct probe *probe);

/* By exactly one on_end, and so; failure is that of all but H2_ANSWERED. */
bool is_end(const struct probe *probe, enum h2_end end, enum lull_transport failure,
            unsigned status);
void check_end(const struct probe *probe, enum h2_end end, enum lull_transport failure,
               unsigned status);
void check_pending(const struct probe *probe);

#endif
