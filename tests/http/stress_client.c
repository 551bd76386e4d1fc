/*
 * stress_client - sixteen threads share one client, for the thread sanitizer to watch.
 *
 * A server inside the program answers 200, at times 503, and at times closes without an answer.
 * Some requests are hedged; some share a token that another thread signals near the end. It ends
 * with 0 when every request has a result and every result is accounted for.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lull/http.h"
#include "lull/lull.h"

#define THREADS 16
#define REQUESTS 200
#define CANCEL_AFTER (THREADS * REQUESTS * 9 / 10)
#define CONNECTIONS_MAX 1024

/* ---- the server ---- */

struct connection {
    int fd;
    unsigned matched; /* of the blank line that ends a request */
};

static struct {
    int listener;
    int stop[2];
    char url[64];
    struct connection connections[CONNECTIONS_MAX];
    size_t connection_count;
    unsigned request_count;
} server;

static bool answer(int fd)
{
    static const char good[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    static const char busy[] = "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy";
    unsigned number = server.request_count++;
    if (number % 41 == 40) {
        return false;
    }
    bool is_good = number % 29 != 28;
    return send(fd, is_good ? good : busy, is_good ? sizeof good - 1 : sizeof busy - 1,
                MSG_NOSIGNAL) > 0;
}

/* Requests have no body, so each ends with its blank line. */
static bool on_readable(struct connection *connection)
{
    static const char end[] = "\r\n\r\n";
    char text[4096];
    ssize_t length = recv(connection->fd, text, sizeof text, 0);
    for (ssize_t i = 0; i < length; i++) {
        bool is_next = text[i] == end[connection->matched];
        connection->matched = is_next ? connection->matched + 1 : text[i] == '\r';
        if (connection->matched == 4) {
            connection->matched = 0;
            if (!answer(connection->fd)) {
                return false;
            }
        }
    }
    return length > 0;
}

static void *serve(void *userdata)
{
    static struct pollfd polled[CONNECTIONS_MAX + 2];
    (void)userdata;
    for (;;) {
        size_t count = server.connection_count;
        polled[0] = (struct pollfd){.fd = server.stop[0], .events = POLLIN};
        polled[1] = (struct pollfd){.fd = server.listener, .events = POLLIN};
        for (size_t i = 0; i < count; i++) {
            polled[i + 2] = (struct pollfd){.fd = server.connections[i].fd, .events = POLLIN};
        }
        (void)poll(polled, count + 2, -1);
        if (polled[0].revents) {
            break;
        }
        for (size_t i = count; i > 0; i--) { /* backwards, so that the last can fill a gap */
            if (polled[i + 1].revents && !on_readable(&server.connections[i - 1])) {
                (void)close(server.connections[i - 1].fd);
                server.connections[i - 1] = server.connections[--server.connection_count];
            }
        }
        if (polled[1].revents && server.connection_count < CONNECTIONS_MAX) {
            server.connections[server.connection_count++] =
                (struct connection){.fd = accept(server.listener, NULL, NULL)};
        }
    }
    for (size_t i = 0; i < server.connection_count; i++) {
        (void)close(server.connections[i].fd);
    }
    return NULL;
}

static bool start_server(pthread_t *ret_thread)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    server.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(server.listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(server.listener, 256) != 0 || pipe(server.stop) != 0 ||
        getsockname(server.listener, (struct sockaddr *)&address, &length) != 0) {
        return false;
    }
    (void)snprintf(server.url, sizeof server.url, "http://127.0.0.1:%d/", ntohs(address.sin_port));
    return pthread_create(ret_thread, NULL, serve, NULL) == 0;
}

/* ---- the clients ---- */

static struct lull_client *client;
static struct lull_cancel *cancel;
static atomic_uint begun;
static atomic_bool is_cancelled;

struct tally {
    unsigned number; /* of the thread */
    unsigned delivered;
    unsigned cancelled;
    unsigned given_up;
    unsigned hedges;
    unsigned wrong;
};

static void count(struct tally *tally, const struct lull_result *result, bool has_token)
{
    for (size_t i = 0; i < result->attempt_count; i++) {
        tally->hedges += result->attempts[i].is_hedge;
    }
    if (result->verdict == LULL_VERDICT_DELIVERED) {
        tally->delivered++;
        tally->wrong += result->status != 200 || !result->body || strcmp(result->body, "ok") != 0;
    } else if (result->reason == LULL_REASON_CANCELLED) {
        tally->cancelled++;
        tally->wrong += !has_token || !atomic_load(&is_cancelled);
    } else {
        tally->given_up++;
    }
}

static void *work(void *userdata)
{
    struct tally *tally = userdata;
    for (unsigned i = 0; i < REQUESTS; i++) {
        struct lull_request request;
        struct lull_result *result = NULL;
        bool has_token = (i + tally->number) % 4 == 0;
        lull_request_init(&request, server.url);
        request.is_hedged = (i + tally->number) % 3 == 0;
        request.cancel = has_token ? cancel : NULL;
        atomic_fetch_add(&begun, 1);
        if (lull_http_perform(client, &request, &result) != LULL_OK) {
            tally->wrong++;
            continue;
        }
        count(tally, result, has_token);
        lull_result_free(result);
    }
    return NULL;
}

static void *cancel_near_the_end(void *userdata)
{
    (void)userdata;
    while (atomic_load(&begun) < CANCEL_AFTER) {
        (void)usleep(200);
    }
    atomic_store(&is_cancelled, true);
    lull_cancel_signal(cancel);
    return NULL;
}

static bool start_client(void)
{
    static const char quick[] = "client base=1ms cap=2ms floor=1ms";
    struct lull_client_config config;
    lull_client_config_default(&config);
    config.has_breaker = true;
    cancel = lull_cancel_new();
    return cancel && lull_policy_parse(&config.policy, quick, sizeof quick - 1, NULL) == LULL_OK &&
           lull_client_new(&client, &config) == LULL_OK;
}

int main(void)
{
    pthread_t serving;
    pthread_t cancelling;
    pthread_t threads[THREADS];
    struct tally tallies[THREADS] = {0};
    struct tally sum = {0};
    if (!start_client() || !start_server(&serving) ||
        pthread_create(&cancelling, NULL, cancel_near_the_end, NULL) != 0) {
        perror("stress_client");
        return 1;
    }
    for (unsigned i = 0; i < THREADS; i++) {
        tallies[i].number = i;
        if (pthread_create(&threads[i], NULL, work, &tallies[i]) != 0) {
            perror("stress_client");
            return 1;
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        (void)pthread_join(threads[i], NULL);
        sum.delivered += tallies[i].delivered;
        sum.cancelled += tallies[i].cancelled;
        sum.given_up += tallies[i].given_up;
        sum.hedges += tallies[i].hedges;
        sum.wrong += tallies[i].wrong;
    }
    (void)pthread_join(cancelling, NULL);
    lull_client_destroy(client);
    lull_cancel_destroy(cancel);
    bool is_stopped = write(server.stop[1], "", 1) == 1;
    (void)pthread_join(serving, NULL);
    (void)close(server.listener);
    printf("stress_client: %u delivered, %u cancelled, %u given up, %u hedges, %u wrong\n",
           sum.delivered, sum.cancelled, sum.given_up, sum.hedges, sum.wrong);
    bool is_complete = sum.delivered + sum.cancelled + sum.given_up == THREADS * REQUESTS;
    return is_complete && is_stopped && sum.wrong == 0 && sum.delivered > 0 && sum.cancelled > 0
               ? 0
               : 1;
}
