/* api_thread - see the header. SPDX-License-Identifier: MIT */
#include "api_thread.h"

#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lull/os.h"

/* At the end: for requests that have come, or are about to, on connections that are there. */
#define LAST_ANSWERS_MS 300

struct api_thread {
    struct MHD_Daemon *daemon;
    int wake_fd;
    int events_fd; /* the daemon's */
    pthread_t thread;
    atomic_bool is_woken;
    atomic_bool is_deaf; /* wanted: no new connections */
    bool has_stopped_listening;
    sem_t stopped_listening;
    atomic_bool is_ending; /* wanted */
};

static _Thread_local struct api_thread *current;

struct api_thread *api_thread_current(void)
{
    return current;
}

void api_thread_wake(struct api_thread *thread)
{
    if (!atomic_exchange(&thread->is_woken, true)) {
        (void)eventfd_write(thread->wake_fd, 1);
    }
}

static void stop_listening(struct api_thread *thread)
{
    int fd = MHD_quiesce_daemon(thread->daemon);
    if (fd >= 0) {
        (void)close(fd);
    }
    thread->has_stopped_listening = true;
    (void)sem_post(&thread->stopped_listening);
}

static bool has_connections(struct api_thread *thread)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(thread->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info && info->num_connections > 0;
}

/* Until something happens, or is to be done by itself; at most max_ms, if that is not negative. */
static void await(struct api_thread *thread, int max_ms)
{
    struct pollfd ready[] = {{.fd = thread->wake_fd, .events = POLLIN},
                             {.fd = thread->events_fd, .events = POLLIN}};
    MHD_UNSIGNED_LONG_LONG wait_ms = 0;
    int timeout_ms = max_ms;
    if (MHD_get_timeout(thread->daemon, &wait_ms) == MHD_YES && wait_ms < INT_MAX &&
        (max_ms < 0 || (int)wait_ms < max_ms)) {
        timeout_ms = (int)wait_ms;
    }
    (void)poll(ready, 2, timeout_ms);
    if (ready[0].revents) {
        eventfd_t count = 0;
        (void)eventfd_read(thread->wake_fd, &count);
        /* Whoever comes from here on wakes it again; who came before is seen by what is done next.
         */
        (void)atomic_exchange(&thread->is_woken, false);
    }
}

/* Each answer closes its connection by now; those that are idle are not waited for any longer. */
static void give_last_answers(struct api_thread *thread)
{
    int64_t end_ms = lull_os_mono_ms() + LAST_ANSWERS_MS;
    int64_t left_ms = LAST_ANSWERS_MS;
    (void)MHD_run(thread->daemon); /* what was resumed last */
    while (has_connections(thread) && left_ms > 0) {
        await(thread, (int)left_ms);
        (void)MHD_run(thread->daemon);
        left_ms = end_ms - lull_os_mono_ms();
    }
}

static void *run(void *userdata)
{
    struct api_thread *thread = userdata;
    current = thread;
    (void)pthread_setname_np(pthread_self(), "lull-api");
    while (!atomic_load(&thread->is_ending)) {
        await(thread, -1);
        if (atomic_load(&thread->is_deaf) && !thread->has_stopped_listening) {
            stop_listening(thread);
        }
        (void)MHD_run(thread->daemon);
    }
    give_last_answers(thread);
    MHD_stop_daemon(thread->daemon);
    return NULL;
}

struct api_thread *api_thread_start(struct MHD_Daemon *daemon)
{
    struct api_thread *thread = calloc(1, sizeof *thread);
    if (!thread) {
        goto no_thread;
    }
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD);
    thread->daemon = daemon;
    thread->events_fd = info->epoll_fd;
    thread->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (thread->wake_fd < 0) {
        goto no_wake_fd;
    }
    (void)sem_init(&thread->stopped_listening, 0, 0);
    if (pthread_create(&thread->thread, NULL, run, thread)) {
        goto not_started;
    }
    return thread;

not_started:
    (void)sem_destroy(&thread->stopped_listening);
    (void)close(thread->wake_fd);
no_wake_fd:
    free(thread);
no_thread:
    MHD_stop_daemon(daemon);
    return NULL;
}

void api_thread_stop_listening(struct api_thread *thread)
{
    if (!atomic_exchange(&thread->is_deaf, true)) {
        api_thread_wake(thread);
        while (sem_wait(&thread->stopped_listening)) { /* a signal */
        }
    }
}

void api_thread_end(struct api_thread *thread)
{
    atomic_store(&thread->is_ending, true);
    api_thread_wake(thread);
}

void api_thread_join(struct api_thread *thread)
{
    (void)pthread_join(thread->thread, NULL);
    (void)sem_destroy(&thread->stopped_listening);
    (void)close(thread->wake_fd);
    free(thread);
}
