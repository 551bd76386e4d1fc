/* load - see the header. SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "load.h"
#include "lull/os.h"
#include "rounds.h"

#define READ_SIZE 65536
#define EVENTS 64
#define SILENCE_MAX_MS 60000 /* nothing comes for that long: it will not come at all */

char *load_bytes_room(struct load_bytes *bytes, size_t size)
{
    if (bytes->size - bytes->length < size) {
        size_t wanted = bytes->length + size;
        bytes->size = wanted > 2 * bytes->size ? wanted : 2 * bytes->size;
        bytes->data = realloc(bytes->data, bytes->size);
        if (!bytes->data) {
            (void)fprintf(stderr, "bench-load: no memory\n");
            exit(2);
        }
    }
    return bytes->data + bytes->length;
}

void load_bytes_add(struct load_bytes *bytes, const char *data, size_t length)
{
    memcpy(load_bytes_room(bytes, length), data, length);
    bytes->length += length;
}

static bool fail(const char *what)
{
    (void)fprintf(stderr, "bench-load: %s: %s\n", what, strerror(errno));
    return false;
}

static bool watch(const struct load *load, struct load_connection *connection, int operation,
                  uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = connection};
    return epoll_ctl(load->poller, operation, connection->socket, &event) == 0 || fail("epoll_ctl");
}

static bool open_connection(struct load *load, struct load_connection *connection)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(load->port),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    connection->socket = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    if (connection->socket < 0 ||
        connect(connection->socket, (const struct sockaddr *)&address, sizeof address) != 0 ||
        setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0) {
        return fail("connect");
    }
    return watch(load, connection, EPOLL_CTL_ADD, EPOLLIN);
}

/* As much as it takes now; what is left goes when it takes more. */
static bool write_some(const struct load *load, struct load_connection *connection)
{
    while (connection->sent < connection->out.length) {
        ssize_t sent = send(connection->socket, connection->out.data + connection->sent,
                            connection->out.length - connection->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EAGAIN) {
            break;
        }
        if (sent < 0) {
            return fail("send");
        }
        connection->sent += (size_t)sent;
    }
    bool is_left = connection->sent < connection->out.length;
    if (is_left != connection->is_waiting_to_write) {
        connection->is_waiting_to_write = is_left;
        return watch(load, connection, EPOLL_CTL_MOD, is_left ? EPOLLIN | EPOLLOUT : EPOLLIN);
    }
    return true;
}

static bool begin(struct load *load, struct load_connection *connection)
{
    uint64_t left = load->count - load->begun;
    connection->is_busy = true;
    connection->first = load->first + load->begun;
    connection->count = left < load->lines ? (uint32_t)left : load->lines;
    connection->answered = 0;
    connection->body = 0;
    connection->out.length = connection->sent = 0;
    connection->in.length = connection->read = 0;
    load->protocol->ask(load, connection);
    load->begun += connection->count;
    connection->sent_ms = lull_os_now_ms();
    connection->sent_at_us = rounds_now_us(CLOCK_MONOTONIC);
    return write_some(load, connection);
}

static void end(struct load *load, struct load_connection *connection)
{
    double latency_us = rounds_now_us(CLOCK_MONOTONIC) - connection->sent_at_us;
    load->latencies_ms[load->requests++] = latency_us / 1000;
    load->ended += connection->count;
    connection->is_busy = false;
    if (load->log) {
        (void)fprintf(load->log, "%llu %u %lld %lld\n", (unsigned long long)connection->first,
                      connection->count, (long long)connection->sent_ms,
                      (long long)lull_os_now_ms());
    }
}

static bool read_some(struct load *load, struct load_connection *connection)
{
    struct load_bytes *in = &connection->in;
    ssize_t got = recv(connection->socket, load_bytes_room(in, READ_SIZE), READ_SIZE, MSG_DONTWAIT);
    if (got < 0) {
        return errno == EAGAIN || fail("recv");
    }
    in->length += (size_t)got;
    if (got == 0 || !connection->is_busy) {
        (void)fprintf(stderr, "bench-load: the server %s%s after %llu answers\n",
                      got == 0 ? "closed a connection" : "spoke unasked",
                      connection->is_busy ? ", which had a request," : "",
                      (unsigned long long)load->requests);
        return false;
    }
    switch (load->protocol->answer(load, connection)) {
    case LOAD_PART:
        return true;
    case LOAD_WHOLE:
        end(load, connection);
        return true;
    case LOAD_MORE:
        return write_some(load, connection);
    case LOAD_BROKEN:
        break;
    }
    (void)fprintf(stderr, "bench-load: an answer that makes no sense: %.*s\n",
                  (int)(in->length < 300 ? in->length : 300), in->data);
    return false;
}

/* Begins what may begin by now. */
static bool begin_due(struct load *load, double begun_at_us)
{
    for (uint32_t i = 0; i < load->connection_count && load->begun < load->count; i++) {
        double passed_s = (rounds_now_us(CLOCK_MONOTONIC) - begun_at_us) / 1e6;
        if (load->per_s > 0 && (double)load->begun > passed_s * load->per_s) {
            break;
        }
        if (!load->connections[i].is_busy && !begin(load, &load->connections[i])) {
            return false;
        }
    }
    return true;
}

static bool serve(struct load *load)
{
    double begun_at_us = rounds_now_us(CLOCK_MONOTONIC);
    while (load->ended < load->count) {
        if (!begin_due(load, begun_at_us)) {
            return false;
        }
        bool is_paced = load->per_s > 0 && load->begun < load->count;
        struct epoll_event events[EVENTS];
        int count = epoll_wait(load->poller, events, EVENTS, is_paced ? 1 : SILENCE_MAX_MS);
        if (count < 0 || (count == 0 && !is_paced)) {
            return fail("no answer");
        }
        for (int i = 0; i < count; i++) {
            struct load_connection *connection = events[i].data.ptr;
            if ((events[i].events & EPOLLOUT && !write_some(load, connection)) ||
                (events[i].events & ~(uint32_t)EPOLLOUT && !read_some(load, connection))) {
                return false;
            }
        }
    }
    load->wall_us = rounds_now_us(CLOCK_MONOTONIC) - begun_at_us;
    return true;
}

bool load_run(struct load *load)
{
    load->poller = epoll_create1(EPOLL_CLOEXEC);
    load->connections = calloc(load->connection_count, sizeof *load->connections);
    load->latencies_ms = calloc(load->count / load->lines + 1, sizeof *load->latencies_ms);
    if (load->poller < 0 || !load->connections || !load->latencies_ms) {
        return fail("cannot begin");
    }
    for (uint32_t i = 0; i < load->connection_count; i++) {
        if (!open_connection(load, &load->connections[i])) {
            return false;
        }
    }
    return serve(load);
}

void load_clean_up(struct load *load)
{
    for (uint32_t i = 0; load->connections && i < load->connection_count; i++) {
        (void)close(load->connections[i].socket);
        free(load->connections[i].out.data);
        free(load->connections[i].in.data);
    }
    free(load->connections);
    free(load->latencies_ms);
    (void)close(load->poller);
}
