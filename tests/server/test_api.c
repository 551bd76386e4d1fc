/* The API: each of its answers, by a real daemon on a real socket. SPDX-License-Identifier: MIT */
#include "api_world.h"

#include <arpa/inet.h>
#include <jansson.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine.h"
#include "intake.h"
#include "lull/error.h"
#include "store.h"

static struct reply get(const struct api_world *world, const char *path)
{
    return talk(world, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
}

static struct reply post(const struct api_world *world, const char *headers, const char *body)
{
    return talk_post(world, MESSAGES, JSON, headers, body);
}

static json_t *json_of(struct reply *reply)
{
    json_t *json = json_loadb(reply->body, reply->length, 0, NULL);
    assert_non_null(json);
    return json;
}

static const char *text_of(json_t *json, const char *member)
{
    const char *text = json_string_value(json_object_get(json, member));
    assert_non_null(text);
    return text;
}

/* A problem of this kind, whole; and the connection's headers that belong to it. */
static void expect_problem(struct reply *reply, int status, const char *word)
{
    char type[64];
    (void)snprintf(type, sizeof type, "urn:lull:problem:%s", word);
    if (reply->status != status) {
        print_error("%s\n%s\n", reply->head, reply->body ? reply->body : "");
    }
    assert_int_equal(reply->status, status);
    assert_non_null(strstr(reply->head, "Content-Type: application/problem+json\r\n"));
    assert_non_null(strstr(reply->head, "X-Request-Id: "));
    json_t *json = json_of(reply);
    assert_string_equal(text_of(json, "type"), type);
    assert_int_equal(json_integer_value(json_object_get(json, "status")), status);
    assert_true(strlen(text_of(json, "title")) > 0);
    assert_true(strlen(text_of(json, "detail")) > 0);
    assert_non_null(strstr(reply->head, text_of(json, "request_id")));
    json_decref(json);
    reply_free(reply);
}

static void put_one(const struct api_world *world, const char *body, char id[14])
{
    struct reply reply = post(world, "", body);
    assert_int_equal(reply.status, 202);
    json_t *json = json_of(&reply);
    (void)snprintf(id, 14, "%s", text_of(json, "id"));
    json_decref(json);
    reply_free(&reply);
}

/* ---- putting ---- */

static void test_a_message_is_accepted(void **state)
{
    const struct api_world *world = *state;
    struct reply reply = post(world, "", WEBHOOK);
    assert_int_equal(reply.status, 202);
    json_t *json = json_of(&reply);
    assert_string_equal(text_of(json, "state"), "leased");
    assert_int_equal(json_object_size(json), 2);
    char location[64];
    (void)snprintf(location, sizeof location, "Location: /v1/messages/%s\r\n", text_of(json, "id"));
    assert_non_null(strstr(reply.head, location));
    assert_non_null(strstr(reply.head, "Content-Type: application/json\r\n"));
    assert_non_null(strstr(reply.head, "Cache-Control: no-store\r\n"));
    json_decref(json);
    reply_free(&reply);
}

static void test_a_push_is_accepted_and_one_to_wait_waits(void **state)
{
    const struct api_world *world = *state;
    char body[1024];
    (void)snprintf(body, sizeof body, "{\"subscription\":%s,\"body\":\"hi\",\"delay\":60}",
                   world->subscription);
    struct reply reply = post(world, "", body);
    assert_int_equal(reply.status, 202);
    assert_non_null(strstr(reply.body, "\"state\":\"waiting\""));
    reply_free(&reply);
}

/* Q6 */
static void test_idempotency_keys(void **state)
{
    const struct api_world *world = *state;
    struct reply first = post(world, "Idempotency-Key: k1\r\n", WEBHOOK);
    struct reply again = post(world, "Idempotency-Key: k1\r\n", WEBHOOK);
    assert_int_equal(first.status, 202);
    assert_int_equal(again.status, 202);
    assert_null(strstr(first.head, "Idempotency-Replayed"));
    assert_non_null(strstr(again.head, "Idempotency-Replayed: true\r\n"));
    assert_memory_equal(first.body, again.body, sizeof "{\"id\":\"0123456789012\"" - 1);
    reply_free(&first);
    reply_free(&again);

    struct reply other =
        post(world, "Idempotency-Key: k1\r\n",
             "{\"webhook\":{\"url\":\"https://hooks.example/in\"},\"body\":\"b\"}");
    expect_problem(&other, 422, "key-reused");
    struct reply differs = post(world, "Idempotency-Key: k1\r\n",
                                "{\"webhook\":{\"url\":\"https://hooks.example/in\"},"
                                "\"idempotency_key\":\"k2\"}");
    expect_problem(&differs, 400, "bad-request");
}

static void test_what_is_not_a_message_is_refused(void **state)
{
    const struct api_world *world = *state;
    static const char *const bodies[] = {
        "",
        "{",
        "[]",
        "null",
        "{}",
        WEBHOOK "x",
        WEBHOOK WEBHOOK,
        "{\"colour\":1}",
        "\xff",
        "{\"webhook\":{\"url\":\"https://hooks.example/in\"},\"ttl\":-1}",
    };
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct reply reply = post(world, "", bodies[i]);
        expect_problem(&reply, 400, "bad-request");
    }
    struct reply member = post(world, "", "{\"colour\":1}");
    assert_non_null(strstr(member.body, "\"member\":\"colour\""));
    reply_free(&member);
}

