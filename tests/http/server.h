/*
 * server - an HTTP server that does what a script says, on a thread inside the test.
 *
 * Each request that has arrived in full takes the next step of the script, on whichever connection
 * it came; after the last step, all are answered 200. What came is kept for the test to look at,
 * as far as the first 128.
 */
#ifndef LULL_TESTS_HTTP_SERVER_H
#define LULL_TESTS_HTTP_SERVER_H

#include <stddef.h>

enum act {
    ANSWER,           /* the bytes; the connection stays open */
    ANSWER_AND_CLOSE, /* the bytes, then the end of the connection */
    CLOSE,            /* no answer, and the end */
    RESET,            /* no answer, and a TCP reset */
    HANG,             /* no answer, and no end */
};

struct step {
    enum act act;
    const char *bytes;
};

#define REPLY(status, headers, length, body)                                                       \
    "HTTP/1.1 " status " Words\r\n" headers "Content-Length: " length "\r\n\r\n" body
#define REPLY_OK REPLY("200", "", "2", "ok")
#define REPLY_BUSY REPLY("503", "", "4", "busy")

struct server;

/* The steps are borrowed. */
struct server *server_start(const struct step *steps, size_t step_count);
void server_stop(struct server *server);

const char *server_url(const struct server *server); /* "http://127.0.0.1:port/" */

size_t server_count(struct server *server); /* requests so far */
void server_wait(struct server *server, size_t count);

/* Head and body of a request as they came, and the number of its connection, from 0. */
const char *server_request(struct server *server, size_t index);
size_t server_connection(struct server *server, size_t index);

#endif
