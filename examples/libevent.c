/*
 * libevent - many requests on a libevent loop; an interrupt (Ctrl-C) cancels what is under way.
 *
 *   libevent URL...
 *
 * curl says which sockets to watch and when its own timer is due; Lull says when it wants its next
 * step. Both answers become events, and the loop is the only place that waits:
 *
 *   a socket is ready, or curl's timer -> curl_multi_socket_action -> step
 *   Lull's timer (a retry, a timeout)  -> step
 *   lull_cancel_signal, any thread     -> wake hook -> event_active -> step
 *
 * SPDX-License-Identifier: MIT
 */
#include <event2/event.h>
#include <event2/thread.h>
#include <lull/error.h>
#include <lull/http.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

struct loop {
    struct event_base *base;
    CURLM *curl;
    struct lull_multi *multi;
    struct lull_cancel *cancel;
    struct event *curl_timer;
    struct event *step_timer; /* also what the wake hook activates */
    struct event *interrupt;
};

static size_t failures;

static void set_timer(struct event *timer, int64_t wait_ms)
{
    struct timeval wait = {.tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000};
    if (wait_ms < 0) {
        (void)evtimer_del(timer);
    } else if (evtimer_add(timer, &wait) != 0) {
        fprintf(stderr, "libevent: no timer\n");
        abort();
    }
}

/* After all that curl did. Never from one of curl's callbacks, nor from the wake hook. */
static void step(struct loop *loop)
{
    set_timer(loop->step_timer, lull_multi_step(loop->multi));
    if (lull_multi_count(loop->multi) == 0) {
        (void)event_base_loopbreak(loop->base);
    }
}

static void on_step_timer(evutil_socket_t fd, short what, void *userdata)
{
    (void)fd;
    (void)what;
    step(userdata);
}

static void on_curl_timer(evutil_socket_t fd, short what, void *userdata)
{
    struct loop *loop = userdata;
    int running = 0;
    (void)fd;
    (void)what;
    (void)curl_multi_socket_action(loop->curl, CURL_SOCKET_TIMEOUT, 0, &running);
    step(loop);
}

static void on_socket(evutil_socket_t fd, short what, void *userdata)
{
    struct loop *loop = userdata;
    int running = 0;
    int ready = (what & EV_READ ? CURL_CSELECT_IN : 0) | (what & EV_WRITE ? CURL_CSELECT_OUT : 0);
    (void)curl_multi_socket_action(loop->curl, fd, ready, &running);
    step(loop);
}

/* curl: watch this socket for that. The event is kept by curl, as the socket's own pointer. */
static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *userdata, void *socket_data)
{
    struct loop *loop = userdata;
    struct event *watcher = socket_data;
    (void)easy;
    if (watcher) {
        event_free(watcher);
        (void)curl_multi_assign(loop->curl, fd, NULL);
    }
    if (what == CURL_POLL_REMOVE) {
        return 0;
    }
    short events = (short)((what & CURL_POLL_IN ? EV_READ : 0) |
                           (what & CURL_POLL_OUT ? EV_WRITE : 0) | EV_PERSIST);
    watcher = event_new(loop->base, fd, events, on_socket, loop);
    if (!watcher || event_add(watcher, NULL) != 0 ||
        curl_multi_assign(loop->curl, fd, watcher) != CURLM_OK) {
        if (watcher) {
            event_free(watcher);
        }
        return -1;
    }
    return 0;
}

/* curl: call me in so many ms; -1: no more. */
static int watch_timer(CURLM *curl, long wait_ms, void *userdata)
{
    struct loop *loop = userdata;
    (void)curl;
    set_timer(loop->curl_timer, wait_ms);
    return 0;
}

/* Any thread can be here, since main called evthread_use_pthreads. */
static void wake(void *userdata)
{
    struct loop *loop = userdata;
    event_active(loop->step_timer, EV_TIMEOUT, 0);
}

/* libevent calls this from its loop, not from the signal handler: locks may be taken here. */
static void on_interrupt(evutil_socket_t signal_number, short what, void *userdata)
{
    struct loop *loop = userdata;
    (void)signal_number;
    (void)what;
    lull_cancel_signal(loop->cancel);
}

static void on_done(void *userdata, struct lull_result *result)
{
    const char *url = userdata;
    printf("lull %s: %s, %s, status %u, attempts %zu\n", url,
           lull_verdict_kind_to_string(result->verdict), lull_reason_to_string(result->reason),
           result->status, result->attempt_count);
    failures += result->verdict != LULL_VERDICT_DELIVERED || !result->is_body_complete;
    lull_result_free(result);
}

static bool add_all(struct loop *loop, char **urls)
{
    for (; *urls; urls++) {
        struct lull_request request;
        lull_request_init(&request, *urls);
        request.deadline_ms = 20000;
        request.cancel = loop->cancel;
        int error = lull_multi_add(loop->multi, &request, on_done, *urls);
        if (error != LULL_OK) {
            fprintf(stderr, "libevent: %s: %s\n", *urls, lull_error_to_string(error));
            return false;
        }
    }
    return true;
}

static bool begin(struct loop *loop, struct lull_client *client)
{
    struct lull_multi_config config = {.userdata = loop, .wake = wake};
    if (evthread_use_pthreads() != 0 || !(loop->base = event_base_new()) ||
        !(loop->curl_timer = evtimer_new(loop->base, on_curl_timer, loop)) ||
        !(loop->step_timer = evtimer_new(loop->base, on_step_timer, loop)) ||
        !(loop->interrupt = evsignal_new(loop->base, SIGINT, on_interrupt, loop)) ||
        evsignal_add(loop->interrupt, NULL) != 0 || !(loop->cancel = lull_cancel_new()) ||
        !(loop->curl = config.curl = curl_multi_init())) {
        return false;
    }
    return curl_multi_setopt(loop->curl, CURLMOPT_SOCKETFUNCTION, watch_socket) == CURLM_OK &&
           curl_multi_setopt(loop->curl, CURLMOPT_SOCKETDATA, loop) == CURLM_OK &&
           curl_multi_setopt(loop->curl, CURLMOPT_TIMERFUNCTION, watch_timer) == CURLM_OK &&
           curl_multi_setopt(loop->curl, CURLMOPT_TIMERDATA, loop) == CURLM_OK &&
           lull_multi_new(&loop->multi, client, &config) == LULL_OK;
}

static void free_event(struct event *event)
{
    if (event) {
        event_free(event);
    }
}

/* curl lets go of its sockets up to the end, so the loop outlives it. */
static void end(struct loop *loop)
{
    lull_multi_destroy(loop->multi);
    (void)curl_multi_cleanup(loop->curl);
    lull_cancel_destroy(loop->cancel);
    free_event(loop->curl_timer);
    free_event(loop->step_timer);
    free_event(loop->interrupt);
    if (loop->base) {
        event_base_free(loop->base);
    }
    libevent_global_shutdown();
}

int main(int argc, char **argv)
{
    struct lull_client *client = NULL;
    struct loop loop = {0};
    if (argc < 2) {
        fprintf(stderr, "usage: libevent URL...\n");
        return 2;
    }
    bool is_good = lull_client_new(&client, NULL) == LULL_OK && begin(&loop, client);
    if (!is_good) {
        fprintf(stderr, "libevent: could not begin\n");
    }
    if (is_good && (is_good = add_all(&loop, argv + 1))) {
        set_timer(loop.step_timer, 0);
        is_good = event_base_dispatch(loop.base) == 0;
    }
    end(&loop);
    lull_client_destroy(client);
    return is_good && failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
