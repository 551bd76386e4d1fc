/* The listening socket, with real sockets on both sides. */
#include "suite.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "listen.h"
#include "server_files.h"

static void open_or_fail(const char *address, struct listener *listener)
{
    char problem[LISTEN_PROBLEM_SIZE] = "";
    if (!listen_open(address, listener, problem)) {
        fail_msg("%s: %s", address, problem);
    }
}

static bool can_connect(const struct sockaddr *address, socklen_t length)
{
    int fd = socket(address->sa_family, SOCK_STREAM, 0);
    bool is_connected = connect(fd, address, length) == 0;
    (void)close(fd);
    return is_connected;
}

static bool can_connect_v4(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    return can_connect((const struct sockaddr *)&address, sizeof address);
}

static bool can_connect_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return can_connect((const struct sockaddr *)&address, sizeof address);
}

static bool has_ipv6(void)
{
    struct listener listener;
    char problem[LISTEN_PROBLEM_SIZE];
    bool is_open = listen_open("[::1]:0", &listener, problem);
    if (is_open) {
        listen_close(&listener);
    }
    return is_open;
}

static void test_internet(void **state)
{
    static const struct {
        const char *address;
        const char *begins;
        bool is_loopback;
        bool is_v6;
    } cases[] = {
        {"127.0.0.1:0", "127.0.0.1:", true, false},
        {"127.0.0.2:0", "127.0.0.2:", true, false},
        {"localhost:0", "127.0.0.1:", true, false},
        {"0.0.0.0:0", "0.0.0.0:", false, false},
        {"[::1]:0", "[::1]:", true, true},
        {"[::]:0", "[::]:", false, true},
        {"[::ffff:127.0.0.1]:0", "[::ffff:127.0.0.1]:", true, true},
    };
    (void)state;
    bool is_v6_there = has_ipv6();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct listener listener;
        bool is_loopback = !cases[i].is_loopback;
        char problem[LISTEN_PROBLEM_SIZE] = "";
        assert_true(listen_check(cases[i].address, &is_loopback, problem));
        assert_int_equal(is_loopback, cases[i].is_loopback);
        if (cases[i].is_v6 && !is_v6_there) {
            continue; /* a machine without it; what can be read is checked above */
        }
        open_or_fail(cases[i].address, &listener);
        assert_int_equal(listener.is_loopback, cases[i].is_loopback);
        assert_false(listener.is_unix);
        assert_true(listener.port > 0);
        assert_memory_equal(listener.text, cases[i].begins, strlen(cases[i].begins));
        assert_int_equal(atoi(listener.text + strlen(cases[i].begins)), listener.port);
        assert_true(fcntl(listener.fd, F_GETFL) & O_NONBLOCK);
        assert_true(fcntl(listener.fd, F_GETFD) & FD_CLOEXEC);
        if (!cases[i].is_v6 && !strstr(cases[i].begins, "127.0.0.2")) {
            assert_true(can_connect_v4(listener.port));
        }
        listen_close(&listener);
        assert_int_equal(listener.fd, -1);
    }
}

static void test_a_port_that_is_taken(void **state)
{
    struct listener first;
    struct listener second = {.fd = 77};
    char problem[LISTEN_PROBLEM_SIZE] = "";
    char expected[LISTEN_PROBLEM_SIZE];
    char address[64];
    (void)state;
    open_or_fail("127.0.0.1:0", &first);
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", first.port);
    assert_false(listen_open(address, &second, problem));
    (void)snprintf(expected, sizeof expected, "port %u of 127.0.0.1 is taken: another lull serve?",
                   first.port);
    assert_string_equal(problem, expected);
    assert_int_equal(second.fd, 77);
    assert_true(can_connect_v4(first.port)); /* which leaves a connection in TIME_WAIT behind */
    listen_close(&first);
    open_or_fail(address, &second);
    listen_close(&second);
}

