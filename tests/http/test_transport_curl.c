/* C1, C9, C12, W5: the transport's way by libcurl, against a server that does what a script says.
 * Windows of time pass by the now_ms that is told, never by sleeping. */
#include "suite.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lull/http.h"
#include "names.h"
#include "server.h"
#include "tls_peer.h"
#include "transport_way.h"

/* Of ASan's runtime, if there is one. gcc of Debian comes without its header. */
__attribute__((weak)) size_t __sanitizer_get_current_allocated_bytes(void);

#define LENGTH(array) (sizeof(array) / sizeof(array)[0])
#define PATIENCE_MS 10000
#define HEADER(name, value)                                                                        \
    {                                                                                              \
        (name), sizeof(name) - 1, (value), sizeof(value) - 1                                       \
    }

/* ---- in the place of transport_h2: all servers speak HTTP/1.1 only ---- */

static struct transport_request *asked[4];
static size_t asked_count;

static int stand_in_submit(struct transport_way *way, struct transport_request *request,
                           int64_t now_ms)
{
    (void)way;
    (void)now_ms;
    assert_true(request->own.url.is_https && asked_count < LENGTH(asked));
    asked[asked_count++] = request;
    return LULL_OK;
}

static void stand_in_cancel(struct transport_way *way, struct transport_request *request,
                            int64_t now_ms)
{
    (void)request;
    (void)now_ms;
    fail_msg("%p has nothing to cancel", (void *)way);
}

static void stand_in_flush(struct transport_way *way, int64_t now_ms)
{
    while (asked_count > 0) {
        transport_hand_to_curl(way->transport, asked[--asked_count], now_ms);
    }
}

static void stand_in_destroy(struct transport_way *way)
{
    free(way);
}

struct transport_way *transport_h2_new(struct transport *transport, int *ret_error)
{
    static const struct transport_table table = {
        .submit = stand_in_submit,
        .cancel = stand_in_cancel,
        .flush = stand_in_flush,
        .destroy = stand_in_destroy,
    };
    struct transport_way *way = calloc(1, sizeof *way);
    assert_non_null(way);
    *ret_error = LULL_ERR_MEMORY;
    *way = (struct transport_way){.table = &table, .transport = transport};
    return way;
}

/* ---- a server, a transport, and the next request ---- */

struct scene {
    struct server *server;
    struct transport *transport;
    struct transport_request request;
    char url[128];
};

/* To the server, wherever it is. */
static void init_request(const struct scene *scene, struct transport_request *request)
{
    transport_request_init(request, server_url(scene->server));
    request->is_public_only = false;
    request->body = "pay";
    request->body_length = 3;
}

static void begin_with(struct scene *scene, const struct step *steps, size_t count,
                       const struct transport_config *config)
{
    *scene = (struct scene){.server = server_start(steps, count)};
    assert_int_equal(transport_new(&scene->transport, config), LULL_OK);
    init_request(scene, &scene->request);
}

static void begin(struct scene *scene, const struct step *steps, size_t count)
{
    begin_with(scene, steps, count, NULL);
}

static void finish(struct scene *scene)
{
    transport_destroy(scene->transport);
    transport_request_clean_up(&scene->request);
    server_stop(scene->server);
}

/* The same server by another host, as `format` has it: one %s for the port and the slash. */
static void set_url(struct scene *scene, const char *format)
{
    const char *port = strrchr(server_url(scene->server), ':') + 1;
    (void)snprintf(scene->url, sizeof scene->url, format, port);
    scene->request.url = scene->url;
}

static void submit(struct scene *scene, struct transport_request *request)
{
    assert_int_equal(transport_submit(scene->transport, request, lull_os_mono_ms()), LULL_OK);
}

/* As a loop does it; for a moment at most, since the test may wait for something else. */
static void step(struct scene *scene)
{
    struct pollfd polled = {.fd = transport_fd(scene->transport), .events = POLLIN};
    int64_t now_ms = lull_os_mono_ms();
    int64_t due_ms = transport_wake_at_ms(scene->transport);
    int64_t wait_ms = due_ms <= now_ms ? 0 : due_ms - now_ms < 5 ? due_ms - now_ms : 5;
    assert_true(poll(&polled, 1, (int)wait_ms) >= 0);
    transport_step(scene->transport, lull_os_mono_ms());
}

static struct transport_request *next_done(struct scene *scene)
{
    int64_t end_ms = lull_os_mono_ms() + PATIENCE_MS;
    while (lull_os_mono_ms() < end_ms) {
        struct transport_request *request = transport_collect(scene->transport);
        if (request) {
            return request;
        }
        step(scene);
    }
    fail_msg("nothing came back");
    return NULL;
}

static void wait_for_server(struct scene *scene, size_t count)
{
    int64_t end_ms = lull_os_mono_ms() + PATIENCE_MS;
    while (server_count(scene->server) < count) {
        assert_true(lull_os_mono_ms() < end_ms);
        step(scene);
    }
}

static void wait_for_head(struct scene *scene, const struct transport_request *request)
{
    int64_t end_ms = lull_os_mono_ms() + PATIENCE_MS;
    while (!request->response.is_head_complete) {
        assert_true(lull_os_mono_ms() < end_ms);
        step(scene);
    }
}

static struct transport_request *perform(struct scene *scene)
{
    submit(scene, &scene->request);
    assert_int_equal(transport_count(scene->transport), 1);
    assert_ptr_equal(next_done(scene), &scene->request);
    assert_int_equal(transport_count(scene->transport), 0);
    return &scene->request;
}

static void check_status(const struct transport_request *request, unsigned status,
                         bool is_body_complete)
{
    const struct lull_outcome *outcome = &request->outcome;
    if (outcome->kind != LULL_OUTCOME_STATUS || outcome->status != status) {
        fail_msg("%s %u instead of %u: %s", lull_transport_to_string(outcome->transport),
                 outcome->status, status, request->detail ? request->detail : "");
    }
    assert_int_equal(request->is_body_complete, is_body_complete);
    assert_null(request->detail);
    assert_int_equal(request->protocol, TRANSPORT_PROTOCOL_HTTP_1);
    assert_true(request->submitted_ms <= request->sent_ms);
    assert_true(request->sent_ms <= request->answered_ms);
}

