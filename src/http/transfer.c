/* transfer - see the header. SPDX-License-Identifier: MIT */
#include "transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call.h"
#include "client.h"
#include "lull/error.h"
#include "seldom.h"

/* How much of an error page is kept for a caller with a sink, should it turn out to be the end. */
#define KEPT_FOR_SINK_MAX 1048576

#define set(transfer, option, value) ((void)curl_easy_setopt((transfer)->easy, (option), (value)))

/* ---- what libcurl tells us ---- */

void transfer_ask_method(const struct transfer *transfer)
{
    struct call *call = transfer->call;
    const char *method = NULL;
    if (call->has_method || !transfer->guard.is_sent) {
        return;
    }
    (void)curl_easy_getinfo(transfer->easy, CURLINFO_EFFECTIVE_METHOD, &method);
    call->facts.method = method ? lull_method_from_string(method) : LULL_METHOD_OTHER;
    call->has_method = true;
}

static size_t on_header(char *line, size_t size, size_t count, void *userdata)
{
    struct transfer *transfer = userdata;
    struct response *response = &transfer->response;
    size_t length = size * count;
    bool was_complete = response->is_head_complete;
    transfer->guard.is_answered = true;
    if (!response_line(response, line, length)) {
        return 0;
    }
    if (!response->is_head_complete || was_complete) {
        return length;
    }
    if (!response_is_success(response)) {
        transfer_ask_method(transfer); /* before a redirect could change it */
    }
    return call_on_head(transfer->call, transfer) ? length : 0;
}

static size_t response_max(const struct lull_request *request)
{
    return request->sink.write ? KEPT_FOR_SINK_MAX : request->body_max;
}

static size_t on_body(char *data, size_t size, size_t count, void *userdata)
{
    struct transfer *transfer = userdata;
    const struct lull_request *request = &transfer->call->request;
    size_t length = size * count;
    transfer->response.received += (int64_t)length;
    if (transfer->call->winner != transfer) {
        return length; /* the other one has answered: this one is about to be stopped */
    }
    if (transfer->is_streaming) {
        transfer->call->is_sink_written = true;
        transfer->is_sink_refused = !request->sink.write(request->sink.userdata, data, length);
        return transfer->is_sink_refused ? 0 : length;
    }
    return response_keep(&transfer->response, data, length, response_max(request)) ? length : 0;
}

/* Just before the request is written. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the type is curl's */
static int on_send(void *userdata, char *remote_ip, char *local_ip, int remote_port, int local_port)
{
    (void)local_ip;
    (void)remote_port;
    (void)local_port;
    struct transfer *transfer = userdata;
    bool was_sent = transfer->guard.is_sent;
    if (!curl_guard_may_send(&transfer->guard, remote_ip)) {
        return CURL_PREREQFUNC_ABORT;
    }
    if (was_sent) { /* what it answered was a step on the way, not the answer */
        response_clear(&transfer->response);
    }
    return CURL_PREREQFUNC_OK;
}

/* The number behind a word of libcurl's debug text, or 0. */
static unsigned number_after(const char *text, const char *word)
{
    const char *at = strstr(text, word);
    return at ? (unsigned)strtoul(at + strlen(word), NULL, 10) : 0;
}

/* libcurl has no other way to say that an HTTP/2 peer did not process a stream. If its words
 * change, the outcome falls back to `reset` or `protocol`, which is the careful side. */
static int on_debug(CURL *easy, curl_infotype type, char *data, size_t length, void *userdata)
{
    struct transfer *transfer = userdata;
    char text[96];
    (void)easy;
    if (type != CURLINFO_TEXT) {
        return 0;
    }
    length = length < sizeof text ? length : sizeof text - 1;
    memcpy(text, data, length);
    text[length] = '\0';
    if (strncmp(text, "REFUSED_STREAM", 14) == 0) {
        transfer->is_stream_refused = true;
    } else if (strncmp(text, "Using Stream ID: ", 17) == 0) {
        transfer->stream_id = number_after(text, "ID: ");
    } else if (strstr(text, "GOAWAY") && strstr(text, "last_stream=")) {
        transfer->is_below_goaway = transfer->stream_id > number_after(text, "last_stream=");
    }
    return 0;
}

/* ---- the body of the request ---- */

