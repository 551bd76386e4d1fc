/*
 * schedule - whose turn it is: the services, and when each is to be looked at next.
 *
 * Pure, in memory that is taken once. A heap by wake_ms; of two that are due, the one that was not
 * looked at for longer. A service that is idle (nothing waits, nothing in flight) makes room for
 * another when the table is full.
 */
#ifndef LULL_ENGINE_SCHEDULE_H
#define LULL_ENGINE_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "number_table.h"
#include "width.h"

struct scheduled {
    uint32_t number;    /* 0: this place is free */
    uint32_t in_flight; /* with those that are reserved */
    struct width width; /* how many may be in flight */
    uint64_t waiting;
    int64_t wake_ms;   /* when it is to be looked at; LULL_NEVER: when something changes */
    int64_t closed_ms; /* its gate lets nothing through before */
    bool has_more;     /* others are due that could not go: what is new queues up behind them */
    bool needs_room;   /* ... until one of those in flight has ended */
    uint64_t turn;
    uint32_t heap_place; /* from 1; 0: wake_ms is LULL_NEVER */
};

struct schedule {
    struct scheduled *places;
    uint32_t *heap;            /* places by wake_ms, from 1 */
    struct number_table table; /* numbers to places */
    uint32_t places_max;
    uint32_t count;
    uint32_t heap_count;
    uint32_t sweep; /* where the search for an idle place goes on */
    uint64_t turns;
};

/* False: no memory. */
bool schedule_init(struct schedule *schedule, uint32_t places_max);
void schedule_clean_up(struct schedule *schedule);

/* NULL: it is not known. */
struct scheduled *schedule_find(const struct schedule *schedule, uint32_t number);

/* NULL: there is no room. One that is not known yet. */
struct scheduled *schedule_add(struct schedule *schedule, uint32_t number);

/* Whenever wake_ms has changed. */
void schedule_wake(struct schedule *schedule, struct scheduled *service, int64_t wake_ms);

/* The first that is due, to the end of the row of those; NULL: none is. */
struct scheduled *schedule_next(struct schedule *schedule, int64_t now_ms);

int64_t schedule_wake_ms(const struct schedule *schedule); /* LULL_NEVER: none */

#endif
