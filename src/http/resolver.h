/*
 * resolver - names to addresses, without blocking: a few threads around getaddrinfo, which sees
 * what every other program of the machine sees (nsswitch, hosts, the local resolver).
 *
 *   resolver_new -> { lookup_start, on_done or lookup_cancel } ... -> resolver_destroy
 *
 * A resolver belongs to one thread, which also dispatches its poller: on_done is only ever called
 * from there, never inside lookup_start. Threads are begun when there is work, and at most
 * RESOLVER_THREADS_MAX. One that hangs in a look-up that nobody waits for any more ends by itself;
 * nobody joins it. After on_done the lookup is gone. on_done may start and cancel look-ups, and
 * destroy the resolver.
 */
#ifndef LULL_HTTP_RESOLVER_H
#define LULL_HTTP_RESOLVER_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "lull/outcome.h"
#include "poller.h"

#define RESOLVER_THREADS_MAX 16
#define ADDRESSES_MAX 16

union socket_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

struct addresses {
    size_t count; /* in the order that the system prefers (RFC 6724); where there are too many, each
                     family keeps at least one half of the places, if it has so many */
    union socket_address list[ADDRESSES_MAX];
};

/* transport NONE: addresses has at least one. Else DNS (try again later) or DNS_NOT_FOUND, and
 * detail says why in a few words that last for ever. */
struct lookup_result {
    enum lull_transport transport;
    const char *detail;
    struct addresses addresses;
};

struct resolver;
struct lookup;

int resolver_new(struct resolver **ret_resolver, struct poller *poller); /* LULL_ERR_MEMORY */

/* Look-ups under way are cancelled. Does not wait for their threads. NULL is fine. */
void resolver_destroy(struct resolver *resolver);

/* host: a name or an address in writing (IPv6 without brackets), copied. An address in writing, in
 * any form that the system knows ("127.1" too), is not looked up, but on_done comes later all the
 * same. NULL: no memory, or no thread to be had. */
struct lookup *lookup_start(struct resolver *resolver, const char *host, uint16_t port,
                            void (*on_done)(void *userdata, const struct lookup_result *result,
                                            int64_t now_ms),
                            void *userdata);

/* Before its on_done. That will not be called, and the lookup is gone. */
void lookup_cancel(struct lookup *lookup);

#endif
