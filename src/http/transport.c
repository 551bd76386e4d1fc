/* transport - see the header: what both ways of sending share. SPDX-License-Identifier: MIT */
#include "transport.h"

#include <stdlib.h>
#include <string.h>

#include "header_rules.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "request_list.h"
#include "transport_way.h"

struct transport {
    struct transport_config config;
    struct poller *poller;
    struct timers timers;
    struct transport_way *h2;
    struct transport_way *curl;
    bool has_proxy;
    bool is_step_due; /* something was asked for since the last */
    size_t count;
    struct request_list finished;
    struct transport_stats stats;
};

enum { STATE_IDLE, STATE_IN_H2, STATE_IN_CURL, STATE_FINISHED };

/* ---- its life ---- */

void transport_config_default(struct transport_config *config)
{
    *config = (struct transport_config){
        .requests_max = 10000,
        .connections_max_per_origin = 4,
        .connections_max = 256,
        .streams_max = 100,
        .origins_max = 1024,
        .idle_ping_ms = LULL_SECONDS(30),
        .ping_timeout_ms = LULL_SECONDS(5),
        .idle_close_ms = LULL_MINUTES(5),
    };
}

static bool is_span(int64_t ms)
{
    return ms > 0 && ms <= LULL_DAYS(365);
}

static bool is_config_good(const struct transport_config *config)
{
    return config->requests_max > 0 && config->connections_max_per_origin > 0 &&
           config->connections_max > 0 && config->streams_max > 0 && config->origins_max > 0 &&
           is_span(config->idle_ping_ms) && is_span(config->ping_timeout_ms) &&
           is_span(config->idle_close_ms);
}

static bool is_proxy_in_environment(void)
{
    static const char *const names[] = {"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = getenv(names[i]);
        if (value && *value) {
            return true;
        }
    }
    return false;
}

/* In place of the caller's. False: no memory, and NULL. */
static bool copy_text(const char **text)
{
    bool is_said = *text != NULL;
    *text = is_said ? strdup(*text) : NULL;
    return !is_said || *text;
}

int transport_new(struct transport **ret_transport, const struct transport_config *config)
{
    struct transport *transport = calloc(1, sizeof *transport);
    int error = LULL_ERR_MEMORY;
    if (!transport) {
        return error;
    }
    transport_config_default(&transport->config);
    if (config) {
        transport->config = *config;
    }
    bool has_ca_file = copy_text(&transport->config.ca_file);
    bool has_texts = copy_text(&transport->config.proxy) && has_ca_file;
    if (!has_texts) {
        transport_destroy(transport);
        return error;
    }
    const char *proxy = transport->config.proxy;
    transport->has_proxy = proxy ? *proxy != '\0' : is_proxy_in_environment();
    if (!is_config_good(&transport->config)) {
        error = LULL_ERR_RANGE;
    } else if (poller_new(&transport->poller) == LULL_OK) {
        transport->h2 = transport_h2_new(transport, &error);
        transport->curl = transport->h2 ? transport_curl_new(transport, &error) : NULL;
    }
    if (!transport->curl) {
        transport_destroy(transport);
        return error;
    }
    *ret_transport = transport;
    return LULL_OK;
}

void transport_destroy(struct transport *transport)
{
    if (!transport) {
        return;
    }
    if (transport->curl) {
        transport->curl->table->destroy(transport->curl);
    }
    if (transport->h2) {
        transport->h2->table->destroy(transport->h2);
    }
    timers_free(&transport->timers);
    poller_destroy(transport->poller);
    free((char *)transport->config.ca_file);
    free((char *)transport->config.proxy);
    free(transport);
}

/* ---- what the ways work with ---- */

const struct transport_config *transport_settings(const struct transport *transport)
{
    return &transport->config;
}

struct poller *transport_poller(struct transport *transport)
{
    return transport->poller;
}

struct timers *transport_timers(struct transport *transport)
{
    return &transport->timers;
}

struct transport_stats *transport_counters(struct transport *transport)
{
    return &transport->stats;
}

void transport_ask_step(struct transport *transport)
{
    transport->is_step_due = true;
}

void transport_finish(struct transport *transport, struct transport_request *request,
                      enum lull_transport failure, const char *detail)
{
    const struct response *response = &request->response;
    timers_clear(&transport->timers, &request->own.timer);
    timers_unreserve(&transport->timers);
    if (response->is_head_complete) {
        request->outcome = response_outcome(response);
        request->detail = NULL;
    } else {
        request->outcome =
            (struct lull_outcome){.kind = LULL_OUTCOME_TRANSPORT, .transport = failure};
        request->detail = detail;
    }
    request->own.state = STATE_FINISHED;
    request_list_append(&transport->finished, request);
}

void transport_hand_to_curl(struct transport *transport, struct transport_request *request,
                            int64_t now_ms)
{
    timers_clear(&transport->timers, &request->own.timer);
    request->own.state = STATE_IN_CURL;
    if (transport->curl->table->submit(transport->curl, request, now_ms) != LULL_OK) {
        transport_finish(transport, request, LULL_TRANSPORT_REFUSED, "there is no memory");
    }
}

