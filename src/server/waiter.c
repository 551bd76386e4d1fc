/* waiter - see the header. SPDX-License-Identifier: MIT */
#include "waiter.h"

bool waiting_init(struct waiting *waiting, void *server,
                  void (*submit)(void *server, struct job *job))
{
    *waiting = (struct waiting){.server = server, .submit = submit};
    if (pthread_mutex_init(&waiting->lock, NULL)) {
        return false;
    }
    if (pthread_cond_init(&waiting->is_idle, NULL)) {
        (void)pthread_mutex_destroy(&waiting->lock);
        return false;
    }
    return true;
}

void waiting_close(struct waiting *waiting)
{
    (void)pthread_mutex_lock(&waiting->lock);
    waiting->is_closed = true;
    while (waiting->under_way > 0) {
        (void)pthread_cond_wait(&waiting->is_idle, &waiting->lock);
    }
    (void)pthread_mutex_unlock(&waiting->lock);
}

void waiting_clean_up(struct waiting *waiting)
{
    (void)pthread_cond_destroy(&waiting->is_idle);
    (void)pthread_mutex_destroy(&waiting->lock);
}

void waiter_init(struct waiter *waiter, struct waiting *waiting, struct MHD_Connection *connection)
{
    *waiter = (struct waiter){.waiting = waiting,
                              .connection = connection,
                              .thread = api_thread_current(),
                              .done_end = &waiter->done};
}

bool waiter_submit(struct waiter *waiter, struct job *job)
{
    struct waiting *waiting = waiter->waiting;
    (void)pthread_mutex_lock(&waiting->lock);
    bool is_closed = waiting->is_closed;
    if (!is_closed) {
        waiting->under_way++;
        waiter->under_way++;
    }
    (void)pthread_mutex_unlock(&waiting->lock);
    if (!is_closed) {
        waiting->submit(waiting->server, job);
    }
    return !is_closed;
}

void waiter_done(struct waiter *waiter, struct job *job)
{
    struct waiting *waiting = waiter->waiting;
    void (*then)(struct waiter *) = NULL;
    (void)pthread_mutex_lock(&waiting->lock);
    job->next = NULL;
    *waiter->done_end = job;
    waiter->done_end = &job->next;
    waiter->under_way--;
    if (waiter->is_suspended && waiter->under_way <= waiter->wake_at) {
        waiter->is_suspended = false;
        MHD_resume_connection(waiter->connection);
        api_thread_wake(waiter->thread);
    }
    if (waiter->under_way == 0) {
        then = waiter->abandoned;
    }
    if (!then && --waiting->under_way == 0) {
        (void)pthread_cond_broadcast(&waiting->is_idle);
    }
    (void)pthread_mutex_unlock(&waiting->lock);
    if (!then) {
        return;
    }
    /* Nobody else has it any more; and the api must not go before it has. */
    then(waiter);
    (void)pthread_mutex_lock(&waiting->lock);
    if (--waiting->under_way == 0) {
        (void)pthread_cond_broadcast(&waiting->is_idle);
    }
    (void)pthread_mutex_unlock(&waiting->lock);
}

bool waiter_wait(struct waiter *waiter, uint32_t max, uint32_t wake_at)
{
    struct waiting *waiting = waiter->waiting;
    (void)pthread_mutex_lock(&waiting->lock);
    bool must_wait = waiter->under_way > max;
    if (must_wait) {
        MHD_suspend_connection(waiter->connection);
        waiter->is_suspended = true;
        waiter->wake_at = wake_at;
    }
    (void)pthread_mutex_unlock(&waiting->lock);
    return must_wait;
}

struct job *waiter_take(struct waiter *waiter)
{
    struct waiting *waiting = waiter->waiting;
    (void)pthread_mutex_lock(&waiting->lock);
    struct job *done = waiter->done;
    waiter->done = NULL;
    waiter->done_end = &waiter->done;
    (void)pthread_mutex_unlock(&waiting->lock);
    return done;
}

void waiter_abandon(struct waiter *waiter, void (*then)(struct waiter *waiter))
{
    struct waiting *waiting = waiter->waiting;
    (void)pthread_mutex_lock(&waiting->lock);
    bool is_over = waiter->under_way == 0;
    if (!is_over) {
        waiter->abandoned = then;
    }
    (void)pthread_mutex_unlock(&waiting->lock);
    if (is_over) {
        then(waiter);
    }
}
