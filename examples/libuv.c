/*
 * libuv - many requests on a libuv loop; an interrupt (Ctrl-C) cancels what is under way.
 *
 *   libuv URL...
 *
 * curl says which sockets to watch and when its own timer is due; Lull says when it wants its next
 * step. Both answers become handles, and the loop is the only place that waits:
 *
 *   a socket is ready, or curl's timer -> curl_multi_socket_action -> step
 *   Lull's timer (a retry, a timeout)  -> step
 *   lull_cancel_signal, any thread     -> wake hook -> uv_async_send -> step
 *
 * SPDX-License-Identifier: MIT
 */
#include <lull/error.h>
#include <lull/http.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

struct loop {
    uv_loop_t uv;
    uv_timer_t curl_timer;
    uv_timer_t step_timer;
    uv_async_t wake;
    uv_signal_t interrupt;
    CURLM *curl;
    struct lull_multi *multi;
    struct lull_cancel *cancel;
};

struct watcher {
    uv_poll_t poll;
    curl_socket_t fd;
    struct loop *loop;
};

static size_t failures;

static void on_step_timer(uv_timer_t *timer);

static void set_timer(uv_timer_t *timer, uv_timer_cb callback, int64_t wait_ms)
{
    if (wait_ms < 0) {
        (void)uv_timer_stop(timer);
        return;
    }
    /* Timers count from the loop's idea of now, which is older than what Lull or curl counted from:
     * without this, they would be early and spin until they are due. */
    uv_update_time(timer->loop);
    (void)uv_timer_start(timer, callback, (uint64_t)wait_ms, 0);
}

/* After all that curl did. Never from one of curl's callbacks, nor from the wake hook. */
static void step(struct loop *loop)
{
    set_timer(&loop->step_timer, on_step_timer, lull_multi_step(loop->multi));
    if (lull_multi_count(loop->multi) == 0) {
        uv_stop(&loop->uv);
    }
}

static void on_step_timer(uv_timer_t *timer)
{
    step(timer->data);
}

static void on_wake(uv_async_t *async)
{
    step(async->data);
}

static void on_curl_timer(uv_timer_t *timer)
{
    struct loop *loop = timer->data;
    int running = 0;
    (void)curl_multi_socket_action(loop->curl, CURL_SOCKET_TIMEOUT, 0, &running);
    step(loop);
}

static void on_socket(uv_poll_t *poll, int status, int events)
{
    struct watcher *watcher = poll->data;
    struct loop *loop = watcher->loop; /* the watcher may be gone after curl's turn */
    int running = 0;
    int ready = (status < 0 ? CURL_CSELECT_ERR : 0) | (events & UV_READABLE ? CURL_CSELECT_IN : 0) |
                (events & UV_WRITABLE ? CURL_CSELECT_OUT : 0);
    (void)curl_multi_socket_action(loop->curl, watcher->fd, ready, &running);
    step(loop);
}

static void on_watcher_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static struct watcher *watcher_new(struct loop *loop, curl_socket_t fd)
{
    struct watcher *watcher = calloc(1, sizeof *watcher);
    if (!watcher || uv_poll_init_socket(&loop->uv, &watcher->poll, fd) != 0) {
        free(watcher);
        return NULL;
    }
    watcher->poll.data = watcher;
    watcher->fd = fd;
    watcher->loop = loop;
    (void)curl_multi_assign(loop->curl, fd, watcher);
    return watcher;
}

/* curl: watch this socket for that. The watcher is kept by curl, as the socket's own pointer. */
static int watch_socket(CURL *easy, curl_socket_t fd, int what, void *userdata, void *socket_data)
{
    struct loop *loop = userdata;
    struct watcher *watcher = socket_data;
    (void)easy;
    if (what == CURL_POLL_REMOVE) {
        if (watcher) {
            (void)curl_multi_assign(loop->curl, fd, NULL);
            (void)uv_poll_stop(&watcher->poll); /* at once, for curl closes the socket next */
            uv_close((uv_handle_t *)&watcher->poll, on_watcher_closed);
        }
        return 0;
    }
    if (!watcher && !(watcher = watcher_new(loop, fd))) {
        return -1;
    }
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    return uv_poll_start(&watcher->poll, events, on_socket) == 0 ? 0 : -1;
}

