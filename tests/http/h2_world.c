/* h2_world - see the header. SPDX-License-Identifier: MIT */
#include "h2_world.h"

/* ---- requests ---- */

static char *copy_of(const char *text, size_t length)
{
    char *copy = malloc(length > 0 ? length : 1);
    assert_non_null(copy);
    memcpy(copy, text, length);
    return copy;
}

static void free_request(struct transport_request *request)
{
    for (size_t i = 0; i < request->header_count; i++) {
        free((void *)request->headers[i].name);
        free((void *)request->headers[i].value);
    }
    free((void *)request->headers);
    free((void *)request->url);
    free((void *)request->method);
    free((void *)request->body);
    transport_request_clean_up(request);
    free(request);
}

static struct transport_request *new_request(const struct question *question)
{
    struct transport_request *request = calloc(1, sizeof *request);
    const char *url = question->url ? question->url : "https://push.example/p";
    assert_non_null(request);
    transport_request_init(request, copy_of(url, strlen(url) + 1));
    assert_int_equal(url_split(request->url, &request->own.url), LULL_OK);
    if (question->method) {
        request->method = copy_of(question->method, strlen(question->method) + 1);
    }
    struct lull_header *headers = calloc(question->header_count + 1, sizeof *headers);
    assert_non_null(headers);
    for (size_t i = 0; i < question->header_count; i++) {
        const struct lull_header *from = &question->headers[i];
        headers[i] =
            (struct lull_header){copy_of(from->name, from->name_length), from->name_length,
                                 copy_of(from->value, from->value_length), from->value_length};
    }
    request->headers = headers;
    request->header_count = question->header_count;
    if (question->body_length > 0) {
        char *body = malloc(question->body_length);
        assert_non_null(body);
        memset(body, 'b', question->body_length);
        request->body = body;
        request->body_length = question->body_length;
    }
    if (question->response_max > 0) {
        request->response_max = question->response_max;
    }
    request->sent_ms = -1;
    request->answered_ms = -1;
    return request;
}

static void on_end(void *userdata, struct transport_request *request, enum h2_end end,
                   enum lull_transport failure, const char *detail)
{
    struct probe *probe = request->userdata;
    const struct response *response = &request->response;
    (void)userdata;
    assert_ptr_equal(probe->request, request);
    probe->ends++;
    probe->end = end;
    probe->failure = failure;
    probe->has_detail = detail && *detail;
    probe->status = response->is_head_complete ? response->status : 0;
    probe->header_count = response->header_count;
    probe->body_length = response->body_length;
    size_t kept = response->body_length;
    kept = kept < sizeof probe->body ? kept : sizeof probe->body - 1;
    if (kept > 0) {
        memcpy(probe->body, response->body, kept);
    }
    probe->is_body_complete = request->is_body_complete;
    probe->is_body_cut = response->is_body_cut;
    probe->sent_ms = request->sent_ms;
    probe->answered_ms = request->answered_ms;
    probe->request = NULL;
    free_request(request);
}

struct probe *world_ask(struct world *world, const struct question *question)
{
    assert_true(world->count < PROBES_MAX);
    struct probe *probe = &world->probes[world->count++];
    probe->request = new_request(question);
    probe->request->userdata = probe;
    assert_int_equal(h2_session_submit(world->session, probe->request), LULL_OK);
    return probe;
}

bool world_abandon(struct world *world, struct probe *probe)
{
    bool is_sent = h2_session_abandon(world->session, probe->request);
    probe->ends++;
    probe->is_abandoned = true;
    free_request(probe->request);
    probe->request = NULL;
    return is_sent;
}

/* ---- the session ---- */

void world_open(struct world *world)
{
    *world = (struct world){.drain_size = H2_DRAIN_MIN, .now_ms = 1000, .is_good = true};
    h2_listener_init(&world->listener);
    struct h2_session_owner owner = {world, on_end};
    assert_int_equal(h2_session_new(&world->session, &owner), LULL_OK);
}

void world_open_ready(struct world *world)
{
    struct bytes out = {0};
    world_open(world);
    h2_frame(&out, NGHTTP2_SETTINGS, 0, 0, NULL, 0);
    h2_frame(&out, NGHTTP2_SETTINGS, NGHTTP2_FLAG_ACK, 0, NULL, 0);
    world_hear(world, &out);
    world_settle(world);
    assert_true(h2_session_state(world->session)->is_ready);
}

