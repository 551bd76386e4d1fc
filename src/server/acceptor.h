/*
 * acceptor - a thread that takes new connections and shares them out to the API's threads.
 *
 * libmicrohttpd can do that itself, but then whichever thread wakes first takes all that come at
 * once, and one core encrypts for sixty clients while the others sleep. Here each goes to the
 * thread that has the fewest.
 */
#ifndef LULL_SERVER_ACCEPTOR_H
#define LULL_SERVER_ACCEPTOR_H

#include <stddef.h>

#include "api_thread.h"

struct acceptor;

/* listen_fd is its own from now on, also where it fails. As long as there are connections_max
 * connections, more wait in the kernel. LULL_ERR_MEMORY, LULL_ERR_RANGE: no thread, or no
 * descriptor. */
int acceptor_start(struct acceptor **ret_acceptor, int listen_fd, struct api_thread **threads,
                   size_t thread_count, unsigned connections_max);

/* No new connections, when it returns; closes listen_fd. Before the threads end. NULL is fine. */
void acceptor_stop(struct acceptor *acceptor);

#endif
