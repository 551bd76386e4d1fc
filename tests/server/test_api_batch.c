/* The API's batches: streamed in, held back where the engine is slow, a result for each line.
 * SPDX-License-Identifier: MIT */
#include "api_world.h"

#include <sys/socket.h>
#include <unistd.h>

#include "lull/error.h"
#include "store.h"

#define LINE WEBHOOK "\n"

static struct reply post(const struct api_world *world, const char *headers, const char *body)
{
    struct reply reply = talk_post(world, BATCH, NDJSON, headers, body);
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.head, "Content-Type: " NDJSON "\r\n"));
    return reply;
}

/* The result with this index, without its end. */
static const char *result(const struct reply *reply, size_t index, char text[512])
{
    const char *at = reply->body;
    for (size_t i = 0; i < index; i++) {
        at = strchr(at, '\n');
        assert_non_null(at);
        at++;
    }
    (void)snprintf(text, 512, "%.*s", (int)strcspn(at, "\n"), at);
    return text;
}

static size_t count_of(const struct reply *reply, const char *word)
{
    size_t count = 0;
    for (const char *at = reply->body; (at = strstr(at, word)); at += strlen(word)) {
        count++;
    }
    return count;
}

static void expect(const struct reply *reply, size_t index, unsigned line, unsigned status)
{
    char text[512];
    char beginning[64];
    (void)snprintf(beginning, sizeof beginning, "{\"line\":%u,\"status\":%u,", line, status);
    (void)result(reply, index, text);
    text[strlen(beginning)] = '\0';
    assert_string_equal(text, beginning);
}

static void test_each_line_has_its_result(void **state)
{
    struct reply reply = post(*state, "",
                              LINE "\n"
                                   "  \t\r\n"
                                   "broken\n" WEBHOOK "\r\n"
                                   "{\"colour\":1}\n" WEBHOOK);
    char text[512];
    assert_int_equal(count_of(&reply, "\n"), 5);
    expect(&reply, 0, 1, 202);
    expect(&reply, 1, 4, 400);
    expect(&reply, 2, 5, 202);
    expect(&reply, 3, 6, 400);
    expect(&reply, 4, 7, 202); /* the last needs no end */
    assert_non_null(strstr(result(&reply, 0, text), "\"state\":\"leased\"}"));
    assert_non_null(strstr(result(&reply, 3, text), "\"member\":\"colour\""));
    assert_non_null(strstr(text, "\"title\":\""));
    assert_non_null(strstr(text, "\"detail\":\""));
    reply_free(&reply);
}

static void test_nothing_is_no_mistake(void **state)
{
    struct reply reply = post(*state, "", "");
    assert_int_equal(reply.length, 0);
    reply_free(&reply);
    reply = post(*state, "", "\n\n \n");
    assert_int_equal(reply.length, 0);
    reply_free(&reply);
}

/* However the bytes are cut. */
static void test_a_batch_byte_by_byte(void **state)
{
    static const char body[] = LINE "x\n\n" LINE;
    int fd = talk_connect(*state);
    talk_say(fd, "POST " BATCH " HTTP/1.1\r\nHost: x\r\nContent-Type: " NDJSON
                 "\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (size_t i = 0; i < sizeof body - 1; i++) {
        talk_say(fd, "1\r\n%c\r\n", body[i]);
    }
    talk_say(fd, "0\r\n\r\n");
    struct reply reply = talk_read(fd, false);
    assert_int_equal(reply.status, 200);
    expect(&reply, 0, 1, 202);
    expect(&reply, 1, 2, 400);
    expect(&reply, 2, 4, 202);
    assert_int_equal(count_of(&reply, "\n"), 3);
    reply_free(&reply);
    (void)close(fd);
}

