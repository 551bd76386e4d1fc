/*
 * poller - which sockets have news, on one epoll instance. Level-triggered.
 *
 *   poller_new -> { poller_add, poller_change, poller_remove } ... poller_dispatch ->
 * poller_destroy
 *
 * The poller's own descriptor is readable when one of those that it watches has news, so that any
 * event loop can wait for it. A watch lives inside of what it is for. It may be removed, and its
 * memory freed, also by its own on_ready or that of another.
 */
#ifndef LULL_HTTP_POLLER_H
#define LULL_HTTP_POLLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "owner.h"

struct watch {
    int fd;
    uint32_t events; /* EPOLLIN, EPOLLOUT; errors and hang-ups come unasked */
    void (*on_ready)(struct watch *watch, uint32_t events, int64_t now_ms);
};

struct poller;

int poller_new(struct poller **ret_poller); /* LULL_ERR_MEMORY */
void poller_destroy(struct poller *poller); /* NULL is fine */
int poller_fd(const struct poller *poller);

/* fd, events and on_ready are set. False: the kernel has no room for it. */
bool poller_add(struct poller *poller, struct watch *watch);
void poller_change(struct poller *poller, struct watch *watch, uint32_t events);
void poller_remove(struct poller *poller, struct watch *watch); /* before its fd is closed */

/* Calls on_ready of all that have news now, at most once each. Never waits. */
void poller_dispatch(struct poller *poller, int64_t now_ms);

#endif
