/*
 * api_world - an API on a free port of loopback, with a stand-in behind it, and a client that
 * writes bytes and reads answers.
 */
#ifndef LULL_TESTS_SERVER_API_WORLD_H
#define LULL_TESTS_SERVER_API_WORLD_H

#include "suite.h"

#include "api.h"
#include "config.h"
#include "stand_in.h"

#define TEST_TOKEN "a-secret-of-the-tests"

struct api_world {
    struct config config;
    struct lull_vapid_ring *ring;
    struct stand_in *stand_in;
    struct api *api;
    uint16_t port;
    char subscription[512]; /* a PushSubscription's JSON */
};

/* Small limits: a body of 4,096 bytes, 100 lines and 100,000 bytes in a batch. */
void api_world_init(struct api_world *world);
void api_world_use_token(struct api_world *world);
void api_world_start(struct api_world *world);

/* Stops what still runs, and forgets it. */
void api_world_stop(struct api_world *world);

/* All of that, for a test of its own. */
int api_world_setup(void **state);
int api_world_teardown(void **state);

/* ---- the client ---- */

struct reply {
    int status; /* 0: the connection ended before an answer */
    char *head;
    char *body; /* with a zero at its end; chunks are put together */
    size_t length;
};

int talk_connect(const struct api_world *world);
void talk_write(int fd, const char *bytes, size_t length); /* until the peer takes no more */
void talk_say(int fd, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The next answer of this connection; is_head: it has no body, whatever it says. */
struct reply talk_read(int fd, bool is_head);
void reply_free(struct reply *reply);

/* All of it on a connection of its own. */
struct reply talk(const struct api_world *world, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A POST of this body; headers end with \r\n each, "" for none. */
struct reply talk_post(const struct api_world *world, const char *path, const char *type,
                       const char *headers, const char *body);

#define JSON "application/json"
#define NDJSON "application/x-ndjson"
#define WEBHOOK "{\"webhook\":{\"url\":\"https://hooks.example/in\"},\"body\":\"hello\"}"
#define MESSAGES "/v1/messages"
#define BATCH "/v1/messages/batch"

#endif
