/*
 * send_work - what bench/send sends, the same for each way of sending: a Web Push message as a push
 * service gets it.
 *
 *   work_new -> work_fill, work_encrypt ... -> work_destroy
 *
 * A push lies in one of WORK_SLOTS places, which all ways share: they take turns. Each has a path
 * of its own, so that no table of a sender or a server finds it again, and a real token.
 */
#ifndef LULL_BENCH_SEND_WORK_H
#define LULL_BENCH_SEND_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/webpush.h"

#define WORK_CONNECTIONS 4
#define WORK_STREAMS 100 /* on each connection */
#define WORK_SLOTS ((size_t)WORK_CONNECTIONS * WORK_STREAMS)
#define WORK_BODY_SIZE 300
#define WORK_PATH_LENGTH 180
#define WORK_BATCH 64 /* key pairs that the library makes at once */

/* The headers that are the same for all: a name and its value. content-length is beside them. */
#define WORK_HEADERS(X)                                                                            \
    X("ttl", "86400")                                                                              \
    X("urgency", "high")                                                                           \
    X("content-type", "application/octet-stream")                                                  \
    X("content-encoding", "aes128gcm")                                                             \
    X("user-agent", "lull/0.1.0 (+https://example.org/lull)")
#define WORK_HEADER_COUNT 5

struct push {
    char url[256]; /* its origin is the same for all */
    char authorization[512];
    size_t authorization_length;
    uint8_t body[LULL_PUSH_BODY_MAX]; /* WORK_BODY_SIZE of it */
};

struct work {
    const char *origin; /* https://host:port */
    const char *ca_file;
    size_t origin_length; /* also where the path begins in each url */
    struct push pushes[WORK_SLOTS];
    uint64_t count; /* paths that were given out */
    struct lull_encryptor *encryptor;
    struct lull_vapid_ring *ring;
    struct subscription {
        uint8_t p256dh[LULL_P256_POINT_SIZE];
        uint8_t auth[LULL_PUSH_AUTH_SIZE];
    } * subscriptions;
};

/* NULL: it could not be set up. Both texts are borrowed. */
struct work *work_new(const char *origin, const char *ca_file);
void work_destroy(struct work *work);

/* Makes the next push in this place: work_fill leaves body and token as they are, work_encrypt
 * makes them, too. False: that failed. */
typedef bool work_make(struct work *work, struct push *push);
work_make work_fill;
work_make work_encrypt;

#endif
