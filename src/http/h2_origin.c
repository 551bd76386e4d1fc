/* h2_origin - see the header. SPDX-License-Identifier: MIT */
#include "h2_origin.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "fold.h"
#include "instant.h"
#include "lull/duration.h"

/* getaddrinfo does not say how long an address is good for. */
#define ADDRESSES_KEPT_MS LULL_SECONDS(30)
#define HTTP_1_KEPT_MS LULL_HOURS(1)

/* A connection on which nothing was heard for so long must answer a ping before it gets a request:
 * what is sent on a dead one ends as `unknown`. */
#define STALE_MS LULL_SECONDS(10)

#define HOLD_FIRST_MS 250
#define HOLD_MAX_MS LULL_SECONDS(30)
#define CALM_HOLD_MS LULL_SECONDS(1)
#define CALM_ANSWERS_PER_STREAM 10

/* Moves to another connection. What no connection took three times has somewhere to be reported. */
#define UNSENT_MOVES_MAX 3
#define GOAWAY_MOVES_MAX 8

/* So many past the quota, one at a time, and it was none. */
#define QUOTA_DOUBT 8

struct h2_member {
    struct h2_origin *origin;
    struct h2_connection *connection;
    struct h2_member *next;
    struct h2_member *previous;
    bool is_ready;
    bool is_calm_heard;
};

static struct timers *timers_of(const struct h2_origin *origin)
{
    return origin->pool->shared.timers;
}

/* ---- its life ---- */

static void on_hold_over(struct timer *timer, int64_t now_ms)
{
    (void)now_ms;
    h2_origin_activate(owner_of(timer, struct h2_origin, timer));
}

struct h2_origin *h2_origin_new(struct h2_pool *pool, const struct url *url, bool is_public_only,
                                int64_t now_ms)
{
    struct h2_origin *origin = calloc(1, sizeof *origin);
    char *host = malloc(url->host_length + 1);
    if (!origin || !host || !timers_reserve(pool->shared.timers)) {
        free(origin);
        free(host);
        return NULL;
    }
    fold_copy(host, url->host, url->host_length);
    host[url->host_length] = '\0';
    origin->pool = pool;
    origin->host = host;
    origin->port = url->port;
    origin->is_public_only = is_public_only;
    origin->used_ms = now_ms;
    origin->http_1_until_ms = INT64_MIN;
    origin->hold_until_ms = INT64_MIN;
    origin->streams_max = pool->shared.config->streams_max;
    origin->timer.on_due = on_hold_over;
    return origin;
}

static void remove_member(struct h2_member *member)
{
    struct h2_origin *origin = member->origin;
    if (member->previous) {
        member->previous->next = member->next;
    } else {
        origin->members = member->next;
    }
    if (member->next) {
        member->next->previous = member->previous;
    }
    origin->pool->connection_count--;
    if (member->is_ready) {
        transport_counters(origin->pool->transport)->open_connections--;
    }
    free(member);
}

void h2_origin_destroy(struct h2_origin *origin)
{
    struct h2_member *next = NULL;
    for (struct h2_member *member = origin->members; member; member = next) {
        next = member->next;
        h2_connection_destroy(member->connection);
        remove_member(member);
    }
    struct h2_origin **link = &origin->pool->active;
    while (origin->is_active && *link) {
        if (*link == origin) {
            *link = origin->next_active;
            break;
        }
        link = &(*link)->next_active;
    }
    tls_sessions_clear(&origin->sessions);
    timers_clear(timers_of(origin), &origin->timer);
    timers_unreserve(timers_of(origin));
    free(origin->host);
    free(origin);
}

bool h2_origin_is(const struct h2_origin *origin, const struct url *url, bool is_public_only)
{
    return origin->port == url->port && origin->is_public_only == is_public_only &&
           strncasecmp(origin->host, url->host, url->host_length) == 0 &&
           origin->host[url->host_length] == '\0';
}

bool h2_origin_is_idle(const struct h2_origin *origin)
{
    return origin->waiting.count == 0 && !origin->members;
}

void h2_origin_activate(struct h2_origin *origin)
{
    if (!origin->is_active) {
        origin->is_active = true;
        origin->next_active = origin->pool->active;
        origin->pool->active = origin;
    }
}

/* ---- those that wait ---- */

static void set_timer(struct h2_origin *origin, struct transport_request *request, int64_t from_ms,
                      int64_t wait_ms)
{
    timers_set(timers_of(origin), &request->own.timer,
               instant_earlier(instant_after(from_ms, wait_ms),
                               instant_after(request->submitted_ms, request->timeout_ms)));
}