/* CANCELLED is unknown by its name, sent or not. */
static void check_failure(const struct transport_request *request, enum lull_transport failure,
                          bool is_sent)
{
    const struct lull_outcome *outcome = &request->outcome;
    if (outcome->kind != LULL_OUTCOME_TRANSPORT || outcome->transport != failure) {
        fail_msg("%s %u instead of %s: %s", lull_transport_to_string(outcome->transport),
                 outcome->status, lull_transport_to_string(failure),
                 request->detail ? request->detail : "");
    }
    bool is_unknown = lull_outcome_effect(outcome) == LULL_EFFECT_UNKNOWN;
    assert_true(failure == LULL_TRANSPORT_CANCELLED || is_unknown == is_sent);
    assert_non_null(request->detail);
    assert_null(strstr(request->detail, "127.0.0.1"));
    assert_null(strstr(request->detail, "test"));
    assert_false(request->is_body_complete);
    assert_int_equal(request->protocol,
                     is_sent ? TRANSPORT_PROTOCOL_HTTP_1 : TRANSPORT_PROTOCOL_NONE);
    assert_int_equal(request->sent_ms >= 0, is_sent);
    assert_int_equal(request->answered_ms, -1);
}

static bool has(struct scene *scene, size_t index, const char *text)
{
    return strcasestr(server_request(scene->server, index), text) != NULL;
}

static bool begins(struct scene *scene, size_t index, const char *text)
{
    return strncmp(server_request(scene->server, index), text, strlen(text)) == 0;
}

/* ---- what is said, and what is answered ---- */

static void test_C1_status_headers_body(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {ANSWER, REPLY("201", "Location: /m/1\r\nX-Empty:\r\n", "4", "done")}};
    static const struct lull_header headers[] = {HEADER("ttl", "60"), HEADER("x-empty", ""),
                                                 HEADER("content-encoding", "aes128gcm")};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    scene.request.headers = headers;
    scene.request.header_count = LENGTH(headers);
    const struct transport_request *request = perform(&scene);
    check_status(request, 201, true);
    assert_int_equal(request->outcome.header_count, 3);
    const struct lull_header *location =
        lull_header_find(request->outcome.headers, request->outcome.header_count, "location");
    assert_non_null(location);
    assert_int_equal(location->value_length, 4);
    assert_memory_equal(location->value, "/m/1", 4);
    assert_int_equal(request->outcome.body_length, 4);
    assert_memory_equal(request->outcome.body, "done", 4);
    assert_true(begins(&scene, 0, "POST / HTTP/1.1\r\nHost: 127.0.0.1:"));
    assert_true(has(&scene, 0, "\r\nttl: 60\r\n"));
    assert_true(has(&scene, 0, "\r\nx-empty:\r\n"));
    assert_true(has(&scene, 0, "\r\ncontent-encoding: aes128gcm\r\n"));
    assert_true(has(&scene, 0, "\r\nContent-Length: 3\r\n"));
    assert_true(has(&scene, 0, "\r\n\r\npay"));
    finish(&scene);
}

static void test_C1_nothing_is_added(void **state)
{
    (void)state;
    static const char *const unwanted[] = {
        "expect:", "accept:", "content-type:", "accept-encoding:", "user-agent:", "connection:"};
    static const struct lull_header headers[] = {HEADER("content-type", "text/plain"),
                                                 HEADER("accept", "a/b")};
    static char
        big[12000]; /* curl would ask before it sends one of a megabyte; older ones, of 1 KB */
    memset(big, 'x', sizeof big);
    struct scene scene;
    begin(&scene, NULL, 0);
    scene.request.body = big;
    scene.request.body_length = sizeof big;
    check_status(perform(&scene), 200, true);
    for (size_t i = 0; i < LENGTH(unwanted); i++) {
        if (has(&scene, 0, unwanted[i])) {
            fail_msg("%s was sent", unwanted[i]);
        }
    }
    scene.request.headers = headers;
    scene.request.header_count = LENGTH(headers);
    check_status(perform(&scene), 200, true);
    assert_true(has(&scene, 1, "\r\ncontent-type: text/plain\r\n"));
    assert_true(has(&scene, 1, "\r\naccept: a/b\r\n"));
    scene.request.header_count = 0; /* the handle is used again, and remembers nothing */
    scene.request.body_length = 0;
    check_status(perform(&scene), 200, true);
    assert_false(has(&scene, 2, "content-type"));
    assert_false(has(&scene, 2, "xxx"));
    finish(&scene);
}

static void test_C1_methods(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        const char *body;
        const char *first;
        const char *length; /* that is said; NULL: none */
    } cases[] = {
        {NULL, "pay", "POST / ", "3"},         {NULL, NULL, "POST / ", "0"},
        {"POST", "", "POST / ", "0"},          {"PUT", "pay", "PUT / ", "3"},
        {"PUT", NULL, "PUT / ", "0"},          {"PATCH", NULL, "PATCH / ", "0"},
        {"GET", NULL, "GET / ", NULL},         {"GET", "pay", "GET / ", "3"},
        {"HEAD", NULL, "HEAD / ", NULL},       {"HEAD", "pay", "HEAD / ", NULL},
        {"DELETE", NULL, "DELETE / ", NULL},   {"DELETE", "pay", "DELETE / ", "3"},
        {"OPTIONS", NULL, "OPTIONS / ", NULL}, {"REPORT", "pay", "REPORT / ", "3"},
    };
    static const struct step headless[] = {
        {ANSWER, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        bool is_head = strncmp(cases[i].first, "HEAD", 4) == 0;
        char length[64] = "\r\nContent-Length:";
        struct scene scene;
        begin(&scene, headless, is_head ? 1 : 0);
        scene.request.method = cases[i].method;
        scene.request.body = cases[i].body;
        scene.request.body_length = cases[i].body ? strlen(cases[i].body) : 0;
        check_status(perform(&scene), 200, true);
        assert_int_equal(scene.request.outcome.body_length, is_head ? 0 : 2);
        assert_true(begins(&scene, 0, cases[i].first));
        if (cases[i].length) {
            (void)snprintf(length, sizeof length, "\r\nContent-Length: %s\r\n", cases[i].length);
        }
        assert_int_equal(has(&scene, 0, length), cases[i].length != NULL);
        assert_int_equal(has(&scene, 0, "\r\n\r\npay"), cases[i].length && *cases[i].length == '3');
        finish(&scene);
    }
}

