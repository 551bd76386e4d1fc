/*
 * transport_curl - HTTP/1.1, and all that goes by a proxy, on a CURLM.
 *
 * libcurl is driven by its sockets (watches of the transport's poller) and by its one timer, which
 * only makes it due: it moves in on_ready and in flush, nowhere else. Its callbacks take notes;
 * what has ended is collected after it has returned.
 *
 * A request waits here until its origin has a connection free for it: libcurl's own queue is one
 * for all origins, and one that does not answer would stop the others.
 *
 * The time limits are the transport's own, so that they hold for that wait as well, and on the
 * caller's clock:
 *
 *   submitted --connect_timeout--> sent --first_byte_timeout--> answered ----> done
 *       `-------------------------------- timeout -----------------------------'
 *
 * SPDX-License-Identifier: MIT
 */
#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "curl_guard.h"
#include "curl_loop.h"
#include "curl_request.h"
#include "instant.h"
#include "lanes.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "transport_way.h"

/* An easy handle, kept from one request to the next. There are at most connections_max. */
struct handle {
    struct handle *next;
    CURL *easy;
};

struct curl_way {
    struct transport_way way;
    struct curl_loop loop;
    struct lanes lanes;
    struct exchange *exchanges; /* waiting or running */
    struct handle *idle;
};

/* A request, and the handle that it runs on. */
struct exchange {
    struct exchange *next;
    struct exchange *previous;
    struct curl_way *way;
    struct transport_request *request;
    struct lane_item item;
    struct handle *handle; /* NULL: it waits */
    struct curl_slist *headers;
    struct curl_guard guard;
};

#define set(exchange, option, value)                                                               \
    ((void)curl_easy_setopt((exchange)->handle->easy, (option), (value)))

/* ---- time limits ---- */

static void set_deadline(struct exchange *exchange)
{
    struct transport_request *request = exchange->request;
    int64_t end_ms = instant_after(request->submitted_ms, request->timeout_ms);
    int64_t due_ms = end_ms;
    if (!exchange->guard.is_sent) {
        due_ms = instant_after(request->submitted_ms, request->connect_timeout_ms);
    } else if (!request->response.is_head_complete) {
        due_ms = instant_after(request->sent_ms, request->first_byte_timeout_ms);
    }
    timers_set(transport_timers(exchange->way->way.transport), &request->own.timer,
               instant_earlier(due_ms, end_ms));
}

/* ---- what libcurl tells us of a request ---- */

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is curl's */
static int on_send(void *userdata, char *remote_ip, char *local_ip, int remote_port, int local_port)
{
    (void)local_ip;
    (void)remote_port;
    (void)local_port;
    struct exchange *exchange = userdata;
    if (!curl_guard_may_send(&exchange->guard, remote_ip)) {
        return CURL_PREREQFUNC_ABORT;
    }
    exchange->request->protocol = TRANSPORT_PROTOCOL_HTTP_1;
    exchange->request->sent_ms = exchange->way->loop.now_ms;
    set_deadline(exchange);
    return CURL_PREREQFUNC_OK;
}

static size_t on_header(char *text, size_t size, size_t count, void *userdata)
{
    struct exchange *exchange = userdata;
    struct transport_request *request = exchange->request;
    size_t length = size * count;
    exchange->guard.is_answered = true;
    if (request->response.is_head_complete) { /* a trailer, even one that looks like a head */
        return length;
    }
    if (!response_line(&request->response, text, length)) {
        return 0;
    }
    if (request->response.is_head_complete) {
        request->answered_ms = exchange->way->loop.now_ms;
        set_deadline(exchange);
    }
    return length;
}

/* What is more than wanted is not waited for. */
static size_t on_body(char *data, size_t size, size_t count, void *userdata)
{
    struct exchange *exchange = userdata;
    struct transport_request *request = exchange->request;
    struct response *response = &request->response;
    size_t length = size * count;
    response->received += (int64_t)length;
    if (!response_keep(response, data, length, request->response_max)) {
        response->is_body_cut = true;
    }
    return response->is_body_cut ? 0 : length;
}

static long to_long(int64_t number)
{
    return (long)(number < INT32_MAX ? number : INT32_MAX);
}

