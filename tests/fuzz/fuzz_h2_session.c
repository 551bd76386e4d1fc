/*
 * A server's bytes, and what its client does meanwhile. The first byte chooses: odd, and the rest
 * is what the server sends after its SETTINGS, in pieces of the size that the second byte says;
 * even, and the rest is a list of deeds, of which a frame is one:
 *
 *   deed % 8:  0..3 frame: type, flags, stream, length, payload    4 drain, and perhaps written
 *              5 ask        6 let go: which        7 ping, or a goodbye
 *
 * All memory of a request is freed as soon as it ends.
 */
#include <assert.h>
#include <nghttp2/nghttp2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "h2_session.h"
#include "lull/error.h"

#define REQUESTS_MAX 24
#define RESPONSE_MAX 50
#define FRAME_HEAD 9

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
    struct h2_session *session;
    struct transport_request *requests[REQUESTS_MAX]; /* NULL: over */
    size_t count;
    size_t over;
    uint64_t drained;
    uint64_t written;
    int64_t now_ms;
    const uint8_t *at;
    const uint8_t *end;
};

static uint8_t next(struct world *world)
{
    return world->at < world->end ? *world->at++ : 0;
}

/* ---- requests ---- */

static char *copy_of(const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    assert(copy);
    return strcpy(copy, text);
}

static void free_request(struct transport_request *request)
{
    free((void *)request->headers[0].value);
    free((void *)request->headers);
    free((void *)request->url);
    free((void *)request->body);
    transport_request_clean_up(request);
    free(request);
}

/* A request is over once only, since its place is empty then. */
static void forget(struct world *world, struct transport_request *request)
{
    struct transport_request **place = request->userdata;
    assert(*place == request);
    *place = NULL;
    world->over++;
    free_request(request);
}

static void on_end(void *userdata, struct transport_request *request, enum h2_end end,
                   enum lull_transport failure, const char *detail)
{
    struct world *world = userdata;
    const struct response *response = &request->response;
    uint32_t last_id = h2_session_state(world->session)->goaway_last_id;
    bool is_answered = response->is_head_complete;
    assert(is_answered == (end == H2_ANSWERED));
    assert(is_answered == (request->answered_ms >= 0));
    assert(response->body_length <= RESPONSE_MAX);
    assert(response->header_count <= RESPONSE_HEADERS_MAX);
    if (is_answered) {
        assert(response->status >= 200 && response->status <= 999);
    } else {
        assert(failure != LULL_TRANSPORT_NONE && failure < LULL_TRANSPORTS && detail && *detail);
        assert(!request->is_body_complete);
    }
    /* What may be sent again must not have been processed. */
    assert(end != H2_NOT_SENT || request->own.first_byte >= world->written);
    assert(end != H2_GOAWAY || (uint32_t)request->own.stream_id > last_id);
    assert(end != H2_FAILED || failure != LULL_TRANSPORT_GOAWAY);
    forget(world, request);
}

static void ask(struct world *world)
{
    static const size_t lengths[] = {0, 5, 20000, 100000};
    size_t length = lengths[next(world) % 4];
    if (world->count == REQUESTS_MAX || h2_session_room(world->session) == 0) {
        return;
    }
    struct transport_request **place = &world->requests[world->count++];
    struct transport_request *request = calloc(1, sizeof *request);
    struct lull_header *header = calloc(1, sizeof *header);
    char *body = length > 0 ? calloc(1, length) : NULL;
    assert(request && header && (body || length == 0));
    transport_request_init(request, copy_of("https://push.example?secret"));
    assert(url_split(request->url, &request->own.url) == LULL_OK);
    *header = (struct lull_header){"authorization", 13, copy_of("vapid t=abc"), 11};
    request->headers = header;
    request->header_count = 1;
    request->body = body;
    request->body_length = length;
    request->response_max = RESPONSE_MAX;
    request->sent_ms = -1;
    request->answered_ms = -1;
    request->userdata = place;
    *place = request;
    assert(h2_session_submit(world->session, request) == LULL_OK);
}

