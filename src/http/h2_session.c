/* h2_session - see the header. SPDX-License-Identifier: MIT */
#include "h2_session.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>
#include <string.h>

#include "h2_fields.h"
#include "lull/error.h"
#include "request_list.h"

/* One response may have this many bytes of headers, 1xx and trailers included. What is over the
 * limits of `response` is only dropped; past this one the stream is stopped. */
#define HEADER_BYTES_STOP (1U << 20)
#define STREAM_ID_MAX INT32_MAX
#define NOT_QUEUED UINT64_MAX

struct h2_session {
    nghttp2_session *engine;
    struct h2_session_owner owner;
    struct h2_session_state state;
    struct request_list requests;      /* under way */
    struct transport_request *heading; /* the one whose head arrives just now */
    struct transport_request *recent;  /* the one that was last asked for; the same comes again */
    int32_t reset_id;                  /* the last stream that the peer has reset */
    uint64_t queued;                   /* bytes ever drained */
    uint64_t written;
    int64_t now_ms;       /* of the call that we are in */
    const uint8_t *chunk; /* of the engine, what did not fit the last buffer */
    size_t chunk_length;
    uint8_t *buffer; /* of the drain under way */
    size_t buffer_length;
    size_t buffer_size;
};

/* ---- requests ---- */

/* From now on nothing that happens to its stream reaches it. */
static void detach(struct h2_session *session, struct transport_request *request)
{
    (void)nghttp2_session_set_stream_user_data(session->engine, request->own.stream_id, NULL);
    if (session->heading == request) {
        session->heading = NULL;
    }
    if (session->recent == request) {
        session->recent = NULL;
    }
    request_list_remove(&session->requests, request);
    session->state.requests--;
}

static bool is_queued(const struct transport_request *request)
{
    return request->own.first_byte != NOT_QUEUED;
}

static bool is_written(const struct h2_session *session, const struct transport_request *request)
{
    return is_queued(request) && request->own.first_byte < session->written;
}

static void end(struct h2_session *session, struct transport_request *request, enum h2_end how,
                enum lull_transport failure, const char *detail)
{
    detach(session, request);
    if (request->response.is_head_complete) {
        how = H2_ANSWERED;
    }
    session->owner.on_end(session->owner.userdata, request, how, failure, detail);
}

static struct transport_request *find(struct h2_session *session, int32_t stream_id)
{
    struct transport_request *request = session->recent;
    if (!request || request->own.stream_id != stream_id) {
        request = nghttp2_session_get_stream_user_data(session->engine, stream_id);
        session->recent = request;
    }
    return request;
}

/* All that we wanted is there, or more than that: the peer need not go on, nor need we. */
static void stop(struct h2_session *session, struct transport_request *request, uint32_t code)
{
    (void)nghttp2_submit_rst_stream(session->engine, NGHTTP2_FLAG_NONE, request->own.stream_id,
                                    code);
}

/* ---- what the engine tells: the response ---- */

static int on_begin_headers(nghttp2_session *engine, const nghttp2_frame *frame, void *userdata)
{
    struct h2_session *session = userdata;
    (void)engine;
    session->heading =
        frame->hd.type == NGHTTP2_HEADERS ? find(session, frame->hd.stream_id) : NULL;
    return 0;
}

static unsigned read_status(const uint8_t *value, size_t length)
{
    unsigned status = 0;
    for (size_t i = 0; i < length; i++) {
        status = status * 10 + (unsigned)(value[i] - '0');
    }
    return length == 3 && status >= 100 && status <= 999 ? status : 0; /* the engine takes 099 */
}

/* From now on the status stands. */
static void complete_head(struct h2_session *session, struct transport_request *request)
{
    response_end_head(&request->response);
    request->answered_ms = session->now_ms;
}