static void test_a_line_that_is_too_long_spoils_only_itself(void **state)
{
    static char body[32768];
    int length =
        snprintf(body, sizeof body, LINE "%20000s\n" LINE "%4096s\n%4097s\n", "x", "y", "z");
    assert_in_range(length, 1, sizeof body - 1);
    struct reply reply = post(*state, "", body);
    expect(&reply, 0, 1, 202);
    expect(&reply, 1, 2, 413);
    expect(&reply, 2, 3, 202);
    expect(&reply, 3, 4, 400); /* as long as it may be, but no message */
    expect(&reply, 4, 5, 413);
    reply_free(&reply);
}

static void test_lines_over_the_limit(void **state)
{
    static char body[20000];
    char text[512];
    for (int i = 0; i < 150; i++) {
        (void)strcat(body, i < 100 ? LINE : "x\n");
    }
    struct reply reply = post(*state, "", body);
    assert_int_equal(count_of(&reply, "\"status\":202"), 100);
    assert_int_equal(count_of(&reply, "\"status\":413"), 50);
    expect(&reply, 149, 150, 413);
    reply_free(&reply);

    /* Far over it, they do not each have one. */
    for (int i = 0; i < 2000; i++) {
        (void)strcat(body, "x\n");
    }
    reply = post(*state, "", body);
    assert_int_equal(count_of(&reply, "\n"), 201);
    assert_non_null(strstr(result(&reply, 200, text), "nor any after it"));
    reply_free(&reply);
}

static void test_bytes_over_the_limit(void **state)
{
    const struct api_world *world = *state;
    static char line[4000];
    char text[512];
    struct reply reply = talk(world, "POST " BATCH " HTTP/1.1\r\nHost: x\r\nContent-Type: " NDJSON
                                     "\r\nExpect: 100-continue\r\nContent-Length: 100001\r\n\r\n");
    assert_int_equal(reply.status, 413);
    reply_free(&reply);

    /* What does not say its length is taken up to the limit, and the rest is told of. */
    int length = snprintf(line, sizeof line, "%3000s\n", WEBHOOK);
    int fd = talk_connect(world);
    talk_say(fd, "POST " BATCH " HTTP/1.1\r\nHost: x\r\nContent-Type: " NDJSON
                 "\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 50; i++) {
        talk_say(fd, "%x\r\n%s\r\n", (unsigned)length, line);
    }
    talk_say(fd, "0\r\n\r\n");
    reply = talk_read(fd, false);
    assert_int_equal(reply.status, 200);
    size_t accepted = count_of(&reply, "\"status\":202");
    assert_in_range(accepted, 1, 33);
    assert_int_equal(count_of(&reply, "\n"), accepted + 1);
    assert_non_null(strstr(result(&reply, accepted, text), "nor any after it"));
    reply_free(&reply);
    (void)close(fd);
}

/* Q6 */
static void test_idempotency_keys(void **state)
{
    static const char own[] = "{\"webhook\":{\"url\":\"https://hooks.example/in\"},"
                              "\"idempotency_key\":\"own\"}\n";
    char first_text[512];
    char again_text[512];
    char body[1024];
    (void)snprintf(body, sizeof body, LINE LINE "%s%s", own, own);
    struct reply first = post(*state, "Idempotency-Key: batch-7\r\n", body);
    struct reply again = post(*state, "Idempotency-Key: batch-7\r\n", body);
    for (size_t i = 0; i < 4; i++) {
        expect(&first, i, (unsigned)i + 1, 202);
        expect(&again, i, (unsigned)i + 1, 202);
        (void)result(&first, i, first_text);
        (void)result(&again, i, again_text);
        assert_memory_equal(strstr(first_text, "\"id\""), strstr(again_text, "\"id\""), 20);
        assert_non_null(strstr(again_text, "\"replayed\":true}"));
        assert_true((strstr(first_text, "replayed") != NULL) == (i == 3));
    }
    /* The key of one line, in another place of another batch. */
    struct reply other =
        talk_post(*state, MESSAGES, JSON, "Idempotency-Key: batch-7:2\r\n", WEBHOOK);
    assert_non_null(strstr(other.head, "Idempotency-Replayed: true"));
    reply_free(&first);
    reply_free(&again);
    reply_free(&other);
}

