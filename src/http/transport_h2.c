/*
 * transport_h2 - the HTTP/2 way of sending: a table of origins (h2_origin), each with its
 * connections (h2_connection), each with its session (h2_session).
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "fold.h"
#include "h2_origin.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "transport_way.h"

/* Of assigning and sending in one step. */
#define TURNS_MAX 8

struct transport_h2 {
    struct transport_way way;
    struct h2_pool pool;
    struct h2_origin **buckets;
    size_t bucket_count; /* a power of two */
    size_t origin_count;
};

static struct transport_h2 *h2_of(struct transport_way *way)
{
    return (struct transport_h2 *)(void *)way; /* its first member */
}

/* ---- the table ---- */

static struct h2_origin **bucket_of(struct transport_h2 *h2, const char *host, size_t length,
                                    uint16_t port)
{
    uint64_t hash = fold_hash(FOLD_HASH_SEED ^ port, host, length);
    return &h2->buckets[(hash ^ (hash >> 32)) & (h2->bucket_count - 1)];
}

/* The one that nobody has used for the longest time, if it has nothing open. */
static void evict_one(struct transport_h2 *h2)
{
    struct h2_origin **oldest = NULL;
    for (size_t i = 0; i < h2->bucket_count; i++) {
        for (struct h2_origin **link = &h2->buckets[i]; *link; link = &(*link)->next) {
            if (h2_origin_is_idle(*link) && (!oldest || (*link)->used_ms < (*oldest)->used_ms)) {
                oldest = link;
            }
        }
    }
    if (oldest) {
        struct h2_origin *origin = *oldest;
        *oldest = origin->next;
        h2_origin_destroy(origin);
        h2->origin_count--;
    }
}

static struct h2_origin *find_origin(struct transport_h2 *h2,
                                     const struct transport_request *request, int64_t now_ms)
{
    const struct url *url = &request->own.url;
    struct h2_origin **bucket = bucket_of(h2, url->host, url->host_length, url->port);
    for (struct h2_origin *origin = *bucket; origin; origin = origin->next) {
        if (h2_origin_is(origin, url, request->is_public_only)) {
            return origin;
        }
    }
    if (h2->origin_count >= h2->pool.shared.config->origins_max) {
        evict_one(h2);
    }
    struct h2_origin *origin = h2_origin_new(&h2->pool, url, request->is_public_only, now_ms);
    if (origin) {
        origin->next = *bucket;
        *bucket = origin;
        h2->origin_count++;
    }
    return origin;
}

/* ---- more origins than connections ---- */

/* Somebody waits for a connection and may not open one: what idles elsewhere makes room, and what
 * has closed gives everybody another chance. */
static void help_the_starved(struct transport_h2 *h2, int64_t now_ms)
{
    struct h2_origin *oldest = NULL;
    int64_t oldest_ms = LULL_NEVER;
    bool has_room = h2->pool.connection_count < h2->pool.shared.config->connections_max;
    h2->pool.is_starved = !has_room; /* those who try in vain say so again */
    for (size_t i = 0; i < h2->bucket_count; i++) {
        for (struct h2_origin *origin = h2->buckets[i]; origin; origin = origin->next) {
            if (has_room && origin->waiting.count > 0) {
                h2_origin_activate(origin);
            }
            int64_t used_ms = h2_origin_retire_idle(origin, true, now_ms);
            if (used_ms < oldest_ms) {
                oldest_ms = used_ms;
                oldest = origin;
            }
        }
    }
    if (!has_room && oldest) {
        (void)h2_origin_retire_idle(oldest, false, now_ms);
    }
}

/* ---- the table of transport_way.h ---- */

static int submit(struct transport_way *way, struct transport_request *request, int64_t now_ms)
{
    struct h2_origin *origin = find_origin(h2_of(way), request, now_ms);
    if (!origin) {
        return LULL_ERR_MEMORY;
    }
    h2_origin_submit(origin, request, now_ms);
    return LULL_OK;
}

static void cancel(struct transport_way *way, struct transport_request *request, int64_t now_ms)
{
    (void)way;
    h2_origin_cancel(request, now_ms);
}

static void assign_all(struct h2_pool *pool, int64_t now_ms)
{
    while (pool->active) {
        struct h2_origin *origin = pool->active;
        pool->active = origin->next_active;
        origin->is_active = false;
        h2_origin_assign(origin, now_ms);
    }
}

static void flush(struct transport_way *way, int64_t now_ms)
{
    struct transport_h2 *h2 = h2_of(way);
    /* A connection that breaks as it is written to gives its requests back, and so on. */
    for (int turn = 0; turn < TURNS_MAX && (h2->pool.active || h2->pool.shared.dirty); turn++) {
        assign_all(&h2->pool, now_ms);
        h2_connection_flush_all(&h2->pool.shared, now_ms);
        if (h2->pool.is_starved) {
            help_the_starved(h2, now_ms);
        }
    }
    if (h2->pool.active || h2->pool.shared.dirty) { /* the next step goes on with it */
        transport_ask_step(way->transport);
    }
}

static void destroy(struct transport_way *way)
{
    struct transport_h2 *h2 = h2_of(way);
    for (size_t i = 0; h2->buckets && i < h2->bucket_count; i++) {
        while (h2->buckets[i]) {
            struct h2_origin *origin = h2->buckets[i];
            h2->buckets[i] = origin->next;
            h2_origin_destroy(origin);
        }
    }
    resolver_destroy(h2->pool.shared.resolver);
    tls_destroy(h2->pool.shared.tls);
    free(h2->pool.shared.buffer);
    free(h2->buckets);
    free(h2);
}

struct transport_way *transport_h2_new(struct transport *transport, int *ret_error)
{
    static const struct transport_table table = {submit, cancel, flush, destroy};
    const struct transport_config *config = transport_settings(transport);
    struct transport_h2 *h2 = calloc(1, sizeof *h2);
    *ret_error = LULL_ERR_MEMORY;
    if (!h2) {
        return NULL;
    }
    h2->way = (struct transport_way){&table, transport};
    h2->pool.transport = transport;
    struct h2_shared *shared = &h2->pool.shared;
    shared->config = config;
    shared->poller = transport_poller(transport);
    shared->timers = transport_timers(transport);
    for (h2->bucket_count = 16; h2->bucket_count < config->origins_max; h2->bucket_count *= 2) {
    }
    h2->buckets = calloc(h2->bucket_count, sizeof(struct h2_origin *));
    shared->buffer = malloc(H2_BUFFER_SIZE);
    bool is_good =
        h2->buckets && shared->buffer && resolver_new(&shared->resolver, shared->poller) == LULL_OK;
    if (is_good) {
        *ret_error = tls_new(&shared->tls, config->ca_file);
    }
    if (*ret_error != LULL_OK) {
        destroy(&h2->way);
        return NULL;
    }
    return &h2->way;
}
