/*
 * store_work - the messages that bench/store works with, and the three things that are done to
 * them.
 */
#ifndef LULL_BENCH_STORE_WORK_H
#define LULL_BENCH_STORE_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store.h"

#define WORK_ENVELOPE 300
#define WORK_BODY 300
#define WORK_SIZE (WORK_ENVELOPE + WORK_BODY)
#define WORK_BATCH_MAX 1000

struct work {
    struct store *store;
    char path[512];
    uint32_t service;
    struct message **ring; /* in flight, the oldest first */
    size_t ring_size;
    uint64_t put;
    uint64_t settled;
};

/* Of a store of its own in this folder, for so many in flight: what one leaves must not cost the
 * next. Closing removes it. */
void work_open(struct work *work, const char *folder, uint32_t in_flight);
void work_close(struct work *work);
void work_remove(const char *path);

/* One batch: puts so many, leased, and settles as many of the oldest as are more than in_flight. */
void work_pass(struct work *work, uint32_t count, uint32_t in_flight);

/* Puts so many that wait, in large batches that are not synced. */
void work_fill(struct work *work, uint32_t count);

/* Claims up to so many, and settles what the last call claimed. How many were claimed. */
uint32_t work_claim(struct work *work, uint32_t count);

/* Whatever fails here makes no figures. */
__attribute__((noreturn)) void work_fail(const char *what);

/* ---- bare, to be held against (store_bare.c) ---- */

/* Bare SQLite: the same bytes into one table and out of it, in the same batches, each synced. */
struct bare;
struct bare *bare_open(const char *folder, uint32_t in_flight);
void bare_pass(struct bare *bare, uint32_t batch);
void bare_close(struct bare *bare);

/* ---- a million that wait (store_million.c): how many targets were missed ---- */
int million_run(const char *folder);

#endif
