/*
 * mock_serve - what each route of `lull mock` answers; mock_server.c calls it, and nobody else.
 */
#ifndef LULL_CLI_MOCK_SERVE_H
#define LULL_CLI_MOCK_SERVE_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "mock_push.h"

#define MOCK_BODY_MAX 16384 /* of which a push may use LULL_PUSH_BODY_MAX */

struct mock_server {
    struct MHD_Daemon *daemon;
    pthread_mutex_t lock; /* around service and log */
    struct mock_service *service;
    FILE *log;
    const char *base;
    int stop_fd;
};

enum mock_route {
    MOCK_ROUTE_NONE,
    MOCK_ROUTE_ROOT,
    MOCK_ROUTE_SUBSCRIBE,
    MOCK_ROUTE_PUSH,
    MOCK_ROUTE_SUBSCRIPTION,
    MOCK_ROUTE_MESSAGE,
};

/* One request, from its head to the end of its answer. */
struct mock_exchange {
    struct MHD_Connection *connection;
    enum mock_route route;
    const char *method;
    char id[MOCK_ID_SIZE];
    int64_t time_ms;
    int64_t mono_ms;
    bool is_early;
    size_t length; /* all that came; what fits is in body */
    char body[MOCK_BODY_MAX + 1];
};

/* Queues the answer. MHD_NO: the connection is to be closed. */
enum MHD_Result mock_serve(struct mock_server *server, struct mock_exchange *exchange);

#endif