void world_close(struct world *world)
{
    h2_session_fail(world->session, LULL_TRANSPORT_RESET, "the test is over");
    assert_int_equal(h2_session_state(world->session)->requests, 0);
    h2_session_destroy(world->session);
    h2_listener_clean_up(&world->listener);
    for (size_t i = 0; i < world->count; i++) {
        assert_int_equal(world->probes[i].ends, 1);
        assert_null(world->probes[i].request);
    }
}

void world_forget(struct world *world, struct probe *probe)
{
    free_request(probe->request);
    probe->request = NULL;
    h2_listener_clean_up(&world->listener);
}

size_t world_drain_once(struct world *world)
{
    uint8_t *buffer = malloc(world->drain_size); /* exact, so that a write past it is seen */
    assert_non_null(buffer);
    int64_t length = h2_session_drain(world->session, buffer, world->drain_size, world->now_ms);
    assert_true(length >= 0 && (uint64_t)length <= world->drain_size);
    h2_listener_add(&world->listener, buffer, (size_t)length);
    free(buffer);
    world->drained += (uint64_t)length;
    return (size_t)length;
}

void world_drain(struct world *world)
{
    while (world_drain_once(world) > 0) {
    }
}

void world_settle(struct world *world)
{
    world_drain(world);
    h2_session_written(world->session, world->drained);
}

static void hear(struct world *world, const uint8_t *data, size_t length)
{
    uint8_t *copy = malloc(length); /* on its own, so that a read past it is seen */
    assert_non_null(copy);
    memcpy(copy, data, length);
    world->is_good &= h2_session_receive(world->session, copy, length, world->now_ms);
    free(copy);
}

void world_hear(struct world *world, struct bytes *out)
{
    size_t piece = world->piece_size > 0 ? world->piece_size : out->length;
    for (size_t at = 0; at < out->length && world->is_good; at += piece) {
        hear(world, out->data + at, piece < out->length - at ? piece : out->length - at);
    }
    bytes_free(out);
}

void world_hear_head(struct world *world, uint32_t stream, uint8_t flags, const char *lines)
{
    struct bytes block = {0};
    struct bytes out = {0};
    h2_fields(&block, lines);
    h2_frame(&out, NGHTTP2_HEADERS, flags, stream, block.data, block.length);
    bytes_free(&block);
    world_hear(world, &out);
}

void world_hear_data(struct world *world, uint32_t stream, uint8_t flags, size_t length)
{
    struct bytes out = {0};
    char *data = malloc(length + 1);
    assert_non_null(data);
    memset(data, 'd', length);
    h2_frame(&out, NGHTTP2_DATA, flags, stream, data, length);
    free(data);
    world_hear(world, &out);
}

void world_close_if_over(struct world *world)
{
    const struct h2_session_state *state = h2_session_state(world->session);
    if (!world->is_good || state->is_broken) {
        h2_session_fail(world->session, LULL_TRANSPORT_PROTOCOL, "the peer broke the rules");
    } else if (h2_session_is_done(world->session)) {
        h2_session_fail(world->session,
                        state->is_draining ? LULL_TRANSPORT_GOAWAY : LULL_TRANSPORT_RESET,
                        "the connection was ended in good order");
    }
}

bool world_find(struct world *world, uint8_t type, uint32_t stream, struct h2_said *ret_said)
{
    while (h2_listener_next(&world->listener, ret_said)) {
        if (ret_said->type == type && ret_said->stream == stream) {
            return true;
        }
    }
    return false;
}

/* ---- checks ---- */

bool is_end(const struct probe *probe, enum h2_end end, enum lull_transport failure,
            unsigned status)
{
    bool is_answered = end == H2_ANSWERED;
    return probe->ends == 1 && !probe->is_abandoned && probe->end == end &&
           probe->status == status && (is_answered || probe->failure == failure) &&
           (is_answered || probe->has_detail) && (probe->answered_ms >= 0) == is_answered;
}

void check_end(const struct probe *probe, enum h2_end end, enum lull_transport failure,
               unsigned status)
{
    if (!is_end(probe, end, failure, status)) {
        fail_msg("%d times, end %d, %s, status %u, answered at %d instead of end %d, %s, status %u",
                 probe->ends, (int)probe->end, lull_transport_to_string(probe->failure),
                 probe->status, (int)probe->answered_ms, (int)end,
                 lull_transport_to_string(failure), status);
    }
}

void check_pending(const struct probe *probe)
{
    assert_int_equal(probe->ends, 0);
    assert_non_null(probe->request);
}
