/* H1: the client against a server that does what a script says. Waits are of a millisecond. */
#include "suite.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "lull/http.h"
#include "server.h"

#define QUICK "client base=1ms cap=2ms floor=1ms"
#define LENGTH(array) (sizeof(array) / sizeof(array)[0])
#define SOON_MS 900

static struct lull_policy policy_from(const char *text)
{
    struct lull_policy policy;
    struct lull_policy_error error;
    if (lull_policy_parse(&policy, text, strlen(text), &error) != LULL_OK) {
        fail_msg("%s", error.text);
    }
    return policy;
}

/* A server with a script, a client, and the next request to it. */
struct scene {
    struct server *server;
    struct lull_client *client;
    struct lull_request request;
    struct lull_result *result;
};

static void begin_with(struct scene *scene, const struct step *steps, size_t count,
                       const struct lull_client_config *config)
{
    *scene = (struct scene){.server = server_start(steps, count)};
    assert_int_equal(lull_client_new(&scene->client, config), LULL_OK);
    lull_request_init(&scene->request, server_url(scene->server));
}

static struct lull_client_config quick_config(const char *policy)
{
    struct lull_client_config config;
    lull_client_config_default(&config);
    config.policy = policy_from(policy);
    return config;
}

static void begin(struct scene *scene, const struct step *steps, size_t count)
{
    struct lull_client_config config = quick_config(QUICK);
    begin_with(scene, steps, count, &config);
}

static const struct lull_result *perform(struct scene *scene)
{
    lull_result_free(scene->result);
    scene->result = NULL;
    assert_int_equal(lull_http_perform(scene->client, &scene->request, &scene->result), LULL_OK);
    return scene->result;
}

static void finish(struct scene *scene)
{
    lull_result_free(scene->result);
    lull_client_destroy(scene->client);
    server_stop(scene->server);
}

static void check(const struct lull_result *result, enum lull_verdict_kind verdict,
                  enum lull_reason reason, unsigned status, size_t attempts)
{
    if (result->verdict != verdict || result->reason != reason || result->status != status ||
        result->attempt_count != attempts) {
        fail_msg("%s %s %u after %zu attempts, curl %d",
                 lull_verdict_kind_to_string(result->verdict),
                 lull_reason_to_string(result->reason), result->status, result->attempt_count,
                 result->code);
    }
}

/* Header names are in lower case where a message goes by the transport. */
static bool has(struct scene *scene, size_t index, const char *text)
{
    return strcasestr(server_request(scene->server, index), text) != NULL;
}

static void post(struct scene *scene, const char *text)
{
    scene->request.method = "POST";
    scene->request.body = (struct lull_body){
        .kind = LULL_BODY_MEMORY, .data = text, .length = (int64_t)strlen(text), .fd = -1};
}

/* ---- retries, and none ---- */

static void test_H1_get_is_retried_after_503(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY_BUSY}, {ANSWER, REPLY_BUSY}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 3);
    assert_string_equal(result->body, "ok");
    assert_int_equal(result->body_length, 2);
    assert_true(result->is_body_complete && !result->is_body_cut);
    assert_int_equal(result->attempts[0].status, 503);
    assert_int_equal(result->attempts[0].class_, LULL_CLASS_UNAVAILABLE);
    assert_int_equal(result->attempts[0].reason, LULL_REASON_UNAVAILABLE);
    assert_in_range(result->attempts[0].delay_ms, 1, 2);
    assert_int_equal(result->attempts[2].number, 3);
    assert_int_equal(result->attempts[2].delay_ms, 0);
    assert_int_equal(result->header_count, 1);
    assert_memory_equal(result->headers[0].name, "Content-Length", 14);
    finish(&scene);
}

static void test_H1_the_last_answer_is_given_back(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY_BUSY},
                                        {ANSWER, REPLY("503", "X: last\r\n", "4", "last")}};
    struct scene scene;
    struct lull_client_config config = quick_config(QUICK " retries=1");
    begin_with(&scene, steps, LENGTH(steps), &config);
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_GIVE_UP, LULL_REASON_MAX_ATTEMPTS_EXCEEDED, 503, 2);
    assert_string_equal(result->body, "last");
    finish(&scene);
}

static void test_G7_retries_carry_their_number(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY_BUSY}, {RESET, NULL}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    (void)perform(&scene);
    assert_int_equal(server_count(scene.server), 3);
    assert_false(has(&scene, 0, "Lull-Attempt"));
    assert_true(has(&scene, 1, "\r\nLull-Attempt: 2\r\n"));
    assert_true(has(&scene, 2, "\r\nLull-Attempt: 3\r\n"));
    finish(&scene);
    for (int i = 0; i < 2; i++) {
        struct lull_client_config config = quick_config(QUICK);
        config.attempt_header = i ? "" : "X-Try";
        begin_with(&scene, steps, 1, &config);
        (void)perform(&scene);
        assert_int_equal(server_count(scene.server), 2);
        assert_int_equal(has(&scene, 1, "\r\nX-Try: 2\r\n"), !i);
        assert_false(has(&scene, 1, "Lull-Attempt"));
        finish(&scene);
    }
}

static void test_C9_post_is_not_repeated_after_reset(void **state)
{
    (void)state;
    static const struct step steps[] = {{RESET, NULL}};
    static const struct step closing[] = {{CLOSE, NULL}};
    for (int i = 0; i < 2; i++) {
        struct scene scene;
        begin(&scene, i ? closing : steps, 1);
        post(&scene, "pay");
        const struct lull_result *result = perform(&scene);
        check(result, LULL_VERDICT_GIVE_UP, LULL_REASON_NOT_IDEMPOTENT, 0, 1);
        assert_int_equal(result->attempts[0].transport, LULL_TRANSPORT_RESET);
        assert_int_equal(result->attempts[0].effect, LULL_EFFECT_UNKNOWN);
        assert_int_equal(server_count(scene.server), 1);
        finish(&scene);
    }
}

/* libcurl would send it again by itself, since the connection might have died before. */
static void check_reused_connection(bool is_easy, enum act act)
{
    struct step steps[] = {{ANSWER, REPLY_OK}, {act, NULL}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    check(perform(&scene), LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 1);
    CURL *easy = is_easy ? curl_easy_init() : NULL;
    if (is_easy) {
        lull_request_init(&scene.request, NULL);
        scene.request.easy = easy;
        (void)curl_easy_setopt(easy, CURLOPT_URL, server_url(scene.server));
        (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "pay");
    } else {
        post(&scene, "pay");
    }
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_GIVE_UP, LULL_REASON_NOT_IDEMPOTENT, 0, 1);
    assert_int_equal(result->attempts[0].effect, LULL_EFFECT_UNKNOWN);
    assert_int_equal(server_count(scene.server), 2); /* the POST exactly once */
    assert_int_equal(server_connection(scene.server, 1), server_connection(scene.server, 0));
    assert_true(has(&scene, 1, "pay"));
    finish(&scene);
    curl_easy_cleanup(easy);
}