static void let_go(struct world *world)
{
    struct transport_request *request = world->requests[next(world) % REQUESTS_MAX];
    if (request) {
        bool is_sent = h2_session_abandon(world->session, request);
        assert(is_sent || request->own.first_byte >= world->written);
        forget(world, request);
    }
}

/* ---- bytes ---- */

/* Returns whether there was something. */
static bool drain(struct world *world)
{
    static uint8_t buffer[H2_DRAIN_MIN];
    int64_t length = h2_session_drain(world->session, buffer, sizeof buffer, ++world->now_ms);
    assert(length >= 0 && (size_t)length <= sizeof buffer);
    world->drained += (uint64_t)length;
    return length > 0;
}

static void drain_all(struct world *world)
{
    for (int i = 0; drain(world); i++) {
        assert(i < 10000);
    }
}

static void write_to(struct world *world, uint64_t total)
{
    world->written = total;
    h2_session_written(world->session, total);
}

/* False: the session can hear no more. */
static bool hear(struct world *world, const uint8_t *data, size_t length)
{
    uint8_t *copy = malloc(length > 0 ? length : 1);
    assert(copy);
    if (length > 0) {
        memcpy(copy, data, length);
    }
    bool is_good = h2_session_receive(world->session, copy, length, ++world->now_ms);
    free(copy);
    return is_good;
}

static bool hear_frame(struct world *world)
{
    uint8_t frame[FRAME_HEAD + UINT8_MAX] = {0};
    frame[3] = next(world) % 12;
    frame[4] = next(world);
    frame[8] = next(world) % 52;
    size_t length = next(world);
    size_t left = (size_t)(world->end - world->at);
    length = length < left ? length : left;
    frame[2] = (uint8_t)length;
    if (length > 0) {
        memcpy(frame + FRAME_HEAD, world->at, length);
    }
    world->at += length;
    return hear(world, frame, FRAME_HEAD + length);
}

static bool act(struct world *world)
{
    uint8_t deed = next(world);
    switch (deed % 8) {
    case 4:
        (void)drain(world);
        if (deed & 0x80) {
            write_to(world,
                     world->drained - (deed & 0x40 ? (world->drained - world->written) / 2 : 0));
        }
        return true;
    case 5:
        ask(world);
        return true;
    case 6:
        let_go(world);
        return true;
    case 7:
        if (deed == 0xff) {
            h2_session_goodbye(world->session);
        } else {
            h2_session_ping(world->session);
        }
        return true;
    default:
        return hear_frame(world);
    }
}

static bool hear_pieces(struct world *world)
{
    size_t most = next(world);
    bool is_good = true;
    while (is_good && world->at < world->end) {
        size_t left = (size_t)(world->end - world->at);
        size_t length = most > 0 && most < left ? most : left;
        is_good = hear(world, world->at, length);
        world->at += length;
    }
    return is_good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t settings[FRAME_HEAD] = {0, 0, 0, NGHTTP2_SETTINGS, 0, 0, 0, 0, 0};
    struct world world = {.at = data, .end = data + size};
    struct h2_session_owner owner = {&world, on_end};
    assert(h2_session_new(&world.session, &owner) == LULL_OK);
    assert(h2_session_room(world.session) == 0);
    assert(hear(&world, settings, sizeof settings));
    uint8_t mode = next(&world);
    ask(&world);
    ask(&world);
    drain_all(&world);
    write_to(&world, world.drained);
    bool is_good = true;
    if (mode & 1) {
        is_good = hear_pieces(&world);
    }
    while (is_good && world.at < world.end) {
        is_good = act(&world);
    }
    if (mode & 2) {
        drain_all(&world);
        write_to(&world, world.drained);
    }
    const struct h2_session_state *state = h2_session_state(world.session);
    assert(state->requests == world.count - world.over);
    assert(state->submitted == world.count);
    if (mode & 4) { /* forgets them */
        h2_session_destroy(world.session);
        for (size_t i = 0; i < world.count; i++) {
            if (world.requests[i]) {
                forget(&world, world.requests[i]);
            }
        }
    } else {
        h2_session_fail(world.session, LULL_TRANSPORT_RESET, "gone");
        h2_session_destroy(world.session);
    }
    assert(world.over == world.count);
    return 0;
}