static size_t on_read(char *buffer, size_t size, size_t count, void *userdata)
{
    struct transfer *transfer = userdata;
    const struct lull_body *body = &transfer->call->request.body;
    size_t room = size * count;
    int64_t length = 0;
    transfer->is_body_read = true;
    if (body->kind == LULL_BODY_CALLBACK) {
        length = body->read(body->userdata, buffer, room);
    } else {
        int64_t left = body->length >= 0 ? body->length - transfer->body_offset : INT64_MAX;
        size_t wanted = left < (int64_t)room ? (size_t)left : room;
        length =
            wanted > 0 ? pread(body->fd, buffer, wanted, body->offset + transfer->body_offset) : 0;
        transfer->body_offset += length > 0 ? length : 0;
    }
    return length < 0 || (size_t)length > room ? CURL_READFUNC_ABORT : (size_t)length;
}

static bool rewind_body(struct transfer *transfer)
{
    const struct lull_body *body = &transfer->call->request.body;
    transfer->body_offset = 0;
    if (body->kind == LULL_BODY_CALLBACK && transfer->is_body_read &&
        (!body->rewind || !body->rewind(body->userdata))) {
        return false;
    }
    return true;
}

/* For curl's own need: a redirect or a round of authentication in the middle. */
static int on_seek(void *userdata, curl_off_t offset, int origin)
{
    return offset == 0 && origin == SEEK_SET && rewind_body(userdata) ? CURL_SEEKFUNC_OK
                                                                      : CURL_SEEKFUNC_CANTSEEK;
}

static int64_t body_length(const struct lull_body *body)
{
    struct stat file;
    if (body->kind == LULL_BODY_FILE && body->length < 0 && fstat(body->fd, &file) == 0 &&
        S_ISREG(file.st_mode)) {
        return file.st_size > body->offset ? (int64_t)file.st_size - body->offset : 0;
    }
    return body->length;
}

SELDOM static void set_body(struct transfer *transfer, const struct lull_body *body)
{
    if (body->kind == LULL_BODY_MEMORY) {
        set(transfer, CURLOPT_POST, 1L);
        set(transfer, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->length);
        set(transfer, CURLOPT_POSTFIELDS, body->data ? body->data : "");
        return;
    }
    set(transfer, CURLOPT_UPLOAD, 1L);
    set(transfer, CURLOPT_INFILESIZE_LARGE, (curl_off_t)body_length(body));
    set(transfer, CURLOPT_READFUNCTION, on_read);
    set(transfer, CURLOPT_READDATA, transfer);
    set(transfer, CURLOPT_SEEKFUNCTION, on_seek);
    set(transfer, CURLOPT_SEEKDATA, transfer);
}

/* ---- the options ---- */

static void set_method(struct transfer *transfer, const struct lull_request *request)
{
    bool has_body = request->body.kind != LULL_BODY_NONE;
    const char *method = request->method ? request->method : has_body ? "POST" : "GET";
    if (strcmp(method, "HEAD") == 0) {
        set(transfer, CURLOPT_NOBODY, 1L);
    } else if (strcmp(method, "POST") == 0 && !has_body) {
        set(transfer, CURLOPT_POST, 1L);
        set(transfer, CURLOPT_POSTFIELDSIZE, 0L);
        set(transfer, CURLOPT_POSTFIELDS, "");
    } else if (strcmp(method, "GET") == 0 && !has_body) {
        set(transfer, CURLOPT_HTTPGET, 1L);
    }
    bool is_said_by_curl =
        strcmp(method, "HEAD") == 0 || (strcmp(method, "GET") == 0 && !has_body) ||
        (strcmp(method, "POST") == 0 && (!has_body || request->body.kind == LULL_BODY_MEMORY));
    if (!is_said_by_curl) {
        set(transfer, CURLOPT_CUSTOMREQUEST, method);
    }
}

static long to_seconds(int64_t ms)
{
    return ms > 0 ? (long)((ms + 999) / 1000) : 0;
}