static void test_what_is_no_address(void **state)
{
    static const struct {
        const char *address;
        const char *says;
    } cases[] = {
        {"", "the address must be HOST:PORT"},
        {"8372", "the address must be HOST:PORT"},
        {":8372", "the address must be HOST:PORT"},
        {"127.0.0.1", "the address must be HOST:PORT"},
        {"127.0.0.1:", "the address must be HOST:PORT"},
        {"127.0.0.1:http", "the address must be HOST:PORT"},
        {"127.0.0.1:80x", "the address must be HOST:PORT"},
        {"::1:8372", "the address must be HOST:PORT"},
        {"[::1]8372", "the address must be HOST:PORT"},
        {"[::1:8372", "the address must be HOST:PORT"},
        {"127.0.0.1:65536", "a port is at most 65535"},
        {"127.0.0.1:99999999999999999999", "a port is at most 65535"},
        {"nobody.invalid:80", "the host 'nobody.invalid' is not known"},
        {"[localhost]:80", "the host 'localhost' is not known"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct listener listener;
        bool is_loopback = false;
        char problem[LISTEN_PROBLEM_SIZE] = "";
        char second[LISTEN_PROBLEM_SIZE] = "";
        assert_false(listen_open(cases[i].address, &listener, problem));
        assert_false(listen_check(cases[i].address, &is_loopback, second));
        assert_string_equal(problem, second);
        if (!strstr(problem, cases[i].says)) {
            fail_msg("%s: %s", cases[i].address, problem);
        }
    }
    struct listener listener;
    char problem[LISTEN_PROBLEM_SIZE] = "";
    assert_false(listen_open("192.0.2.1:0", &listener, problem));
    assert_string_equal(problem, "192.0.2.1 is no address of this machine");
}

static void test_unix_socket(void **state)
{
    struct listener listener;
    struct listener second;
    struct stat status;
    char problem[LISTEN_PROBLEM_SIZE] = "";
    char expected[LISTEN_PROBLEM_SIZE];
    const char *path = files_path("api.sock");
    (void)state;
    open_or_fail(path, &listener);
    assert_true(listener.is_unix && listener.is_loopback);
    assert_int_equal(listener.port, 0);
    assert_string_equal(listener.text, path);
    assert_true(can_connect_unix(path));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07007, 0);
    assert_false(listen_open(path, &second, problem));
    (void)snprintf(expected, sizeof expected, "the socket %s is taken: another lull serve?", path);
    assert_string_equal(problem, expected);
    assert_true(can_connect_unix(path)); /* it was left alone */
    listen_close(&listener);
    assert_int_not_equal(stat(path, &status), 0);
}

static void test_a_socket_that_was_left_behind(void **state)
{
    struct listener dead;
    struct listener listener;
    char problem[LISTEN_PROBLEM_SIZE] = "";
    const char *path = files_path("left.sock");
    (void)state;
    open_or_fail(path, &dead);
    (void)close(dead.fd); /* as kill -9 does: the file stays */
    assert_false(can_connect_unix(path));
    open_or_fail(path, &listener);
    assert_true(can_connect_unix(path));
    listen_close(&listener);
    path = files_write("file.sock", "precious", 0600);
    assert_false(listen_open(path, &listener, problem));
    assert_non_null(strstr(problem, "is there and is no socket"));
    assert_int_equal(access(path, F_OK), 0);
    assert_false(listen_open(files_path("no folder/api.sock"), &listener, problem));
    assert_non_null(strstr(problem, "No such file or directory"));
    char long_path[300];
    memset(long_path, '/', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = '\0';
    assert_false(listen_open(long_path, &listener, problem));
    assert_string_equal(problem, "the path of a socket has at most 107 bytes");
}

static void test_a_socket_from_outside(void **state)
{
    struct listener listener;
    struct listener adopted;
    char problem[LISTEN_PROBLEM_SIZE] = "";
    (void)state;
    open_or_fail("0.0.0.0:0", &listener);
    assert_int_equal(fcntl(listener.fd, F_SETFL, 0), 0);
    assert_true(listen_adopt(listener.fd, &adopted, problem));
    assert_false(adopted.is_loopback);
    assert_int_equal(adopted.port, listener.port);
    assert_string_equal(adopted.text, listener.text);
    assert_true(fcntl(adopted.fd, F_GETFL) & O_NONBLOCK);
    listen_close(&adopted);
    const char *path = files_path("adopted.sock");
    open_or_fail(path, &listener);
    assert_true(listen_adopt(listener.fd, &adopted, problem));
    assert_true(adopted.is_unix && adopted.is_loopback);
    assert_string_equal(adopted.text, path);
    listen_close(&adopted); /* whose file is not ours to remove */
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(unlink(path), 0);
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_false(listen_adopt(pair[0], &adopted, problem));
    assert_non_null(strstr(problem, "is no listening stream socket"));
    (void)close(pair[0]);
    (void)close(pair[1]);
    assert_false(listen_adopt(pair[0], &adopted, problem));
    assert_non_null(strstr(problem, "is no socket"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_internet),
        cmocka_unit_test(test_a_port_that_is_taken),
        cmocka_unit_test(test_what_is_no_address),
        cmocka_unit_test(test_unix_socket),
        cmocka_unit_test(test_a_socket_that_was_left_behind),
        cmocka_unit_test(test_a_socket_from_outside),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