static void test_media_types(void **state)
{
    const struct api_world *world = *state;
    static const char *const good[] = {"application/json", "Application/JSON; charset=UTF-8",
                                       "application/json ;charset=\"utf-8\""};
    static const char *const bad[] = {"text/plain", "application/jsonp", NDJSON, "",
                                      "application/json; charset=latin1"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct reply reply = talk_post(world, MESSAGES, good[i], "", WEBHOOK);
        assert_int_equal(reply.status, 202);
        reply_free(&reply);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct reply reply = talk_post(world, MESSAGES, bad[i], "", WEBHOOK);
        expect_problem(&reply, 415, "unsupported-media-type");
    }
    struct reply packed = post(world, "Content-Encoding: gzip\r\n", WEBHOOK);
    expect_problem(&packed, 415, "unsupported-media-type");
    struct reply none = talk(world, "POST " MESSAGES " HTTP/1.1\r\nHost: x\r\n"
                                    "Content-Length: 2\r\n\r\n{}");
    expect_problem(&none, 415, "unsupported-media-type");
}

/* ---- sizes ---- */

static void test_a_body_that_is_too_large(void **state)
{
    const struct api_world *world = *state;
    char body[5000];
    memset(body, ' ', sizeof body - 1);
    body[sizeof body - 1] = '\0';

    /* A short one is read and thrown away, and the connection goes on. */
    int fd = talk_connect(world);
    talk_say(fd,
             "POST " MESSAGES " HTTP/1.1\r\nHost: x\r\nContent-Type: " JSON
             "\r\nContent-Length: %zu\r\n\r\n%s"
             "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
             strlen(body), body);
    struct reply reply = talk_read(fd, false);
    expect_problem(&reply, 413, "too-large");
    reply = talk_read(fd, false);
    assert_int_equal(reply.status, 200);
    reply_free(&reply);
    (void)close(fd);

    /* A long one, and one that waits to be asked for, is not. */
    reply = talk(world, "POST " MESSAGES " HTTP/1.1\r\nHost: x\r\nContent-Type: " JSON
                        "\r\nContent-Length: 100000000\r\n\r\n");
    expect_problem(&reply, 413, "too-large");
    reply = talk(world, "POST " MESSAGES " HTTP/1.1\r\nHost: x\r\nContent-Type: " JSON
                        "\r\nExpect: 100-continue\r\nContent-Length: 5000\r\n\r\n");
    expect_problem(&reply, 413, "too-large");

    /* One that does not say: up to the limit it is taken, then not. */
    reply = talk(world,
                 "POST " MESSAGES " HTTP/1.1\r\nHost: x\r\nContent-Type: " JSON
                 "\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n%s\r\n0\r\n\r\n",
                 sizeof WEBHOOK - 1, WEBHOOK);
    assert_int_equal(reply.status, 202);
    reply_free(&reply);
    reply = talk(world,
                 "POST " MESSAGES " HTTP/1.1\r\nHost: x\r\nContent-Type: " JSON
                 "\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n%s\r\n0\r\n\r\n",
                 strlen(body), body);
    expect_problem(&reply, 413, "too-large");
}