static int on_header(nghttp2_session *engine, const nghttp2_frame *frame, const uint8_t *name,
                     size_t name_length, const uint8_t *value, size_t value_length, uint8_t flags,
                     void *userdata)
{
    struct h2_session *session = userdata;
    struct transport_request *request = session->heading;
    (void)engine;
    (void)frame;
    (void)flags;
    if (!request) {
        return 0;
    }
    struct response *response = &request->response;
    request->own.header_bytes += name_length + value_length + 32;
    if (request->own.header_bytes > HEADER_BYTES_STOP) {
        if (response->status >= 200 && !response->is_head_complete) {
            complete_head(session, request); /* cut short, but the status has arrived */
        }
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE; /* the stream ends; the connection goes on */
    }
    if (response->is_head_complete) { /* a trailer */
        return 0;
    }
    if (name_length > 0 && name[0] == ':') {
        response->status = read_status(value, value_length);
        if (response->status == 0) {
            stop(session, request, NGHTTP2_PROTOCOL_ERROR); /* so no body of it is heard */
        }
        return 0;
    }
    return response_add(response, (const char *)name, name_length, (const char *)value,
                        value_length)
               ? 0
               : NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static void on_head(struct h2_session *session, struct transport_request *request)
{
    struct response *response = &request->response;
    if (response->is_head_complete) {
        return;
    }
    if (response->status < 200) { /* 100 Continue, 103 Early Hints */
        response_clear(response);
        return;
    }
    complete_head(session, request);
}

/* All of the head is there, but it says of the body what is not so: the status stands. */
static int on_invalid_frame(nghttp2_session *engine, const nghttp2_frame *frame, int error,
                            void *userdata)
{
    struct h2_session *session = userdata;
    struct transport_request *request = session->heading;
    (void)engine;
    if (frame->hd.type == NGHTTP2_HEADERS && error == NGHTTP2_ERR_HTTP_MESSAGING && request &&
        !request->response.is_head_complete && request->response.status >= 200) {
        complete_head(session, request);
    }
    return 0;
}

static int on_data(nghttp2_session *engine, uint8_t flags, int32_t stream_id, const uint8_t *data,
                   size_t length, void *userdata)
{
    struct h2_session *session = userdata;
    struct transport_request *request = find(session, stream_id);
    (void)engine;
    (void)flags;
    if (!request) {
        return 0;
    }
    struct response *response = &request->response;
    response->received += (int64_t)length;
    if (!response_keep(response, (const char *)data, length, request->response_max) ||
        response->is_body_cut) {
        stop(session, request, NGHTTP2_CANCEL);
        end(session, request, H2_ANSWERED, LULL_TRANSPORT_NONE, NULL);
    }
    return 0;
}

/* The whole response is there. It may be early: what we have not yet said is not wanted. */
static void on_complete(struct h2_session *session, struct transport_request *request)
{
    if (!request->response.is_head_complete) {
        return; /* nothing that HTTP knows: the stream's end will say so */
    }
    request->is_body_complete = true;
    if (nghttp2_session_get_stream_local_close(session->engine, request->own.stream_id) != 1) {
        stop(session, request, NGHTTP2_NO_ERROR);
    }
    end(session, request, H2_ANSWERED, LULL_TRANSPORT_NONE, NULL);
}

/* ---- what the engine tells: the connection ---- */

static void on_goaway(struct h2_session *session, const nghttp2_goaway *goaway)
{
    struct h2_session_state *state = &session->state;
    state->is_draining = true;
    state->is_goaway_clean = goaway->error_code == NGHTTP2_NO_ERROR;
    state->is_calm_asked |= goaway->error_code == NGHTTP2_ENHANCE_YOUR_CALM;
    state->is_http_1_asked |= goaway->error_code == NGHTTP2_HTTP_1_1_REQUIRED;
    if ((uint32_t)goaway->last_stream_id < state->goaway_last_id) {
        state->goaway_last_id = (uint32_t)goaway->last_stream_id;
    }
}

static int on_frame(nghttp2_session *engine, const nghttp2_frame *frame, void *userdata)
{
    struct h2_session *session = userdata;
    struct transport_request *request = NULL;
    (void)engine;
    switch (frame->hd.type) {
    case NGHTTP2_HEADERS:
        request = session->heading;
        session->heading = NULL;
        if (request) {
            on_head(session, request);
        }
        break;
    case NGHTTP2_DATA:
        request =
            frame->hd.flags & NGHTTP2_FLAG_END_STREAM ? find(session, frame->hd.stream_id) : NULL;
        break;
    case NGHTTP2_SETTINGS:
        session->state.is_ready |= (frame->hd.flags & NGHTTP2_FLAG_ACK) == 0;
        break;
    case NGHTTP2_GOAWAY:
        on_goaway(session, &frame->goaway);
        break;
    case NGHTTP2_RST_STREAM: /* comes just before the stream's end */
        session->reset_id = frame->hd.stream_id;
        break;
    default:
        break;
    }
    if (request && frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
        on_complete(session, request);
    }
    return 0;
}

/* Why a stream without an answer ended. The engine gives REFUSED_STREAM to those that a GOAWAY has
 * left out, too. */
static int on_stream_close(nghttp2_session *engine, int32_t stream_id, uint32_t code,
                           void *userdata)
{
    struct h2_session *session = userdata;
    struct transport_request *request = find(session, stream_id);
    (void)engine;
    session->state.is_calm_asked |= code == NGHTTP2_ENHANCE_YOUR_CALM;
    session->state.is_http_1_asked |= code == NGHTTP2_HTTP_1_1_REQUIRED;
    if (!request) {
        return 0;
    }
    const char *detail = nghttp2_http2_strerror(code);
    if (!is_queued(request)) {
        end(session, request, H2_NOT_SENT, LULL_TRANSPORT_REFUSED, detail);
    } else if ((uint32_t)stream_id > session->state.goaway_last_id) {
        end(session, request, H2_GOAWAY, LULL_TRANSPORT_GOAWAY, "left out by the peer's GOAWAY");
    } else if (code == NGHTTP2_REFUSED_STREAM || code == NGHTTP2_HTTP_1_1_REQUIRED) {
        end(session, request, H2_FAILED, LULL_TRANSPORT_REFUSED_STREAM, detail);
    } else if (stream_id != session->reset_id &&
               (code == NGHTTP2_NO_ERROR || code == NGHTTP2_PROTOCOL_ERROR)) {
        end(session, request, H2_FAILED, LULL_TRANSPORT_PROTOCOL, "the answer was no HTTP");
    } else {
        end(session, request, H2_FAILED, LULL_TRANSPORT_RESET, detail);
    }
    return 0;
}

/* ---- what the engine asks ---- */

/* The head of a request is packed next, behind all that was drained before. Or the engine's own
 * reproach, by which it ends what cannot go on. */
static int on_before_send(nghttp2_session *engine, const nghttp2_frame *frame, void *userdata)
{
    struct h2_session *session = userdata;
    (void)engine;
    if (frame->hd.type == NGHTTP2_HEADERS) {
        struct transport_request *request = find(session, frame->hd.stream_id);
        if (request) {
            request->own.first_byte = session->queued;
            request->sent_ms = session->now_ms;
        }
    } else if (frame->hd.type == NGHTTP2_GOAWAY) {
        session->state.is_broken |= frame->goaway.error_code != NGHTTP2_NO_ERROR;
    }
    return 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is nghttp2's */
static ssize_t on_read_body(nghttp2_session *engine, int32_t stream_id, uint8_t *buffer,
                            size_t length, uint32_t *flags, nghttp2_data_source *source,
                            void *userdata)
{
    const struct transport_request *request = find(userdata, stream_id);
    (void)engine;
    (void)buffer;
    (void)source; /* the request may be gone: only the stream knows */
    if (!request) {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    size_t left = request->body_length - request->own.body_sent;
    size_t most = H2_DRAIN_MIN / 2;
    length = length < most ? length : most;
    length = length < left ? length : left;
    *flags = NGHTTP2_DATA_FLAG_NO_COPY;
    if (length == left) {
        *flags |= NGHTTP2_DATA_FLAG_EOF;
    }
    return (ssize_t)length;
}

static int on_send_body(nghttp2_session *engine, nghttp2_frame *frame, const uint8_t *head,
                        size_t length, nghttp2_data_source *source, void *userdata)
{
    struct h2_session *session = userdata;
    struct transport_request *request = find(session, frame->hd.stream_id);
    (void)engine;
    (void)source;
    const size_t head_length = 9;
    if (!request) {
        return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    if (session->buffer_size - session->buffer_length < head_length + length) {
        return NGHTTP2_ERR_WOULDBLOCK;
    }
    uint8_t *at = session->buffer + session->buffer_length;
    memcpy(at, head, head_length);
    if (length > 0) {
        memcpy(at + head_length, (const uint8_t *)request->body + request->own.body_sent, length);
    }
    request->own.body_sent += length;
    session->buffer_length += head_length + length;
    session->queued += head_length + length;
    return 0;
}

/* ---- its life ---- */

static nghttp2_session *new_engine(struct h2_session *session)
{
    nghttp2_session *engine = NULL;
    nghttp2_session_callbacks *callbacks = NULL;
    nghttp2_option *option = NULL;
    if (nghttp2_session_callbacks_new(&callbacks) == 0 && nghttp2_option_new(&option) == 0) {
        nghttp2_option_set_no_closed_streams(option, 1); /* they are for priorities only */
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, on_begin_headers);
        nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid_frame);
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_stream_close);
        nghttp2_session_callbacks_set_before_frame_send_callback(callbacks, on_before_send);
        nghttp2_session_callbacks_set_send_data_callback(callbacks, on_send_body);
        if (nghttp2_session_client_new2(&engine, callbacks, session, option) != 0) {
            engine = NULL;
        }
    }
    nghttp2_option_del(option);
    nghttp2_session_callbacks_del(callbacks);
    return engine;
}

int h2_session_new(struct h2_session **ret_session, const struct h2_session_owner *owner)
{
    static const nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, RESPONSE_HEADER_BYTES_MAX},
    };
    struct h2_session *session = calloc(1, sizeof *session);
    if (!session) {
        return LULL_ERR_MEMORY;
    }
    session->owner = *owner;
    session->state.goaway_last_id = STREAM_ID_MAX;
    session->engine = new_engine(session);
    if (!session->engine || nghttp2_submit_settings(session->engine, NGHTTP2_FLAG_NONE, settings,
                                                    sizeof settings / sizeof *settings) != 0) {
        h2_session_destroy(session);
        return LULL_ERR_MEMORY;
    }
    *ret_session = session;
    return LULL_OK;
}

