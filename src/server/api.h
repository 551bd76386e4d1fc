/*
 * api - the HTTP API of `lull serve`: requests in, jobs for the engine's thread, answers out.
 *
 *   api_new -> api_stop_listening -> api_destroy
 *
 * It has limits.api_threads threads of its own. A request that needs the engine or the store is
 * suspended while its job is with the engine's thread, and goes on when done is called; so no
 * thread waits, and a thousand requests wait for one commit.
 */
#ifndef LULL_SERVER_API_H
#define LULL_SERVER_API_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "job.h"
#include "lull/vapid.h"

struct api;

/* engine_admit's answer, small enough to be read and written in one piece. */
struct api_admission {
    uint32_t kind; /* enum engine_admission_kind */
    uint32_t retry_after_s;
};

/* How the engine's thread is, as it says after each step: what a request is refused by before
 * anything of it is read (G6). All 0: all is well. */
struct api_health {
    _Atomic struct api_admission admission;
    atomic_bool is_draining;
    atomic_bool is_disk_full;
    atomic_bool is_broken;
};

struct api_config {
    const struct config *config;        /* borrowed */
    const struct lull_vapid_ring *ring; /* borrowed; for the intakes */
    const struct api_health *health;    /* borrowed */
    int listen_fd;                      /* the api's from api_new on, also where that fails */

    /* All are called from the api's threads, several at once. */
    void *server;
    void (*submit)(void *server, struct job *job);
    int64_t (*now_ms)(void *server); /* the wall clock of the engine, which does not step */
    /* /metrics: the text, for free(), and its length. NULL: no memory. */
    size_t (*metrics)(void *server, char **ret_text);
};

/* LULL_ERR_MEMORY, LULL_ERR_RANGE: the threads or the descriptors that it needs are not to be had.
 */
int api_new(struct api **ret_api, const struct api_config *config);

/* No new connections; those that there are get an answer to what they ask, and "Connection: close".
 */
void api_stop_listening(struct api *api);

/* Waits for the jobs that are under way: the engine's thread must do them all, and may end only
 * after this has returned. Whoever still asks gets 503 draining or no answer. NULL is fine. */
void api_destroy(struct api *api);

#endif
