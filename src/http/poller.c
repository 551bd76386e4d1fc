/* poller - see the header. SPDX-License-Identifier: MIT */
#include "poller.h"

#include <stdlib.h>
#include <unistd.h>

#include "lull/error.h"

#define BATCH 64

struct poller {
    int fd;
    struct epoll_event batch[BATCH]; /* those being told of */
    int batch_count;
};

int poller_new(struct poller **ret_poller)
{
    struct poller *poller = calloc(1, sizeof *poller);
    if (!poller) {
        return LULL_ERR_MEMORY;
    }
    poller->fd = epoll_create1(EPOLL_CLOEXEC);
    if (poller->fd < 0) {
        free(poller);
        return LULL_ERR_MEMORY;
    }
    *ret_poller = poller;
    return LULL_OK;
}

void poller_destroy(struct poller *poller)
{
    if (poller) {
        (void)close(poller->fd);
        free(poller);
    }
}

int poller_fd(const struct poller *poller)
{
    return poller->fd;
}

bool poller_add(struct poller *poller, struct watch *watch)
{
    struct epoll_event event = {.events = watch->events, .data.ptr = watch};
    return epoll_ctl(poller->fd, EPOLL_CTL_ADD, watch->fd, &event) == 0;
}

void poller_change(struct poller *poller, struct watch *watch, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = watch};
    if (events != watch->events) {
        watch->events = events;
        (void)epoll_ctl(poller->fd, EPOLL_CTL_MOD, watch->fd, &event);
    }
}

void poller_remove(struct poller *poller, struct watch *watch)
{
    (void)epoll_ctl(poller->fd, EPOLL_CTL_DEL, watch->fd, NULL);
    for (int i = 0; i < poller->batch_count; i++) {
        if (poller->batch[i].data.ptr == watch) {
            poller->batch[i].data.ptr = NULL;
        }
    }
}

void poller_dispatch(struct poller *poller, int64_t now_ms)
{
    /* More than a batch is told of by the next call: the descriptor stays readable. */
    poller->batch_count = epoll_wait(poller->fd, poller->batch, BATCH, 0);
    for (int i = 0; i < poller->batch_count; i++) {
        struct watch *watch = poller->batch[i].data.ptr;
        if (watch) {
            watch->on_ready(watch, poller->batch[i].events, now_ms);
        }
    }
    poller->batch_count = 0;
}
