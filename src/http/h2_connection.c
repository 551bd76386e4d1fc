/* h2_connection - see the header for the states. SPDX-License-Identifier: MIT */
#include "h2_connection.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "connector.h"
#include "instant.h"
#include "lull/duration.h"
#include "lull/error.h"

/* From the name to the peer's SETTINGS. Requests have their own, shorter patience. */
#define SETUP_MAX_MS LULL_SECONDS(30)

/* One connection reads no more than this before the others have their turn. */
#define READ_TURN_MAX (256U << 10)

/* Less room than this in a record waits for the next. */
#define GATHER_MIN 2048

struct h2_connection {
    struct h2_shared *shared;
    struct h2_connection_owner owner;
    struct h2_target target;
    struct addresses addresses;
    struct lookup *lookup;
    struct connector *connector;
    struct watch watch; /* fd -1: no socket yet */
    struct timer timer;
    SSL *ssl;
    struct h2_session *session; /* NULL: not OPEN yet */
    bool is_ready;
    bool is_dirty;
    bool is_more_to_read;  /* TLS has it, so the socket may stay silent */
    bool is_write_blocked; /* until the socket can be written */
    bool is_ping_out;      /* and nothing was heard since */
    bool is_being_checked; /* so no requests until then */
    bool is_retired;       /* our GOAWAY is on its way */
    bool is_broken;        /* the peer broke the rules: close it once that is said */
    struct h2_connection *next_dirty;
    int64_t now_ms; /* of the call that we are in, for what the session reports */
    int64_t opened_ms;
    int64_t heard_ms;
    int64_t used_ms;
    int64_t pinged_ms;
    uint64_t written;
    size_t out_start;
    size_t out_end;
    uint8_t out[H2_DRAIN_MIN]; /* one record of TLS */
};

/* ---- the end ---- */

static void forget_dirty(struct h2_connection *connection)
{
    struct h2_connection **link = &connection->shared->dirty;
    while (connection->is_dirty && *link) {
        if (*link == connection) {
            *link = connection->next_dirty;
            return;
        }
        link = &(*link)->next_dirty;
    }
}

void h2_connection_destroy(struct h2_connection *connection)
{
    struct h2_shared *shared = connection->shared;
    forget_dirty(connection);
    if (connection->lookup) {
        lookup_cancel(connection->lookup);
    }
    if (connection->connector) {
        connector_cancel(connection->connector);
    }
    h2_session_destroy(connection->session);
    tls_close(connection->ssl);
    if (connection->watch.fd >= 0) {
        poller_remove(shared->poller, &connection->watch);
        (void)close(connection->watch.fd);
    }
    timers_clear(shared->timers, &connection->timer);
    timers_unreserve(shared->timers);
    free(connection);
}

static void close_with(struct h2_connection *connection, const struct h2_closing *closing,
                       int64_t now_ms)
{
    struct h2_connection_owner owner = connection->owner;
    struct h2_closing copy = *closing;
    copy.was_ready = connection->is_ready;
    connection->now_ms = now_ms;
    if (connection->session) {
        h2_session_fail(connection->session, copy.failure, copy.detail);
    }
    owner.on_closed(owner.userdata, connection, &copy, now_ms);
    h2_connection_destroy(connection);
}

static void fail(struct h2_connection *connection, enum lull_transport failure, const char *detail,
                 int64_t now_ms)
{
    close_with(connection, &(struct h2_closing){.failure = failure, .detail = detail}, now_ms);
}

/* Requests that were out on it may have arrived; if it was still being set up, there are none. */
static void fail_of_tls(struct h2_connection *connection, enum tls_result result, int64_t now_ms)
{
    if (connection->is_ready) {
        fail(connection, LULL_TRANSPORT_RESET,
             result == TLS_END ? "the peer closed the connection" : "the connection broke", now_ms);
        return;
    }
    const char *detail = NULL;
    enum lull_transport failure = tls_failure(connection->ssl, &detail);
    fail(connection, failure, detail, now_ms);
}

/* ---- reading ---- */

/* What is next: the answer to a ping, a ping, or the end of one that nobody uses. */
static void schedule(struct h2_connection *connection)
{
    const struct transport_config *config = connection->shared->config;
    int64_t due_ms = connection->is_ping_out ? connection->pinged_ms + config->ping_timeout_ms
                                             : connection->heard_ms + config->idle_ping_ms;
    if (h2_session_state(connection->session)->requests == 0) {
        due_ms = instant_earlier(due_ms, connection->used_ms + config->idle_close_ms);
    }
    timers_set(connection->shared->timers, &connection->timer, due_ms);
}