/* False: no memory. */
static bool set_options(struct exchange *exchange)
{
    const struct transport_request *request = exchange->request;
    const struct transport_config *config = transport_settings(exchange->way->way.transport);
    if (request->is_public_only) {
        set(exchange, CURLOPT_OPENSOCKETFUNCTION, curl_guard_open_socket);
        set(exchange, CURLOPT_OPENSOCKETDATA, &exchange->guard);
    }
    set(exchange, CURLOPT_PREREQFUNCTION, on_send);
    set(exchange, CURLOPT_PREREQDATA, exchange);
    set(exchange, CURLOPT_HEADERFUNCTION, on_header);
    set(exchange, CURLOPT_HEADERDATA, exchange);
    set(exchange, CURLOPT_WRITEFUNCTION, on_body);
    set(exchange, CURLOPT_WRITEDATA, exchange);
    set(exchange, CURLOPT_PRIVATE, exchange);
    /* Ours comes first, or is the same. Of this one, curl gives each address a share. */
    set(exchange, CURLOPT_CONNECTTIMEOUT_MS, to_long(request->connect_timeout_ms));
    set(exchange, CURLOPT_MAXAGE_CONN, to_long((config->idle_close_ms + 999) / 1000));
    return curl_request_set(exchange->handle->easy, request, config, &exchange->headers);
}

/* ---- the handles ---- */

static struct handle *take_handle(struct curl_way *way)
{
    struct handle *handle = way->idle;
    if (handle) {
        way->idle = handle->next;
        return handle;
    }
    handle = calloc(1, sizeof *handle);
    CURL *easy = handle ? curl_easy_init() : NULL;
    if (!easy) {
        free(handle);
        return NULL;
    }
    handle->easy = easy;
    return handle;
}

/* Nothing of the request is left in its handle. */
static void return_handle(struct exchange *exchange)
{
    struct handle *handle = exchange->handle;
    if (handle) {
        (void)curl_multi_remove_handle(exchange->way->loop.multi, handle->easy);
        curl_easy_reset(handle->easy);
        handle->next = exchange->way->idle;
        exchange->way->idle = handle;
    }
    curl_slist_free_all(exchange->headers);
}

/* ---- waiting and running ---- */

static struct exchange *make_exchange(struct curl_way *way, struct transport_request *request)
{
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (!exchange || !lanes_add(&way->lanes, &exchange->item, &request->own.url)) {
        free(exchange);
        return NULL;
    }
    exchange->way = way;
    exchange->request = request;
    exchange->guard.is_public_only = request->is_public_only;
    exchange->next = way->exchanges;
    if (exchange->next) {
        exchange->next->previous = exchange;
    }
    way->exchanges = exchange;
    return exchange;
}

/* What may go, goes with every flush. */
static void ask_to_start(struct curl_way *way)
{
    if (lanes_has_next(&way->lanes)) {
        transport_ask_step(way->way.transport);
    }
}

static void drop_exchange(struct exchange *exchange)
{
    struct curl_way *way = exchange->way;
    return_handle(exchange);
    lanes_remove(&way->lanes, &exchange->item);
    if (exchange->next) {
        exchange->next->previous = exchange->previous;
    }
    *(exchange->previous ? &exchange->previous->next : &way->exchanges) = exchange->next;
    free(exchange);
    ask_to_start(way);
}

/* ---- the end of a request ---- */

static void end_exchange(struct exchange *exchange, enum lull_transport failure, const char *detail)
{
    struct transport *transport = exchange->way->way.transport;
    struct transport_request *request = exchange->request;
    request->own.place = NULL;
    drop_exchange(exchange);
    transport_finish(transport, request, failure, detail);
}

static const char *failure_detail(const struct curl_guard *guard, enum lull_transport failure,
                                  CURLcode code)
{
    if (failure == LULL_TRANSPORT_FORBIDDEN) {
        return "the address is not a public one";
    }
    if (guard->is_repeat_stopped) {
        return "the connection broke, and the request was not sent again";
    }
    return code == CURLE_WRITE_ERROR ? "there is no memory" : curl_easy_strerror(code);
}

static void end_by_curl(struct exchange *exchange, CURLcode code)
{
    const struct curl_guard *guard = &exchange->guard;
    if (code == CURLE_OK && !exchange->request->response.is_head_complete) {
        code = CURLE_GOT_NOTHING; /* closed in the middle of the head, or after a 1xx */
    }
    enum lull_transport failure = curl_guard_failure(guard, code);
    const char *detail = failure_detail(guard, failure, code);
    long tunnel_status = 0;
    (void)curl_easy_getinfo(exchange->handle->easy, CURLINFO_HTTP_CONNECTCODE, &tunnel_status);
    if (code != CURLE_OK && !guard->is_sent && tunnel_status >= 300) {
        failure = LULL_TRANSPORT_REFUSED;
        detail = "the proxy would not connect";
    }
    exchange->request->is_body_complete = code == CURLE_OK;
    end_exchange(exchange, failure, detail);
}