void h2_session_destroy(struct h2_session *session)
{
    if (session) {
        while (session->requests.first) {
            detach(session, session->requests.first);
        }
        nghttp2_session_del(session->engine);
        free(session);
    }
}

const struct h2_session_state *h2_session_state(const struct h2_session *session)
{
    return &session->state;
}

bool h2_session_is_done(const struct h2_session *session)
{
    return nghttp2_session_want_read(session->engine) == 0 &&
           nghttp2_session_want_write(session->engine) == 0 && session->chunk_length == 0;
}

uint32_t h2_session_room(const struct h2_session *session)
{
    const struct h2_session_state *state = &session->state;
    if (!state->is_ready || state->is_draining ||
        nghttp2_session_check_request_allowed(session->engine) == 0) {
        return 0;
    }
    uint32_t most = nghttp2_session_get_remote_settings(session->engine,
                                                        NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS);
    return most > state->requests ? most - state->requests : 0;
}

/* ---- the request ---- */

static int32_t submit(struct h2_session *session, struct transport_request *request,
                      const char *path, size_t path_length, bool is_path_copied)
{
    struct h2_fields fields;
    nghttp2_data_provider body = {.read_callback = on_read_body};
    h2_fields_set(&fields, request, path, path_length, is_path_copied);
    return nghttp2_submit_request(session->engine, NULL, fields.list, fields.count,
                                  request->body_length > 0 ? &body : NULL, request);
}

