/* What is told to systemd and asked of it, with real sockets. */
#include "suite.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "notify.h"
#include "server_files.h"

/* A manager that listens: NOTIFY_SOCKET is set to it. */
static int open_manager(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    size_t length = strlen(name);
    memcpy(address.sun_path, name, length);
    if (*name == '@') {
        address.sun_path[0] = '\0';
    }
    assert_int_equal(bind(fd, (const struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)),
                     0);
    files_set_variable("NOTIFY_SOCKET", name);
    return fd;
}

static const char *hear(int fd)
{
    static char message[1024];
    ssize_t length = recv(fd, message, sizeof message - 1, 0);
    message[length > 0 ? length : 0] = '\0';
    return message;
}

static void hear_all(const char *name)
{
    int fd = open_manager(name);
    assert_true(notify_ready());
    assert_string_equal(hear(fd), "READY=1");
    assert_true(notify_status("%d waiting\nREADY=1", 7));
    assert_string_equal(hear(fd), "STATUS=7 waiting READY=1");
    assert_true(notify_reloading());
    assert_memory_equal(hear(fd), "RELOADING=1\nMONOTONIC_USEC=", 27);
    assert_true(notify_watchdog());
    assert_string_equal(hear(fd), "WATCHDOG=1");
    assert_true(notify_extend(1500));
    assert_string_equal(hear(fd), "EXTEND_TIMEOUT_USEC=1500000");
    assert_true(notify_stopping());
    assert_string_equal(hear(fd), "STOPPING=1");
    assert_string_equal(hear(fd), "");
    (void)close(fd);
    assert_false(notify_ready()); /* nobody is there any more */
}

static void test_a_socket_in_a_folder(void **state)
{
    (void)state;
    hear_all(files_path("notify"));
}

static void test_an_abstract_socket(void **state)
{
    char name[64];
    (void)state;
    (void)snprintf(name, sizeof name, "@lull-test-notify-%d", (int)getpid());
    hear_all(name);
}

static void test_without_systemd(void **state)
{
    static const char *const names[] = {NULL, "", "/", "@", "relative", "vsock:2:1234"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        files_set_variable("NOTIFY_SOCKET", names[i]);
        assert_false(notify_ready());
        assert_false(notify_status("quiet"));
    }
    char path[200];
    memset(path, '/', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    files_set_variable("NOTIFY_SOCKET", path);
    assert_false(notify_ready());
}

static void test_watchdog(void **state)
{
    char self[16];
    char other[16];
    (void)snprintf(self, sizeof self, "%d", (int)getpid());
    (void)snprintf(other, sizeof other, "%d", (int)getppid());
    const struct {
        const char *interval;
        const char *process;
        int64_t expected_ms;
    } cases[] = {
        {NULL, NULL, 0},        {"30000000", NULL, 15000}, {"30000000", self, 15000},
        {"30000000", other, 0}, {"30000000", "x", 0},      {"0", NULL, 0},
        {"-5", NULL, 0},        {"soon", NULL, 0},         {"10", NULL, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        files_set_variable("WATCHDOG_USEC", cases[i].interval);
        files_set_variable("WATCHDOG_PID", cases[i].process);
        assert_true(notify_watchdog_interval_ms() == cases[i].expected_ms);
    }
}

/* What a child process that was given such variables finds: it has the descriptors 3 and 4 open. */
static int ask_in_child(const char *count, bool is_for_child)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char process[16];
        (void)snprintf(process, sizeof process, "%d", (int)getpid() + !is_for_child);
        int spare = open("/dev/null", O_RDONLY);
        bool is_good = dup2(spare, 3) == 3 && dup2(spare, 4) == 4;
        (void)setenv("LISTEN_PID", process, 1);
        (void)setenv("LISTEN_FDS", count, 1);
        (void)setenv("LISTEN_FDNAMES", "api", 1);
        int found = notify_sockets();
        is_good = is_good && !getenv("LISTEN_PID") && !getenv("LISTEN_FDS") &&
                  !getenv("LISTEN_FDNAMES") && notify_sockets() == 0;
        for (int fd = 3; fd < 3 + found; fd++) {
            is_good = is_good && (fcntl(fd, F_GETFD) & FD_CLOEXEC);
        }
        _exit(is_good ? found : 99);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void test_socket_activation(void **state)
{
    (void)state;
    assert_int_equal(notify_sockets(), 0);
    assert_int_equal(ask_in_child("1", true), 1);
    assert_int_equal(ask_in_child("2", true), 2);
    assert_int_equal(ask_in_child("2", false), 0);
    assert_int_equal(ask_in_child("0", true), 0);
    assert_int_equal(ask_in_child("many", true), 0);
    assert_int_equal(ask_in_child("60", true), 0); /* which are not open */
    assert_int_equal(ask_in_child("99999999999", true), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_socket_in_a_folder), cmocka_unit_test(test_an_abstract_socket),
        cmocka_unit_test(test_without_systemd),      cmocka_unit_test(test_watchdog),
        cmocka_unit_test(test_socket_activation),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
