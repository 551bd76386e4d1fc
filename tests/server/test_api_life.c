/* The life of the API and its connections: suspended, broken off, many at once, and the end under
 * load. Under the thread sanitizer too. SPDX-License-Identifier: MIT */
#include "api_world.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "lull/error.h"

#define LINE WEBHOOK "\n"

static void say_post(int fd, const char *body)
{
    talk_say(fd,
             "POST " MESSAGES " HTTP/1.1\r\nHost: x\r\nContent-Type: " JSON
             "\r\nContent-Length: %zu\r\n\r\n%s",
             strlen(body), body);
}

/* ---- one connection ---- */

/* What is asked while an answer is awaited comes after it, in order. */
static void test_pipelined_requests_are_answered_in_order(void **state)
{
    const struct api_world *world = *state;
    int fd = talk_connect(world);
    stand_in_hold(world->stand_in, true);
    say_post(fd, WEBHOOK);
    talk_say(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    say_post(fd, "{}");
    say_post(fd, WEBHOOK);
    (void)stand_in_await(world->stand_in, 1);
    stand_in_hold(world->stand_in, false);
    static const int statuses[] = {202, 200, 400, 202};
    for (size_t i = 0; i < 4; i++) {
        struct reply reply = talk_read(fd, false);
        assert_int_equal(reply.status, statuses[i]);
        reply_free(&reply);
    }
    (void)close(fd);
}

static void test_a_body_may_come_slowly(void **state)
{
    const struct api_world *world = *state;
    static const char body[] = WEBHOOK;
    int fd = talk_connect(world);
    talk_say(fd,
             "POST " MESSAGES " HTTP/1.1\r\nHost: x\r\nContent-Type: " JSON
             "\r\nContent-Length: %zu\r\n\r\n",
             sizeof body - 1);
    for (size_t i = 0; i < sizeof body - 1; i++) {
        talk_write(fd, body + i, 1);
        struct reply other = talk(world, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_int_equal(other.status, 200); /* nobody waits for it */
        reply_free(&other);
    }
    struct reply reply = talk_read(fd, false);
    assert_int_equal(reply.status, 202);
    reply_free(&reply);
    (void)close(fd);
}

/* One that sends nothing more is let go of. */
static void test_a_silent_client_is_cut_off(void **state)
{
    struct api_world world;
    (void)state;
    api_world_init(&world);
    world.config.limits.client_timeout_s = 1;
    api_world_start(&world);
    int fd = talk_connect(&world);
    talk_say(fd, "POST " BATCH " HTTP/1.1\r\nHost: x\r\nContent-Type: " NDJSON
                 "\r\nContent-Length: 1000\r\n\r\n" LINE);
    char byte = 0;
    assert_true(read(fd, &byte, 1) <= 0 || byte == 'H');
    (void)close(fd);
    api_world_stop(&world);
}

/* ---- clients that leave ---- */

/* While its message is with the engine: the message stays accepted, and nothing else suffers. */
static void test_a_client_leaves_while_it_waits(void **state)
{
    const struct api_world *world = *state;
    stand_in_hold(world->stand_in, true);
    for (int i = 0; i < 20; i++) {
        int fd = talk_connect(world);
        say_post(fd, WEBHOOK);
        (void)stand_in_await(world->stand_in, (size_t)i + 1);
        if (i % 2) {
            struct linger at_once = {1, 0};
            (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        }
        (void)close(fd);
    }
    stand_in_hold(world->stand_in, false);
    struct reply reply = talk(world, "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_int_equal(reply.status, 200);
    assert_non_null(strstr(reply.body, "\"leased\":20,"));
    reply_free(&reply);
}

/* In the middle of a batch, with lines of it under way. */
static void test_a_client_leaves_in_the_middle_of_a_batch(void **state)
{
    const struct api_world *world = *state;
    stand_in_hold(world->stand_in, true);
    for (int i = 0; i < 20; i++) {
        int fd = talk_connect(world);
        talk_say(fd, "POST " BATCH " HTTP/1.1\r\nHost: x\r\nContent-Type: " NDJSON
                     "\r\nContent-Length: 1000\r\n\r\n" LINE LINE "{\"webhook\":");
        (void)stand_in_await(world->stand_in, 2 * (size_t)i + 2);
        (void)close(fd);
    }
    for (int i = 0; i < 20; i++) { /* the daemon has seen them go, or will: both must do */
        struct reply reply = talk(world, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
        assert_int_equal(reply.status, 200);
        reply_free(&reply);
    }
    stand_in_hold(world->stand_in, false);
    struct reply reply = talk(world, "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(strstr(reply.body, "\"leased\":40,"));
    reply_free(&reply);
}

/* ---- many ---- */

enum { CLIENTS = 64, POSTS = 20 };

struct client {
    const struct api_world *world;
    pthread_t thread;
    unsigned accepted;
    unsigned refused;
    bool is_till_the_end; /* until the connection ends */
};

static void *run_client(void *userdata)
{
    struct client *client = userdata;
    int fd = talk_connect(client->world);
    for (int i = 0; i < POSTS || client->is_till_the_end; i++) {
        say_post(fd, WEBHOOK);
        struct reply reply = talk_read(fd, false);
        int status = reply.status;
        reply_free(&reply);
        if (status == 0) {
            break;
        }
        client->accepted += status == 202;
        client->refused += status != 202;
    }
    (void)close(fd);
    return NULL;
}

static void test_many_connections_at_once(void **state)
{
    const struct api_world *world = *state;
    static struct client clients[CLIENTS];
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.world = world};
        assert_int_equal(pthread_create(&clients[i].thread, NULL, run_client, &clients[i]), 0);
    }
    for (size_t i = 0; i < CLIENTS; i++) {
        (void)pthread_join(clients[i].thread, NULL);
        assert_int_equal(clients[i].accepted, POSTS);
    }
    struct reply reply = talk(world, "GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(strstr(reply.body, "\"leased\":1280,"));
    reply_free(&reply);
}

/* All threads but this one run only when this one waits. */
static void let_the_others_wait(void)
{
    struct sched_param none = {0};
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *task = readdir(tasks); task; task = readdir(tasks)) {
        pid_t id = (pid_t)strtol(task->d_name, NULL, 10);
        assert_true(id == 0 || id == getpid() || sched_setscheduler(id, SCHED_IDLE, &none) == 0);
    }
    (void)closedir(tasks);
}