static void test_V4_the_path_is_kept(void **state)
{
    (void)state;
    static const struct {
        const char *format;
        const char *first;
    } cases[] = {
        {"http://127.0.0.1:%sa/../b/./c?d=%%41&e=[x]#f",
         "POST /a/../b/./c?d=%41&e=[x] HTTP/1.1\r\n"},
        {"HTTP://127.0.0.1:%s", "POST / HTTP/1.1\r\n"},
        {"http://127.0.0.1:%s/x", "POST //x HTTP/1.1\r\n"},
        {"http://name.test:%s?q", "POST /?q HTTP/1.1\r\n"},
    };
    struct scene scene;
    begin(&scene, NULL, 0);
    for (size_t i = 0; i < LENGTH(cases); i++) {
        set_url(&scene, cases[i].format);
        check_status(perform(&scene), 200, true);
        assert_true(begins(&scene, i, cases[i].first));
    }
    finish(&scene);
}

static void test_W5_redirects_are_not_followed(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY("302", "Location: /else\r\n", "0", "")}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    check_status(perform(&scene), 302, true);
    assert_int_equal(server_count(scene.server), 1);
    finish(&scene);
}

static void test_C1_body_is_kept_up_to_a_limit(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY("429", "", "4", "busy")}};
    static const struct {
        size_t max;
        size_t kept;
        bool is_cut;
    } cases[] = {{0, 0, true}, {3, 3, true}, {4, 4, false}, {5, 4, false}};
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct scene scene;
        begin(&scene, steps, LENGTH(steps));
        scene.request.response_max = cases[i].max;
        check_status(perform(&scene), 429, !cases[i].is_cut);
        assert_int_equal(scene.request.response.is_body_cut, cases[i].is_cut);
        assert_int_equal(scene.request.outcome.body_length, cases[i].kept);
        assert_memory_equal(scene.request.outcome.body, "busy", cases[i].kept);
        scene.request.response_max = 100;
        check_status(perform(&scene), 200, true); /* and on it goes */
        assert_false(scene.request.response.is_body_cut);
        finish(&scene);
    }
}

/* An answer without end is not waited for. */
static void test_C12_a_body_over_the_limit_ends_it(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY("200", "", "999999", "for ever")}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    scene.request.response_max = 3;
    check_status(perform(&scene), 200, false);
    assert_true(scene.request.response.is_body_cut);
    assert_memory_equal(scene.request.outcome.body, "for", 4);
    finish(&scene);
}

static void test_C1_interim_responses_are_passed_over(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {ANSWER, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" REPLY(
                     "503", "", "4", "busy")}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    const struct transport_request *request = perform(&scene);
    check_status(request, 503, true);
    assert_int_equal(request->outcome.header_count, 1);
    finish(&scene);
}

static void test_C1_connections_are_used_again(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, NULL, 0);
    for (size_t i = 0; i < 5; i++) {
        check_status(perform(&scene), 200, true);
        assert_int_equal(server_connection(scene.server, i), 0);
    }
    finish(&scene);
}

/* What is over the limit waits, and goes out when there is room. */
static void test_C1_connections_per_origin(void **state)
{
    (void)state;
    static const struct step steps[] = {{HANG, NULL}, {HANG, NULL}};
    struct transport_config config;
    struct transport_request requests[8] = {0};
    struct scene scene;
    transport_config_default(&config);
    config.connections_max_per_origin = 2;
    begin_with(&scene, steps, LENGTH(steps), &config);
    for (size_t i = 0; i < LENGTH(requests); i++) {
        init_request(&scene, &requests[i]);
        submit(&scene, &requests[i]);
    }
    wait_for_server(&scene, 2);
    for (int i = 0; i < 10; i++) {
        step(&scene);
    }
    assert_int_equal(server_count(scene.server), 2);
    size_t cancelled = 0;
    for (size_t i = 0; i < LENGTH(requests); i++) {
        if (requests[i].sent_ms >= 0) {
            transport_cancel(scene.transport, &requests[i], lull_os_mono_ms());
            cancelled++;
        }
    }
    assert_int_equal(cancelled, 2);
    for (size_t i = 0; i < LENGTH(requests); i++) {
        const struct transport_request *request = next_done(&scene);
        bool is_status = request->outcome.kind == LULL_OUTCOME_STATUS;
        assert_int_equal(is_status, i >= 2);
    }
    assert_int_equal(server_count(scene.server), 8);
    assert_int_equal(transport_count(scene.transport), 0);
    for (size_t i = 0; i < LENGTH(requests); i++) {
        transport_request_clean_up(&requests[i]);
    }
    finish(&scene);
}

/* However many wait for one that does not. */
static void test_C1_another_origin_answers(void **state)
{
    (void)state;
    static const struct step steps[] = {{HANG, NULL}, {HANG, NULL}, {HANG, NULL}, {HANG, NULL}};
    static struct transport_request stuck[50];
    static struct transport_request requests[20];
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    struct server *other = server_start(NULL, 0);
    for (size_t i = 0; i < LENGTH(stuck); i++) {
        init_request(&scene, &stuck[i]);
        submit(&scene, &stuck[i]);
    }
    wait_for_server(&scene, LENGTH(steps));
    for (size_t i = 0; i < LENGTH(requests); i++) {
        init_request(&scene, &requests[i]);
        requests[i].url = server_url(other);
        submit(&scene, &requests[i]);
    }
    for (size_t i = 0; i < LENGTH(requests); i++) {
        const struct transport_request *request = next_done(&scene);
        assert_true(request >= requests && request < requests + LENGTH(requests));
        check_status(request, 200, true);
    }
    assert_int_equal(server_count(other), LENGTH(requests));
    assert_int_equal(server_count(scene.server), LENGTH(steps));
    assert_int_equal(transport_count(scene.transport), LENGTH(stuck));
    finish(&scene);
    server_stop(other);
    for (size_t i = 0; i < LENGTH(requests); i++) {
        transport_request_clean_up(&requests[i]);
    }
}

/* ---- endings ---- */