static void fail_waiting(struct h2_origin *origin, enum lull_transport failure, const char *detail)
{
    while (origin->waiting.first) {
        struct transport_request *request = origin->waiting.first;
        request_list_remove(&origin->waiting, request);
        transport_finish(origin->pool->transport, request, failure, detail);
    }
}

/* It is to be asked for HTTP/1.1 from now on. */
static void turn_to_http_1(struct h2_origin *origin, int64_t now_ms)
{
    origin->http_1_until_ms = now_ms + HTTP_1_KEPT_MS;
    while (origin->waiting.first) {
        struct transport_request *request = origin->waiting.first;
        request_list_remove(&origin->waiting, request);
        transport_hand_to_curl(origin->pool->transport, request, now_ms);
    }
}

/* ---- the end of a request by our own will ---- */

static void give_up(struct transport_request *request, enum lull_transport before,
                    enum lull_transport after, const char *detail, int64_t now_ms)
{
    if (request->own.stream_id == 0) {
        struct h2_origin *origin = request->own.place;
        request_list_remove(&origin->waiting, request);
        transport_finish(origin->pool->transport, request, before, detail);
        return;
    }
    struct h2_member *member = request->own.place;
    struct h2_origin *origin = member->origin;
    bool is_sent = h2_connection_abandon(member->connection, request);
    bool is_silent = request->sent_ms >= h2_connection_heard_ms(member->connection);
    if (is_sent && is_silent && after == LULL_TRANSPORT_TIMEOUT) {
        h2_connection_check(member->connection, now_ms);
    }
    h2_origin_activate(origin);
    transport_finish(origin->pool->transport, request, is_sent ? after : before, detail);
}

void h2_origin_cancel(struct transport_request *request, int64_t now_ms)
{
    give_up(request, LULL_TRANSPORT_CANCELLED, LULL_TRANSPORT_CANCELLED, "cancelled", now_ms);
}

static void on_timeout(struct timer *timer, int64_t now_ms)
{
    struct transport_request *request = owner_of(timer, struct transport_request, own.timer);
    bool is_sent = request->sent_ms >= 0 && request->own.stream_id != 0;
    int64_t end_ms = instant_after(request->submitted_ms, request->timeout_ms);
    if (request->response.is_head_complete && now_ms < end_ms) {
        const struct h2_member *member = request->own.place;
        timers_set(timers_of(member->origin), timer, end_ms); /* for the body */
        return;
    }
    give_up(request, LULL_TRANSPORT_CONNECT_TIMEOUT, LULL_TRANSPORT_TIMEOUT,
            is_sent ? "no answer in time" : "no connection in time", now_ms);
}

void h2_origin_submit(struct h2_origin *origin, struct transport_request *request, int64_t now_ms)
{
    origin->used_ms = now_ms;
    if (now_ms < origin->http_1_until_ms) {
        transport_hand_to_curl(origin->pool->transport, request, now_ms);
        return;
    }
    request->own.place = origin;
    request->own.timer.on_due = on_timeout;
    request_list_append(&origin->waiting, request);
    /* Its timer is set if no connection takes it in this step. */
    h2_origin_activate(origin);
}

/* ---- what is learned ---- */

static void hold(struct h2_origin *origin, int64_t first_ms, int64_t now_ms)
{
    uint32_t doublings = origin->failures < 16 ? origin->failures : 16;
    int64_t wait_ms = first_ms << doublings;
    origin->hold_until_ms = now_ms + instant_earlier(wait_ms, HOLD_MAX_MS);
    origin->failures++;
    timers_set(timers_of(origin), &origin->timer, origin->hold_until_ms);
}

static void learn(struct h2_member *member, int64_t now_ms)
{
    struct h2_origin *origin = member->origin;
    const struct h2_session_state *state = h2_connection_state(member->connection);
    if (state->is_calm_asked && !member->is_calm_heard) {
        member->is_calm_heard = true;
        origin->streams_max = origin->streams_max > 1 ? origin->streams_max / 2 : 1;
        origin->calm_credit = 0;
        hold(origin, CALM_HOLD_MS, now_ms);
    }
    if (state->is_http_1_asked && now_ms >= origin->http_1_until_ms) {
        turn_to_http_1(origin, now_ms);
    }
    if (origin->quota > 0 && !state->is_draining &&
        state->submitted >= origin->quota + QUOTA_DOUBT) {
        origin->quota = 0;
    }
}

/* Answers win back what calm has cost. */
static void credit(struct h2_origin *origin)
{
    if (origin->streams_max < origin->pool->shared.config->streams_max &&
        ++origin->calm_credit >= origin->streams_max * CALM_ANSWERS_PER_STREAM) {
        origin->calm_credit = 0;
        origin->streams_max++;
    }
}

