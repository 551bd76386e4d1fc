/* curl_loop - see the header. SPDX-License-Identifier: MIT */
#include "curl_loop.h"

#include <stdlib.h>

#include "lull/duration.h"

struct curl_socket {
    struct watch watch;
    struct curl_loop *loop;
};

static void collect(struct curl_loop *loop)
{
    CURLMsg *message = NULL;
    int left = 0;
    while ((message = curl_multi_info_read(loop->multi, &left))) {
        if (message->msg == CURLMSG_DONE) {
            loop->on_done(message->easy_handle, message->data.result);
        }
    }
}

static void act(struct curl_loop *loop, curl_socket_t fd, int events, int64_t now_ms)
{
    int running = 0;
    loop->now_ms = now_ms;
    (void)curl_multi_socket_action(loop->multi, fd, events, &running);
    collect(loop);
}

/* An error is for curl to find by reading, since a status may stand before it (C12). */
static void on_ready(struct watch *watch, uint32_t events, int64_t now_ms)
{
    struct curl_socket *socket = owner_of(watch, struct curl_socket, watch);
    int what = 0;
    if (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) {
        what |= CURL_CSELECT_IN;
    }
    if (events & EPOLLOUT) {
        what |= CURL_CSELECT_OUT;
    }
    if (events & (EPOLLERR | EPOLLHUP)) {
        what |= CURL_CSELECT_ERR;
    }
    act(socket->loop, watch->fd, what, now_ms);
}

static void add_socket(struct curl_loop *loop, curl_socket_t fd, uint32_t events)
{
    struct curl_socket *socket = calloc(1, sizeof *socket);
    if (!socket) {
        return;
    }
    *socket = (struct curl_socket){.watch = {.fd = fd, .events = events, .on_ready = on_ready},
                                   .loop = loop};
    if (!poller_add(loop->poller, &socket->watch)) {
        free(socket);
        return;
    }
    (void)curl_multi_assign(loop->multi, fd, socket);
}

/* One that cannot be watched ends by its request's deadline: the -1 that curl offers for it would
 * end all the others. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *userdata, void *place)
{
    struct curl_loop *loop = userdata;
    struct curl_socket *socket = place;
    uint32_t events = (what & CURL_POLL_IN ? EPOLLIN : 0U) | (what & CURL_POLL_OUT ? EPOLLOUT : 0U);
    (void)easy;
    if (what == CURL_POLL_REMOVE && socket) {
        poller_remove(loop->poller, &socket->watch);
        (void)curl_multi_assign(loop->multi, fd, NULL);
        free(socket);
    } else if (what != CURL_POLL_REMOVE && socket) {
        poller_change(loop->poller, &socket->watch, events);
    } else if (what != CURL_POLL_REMOVE) {
        add_socket(loop, fd, events);
    }
    return 0;
}

static int on_curl_timer(CURLM *multi, long timeout_ms, void *userdata)
{
    struct curl_loop *loop = userdata;
    (void)multi;
    timers_set(loop->timers, &loop->timer, timeout_ms < 0 ? LULL_NEVER : loop->now_ms + timeout_ms);
    return 0;
}

static void on_curl_due(struct timer *timer, int64_t now_ms)
{
    (void)now_ms;
    owner_of(timer, struct curl_loop, timer)->is_due = true;
}

bool curl_loop_add(struct curl_loop *loop, CURL *easy)
{
    bool is_added = curl_multi_add_handle(loop->multi, easy) == CURLM_OK;
    loop->is_due = loop->is_due || is_added;
    return is_added;
}

void curl_loop_run(struct curl_loop *loop, int64_t now_ms)
{
    loop->now_ms = now_ms;
    if (loop->is_due) {
        loop->is_due = false;
        act(loop, CURL_SOCKET_TIMEOUT, 0, now_ms);
    }
}

bool curl_loop_init(struct curl_loop *loop, struct poller *poller, struct timers *timers,
                    long connections_max, void (*on_done)(CURL *easy, CURLcode code))
{
    *loop = (struct curl_loop){.poller = poller, .timers = timers, .on_done = on_done};
    loop->timer.on_due = on_curl_due;
    loop->multi = curl_multi_init();
    CURLM *multi = loop->multi;
    if (!multi || !timers_reserve(timers)) {
        (void)curl_multi_cleanup(multi);
        return false;
    }
    (void)curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, loop);
    (void)curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
    (void)curl_multi_setopt(multi, CURLMOPT_TIMERDATA, loop);
    (void)curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING);
    (void)curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, connections_max);
    (void)curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections_max);
    return true;
}

void curl_loop_clean_up(struct curl_loop *loop)
{
    (void)curl_multi_cleanup(loop->multi);
    timers_clear(loop->timers, &loop->timer);
    timers_unreserve(loop->timers);
}