static void test_C9_post_on_a_reused_connection_goes_out_once(void **state)
{
    (void)state;
    check_reused_connection(false, CLOSE);
    check_reused_connection(false, RESET);
    check_reused_connection(true, CLOSE);
    check_reused_connection(true, RESET);
}

static void test_C9_get_on_a_reused_connection_is_an_attempt(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY_OK}, {CLOSE, NULL}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    (void)perform(&scene);
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 2);
    assert_int_equal(result->attempts[0].transport, LULL_TRANSPORT_RESET);
    assert_true(has(&scene, 2, "Lull-Attempt: 2"));
    assert_int_equal(server_count(scene.server), 3);
    finish(&scene);
}

static void test_C9_post_with_a_key_is_repeated_with_it(void **state)
{
    (void)state;
    static const struct step steps[] = {{RESET, NULL}, {ANSWER, REPLY_BUSY}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    post(&scene, "pay");
    scene.request.idempotency_key = "key-1";
    check(perform(&scene), LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(has(&scene, i, "\r\nIdempotency-Key: key-1\r\n"));
        assert_true(has(&scene, i, "\r\n\r\npay"));
        assert_false(has(&scene, i, "Content-Type"));
    }
    finish(&scene);
    begin(&scene, steps, LENGTH(steps));
    post(&scene, "pay");
    scene.request.is_repeatable = true;
    check(perform(&scene), LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 3);
    finish(&scene);
}

/* ---- the body of the request ---- */

struct source {
    const char *text;
    size_t at;
    int rewinds;
};

static int64_t source_read(void *userdata, char *buffer, size_t size)
{
    struct source *source = userdata;
    size_t left = strlen(source->text) - source->at;
    size_t taken = left < size ? left : size;
    taken = taken > 3 ? 3 : taken; /* in small pieces */
    memcpy(buffer, source->text + source->at, taken);
    source->at += taken;
    return (int64_t)taken;
}

static bool source_rewind(void *userdata)
{
    struct source *source = userdata;
    source->at = 0;
    source->rewinds++;
    return true;
}

static bool source_cannot_rewind(void *userdata)
{
    (void)userdata;
    return false;
}

static int64_t source_fails(void *userdata, char *buffer, size_t size)
{
    (void)userdata;
    (void)buffer;
    (void)size;
    return -1;
}

static void test_H1_memory_and_file_are_replayed(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY_BUSY}};
    for (int i = 0; i < 3; i++) {
        struct scene scene;
        FILE *file = tmpfile();
        assert_non_null(file);
        assert_true(fputs("..hello file..", file) >= 0 && fflush(file) == 0);
        begin(&scene, steps, LENGTH(steps));
        scene.request.method = "PUT";
        struct lull_body bodies[] = {
            {.kind = LULL_BODY_MEMORY, .data = "hello file", .length = 10},
            {.kind = LULL_BODY_FILE, .fd = fileno(file), .offset = 2, .length = 10},
            {.kind = LULL_BODY_FILE, .fd = fileno(file), .offset = 2, .length = -1},
        };
        scene.request.body = bodies[i];
        check(perform(&scene), LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 2);
        for (size_t j = 0; j < 2; j++) {
            assert_memory_equal(server_request(scene.server, j), "PUT / ", 6);
            assert_true(has(&scene, j, i == 2 ? "\r\n\r\nhello file.." : "\r\n\r\nhello file"));
        }
        finish(&scene);
        (void)fclose(file);
    }
}

static void test_H1_callback_is_rewound(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY_BUSY}, {RESET, NULL}};
    for (int i = 0; i < 2; i++) { /* of known length, and chunked */
        struct scene scene;
        struct source source = {.text = "0123456789"};
        begin(&scene, steps, LENGTH(steps));
        scene.request.idempotency_key = "k";
        scene.request.body = (struct lull_body){.kind = LULL_BODY_CALLBACK,
                                                .userdata = &source,
                                                .length = i ? -1 : 10,
                                                .read = source_read,
                                                .rewind = source_rewind};
        check(perform(&scene), LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 3);
        assert_int_equal(source.rewinds, 2);
        assert_memory_equal(server_request(scene.server, 2), "POST / ", 7);
        assert_true(has(&scene, 2, i ? "chunked" : "\r\n\r\n0123456789"));
        finish(&scene);
    }
}

static void test_H1_callback_without_a_way_back_is_spent(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY_BUSY}};
    for (int i = 0; i < 2; i++) {
        struct scene scene;
        struct source source = {.text = "0123456789"};
        begin(&scene, steps, LENGTH(steps));
        scene.request.method = "PUT";
        scene.request.body = (struct lull_body){.kind = LULL_BODY_CALLBACK,
                                                .userdata = &source,
                                                .length = 10,
                                                .read = source_read,
                                                .rewind = i ? source_cannot_rewind : NULL};
        const struct lull_result *result = perform(&scene);
        check(result, LULL_VERDICT_GIVE_UP, LULL_REASON_BODY_SPENT, 503, 1);
        assert_string_equal(result->body, "busy");
        assert_int_equal(server_count(scene.server), 1);
        finish(&scene);
    }
}

static void test_H1_a_source_that_fails_cancels(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, NULL, 0);
    scene.request.method = "PUT";
    scene.request.body =
        (struct lull_body){.kind = LULL_BODY_CALLBACK, .length = 10, .read = source_fails};
    check(perform(&scene), LULL_VERDICT_GIVE_UP, LULL_REASON_CANCELLED, 0, 1);
    finish(&scene);
}

/* ---- the body of the response ---- */

static void test_C12_get_with_a_broken_body_is_fetched_again(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER_AND_CLOSE, REPLY("200", "", "10", "0123")}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 2);
    assert_string_equal(result->body, "ok");
    assert_true(result->is_body_complete);
    assert_int_equal(result->attempts[0].status, 200);
    assert_int_equal(result->attempts[0].transport, LULL_TRANSPORT_RESET);
    finish(&scene);
}

static void test_C12_post_with_a_broken_body_stands(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER_AND_CLOSE, REPLY("201", "", "10", "0123")}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    post(&scene, "pay");
    scene.request.idempotency_key = "k"; /* even then: the answer is there */
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 201, 1);
    assert_false(result->is_body_complete);
    assert_string_equal(result->body, "0123");
    assert_int_equal(server_count(scene.server), 1);
    finish(&scene);
}

