/*
 * send_bare - the least that an HTTP/2 sender can do, as a yardstick: nghttp2 on OpenSSL, four
 * connections that are opened before anything is measured, epoll, and a slot for each stream.
 *
 * No timeouts, no outcomes, no headers kept, no second origin, no connection that may be lost: it
 * looks at :status alone, and gives up at the first thing that goes wrong. But it is meant to be
 * fast. A head and its body are framed one after the other and gathered to whole TLS records, a
 * socket is read once for all that it holds, and nothing is copied that need not be.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <nghttp2/nghttp2.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "send_way.h"

#define RECORD_SIZE 16384

struct slot {
    struct push *push;
    bool is_created; /* the 201 is there */
};

struct connection {
    struct bare *bare;
    SSL *ssl;
    nghttp2_session *session;
    struct slot slots[WORK_STREAMS];
    struct slot *idle[WORK_STREAMS];
    size_t idle_count;
    bool is_blocked; /* the socket takes no more just now */
    size_t out_length;
    uint8_t out[RECORD_SIZE * 2 + 16]; /* a record, and the rest of a frame */
};

struct bare {
    struct work *work;
    SSL_CTX *context;
    int epoll_fd;
    struct connection connections[WORK_CONNECTIONS];
    work_make *make;
    uint64_t to_submit;
    uint64_t to_come;
    bool is_bad;
};

static bool complain(struct bare *bare, const char *what)
{
    if (!bare->is_bad) {
        (void)fprintf(stderr, "bench-send: the bare loop: %s\n", what);
        ERR_print_errors_fp(stderr);
    }
    bare->is_bad = true;
    return false;
}

/* ---- what nghttp2 calls ---- */

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags,
                     void *userdata)
{
    (void)flags;
    (void)userdata;
    if (name_length == 7 && memcmp(name, ":status", 7) == 0) {
        struct slot *slot = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);
        slot->is_created = value_length == 3 && memcmp(value, "201", 3) == 0;
    }
    return 0;
}

/* An answer before the end of the body is followed by a reset: the status counts. */
static int on_close(nghttp2_session *session, int32_t stream_id, uint32_t error_code,
                    void *userdata)
{
    struct connection *connection = userdata;
    struct slot *slot = nghttp2_session_get_stream_user_data(session, stream_id);
    (void)error_code;
    if (!slot->is_created) {
        (void)complain(connection->bare, "a request did not get its 201");
    }
    connection->idle[connection->idle_count++] = slot;
    connection->bare->to_come--;
    return 0;
}

/* A body fits any frame, so it is always wanted whole. */
static ssize_t on_body(nghttp2_session *session, int32_t stream_id, uint8_t *out, size_t length,
                       uint32_t *flags, nghttp2_data_source *source, void *userdata)
{
    (void)session;
    (void)stream_id;
    (void)userdata;
    if (length < WORK_BODY_SIZE) {
        return NGHTTP2_ERR_CALLBACK_FAILURE;
    }
    memcpy(out, source->ptr, WORK_BODY_SIZE);
    *flags |= NGHTTP2_DATA_FLAG_EOF;
    return WORK_BODY_SIZE;
}

/* ---- out ---- */

#define TEXT(string) (uint8_t *)(string)
#define PAIR(field, text, length, extra)                                                           \
    {                                                                                              \
        TEXT(field), TEXT(text), sizeof(field) - 1, length,                                        \
            NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE | (extra)                 \
    }
#define FIXED(field, text) PAIR(field, text, sizeof(text) - 1, 0),

static bool submit_one(struct connection *connection)
{
    struct bare *bare = connection->bare;
    struct work *work = bare->work;
    struct slot *slot = connection->idle[--connection->idle_count];
    struct push *push = slot->push;
    slot->is_created = false;
    bare->to_submit--;
    if (!bare->make(work, push)) {
        return complain(bare, "a push could not be made");
    }
    const nghttp2_nv headers[] = {
        FIXED(":method", "POST") FIXED(":scheme", "https")
            PAIR(":authority", work->origin + strlen("https://"),
                 work->origin_length - strlen("https://"), 0),
        PAIR(":path", push->url + work->origin_length, WORK_PATH_LENGTH, NGHTTP2_NV_FLAG_NO_INDEX),
        PAIR("authorization", push->authorization, push->authorization_length,
             NGHTTP2_NV_FLAG_NO_INDEX),
        WORK_HEADERS(FIXED) FIXED("content-length", "300")};
    const nghttp2_data_provider body = {.source.ptr = push->body, .read_callback = on_body};
    return nghttp2_submit_request(connection->session, NULL, headers,
                                  sizeof headers / sizeof *headers, &body, slot) > 0 ||
           complain(bare, "nghttp2_submit_request failed");
}

