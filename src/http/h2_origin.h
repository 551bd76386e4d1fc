/*
 * h2_origin - one origin that may speak HTTP/2: the requests that wait for it, and its connections.
 *
 * A request waits here until a connection has room. Connections are opened as they are needed: one
 * to find out whether the origin is there and speaks HTTP/2, then as many as those that wait would
 * fill. What is changed by an event is only marked; h2_origin_assign does the work once per step.
 *
 * Three things are learned of an origin. That it speaks HTTP/1.1 only. That it wants calm
 * (ENHANCE_YOUR_CALM): fewer streams, and no new connection for a while. And how many requests it
 * takes on one connection before it says GOAWAY: past that number they go one at a time, so that
 * none is sent in vain.
 */
#ifndef LULL_HTTP_H2_ORIGIN_H
#define LULL_HTTP_H2_ORIGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "h2_connection.h"
#include "request_list.h"
#include "transport_way.h"

struct h2_origin;

/* What the origins of a transport share. */
struct h2_pool {
    struct transport *transport;
    struct h2_shared shared;
    struct h2_origin *active; /* those with something to do, by next_active */
    uint32_t connection_count;
    bool is_starved; /* some origin could not open a connection, since there were too many */
};

struct h2_member; /* a connection of an origin */

struct h2_origin {
    struct h2_pool *pool;
    char *host; /* in lower case */
    uint16_t port;
    bool is_public_only;
    struct h2_origin *next; /* in its bucket of the table */
    struct h2_origin *next_active;
    bool is_active;
    int64_t used_ms;

    struct request_list waiting;

    struct h2_member *members;
    struct tls_sessions sessions;
    struct addresses addresses; /* of the last look-up; count 0: none */
    int64_t addresses_until_ms;
    struct timer timer; /* when a hold is over */

    bool is_proven;          /* it has spoken HTTP/2 */
    int64_t http_1_until_ms; /* until then it is not asked for HTTP/2 */
    int64_t hold_until_ms;   /* no new connection before that */
    uint32_t failures;       /* of connections, in a row */
    uint32_t streams_max;    /* per connection: the config's, or less where calm was asked for */
    uint32_t calm_credit;    /* answers since streams_max was last changed */
    uint64_t quota;          /* requests per connection before a GOAWAY; 0: not known */
};

/* NULL: no memory. */
struct h2_origin *h2_origin_new(struct h2_pool *pool, const struct url *url, bool is_public_only,
                                int64_t now_ms);
void h2_origin_destroy(struct h2_origin *origin); /* forgets its requests and connections */
bool h2_origin_is(const struct h2_origin *origin, const struct url *url, bool is_public_only);
bool h2_origin_is_idle(const struct h2_origin *origin); /* nothing waits, nothing is open */

void h2_origin_submit(struct h2_origin *origin, struct transport_request *request, int64_t now_ms);

/* Ends a request of any origin of the pool, wherever it is. */
void h2_origin_cancel(struct transport_request *request, int64_t now_ms);

/* Sends what waits, as far as there is room, and opens connections for the rest. */
void h2_origin_assign(struct h2_origin *origin, int64_t now_ms);

void h2_origin_activate(struct h2_origin *origin);

/* Closes the connection that nobody has used for the longest time, if there is one without
 * requests. Returns when it was last used; LULL_NEVER: there is none. With is_asking, only says. */
int64_t h2_origin_retire_idle(struct h2_origin *origin, bool is_asking, int64_t now_ms);

#endif