static void test_H1_body_max(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY("200", "", "10", "0123456789")}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    scene.request.body_max = 4;
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 1);
    assert_string_equal(result->body, "0123");
    assert_true(result->is_body_cut);
    finish(&scene);
}

struct drain {
    int begins;
    bool is_again;
    unsigned status;
    size_t length;
    char text[64];
    bool refuses;
};

static bool drain_begin(void *userdata, const struct lull_response *response, bool is_again)
{
    struct drain *drain = userdata;
    drain->begins++;
    drain->is_again = is_again;
    drain->status = response->status;
    drain->length = 0;
    return true;
}

static bool drain_write(void *userdata, const char *data, size_t length)
{
    struct drain *drain = userdata;
    if (drain->refuses || drain->length + length >= sizeof drain->text) {
        return false;
    }
    memcpy(drain->text + drain->length, data, length);
    drain->length += length;
    drain->text[drain->length] = '\0';
    return true;
}

static bool drain_can_restart(void *userdata)
{
    (void)userdata;
    return true;
}

static void set_sink(struct scene *scene, struct drain *drain, bool can_restart)
{
    *drain = (struct drain){0};
    scene->request.sink =
        (struct lull_sink){drain, drain_begin, drain_write, can_restart ? drain_can_restart : NULL};
}

static void test_H1_sink_sees_only_the_response_that_counts(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY_BUSY},
                                        {ANSWER, REPLY_OK},
                                        {ANSWER, REPLY("404", "", "4", "gone")},
                                        {ANSWER, REPLY("204", "", "0", "")}};
    struct scene scene;
    struct drain drain;
    begin(&scene, steps, LENGTH(steps));
    set_sink(&scene, &drain, true);
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 2);
    assert_int_equal(drain.begins, 1);
    assert_int_equal(drain.status, 200);
    assert_string_equal(drain.text, "ok");
    assert_true(!drain.is_again && result->body_length == 0);
    set_sink(&scene, &drain, true);
    assert_int_equal(perform(&scene)->status, 404); /* not streamed, but given at the end */
    assert_int_equal(drain.begins, 1);
    assert_string_equal(drain.text, "gone");
    set_sink(&scene, &drain, true);
    assert_int_equal(perform(&scene)->status, 204);
    assert_int_equal(drain.begins, 1); /* also without a body */
    finish(&scene);
}

static void test_C12_sink_begins_again(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER_AND_CLOSE, REPLY("200", "", "10", "0123")}};
    struct scene scene;
    struct drain drain;
    begin(&scene, steps, LENGTH(steps));
    set_sink(&scene, &drain, true);
    check(perform(&scene), LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 2);
    assert_int_equal(drain.begins, 2);
    assert_true(drain.is_again);
    assert_string_equal(drain.text, "ok");
    finish(&scene);
}

static void test_C12_sink_that_cannot_restart(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER_AND_CLOSE, REPLY("200", "", "10", "0123")}};
    struct scene scene;
    struct drain drain;
    begin(&scene, steps, LENGTH(steps));
    set_sink(&scene, &drain, false);
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 1);
    assert_false(result->is_body_complete);
    assert_int_equal(drain.begins, 1);
    assert_string_equal(drain.text, "0123");
    assert_int_equal(server_count(scene.server), 1);
    finish(&scene);
}

static void test_H1_sink_that_stops(void **state)
{
    (void)state;
    struct scene scene;
    struct drain drain;
    begin(&scene, NULL, 0);
    set_sink(&scene, &drain, true);
    drain.refuses = true;
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_GIVE_UP, LULL_REASON_CANCELLED, 200, 1);
    assert_false(result->is_body_complete);
    finish(&scene);
}

/* ---- time ---- */

static void test_T2_deadline(void **state)
{
    (void)state;
    static const struct step steps[] = {{HANG, NULL}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    scene.request.deadline_ms = 30;
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_GIVE_UP, LULL_REASON_DEADLINE_EXCEEDED, 0, 1);
    assert_in_range(result->duration_ms, 30, SOON_MS);
    assert_int_equal(result->attempts[0].transport, LULL_TRANSPORT_TIMEOUT);
    finish(&scene);
}

/* T2: a wait that would pass the deadline is not begun; the answer comes back at once. */
static void test_T2_no_wait_past_the_deadline(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY("503", "Retry-After: 60\r\n", "0", "")}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    scene.request.deadline_ms = 5000;
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_GIVE_UP, LULL_REASON_DEADLINE_EXCEEDED, 503, 1);
    assert_int_equal(result->attempts[0].retry_after_ms, 60000);
    assert_in_range(result->duration_ms, 0, SOON_MS);
    finish(&scene);
}

static void test_C9_timeout_of_an_attempt(void **state)
{
    (void)state;
    static const struct step steps[] = {{HANG, NULL}, {ANSWER, REPLY_OK}, {HANG, NULL}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    scene.request.timeout_ms = 100;
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 2);
    assert_int_equal(result->attempts[0].transport, LULL_TRANSPORT_TIMEOUT);
    assert_in_range(result->attempts[0].duration_ms, 100, SOON_MS);
    post(&scene, "pay");
    scene.request.timeout_ms = 20;
    check(perform(&scene), LULL_VERDICT_GIVE_UP, LULL_REASON_NOT_IDEMPOTENT, 0, 1);
    assert_int_equal(server_count(scene.server), 3);
    finish(&scene);
}

/* ---- cancelling ---- */

struct canceller {
    struct server *server; /* NULL: as soon as the wait begins */
    struct lull_cancel *cancel;
    sem_t is_waiting;
};

static void *cancel_later(void *userdata)
{
    struct canceller *canceller = userdata;
    if (canceller->server) {
        server_wait(canceller->server, 1);
    } else {
        (void)sem_wait(&canceller->is_waiting);
    }
    lull_cancel_signal(canceller->cancel);
    return NULL;
}

static bool tell_of_wait(void *userdata, const struct lull_attempt *attempt)
{
    struct canceller *canceller = userdata;
    assert_true(attempt->delay_ms > 0);
    (void)sem_post(&canceller->is_waiting);
    return true;
}