/* ---- requests ---- */

void transport_request_init(struct transport_request *request, const char *url)
{
    struct response kept = request->response;
    *request = (struct transport_request){
        .url = url,
        .connect_timeout_ms = LULL_SECONDS(10),
        .first_byte_timeout_ms = LULL_SECONDS(30),
        .timeout_ms = LULL_SECONDS(60),
        .response_max = 16384,
        .is_public_only = true,
        .response = kept,
    };
}

void transport_request_clean_up(struct transport_request *request)
{
    response_free(&request->response);
}

static bool is_method_good(const char *method)
{
    size_t length = method ? strlen(method) : 0;
    for (size_t i = 0; i < length; i++) {
        if (method[i] < 'A' || method[i] > 'Z') {
            return false;
        }
    }
    return !method || (length > 0 && length < 32);
}

static bool is_request_good(const struct transport_request *request)
{
    size_t bytes = strlen(request->url);
    for (size_t i = 0; i < request->header_count; i++) {
        if (i == TRANSPORT_HEADERS_MAX || !header_is_name_good(&request->headers[i]) ||
            header_is_about_connection(&request->headers[i]) ||
            !header_is_value_good(request->headers[i].value, request->headers[i].value_length)) {
            return false;
        }
        bytes += request->headers[i].name_length + request->headers[i].value_length + 32;
    }
    return bytes <= TRANSPORT_HEAD_MAX && request->connect_timeout_ms > 0 &&
           request->first_byte_timeout_ms > 0 && request->timeout_ms > 0 &&
           is_method_good(request->method) && (request->body || request->body_length == 0);
}

int transport_submit(struct transport *transport, struct transport_request *request, int64_t now_ms)
{
    struct url url = {0};
    if (url_split(request->url, &url) != LULL_OK) {
        return LULL_ERR_SYNTAX;
    }
    if (!is_request_good(request)) {
        return LULL_ERR_RANGE;
    }
    if (transport->count >= transport->config.requests_max) {
        return LULL_ERR_FULL;
    }
    if (!timers_reserve(&transport->timers)) {
        return LULL_ERR_MEMORY;
    }
    response_clear(&request->response);
    memset(&request->own, 0, sizeof request->own);
    request->own.url = url;
    request->is_body_complete = false;
    request->detail = NULL;
    request->protocol = TRANSPORT_PROTOCOL_NONE;
    request->submitted_ms = now_ms;
    request->sent_ms = -1;
    request->answered_ms = -1;
    bool is_for_curl = !url.is_https || (transport->has_proxy && !request->is_public_only);
    struct transport_way *way = is_for_curl ? transport->curl : transport->h2;
    request->own.state = is_for_curl ? STATE_IN_CURL : STATE_IN_H2;
    int error = way->table->submit(way, request, now_ms);
    if (error != LULL_OK) {
        timers_unreserve(&transport->timers);
        request->own.state = STATE_IDLE;
        return error;
    }
    transport->count++;
    transport->is_step_due = true;
    transport->stats.requests++;
    return LULL_OK;
}

void transport_cancel(struct transport *transport, struct transport_request *request,
                      int64_t now_ms)
{
    transport->is_step_due = true; /* to tell the peer */
    if (request->own.state == STATE_IN_H2) {
        transport->h2->table->cancel(transport->h2, request, now_ms);
    } else if (request->own.state == STATE_IN_CURL) {
        transport->curl->table->cancel(transport->curl, request, now_ms);
    }
}

void transport_step(struct transport *transport, int64_t now_ms)
{
    transport->is_step_due = false;
    poller_dispatch(transport->poller, now_ms);
    timers_run(&transport->timers, now_ms);
    transport->h2->table->flush(transport->h2, now_ms);
    transport->curl->table->flush(transport->curl, now_ms);
}

static void take_back(struct transport *transport, struct transport_request *request)
{
    request_list_remove(&transport->finished, request);
    request->own.state = STATE_IDLE;
    transport->count--;
}

struct transport_request *transport_collect(struct transport *transport)
{
    struct transport_request *request = transport->finished.first;
    if (request) {
        take_back(transport, request);
    }
    return request;
}

void transport_withdraw(struct transport *transport, struct transport_request *request,
                        int64_t now_ms)
{
    transport_cancel(transport, request, now_ms);
    if (request->own.state == STATE_FINISHED) {
        take_back(transport, request);
    }
}

int transport_fd(const struct transport *transport)
{
    return poller_fd(transport->poller);
}

/* Due at once when something waits to be sent or collected, so that no loop sleeps over it. */
int64_t transport_wake_at_ms(const struct transport *transport)
{
    bool is_now = transport->finished.first || transport->is_step_due;
    return is_now ? INT64_MIN : timers_due_ms(&transport->timers);
}

size_t transport_count(const struct transport *transport)
{
    return transport->count;
}

struct transport_stats transport_stats(const struct transport *transport)
{
    return transport->stats;
}