/* Frames up to a record or a little more. A next request is begun when the one before is framed. */
static bool gather(struct connection *connection)
{
    while (connection->out_length < RECORD_SIZE) {
        const uint8_t *frame = NULL;
        ssize_t length = nghttp2_session_mem_send(connection->session, &frame);
        if (length < 0) {
            return complain(connection->bare, "nghttp2_session_mem_send failed");
        }
        if (length > 0) {
            memcpy(connection->out + connection->out_length, frame, (size_t)length);
            connection->out_length += (size_t)length;
        } else if (connection->idle_count == 0 || connection->bare->to_submit == 0) {
            return true;
        } else if (!submit_one(connection)) {
            return false;
        }
    }
    return true;
}

static bool watch(struct connection *connection, int operation)
{
    struct epoll_event event = {.events = EPOLLIN | (connection->is_blocked ? EPOLLOUT : 0U),
                                .data.ptr = connection};
    return epoll_ctl(connection->bare->epoll_fd, operation, SSL_get_fd(connection->ssl), &event) ==
               0 ||
           complain(connection->bare, "epoll_ctl failed");
}

static bool write_out(struct connection *connection)
{
    bool was_blocked = connection->is_blocked;
    connection->is_blocked = false;
    while (gather(connection) && connection->out_length > 0) {
        size_t length = connection->out_length < RECORD_SIZE ? connection->out_length : RECORD_SIZE;
        size_t written = 0;
        if (SSL_write_ex(connection->ssl, connection->out, length, &written)) {
            connection->out_length -= written;
            memmove(connection->out, connection->out + written, connection->out_length);
        } else if (SSL_get_error(connection->ssl, 0) == SSL_ERROR_WANT_WRITE) {
            connection->is_blocked = true;
            break;
        } else {
            return complain(connection->bare, "SSL_write failed");
        }
    }
    return was_blocked == connection->is_blocked || watch(connection, EPOLL_CTL_MOD);
}

/* ---- in ---- */

static bool read_in(struct connection *connection)
{
    uint8_t in[RECORD_SIZE];
    do {
        size_t length = 0;
        if (!SSL_read_ex(connection->ssl, in, sizeof in, &length)) {
            return SSL_get_error(connection->ssl, 0) == SSL_ERROR_WANT_READ ||
                   complain(connection->bare, "SSL_read failed");
        }
        if (nghttp2_session_mem_recv(connection->session, in, length) != (ssize_t)length) {
            return complain(connection->bare, "nghttp2_session_mem_recv failed");
        }
    } while (SSL_has_pending(connection->ssl)); /* what is still in the socket wakes us again */
    return true;
}

static bool bare_send(void *sender, work_make *make, uint64_t count)
{
    struct bare *bare = sender;
    bare->make = make;
    bare->to_submit = count;
    bare->to_come = count;
    for (size_t i = 0; i < WORK_CONNECTIONS; i++) {
        (void)write_out(&bare->connections[i]);
    }
    while (bare->to_come > 0 && !bare->is_bad) {
        struct epoll_event events[WORK_CONNECTIONS];
        int ready = epoll_wait(bare->epoll_fd, events, WORK_CONNECTIONS, 10000);
        if (ready == 0) {
            return complain(bare, "nothing came for 10 s");
        }
        for (int i = 0; i < ready; i++) {
            struct connection *connection = events[i].data.ptr;
            if ((events[i].events & ~(uint32_t)EPOLLOUT) == 0 || read_in(connection)) {
                (void)write_out(connection);
            }
        }
    }
    return !bare->is_bad;
}

/* ---- connections ---- */

static int connect_to(const char *host, const char *port)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *address = NULL;
    if (getaddrinfo(host, port, &hints, &address) != 0) {
        return -1;
    }
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, address->ai_addr, address->ai_addrlen) != 0) {
        (void)close(fd);
        fd = -1;
    }
    freeaddrinfo(address);
    return fd;
}

