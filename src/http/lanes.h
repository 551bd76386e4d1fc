/*
 * lanes - who may go next: so many at once to each origin, so many in all, and the origins in turn,
 * so that one that does not answer holds up nobody but those who want to go there.
 *
 *   lanes_init -> { lanes_add, lanes_next ..., lanes_remove } -> lanes_free
 *
 * Each call is O(1). An item lives inside of what it is for. A lane is there as long as it has
 * items.
 */
#ifndef LULL_HTTP_LANES_H
#define LULL_HTTP_LANES_H

#include <stdbool.h>
#include <stddef.h>

#include "owner.h"
#include "url.h"

#define LANE_BUCKETS 512

struct lane;

struct lane_item {
    struct lane *lane;
    struct lane_item *next; /* while it waits */
    struct lane_item *previous;
    bool is_running;
};

struct lanes {
    size_t running_max_per_lane;
    size_t running_max;
    size_t running;
    struct lane *ready_first; /* have room, and items that wait */
    struct lane *ready_last;
    struct lane *buckets[LANE_BUCKETS];
};

void lanes_init(struct lanes *lanes, size_t running_max_per_lane, size_t running_max);
void lanes_free(struct lanes *lanes); /* also with items that were not removed */

/* It waits, behind all others to the same origin. False: no memory. */
bool lanes_add(struct lanes *lanes, struct lane_item *item, const struct url *url);

/* The next that may go, which is running now; NULL: none may. */
struct lane_item *lanes_next(struct lanes *lanes);
bool lanes_has_next(const struct lanes *lanes);

/* It is over, whether it was running or waiting. */
void lanes_remove(struct lanes *lanes, struct lane_item *item);

#endif