static void check_cancel(bool is_in_wait)
{
    static const struct step hang[] = {{HANG, NULL}};
    static const struct step wait[] = {{ANSWER, REPLY("503", "Retry-After: 60\r\n", "0", "")}};
    struct scene scene;
    struct canceller canceller = {0};
    pthread_t thread;
    begin(&scene, is_in_wait ? wait : hang, 1);
    canceller.server = is_in_wait ? NULL : scene.server;
    canceller.cancel = lull_cancel_new();
    assert_non_null(canceller.cancel);
    assert_int_equal(sem_init(&canceller.is_waiting, 0, 0), 0);
    scene.request.cancel = canceller.cancel;
    scene.request.hooks.userdata = &canceller;
    scene.request.hooks.before_wait = tell_of_wait;
    assert_int_equal(pthread_create(&thread, NULL, cancel_later, &canceller), 0);
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_GIVE_UP, LULL_REASON_CANCELLED, is_in_wait ? 503 : 0, 1);
    assert_in_range(result->duration_ms, 0, SOON_MS);
    (void)pthread_join(thread, NULL);
    size_t before = server_count(scene.server);
    result = perform(&scene); /* a token that was signalled stops what comes later, too */
    check(result, LULL_VERDICT_GIVE_UP, LULL_REASON_CANCELLED, 0, 0);
    assert_int_equal(server_count(scene.server), before);
    scene.request.cancel = NULL;
    assert_int_equal(perform(&scene)->status, 200);
    lull_cancel_destroy(canceller.cancel);
    (void)sem_destroy(&canceller.is_waiting);
    finish(&scene);
}

static void test_H1_cancel_in_a_transfer(void **state)
{
    (void)state;
    check_cancel(false);
}

static void test_H1_cancel_in_a_wait(void **state)
{
    (void)state;
    check_cancel(true);
}

static bool refuse_to_wait(void *userdata, const struct lull_attempt *attempt)
{
    ++*(int *)userdata;
    return attempt->number < 2;
}

static void count_decisions(void *userdata, const struct lull_attempt *attempt,
                            const struct lull_verdict *verdict, const struct lull_trace *trace)
{
    (void)attempt;
    (void)verdict;
    *(int *)userdata += 100;
    assert_true(trace->count > 0);
}

static void test_H1_a_hook_can_refuse_the_wait(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY_BUSY}, {ANSWER, REPLY_BUSY}};
    struct scene scene;
    int calls = 0;
    begin(&scene, steps, LENGTH(steps));
    scene.request.hooks = (struct lull_hooks){
        .userdata = &calls, .before_wait = refuse_to_wait, .after_decision = count_decisions};
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_GIVE_UP, LULL_REASON_CANCELLED, 503, 2);
    assert_int_equal(calls, 202);
    assert_string_equal(result->body, "busy");
    assert_int_equal(result->attempts[1].delay_ms, 0);
    finish(&scene);
}

/* ---- restraint ---- */

static void test_G4_spent_budget_gives_the_answer_at_once(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {ANSWER, REPLY_BUSY}, {ANSWER, REPLY_BUSY}, {ANSWER, REPLY_BUSY}, {ANSWER, REPLY_BUSY}};
    struct scene scene;
    struct lull_client_config config = quick_config(QUICK);
    config.budget.reserve = 2;
    config.budget.reserve_milli_per_s = 1;
    begin_with(&scene, steps, LENGTH(steps), &config);
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_GIVE_UP, LULL_REASON_BUDGET_EXHAUSTED, 503, 3);
    assert_string_equal(result->body, "busy");
    assert_int_equal(lull_client_inspect(scene.client, server_url(scene.server)).budget_left, 0);
    check(perform(&scene), LULL_VERDICT_GIVE_UP, LULL_REASON_BUDGET_EXHAUSTED, 503, 1);
    finish(&scene);
}

static void test_K5_open_circuit_fails_fast(void **state)
{
    (void)state;
    struct step steps[30];
    struct scene scene;
    struct lull_client_config config = quick_config(QUICK " retries=0");
    for (size_t i = 0; i < LENGTH(steps); i++) {
        steps[i] = (struct step){ANSWER, REPLY_BUSY};
    }
    begin_with(&scene, steps, LENGTH(steps), &config);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(perform(&scene)->status, 503);
    }
    check(perform(&scene), LULL_VERDICT_GIVE_UP, LULL_REASON_CIRCUIT_OPEN, 0, 0);
    assert_int_equal(server_count(scene.server), 20);
    assert_int_equal(lull_client_inspect(scene.client, server_url(scene.server)).breaker,
                     LULL_BREAKER_OPEN);
    finish(&scene);
    config.has_breaker = false;
    begin_with(&scene, steps, LENGTH(steps), &config);
    for (int i = 0; i < 25; i++) {
        check(perform(&scene), LULL_VERDICT_GIVE_UP, LULL_REASON_MAX_ATTEMPTS_EXCEEDED, 503, 1);
    }
    finish(&scene);
}

static void test_G7_an_outer_layer_retries(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY_BUSY}};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    scene.request.incoming_attempt = 2;
    check(perform(&scene), LULL_VERDICT_GIVE_UP, LULL_REASON_OUTER_RETRIES, 503, 1);
    finish(&scene);
}

static void test_S6_invalid_is_never_looked_up(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, NULL, 0);
    scene.request.url = "http://permanently-removed.invalid/";
    const struct lull_result *result = perform(&scene);
    assert_int_equal(result->verdict, LULL_VERDICT_GIVE_UP);
    assert_int_equal(result->attempt_count, 0);
    assert_true(result->reason == LULL_REASON_GONE || result->reason == LULL_REASON_INVALID_TARGET);
    finish(&scene);
}

static void test_C1_refused_connection(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, NULL, 0);
    struct server *gone = server_start(NULL, 0);
    char url[64];
    (void)snprintf(url, sizeof url, "%s", server_url(gone));
    server_stop(gone);
    scene.request.url = url;
    post(&scene, "pay"); /* provably not sent, so even a POST is tried again */
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_GIVE_UP, LULL_REASON_MAX_ATTEMPTS_EXCEEDED, 0, 4);
    assert_int_equal(result->attempts[3].transport, LULL_TRANSPORT_REFUSED);
    assert_int_equal(result->attempts[3].effect, LULL_EFFECT_NOT_SENT);
    finish(&scene);
}

/* ---- what a success says of itself ---- */

static void keep_verdict(void *userdata, const struct lull_attempt *attempt,
                         const struct lull_verdict *verdict, const struct lull_trace *trace)
{
    (void)attempt;
    (void)trace;
    *(struct lull_verdict *)userdata = *verdict;
}

/* With a hook lull_decide is asked, without one a plain success is not: nobody can tell. */
static void test_H1_a_success_that_is_not_asked_about(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY("204", "Retry-After: 7\r\n", "0", "")},
                                        {ANSWER, REPLY("204", "Retry-After: 7\r\n", "0", "")}};
    struct scene scene;
    struct lull_verdict verdict;
    begin(&scene, steps, LENGTH(steps));
    scene.request.hooks = (struct lull_hooks){.userdata = &verdict, .after_decision = keep_verdict};
    const struct lull_result *result = perform(&scene);
    check(result, verdict.kind, verdict.reason, 204, 1);
    struct lull_attempt asked = result->attempts[0];
    scene.request.hooks = (struct lull_hooks){0};
    result = perform(&scene);
    check(result, verdict.kind, verdict.reason, 204, 1);
    struct lull_attempt plain = result->attempts[0];
    assert_true(result->is_body_complete);
    assert_int_equal(asked.class_, plain.class_);
    assert_int_equal(asked.effect, plain.effect);
    assert_int_equal(asked.reason, plain.reason);
    assert_int_equal(asked.transport, plain.transport);
    assert_int_equal(asked.side_effects, plain.side_effects);
    assert_int_equal(asked.retry_after_ms, plain.retry_after_ms);
    assert_int_equal(asked.delay_ms, plain.delay_ms);
    assert_int_equal(asked.code, plain.code);
    assert_ptr_equal(asked.detail, plain.detail);
    finish(&scene);
}