static void test_C12_no_head_is_unknown(void **state)
{
    (void)state;
    static const struct {
        struct step step;
        enum lull_transport expected;
    } cases[] = {
        {{RESET, NULL}, LULL_TRANSPORT_RESET},
        {{CLOSE, NULL}, LULL_TRANSPORT_RESET},
        {{ANSWER_AND_CLOSE, "HTTP/1.1 100 Continue\r\n\r\n"}, LULL_TRANSPORT_RESET},
        {{ANSWER_AND_CLOSE, "HTTP/1.1 200 OK\r\nX: y\r\n"}, LULL_TRANSPORT_RESET},
        {{RESET, "HTTP/1.1 200 OK\r\nX: y\r\n"}, LULL_TRANSPORT_RESET},
        {{ANSWER_AND_CLOSE, "220 smtp.test ESMTP\r\n\r\n"}, LULL_TRANSPORT_PROTOCOL},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct scene scene;
        begin(&scene, &cases[i].step, 1);
        check_failure(perform(&scene), cases[i].expected, true);
        assert_int_equal(server_count(scene.server), 1);
        finish(&scene);
    }
}

static void test_C12_a_status_stands(void **state)
{
    (void)state;
    static const struct {
        struct step step;
        bool is_complete;
    } cases[] = {
        {{ANSWER_AND_CLOSE, REPLY("201", "", "9", "half")}, false},
        {{RESET, REPLY("201", "", "9", "half")}, false},
        {{RESET, REPLY("201", "", "0", "")}, true},
        {{ANSWER_AND_CLOSE, "HTTP/1.1 201 Words\r\n\r\nhalf"}, true},
        {{ANSWER, "HTTP/1.1 201 Words\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n"},
         false},
        {{ANSWER, "HTTP/1.1 201 Words\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n0\r\n"
                  "HTTP/1.1 500 Words: x\r\n\r\n"},
         true},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct scene scene;
        begin(&scene, &cases[i].step, 1);
        check_status(perform(&scene), 201, cases[i].is_complete);
        assert_false(scene.request.response.is_body_cut);
        assert_int_equal(server_count(scene.server), 1);
        finish(&scene);
    }
}

/* Answers when it has seen the head, and closes while the body is still coming, which resets. */
static void *answer_early(void *userdata)
{
    static const char answer[] = REPLY("413", "", "3", "big");
    char text[4096] = "";
    size_t length = 0;
    int fd = accept(*(int *)userdata, NULL, NULL);
    while (fd >= 0 && !strstr(text, "\r\n\r\n") && length < sizeof text - 1) {
        ssize_t got = recv(fd, text + length, sizeof text - 1 - length, 0);
        if (got <= 0) {
            break;
        }
        length += (size_t)got;
        text[length] = '\0';
    }
    (void)send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL);
    (void)usleep(20000); /* else the reset may overtake what is still to be read */
    (void)close(fd);
    return NULL;
}

static void test_C12_an_early_answer_stands(void **state)
{
    (void)state;
    static char body[8 << 20];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    struct scene scene;
    pthread_t thread;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &length), 0);
    assert_int_equal(pthread_create(&thread, NULL, answer_early, &listener), 0);
    begin(&scene, NULL, 0);
    (void)snprintf(scene.url, sizeof scene.url, "http://127.0.0.1:%d/", ntohs(address.sin_port));
    scene.request.url = scene.url;
    scene.request.body = body;
    scene.request.body_length = sizeof body;
    check_status(perform(&scene), 413, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(close(listener), 0);
    finish(&scene);
}

/* libcurl would send it again by itself, since the connection might have died before. */
static void test_C9_a_request_is_never_repeated(void **state)
{
    (void)state;
    static const enum act acts[] = {CLOSE, RESET};
    static const char *const methods[] = {"POST", "GET", "PUT"};
    for (size_t i = 0; i < LENGTH(acts) * LENGTH(methods); i++) {
        struct step steps[] = {{ANSWER, REPLY_OK}, {acts[i % LENGTH(acts)], NULL}};
        struct scene scene;
        begin(&scene, steps, LENGTH(steps));
        scene.request.method = methods[i / LENGTH(acts)];
        check_status(perform(&scene), 200, true);
        check_failure(perform(&scene), LULL_TRANSPORT_RESET, true);
        assert_int_equal(server_count(scene.server), 2);
        assert_int_equal(server_connection(scene.server, 1), 0);
        check_status(perform(&scene), 200, true);
        assert_int_equal(server_count(scene.server), 3);
        finish(&scene);
    }
}

static uint16_t closed_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    assert_int_equal(close(fd), 0);
    return ntohs(address.sin_port);
}

static void test_C12_no_connection_is_not_sent(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, NULL, 0);
    (void)snprintf(scene.url, sizeof scene.url, "http://127.0.0.1:%d/", closed_port());
    scene.request.url = scene.url;
    check_failure(perform(&scene), LULL_TRANSPORT_REFUSED, false);
    scene.request.url = "http://nowhere.test/";
    check_failure(perform(&scene), LULL_TRANSPORT_DNS, false);
    init_request(&scene, &scene.request);
    check_status(perform(&scene), 200, true);
    finish(&scene);
}

/* By way of the stand-in for HTTP/2, which finds that the server speaks none. */
static void test_C12_no_tls_is_not_sent(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, NULL, 0);
    set_url(&scene, "https://127.0.0.1:%s");
    submit(&scene, &scene.request);
    for (int i = 0; i < 10; i++) { /* the server waits for the end of a head */
        step(&scene);
    }
    assert_null(transport_collect(scene.transport));
    int64_t due_ms = scene.request.submitted_ms + scene.request.connect_timeout_ms;
    transport_step(scene.transport, due_ms);
    assert_ptr_equal(transport_collect(scene.transport), &scene.request);
    check_failure(&scene.request, LULL_TRANSPORT_CONNECT_TIMEOUT, false);
    assert_int_equal(server_count(scene.server), 0);
    finish(&scene);
}