/* ---- what a connection tells ---- */

static void move(struct h2_origin *origin, struct transport_request *request, int64_t now_ms)
{
    request->own.moves++;
    request->own.stream_id = 0;
    request->own.place = origin;
    request->sent_ms = -1;
    transport_counters(origin->pool->transport)->moves++;
    if (now_ms < origin->http_1_until_ms) {
        transport_hand_to_curl(origin->pool->transport, request, now_ms);
        return;
    }
    request_list_prepend(&origin->waiting, request);
    set_timer(origin, request, now_ms, request->connect_timeout_ms);
}

static void on_end(void *userdata, struct h2_connection *connection,
                   struct transport_request *request, enum h2_end end, enum lull_transport failure,
                   const char *detail, int64_t now_ms)
{
    struct h2_member *member = userdata;
    struct h2_origin *origin = member->origin;
    uint32_t last_id = h2_connection_state(connection)->goaway_last_id;
    h2_origin_activate(origin);
    if (end == H2_NOT_SENT && request->own.moves < UNSENT_MOVES_MAX) {
        move(origin, request, now_ms);
        return;
    }
    if (end == H2_GOAWAY && last_id > 0) {
        origin->quota = (last_id + 1) / 2; /* ours are the odd numbers */
        if (request->own.moves < GOAWAY_MOVES_MAX) {
            move(origin, request, now_ms);
            return;
        }
    }
    if (end == H2_ANSWERED) {
        origin->failures = 0;
        credit(origin);
    }
    transport_finish(origin->pool->transport, request,
                     end == H2_NOT_SENT ? LULL_TRANSPORT_REFUSED : failure, detail);
}

static void on_ready(void *userdata, struct h2_connection *connection, int64_t now_ms)
{
    struct h2_member *member = userdata;
    struct h2_origin *origin = member->origin;
    struct transport_stats *stats = transport_counters(origin->pool->transport);
    const struct addresses *addresses = h2_connection_addresses(connection);
    member->is_ready = true;
    origin->is_proven = true;
    if (addresses && now_ms >= origin->addresses_until_ms) {
        origin->addresses = *addresses;
        origin->addresses_until_ms = now_ms + ADDRESSES_KEPT_MS;
    }
    stats->connections++;
    stats->open_connections++;
    stats->resumptions += h2_connection_is_resumed(connection);
}

static void on_heard(void *userdata, struct h2_connection *connection, int64_t now_ms)
{
    struct h2_member *member = userdata;
    (void)connection;
    learn(member, now_ms);
    if (member->origin->waiting.count > 0) {
        h2_origin_activate(member->origin);
    }
}

static bool has_hope(const struct h2_origin *origin)
{
    for (const struct h2_member *member = origin->members; member; member = member->next) {
        if (!h2_connection_state(member->connection)->is_draining) {
            return true;
        }
    }
    return false;
}

static void on_closed(void *userdata, struct h2_connection *connection,
                      const struct h2_closing *closing, int64_t now_ms)
{
    struct h2_member *member = userdata;
    struct h2_origin *origin = member->origin;
    bool was_used = h2_connection_state(connection)->submitted > 0;
    learn(member, now_ms);
    remove_member(member);
    h2_origin_activate(origin);
    if (closing->is_http_1) {
        turn_to_http_1(origin, now_ms);
        return;
    }
    if (was_used || (closing->was_ready && origin->waiting.count == 0)) {
        return; /* it has done its work */
    }
    transport_counters(origin->pool->transport)->connect_failures++;
    origin->addresses.count = 0;
    hold(origin, HOLD_FIRST_MS, now_ms);
    if (!has_hope(origin)) {
        fail_waiting(origin, closing->failure, closing->detail);
    }
}

/* ---- connections ---- */

/* False: no memory. */
static bool open_one(struct h2_origin *origin, int64_t now_ms)
{
    struct h2_pool *pool = origin->pool;
    struct h2_member *member = calloc(1, sizeof *member);
    struct h2_connection_owner owner = {member, on_ready, on_heard, on_closed, on_end};
    bool is_known = origin->addresses.count > 0 && now_ms < origin->addresses_until_ms;
    struct h2_target target = {
        .host = origin->host,
        .port = origin->port,
        .is_public_only = origin->is_public_only,
        .addresses = is_known ? &origin->addresses : NULL,
        .sessions = &origin->sessions,
    };
    struct h2_connection *connection =
        member ? h2_connection_open(&pool->shared, &target, &owner, now_ms) : NULL;
    if (!connection) {
        free(member);
        return false;
    }
    member->origin = origin;
    member->connection = connection;
    member->next = origin->members;
    if (origin->members) {
        origin->members->previous = member;
    }
    origin->members = member;
    pool->connection_count++;
    return true;
}