/* libmicrohttpd asks the kernel for 128 events at once; its own loop, told of exactly as many,
 * would wait again with all of them unanswered. */
static void test_no_number_of_connections_is_left_waiting(void **state)
{
    enum { AT_ONCE = 128 };
    int fds[AT_ONCE + 1];
    struct api_world world;
    cpu_set_t all;
    cpu_set_t one;
    (void)state;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &one);
        }
    }
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    api_world_init(&world);
    world.config.limits.api_threads = 1;
    world.config.limits.client_timeout_s = 5; /* it would cut them off, unanswered */
    api_world_start(&world);
    for (size_t i = 0; i <= AT_ONCE; i++) {
        fds[i] = talk_connect(&world);
    }
    let_the_others_wait();
    for (size_t count = AT_ONCE - 1; count <= AT_ONCE + 1; count++) {
        for (size_t i = 0; i < count; i++) {
            talk_say(fds[i], "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
        }
        for (size_t i = 0; i < count; i++) {
            struct reply reply = talk_read(fds[i], false);
            assert_int_equal(reply.status, 200);
            reply_free(&reply);
        }
    }
    for (size_t i = 0; i <= AT_ONCE; i++) {
        (void)close(fds[i]);
    }
    api_world_stop(&world);
    assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

/* The end, while clients ask on: every job is done, no connection hangs. */
static void test_the_end_under_load(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 3; threads++) {
        struct api_world world;
        api_world_init(&world);
        world.config.limits.api_threads = threads;
        api_world_start(&world);
        struct client clients[8];
        for (size_t i = 0; i < 8; i++) {
            clients[i] = (struct client){.world = &world, .is_till_the_end = true};
            assert_int_equal(pthread_create(&clients[i].thread, NULL, run_client, &clients[i]), 0);
        }
        while (stand_in_count(world.stand_in) < 200) {
            (void)usleep(100); /* until all are busy */
        }
        if (threads == 2) {
            api_stop_listening(world.api);
        }
        struct api *api = world.api;
        world.api = NULL;
        api_destroy(api);
        for (size_t i = 0; i < 8; i++) {
            (void)pthread_join(clients[i].thread, NULL);
        }
        api_world_stop(&world);
    }
}

static void *release(void *userdata)
{
    struct api_world *world = userdata;
    (void)usleep(20000); /* so that the end has most likely begun; right in any case */
    stand_in_hold(world->stand_in, false);
    return NULL;
}

/* The end waits for what is under way, and those who wait for it are not forgotten. */
static void test_the_end_with_suspended_connections(void **state)
{
    struct api_world world;
    pthread_t thread;
    int fds[10];
    (void)state;
    api_world_init(&world);
    api_world_start(&world);
    stand_in_hold(world.stand_in, true);
    for (size_t i = 0; i < 10; i++) {
        fds[i] = talk_connect(&world);
        if (i % 2) {
            say_post(fds[i], WEBHOOK);
        } else {
            talk_say(fds[i], "POST " BATCH " HTTP/1.1\r\nHost: x\r\nContent-Type: " NDJSON
                             "\r\nContent-Length: 1000\r\n\r\n" LINE);
        }
    }
    (void)stand_in_await(world.stand_in, 10);
    assert_int_equal(pthread_create(&thread, NULL, release, &world), 0);
    api_stop_listening(world.api);
    api_destroy(world.api);
    world.api = NULL;
    (void)pthread_join(thread, NULL);
    for (size_t i = 0; i < 10; i++) {
        (void)close(fds[i]);
    }
    api_world_stop(&world);
}

/* Once nothing more is listened for, those that are connected are told that it is over. */
static void test_connections_end_when_it_drains(void **state)
{
    const struct api_world *world = *state;
    int fd = talk_connect(world);
    talk_say(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    struct reply reply = talk_read(fd, false);
    assert_null(strstr(reply.head, "Connection: close"));
    reply_free(&reply);
    api_stop_listening(world->api);
    talk_say(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    reply = talk_read(fd, false);
    assert_int_equal(reply.status, 200);
    assert_non_null(strcasestr(reply.head, "Connection: close"));
    reply_free(&reply);
    char byte = 0;
    assert_int_equal(read(fd, &byte, 1), 0);
    (void)close(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, api_world_setup, api_world_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_pipelined_requests_are_answered_in_order),
        TEST(test_a_body_may_come_slowly),
        cmocka_unit_test(test_a_silent_client_is_cut_off),
        TEST(test_a_client_leaves_while_it_waits),
        TEST(test_a_client_leaves_in_the_middle_of_a_batch),
        TEST(test_many_connections_at_once),
        cmocka_unit_test(test_no_number_of_connections_is_left_waiting),
        cmocka_unit_test(test_the_end_under_load),
        cmocka_unit_test(test_the_end_with_suspended_connections),
        TEST(test_connections_end_when_it_drains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
