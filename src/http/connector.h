/*
 * connector - a TCP connection to one of several addresses, both families raced (RFC 8305), to none
 * that is forbidden (W5).
 *
 *   connector_start -> on_done, or connector_cancel before it
 *
 * The families take turns, beginning with that of the first address. Each attempt has
 * CONNECTOR_STAGGER_MS before the next one begins beside it; one that fails begins the next at
 * once. The first to connect wins, the others are closed. There is no timeout here: the caller
 * cancels. on_done is never called inside connector_start, and after it the connector is gone.
 */
#ifndef LULL_HTTP_CONNECTOR_H
#define LULL_HTTP_CONNECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "lull/outcome.h"
#include "poller.h"
#include "resolver.h"
#include "timers.h"

#define CONNECTOR_STAGGER_MS 250

/* fd: connected, non-blocking, close-on-exec, TCP_NODELAY, the caller's to close; -1: none. Then
 * transport is FORBIDDEN if every address was, REFUSED (or CONNECT_TIMEOUT, where the kernel gave
 * up waiting) if one was tried and none could be had;
 * detail says why in a few words that last for ever. */
struct connector_result {
    int fd;
    enum lull_transport transport;
    const char *detail;
};

struct connector;

/* addresses is copied. NULL: no memory. */
struct connector *connector_start(
    struct poller *poller, struct timers *timers, const struct addresses *addresses,
    bool is_public_only, int64_t now_ms,
    void (*on_done)(void *userdata, const struct connector_result *result, int64_t now_ms),
    void *userdata);

/* Before its on_done. That will not be called, the sockets are closed, and the connector is gone.
 */
void connector_cancel(struct connector *connector);

#endif