int h2_session_submit(struct h2_session *session, struct transport_request *request)
{
    const struct url *url = &request->own.url;
    char *longer = NULL;
    if (*url->path == '?') {
        longer = malloc(url->path_length + 1);
        if (!longer) {
            return LULL_ERR_MEMORY;
        }
        longer[0] = '/';
        memcpy(longer + 1, url->path, url->path_length);
    }
    response_clear(&request->response); /* another connection may have left something */
    request->own.first_byte = NOT_QUEUED;
    request->own.body_sent = 0;
    request->own.header_bytes = 0;
    int32_t id = longer ? submit(session, request, longer, url->path_length + 1, true)
                        : submit(session, request, url->path, url->path_length, false);
    free(longer);
    if (id < 0) {
        return LULL_ERR_MEMORY; /* check_request_allowed has seen to the rest */
    }
    request->own.stream_id = id;
    session->state.submitted++;
    session->recent = request;
    session->state.requests++;
    request_list_append(&session->requests, request);
    return LULL_OK;
}

bool h2_session_abandon(struct h2_session *session, struct transport_request *request)
{
    stop(session, request, NGHTTP2_CANCEL);
    detach(session, request);
    return is_queued(request);
}

/* ---- bytes ---- */

bool h2_session_receive(struct h2_session *session, const uint8_t *data, size_t length,
                        int64_t now_ms)
{
    session->now_ms = now_ms;
    ssize_t taken = nghttp2_session_mem_recv(session->engine, data, length);
    return taken >= 0 && (size_t)taken == length;
}

