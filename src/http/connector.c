/*
 * connector - see the header. SPDX-License-Identifier: MIT
 *
 * All attempts begin in the timer's call, the first one too, which is due at once: so on_done has
 * no way to come from inside connector_start, not even if nothing can be tried.
 */
#include "connector.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "address.h"

struct attempt {
    struct watch watch; /* fd -1: not begun, or over */
    struct connector *connector;
};

struct connector {
    struct poller *poller;
    struct timers *timers;
    struct timer timer; /* when the next attempt begins */
    bool is_public_only;
    struct addresses addresses; /* in the order of the attempts */
    struct attempt attempts[ADDRESSES_MAX];
    size_t next;       /* the first address that was not tried yet */
    size_t open_count; /* attempts under way */
    bool is_any_forbidden;
    int error; /* the errno that says most about the attempts that failed; 0: none did */
    void (*on_done)(void *userdata, const struct connector_result *result, int64_t now_ms);
    void *userdata;
};

/* The families take turns, each in its own order, until one of them has no more. */
static void interleave(const struct addresses *from, struct addresses *ret_to)
{
    size_t cursors[2] = {0, 0}; /* of the first address's family, and of the other */
    ret_to->count = 0;
    for (int turn = 0; ret_to->count < from->count; turn = !turn) {
        size_t *cursor = &cursors[turn];
        while (*cursor < from->count &&
               (from->list[*cursor].any.sa_family != from->list[0].any.sa_family) != (turn == 1)) {
            (*cursor)++;
        }
        if (*cursor < from->count) {
            ret_to->list[ret_to->count++] = from->list[(*cursor)++];
        }
    }
}

/* ---- the end ---- */

/* Gives back the socket, no longer watched. */
static int detach(struct attempt *attempt)
{
    int fd = attempt->watch.fd;
    poller_remove(attempt->connector->poller, &attempt->watch);
    attempt->watch.fd = -1;
    attempt->connector->open_count--;
    return fd;
}

void connector_cancel(struct connector *connector)
{
    for (size_t i = 0; i < connector->next; i++) {
        if (connector->attempts[i].watch.fd >= 0) {
            (void)close(detach(&connector->attempts[i]));
        }
    }
    timers_clear(connector->timers, &connector->timer);
    timers_unreserve(connector->timers);
    free(connector);
}

static void finish(struct connector *connector, struct connector_result result, int64_t now_ms)
{
    void (*on_done)(void *, const struct connector_result *, int64_t) = connector->on_done;
    void *userdata = connector->userdata;
    connector_cancel(connector);
    on_done(userdata, &result, now_ms);
}

static void finish_with_failure(struct connector *connector, int64_t now_ms)
{
    struct connector_result result = {.fd = -1, .transport = LULL_TRANSPORT_REFUSED};
    if (connector->error != 0) {
        const char *words = strerrordesc_np(connector->error);
        result.detail = words ? words : "unknown error";
        if (connector->error == ETIMEDOUT) { /* the kernel's own patience, some two minutes */
            result.transport = LULL_TRANSPORT_CONNECT_TIMEOUT;
        }
    } else if (connector->is_any_forbidden) {
        result.transport = LULL_TRANSPORT_FORBIDDEN;
        result.detail = "the address is not public";
    } else {
        result.detail = "there is no address";
    }
    finish(connector, result, now_ms);
}

/* ---- attempts ---- */

/* That a machine has no IPv6 says nothing about why the other addresses could not be had. */
static void note_error(struct connector *connector, int error)
{
    bool is_local = error == EAFNOSUPPORT || error == EADDRNOTAVAIL || error == ENETUNREACH;
    if (connector->error == 0 || !is_local) {
        connector->error = error;
    }
}

/* A socket that is connected or about to be; -1 and errno: neither. */
static int begin_connect(const union socket_address *address, bool *ret_is_connected)
{
    static const int on = 1;
    bool is_v6 = address->any.sa_family == AF_INET6;
    int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    *ret_is_connected =
        connect(fd, &address->any, is_v6 ? sizeof address->v6 : sizeof address->v4) == 0;
    if (!*ret_is_connected && errno != EINPROGRESS) {
        int error = errno;
        (void)close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static void on_attempt_ready(struct watch *watch, uint32_t events, int64_t now_ms);

enum progress { NOT_BEGUN, UNDER_WAY, CONNECTED };

/* The next address. CONNECTED: ret_fd is the socket. */
static enum progress begin_next(struct connector *connector, int *ret_fd)
{
    const union socket_address *address = &connector->addresses.list[connector->next];
    struct attempt *attempt = &connector->attempts[connector->next++];
    bool is_connected = false;
    attempt->watch.fd = -1;
    if (connector->is_public_only && !address_is_public(&address->any)) {
        connector->is_any_forbidden = true;
        return NOT_BEGUN;
    }
    int fd = begin_connect(address, &is_connected);
    if (fd < 0) {
        note_error(connector, errno);
        return NOT_BEGUN;
    }
    if (is_connected) {
        *ret_fd = fd;
        return CONNECTED;
    }
    *attempt = (struct attempt){.watch = {fd, EPOLLOUT, on_attempt_ready}, .connector = connector};
    if (!poller_add(connector->poller, &attempt->watch)) {
        note_error(connector, errno);
        attempt->watch.fd = -1;
        (void)close(fd);
        return NOT_BEGUN;
    }
    connector->open_count++;
    return UNDER_WAY;
}

/* Begins the next attempt that can be begun. The connector may be gone afterwards. */
static void advance(struct connector *connector, int64_t now_ms)
{
    enum progress progress = NOT_BEGUN;
    int fd = -1;
    timers_clear(connector->timers, &connector->timer);
    while (progress == NOT_BEGUN && connector->next < connector->addresses.count) {
        progress = begin_next(connector, &fd);
    }
    if (progress == CONNECTED) {
        finish(connector, (struct connector_result){.fd = fd}, now_ms);
    } else if (connector->open_count == 0) {
        finish_with_failure(connector, now_ms);
    } else if (connector->next < connector->addresses.count) {
        timers_set(connector->timers, &connector->timer, now_ms + CONNECTOR_STAGGER_MS);
    }
}

static void on_attempt_ready(struct watch *watch, uint32_t events, int64_t now_ms)
{
    struct attempt *attempt = owner_of(watch, struct attempt, watch);
    struct connector *connector = attempt->connector;
    int error = 0;
    socklen_t size = sizeof error;
    (void)events;
    if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
        error = errno;
    }
    int fd = detach(attempt);
    if (error == 0) {
        finish(connector, (struct connector_result){.fd = fd}, now_ms);
        return;
    }
    (void)close(fd);
    note_error(connector, error);
    advance(connector, now_ms);
}

static void on_turn(struct timer *timer, int64_t now_ms)
{
    advance(owner_of(timer, struct connector, timer), now_ms);
}

struct connector *connector_start(
    struct poller *poller, struct timers *timers, const struct addresses *addresses,
    bool is_public_only, int64_t now_ms,
    void (*on_done)(void *userdata, const struct connector_result *result, int64_t now_ms),
    void *userdata)
{
    struct connector *connector = calloc(1, sizeof *connector);
    if (!connector || !timers_reserve(timers)) {
        free(connector);
        return NULL;
    }
    connector->poller = poller;
    connector->timers = timers;
    connector->timer.on_due = on_turn;
    connector->is_public_only = is_public_only;
    connector->on_done = on_done;
    connector->userdata = userdata;
    interleave(addresses, &connector->addresses);
    timers_set(timers, &connector->timer, now_ms);
    return connector;
}
