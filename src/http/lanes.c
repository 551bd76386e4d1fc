/* lanes - see the header. SPDX-License-Identifier: MIT */
#include "lanes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "fold.h"

struct lane {
    struct lane *next; /* in its bucket */
    struct lane *ready_next;
    struct lane *ready_previous;
    bool is_ready; /* in the list of those: there is room in it, and something waits */
    size_t running;
    struct lane_item *first;
    struct lane_item *last;
    size_t bucket;
    bool is_https;
    size_t name_length;
    char name[]; /* host and port */
};

void lanes_init(struct lanes *lanes, size_t running_max_per_lane, size_t running_max)
{
    *lanes =
        (struct lanes){.running_max_per_lane = running_max_per_lane, .running_max = running_max};
}

void lanes_free(struct lanes *lanes)
{
    for (size_t i = 0; i < LANE_BUCKETS; i++) {
        struct lane *next = NULL;
        for (struct lane *lane = lanes->buckets[i]; lane; lane = next) {
            next = lane->next;
            free(lane);
        }
        lanes->buckets[i] = NULL;
    }
}

/* ---- one lane ---- */

static size_t bucket_of(const struct url *url)
{
    uint64_t hash = fold_hash(FOLD_HASH_SEED, url->authority, url->authority_length);
    return (hash ^ (hash >> 32)) % LANE_BUCKETS;
}

static struct lane *find_lane(const struct lanes *lanes, const struct url *url, size_t bucket)
{
    struct lane *lane = lanes->buckets[bucket];
    while (lane && (lane->is_https != url->is_https || lane->name_length != url->authority_length ||
                    memcmp(lane->name, url->authority, lane->name_length) != 0)) {
        lane = lane->next;
    }
    return lane;
}

static struct lane *make_lane(struct lanes *lanes, const struct url *url, size_t bucket)
{
    struct lane *lane = calloc(1, sizeof *lane + url->authority_length);
    if (lane) {
        lane->bucket = bucket;
        lane->is_https = url->is_https;
        lane->name_length = url->authority_length;
        memcpy(lane->name, url->authority, url->authority_length);
        lane->next = lanes->buckets[bucket];
        lanes->buckets[bucket] = lane;
    }
    return lane;
}

static void drop_lane(struct lanes *lanes, struct lane *lane)
{
    struct lane **link = &lanes->buckets[lane->bucket];
    while (*link != lane) {
        link = &(*link)->next;
    }
    *link = lane->next;
    free(lane);
}

static void append_ready(struct lanes *lanes, struct lane *lane)
{
    lane->is_ready = true;
    lane->ready_next = NULL;
    lane->ready_previous = lanes->ready_last;
    *(lanes->ready_last ? &lanes->ready_last->ready_next : &lanes->ready_first) = lane;
    lanes->ready_last = lane;
}

static void remove_ready(struct lanes *lanes, struct lane *lane)
{
    struct lane *next = lane->ready_next;
    struct lane *previous = lane->ready_previous;
    *(previous ? &previous->ready_next : &lanes->ready_first) = next;
    *(next ? &next->ready_previous : &lanes->ready_last) = previous;
    lane->is_ready = false;
}

/* After any change: is it in the list if it should be? */
static void settle(struct lanes *lanes, struct lane *lane)
{
    bool is_ready = lane->first && lane->running < lanes->running_max_per_lane;
    if (is_ready && !lane->is_ready) {
        append_ready(lanes, lane);
    } else if (!is_ready && lane->is_ready) {
        remove_ready(lanes, lane);
    }
}

static void unlink_item(struct lane *lane, struct lane_item *item)
{
    *(item->previous ? &item->previous->next : &lane->first) = item->next;
    *(item->next ? &item->next->previous : &lane->last) = item->previous;
    item->next = NULL;
    item->previous = NULL;
}

/* ---- all of them ---- */

bool lanes_add(struct lanes *lanes, struct lane_item *item, const struct url *url)
{
    size_t bucket = bucket_of(url);
    struct lane *lane = find_lane(lanes, url, bucket);
    lane = lane ? lane : make_lane(lanes, url, bucket);
    if (!lane) {
        return false;
    }
    *item = (struct lane_item){.lane = lane, .previous = lane->last};
    *(lane->last ? &lane->last->next : &lane->first) = item;
    lane->last = item;
    settle(lanes, lane);
    return true;
}

bool lanes_has_next(const struct lanes *lanes)
{
    return lanes->ready_first && lanes->running < lanes->running_max;
}

/* Its lane goes behind the others. */
struct lane_item *lanes_next(struct lanes *lanes)
{
    if (!lanes_has_next(lanes)) {
        return NULL;
    }
    struct lane *lane = lanes->ready_first;
    struct lane_item *item = lane->first;
    remove_ready(lanes, lane);
    unlink_item(lane, item);
    item->is_running = true;
    lane->running++;
    lanes->running++;
    settle(lanes, lane);
    return item;
}

void lanes_remove(struct lanes *lanes, struct lane_item *item)
{
    struct lane *lane = item->lane;
    if (item->is_running) {
        lane->running--;
        lanes->running--;
    } else {
        unlink_item(lane, item);
    }
    item->lane = NULL;
    settle(lanes, lane);
    if (!lane->first && lane->running == 0) {
        drop_lane(lanes, lane);
    }
}