/* By TLS, handed over by the stand-in as well. */
static void test_C1_tls(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct step step;
        const char *host;
        bool is_trusted;
        bool is_closing_at_once;
        enum lull_transport expected; /* NONE: a status */
    } cases[] = {
        {"good", {ANSWER, REPLY_OK}, "name.test", true, false, LULL_TRANSPORT_NONE},
        {"not trusted", {ANSWER, REPLY_OK}, "name.test", false, false, LULL_TRANSPORT_TLS},
        {"other name", {ANSWER, REPLY_OK}, "127.0.0.1", true, false, LULL_TRANSPORT_TLS},
        {"no handshake", {CLOSE, NULL}, "name.test", true, true, LULL_TRANSPORT_TLS_HANDSHAKE},
        {"no answer", {CLOSE, NULL}, "name.test", true, false, LULL_TRANSPORT_RESET},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct tls_peer *peer = tls_peer_start(&cases[i].step, cases[i].is_closing_at_once);
        struct transport_config config;
        struct scene scene;
        transport_config_default(&config);
        config.ca_file = cases[i].is_trusted ? tls_peer_ca_file(peer) : NULL;
        begin_with(&scene, NULL, 0, &config);
        (void)snprintf(scene.url, sizeof scene.url, "https://%s:%d/", cases[i].host,
                       tls_peer_port(peer));
        scene.request.url = scene.url;
        bool is_good = cases[i].expected == LULL_TRANSPORT_NONE;
        bool is_sent = cases[i].expected == LULL_TRANSPORT_RESET;
        for (int j = 0; j < 2; j++) {
            const struct transport_request *request = perform(&scene);
            if (is_good) {
                check_status(request, 200, true);
            } else {
                check_failure(request, cases[i].expected, is_sent);
            }
        }
        assert_int_equal(tls_peer_count(peer), is_good || is_sent ? 2 : 0);
        if (is_good) {
            assert_string_equal(tls_peer_alpn(peer), "\x08http/1.1");
        }
        assert_int_equal(server_count(scene.server), 0);
        finish(&scene);
        tls_peer_stop(peer);
    }
}

/* OpenSSL by itself would write its last words without MSG_NOSIGNAL, whoever listens. */
static void test_C1_no_signal_by_a_broken_connection(void **state)
{
    (void)state;
    static const struct step answer = {RESET, REPLY_OK};
    for (int i = 0; i < 2; i++) {
        struct tls_peer *peer = tls_peer_start(&answer, false);
        struct transport_config config;
        struct scene scene;
        transport_config_default(&config);
        config.ca_file = tls_peer_ca_file(peer);
        begin_with(&scene, NULL, 0, &config);
        (void)snprintf(scene.url, sizeof scene.url, "https://name.test:%d/", tls_peer_port(peer));
        scene.request.url = scene.url;
        check_status(perform(&scene), 200, true);
        while (tls_peer_closed(peer) == 0) {
            (void)usleep(1000);
        }
        if (i == 0) { /* the next request finds that it is over, else the destroy does */
            check_status(perform(&scene), 200, true);
        }
        assert_int_equal(tls_peer_count(peer), i == 0 ? 2 : 1);
        finish(&scene);
        tls_peer_stop(peer);
    }
}

/* ---- time ---- */

static void test_C12_no_answer_in_time(void **state)
{
    (void)state;
    static const struct step steps[] = {{HANG, NULL}, {ANSWER, "HTTP/1.1 100 Continue\r\n\r\n"}};
    static const struct {
        int64_t first_byte_timeout_ms;
        int64_t timeout_ms;
    } cases[] = {{30000, LULL_NEVER}, {30000, 60000}, {LULL_NEVER, 60000}, {30000, 20000}};
    for (size_t i = 0; i < LENGTH(cases) * LENGTH(steps); i++) {
        struct scene scene;
        begin(&scene, &steps[i % LENGTH(steps)], 1);
        struct transport_request *request = &scene.request;
        request->first_byte_timeout_ms = cases[i / LENGTH(steps)].first_byte_timeout_ms;
        request->timeout_ms = cases[i / LENGTH(steps)].timeout_ms;
        submit(&scene, request);
        wait_for_server(&scene, 1);
        for (int j = 0; j < 5; j++) {
            step(&scene);
        }
        assert_true(request->sent_ms >= 0);
        int64_t due_ms = request->first_byte_timeout_ms < request->timeout_ms
                             ? request->sent_ms + request->first_byte_timeout_ms
                             : request->submitted_ms + request->timeout_ms;
        transport_step(scene.transport, due_ms - 1);
        assert_null(transport_collect(scene.transport));
        assert_true(transport_wake_at_ms(scene.transport) <= due_ms);
        transport_step(scene.transport, due_ms);
        assert_ptr_equal(transport_collect(scene.transport), request);
        check_failure(request, LULL_TRANSPORT_TIMEOUT, true);
        finish(&scene);
    }
}

static void test_C12_a_status_stands_when_time_is_up(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY("201", "", "9", "half")}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    struct transport_request *request = &scene.request;
    submit(&scene, request);
    wait_for_head(&scene, request);
    int64_t due_ms = request->submitted_ms + request->timeout_ms;
    transport_step(scene.transport, due_ms - 1); /* well after first_byte_timeout_ms */
    assert_null(transport_collect(scene.transport));
    transport_step(scene.transport, due_ms);
    assert_ptr_equal(transport_collect(scene.transport), request);
    check_status(request, 201, false);
    finish(&scene);
}

/* The name takes for ever, or the queue for a connection does. */
static void test_C12_no_connection_in_time(void **state)
{
    (void)state;
    static const struct step steps[] = {{HANG, NULL}};
    for (int i = 0; i < 4; i++) {
        bool is_queued = i % 2;
        struct transport_config config;
        struct transport_request first = {0};
        struct scene scene;
        transport_config_default(&config);
        config.connections_max_per_origin = 1;
        begin_with(&scene, steps, LENGTH(steps), &config);
        struct transport_request *request = &scene.request;
        init_request(&scene, &first);
        request->timeout_ms = i < 2 ? LULL_NEVER : 5000;
        if (is_queued) {
            submit(&scene, &first);
            wait_for_server(&scene, 1);
        } else {
            request->url = "http://hang.test/";
        }
        submit(&scene, request);
        for (int j = 0; j < 5; j++) {
            step(&scene);
        }
        if (!is_queued) {
            names_wait_for_hang();
        }
        int64_t due_ms = request->submitted_ms + (i < 2 ? request->connect_timeout_ms : 5000);
        transport_step(scene.transport, due_ms - 1);
        assert_null(transport_collect(scene.transport));
        transport_step(scene.transport, due_ms); /* and does not wait for the look-up */
        assert_ptr_equal(transport_collect(scene.transport), request);
        check_failure(request, LULL_TRANSPORT_CONNECT_TIMEOUT, false);
        if (!is_queued) {
            names_release();
        }
        finish(&scene);
        transport_request_clean_up(&first);
    }
}

/* ---- addresses and proxies ---- */