/* A handle of ours, from the fields of the request. */
SELDOM static void set_request(struct transfer *transfer, const struct call *call)
{
    const struct lull_request *request = &call->request;
    curl_easy_reset(transfer->easy);
    set(transfer, CURLOPT_URL, request->url);
    set(transfer, CURLOPT_NOSIGNAL, 1L);
    set(transfer, CURLOPT_SHARE, client_share(call->client));
    set(transfer, CURLOPT_PROTOCOLS_STR, "http,https");
    set(transfer, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    set(transfer, CURLOPT_CONNECTTIMEOUT_MS, (long)request->connect_timeout_ms);
    if (client_ca_file(call->client)) {
        set(transfer, CURLOPT_CAINFO, client_ca_file(call->client));
    }
    if (request->idle_timeout_ms > 0) {
        set(transfer, CURLOPT_LOW_SPEED_LIMIT, 1L);
        set(transfer, CURLOPT_LOW_SPEED_TIME, to_seconds(request->idle_timeout_ms));
    }
    if (request->is_public_only) {
        set(transfer, CURLOPT_OPENSOCKETFUNCTION, curl_guard_open_socket);
        set(transfer, CURLOPT_OPENSOCKETDATA, &transfer->guard);
        set(transfer, CURLOPT_PROXY, ""); /* a proxy would go wherever it is told to */
    }
    set_method(transfer, request);
    bool is_gated = !lull_method_is_idempotent(call->facts.method) && !request->is_repeatable &&
                    !request->idempotency_key;
    if (is_gated) { /* only here does it matter whether a stream was refused or broke */
        set(transfer, CURLOPT_DEBUGFUNCTION, on_debug);
        set(transfer, CURLOPT_DEBUGDATA, transfer);
        set(transfer, CURLOPT_VERBOSE, 1L);
        /* On a connection that was used before, curl does not say it, and after a refusal the old
         * connection is the wrong place anyway. */
        set(transfer, CURLOPT_FRESH_CONNECT, call->facts.attempt > 1 ? 1L : 0L);
    }
    if (request->hooks.configure) {
        request->hooks.configure(request->hooks.userdata, transfer->easy);
    }
}

/* ---- the headers that we add ---- */

static bool add_line(struct transfer *transfer, const char *line)
{
    struct curl_slist *list = curl_slist_append(transfer->own_headers, line);
    transfer->own_headers = list ? list : transfer->own_headers;
    return list != NULL;
}

static bool add_header(struct transfer *transfer, const char *name, const char *value)
{
    char *line = NULL;
    if (asprintf(&line, "%s: %s", name, value) < 0) {
        return false;
    }
    bool is_added = add_line(transfer, line);
    free(line);
    return is_added;
}

static bool has_header(const struct curl_slist *headers, const char *name)
{
    size_t length = strlen(name);
    for (; headers; headers = headers->next) {
        if (strncasecmp(headers->data, name, length) == 0 &&
            (headers->data[length] == ':' || headers->data[length] == ';')) {
            return true;
        }
    }
    return false;
}

static bool add_trace(struct transfer *transfer, struct call *call)
{
    char text[LULL_TRACEPARENT_SIZE];
    struct lull_trace_context span = lull_trace_context_child(&call->trace, call_random(call));
    lull_trace_context_format(&span, text);
    call->result->attempts[transfer->attempt].span_id = span.span_id;
    const char *state = call->request.tracestate;
    return add_header(transfer, "traceparent", text) &&
           (!state || add_header(transfer, "tracestate", state));
}

/* All headers of this attempt, ours before the caller's. False: no memory. */
SELDOM static bool make_headers(struct transfer *transfer, struct call *call)
{
    const struct lull_request *request = &call->request;
    const char *attempt_header = client_attempt_header(call->client);
    bool is_good = true;
    if (request->idempotency_key) {
        is_good = add_header(transfer, "Idempotency-Key", request->idempotency_key);
    }
    if (call->has_trace) {
        is_good = is_good && add_trace(transfer, call);
    }
    if (call->facts.attempt > 1 && *attempt_header) {
        char number[16];
        (void)snprintf(number, sizeof number, "%" PRIu32, call->facts.attempt);
        is_good = is_good && add_header(transfer, attempt_header, number);
    }
    bool is_post = !request->easy && call->facts.method != LULL_METHOD_GET &&
                   call->facts.method != LULL_METHOD_HEAD;
    if (is_post && !has_header(request->headers, "Content-Type")) {
        is_good = is_good && add_line(transfer, "Content-Type:"); /* curl would say it's a form */
    }
    struct curl_slist *last = transfer->own_headers;
    while (last && last->next) {
        last = last->next;
    }
    if (last) {
        last->next = (struct curl_slist *)request->headers; /* unhooked in drop_headers */
    }
    return is_good;
}

static struct curl_slist *all_headers(const struct transfer *transfer)
{
    return transfer->own_headers ? transfer->own_headers
                                 : (struct curl_slist *)transfer->call->request.headers;
}

static bool set_headers(struct transfer *transfer, struct call *call)
{
    const struct lull_request *request = &call->request;
    bool is_ours = !request->easy || request->headers || request->idempotency_key ||
                   call->has_trace; /* else HTTPHEADER stays the caller's */
    if (!is_ours) {
        return true;
    }
    bool is_good = make_headers(transfer, call);
    set(transfer, CURLOPT_HTTPHEADER, all_headers(transfer));
    return is_good;
}

static void drop_headers(struct transfer *transfer)
{
    struct curl_slist **link = &transfer->own_headers;
    while (*link && *link != transfer->call->request.headers) {
        link = &(*link)->next;
    }
    *link = NULL;
    curl_slist_free_all(transfer->own_headers);
    transfer->own_headers = NULL;
}

/* ---- the life of a transfer ---- */

static bool choose_handle(struct transfer *transfer, bool is_hedge)
{
    CURL *given = transfer->call->request.easy;
    if (given) {
        transfer->easy = is_hedge ? curl_easy_duphandle(given) : given;
        return transfer->easy != NULL;
    }
    if (!transfer->pooled) {
        transfer->pooled = curl_easy_init();
    }
    transfer->easy = transfer->pooled;
    return transfer->easy != NULL;
}

SELDOM static bool prepare_message(struct transfer *transfer, struct call *call)
{
    if (!transfer->posting) {
        transfer->posting = calloc(1, sizeof *transfer->posting);
    }
    return transfer->posting && make_headers(transfer, call) &&
           posting_prepare(transfer->posting, &call->request, all_headers(transfer),
                           response_max(&call->request)) == LULL_OK;
}

bool transfer_prepare(struct transfer *transfer, struct call *call, bool is_hedge, bool is_message)
{
    transfer->call = call;
    transfer->is_hedge = is_hedge;
    transfer->guard =
        (struct curl_guard){.is_public_only = call->request.is_public_only && !call->request.easy};
    transfer->is_stream_refused = false;
    transfer->is_below_goaway = false;
    transfer->stream_id = 0;
    transfer->is_body_read = false;
    transfer->is_streaming = false;
    transfer->is_sink_refused = false;
    transfer->body_offset = 0;
    transfer->is_message = is_message;
    transfer->is_stopped = false;
    transfer->detail = NULL;
    response_clear(&transfer->response);
    if (is_message) {
        return prepare_message(transfer, call);
    }
    if (!choose_handle(transfer, is_hedge)) {
        return false;
    }
    if (!call->request.easy) {
        set_request(transfer, call);
    } else if (call->request.url) {
        set(transfer, CURLOPT_URL, call->request.url);
    }
    if (call->request.body.kind != LULL_BODY_NONE) {
        set_body(transfer, &call->request.body);
    }
    set(transfer, CURLOPT_HEADERFUNCTION, on_header);
    set(transfer, CURLOPT_HEADERDATA, transfer);
    set(transfer, CURLOPT_WRITEFUNCTION, on_body);
    set(transfer, CURLOPT_WRITEDATA, transfer);
    set(transfer, CURLOPT_PREREQFUNCTION, on_send);
    set(transfer, CURLOPT_PREREQDATA, transfer);
    set(transfer, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    if (transfer->index >= TRANSFERS_FOUND_BY_HANDLE) {
        /* A place in a table, never followed. NOLINTNEXTLINE(performance-no-int-to-ptr) */
        set(transfer, CURLOPT_PRIVATE, (void *)(transfer->index + 1));
    }
    return set_headers(transfer, call);
}

void transfer_release(struct transfer *transfer)
{
    CURL *given = transfer->call->request.easy;
    if (transfer->easy && transfer->easy == given) {
        set(transfer, CURLOPT_HEADERFUNCTION, NULL);
        set(transfer, CURLOPT_HEADERDATA, NULL);
        set(transfer, CURLOPT_WRITEFUNCTION, NULL);
        set(transfer, CURLOPT_WRITEDATA, stdout); /* as curl has it, NULL would not do */
        set(transfer, CURLOPT_PREREQFUNCTION, NULL);
        if (transfer->index >= TRANSFERS_FOUND_BY_HANDLE) {
            set(transfer, CURLOPT_PRIVATE, NULL);
        }
        if (transfer->call->request.body.kind >= LULL_BODY_FILE) {
            set(transfer, CURLOPT_READFUNCTION, NULL);
            set(transfer, CURLOPT_READDATA, NULL);
            set(transfer, CURLOPT_SEEKFUNCTION, NULL);
            set(transfer, CURLOPT_SEEKDATA, NULL);
        }
        if (transfer->own_headers) {
            set(transfer, CURLOPT_HTTPHEADER, (struct curl_slist *)transfer->call->request.headers);
        }
    } else if (transfer->easy && transfer->easy != transfer->pooled) {
        curl_easy_cleanup(transfer->easy);
    } else if (transfer->easy) {
        set(transfer, CURLOPT_HTTPHEADER, NULL); /* the list is about to go */
    }
    drop_headers(transfer);
    transfer->easy = NULL;
    transfer->call = NULL;
}

void transfer_free(struct transfer *transfer)
{
    response_free(&transfer->response);
    if (transfer->pooled) {
        curl_easy_cleanup(transfer->pooled);
    }
    posting_free(transfer->posting);
    free(transfer);
}

/* ---- what it came to ---- */

CURLcode transfer_take_message(struct transfer *transfer)
{
    struct transport_request *request = &transfer->posting->request;
    CURLcode code = posting_code(request);
    struct response swapped = transfer->response;
    transfer->response = request->response;
    request->response = swapped;
    transfer->guard.is_sent = request->sent_ms >= 0;
    transfer->detail = request->detail;
    return code;
}

bool transfer_is_body_complete(const struct transfer *transfer, CURLcode code)
{
    const struct response *response = &transfer->response;
    if (code == CURLE_OK) {
        return true;
    }
    struct lull_response head = {response->status, response->headers, response->header_count};
    return response->is_head_complete && !transfer->is_sink_refused &&
           (response->status == 204 || response->status == 304 ||
            lull_response_length(&head) == response->received);
}

static bool is_read_method(enum lull_method method)
{
    return method == LULL_METHOD_GET || method == LULL_METHOD_HEAD || method == LULL_METHOD_OPTIONS;
}

/* A status that has arrived stands (C12). Only where the body is what the caller came for, and can
 * be had again, is one that breaks off a failure of the attempt. */
static bool does_status_stand(const struct transfer *transfer, CURLcode code)
{
    const struct call *call = transfer->call;
    bool is_success = response_is_success(&transfer->response);
    const struct lull_sink *sink = &call->request.sink;
    bool is_lost_to_caller =
        call->is_sink_written && !(sink->can_restart && sink->can_restart(sink->userdata));
    return !is_success || !is_read_method(call->facts.method) || is_lost_to_caller ||
           transfer_is_body_complete(transfer, code);
}

struct lull_outcome transfer_outcome(const struct transfer *transfer, CURLcode code)
{
    const struct response *response = &transfer->response;
    struct lull_outcome outcome = {.kind = LULL_OUTCOME_TRANSPORT};
    if (transfer->is_sink_refused) {
        outcome.transport = LULL_TRANSPORT_CANCELLED;
    } else if (response->is_head_complete && does_status_stand(transfer, code)) {
        outcome = response_outcome(response);
    } else if (transfer->is_message && !transfer->is_stopped) {
        outcome.transport = response->is_head_complete
                                ? LULL_TRANSPORT_RESET /* of a body that was wanted */
                                : transfer->posting->request.outcome.transport;
    } else if (transfer->is_below_goaway) {
        outcome.transport = LULL_TRANSPORT_GOAWAY;
    } else if (transfer->guard.is_repeat_stopped && transfer->is_stream_refused) {
        outcome.transport = LULL_TRANSPORT_REFUSED_STREAM;
    } else {
        outcome.transport = curl_guard_failure(&transfer->guard, code);
    }
    return outcome;
}