/* A policy can call a 2xx a failure. */
static void test_C11_a_success_that_the_policy_maps(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY("202", "", "0", "")}};
    struct scene scene;
    struct lull_client_config config = quick_config(QUICK " status.202=retry");
    begin_with(&scene, steps, LENGTH(steps), &config);
    check(perform(&scene), LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 2);
    finish(&scene);
}

/* ---- the caller's own handle ---- */

/* The method that counts is that of the request, not what a redirect made of it. */
static void test_C9_own_handle_that_is_redirected(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY("303", "Location: /b\r\n", "0", "")},
                                        {RESET, NULL}};
    struct scene scene;
    CURL *easy = curl_easy_init();
    begin(&scene, steps, LENGTH(steps));
    lull_request_init(&scene.request, NULL);
    scene.request.easy = easy;
    (void)curl_easy_setopt(easy, CURLOPT_URL, server_url(scene.server));
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "pay");
    (void)curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
    check(perform(&scene), LULL_VERDICT_GIVE_UP, LULL_REASON_NOT_IDEMPOTENT, 0, 1);
    assert_int_equal(server_count(scene.server), 2);
    assert_memory_equal(server_request(scene.server, 1), "GET /b ", 7);
    finish(&scene);
    curl_easy_cleanup(easy);
}

static size_t count_bytes(char *data, size_t size, size_t count, void *userdata)
{
    (void)data;
    *(size_t *)userdata += size * count;
    return size * count;
}

static void test_H1_own_handle(void **state)
{
    (void)state;
    static const struct step steps[] = {{RESET, NULL}, {ANSWER, REPLY_OK}, {RESET, NULL}};
    struct scene scene;
    size_t bytes = 0;
    char *private = NULL;
    CURL *easy = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(NULL, "X-Mine: 1");
    begin(&scene, steps, LENGTH(steps));
    lull_request_init(&scene.request, NULL);
    scene.request.easy = easy;
    (void)curl_easy_setopt(easy, CURLOPT_URL, server_url(scene.server));
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, "DELETE");
    check(perform(&scene), LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 2);
    assert_memory_equal(server_request(scene.server, 1), "DELETE / ", 9);
    assert_true(has(&scene, 0, "X-Mine: 1") && has(&scene, 1, "X-Mine: 1"));
    (void)curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, NULL);
    (void)curl_easy_setopt(easy, CURLOPT_POSTFIELDS, "pay");
    check(perform(&scene), LULL_VERDICT_GIVE_UP, LULL_REASON_NOT_IDEMPOTENT, 0, 1);
    assert_memory_equal(server_request(scene.server, 2), "POST / ", 7);
    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private);
    assert_null(private);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, count_bytes);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, &bytes);
    assert_int_equal(curl_easy_perform(easy), CURLE_OK); /* nothing of ours is left on it */
    assert_int_equal(bytes, 2);
    assert_true(has(&scene, 3, "X-Mine: 1"));
    finish(&scene);
    curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
}

/* The body is ours for the time of the call only. */
static void test_H1_own_handle_with_a_body_of_ours(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY_BUSY}};
    struct scene scene;
    size_t bytes = 0;
    struct source source = {.text = "0123456789"};
    CURL *easy = curl_easy_init();
    begin(&scene, steps, LENGTH(steps));
    lull_request_init(&scene.request, NULL);
    scene.request.easy = easy;
    scene.request.body = (struct lull_body){.kind = LULL_BODY_CALLBACK,
                                            .userdata = &source,
                                            .length = 10,
                                            .read = source_read,
                                            .rewind = source_rewind};
    (void)curl_easy_setopt(easy, CURLOPT_URL, server_url(scene.server));
    check(perform(&scene), LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 2);
    assert_memory_equal(server_request(scene.server, 1), "PUT / ", 6);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, count_bytes);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, &bytes);
    (void)curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    assert_int_equal(curl_easy_perform(easy), CURLE_OK);
    assert_memory_equal(server_request(scene.server, 2), "GET / ", 6);
    finish(&scene);
    curl_easy_cleanup(easy);
}

static void test_L5_a_span_for_each_attempt(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY_BUSY}};
    static const char parent[] = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    static const char *const parents[] = {parent, "", "garbage"};
    for (size_t i = 0; i < LENGTH(parents); i++) {
        struct scene scene;
        begin(&scene, steps, LENGTH(steps));
        scene.request.traceparent = parents[i];
        scene.request.tracestate = "vendor=1";
        const struct lull_result *result = perform(&scene);
        check(result, LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 2);
        assert_true(result->attempts[0].span_id != result->attempts[1].span_id);
        assert_true((result->trace_id[0] == UINT64_C(0x4bf92f3577b34da6)) == (i == 0));
        for (size_t j = 0; j < 2; j++) {
            struct lull_trace_context context = {
                {result->trace_id[0], result->trace_id[1]}, result->attempts[j].span_id, 1};
            char line[LULL_TRACEPARENT_SIZE + 32] = "\r\ntraceparent: ";
            lull_trace_context_format(&context, line + strlen(line));
            assert_true(has(&scene, j, line));
            assert_int_equal(has(&scene, j, "\r\ntracestate: vendor=1\r\n"), i == 0);
        }
        finish(&scene);
    }
}

/* ---- hedging ---- */

static void test_H1_a_hedge_wins_over_a_slow_request(void **state)
{
    (void)state;
    struct step steps[26];
    struct scene scene;
    for (size_t i = 0; i < 25; i++) {
        steps[i] = (struct step){ANSWER, REPLY_OK};
    }
    steps[25] = (struct step){HANG, NULL};
    begin(&scene, steps, LENGTH(steps));
    for (int i = 0; i < 25; i++) {
        (void)perform(&scene);
    }
    assert_true(lull_client_inspect(scene.client, server_url(scene.server)).p95_us > 0);
    scene.request.is_hedged = true;
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 2);
    assert_true(result->attempts[0].is_abandoned && !result->attempts[0].is_hedge);
    assert_true(result->attempts[1].is_hedge && !result->attempts[1].is_abandoned);
    assert_int_equal(result->attempts[1].number, 1);
    assert_string_equal(result->body, "ok");
    assert_int_equal(server_count(scene.server), 27);
    finish(&scene);
}