static void test_W5_forbidden_addresses(void **state)
{
    (void)state;
    static const char *const formats[] = {"http://127.0.0.1:%s", "http://name.test:%s",
                                          "http://localhost:%s", "http://[::1]:%s",
                                          "http://0x7f.1:%s",    "https://127.0.0.1:%s"};
    struct scene scene;
    begin(&scene, NULL, 0);
    for (size_t i = 0; i < LENGTH(formats); i++) {
        set_url(&scene, formats[i]);
        scene.request.is_public_only = true;
        check_failure(perform(&scene), LULL_TRANSPORT_FORBIDDEN, false);
    }
    assert_int_equal(server_count(scene.server), 0);
    finish(&scene);
}

static void test_W5_nor_by_a_connection_that_is_open(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, NULL, 0);
    check_status(perform(&scene), 200, true);
    scene.request.is_public_only = true;
    check_failure(perform(&scene), LULL_TRANSPORT_FORBIDDEN, false);
    assert_int_equal(server_count(scene.server), 1);
    scene.request.is_public_only = false;
    check_status(perform(&scene), 200, true);
    assert_int_equal(server_count(scene.server), 2);
    finish(&scene);
}

static void test_W5_proxies(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        bool is_configured; /* else by the environment */
        bool is_public_only;
        bool is_switched_off; /* by "" in the configuration */
        const char *no_proxy;
        const char *first; /* of what the server sees; NULL: nothing */
    } cases[] = {
        {"configured", true, false, false, "", "POST http://name.test:"},
        {"configured, and no_proxy set", true, false, false, "*", "POST http://name.test:"},
        {"of the environment", false, false, false, "", "POST http://name.test:"},
        {"of the environment, with an exception", false, false, false, "name.test", "POST / "},
        {"of the environment, switched off", false, false, true, "", "POST / "},
        {"configured, for public addresses only", true, true, false, "", NULL},
        {"of the environment, for public addresses only", false, true, false, "", NULL},
    };
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct scene scene = {.server = server_start(NULL, 0)};
        struct transport_config config;
        transport_config_default(&config);
        config.proxy = cases[i].is_configured     ? server_url(scene.server)
                       : cases[i].is_switched_off ? ""
                                                  : NULL;
        assert_int_equal(setenv("http_proxy", server_url(scene.server), 1), 0);
        assert_int_equal(setenv("no_proxy", cases[i].no_proxy, 1), 0);
        assert_int_equal(transport_new(&scene.transport, &config), LULL_OK);
        init_request(&scene, &scene.request);
        set_url(&scene, "http://name.test:%s");
        scene.request.is_public_only = cases[i].is_public_only;
        const struct transport_request *request = perform(&scene);
        if (cases[i].first) {
            check_status(request, 200, true);
        } else {
            check_failure(request, LULL_TRANSPORT_FORBIDDEN, false);
        }
        if (server_count(scene.server) != (cases[i].first ? 1 : 0) ||
            (cases[i].first && !begins(&scene, 0, cases[i].first))) {
            fail_msg("%s: %s", cases[i].name, server_request(scene.server, 0));
        }
        finish(&scene);
        (void)unsetenv("http_proxy");
        (void)unsetenv("no_proxy");
    }
}

/* Its answer to CONNECT is none to the request. */
static void test_C12_a_proxy_that_will_not_connect(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY("403", "", "2", "no")}};
    struct scene scene = {.server = server_start(steps, LENGTH(steps))};
    struct transport_config config;
    transport_config_default(&config);
    config.proxy = server_url(scene.server);
    assert_int_equal(transport_new(&scene.transport, &config), LULL_OK);
    static const struct lull_header headers[] = {HEADER("authorization", "secret")};
    init_request(&scene, &scene.request);
    scene.request.url = "https://name.test/";
    scene.request.headers = headers;
    scene.request.header_count = LENGTH(headers);
    check_failure(perform(&scene), LULL_TRANSPORT_REFUSED, false);
    assert_true(begins(&scene, 0, "CONNECT name.test:443 "));
    assert_false(has(&scene, 0, "secret"));
    finish(&scene);
}

/* ---- cancelled, refused, forgotten ---- */

static void cancel(struct scene *scene, bool is_sent)
{
    transport_cancel(scene->transport, &scene->request, lull_os_mono_ms());
    assert_ptr_equal(transport_collect(scene->transport), &scene->request);
    check_failure(&scene->request, LULL_TRANSPORT_CANCELLED, is_sent);
    transport_cancel(scene->transport, &scene->request, lull_os_mono_ms()); /* it has come back */
    assert_null(transport_collect(scene->transport));
    assert_int_equal(transport_count(scene->transport), 0);
}