static void on_deadline(struct timer *timer, int64_t now_ms)
{
    struct transport_request *request = owner_of(timer, struct transport_request, own.timer);
    struct exchange *exchange = request->own.place;
    bool is_sent = exchange->guard.is_sent;
    exchange->way->loop.now_ms = now_ms;
    end_exchange(exchange, is_sent ? LULL_TRANSPORT_TIMEOUT : LULL_TRANSPORT_CONNECT_TIMEOUT,
                 is_sent ? "no answer in time" : "no connection in time");
}

static void on_done(CURL *easy, CURLcode code)
{
    char *exchange = NULL;
    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &exchange);
    end_by_curl((struct exchange *)(void *)exchange, code);
}

/* ---- the table ---- */

static int curl_submit(struct transport_way *base, struct transport_request *request,
                       int64_t now_ms)
{
    struct curl_way *way = (struct curl_way *)base;
    struct exchange *exchange = make_exchange(way, request);
    if (!exchange) {
        return LULL_ERR_MEMORY;
    }
    way->loop.now_ms = now_ms;
    request->own.place = exchange;
    request->own.timer.on_due = on_deadline;
    set_deadline(exchange);
    ask_to_start(way);
    return LULL_OK;
}

static void curl_cancel(struct transport_way *base, struct transport_request *request,
                        int64_t now_ms)
{
    ((struct curl_way *)base)->loop.now_ms = now_ms;
    end_exchange(request->own.place, LULL_TRANSPORT_CANCELLED, "cancelled");
}

/* Gives curl what may go. */
static void start_next(struct curl_way *way)
{
    struct lane_item *item = NULL;
    while ((item = lanes_next(&way->lanes))) {
        struct exchange *exchange = owner_of(item, struct exchange, item);
        exchange->handle = take_handle(way);
        if (!exchange->handle || !set_options(exchange) ||
            !curl_loop_add(&way->loop, exchange->handle->easy)) {
            end_exchange(exchange, LULL_TRANSPORT_CANCELLED, "there is no memory");
        }
    }
}

static void curl_flush(struct transport_way *base, int64_t now_ms)
{
    struct curl_way *way = (struct curl_way *)base;
    way->loop.now_ms = now_ms;
    start_next(way);
    curl_loop_run(&way->loop, now_ms);
}

static void curl_destroy(struct transport_way *base)
{
    struct curl_way *way = (struct curl_way *)base;
    struct timers *timers = transport_timers(base->transport);
    struct exchange *next = NULL;
    for (struct exchange *exchange = way->exchanges; exchange; exchange = next) {
        next = exchange->next;
        timers_clear(timers, &exchange->request->own.timer);
        timers_unreserve(timers);
        return_handle(exchange);
        free(exchange);
    }
    struct handle *next_handle = NULL;
    for (struct handle *handle = way->idle; handle; handle = next_handle) {
        next_handle = handle->next;
        curl_easy_cleanup(handle->easy);
        free(handle);
    }
    lanes_free(&way->lanes);
    curl_loop_clean_up(&way->loop);
    free(way);
    curl_global_cleanup();
}

static const struct transport_table curl_table = {
    .submit = curl_submit,
    .cancel = curl_cancel,
    .flush = curl_flush,
    .destroy = curl_destroy,
};

struct transport_way *transport_curl_new(struct transport *transport, int *ret_error)
{
    const struct transport_config *config = transport_settings(transport);
    *ret_error = LULL_ERR_MEMORY;
    if (config->ca_file && access(config->ca_file, R_OK) != 0) {
        *ret_error = LULL_ERR_RANGE;
        return NULL;
    }
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return NULL;
    }
    struct curl_way *way = calloc(1, sizeof *way);
    struct timers *timers = transport_timers(transport);
    if (!way || !curl_loop_init(&way->loop, transport_poller(transport), timers,
                                to_long(config->connections_max), on_done)) {
        free(way);
        curl_global_cleanup();
        return NULL;
    }
    way->way = (struct transport_way){.table = &curl_table, .transport = transport};
    uint32_t per_origin = config->http_1_connections_max_per_origin;
    lanes_init(&way->lanes, per_origin > 0 ? per_origin : config->connections_max_per_origin,
               config->connections_max);
    return &way->way;
}