static void test_H1_a_post_is_never_hedged(void **state)
{
    (void)state;
    struct step steps[26];
    struct scene scene;
    for (size_t i = 0; i < 25; i++) {
        steps[i] = (struct step){ANSWER, REPLY_OK};
    }
    steps[25] = (struct step){HANG, NULL};
    begin(&scene, steps, LENGTH(steps));
    for (int i = 0; i < 25; i++) {
        (void)perform(&scene);
    }
    scene.request.is_hedged = true;
    scene.request.timeout_ms = 100;
    post(&scene, "pay");
    check(perform(&scene), LULL_VERDICT_GIVE_UP, LULL_REASON_NOT_IDEMPOTENT, 0, 1);
    assert_int_equal(server_count(scene.server), 26);
    finish(&scene);
}

/* ---- on an event loop ---- */

struct loop {
    int others;
    CURL *other;
    int done;
    struct lull_result *results[4];
};

static void count_other(void *userdata, CURLMsg *message)
{
    struct loop *loop = userdata;
    loop->others++;
    loop->other = message->easy_handle;
    assert_int_equal(message->data.result, CURLE_OK);
}

static void count_done(void *userdata, struct lull_result *result)
{
    struct loop *loop = userdata;
    loop->results[loop->done++] = result;
}

static void drive(struct lull_multi *multi)
{
    int running = 0;
    int64_t wait_ms = lull_multi_step(multi);
    (void)curl_multi_poll(lull_multi_curl(multi), NULL, 0,
                          wait_ms < 0 || wait_ms > 1000 ? 1000 : (int)wait_ms, NULL);
    (void)curl_multi_perform(lull_multi_curl(multi), &running);
}

static void test_H1_multi_shares_a_curlm_with_others(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY_BUSY}};
    struct scene scene;
    struct loop loop = {0};
    size_t bytes = 0;
    struct lull_multi *multi = NULL;
    begin(&scene, steps, LENGTH(steps));
    CURLM *curl = curl_multi_init();
    struct lull_multi_config config = {.curl = curl, .userdata = &loop, .on_other = count_other};
    assert_int_equal(lull_multi_new(&multi, scene.client, &config), LULL_OK);
    assert_ptr_equal(lull_multi_curl(multi), curl);
    CURL *foreign = curl_easy_init();
    (void)curl_easy_setopt(foreign, CURLOPT_URL, server_url(scene.server));
    (void)curl_easy_setopt(foreign, CURLOPT_WRITEFUNCTION, count_bytes);
    (void)curl_easy_setopt(foreign, CURLOPT_WRITEDATA, &bytes);
    (void)curl_easy_setopt(foreign, CURLOPT_PRIVATE, (void *)1); /* looks like one of ours */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(lull_multi_add(multi, &scene.request, count_done, &loop), LULL_OK);
    }
    assert_int_equal(loop.done, 0);
    assert_int_equal(lull_multi_count(multi), 3);
    (void)curl_multi_add_handle(curl, foreign);
    for (int i = 0; i < 1000 && (loop.done < 3 || loop.others < 1); i++) {
        drive(multi);
    }
    assert_int_equal(loop.others, 1);
    assert_ptr_equal(loop.other, foreign);
    assert_int_equal(loop.done, 3);
    assert_int_equal(lull_multi_count(multi), 0);
    assert_int_equal(lull_multi_step(multi), -1);
    size_t attempts = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(loop.results[i]->status, 200);
        attempts += loop.results[i]->attempt_count;
        lull_result_free(loop.results[i]);
    }
    /* the 503 went to one of the four */
    assert_in_range(attempts, 3, 4);
    assert_int_equal(server_count(scene.server), attempts + 1);
    lull_multi_destroy(multi);
    (void)curl_multi_remove_handle(curl, foreign);
    curl_easy_cleanup(foreign);
    (void)curl_multi_cleanup(curl);
    finish(&scene);
}

/* ---- messages: of kind PUSH ---- */

#define REPLY_DOUBT REPLY("429", "Retry-After: 0\r\n", "0", "")

struct notes {
    struct curl_slist *headers;
    size_t count;
    size_t null_at; /* from 1: the attempt without memory */
    struct lull_attempt_plan plans[8];
};

static const struct curl_slist *note_attempt(void *userdata, const struct lull_attempt_plan *plan)
{
    struct notes *notes = userdata;
    char line[32];
    assert_true(notes->count < LENGTH(notes->plans));
    notes->plans[notes->count++] = *plan;
    curl_slist_free_all(notes->headers);
    (void)snprintf(line, sizeof line, "Number: %u", (unsigned)plan->number);
    notes->headers = notes->count == notes->null_at ? NULL : curl_slist_append(NULL, line);
    return notes->headers;
}

static void begin_push(struct scene *scene, struct notes *notes)
{
    post(scene, "push");
    scene->request.kind = LULL_KIND_PUSH;
    scene->request.is_repeatable = true;
    scene->request.hooks.userdata = notes;
    scene->request.hooks.before_attempt = note_attempt;
}

static void test_T3_each_attempt_has_its_own_headers(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY_BUSY}, {RESET, NULL}};
    struct notes notes = {0};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    begin_push(&scene, &notes);
    scene.request.ttl_ms = 60000;
    check(perform(&scene), LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 3);
    assert_true(has(&scene, 0, "Number: 1\r\n") && has(&scene, 1, "Number: 2\r\n"));
    assert_true(has(&scene, 2, "Number: 3\r\n") && !has(&scene, 2, "Number: 2\r\n"));
    assert_in_range(notes.plans[0].remaining_ms, 50000, 60000);
    assert_true(notes.plans[2].remaining_ms < notes.plans[0].remaining_ms);
    assert_false(notes.plans[1].is_jwt_doubted);
    curl_slist_free_all(notes.headers);
    finish(&scene);
}

static void test_C8_a_doubted_token_is_renewed_once(void **state)
{
    (void)state;
    static const struct step steps[] = {
        {ANSWER, REPLY_BUSY}, {ANSWER, REPLY_DOUBT}, {ANSWER, REPLY_BUSY}, {ANSWER, REPLY_DOUBT}};
    struct notes notes = {0};
    struct scene scene;
    begin(&scene, steps, LENGTH(steps));
    begin_push(&scene, &notes);
    struct lull_policy policy = policy_from(QUICK " retries=6");
    scene.request.policy = &policy;
    check(perform(&scene), LULL_VERDICT_DEAD, LULL_REASON_AUTH, 429, 4);
    assert_false(notes.plans[0].is_jwt_doubted || notes.plans[1].is_jwt_doubted);
    assert_true(notes.plans[2].is_jwt_doubted);
    assert_false(notes.plans[3].is_jwt_doubted);
    curl_slist_free_all(notes.headers);
    finish(&scene);
}