static void test_C1_cancelled_at_each_stage(void **state)
{
    (void)state;
    static const struct step steps[] = {{HANG, NULL}, {ANSWER, REPLY("201", "", "9", "half")}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    submit(&scene, &scene.request); /* nobody has stepped yet */
    cancel(&scene, false);
    assert_int_equal(server_count(scene.server), 0);

    scene.request.url = "http://hang.test/"; /* its name is being looked up */
    submit(&scene, &scene.request);
    step(&scene);
    names_wait_for_hang();
    cancel(&scene, false);
    names_release();

    scene.request.url = server_url(scene.server);
    submit(&scene, &scene.request); /* it was sent */
    wait_for_server(&scene, 1);
    cancel(&scene, true);

    submit(&scene, &scene.request); /* its status has arrived */
    wait_for_head(&scene, &scene.request);
    transport_cancel(scene.transport, &scene.request, lull_os_mono_ms());
    assert_ptr_equal(transport_collect(scene.transport), &scene.request);
    check_status(&scene.request, 201, false);

    submit(&scene, &scene.request); /* it is done, but was not collected */
    wait_for_head(&scene, &scene.request);
    while (transport_wake_at_ms(scene.transport) != INT64_MIN) {
        step(&scene);
    }
    transport_cancel(scene.transport, &scene.request, lull_os_mono_ms());
    assert_ptr_equal(transport_collect(scene.transport), &scene.request);
    check_status(&scene.request, 200, true);
    assert_null(transport_collect(scene.transport));
    finish(&scene);
}

static void test_C1_full(void **state)
{
    (void)state;
    static const struct step steps[] = {{HANG, NULL}};
    struct transport_config config;
    struct transport_request more = {0};
    struct scene scene;
    transport_config_default(&config);
    config.requests_max = 1;
    begin_with(&scene, steps, LENGTH(steps), &config);
    init_request(&scene, &more);
    submit(&scene, &scene.request);
    assert_int_equal(transport_submit(scene.transport, &more, 0), LULL_ERR_FULL);
    assert_int_equal(transport_count(scene.transport), 1);
    transport_cancel(scene.transport, &scene.request, lull_os_mono_ms());
    assert_int_equal(transport_submit(scene.transport, &more, 0), LULL_ERR_FULL);
    assert_ptr_equal(transport_collect(scene.transport), &scene.request);
    submit(&scene, &more); /* now that one was collected */
    wait_for_server(&scene, 1);
    transport_cancel(scene.transport, &more, lull_os_mono_ms());
    assert_ptr_equal(transport_collect(scene.transport), &more);
    check_failure(&more, LULL_TRANSPORT_CANCELLED, true);
    transport_request_clean_up(&more);
    finish(&scene);
}

static void test_C1_bad_urls_are_refused(void **state)
{
    (void)state;
    static const char *const urls[] = {"",
                                       "/path",
                                       "example.com",
                                       "ftp://example.com/",
                                       "file:///etc/passwd",
                                       "http://",
                                       "http:///path",
                                       "http://user@example.com/",
                                       "http://user:word@example.com/",
                                       "http://example.com:0/",
                                       "http://example.com:65536/",
                                       "http://example.com:x/",
                                       "http://example.com/a b",
                                       "http://example.com/\r\nX: y",
                                       "http://example.com/\xc3\xa4"};
    struct scene scene;
    begin(&scene, NULL, 0);
    for (size_t i = 0; i < LENGTH(urls); i++) {
        scene.request.url = urls[i];
        int error = transport_submit(scene.transport, &scene.request, 0);
        if (error != LULL_ERR_SYNTAX) {
            fail_msg("\"%s\": %s", urls[i], lull_error_to_string(error));
        }
    }
    assert_int_equal(transport_count(scene.transport), 0);
    finish(&scene);
}

static void test_C1_bad_headers_are_refused(void **state)
{
    (void)state;
    static const struct lull_header headers[] = {
        HEADER("", "no name"),
        HEADER("TTL", "60"),
        HEADER("a b", "space"),
        HEADER("a:b", "colon"),
        HEADER("a\r\nb", "line"),
        HEADER("x", "a\r\nb: c"),
        HEADER("x", "a\nb"),
        HEADER("x", "a\0b"),
        HEADER("x", "\x7f"),
        HEADER("x", " space before"),
        HEADER("x", "tab behind\t"),
        HEADER("host", "example.com"),
        HEADER("content-length", "3"),
        HEADER("transfer-encoding", "chunked"),
        HEADER("connection", "close"),
        HEADER("keep-alive", "1"),
        HEADER("upgrade", "h2c"),
        HEADER("te", "trailers"),
        HEADER("expect", "100-continue"),
    };
    struct lull_header many[TRANSPORT_HEADERS_MAX + 1];
    struct scene scene;
    begin(&scene, NULL, 0);
    scene.request.header_count = 1;
    for (size_t i = 0; i < LENGTH(headers); i++) {
        scene.request.headers = &headers[i];
        int error = transport_submit(scene.transport, &scene.request, 0);
        if (error != LULL_ERR_RANGE) {
            fail_msg("\"%s\": %s", headers[i].name, lull_error_to_string(error));
        }
    }
    for (size_t i = 0; i < LENGTH(many); i++) {
        many[i] = (struct lull_header)HEADER("x", "y");
    }
    scene.request.headers = many;
    scene.request.header_count = LENGTH(many);
    assert_int_equal(transport_submit(scene.transport, &scene.request, 0), LULL_ERR_RANGE);
    scene.request.header_count--;
    check_status(perform(&scene), 200, true);
    finish(&scene);
}

static void test_C1_bad_requests_are_refused(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, NULL, 0);
    for (int i = 0; i < 7; i++) {
        struct transport_request request = {0};
        init_request(&scene, &request);
        request.connect_timeout_ms = i == 0 ? 0 : 1;
        request.first_byte_timeout_ms = i == 1 ? -1 : 1;
        request.timeout_ms = i == 2 ? 0 : 1;
        request.body = i == 3 ? NULL : "pay";
        request.method = i == 4 ? "" : i == 5 ? "get" : i == 6 ? "GET / HTTP/1.1\r\n" : "GET";
        assert_int_equal(transport_submit(scene.transport, &request, 0), LULL_ERR_RANGE);
    }
    assert_int_equal(transport_count(scene.transport), 0);
    finish(&scene);
}

static void test_C1_bad_configs_are_refused(void **state)
{
    (void)state;
    struct transport *transport = NULL;
    for (int i = 0; i < 5; i++) {
        struct transport_config config;
        transport_config_default(&config);
        config.ca_file = i == 0 ? "/nowhere/ca.pem" : NULL;
        config.requests_max = i == 1 ? 0 : 1;
        config.connections_max = i == 2 ? 0 : 1;
        config.connections_max_per_origin = i == 3 ? 0 : 1;
        config.idle_close_ms = i == 4 ? 0 : 1;
        assert_int_equal(transport_new(&transport, &config), LULL_ERR_RANGE);
        assert_null(transport);
    }
    transport_destroy(NULL);
}

static void test_C1_what_is_under_way_is_forgotten(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY("201", "", "9", "half")}, {HANG, NULL}};
    struct transport_config config;
    struct transport_request requests[5] = {0};
    struct scene scene;
    transport_config_default(&config);
    config.connections_max_per_origin = 2;
    begin_with(&scene, steps, LENGTH(steps), &config);
    for (size_t i = 0; i < LENGTH(requests); i++) { /* answered, hung, queued, looked up, fresh */
        init_request(&scene, &requests[i]);
        requests[i].url = i == 3 ? "http://hang.test/" : requests[i].url;
        submit(&scene, &requests[i]);
        if (i < 2) {
            wait_for_server(&scene, i + 1);
        } else if (i < 4) {
            step(&scene);
        }
    }
    names_wait_for_hang();
    assert_int_equal(transport_count(scene.transport), LENGTH(requests));
    assert_null(transport_collect(scene.transport));
    finish(&scene);
    names_release();
    for (size_t i = 0; i < LENGTH(requests); i++) {
        transport_request_clean_up(&requests[i]);
    }
}

