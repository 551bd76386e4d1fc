/*
 * send_curl - the same by libcurl: a multi handle that multiplexes, easy handles that are used
 * again.
 *
 * A server may answer before it has read the body, and then ends the stream by a reset that says
 * there was no error. libcurl calls some of these transfers failed: they are counted here, not
 * sent again. libcurl 7.88 leaves a few waiting for ever, status in hand: the timeout ends them. By
 * curl_multi_socket_action there are many more of those, so the loop is curl_multi_perform's.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>

#include "send_way.h"

#define WAIT_MAX_MS 1000
#define TIMEOUT_MS 1000L

struct slot {
    struct push *push;
    CURL *easy;
    struct curl_slist *headers;
};

struct curl {
    struct work *work;
    CURLM *multi;
    struct slot slots[WORK_SLOTS];
    struct slot *idle[WORK_SLOTS];
    size_t idle_count;
    struct send_stats stats;
};

static bool complain(const char *what, const char *detail)
{
    (void)fprintf(stderr, "bench-send: curl: %s%s%s\n", what, detail ? ": " : "",
                  detail ? detail : "");
    return false;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the type is libcurl's */
static size_t on_body(char *data, size_t size, size_t count, void *userdata)
{
    (void)data;
    (void)userdata;
    return size * count;
}

/* ---- requests ---- */

static bool add_header(struct slot *slot, const char *name, const char *value)
{
    char line[640];
    (void)snprintf(line, sizeof line, "%s: %s", name, value);
    struct curl_slist *longer = curl_slist_append(slot->headers, line);
    if (longer) {
        slot->headers = longer;
    }
    return longer != NULL;
}

#define ADD_HEADER(name, value) &&add_header(slot, name, value)

static bool prepare(struct slot *slot, const struct work *work)
{
    CURL *easy = curl_easy_init();
    slot->easy = easy;
    return easy &&
           add_header(slot, "authorization", slot->push->authorization) WORK_HEADERS(ADD_HEADER) &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, slot->headers) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDS, slot->push->body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE, (long)WORK_BODY_SIZE) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, TIMEOUT_MS) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOPROXY, "*") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CAINFO, work->ca_file) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PRIVATE, slot) == CURLE_OK;
}

static bool submit(struct curl *curl, work_make *make)
{
    struct slot *slot = curl->idle[--curl->idle_count];
    if (!make(curl->work, slot->push)) {
        return complain("a push could not be made", NULL);
    }
    return (curl_easy_setopt(slot->easy, CURLOPT_URL, slot->push->url) == CURLE_OK &&
            curl_multi_add_handle(curl->multi, slot->easy) == CURLM_OK) ||
           complain("curl_multi_add_handle failed", NULL);
}

/* Takes back what is done. False: one did not get its 201. */
static bool collect(struct curl *curl, uint64_t *to_come)
{
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(curl->multi, &left)) != NULL) {
        struct slot *slot = NULL;
        CURL *easy = message->easy_handle;
        CURLcode code = message->data.result;
        long status = 0;
        long version = 0;
        long connections = 0;
        (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &slot);
        (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        (void)curl_easy_getinfo(easy, CURLINFO_HTTP_VERSION, &version);
        (void)curl_easy_getinfo(easy, CURLINFO_NUM_CONNECTS, &connections);
        bool is_stuck = status == 0 && code == CURLE_OPERATION_TIMEDOUT; /* it happens, rarely */
        if (status != 201 && !is_stuck) {
            return complain("a request did not get its 201", curl_easy_strerror(code));
        }
        if (version != CURL_HTTP_VERSION_2_0 && !is_stuck) {
            return complain("not by HTTP/2", NULL);
        }
        curl->stats.connections += (uint64_t)connections;
        curl->stats.late_errors += code != CURLE_OK && !is_stuck;
        curl->stats.stuck += is_stuck;
        (void)curl_multi_remove_handle(curl->multi, easy);
        curl->idle[curl->idle_count++] = slot;
        --*to_come;
    }
    return true;
}

static bool act(struct curl *curl)
{
    int running = 0;
    CURLMcode code = curl_multi_perform(curl->multi, &running);
    if (code == CURLM_OK) {
        code = curl_multi_poll(curl->multi, NULL, 0, WAIT_MAX_MS, NULL);
    }
    return code == CURLM_OK || complain("curl_multi_perform", curl_multi_strerror(code));
}

static bool curl_send(void *sender, work_make *make, uint64_t count)
{
    struct curl *curl = sender;
    uint64_t to_submit = count;
    uint64_t to_come = count;
    while (to_come > 0) {
        while (curl->idle_count > 0 && to_submit > 0) {
            if (!submit(curl, make)) {
                return false;
            }
            to_submit--;
        }
        if (!act(curl) || !collect(curl, &to_come)) {
            return false;
        }
    }
    return true;
}

static struct send_stats curl_stats(const void *sender)
{
    const struct curl *curl = sender;
    return curl->stats;
}

static void curl_close(void *sender)
{
    struct curl *curl = sender;
    for (size_t i = 0; i < WORK_SLOTS; i++) {
        if (curl->slots[i].easy) {
            (void)curl_multi_remove_handle(curl->multi, curl->slots[i].easy);
            curl_easy_cleanup(curl->slots[i].easy);
        }
        curl_slist_free_all(curl->slots[i].headers);
    }
    (void)curl_multi_cleanup(curl->multi);
    free(curl);
}

static bool set_up(struct curl *curl, struct work *work)
{
    curl->work = work;
    curl->multi = curl_multi_init();
    for (size_t i = 0; i < WORK_SLOTS; i++) {
        curl->slots[i].push = &work->pushes[i];
        curl->idle[curl->idle_count++] = &curl->slots[i];
        if (!prepare(&curl->slots[i], work)) {
            return false;
        }
    }
    return curl->multi &&
           curl_multi_setopt(curl->multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX) == CURLM_OK &&
           curl_multi_setopt(curl->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)WORK_CONNECTIONS) ==
               CURLM_OK &&
           curl_multi_setopt(curl->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, (long)WORK_STREAMS) ==
               CURLM_OK;
}

static void *curl_open(struct work *work)
{
    struct curl *curl = calloc(1, sizeof *curl);
    if (!curl) {
        return NULL;
    }
    if (!set_up(curl, work)) {
        (void)complain("it could not be set up", NULL);
        curl_close(curl);
        return NULL;
    }
    return curl;
}

const struct send_way send_curl = {
    .open = curl_open, .send = curl_send, .stats = curl_stats, .close = curl_close};
