/* schedule - see the header. SPDX-License-Identifier: MIT */
#include "schedule.h"

#include <stdlib.h>

#include "lull/duration.h"

bool schedule_init(struct schedule *schedule, uint32_t places_max)
{
    *schedule = (struct schedule){
        .places = calloc(places_max, sizeof(struct scheduled)),
        .heap = calloc((size_t)places_max + 1, sizeof(uint32_t)),
        .places_max = places_max,
    };
    if (!number_table_init(&schedule->table, places_max) || !schedule->places || !schedule->heap) {
        schedule_clean_up(schedule);
        return false;
    }
    return true;
}

void schedule_clean_up(struct schedule *schedule)
{
    free(schedule->places);
    free(schedule->heap);
    number_table_clean_up(&schedule->table);
    *schedule = (struct schedule){0};
}

struct scheduled *schedule_find(const struct schedule *schedule, uint32_t number)
{
    uint32_t place = number_table_find(&schedule->table, number);
    return place != NUMBER_TABLE_NONE ? &schedule->places[place] : NULL;
}

/* ---- the heap ---- */

static bool is_before(const struct scheduled *a, const struct scheduled *b)
{
    return a->wake_ms != b->wake_ms ? a->wake_ms < b->wake_ms : a->turn < b->turn;
}

static struct scheduled *at(const struct schedule *schedule, uint32_t heap_place)
{
    return &schedule->places[schedule->heap[heap_place]];
}

static void set_at(struct schedule *schedule, uint32_t heap_place, uint32_t place)
{
    schedule->heap[heap_place] = place;
    schedule->places[place].heap_place = heap_place;
}

static void sift_up(struct schedule *schedule, uint32_t heap_place)
{
    uint32_t place = schedule->heap[heap_place];
    while (heap_place > 1 && is_before(&schedule->places[place], at(schedule, heap_place / 2))) {
        set_at(schedule, heap_place, schedule->heap[heap_place / 2]);
        heap_place /= 2;
    }
    set_at(schedule, heap_place, place);
}

static void sift_down(struct schedule *schedule, uint32_t heap_place)
{
    uint32_t place = schedule->heap[heap_place];
    for (;;) {
        uint32_t child = 2 * heap_place;
        if (child > schedule->heap_count) {
            break;
        }
        if (child < schedule->heap_count &&
            is_before(at(schedule, child + 1), at(schedule, child))) {
            child++;
        }
        if (!is_before(at(schedule, child), &schedule->places[place])) {
            break;
        }
        set_at(schedule, heap_place, schedule->heap[child]);
        heap_place = child;
    }
    set_at(schedule, heap_place, place);
}

static void remove_from_heap(struct schedule *schedule, struct scheduled *service)
{
    uint32_t gap = service->heap_place;
    uint32_t last = schedule->heap[schedule->heap_count--];
    service->heap_place = 0;
    if (gap <= schedule->heap_count) {
        set_at(schedule, gap, last);
        sift_up(schedule, gap);
        sift_down(schedule, schedule->places[last].heap_place);
    }
}

void schedule_wake(struct schedule *schedule, struct scheduled *service, int64_t wake_ms)
{
    service->wake_ms = wake_ms;
    if (wake_ms == LULL_NEVER) {
        if (service->heap_place != 0) {
            remove_from_heap(schedule, service);
        }
        return;
    }
    if (service->heap_place == 0) {
        set_at(schedule, ++schedule->heap_count, (uint32_t)(service - schedule->places));
    }
    sift_up(schedule, service->heap_place);
    sift_down(schedule, service->heap_place);
}

struct scheduled *schedule_next(struct schedule *schedule, int64_t now_ms)
{
    if (schedule_wake_ms(schedule) > now_ms) {
        return NULL;
    }
    struct scheduled *service = at(schedule, 1);
    service->turn = ++schedule->turns;
    sift_down(schedule, 1);
    return service;
}

int64_t schedule_wake_ms(const struct schedule *schedule)
{
    return schedule->heap_count > 0 ? at(schedule, 1)->wake_ms : LULL_NEVER;
}

/* ---- places ---- */

static bool is_idle(const struct scheduled *service)
{
    return service->waiting == 0 && service->in_flight == 0;
}

/* The place of one that is idle, made free. NULL: all are at work. */
static struct scheduled *evict(struct schedule *schedule)
{
    for (uint32_t i = 0; i < schedule->places_max; i++) {
        struct scheduled *service = &schedule->places[schedule->sweep];
        schedule->sweep = (schedule->sweep + 1) % schedule->places_max;
        if (is_idle(service)) {
            schedule_wake(schedule, service, LULL_NEVER);
            number_table_remove(&schedule->table, service->number);
            return service;
        }
    }
    return NULL;
}

struct scheduled *schedule_add(struct schedule *schedule, uint32_t number)
{
    struct scheduled *service = schedule->count < schedule->places_max
                                    ? &schedule->places[schedule->count++]
                                    : evict(schedule);
    if (!service) {
        return NULL;
    }
    *service = (struct scheduled){.number = number, .wake_ms = LULL_NEVER};
    number_table_set(&schedule->table, number, (uint32_t)(service - schedule->places));
    return service;
}
