/* mock_server - see the header. SPDX-License-Identifier: MIT */
#include "mock_server.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lull/os.h"
#include "mock_serve.h"

#define CONNECTIONS_MAX 4096U

/* ---- routes ---- */

static const struct {
    const char *path;
    bool has_id;
    enum mock_route route;
} routes[] = {
    {"/", false, MOCK_ROUTE_ROOT},           {"/subscribe", false, MOCK_ROUTE_SUBSCRIBE},
    {"/push/", true, MOCK_ROUTE_PUSH},       {"/subscription/", true, MOCK_ROUTE_SUBSCRIPTION},
    {"/message/", true, MOCK_ROUTE_MESSAGE},
};

static void find_route(struct mock_exchange *exchange, const char *url)
{
    for (size_t i = 0; i < sizeof routes / sizeof routes[0]; i++) {
        size_t length = strlen(routes[i].path);
        if (!routes[i].has_id && strcmp(url, routes[i].path) == 0) {
            exchange->route = routes[i].route;
        } else if (routes[i].has_id && strncmp(url, routes[i].path, length) == 0) {
            exchange->route = routes[i].route;
            /* One that is too long is nobody's, cut or not. */
            (void)snprintf(exchange->id, sizeof exchange->id, "%s",
                           strlen(url + length) < MOCK_ID_SIZE ? url + length : "");
        }
    }
}

/* ---- libmicrohttpd's callbacks ---- */

/* Whether it came too early is asked when its head arrives: what is told to others while its body
 * is still on the way, it cannot have known. */
static struct mock_exchange *begin(struct mock_server *server, struct MHD_Connection *connection,
                                   const char *url, const char *method)
{
    struct mock_exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange) {
        return NULL;
    }
    exchange->connection = connection;
    exchange->method = method;
    exchange->time_ms = lull_os_now_ms();
    exchange->mono_ms = lull_os_mono_ms();
    find_route(exchange, url);
    if (exchange->route == MOCK_ROUTE_PUSH) {
        pthread_mutex_lock(&server->lock);
        const struct mock_subscription *subscription = mock_find(server->service, exchange->id);
        exchange->is_early = subscription && exchange->time_ms < subscription->not_before_ms;
        pthread_mutex_unlock(&server->lock);
    }
    return exchange;
}

static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection,
                                  const char *url, const char *method, const char *version,
                                  const char *data, size_t *data_size, void **state)
{
    struct mock_exchange *exchange = *state;
    (void)version;
    if (!exchange) {
        *state = begin(userdata, connection, url, method);
        return *state ? MHD_YES : MHD_NO;
    }
    if (*data_size > 0) {
        size_t room = exchange->length < MOCK_BODY_MAX ? MOCK_BODY_MAX - exchange->length : 0;
        memcpy(exchange->body + MOCK_BODY_MAX - room, data, *data_size < room ? *data_size : room);
        exchange->length += *data_size;
        *data_size = 0;
        return MHD_YES;
    }
    return mock_serve(userdata, exchange);
}

static void on_completed(void *userdata, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    (void)userdata;
    (void)connection;
    (void)code;
    free(*state);
    *state = NULL;
}

/* ---- its life ---- */

struct mock_server *mock_server_start(const struct mock_server_config *config)
{
    struct mock_server *server = calloc(1, sizeof *server);
    if (!server) {
        return NULL;
    }
    server->service = config->service;
    server->log = config->log;
    server->base = config->base;
    server->stop_fd = eventfd(0, EFD_CLOEXEC);
    (void)pthread_mutex_init(&server->lock, NULL);
    struct MHD_OptionItem tls[] = {{MHD_OPTION_HTTPS_MEM_CERT, 0, config->cert},
                                   {MHD_OPTION_HTTPS_MEM_KEY, 0, config->key},
                                   {MHD_OPTION_END, 0, NULL}};
    struct MHD_OptionItem none[] = {{MHD_OPTION_END, 0, NULL}};
    unsigned flags = MHD_USE_AUTO_INTERNAL_THREAD | MHD_USE_THREAD_PER_CONNECTION |
                     (config->cert ? MHD_USE_TLS : 0U);
    server->daemon = MHD_start_daemon(
        flags, 0, NULL, NULL, on_request, server, MHD_OPTION_LISTEN_SOCKET, config->listen_fd,
        MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_NOTIFY_COMPLETED, on_completed,
        NULL, MHD_OPTION_ARRAY, config->cert ? tls : none, MHD_OPTION_END);
    if (!server->daemon || server->stop_fd < 0) {
        mock_server_stop(server);
        return NULL;
    }
    return server;
}

int mock_server_stop_fd(const struct mock_server *server)
{
    return server->stop_fd;
}

void mock_server_stop(struct mock_server *server)
{
    if (!server) {
        return;
    }
    if (server->stop_fd >= 0) {
        (void)eventfd_write(server->stop_fd, 1);
    }
    if (server->daemon) {
        MHD_stop_daemon(server->daemon);
    }
    if (server->stop_fd >= 0) {
        (void)close(server->stop_fd);
    }
    (void)pthread_mutex_destroy(&server->lock);
    free(server);
}