static void mark_dirty(struct h2_connection *connection)
{
    if (!connection->is_dirty) {
        connection->is_dirty = true;
        connection->next_dirty = connection->shared->dirty;
        connection->shared->dirty = connection;
    }
}

static void on_heard(struct h2_connection *connection, int64_t now_ms)
{
    connection->heard_ms = now_ms;
    connection->is_ping_out = false;
    connection->is_being_checked = false;
    if (!connection->is_ready && h2_session_state(connection->session)->is_ready) {
        connection->is_ready = true;
        schedule(connection);
        connection->owner.on_ready(connection->owner.userdata, connection, now_ms);
    }
    if (connection->is_ready) {
        connection->owner.on_heard(connection->owner.userdata, connection, now_ms);
    }
}

/* What has arrived; until the socket is empty, or until what was taken from it is read. False: it
 * is gone. */
static bool read_some(struct h2_connection *connection, bool is_to_the_end, int64_t now_ms)
{
    uint8_t *buffer = connection->shared->buffer;
    size_t total = 0;
    connection->now_ms = now_ms;
    connection->is_more_to_read = false;
    while (!connection->is_broken) {
        size_t length = 0;
        enum tls_result result = tls_read(connection->ssl, buffer, H2_BUFFER_SIZE, &length);
        if (result == TLS_WANTS_READ || result == TLS_WANTS_WRITE) {
            break;
        }
        if (result != TLS_DONE) {
            fail_of_tls(connection, result, now_ms);
            return false;
        }
        connection->is_broken = !h2_session_receive(connection->session, buffer, length, now_ms);
        on_heard(connection, now_ms);
        total += length;
        if (!is_to_the_end && !tls_has_more(connection->ssl)) {
            break; /* what is still in the socket wakes us again */
        }
        if (total >= READ_TURN_MAX) {
            connection->is_more_to_read = true;
            timers_set(connection->shared->timers, &connection->timer, now_ms + 1);
            break;
        }
    }
    mark_dirty(connection);
    return true;
}

/* ---- writing ---- */

