/* server - see the header. SPDX-License-Identifier: MIT */
#include "server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS_MAX 512
#define REQUESTS_MAX 128
#define REQUEST_SIZE 16384

struct connection {
    int fd; /* -1: closed */
    bool is_continued;
    size_t length;
    char text[REQUEST_SIZE];
};

struct server {
    pthread_t thread;
    pthread_mutex_t lock; /* for what the test looks at: count, requests */
    pthread_cond_t news;
    int listener;
    int stop[2];
    char url[64];
    const struct step *steps;
    size_t step_count;
    struct connection *connections[CONNECTIONS_MAX];
    size_t connection_count;
    size_t count;
    char *requests[REQUESTS_MAX];
    size_t origins[REQUESTS_MAX];
};

static void send_all(int fd, const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);
        if (sent <= 0) {
            return; /* the client has gone: that is its right */
        }
        bytes += sent;
        length -= (size_t)sent;
    }
}

static void close_connection(struct connection *connection, bool is_reset)
{
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    if (is_reset) {
        (void)setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    }
    (void)close(connection->fd);
    connection->fd = -1;
}

/* The length of the request that the text begins with, or 0 if some of it is still to come. */
static size_t request_length(struct connection *connection)
{
    const char *text = connection->text;
    const char *end = strstr(text, "\r\n\r\n");
    if (!end) {
        return 0;
    }
    size_t head = (size_t)(end - text) + 4;
    const char *expect = strcasestr(text, "\r\nExpect: 100-continue");
    if (expect && expect < end && !connection->is_continued) {
        static const char words[] = "HTTP/1.1 100 Continue\r\n\r\n";
        connection->is_continued = true;
        send_all(connection->fd, words, sizeof words - 1);
    }
    const char *length = strcasestr(text, "\r\nContent-Length:");
    if (length && length < end) {
        size_t whole = head + strtoul(length + 17, NULL, 10);
        return connection->length >= whole ? whole : 0;
    }
    const char *chunked = strcasestr(text, "\r\nTransfer-Encoding: chunked");
    if (chunked && chunked < end) {
        const char *last = strstr(end + 2, "\r\n0\r\n\r\n");
        return last ? (size_t)(last - text) + 7 : 0;
    }
    return head;
}

static struct step keep_request(struct server *server, struct connection *connection, size_t index,
                                size_t length)
{
    static const struct step usual = {ANSWER, REPLY_OK};
    pthread_mutex_lock(&server->lock);
    size_t number = server->count;
    if (number < REQUESTS_MAX) { /* of more than that, only the number is of interest */
        server->requests[number] = strndup(connection->text, length);
        server->origins[number] = index;
    }
    server->count++;
    pthread_cond_broadcast(&server->news);
    pthread_mutex_unlock(&server->lock);
    return number < server->step_count ? server->steps[number] : usual;
}

static void answer(struct connection *connection, struct step step)
{
    if (step.bytes) {
        send_all(connection->fd, step.bytes, strlen(step.bytes));
    }
    if (step.act == ANSWER_AND_CLOSE || step.act == CLOSE || step.act == RESET) {
        close_connection(connection, step.act == RESET);
    }
}

static void on_readable(struct server *server, size_t index)
{
    struct connection *connection = server->connections[index];
    ssize_t got = recv(connection->fd, connection->text + connection->length,
                       REQUEST_SIZE - 1 - connection->length, 0);
    if (got <= 0) {
        close_connection(connection, false);
        return;
    }
    connection->length += (size_t)got;
    connection->text[connection->length] = '\0';
    size_t length = request_length(connection);
    if (length > 0) {
        struct step step = keep_request(server, connection, index, length);
        connection->length = 0; /* nobody here pipelines */
        connection->is_continued = false;
        answer(connection, step);
    }
}

static void on_connect(struct server *server)
{
    struct connection *connection = calloc(1, sizeof *connection);
    assert(connection && server->connection_count < CONNECTIONS_MAX);
    connection->fd = accept(server->listener, NULL, NULL);
    server->connections[server->connection_count++] = connection;
}

static void *serve(void *userdata)
{
    struct server *server = userdata;
    struct pollfd polled[CONNECTIONS_MAX + 2];
    for (;;) {
        size_t count = server->connection_count;
        polled[0] = (struct pollfd){.fd = server->stop[0], .events = POLLIN};
        polled[1] = (struct pollfd){.fd = server->listener, .events = POLLIN};
        for (size_t i = 0; i < count; i++) {
            polled[i + 2] = (struct pollfd){.fd = server->connections[i]->fd, .events = POLLIN};
        }
        (void)poll(polled, count + 2, -1);
        if (polled[0].revents) {
            return NULL;
        }
        for (size_t i = 0; i < count; i++) {
            if (polled[i + 2].revents) {
                on_readable(server, i);
            }
        }
        if (polled[1].revents) {
            on_connect(server);
        }
    }
}

struct server *server_start(const struct step *steps, size_t step_count)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    struct server *server = calloc(1, sizeof *server);
    assert(server);
    server->steps = steps;
    server->step_count = step_count;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(server->listener, 64) != 0 || pipe(server->stop) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &length) != 0) {
        perror("server");
        abort();
    }
    (void)snprintf(server->url, sizeof server->url, "http://127.0.0.1:%d/",
                   ntohs(address.sin_port));
    (void)pthread_mutex_init(&server->lock, NULL);
    (void)pthread_cond_init(&server->news, NULL);
    if (pthread_create(&server->thread, NULL, serve, server) != 0) {
        abort();
    }
    return server;
}

void server_stop(struct server *server)
{
    if (write(server->stop[1], "", 1) != 1) {
        abort();
    }
    (void)pthread_join(server->thread, NULL);
    for (size_t i = 0; i < server->connection_count; i++) {
        if (server->connections[i]->fd >= 0) {
            (void)close(server->connections[i]->fd);
        }
        free(server->connections[i]);
    }
    for (size_t i = 0; i < REQUESTS_MAX; i++) {
        free(server->requests[i]);
    }
    (void)close(server->listener);
    (void)close(server->stop[0]);
    (void)close(server->stop[1]);
    (void)pthread_cond_destroy(&server->news);
    (void)pthread_mutex_destroy(&server->lock);
    free(server);
}

const char *server_url(const struct server *server)
{
    return server->url;
}

size_t server_count(struct server *server)
{
    pthread_mutex_lock(&server->lock);
    size_t count = server->count;
    pthread_mutex_unlock(&server->lock);
    return count;
}

void server_wait(struct server *server, size_t count)
{
    pthread_mutex_lock(&server->lock);
    while (server->count < count) {
        pthread_cond_wait(&server->news, &server->lock);
    }
    pthread_mutex_unlock(&server->lock);
}

const char *server_request(struct server *server, size_t index)
{
    pthread_mutex_lock(&server->lock);
    const char *request =
        index < server->count && index < REQUESTS_MAX ? server->requests[index] : "";
    pthread_mutex_unlock(&server->lock);
    return request;
}

size_t server_connection(struct server *server, size_t index)
{
    pthread_mutex_lock(&server->lock);
    size_t origin =
        index < server->count && index < REQUESTS_MAX ? server->origins[index] : CONNECTIONS_MAX;
    pthread_mutex_unlock(&server->lock);
    return origin;
}