/* G6: what came before the queue was full is accepted, the rest is told when to come again. */
static void test_the_queue_becomes_full_on_the_way(void **state)
{
    const struct api_world *world = *state;
    char text[512];
    stand_in_fill_after(world->stand_in, 3);
    int fd = talk_connect(world);
    talk_say(fd,
             "POST " BATCH " HTTP/1.1\r\nHost: x\r\nContent-Type: " NDJSON
             "\r\nContent-Length: %zu\r\n\r\n" LINE LINE LINE,
             6 * (sizeof LINE - 1));
    struct api_admission admission = {0};
    while (admission.kind == 0) { /* until the three have been put */
        admission = atomic_load(&stand_in_health(world->stand_in)->admission);
    }
    talk_say(fd, LINE LINE LINE);
    struct reply reply = talk_read(fd, false);
    assert_int_equal(reply.status, 200);
    for (unsigned i = 0; i < 6; i++) {
        expect(&reply, i, i + 1, i < 3 ? 202 : 429);
    }
    assert_non_null(strstr(result(&reply, 5, text), "\"retry_after\":7}"));
    reply_free(&reply);
    (void)close(fd);
}

static void test_errors_of_the_store_are_results(void **state)
{
    const struct api_world *world = *state;
    stand_in_fail(world->stand_in, STORE_ERR_DISK_FULL);
    struct reply reply = post(world, "", LINE LINE);
    expect(&reply, 0, 1, 503);
    expect(&reply, 1, 2, 503);
    reply_free(&reply);
}

/* The engine's thread is slow: the client is held back, and nothing is lost or mixed up. */
static void test_a_client_is_held_back(void **state)
{
    struct api_world world;
    (void)state;
    api_world_init(&world);
    world.config.limits.batch_lines_max = 100000;
    world.config.limits.batch_bytes_max = 64 << 20;
    api_world_start(&world);
    enum { LINES = 30000 };
    size_t length = (size_t)LINES * (sizeof LINE - 1);
    char *body = malloc(length + 1);
    assert_non_null(body);
    for (size_t i = 0; i < LINES; i++) {
        memcpy(body + i * (sizeof LINE - 1), LINE, sizeof LINE);
    }
    stand_in_hold(world.stand_in, true);
    int fd = talk_connect(&world);
    talk_say(fd,
             "POST " BATCH " HTTP/1.1\r\nHost: x\r\nContent-Type: " NDJSON
             "\r\nContent-Length: %zu\r\n\r\n",
             length);
    /* As much as the sockets take, while nothing is done. */
    size_t sent = 0;
    ssize_t more = 0;
    size_t seen = 0;
    while (seen <= 2000) {
        more = send(fd, body + sent, length - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        sent += more > 0 ? (size_t)more : 0;
        seen = stand_in_count(world.stand_in);
    }
    assert_in_range(seen, 2001, 2100);
    stand_in_hold(world.stand_in, false);
    talk_write(fd, body + sent, length - sent);
    struct reply reply = talk_read(fd, false);
    assert_int_equal(reply.status, 200);
    assert_int_equal(count_of(&reply, "\"status\":202"), LINES);
    const char *at = reply.body;
    for (unsigned i = 1; i <= LINES; i++) {
        assert_int_equal(strtoul(at + sizeof "{\"line\":" - 1, NULL, 10), i);
        at = strchr(at, '\n') + 1;
    }
    reply_free(&reply);
    (void)close(fd);
    free(body);
    api_world_stop(&world);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, api_world_setup, api_world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_each_line_has_its_result),
        TEST(test_nothing_is_no_mistake),
        TEST(test_a_batch_byte_by_byte),
        TEST(test_a_line_that_is_too_long_spoils_only_itself),
        TEST(test_lines_over_the_limit),
        TEST(test_bytes_over_the_limit),
        TEST(test_idempotency_keys),
        TEST(test_the_queue_becomes_full_on_the_way),
        TEST(test_errors_of_the_store_are_results),
        cmocka_unit_test(test_a_client_is_held_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