static void wait_for_socket(struct h2_connection *connection, bool is_write_blocked)
{
    connection->is_write_blocked = is_write_blocked;
    poller_change(connection->shared->poller, &connection->watch,
                  is_write_blocked ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

/* Takes from the session what fits behind that which waits to be written. */
static void gather(struct h2_connection *connection, int64_t now_ms)
{
    if (connection->out_start == connection->out_end) {
        connection->out_start = 0;
        connection->out_end = 0;
    }
    connection->now_ms = now_ms;
    int64_t length = h2_session_drain(connection->session, connection->out + connection->out_end,
                                      sizeof connection->out - connection->out_end, now_ms);
    connection->is_broken |= length < 0;
    connection->out_end += length > 0 ? (size_t)length : 0;
}

/* Is there something to write? */
static bool refill(struct h2_connection *connection, int64_t now_ms)
{
    if (connection->out_start == connection->out_end) {
        gather(connection, now_ms);
    }
    return connection->out_start < connection->out_end;
}

static void close_if_over(struct h2_connection *connection, int64_t now_ms)
{
    const struct h2_session_state *state = h2_session_state(connection->session);
    bool is_done = h2_session_is_done(connection->session);
    bool is_setting_up = !connection->is_ready && !state->is_draining;
    if (connection->is_broken || state->is_broken || (is_done && is_setting_up)) {
        fail(connection,
             connection->is_ready ? LULL_TRANSPORT_PROTOCOL : LULL_TRANSPORT_TLS_HANDSHAKE,
             "the peer broke the rules of HTTP/2", now_ms);
    } else if (is_done) {
        fail(connection, state->is_draining ? LULL_TRANSPORT_GOAWAY : LULL_TRANSPORT_RESET,
             "the connection was ended in good order", now_ms);
    }
}

static void flush(struct h2_connection *connection, int64_t now_ms)
{
    connection->now_ms = now_ms;
    while (refill(connection, now_ms)) {
        size_t length = 0;
        enum tls_result result = tls_write(connection->ssl, connection->out + connection->out_start,
                                           connection->out_end - connection->out_start, &length);
        if (result == TLS_WANTS_READ || result == TLS_WANTS_WRITE) {
            wait_for_socket(connection, result == TLS_WANTS_WRITE);
            if (connection->is_broken) {
                close_if_over(connection, now_ms); /* nobody waits for it to read our farewell */
            }
            return;
        }
        if (result != TLS_DONE) {
            /* What the peer said before it closed is still to be read: an answer may be in it. */
            if (connection->is_broken || read_some(connection, true, now_ms)) {
                fail_of_tls(connection, result, now_ms);
            }
            return;
        }
        connection->out_start += length;
        connection->written += length;
        h2_session_written(connection->session, connection->written);
    }
    wait_for_socket(connection, false);
    close_if_over(connection, now_ms);
}

void h2_connection_flush_all(struct h2_shared *shared, int64_t now_ms)
{
    while (shared->dirty) {
        struct h2_connection *connection = shared->dirty;
        shared->dirty = connection->next_dirty;
        connection->is_dirty = false;
        if (!connection->is_write_blocked || connection->is_broken) {
            flush(connection, now_ms);
        }
    }
}

/* ---- setting up ---- */

static void on_session_end(void *userdata, struct transport_request *request, enum h2_end end,
                           enum lull_transport failure, const char *detail)
{
    struct h2_connection *connection = userdata;
    connection->owner.on_end(connection->owner.userdata, connection, request, end, failure, detail,
                             connection->now_ms);
}

static void shake(struct h2_connection *connection, int64_t now_ms)
{
    enum tls_result result = tls_handshake(connection->ssl);
    if (result == TLS_WANTS_READ || result == TLS_WANTS_WRITE) {
        wait_for_socket(connection, result == TLS_WANTS_WRITE);
        return;
    }
    if (result != TLS_DONE) {
        fail_of_tls(connection, result, now_ms);
        return;
    }
    if (!tls_is_h2(connection->ssl)) {
        close_with(connection, &(struct h2_closing){.is_http_1 = true}, now_ms);
        return;
    }
    struct h2_session_owner owner = {connection, on_session_end};
    if (h2_session_new(&connection->session, &owner) != LULL_OK) {
        fail(connection, LULL_TRANSPORT_REFUSED, "there is no memory", now_ms);
        return;
    }
    (void)read_some(connection, false, now_ms); /* the SETTINGS may have come along */
}

static void on_socket(struct watch *watch, uint32_t events, int64_t now_ms)
{
    struct h2_connection *connection = owner_of(watch, struct h2_connection, watch);
    if (!connection->session) {
        shake(connection, now_ms);
        return;
    }
    if (events & EPOLLOUT) {
        connection->is_write_blocked = false;
        mark_dirty(connection);
    }
    if (events & ~(uint32_t)EPOLLOUT) {
        (void)read_some(connection, false, now_ms);
    }
}

static void on_connected(void *userdata, const struct connector_result *result, int64_t now_ms)
{
    struct h2_connection *connection = userdata;
    connection->connector = NULL;
    if (result->fd < 0) {
        fail(connection, result->transport, result->detail, now_ms);
        return;
    }
    connection->watch = (struct watch){result->fd, EPOLLIN, on_socket};
    connection->ssl = tls_open(connection->shared->tls, result->fd, connection->target.host,
                               connection->target.sessions);
    if (!poller_add(connection->shared->poller, &connection->watch) || !connection->ssl) {
        fail(connection, LULL_TRANSPORT_REFUSED, "there is no memory", now_ms);
        return;
    }
    shake(connection, now_ms);
}

/* False: no memory. */
static bool connect_to(struct h2_connection *connection, int64_t now_ms)
{
    connection->connector = connector_start(
        connection->shared->poller, connection->shared->timers, &connection->addresses,
        connection->target.is_public_only, now_ms, on_connected, connection);
    return connection->connector != NULL;
}

static void on_looked_up(void *userdata, const struct lookup_result *result, int64_t now_ms)
{
    struct h2_connection *connection = userdata;
    connection->lookup = NULL;
    if (result->transport != LULL_TRANSPORT_NONE) {
        fail(connection, result->transport, result->detail, now_ms);
        return;
    }
    connection->addresses = result->addresses;
    if (!connect_to(connection, now_ms)) {
        fail(connection, LULL_TRANSPORT_REFUSED, "there is no memory", now_ms);
    }
}

/* ---- time ---- */

static void ping(struct h2_connection *connection, int64_t now_ms)
{
    if (!connection->is_ping_out) {
        h2_session_ping(connection->session);
        connection->is_ping_out = true;
        connection->pinged_ms = now_ms;
        mark_dirty(connection);
    }
}

static void on_timer(struct timer *timer, int64_t now_ms)
{
    struct h2_connection *connection = owner_of(timer, struct h2_connection, timer);
    const struct transport_config *config = connection->shared->config;
    if (connection->is_more_to_read && !read_some(connection, false, now_ms)) {
        return;
    }
    if (!connection->is_ready) {
        if (now_ms >= connection->opened_ms + SETUP_MAX_MS) {
            fail(connection, LULL_TRANSPORT_CONNECT_TIMEOUT, "no connection in time", now_ms);
        } else {
            timers_set(connection->shared->timers, timer, connection->opened_ms + SETUP_MAX_MS);
        }
        return;
    }
    if (connection->is_more_to_read) {
        return; /* its timer is set */
    }
    if (connection->is_retired) {
        fail(connection, LULL_TRANSPORT_RESET, "the peer takes no goodbye", now_ms);
        return;
    }
    if (connection->is_ping_out && now_ms >= connection->pinged_ms + config->ping_timeout_ms) {
        fail(connection, LULL_TRANSPORT_RESET, "the peer does not answer a ping", now_ms);
        return;
    }
    if (h2_session_state(connection->session)->requests == 0 &&
        now_ms >= connection->used_ms + config->idle_close_ms) {
        h2_connection_retire(connection, now_ms);
        return;
    }
    if (now_ms >= connection->heard_ms + config->idle_ping_ms) {
        ping(connection, now_ms);
    }
    schedule(connection);
}

/* ---- what the owner asks ---- */

struct h2_connection *h2_connection_open(struct h2_shared *shared, const struct h2_target *target,
                                         const struct h2_connection_owner *owner, int64_t now_ms)
{
    struct h2_connection *connection = calloc(1, sizeof *connection);
    if (!connection || !timers_reserve(shared->timers)) {
        free(connection);
        return NULL;
    }
    connection->shared = shared;
    connection->owner = *owner;
    connection->target = *target;
    connection->watch.fd = -1;
    connection->timer.on_due = on_timer;
    connection->opened_ms = now_ms;
    connection->heard_ms = now_ms;
    connection->used_ms = now_ms;
    bool is_good = false;
    if (target->addresses) {
        connection->addresses = *target->addresses;
        is_good = connect_to(connection, now_ms);
    } else {
        connection->lookup =
            lookup_start(shared->resolver, target->host, target->port, on_looked_up, connection);
        is_good = connection->lookup != NULL;
    }
    if (!is_good) {
        h2_connection_destroy(connection);
        return NULL;
    }
    timers_set(shared->timers, &connection->timer, now_ms + SETUP_MAX_MS);
    return connection;
}

const struct addresses *h2_connection_addresses(const struct h2_connection *connection)
{
    return connection->addresses.count > 0 ? &connection->addresses : NULL;
}

uint32_t h2_connection_room(const struct h2_connection *connection)
{
    bool is_usable = connection->is_ready && !connection->is_being_checked &&
                     !connection->is_broken && !connection->is_retired;
    return is_usable ? h2_session_room(connection->session) : 0;
}

const struct h2_session_state *h2_connection_state(const struct h2_connection *connection)
{
    static const struct h2_session_state nothing;
    return connection->session ? h2_session_state(connection->session) : &nothing;
}

bool h2_connection_is_resumed(const struct h2_connection *connection)
{
    return connection->ssl && tls_is_resumed(connection->ssl);
}

int h2_connection_submit(struct h2_connection *connection, struct transport_request *request,
                         int64_t now_ms)
{
    connection->used_ms = now_ms;
    mark_dirty(connection);
    int error = h2_session_submit(connection->session, request);
    /* At once, so that a body goes out right behind its head, not behind all others' heads. */
    if (error == LULL_OK && sizeof connection->out - connection->out_end >= GATHER_MIN) {
        gather(connection, now_ms);
    }
    return error;
}

bool h2_connection_abandon(struct h2_connection *connection, struct transport_request *request)
{
    mark_dirty(connection);
    return h2_session_abandon(connection->session, request);
}

void h2_connection_check(struct h2_connection *connection, int64_t now_ms)
{
    if (connection->is_ready && !connection->is_retired) {
        connection->is_being_checked = true;
        ping(connection, now_ms);
        schedule(connection);
    }
}

int64_t h2_connection_heard_ms(const struct h2_connection *connection)
{
    return connection->heard_ms;
}

int64_t h2_connection_used_ms(const struct h2_connection *connection)
{
    return connection->used_ms;
}

void h2_connection_retire(struct h2_connection *connection, int64_t now_ms)
{
    connection->is_retired = true;
    h2_session_goodbye(connection->session);
    mark_dirty(connection);
    timers_set(connection->shared->timers, &connection->timer,
               now_ms + connection->shared->config->ping_timeout_ms);
}