static void test_H1_no_headers_end_it(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY_BUSY}, {ANSWER, REPLY_BUSY}};
    for (size_t null_at = 1; null_at <= 2; null_at++) {
        struct notes notes = {.null_at = null_at};
        struct scene scene;
        begin(&scene, steps, LENGTH(steps));
        begin_push(&scene, &notes);
        const struct lull_result *result = perform(&scene);
        check(result, LULL_VERDICT_GIVE_UP, LULL_REASON_CANCELLED, null_at == 1 ? 0 : 503,
              null_at - 1);
        assert_int_equal(result->code, CURLE_OUT_OF_MEMORY);
        assert_int_equal(server_count(scene.server), null_at - 1);
        notes.null_at = 0; /* and the client is as good as before */
        notes.count = 0;
        assert_int_equal(perform(&scene)->status, 200);
        curl_slist_free_all(notes.headers);
        finish(&scene);
    }
}

static void test_G4_K5_a_message_never_waits_for_a_queue(void **state)
{
    (void)state;
    struct step steps[40];
    struct notes notes = {0};
    struct scene scene;
    struct lull_client_config config = quick_config(QUICK);
    config.budget.reserve = 2;
    config.budget.reserve_milli_per_s = 1;
    for (size_t i = 0; i < LENGTH(steps); i++) {
        steps[i] = (struct step){ANSWER, REPLY_BUSY};
    }
    begin_with(&scene, steps, LENGTH(steps), &config);
    begin_push(&scene, &notes);
    check(perform(&scene), LULL_VERDICT_GIVE_UP, LULL_REASON_BUDGET_EXHAUSTED, 503, 3);
    scene.request.hooks.before_attempt = NULL;
    struct lull_policy once = policy_from(QUICK " retries=0");
    scene.request.policy = &once;
    for (int i = 3; i < 20; i++) {
        check(perform(&scene), LULL_VERDICT_DEAD, LULL_REASON_MAX_ATTEMPTS_EXCEEDED, 503, 1);
    }
    check(perform(&scene), LULL_VERDICT_GIVE_UP, LULL_REASON_CIRCUIT_OPEN, 0, 0);
    assert_int_equal(server_count(scene.server), 20);
    curl_slist_free_all(notes.headers);
    finish(&scene);
}

static void test_H1_a_hedge_has_the_headers_of_its_attempt(void **state)
{
    (void)state;
    struct step steps[26];
    struct notes notes = {0};
    struct scene scene;
    for (size_t i = 0; i < 25; i++) {
        steps[i] = (struct step){ANSWER, REPLY_OK};
    }
    steps[25] = (struct step){HANG, NULL};
    begin(&scene, steps, LENGTH(steps));
    for (int i = 0; i < 25; i++) {
        (void)perform(&scene);
    }
    begin_push(&scene, &notes);
    scene.request.method = "GET";
    scene.request.body = (struct lull_body){.fd = -1};
    scene.request.is_hedged = true;
    scene.request.traceparent = ""; /* so that each has headers of ours before those */
    check(perform(&scene), LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 2);
    assert_int_equal(notes.count, 1);
    assert_true(has(&scene, 25, "Number: 1\r\n") && has(&scene, 26, "Number: 1\r\n"));
    curl_slist_free_all(notes.headers);
    finish(&scene);
}

static void test_H1_messages_on_a_multi(void **state)
{
    (void)state;
    static const struct step steps[] = {{ANSWER, REPLY_BUSY}, {ANSWER, REPLY_BUSY}, {RESET, NULL}};
    struct notes notes[3] = {0};
    struct scene scene;
    struct loop loop = {0};
    struct lull_multi *multi = NULL;
    begin(&scene, steps, LENGTH(steps));
    assert_int_equal(lull_multi_new(&multi, scene.client, NULL), LULL_OK);
    for (int i = 0; i < 3; i++) {
        begin_push(&scene, &notes[i]);
        notes[i].null_at = i == 2 ? 1 : 0;
        assert_int_equal(lull_multi_add(multi, &scene.request, count_done, &loop), LULL_OK);
    }
    for (int i = 0; i < 1000 && loop.done < 3; i++) {
        drive(multi);
    }
    assert_int_equal(loop.done, 3);
    unsigned delivered = 0;
    for (int i = 0; i < 3; i++) {
        delivered += loop.results[i]->verdict == LULL_VERDICT_DELIVERED;
        lull_result_free(loop.results[i]);
        curl_slist_free_all(notes[i].headers);
    }
    assert_int_equal(delivered, 2);
    lull_multi_destroy(multi);
    finish(&scene);
}

/* An open connection is as good a way into the operator's network as a new one. */
static void test_W5_nor_by_a_connection_that_is_open(void **state)
{
    (void)state;
    struct scene scene;
    begin(&scene, NULL, 0);
    check(perform(&scene), LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED, 200, 1);
    scene.request.kind = LULL_KIND_PUSH;
    scene.request.is_public_only = true;
    const struct lull_result *result = perform(&scene);
    check(result, LULL_VERDICT_DEAD, LULL_REASON_INVALID_TARGET, 0, 1);
    assert_int_equal(result->attempts[0].transport, LULL_TRANSPORT_FORBIDDEN);
    assert_int_equal(result->attempts[0].effect, LULL_EFFECT_NOT_SENT);
    assert_int_equal(server_count(scene.server), 1);
    finish(&scene);
}

static void test_H1_multi_destroy_cancels(void **state)
{
    (void)state;
    static const struct step steps[] = {{HANG, NULL}, {HANG, NULL}};
    struct scene scene;
    struct loop loop = {0};
    struct lull_multi *multi = NULL;
    begin(&scene, steps, LENGTH(steps));
    assert_int_equal(lull_multi_new(&multi, scene.client, NULL), LULL_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(lull_multi_add(multi, &scene.request, count_done, &loop), LULL_OK);
    }
    for (int i = 0; i < 1000 && server_count(scene.server) < 2; i++) {
        drive(multi);
    }
    assert_int_equal(lull_multi_add(multi, &scene.request, count_done, &loop), LULL_OK);
    assert_int_equal(loop.done, 0);
    lull_multi_destroy(multi);
    assert_int_equal(loop.done, 3);
    size_t attempts = 0;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(loop.results[i]->verdict, LULL_VERDICT_GIVE_UP);
        assert_int_equal(loop.results[i]->reason, LULL_REASON_CANCELLED);
        attempts += loop.results[i]->attempt_count;
        lull_result_free(loop.results[i]);
    }
    assert_int_equal(attempts, 2);
    lull_multi_destroy(NULL);
    finish(&scene);
}