static bool begin_tls(struct connection *connection, const char *host, int fd)
{
    const uint8_t *chosen = NULL;
    unsigned chosen_length = 0;
    connection->ssl = SSL_new(connection->bare->context);
    if (!connection->ssl || !SSL_set_fd(connection->ssl, fd)) {
        return false;
    }
    SSL_set_read_ahead(connection->ssl, 1);
    if (!X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection->ssl), host) ||
        SSL_connect(connection->ssl) != 1) {
        return false;
    }
    SSL_get0_alpn_selected(connection->ssl, &chosen, &chosen_length);
    return chosen_length == 2 && memcmp(chosen, "h2", 2) == 0;
}

static bool begin_http(struct connection *connection)
{
    const nghttp2_settings_entry settings[] = {{NGHTTP2_SETTINGS_ENABLE_PUSH, 0}};
    nghttp2_session_callbacks *callbacks = NULL;
    if (nghttp2_session_callbacks_new(&callbacks) != 0) {
        return false;
    }
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    int error = nghttp2_session_client_new(&connection->session, callbacks, connection);
    nghttp2_session_callbacks_del(callbacks);
    return error == 0 &&
           nghttp2_submit_settings(connection->session, NGHTTP2_FLAG_NONE, settings, 1) == 0;
}

static bool open_connection(struct bare *bare, size_t number, const char *host, const char *port)
{
    struct connection *connection = &bare->connections[number];
    const int on = 1;
    connection->bare = bare;
    for (size_t i = 0; i < WORK_STREAMS; i++) {
        connection->slots[i].push = &bare->work->pushes[number * WORK_STREAMS + i];
        connection->idle[connection->idle_count++] = &connection->slots[i];
    }
    int fd = connect_to(host, port);
    if (fd < 0) {
        return complain(bare, "no connection");
    }
    if (!begin_tls(connection, host, fd) || !begin_http(connection)) {
        return complain(bare, "no HTTP/2 on TLS");
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return BIO_socket_nbio(fd, 1) && watch(connection, EPOLL_CTL_ADD);
}

static bool open_all(struct bare *bare)
{
    char host[64];
    char port[8];
    static const uint8_t protocols[] = {2, 'h', '2'};
    bare->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    bare->context = SSL_CTX_new(TLS_client_method());
    if (sscanf(bare->work->origin, "https://%63[0-9.]:%7[0-9]", host, port) != 2) {
        return complain(bare, "the URL is not https://ADDRESS:PORT");
    }
    if (bare->epoll_fd < 0 || !bare->context ||
        !SSL_CTX_load_verify_file(bare->context, bare->work->ca_file) ||
        !SSL_CTX_set_min_proto_version(bare->context, TLS1_3_VERSION) ||
        SSL_CTX_set_alpn_protos(bare->context, protocols, sizeof protocols) != 0) {
        return complain(bare, "no TLS");
    }
    SSL_CTX_set_verify(bare->context, SSL_VERIFY_PEER, NULL);
    (void)SSL_CTX_set_mode(bare->context,
                           SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    for (size_t i = 0; i < WORK_CONNECTIONS; i++) {
        if (!open_connection(bare, i, host, port)) {
            return false;
        }
    }
    return true;
}

static void bare_close(void *sender)
{
    struct bare *bare = sender;
    for (size_t i = 0; i < WORK_CONNECTIONS; i++) {
        nghttp2_session_del(bare->connections[i].session);
        if (bare->connections[i].ssl) {
            (void)close(SSL_get_fd(bare->connections[i].ssl));
            SSL_free(bare->connections[i].ssl);
        }
    }
    SSL_CTX_free(bare->context);
    if (bare->epoll_fd >= 0) {
        (void)close(bare->epoll_fd);
    }
    free(bare);
}

static void *bare_open(struct work *work)
{
    struct bare *bare = calloc(1, sizeof *bare);
    if (!bare) {
        return NULL;
    }
    bare->work = work;
    if (!open_all(bare)) {
        bare_close(bare);
        return NULL;
    }
    return bare;
}

static struct send_stats bare_stats(const void *sender)
{
    (void)sender;
    return (struct send_stats){.connections = WORK_CONNECTIONS};
}

const struct send_way send_bare = {
    .open = bare_open, .send = bare_send, .stats = bare_stats, .close = bare_close};