/* curl: call me in so many ms; -1: no more. */
static int watch_timer(CURLM *curl, long wait_ms, void *userdata)
{
    struct loop *loop = userdata;
    (void)curl;
    set_timer(&loop->curl_timer, on_curl_timer, wait_ms);
    return 0;
}

/* uv_async_send is the one call of libuv that any thread may make. */
static void wake(void *userdata)
{
    struct loop *loop = userdata;
    (void)uv_async_send(&loop->wake);
}

/* libuv calls this from its loop, not from the signal handler: locks may be taken here. */
static void on_interrupt(uv_signal_t *handle, int signal_number)
{
    struct loop *loop = handle->data;
    (void)signal_number;
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
            fprintf(stderr, "libuv: %s: %s\n", *urls, lull_error_to_string(error));
            return false;
        }
    }
    return true;
}

static bool begin(struct loop *loop, struct lull_client *client)
{
    struct lull_multi_config config = {.userdata = loop, .wake = wake};
    loop->curl_timer.data = loop->step_timer.data = loop->wake.data = loop->interrupt.data = loop;
    if (uv_timer_init(&loop->uv, &loop->curl_timer) != 0 ||
        uv_timer_init(&loop->uv, &loop->step_timer) != 0 ||
        uv_async_init(&loop->uv, &loop->wake, on_wake) != 0 ||
        uv_signal_init(&loop->uv, &loop->interrupt) != 0 ||
        uv_signal_start(&loop->interrupt, on_interrupt, SIGINT) != 0 ||
        !(loop->cancel = lull_cancel_new()) || !(loop->curl = config.curl = curl_multi_init())) {
        return false;
    }
    return curl_multi_setopt(loop->curl, CURLMOPT_SOCKETFUNCTION, watch_socket) == CURLM_OK &&
           curl_multi_setopt(loop->curl, CURLMOPT_SOCKETDATA, loop) == CURLM_OK &&
           curl_multi_setopt(loop->curl, CURLMOPT_TIMERFUNCTION, watch_timer) == CURLM_OK &&
           curl_multi_setopt(loop->curl, CURLMOPT_TIMERDATA, loop) == CURLM_OK &&
           lull_multi_new(&loop->multi, client, &config) == LULL_OK;
}

static void close_handle(uv_handle_t *handle, void *userdata)
{
    (void)userdata;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

/* curl lets go of its sockets up to the end, so the loop outlives it. */
static void end(struct loop *loop)
{
    lull_multi_destroy(loop->multi);
    (void)curl_multi_cleanup(loop->curl);
    lull_cancel_destroy(loop->cancel);
    uv_walk(&loop->uv, close_handle, NULL);
    (void)uv_run(&loop->uv, UV_RUN_DEFAULT); /* calls what uv_close has promised */
    (void)uv_loop_close(&loop->uv);
}

int main(int argc, char **argv)
{
    struct lull_client *client = NULL;
    static struct loop loop;
    if (argc < 2) {
        fprintf(stderr, "usage: libuv URL...\n");
        return 2;
    }
    if (uv_loop_init(&loop.uv) != 0) {
        fprintf(stderr, "libuv: no loop\n");
        return 1;
    }
    bool is_good = lull_client_new(&client, NULL) == LULL_OK && begin(&loop, client);
    if (!is_good) {
        fprintf(stderr, "libuv: could not begin\n");
    }
    if (is_good && (is_good = add_all(&loop, argv + 1))) {
        step(&loop);
        (void)uv_run(&loop.uv, UV_RUN_DEFAULT); /* until uv_stop, with the loop still in use */
    }
    end(&loop);
    lull_client_destroy(client);
    return is_good && failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
