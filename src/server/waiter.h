/*
 * waiter - a connection that waits for jobs of the engine's thread.
 *
 *   waiter_init -> { waiter_submit ... waiter_wait -> (suspended, resumed) -> waiter_take ... }
 *               -> waiter_abandon
 *
 * Only the connection's own thread calls these; done comes on the engine's. The lock is that of the
 * api, not one for each waiter, so that done can let go of a waiter that is freed the next moment.
 *
 * The connection is suspended under that lock, and only if there is something to wait for: so every
 * suspend is followed by exactly one resume, and never the other way round. A suspended connection
 * is not looked at by libmicrohttpd, so that it cannot go away before it is resumed.
 */
#ifndef LULL_SERVER_WAITER_H
#define LULL_SERVER_WAITER_H

#include <microhttpd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "api_thread.h"
#include "job.h"

/* What all waiters of an api share. */
struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t is_idle;
    void *server;
    void (*submit)(void *server, struct job *job);
    uint64_t under_way; /* jobs of all */
    bool is_closed;     /* nothing is submitted any more */
};

struct waiter {
    struct waiting *waiting;
    struct MHD_Connection *connection;
    struct api_thread *thread; /* which has the connection */
    struct job *done;          /* and not taken yet, the oldest first */
    struct job **done_end;
    uint32_t under_way;
    uint32_t wake_at; /* while is_suspended: so many under way, and it goes on */
    bool is_suspended;
    void (*abandoned)(struct waiter *waiter); /* NULL: nobody has left it */
};

bool waiting_init(struct waiting *waiting, void *server,
                  void (*submit)(void *server, struct job *job));
/* Submits nothing more, and returns when nothing is under way. */
void waiting_close(struct waiting *waiting);
void waiting_clean_up(struct waiting *waiting);

/* In the thread that has the connection. */
void waiter_init(struct waiter *waiter, struct waiting *waiting, struct MHD_Connection *connection);

/* False: the api is being closed, and the job is the caller's still. Else its done must call
 * waiter_done with this waiter. */
bool waiter_submit(struct waiter *waiter, struct job *job);

/* To be called by the done of a job, as its last deed: the job is listed for waiter_take. */
void waiter_done(struct waiter *waiter, struct job *job);

/* If more than max are under way: suspends the connection until it is no more than wake_at. False:
 * there are not so many. */
bool waiter_wait(struct waiter *waiter, uint32_t max, uint32_t wake_at);

/* What is done by now, in order; the jobs are the caller's again. */
struct job *waiter_take(struct waiter *waiter);

/* The connection is gone: calls then when nothing is under way any more, at once or from done. */
void waiter_abandon(struct waiter *waiter, void (*then)(struct waiter *waiter));

#endif
