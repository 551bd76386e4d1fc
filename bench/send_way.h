/*
 * send_way - a way of sending that bench/send measures: a const table of functions in one file.
 *
 *   open -> send ... -> close
 *
 * A sender keeps its connections from one send to the next, so that only the first pays for them.
 */
#ifndef LULL_BENCH_SEND_WAY_H
#define LULL_BENCH_SEND_WAY_H

#include <stdbool.h>
#include <stdint.h>

#include "send_work.h"

struct send_stats {
    uint64_t connections; /* opened so far */
    uint64_t late_errors; /* requests that it called failed though their 201 had arrived */
    uint64_t stuck;       /* that it had no answer for in TIMEOUT_MS; only libcurl may */
};

struct send_way {
    /* NULL: it could not, and why is on stderr. */
    void *(*open)(struct work *work);
    /* Makes and sends so many, WORK_SLOTS at once, and waits for all. False: one of them did not
     * get its 201, or did not go by HTTP/2; why is on stderr. */
    bool (*send)(void *sender, work_make *make, uint64_t count);
    struct send_stats (*stats)(const void *sender);
    void (*close)(void *sender);
};

extern const struct send_way send_bare;
extern const struct send_way send_ours;
extern const struct send_way send_curl;

#endif