/* How many requests a connection of this origin may have at once. */
static uint32_t streams_at_once(const struct h2_origin *origin)
{
    return origin->quota > 0 && origin->quota < origin->streams_max ? (uint32_t)origin->quota
                                                                    : origin->streams_max;
}

static uint32_t room_on(const struct h2_origin *origin, const struct h2_member *member)
{
    const struct h2_session_state *state = h2_connection_state(member->connection);
    uint32_t room = h2_connection_room(member->connection);
    uint32_t most = origin->streams_max;
    if (origin->quota > 0) {
        uint64_t left = state->submitted < origin->quota ? origin->quota - state->submitted : 0;
        uint64_t allowed = left > 0 ? state->requests + left : 1;
        most = allowed < most ? (uint32_t)allowed : most;
    }
    uint32_t own = most > state->requests ? most - state->requests : 0;
    return room < own ? room : own;
}

/* The one with the most room; NULL: none has any. */
static struct h2_member *choose(struct h2_origin *origin, int64_t now_ms)
{
    struct h2_member *best = NULL;
    uint32_t best_room = 0;
    for (struct h2_member *member = origin->members; member; member = member->next) {
        uint32_t room = room_on(origin, member);
        if (room > 0 && h2_connection_state(member->connection)->requests == 0 &&
            now_ms - h2_connection_heard_ms(member->connection) >= STALE_MS) {
            h2_connection_check(member->connection, now_ms);
            room = 0;
        }
        if (room > best_room) {
            best = member;
            best_room = room;
        }
    }
    return best;
}

static void open_more(struct h2_origin *origin, int64_t now_ms)
{
    const struct transport_config *config = origin->pool->shared.config;
    uint32_t serving = 0; /* or about to */
    uint32_t pending = 0;
    for (struct h2_member *member = origin->members; member; member = member->next) {
        const struct h2_session_state *state = h2_connection_state(member->connection);
        if (state->is_draining && state->submitted == 0) {
            return; /* it is about to be closed without having served: that is judged first */
        }
        bool is_spent =
            state->is_draining || (origin->quota > 0 && state->submitted >= origin->quota);
        serving += !is_spent;
        pending += !is_spent && h2_connection_room(member->connection) == 0 && state->requests == 0;
    }
    if (now_ms < origin->hold_until_ms &&
        (serving > 0 || origin->streams_max < config->streams_max)) {
        return; /* the timer comes back to it */
    }
    while (origin->waiting.count > (size_t)pending * streams_at_once(origin) &&
           serving < config->connections_max_per_origin && (origin->is_proven || pending == 0)) {
        if (origin->pool->connection_count >= config->connections_max) {
            origin->pool->is_starved = true;
            return;
        }
        if (!open_one(origin, now_ms)) {
            if (!origin->members) {
                fail_waiting(origin, LULL_TRANSPORT_REFUSED, "there is no memory");
            }
            return;
        }
        serving++;
        pending++;
    }
}

void h2_origin_assign(struct h2_origin *origin, int64_t now_ms)
{
    while (origin->waiting.first) {
        struct h2_member *member = choose(origin, now_ms);
        struct transport_request *request = origin->waiting.first;
        if (!member) {
            break;
        }
        request_list_remove(&origin->waiting, request);
        request->own.place = member;
        request->protocol = TRANSPORT_PROTOCOL_HTTP_2;
        set_timer(origin, request, now_ms, request->first_byte_timeout_ms);
        if (h2_connection_submit(member->connection, request, now_ms) != 0) {
            transport_finish(origin->pool->transport, request, LULL_TRANSPORT_REFUSED,
                             "there is no memory");
        }
    }
    struct transport_request *late = origin->waiting.last;
    for (; late && late->own.timer.place == 0; late = late->own.previous) {
        set_timer(origin, late, late->submitted_ms, late->connect_timeout_ms);
    }
    if (origin->waiting.first) {
        open_more(origin, now_ms);
    }
}

int64_t h2_origin_retire_idle(struct h2_origin *origin, bool is_asking, int64_t now_ms)
{
    struct h2_member *oldest = NULL;
    int64_t used_ms = LULL_NEVER;
    for (struct h2_member *member = origin->members; member; member = member->next) {
        if (h2_connection_room(member->connection) > 0 &&
            h2_connection_state(member->connection)->requests == 0 &&
            h2_connection_used_ms(member->connection) < used_ms) {
            oldest = member;
            used_ms = h2_connection_used_ms(member->connection);
        }
    }
    if (oldest && !is_asking) {
        h2_connection_retire(oldest->connection, now_ms);
    }
    return used_ms;
}
