/* send_ours - Lull's sender, by src/http/transport.h, as a daemon would use it. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lull/error.h"
#include "lull/os.h"
#include "send_way.h"
#include "transport.h"

#define WAIT_MAX_MS 10000

struct slot {
    struct push *push;
    struct transport_request request;
    struct lull_header headers[WORK_HEADER_COUNT + 1];
};

struct ours {
    struct work *work;
    struct transport *transport;
    struct slot slots[WORK_SLOTS];
    struct slot *idle[WORK_SLOTS];
    size_t idle_count;
};

static bool complain(const char *what, const char *detail)
{
    (void)fprintf(stderr, "bench-send: ours: %s%s%s\n", what, detail ? ": " : "",
                  detail ? detail : "");
    return false;
}

#define TEXT(string) string, sizeof(string) - 1
#define FIXED(name, value) {TEXT(name), TEXT(value)},

static bool submit(struct ours *ours, work_make *make, int64_t now_ms)
{
    static const struct lull_header fixed[] = {WORK_HEADERS(FIXED)};
    struct slot *slot = ours->idle[--ours->idle_count];
    struct push *push = slot->push;
    struct transport_request *request = &slot->request;
    if (!make(ours->work, push)) {
        return complain("a push could not be made", NULL);
    }
    memcpy(slot->headers, fixed, sizeof fixed);
    slot->headers[WORK_HEADER_COUNT] = (struct lull_header){
        TEXT("authorization"), push->authorization, push->authorization_length};
    transport_request_init(request, push->url);
    request->headers = slot->headers;
    request->header_count = WORK_HEADER_COUNT + 1;
    request->body = push->body;
    request->body_length = WORK_BODY_SIZE;
    request->is_public_only = false;
    request->userdata = slot;
    int error = transport_submit(ours->transport, request, now_ms);
    return error == LULL_OK || complain("transport_submit", lull_error_to_string(error));
}

static bool is_good(const struct transport_request *request)
{
    if (request->outcome.kind != LULL_OUTCOME_STATUS || request->outcome.status != 201) {
        return complain("a request did not get its 201", request->detail);
    }
    return request->protocol == TRANSPORT_PROTOCOL_HTTP_2 || complain("not by HTTP/2", NULL);
}

static bool wait_for(const struct transport *transport)
{
    struct pollfd ready = {.fd = transport_fd(transport), .events = POLLIN};
    int64_t wake_at_ms = transport_wake_at_ms(transport);
    int64_t now_ms = lull_os_mono_ms();
    if (wake_at_ms <= now_ms) {
        return true;
    }
    int64_t wait_ms = wake_at_ms - now_ms < WAIT_MAX_MS ? wake_at_ms - now_ms : WAIT_MAX_MS;
    return poll(&ready, 1, (int)wait_ms) >= 0 || complain("poll", NULL);
}

static bool ours_send(void *sender, work_make *make, uint64_t count)
{
    struct ours *ours = sender;
    uint64_t to_submit = count;
    uint64_t to_come = count;
    for (;;) {
        struct transport_request *request;
        int64_t now_ms = lull_os_mono_ms();
        while (ours->idle_count > 0 && to_submit > 0) {
            if (!submit(ours, make, now_ms)) {
                return false;
            }
            to_submit--;
        }
        transport_step(ours->transport, now_ms);
        while ((request = transport_collect(ours->transport)) != NULL) {
            if (!is_good(request)) {
                return false;
            }
            ours->idle[ours->idle_count++] = request->userdata;
            to_come--;
        }
        if (to_come == 0) {
            return true;
        }
        bool has_next = ours->idle_count > 0 && to_submit > 0;
        if (!has_next && !wait_for(ours->transport)) {
            return false;
        }
    }
}

static void ours_close(void *sender)
{
    struct ours *ours = sender;
    transport_destroy(ours->transport);
    for (size_t i = 0; i < WORK_SLOTS; i++) {
        transport_request_clean_up(&ours->slots[i].request);
    }
    free(ours);
}

static void *ours_open(struct work *work)
{
    struct transport_config config;
    struct ours *ours = calloc(1, sizeof *ours);
    transport_config_default(&config);
    config.ca_file = work->ca_file;
    config.proxy = "";
    config.connections_max_per_origin = WORK_CONNECTIONS;
    config.streams_max = WORK_STREAMS;
    if (!ours || transport_new(&ours->transport, &config) != LULL_OK) {
        (void)complain("transport_new failed", NULL);
        free(ours);
        return NULL;
    }
    ours->work = work;
    for (size_t i = 0; i < WORK_SLOTS; i++) {
        ours->slots[i].push = &work->pushes[i];
        ours->idle[ours->idle_count++] = &ours->slots[i];
    }
    return ours;
}

static struct send_stats ours_stats(const void *sender)
{
    const struct ours *ours = sender;
    return (struct send_stats){.connections = transport_stats(ours->transport).connections};
}

const struct send_way send_ours = {
    .open = ours_open, .send = ours_send, .stats = ours_stats, .close = ours_close};
