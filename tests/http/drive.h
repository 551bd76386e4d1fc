/*
 * drive - what the parts of transport_drive share: its plan, and what it tells.
 */
#ifndef LULL_TESTS_DRIVE_H
#define LULL_TESTS_DRIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "transport.h"

/* ---- the plan, from the command line ---- */

#define URLS_MAX 64
#define URL_SIZE 2048
#define THREADS_MAX 64

struct plan {
    const char *urls[URLS_MAX];
    size_t url_count;
    struct lull_header headers[TRANSPORT_HEADERS_MAX];
    struct transport_config config;
    struct transport_request request; /* what all have in common */
    char *body;
    int64_t body_size;
    int64_t response_max;
    int64_t connections; /* per origin */
    int64_t connections_in_all;
    int64_t streams;
    int64_t count;
    int64_t in_flight; /* of each thread */
    int64_t threads;
    int64_t cancel_after_ms; /* 0: none is cancelled */
    bool is_private_allowed;
    bool is_numbered; /* each path ends with its own /N */
    bool is_echo;
    bool is_quiet;
    bool does_retry; /* those that had no effect for certain */
};

extern struct plan plan;

/* Ends the program with 2 for an argument that it does not know. */
void read_plan(int argc, char **argv);

/* ---- what came of it ---- */

/* One request at a time, again and again. */
struct slot {
    struct transport_request request;
    char url[URL_SIZE];
    int64_t index;
    unsigned attempts;
    bool is_out;
    bool is_cancelled;
    int64_t retry_at_ms; /* 0: it does not wait for that */
};

enum { ANSWERED, INCOMPLETE, CUT, RETRIES, WRONG, SUMS };

struct tally {
    uint64_t sums[SUMS];
    uint64_t statuses[1000];
    uint64_t transports[LULL_TRANSPORTS];
    uint64_t effects[LULL_EFFECT_UNKNOWN + 1];
    uint64_t protocols[TRANSPORT_PROTOCOL_HTTP_2 + 1];
    uint64_t done;
};

struct rss {          /* of the program */
    int64_t tenth_kb; /* when a tenth of the first thread's requests was done */
    int64_t end_kb;   /* and all of them */
};

int64_t rss_kb(void);
void print_slot(const struct slot *slot, int64_t started_ms, int64_t now_ms);
void print_summary(const struct tally *tally, const struct transport_stats *stats,
                   const struct rss *rss, int64_t started_ms);

#endif