/* Without end: the answer comes in the middle, and the connection is cut. */
static void test_a_body_that_never_ends(void **state)
{
    const struct api_world *world = *state;
    static char chunk[16384 + 10];
    int length = snprintf(chunk, sizeof chunk, "4000\r\n%16384s\r\n", "");
    int fd = talk_connect(world);
    talk_say(fd, "POST " MESSAGES " HTTP/1.1\r\nHost: x\r\nContent-Type: " JSON
                 "\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 1000; i++) {
        talk_write(fd, chunk, (size_t)length); /* fails at some time */
    }
    struct reply reply = talk_read(fd, false);
    assert_true(reply.status == 0 || reply.status == 413); /* a reset may overtake it */
    reply_free(&reply);
    (void)close(fd);
}

static void test_a_head_that_is_too_large(void **state)
{
    const struct api_world *world = *state;
    static char header[40000];
    memset(header, 'a', sizeof header - 1);
    struct reply reply = talk(world, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: %s\r\n\r\n", header);
    assert_int_equal(reply.status, 431);
    reply_free(&reply);
}

/* ---- routing ---- */

static void test_paths_and_methods(void **state)
{
    const struct api_world *world = *state;
    static const char *const unknown[] = {"/",
                                          "/v1",
                                          "/v1/messages/",
                                          "/v1/messages/a/b",
                                          "/v2/messages",
                                          "/healthz/",
                                          "/openapi.json",
                                          "/v1/messages/0000000000000",
                                          "/v1/messages/xyz",
                                          "/v1/messages/{id}",
                                          "/v1/messages/%00"};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        struct reply reply = get(world, unknown[i]);
        expect_problem(&reply, 404, "not-found");
    }
    static const struct {
        const char *line;
        const char *allow;
    } wrong[] = {
        {"PUT /v1/messages", "Allow: GET, HEAD, POST\r\n"},
        {"GET /v1/messages/batch", "Allow: POST\r\n"},
        {"POST /v1/messages/0000000000001", "Allow: GET, HEAD, DELETE\r\n"},
        {"DELETE /v1/status", "Allow: GET, HEAD\r\n"},
        {"OPTIONS /healthz", "Allow: GET, HEAD\r\n"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct reply reply =
            talk(world, "%s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n", wrong[i].line);
        assert_non_null(strstr(reply.head, wrong[i].allow));
        expect_problem(&reply, 405, "method-not-allowed");
    }
}

static void test_a_query_that_is_not_known_is_refused(void **state)
{
    const struct api_world *world = *state;
    static const char *const paths[] = {
        "/healthz?x=1",
        "/v1/messages/0000000000001?x",
        "/v1/messages?colour=red",
        "/v1/messages?limit=0",
        "/v1/messages?limit=1001",
        "/v1/messages?limit=",
        "/v1/messages?limit",
        "/v1/messages?limit=1&limit=1",
        "/v1/messages?limit=-1",
        "/v1/messages?state=delivered",
        "/v1/messages?service=",
        "/v1/messages?cursor=abc",
        "/v1/messages?cursor=0000000000000",
        "/v1/messages?service=a%00b%",
    };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0] - 1; i++) {
        struct reply reply = get(world, paths[i]);
        expect_problem(&reply, 400, "bad-request");
    }
}

static void test_head_is_answered_where_get_is(void **state)
{
    const struct api_world *world = *state;
    static const char *const paths[] = {"/healthz",      "/readyz",    "/metrics",
                                        "/openapi.yaml", "/v1/status", "/v1/messages"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        int fd = talk_connect(world);
        talk_say(fd, "HEAD %s HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
                 paths[i]);
        struct reply reply = talk_read(fd, true);
        assert_int_equal(reply.status, 200);
        assert_non_null(strstr(reply.head, "Content-Length: "));
        reply_free(&reply);
        reply = talk_read(fd, false);
        assert_int_equal(reply.status, 200);
        reply_free(&reply);
        (void)close(fd);
    }
}

