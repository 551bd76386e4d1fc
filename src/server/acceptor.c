/* acceptor - see the header. SPDX-License-Identifier: MIT */
#include "acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lull/error.h"

/* Nothing tells when one of too many connections, or of all descriptors, is free again. */
#define FULL_MS 50

struct acceptor {
    pthread_t thread;
    struct api_thread **threads;
    size_t thread_count;
    unsigned connections_max;
    int listen_fd;
    int stop_fd;
};

/* The thread that has the fewest connections; NULL: all together have as many as may be. */
static struct api_thread *next_thread(const struct acceptor *acceptor)
{
    unsigned all = 0;
    unsigned fewest = UINT_MAX;
    struct api_thread *next = NULL;
    for (size_t i = 0; i < acceptor->thread_count; i++) {
        unsigned count = api_thread_connections(acceptor->threads[i]);
        all += count;
        if (count < fewest) {
            fewest = count;
            next = acceptor->threads[i];
        }
    }
    return all < acceptor->connections_max ? next : NULL;
}

/* False: not now, there is no room for it. */
static bool take_one(const struct acceptor *acceptor)
{
    struct api_thread *thread = next_thread(acceptor);
    if (!thread) {
        return false;
    }
    int fd = accept4(acceptor->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        return errno != EMFILE && errno != ENFILE && errno != ENOBUFS && errno != ENOMEM;
    }
    api_thread_add(thread, fd);
    return true;
}

static void *run(void *userdata)
{
    struct acceptor *acceptor = userdata;
    bool is_full = false;
    for (;;) {
        struct pollfd fds[] = {
            {.fd = acceptor->stop_fd, .events = POLLIN},
            {.fd = is_full ? -1 : acceptor->listen_fd, .events = POLLIN},
        };
        (void)poll(fds, 2, is_full ? FULL_MS : -1);
        if (fds[0].revents) {
            return NULL;
        }
        is_full = !take_one(acceptor);
    }
}

int acceptor_start(struct acceptor **ret_acceptor, int listen_fd, struct api_thread **threads,
                   size_t thread_count, unsigned connections_max)
{
    struct acceptor *acceptor = calloc(1, sizeof *acceptor);
    if (!acceptor) {
        (void)close(listen_fd);
        return LULL_ERR_MEMORY;
    }
    acceptor->threads = threads;
    acceptor->thread_count = thread_count;
    acceptor->connections_max = connections_max;
    acceptor->listen_fd = listen_fd;
    acceptor->stop_fd = eventfd(0, EFD_CLOEXEC);
    int flags = fcntl(listen_fd, F_GETFL);
    bool is_ready = acceptor->stop_fd >= 0 && flags >= 0 &&
                    fcntl(listen_fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
                    pthread_create(&acceptor->thread, NULL, run, acceptor) == 0;
    if (!is_ready) {
        if (acceptor->stop_fd >= 0) {
            (void)close(acceptor->stop_fd);
        }
        (void)close(listen_fd);
        free(acceptor);
        return LULL_ERR_RANGE;
    }
    *ret_acceptor = acceptor;
    return LULL_OK;
}

void acceptor_stop(struct acceptor *acceptor)
{
    if (!acceptor) {
        return;
    }
    (void)eventfd_write(acceptor->stop_fd, 1);
    (void)pthread_join(acceptor->thread, NULL);
    (void)close(acceptor->stop_fd);
    (void)close(acceptor->listen_fd);
    free(acceptor);
}