/* ---- requests that cannot be ---- */

static void expect_refusal(struct scene *scene)
{
    struct lull_result *untouched = (struct lull_result *)scene;
    struct lull_result *result = untouched;
    assert_int_equal(lull_http_perform(scene->client, &scene->request, &result), LULL_ERR_RANGE);
    assert_ptr_equal(result, untouched);
    lull_request_init(&scene->request, server_url(scene->server));
}

static void test_H1_bad_requests_are_refused(void **state)
{
    (void)state;
    struct scene scene;
    struct lull_policy bad = policy_from(QUICK);
    bad.backoff.base_ms = 0;
    begin(&scene, NULL, 0);
    scene.request.url = NULL;
    expect_refusal(&scene);
    scene.request.policy = &bad;
    expect_refusal(&scene);
    scene.request.deadline_ms = -1;
    expect_refusal(&scene);
    scene.request.timeout_ms = -1;
    expect_refusal(&scene);
    scene.request.connect_timeout_ms = -1;
    expect_refusal(&scene);
    scene.request.idle_timeout_ms = -1;
    expect_refusal(&scene);
    scene.request.sink.write = drain_write; /* without begin */
    expect_refusal(&scene);
    scene.request.body = (struct lull_body){.kind = LULL_BODY_MEMORY, .length = 3};
    expect_refusal(&scene);
    scene.request.body = (struct lull_body){.kind = LULL_BODY_MEMORY, .data = "", .length = -1};
    expect_refusal(&scene);
    scene.request.body = (struct lull_body){.kind = LULL_BODY_FILE, .fd = -1};
    expect_refusal(&scene);
    scene.request.body = (struct lull_body){.kind = LULL_BODY_CALLBACK};
    expect_refusal(&scene);
    scene.request.body = (struct lull_body){.kind = (enum lull_body_kind)99};
    expect_refusal(&scene);
    assert_int_equal(server_count(scene.server), 0);
    finish(&scene);
}

static void test_H1_bad_configs_are_refused(void **state)
{
    (void)state;
    struct lull_client *client = NULL;
    struct lull_client_config config = quick_config(QUICK);
    config.destinations_max = 0;
    assert_int_equal(lull_client_new(&client, &config), LULL_ERR_RANGE);
    config = quick_config(QUICK);
    config.hedge_permille = 1001;
    assert_int_equal(lull_client_new(&client, &config), LULL_ERR_RANGE);
    config = quick_config(QUICK);
    config.budget.ratio_permille = 1001;
    assert_int_equal(lull_client_new(&client, &config), LULL_ERR_RANGE);
    config = quick_config(QUICK);
    config.breaker.window_ms = 61;
    assert_int_equal(lull_client_new(&client, &config), LULL_ERR_RANGE);
    assert_null(client);
    assert_int_equal(lull_client_new(&client, NULL), LULL_OK);
    lull_client_destroy(client);
    lull_client_destroy(NULL);
    lull_result_free(NULL);
    lull_cancel_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_H1_get_is_retried_after_503),
        cmocka_unit_test(test_H1_the_last_answer_is_given_back),
        cmocka_unit_test(test_G7_retries_carry_their_number),
        cmocka_unit_test(test_C9_post_is_not_repeated_after_reset),
        cmocka_unit_test(test_C9_post_on_a_reused_connection_goes_out_once),
        cmocka_unit_test(test_C9_get_on_a_reused_connection_is_an_attempt),
        cmocka_unit_test(test_C9_post_with_a_key_is_repeated_with_it),
        cmocka_unit_test(test_H1_memory_and_file_are_replayed),
        cmocka_unit_test(test_H1_callback_is_rewound),
        cmocka_unit_test(test_H1_callback_without_a_way_back_is_spent),
        cmocka_unit_test(test_H1_a_source_that_fails_cancels),
        cmocka_unit_test(test_C12_get_with_a_broken_body_is_fetched_again),
        cmocka_unit_test(test_C12_post_with_a_broken_body_stands),
        cmocka_unit_test(test_H1_body_max),
        cmocka_unit_test(test_H1_sink_sees_only_the_response_that_counts),
        cmocka_unit_test(test_C12_sink_begins_again),
        cmocka_unit_test(test_C12_sink_that_cannot_restart),
        cmocka_unit_test(test_H1_sink_that_stops),
        cmocka_unit_test(test_T2_deadline),
        cmocka_unit_test(test_T2_no_wait_past_the_deadline),
        cmocka_unit_test(test_C9_timeout_of_an_attempt),
        cmocka_unit_test(test_H1_cancel_in_a_transfer),
        cmocka_unit_test(test_H1_cancel_in_a_wait),
        cmocka_unit_test(test_H1_a_hook_can_refuse_the_wait),
        cmocka_unit_test(test_G4_spent_budget_gives_the_answer_at_once),
        cmocka_unit_test(test_K5_open_circuit_fails_fast),
        cmocka_unit_test(test_G7_an_outer_layer_retries),
        cmocka_unit_test(test_S6_invalid_is_never_looked_up),
        cmocka_unit_test(test_C1_refused_connection),
        cmocka_unit_test(test_H1_a_success_that_is_not_asked_about),
        cmocka_unit_test(test_C11_a_success_that_the_policy_maps),
        cmocka_unit_test(test_C9_own_handle_that_is_redirected),
        cmocka_unit_test(test_H1_own_handle),
        cmocka_unit_test(test_H1_own_handle_with_a_body_of_ours),
        cmocka_unit_test(test_L5_a_span_for_each_attempt),
        cmocka_unit_test(test_H1_a_hedge_wins_over_a_slow_request),
        cmocka_unit_test(test_H1_a_post_is_never_hedged),
        cmocka_unit_test(test_H1_multi_shares_a_curlm_with_others),
        cmocka_unit_test(test_H1_multi_destroy_cancels),
        cmocka_unit_test(test_T3_each_attempt_has_its_own_headers),
        cmocka_unit_test(test_C8_a_doubted_token_is_renewed_once),
        cmocka_unit_test(test_H1_no_headers_end_it),
        cmocka_unit_test(test_G4_K5_a_message_never_waits_for_a_queue),
        cmocka_unit_test(test_H1_a_hedge_has_the_headers_of_its_attempt),
        cmocka_unit_test(test_H1_messages_on_a_multi),
        cmocka_unit_test(test_W5_nor_by_a_connection_that_is_open),
        cmocka_unit_test(test_H1_bad_requests_are_refused),
        cmocka_unit_test(test_H1_bad_configs_are_refused),
    };
    return cmocka_run_group_tests_name("client", tests, NULL, NULL);
}