static void test_request_ids(void **state)
{
    const struct api_world *world = *state;
    struct reply reply =
        talk(world, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: a.B-9_\r\n\r\n");
    assert_non_null(strstr(reply.head, "X-Request-Id: a.B-9_\r\n"));
    reply_free(&reply);
    reply = talk(world, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-Id: a b\r\n\r\n");
    const char *made = strstr(reply.head, "X-Request-Id: ");
    assert_non_null(made);
    assert_int_equal(strcspn(made + sizeof "X-Request-Id: " - 1, "\r"), 16);
    reply_free(&reply);
}

/* ---- admission ---- */

static void test_a_full_queue_says_when_there_will_be_room(void **state)
{
    const struct api_world *world = *state;
    struct api_health *health = stand_in_health(world->stand_in);
    atomic_store(&health->admission, ((struct api_admission){ENGINE_THROTTLED, 17}));
    struct reply reply = post(world, "", WEBHOOK);
    assert_non_null(strstr(reply.head, "Retry-After: 17\r\n"));
    expect_problem(&reply, 429, "queue-full");
    reply = talk_post(world, BATCH, NDJSON, "", WEBHOOK "\n");
    assert_non_null(strstr(reply.head, "Retry-After: 17\r\n"));
    expect_problem(&reply, 429, "queue-full");
    reply = get(world, "/readyz"); /* elsewhere is no better */
    assert_int_equal(reply.status, 200);
    reply_free(&reply);

    atomic_store(&health->admission, ((struct api_admission){ENGINE_REFUSED, 90}));
    reply = post(world, "", WEBHOOK);
    assert_non_null(strstr(reply.head, "Retry-After: 90\r\n"));
    expect_problem(&reply, 503, "unavailable");
    assert_int_equal(stand_in_count(world->stand_in), 0);
}

static void test_draining_disk_full_and_broken(void **state)
{
    const struct api_world *world = *state;
    struct api_health *health = stand_in_health(world->stand_in);
    const struct {
        atomic_bool *flag;
        const char *word;
    } cases[] = {{&health->is_draining, "draining"},
                 {&health->is_disk_full, "disk-full"},
                 {&health->is_broken, "unavailable"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        atomic_store(cases[i].flag, true);
        struct reply reply = post(world, "", WEBHOOK);
        assert_non_null(strstr(reply.head, "Retry-After: "));
        expect_problem(&reply, 503, cases[i].word);
        reply = get(world, "/readyz");
        expect_problem(&reply, 503, cases[i].word);
        reply = get(world, "/healthz");
        assert_int_equal(reply.status, 200);
        reply_free(&reply);
        atomic_store(cases[i].flag, false);
    }
    assert_int_equal(stand_in_count(world->stand_in), 0);
}

static void test_errors_of_the_store(void **state)
{
    const struct api_world *world = *state;
    static const struct {
        int error;
        int status;
        const char *word;
    } cases[] = {{STORE_ERR_DISK_FULL, 503, "disk-full"},
                 {STORE_ERR_BROKEN, 503, "unavailable"},
                 {LULL_ERR_FULL, 503, "unavailable"},
                 {LULL_ERR_MEMORY, 500, "internal"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        stand_in_fail(world->stand_in, cases[i].error);
        struct reply replies[] = {
            post(world, "", WEBHOOK),
            get(world, "/v1/messages/0000000000001"),
            get(world, "/v1/messages"),
            get(world, "/v1/status"),
            talk(world, "DELETE /v1/messages/0000000000001 HTTP/1.1\r\nHost: x\r\n\r\n"),
        };
        for (size_t k = 0; k < sizeof replies / sizeof replies[0]; k++) {
            expect_problem(&replies[k], cases[i].status, cases[i].word);
        }
    }
}

/* ---- looking ---- */

static void test_a_message_is_shown_without_its_secrets(void **state)
{
    const struct api_world *world = *state;
    char body[1024];
    char path[64];
    char id[14];
    (void)snprintf(body, sizeof body,
                   "{\"subscription\":%s,\"body\":\"the plain text\",\"delay\":3600,"
                   "\"topic\":\"news\",\"urgency\":\"high\",\"ttl\":60}",
                   world->subscription);
    put_one(world, body, id);
    (void)snprintf(path, sizeof path, "/v1/messages/%s", id);
    struct reply reply = get(world, path);
    assert_int_equal(reply.status, 200);
    assert_null(strstr(reply.body, "fcm/send"));
    assert_null(strstr(reply.body, "plain text"));
    assert_null(strstr(reply.body, "p256dh"));
    json_t *json = json_of(&reply);
    assert_string_equal(text_of(json, "id"), id);
    assert_string_equal(text_of(json, "state"), "waiting");
    assert_string_equal(text_of(json, "kind"), "push");
    assert_string_equal(text_of(json, "service"), "fcm");
    assert_string_equal(text_of(json, "urgency"), "high");
    assert_string_equal(text_of(json, "topic"), "news");
    assert_string_equal(text_of(json, "correlation_id"), id);
    assert_memory_equal(text_of(json, "endpoint_hash"), "sha256:", 7);
    assert_int_equal(json_integer_value(json_object_get(json, "ttl")), 60);
    assert_int_equal(json_array_size(json_object_get(json, "attempts")), 0);
    /* Q10 */
    json_t *why = json_object_get(json, "waiting_for");
    assert_string_equal(text_of(why, "cause"), "delayed");
    assert_string_equal(text_of(why, "until"), text_of(json, "due_at"));
    assert_true(strlen(text_of(why, "text")) > 20);
    json_decref(json);
    reply_free(&reply);
}

static void test_what_has_left_is_told(void **state)
{
    const struct api_world *world = *state;
    struct departed gone = {.id = 1, .at_ms = 1000, .attempts = 2, .status = 201};
    stand_in_answer(world->stand_in, JOB_DEPARTED, gone, DELIVERY_CANCEL_LATE);
    struct reply reply = get(world, "/v1/messages/0000000000001");
    assert_string_equal(reply.body,
                        "{\"id\":\"0000000000001\",\"state\":\"delivered\","
                        "\"attempts_made\":2,"
                        "\"delivered_at\":\"1970-01-01T00:00:01.000Z\",\"status\":201}");
    reply_free(&reply);
    reply = talk(world, "DELETE /v1/messages/0000000000001 HTTP/1.1\r\nHost: x\r\n\r\n");
    expect_problem(&reply, 409, "too-late");

    gone.is_replaced = true;
    gone.replaced_by = 2;
    stand_in_answer(world->stand_in, JOB_DEPARTED, gone, DELIVERY_CANCELLING);
    reply = get(world, "/v1/messages/0000000000001");
    assert_string_equal(reply.body, "{\"id\":\"0000000000001\",\"state\":\"replaced\","
                                    "\"attempts_made\":2,\"replaced_by\":\"0000000000002\"}");
    reply_free(&reply);
    reply = talk(world, "DELETE /v1/messages/0000000000001 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(reply.status, 202);
    assert_string_equal(reply.body, "{\"id\":\"0000000000001\",\"state\":\"leased\","
                                    "\"cancelling\":true}");
    reply_free(&reply);

    stand_in_answer(world->stand_in, JOB_GONE, gone, DELIVERY_CANCEL_UNKNOWN);
    reply = get(world, "/v1/messages/0000000000001");
    assert_string_equal(reply.body, "{\"id\":\"0000000000001\",\"state\":\"gone_by\"}");
    reply_free(&reply);

    stand_in_answer(world->stand_in, JOB_UNKNOWN, gone, DELIVERY_CANCEL_UNKNOWN);
    reply = get(world, "/v1/messages/0000000000001");
    expect_problem(&reply, 404, "not-found");
    reply = talk(world, "DELETE /v1/messages/0000000000001 HTTP/1.1\r\nHost: x\r\n\r\n");
    expect_problem(&reply, 404, "not-found");
}

static void test_a_cancelled_message_is_a_dead_letter(void **state)
{
    const struct api_world *world = *state;
    char id[14];
    put_one(world, "{\"webhook\":{\"url\":\"https://hooks.example/in\"},\"delay\":60}", id);
    struct reply reply = talk(world, "DELETE /v1/messages/%s HTTP/1.1\r\nHost: x\r\n\r\n", id);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, "\"state\":\"dead\",\"reason\":\"cancelled\"}"));
    reply_free(&reply);
    reply = talk(world, "GET /v1/messages/%s HTTP/1.1\r\nHost: x\r\n\r\n", id);
    assert_non_null(strstr(reply.body, "\"state\":\"dead\""));
    assert_non_null(strstr(reply.body, "\"reason\":\"cancelled\""));
    assert_non_null(strstr(reply.body, "\"died_at\":\""));
    assert_null(strstr(reply.body, "waiting_for"));
    reply_free(&reply);
}

static void test_a_list_comes_in_pages_newest_first(void **state)
{
    const struct api_world *world = *state;
    char ids[5][14];
    for (int i = 0; i < 5; i++) {
        put_one(world, "{\"webhook\":{\"url\":\"https://hooks.example/in\"},\"delay\":60}", ids[i]);
    }
    char path[128] = "/v1/messages?limit=2&state=waiting&service=hooks.example";
    int seen = 0;
    for (int page = 0; page < 10 && path[0]; page++) {
        struct reply reply = get(world, path);
        assert_int_equal(reply.status, 200);
        json_t *json = json_of(&reply);
        json_t *message = NULL;
        size_t index = 0;
        json_array_foreach(json_object_get(json, "messages"), index, message)
        {
            assert_string_equal(text_of(message, "id"), ids[4 - seen]);
            assert_string_equal(text_of(message, "service"), "hooks.example");
            assert_null(json_object_get(message, "attempts"));
            seen++;
        }
        const char *next = json_string_value(json_object_get(json, "next"));
        path[0] = '\0';
        if (next) {
            (void)snprintf(path, sizeof path,
                           "/v1/messages?limit=2&state=waiting&service=hooks.example&cursor=%s",
                           next);
        }
        json_decref(json);
        reply_free(&reply);
    }
    assert_int_equal(seen, 5);
    struct reply nobody = get(world, "/v1/messages?service=nobody.example");
    assert_string_equal(nobody.body, "{\"messages\":[],\"next\":null}");
    reply_free(&nobody);
}

static void test_status_metrics_and_description(void **state)
{
    const struct api_world *world = *state;
    struct reply reply = get(world, "/v1/status");
    assert_int_equal(reply.status, 200);
    json_t *json = json_of(&reply);
    assert_int_equal(json_integer_value(json_object_get(json, "uptime_s")), 5);
    assert_true(json_is_null(json_object_get(json_object_get(json, "queue"), "oldest_due_at")));
    assert_int_equal(json_object_size(json_object_get(json_object_get(json, "totals"), "dead")), 1);
    json_t *service = json_array_get(json_object_get(json, "services"), 0);
    assert_string_equal(text_of(service, "stop"), "paused");
    assert_string_equal(text_of(service, "until"), "2026-03-01T09:31:00.000Z");
    json_decref(json);
    reply_free(&reply);

    reply = get(world, "/metrics");
    assert_string_equal(reply.body, "lull_waiting 12\n");
    assert_non_null(strstr(reply.head, "Content-Type: text/plain; version=0.0.4"));
    reply_free(&reply);
    reply = get(world, "/openapi.yaml");
    assert_memory_equal(reply.body, "openapi: 3.1.0\n", 15);
    reply_free(&reply);
}

/* ---- tokens ---- */

static void test_tokens(void **state)
{
    (void)state;
    struct api_world world;
    api_world_init(&world);
    api_world_use_token(&world);
    api_world_start(&world);
    static const char *const open[] = {"/healthz", "/readyz", "/openapi.yaml"};
    for (size_t i = 0; i < 3; i++) {
        struct reply reply = get(&world, open[i]);
        assert_int_equal(reply.status, 200);
        reply_free(&reply);
    }
    static const char *const closed[] = {"/v1/status", "/metrics", "/v1/messages", "/nothing"};
    for (size_t i = 0; i < 4; i++) {
        struct reply reply = get(&world, closed[i]);
        assert_non_null(strstr(reply.head, "WWW-Authenticate: Bearer\r\n"));
        expect_problem(&reply, 401, "unauthorized");
    }
    struct reply reply = post(&world, "Authorization: Bearer another-secret-of-them\r\n", WEBHOOK);
    expect_problem(&reply, 401, "unauthorized");
    reply = post(&world, "Authorization: Bearer " TEST_TOKEN "\r\n", WEBHOOK);
    assert_int_equal(reply.status, 202);
    reply_free(&reply);
    api_world_stop(&world);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, api_world_setup, api_world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_a_message_is_accepted),
        TEST(test_a_push_is_accepted_and_one_to_wait_waits),
        TEST(test_idempotency_keys),
        TEST(test_what_is_not_a_message_is_refused),
        TEST(test_media_types),
        TEST(test_a_body_that_is_too_large),
        TEST(test_a_body_that_never_ends),
        TEST(test_a_head_that_is_too_large),
        TEST(test_paths_and_methods),
        TEST(test_a_query_that_is_not_known_is_refused),
        TEST(test_head_is_answered_where_get_is),
        TEST(test_request_ids),
        TEST(test_a_full_queue_says_when_there_will_be_room),
        TEST(test_draining_disk_full_and_broken),
        TEST(test_errors_of_the_store),
        TEST(test_a_message_is_shown_without_its_secrets),
        TEST(test_what_has_left_is_told),
        TEST(test_a_cancelled_message_is_a_dead_letter),
        TEST(test_a_list_comes_in_pages_newest_first),
        TEST(test_status_metrics_and_description),
        cmocka_unit_test(test_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
