/*
 * pace_controllers - the controllers that bench/pace compares, behind one table.
 *
 * Each owns its state. ask says 0 (send one now) or the ms until it is worth asking again.
 */
#ifndef LULL_BENCH_PACE_CONTROLLERS_H
#define LULL_BENCH_PACE_CONTROLLERS_H

#include <stdbool.h>
#include <stdint.h>

#include "lull/lull.h"

struct pace_answer {
    int64_t sent_ms;
    struct lull_service_permit permit; /* ours only */
    uint64_t subscription;
    bool is_throttled;
    int64_t retry_after_ms; /* 0: not said */
};

struct pace_controller {
    const char *name;
    void (*start)(uint64_t seed);
    int64_t (*ask)(int64_t now_ms, uint64_t backlog, struct lull_service_permit *ret_permit);
    /* True: the whole sender is throttled, as far as this controller can tell. */
    bool (*answer)(int64_t now_ms, const struct pace_answer *answer);
};

extern const struct pace_controller pace_controllers[];
extern const int pace_controller_count;

#endif
