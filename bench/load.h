/*
 * load - so many messages over so many connections, as fast as they are taken or at a given rate.
 *
 *   fill in struct load -> load_run -> what came of it -> load_clean_up
 *
 * One thread, plain sockets, one request at a time on each connection: so that what is measured is
 * the server, and not this.
 */
#ifndef LULL_BENCH_LOAD_H
#define LULL_BENCH_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "load_text.h"

struct load_bytes {
    char *data;
    size_t length;
    size_t size;
};

/* Room for so many bytes behind those that are there; ends the program where there is no memory. */
char *load_bytes_room(struct load_bytes *bytes, size_t size);
void load_bytes_add(struct load_bytes *bytes, const char *data, size_t length);

struct load_connection {
    int socket;
    struct load_bytes out;
    size_t sent;
    struct load_bytes in;
    size_t read;    /* of in: what the protocol has dealt with */
    bool is_busy;   /* there is a request on it: */
    uint64_t first; /* its messages */
    uint32_t count;
    uint32_t answered; /* of them, where they are answered one by one */
    size_t body;       /* of an HTTP answer: where it begins in in; 0: its head is not there */
    size_t body_length;
    bool is_chunked;
    bool is_waiting_to_write;
    int64_t sent_ms;   /* wall clock */
    double sent_at_us; /* monotonic */
};

enum load_answer {
    LOAD_PART,   /* there is more to come */
    LOAD_WHOLE,  /* that was the answer */
    LOAD_MORE,   /* another request is in out, for the same messages */
    LOAD_BROKEN, /* what came makes no sense */
};

struct load;

struct load_protocol {
    const char *word;
    /* Writes a request into out: of count messages, from this number on. */
    void (*ask)(const struct load *load, struct load_connection *connection);
    /* Looks at what is in, and counts what was accepted and what was not. */
    enum load_answer (*answer)(struct load *load, struct load_connection *connection);
};

extern const struct load_protocol load_post, load_batch; /* of lull serve */
extern const struct load_protocol load_put, load_take;   /* of beanstalkd: reserve and delete */

struct load {
    const struct load_protocol *protocol;
    uint16_t port; /* of 127.0.0.1 */
    uint32_t connection_count;
    uint64_t first;   /* number of the first message */
    uint64_t count;   /* messages */
    uint32_t lines;   /* of them in each request */
    double per_s;     /* 0: as fast as they are taken */
    uint32_t delay_s; /* load_put */
    const struct load_text *text;
    FILE *log; /* a line for each request: its first message, how many, sent and answered in ms */

    uint64_t accepted;
    uint64_t refused;
    uint64_t requests;
    double *latencies_ms; /* of each request */
    double wall_us;

    struct load_connection *connections;
    uint64_t begun; /* messages */
    uint64_t ended;
    int poller;
};

/* False: it was told on standard error why. */
bool load_run(struct load *load);
void load_clean_up(struct load *load);

#endif