/* ---- many ---- */

static size_t below(struct lull_random *random, size_t count)
{
    return (size_t)lull_random_between(random, 0, (int64_t)count - 1);
}

/* Answers, breaks and cancels in any order: each comes back once. */
static void test_C1_each_comes_back_once(void **state)
{
    (void)state;
    static struct step steps[400];
    static struct transport_request requests[40];
    static bool is_out[LENGTH(requests)];
    static const struct step kinds[] = {
        {ANSWER, REPLY_OK}, {ANSWER, REPLY_BUSY}, {ANSWER_AND_CLOSE, REPLY_OK},
        {CLOSE, NULL},      {RESET, NULL},        {HANG, NULL},
        {RESET, REPLY_OK},  {ANSWER, REPLY_OK},
    };
    struct lull_random random;
    struct transport_config config;
    struct scene scene;
    lull_random_init(&random, test_seed("each_comes_back_once"));
    for (size_t i = 0; i < LENGTH(steps); i++) {
        steps[i] = kinds[below(&random, LENGTH(kinds))];
    }
    transport_config_default(&config);
    config.connections_max_per_origin = 3;
    begin_with(&scene, steps, LENGTH(steps), &config);
    size_t taken = 0;
    size_t done = 0;
    int64_t end_ms = lull_os_mono_ms() + PATIENCE_MS;
    while (done < LENGTH(steps)) {
        size_t i = below(&random, LENGTH(requests));
        assert_true(lull_os_mono_ms() < end_ms);
        if (!is_out[i] && taken < LENGTH(steps)) {
            init_request(&scene, &requests[i]);
            submit(&scene, &requests[i]);
            is_out[i] = true;
            taken++;
        } else if (is_out[i] && below(&random, 4) == 0) {
            transport_cancel(scene.transport, &requests[i], lull_os_mono_ms());
        }
        if (below(&random, 4) == 0) {
            step(&scene);
        }
        struct transport_request *request = transport_collect(scene.transport);
        if (request) {
            size_t index = (size_t)(request - requests);
            assert_true(index < LENGTH(requests) && is_out[index]);
            is_out[index] = false;
            done++;
        }
        assert_int_equal(transport_count(scene.transport), taken - done);
    }
    assert_null(transport_collect(scene.transport));
    for (size_t i = 0; i < LENGTH(requests); i++) {
        transport_request_clean_up(&requests[i]);
    }
    finish(&scene);
}

static size_t memory_in_use(void)
{
    if (__sanitizer_get_current_allocated_bytes) { /* what was freed stays resident for a while */
        return __sanitizer_get_current_allocated_bytes();
    }
    size_t size = 0;
    size_t resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%zu %zu", &size, &resident), 2);
    (void)fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static void send_many(struct scene *scene, struct transport_request *requests, size_t at_once,
                      size_t count)
{
    size_t taken = 0;
    for (; taken < at_once; taken++) {
        init_request(scene, &requests[taken]);
        submit(scene, &requests[taken]);
    }
    for (size_t done = 0; done < count; done++) {
        struct transport_request *request = next_done(scene);
        check_status(request, 200, true);
        if (taken < count) {
            init_request(scene, request);
            submit(scene, request);
            taken++;
        }
    }
}

static void test_C1_memory_stays_flat(void **state)
{
    (void)state;
    static struct transport_request requests[32];
    struct scene scene;
    begin(&scene, NULL, 0);
    send_many(&scene, requests, LENGTH(requests), 500);
    size_t before = memory_in_use();
    send_many(&scene, requests, LENGTH(requests), 2000);
    size_t after = memory_in_use();
    if (after > before + 65536) {
        fail_msg("%zu bytes, then %zu", before, after);
    }
    assert_int_equal(server_count(scene.server), 2500);
    for (size_t i = 0; i < LENGTH(requests); i++) {
        transport_request_clean_up(&requests[i]);
    }
    finish(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_C1_status_headers_body),
        cmocka_unit_test(test_C1_nothing_is_added),
        cmocka_unit_test(test_C1_methods),
        cmocka_unit_test(test_V4_the_path_is_kept),
        cmocka_unit_test(test_W5_redirects_are_not_followed),
        cmocka_unit_test(test_C1_body_is_kept_up_to_a_limit),
        cmocka_unit_test(test_C12_a_body_over_the_limit_ends_it),
        cmocka_unit_test(test_C1_interim_responses_are_passed_over),
        cmocka_unit_test(test_C1_connections_are_used_again),
        cmocka_unit_test(test_C1_connections_per_origin),
        cmocka_unit_test(test_C1_another_origin_answers),
        cmocka_unit_test(test_C12_no_head_is_unknown),
        cmocka_unit_test(test_C12_a_status_stands),
        cmocka_unit_test(test_C12_an_early_answer_stands),
        cmocka_unit_test(test_C9_a_request_is_never_repeated),
        cmocka_unit_test(test_C12_no_connection_is_not_sent),
        cmocka_unit_test(test_C12_no_tls_is_not_sent),
        cmocka_unit_test(test_C1_tls),
        cmocka_unit_test(test_C1_no_signal_by_a_broken_connection),
        cmocka_unit_test(test_C12_no_answer_in_time),
        cmocka_unit_test(test_C12_a_status_stands_when_time_is_up),
        cmocka_unit_test(test_C12_no_connection_in_time),
        cmocka_unit_test(test_W5_forbidden_addresses),
        cmocka_unit_test(test_W5_nor_by_a_connection_that_is_open),
        cmocka_unit_test(test_W5_proxies),
        cmocka_unit_test(test_C12_a_proxy_that_will_not_connect),
        cmocka_unit_test(test_C1_cancelled_at_each_stage),
        cmocka_unit_test(test_C1_full),
        cmocka_unit_test(test_C1_bad_urls_are_refused),
        cmocka_unit_test(test_C1_bad_headers_are_refused),
        cmocka_unit_test(test_C1_bad_requests_are_refused),
        cmocka_unit_test(test_C1_bad_configs_are_refused),
        cmocka_unit_test(test_C1_what_is_under_way_is_forgotten),
        cmocka_unit_test(test_C1_each_comes_back_once),
        cmocka_unit_test(test_C1_memory_stays_flat),
    };
    (void)alarm(120); /* what waits for ever fails */
    return cmocka_run_group_tests_name("transport_curl", tests, NULL, NULL);
}