static void put(struct h2_session *session)
{
    size_t room = session->buffer_size - session->buffer_length;
    size_t length = session->chunk_length < room ? session->chunk_length : room;
    memcpy(session->buffer + session->buffer_length, session->chunk, length);
    session->buffer_length += length;
    session->queued += length;
    session->chunk += length;
    session->chunk_length -= length;
}

int64_t h2_session_drain(struct h2_session *session, uint8_t *buffer, size_t size, int64_t now_ms)
{
    session->now_ms = now_ms;
    session->buffer = buffer;
    session->buffer_size = size;
    session->buffer_length = 0;
    for (;;) {
        if (session->chunk_length > 0) {
            put(session);
        }
        if (session->chunk_length > 0) {
            break; /* full */
        }
        size_t before = session->buffer_length;
        ssize_t length = nghttp2_session_mem_send(session->engine, &session->chunk);
        if (length < 0) {
            return -1;
        }
        session->chunk_length = (size_t)length;
        if (length == 0 && session->buffer_length == before) {
            break; /* nothing more, or no room for a frame of DATA */
        }
    }
    return (int64_t)session->buffer_length;
}

void h2_session_written(struct h2_session *session, uint64_t total)
{
    session->written = total;
}

void h2_session_fail(struct h2_session *session, enum lull_transport failure, const char *detail)
{
    while (session->requests.first) {
        struct transport_request *request = session->requests.first;
        bool is_left_out = is_written(session, request) &&
                           (uint32_t)request->own.stream_id > session->state.goaway_last_id;
        enum h2_end how = !is_written(session, request) ? H2_NOT_SENT
                          : is_left_out                 ? H2_GOAWAY
                                                        : H2_FAILED;
        end(session, request, how, is_left_out ? LULL_TRANSPORT_GOAWAY : failure, detail);
    }
}

void h2_session_ping(struct h2_session *session)
{
    (void)nghttp2_submit_ping(session->engine, NGHTTP2_FLAG_NONE, NULL);
}

void h2_session_goodbye(struct h2_session *session)
{
    (void)nghttp2_session_terminate_session(session->engine, NGHTTP2_NO_ERROR);
}
