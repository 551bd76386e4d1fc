/*
 * server - `lull serve` without its command line: the engine's thread, and what it has around it.
 *
 *                       jobs                        parcels
 *   API threads ───────────────► engine's thread ───────────────► sender threads
 *               ◄─────────────── (delivery, store) ◄───────────────
 *                       done                        outcomes
 *
 *   server_new -> server_start -> ... server_drain -> server_wait -> server_stop -> server_destroy
 *
 * One thread owns engine and store, so nothing of them needs a lock; rows of jobs and parcels go
 * between threads, a whole row at a time.
 */
#ifndef LULL_SERVER_SERVER_H
#define LULL_SERVER_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "config.h"
#include "job.h"
#include "lull/vapid.h"
#include "store.h"

struct server;

/* Opens the store. config and ring are borrowed. The error of store_sqlite_open, with its problem;
 * LULL_ERR_RANGE: a ca_file that cannot be read, or limits that do not fit together. */
int server_new(struct server **ret_server, const struct config *config,
               struct lull_vapid_ring *ring, struct store_opening *ret_problem);

/* The threads begin, the API on this socket, which is the server's from now on. LULL_ERR_MEMORY,
 * LULL_ERR_RANGE. */
int server_start(struct server *server, int listen_fd);

/* For the API: see job.h. From any thread, until its api is destroyed. */
void server_submit(void *server, struct job *job);

/* New work is refused, nothing more is sent; what is in flight ends. From any thread. */
void server_drain(struct server *server);

/* Until the time is over; or everything that was in flight when draining began has ended; or the
 * store is broken. Returns which. */
enum server_state {
    SERVER_RUNNING,
    SERVER_DRAINED,
    SERVER_BROKEN,
};
enum server_state server_wait(struct server *server, int64_t timeout_ms);

/* Why it is broken, in a sentence. */
const char *server_problem(const struct server *server);

/* Ends all threads; what is still in flight is given back to the store. */
void server_stop(struct server *server);
void server_destroy(struct server *server); /* after stop, or without start; NULL is fine */

#endif
