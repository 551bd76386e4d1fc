/*
 * mock_server - the HTTP side of `lull mock`, on libmicrohttpd: routes, answers, and misbehaviour.
 *
 * A thread for each connection, so that an answer may be slow; all that is shared is under one
 * lock. The log is a line of JSON for each event, written and flushed before the answer goes out:
 * whoever has the answer finds its line.
 *
 *   mock_server_start -> ... -> mock_server_stop
 */
#ifndef LULL_CLI_MOCK_SERVER_H
#define LULL_CLI_MOCK_SERVER_H

#include <stdbool.h>
#include <stdio.h>

#include "mock_push.h"

struct mock_server_config {
    int listen_fd; /* bound and listening; the server's from now on */
    const char *base;
    char *cert; /* PEM; NULL: no TLS */
    char *key;
    struct mock_service *service; /* the caller's; only the server's threads use it meanwhile */
    FILE *log;                    /* NULL: none */
};

struct mock_server;

/* NULL: no memory, no thread, or a certificate and key that cannot be used. */
struct mock_server *mock_server_start(const struct mock_server_config *config);

/* Readable when the server cannot go on: its log cannot be written. */
int mock_server_stop_fd(const struct mock_server *server);

/* Ends what hangs and waits for all threads. */
void mock_server_stop(struct mock_server *server);

#endif
