/*
 * resolver: real names of this machine, and names under .test, whose answers are made here.
 *
 * The test is linked with --wrap: getaddrinfo is ours for .test, pthread_create can be made to
 * fail, and the clock that an idle thread waits by can be set back, so that it ends soon.
 */
#include "process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "resolver.h"

#define NOW_MS 4321
#define PORT 8443

/* ---- the system of our making ---- */

int __real_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **ret_list);
int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **ret_list);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument);
int64_t __real_lull_os_mono_ms(void);
int64_t __wrap_lull_os_mono_ms(void);

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_open; /* slow.test has its answer */
    int inside;   /* look-ups of slow.test now */
    int inside_max;
    int asked;          /* names under .test, ever */
    pid_t asker;        /* the thread that asked last */
    bool is_asker_deaf; /* it has all signals blocked */
} system_state = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static atomic_bool is_thread_refused;
static _Atomic int64_t idle_shorter_by_ms;

int64_t __wrap_lull_os_mono_ms(void)
{
    return __real_lull_os_mono_ms() - atomic_load(&idle_shorter_by_ms);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    return atomic_load(&is_thread_refused)
               ? EAGAIN
               : __real_pthread_create(thread, attributes, run, argument);
}

static bool has_all_signals_blocked(void)
{
    static const int some[] = {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGPIPE, SIGUSR1, SIGALRM};
    sigset_t blocked;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    bool is_all = true;
    for (size_t i = 0; i < sizeof some / sizeof some[0]; i++) {
        is_all = is_all && sigismember(&blocked, some[i]) == 1;
    }
    return is_all;
}

static void wait_for_the_gate(void)
{
    system_state.inside++;
    if (system_state.inside > system_state.inside_max) {
        system_state.inside_max = system_state.inside;
    }
    pthread_cond_broadcast(&system_state.changed);
    while (!system_state.is_open) {
        pthread_cond_wait(&system_state.changed, &system_state.lock);
    }
    system_state.inside--;
    pthread_cond_broadcast(&system_state.changed);
}

/* v6_count addresses of documentation, then v4_count. The C library frees them one by one. */
static int give_many(int v6_count, int v4_count, const struct addrinfo *hints,
                     struct addrinfo **ret_list)
{
    struct addrinfo **end = ret_list;
    *ret_list = NULL;
    for (int i = 0; i < v6_count + v4_count; i++) {
        char text[INET6_ADDRSTRLEN];
        (void)snprintf(text, sizeof text, i < v6_count ? "2001:db8::%x" : "192.0.2.%d", i + 1);
        int error = __real_getaddrinfo(text, NULL, hints, end);
        if (error != 0) {
            return error;
        }
        end = &(*end)->ai_next;
    }
    return 0;
}

static int answer_test_name(const char *host, const struct addrinfo *hints,
                            struct addrinfo **ret_list)
{
    static const struct {
        const char *host;
        int error;
    } errors[] = {
        {"again.test", EAI_AGAIN},   {"fail.test", EAI_FAIL},     {"memory.test", EAI_MEMORY},
        {"noname.test", EAI_NONAME}, {"nodata.test", EAI_NODATA}, {"system.test", EAI_SYSTEM},
    };
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if (strcmp(host, errors[i].host) == 0) {
            errno = EMFILE;
            return errors[i].error;
        }
    }
    int v6_count = 0;
    int v4_count = 0;
    if (sscanf(host, "%d-and-%d.test", &v6_count, &v4_count) == 2) {
        return give_many(v6_count, v4_count, hints, ret_list);
    }
    return __real_getaddrinfo("127.0.0.1", NULL, hints, ret_list);
}

int __wrap_getaddrinfo(const char *host, const char *service, const struct addrinfo *hints,
                       struct addrinfo **ret_list)
{
    size_t length = strlen(host);
    if (length < 5 || strcmp(host + length - 5, ".test") != 0 ||
        (hints->ai_flags & AI_NUMERICHOST)) {
        return __real_getaddrinfo(host, service, hints, ret_list);
    }
    pthread_mutex_lock(&system_state.lock);
    system_state.asked++;
    system_state.asker = gettid();
    system_state.is_asker_deaf = has_all_signals_blocked();
    if (strcmp(host, "slow.test") == 0) {
        wait_for_the_gate();
    }
    pthread_mutex_unlock(&system_state.lock);
    return answer_test_name(host, hints, ret_list);
}

static void set_gate(bool is_open)
{
    pthread_mutex_lock(&system_state.lock);
    system_state.is_open = is_open;
    pthread_cond_broadcast(&system_state.changed);
    pthread_mutex_unlock(&system_state.lock);
}

static void wait_until_inside(int count)
{
    struct timespec until;
    int error = 0;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE_MS / 1000;
    pthread_mutex_lock(&system_state.lock);
    while (system_state.inside != count && error == 0) {
        error = pthread_cond_timedwait(&system_state.changed, &system_state.lock, &until);
    }
    int inside = system_state.inside;
    pthread_mutex_unlock(&system_state.lock);
    assert_int_equal(inside, count);
}

/* ---- a resolver with its poller ---- */

struct fixture {
    struct poller *poller;
    struct resolver *resolver;
    size_t threads_before;
    size_t descriptors_before;
};

struct answer {
    int calls;
    struct lookup_result result;
    struct lookup *lookup;
    struct fixture *fixture; /* what on_done does, if it is set: */
    struct lookup **cancels;
    struct answer *starts; /* for the host "127.0.0.2" */
    bool destroys;
};

static void keep(void *userdata, const struct lookup_result *result, int64_t now_ms)
{
    struct answer *answer = userdata;
    assert_int_equal(now_ms, NOW_MS);
    answer->calls++;
    answer->result = *result;
    if (answer->cancels) {
        lookup_cancel(*answer->cancels);
    }
    if (answer->starts) {
        answer->starts->lookup =
            lookup_start(answer->fixture->resolver, "127.0.0.2", PORT, keep, answer->starts);
        assert_non_null(answer->starts->lookup);
    }
    if (answer->destroys) {
        resolver_destroy(answer->fixture->resolver);
        answer->fixture->resolver = NULL;
    }
}

static void start(struct fixture *fixture, const char *host, struct answer *answer)
{
    answer->fixture = fixture;
    answer->lookup = lookup_start(fixture->resolver, host, PORT, keep, answer);
    assert_non_null(answer->lookup);
    assert_int_equal(answer->calls, 0);
}

static void wait_for(struct fixture *fixture, const struct answer *answer)
{
    int64_t until_ms = __real_lull_os_mono_ms() + PATIENCE_MS;
    while (answer->calls == 0 && __real_lull_os_mono_ms() < until_ms) {
        assert_true(wait_readable(poller_fd(fixture->poller)));
        poller_dispatch(fixture->poller, NOW_MS);
    }
    assert_int_equal(answer->calls, 1);
}

static void resolve(struct fixture *fixture, const char *host, struct answer *answer)
{
    *answer = (struct answer){0};
    start(fixture, host, answer);
    wait_for(fixture, answer);
}

/* A thread that ends is still to be seen for a moment. */
static void wait_for_threads(size_t count)
{
    for (int i = 0; i < PATIENCE_MS && count_threads() > count; i++) {
        (void)poll(NULL, 0, 1);
    }
    assert_true(count_threads() <= count);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    fixture = (struct fixture){.threads_before = count_threads(),
                               .descriptors_before = count_descriptors()};
    set_gate(false);
    system_state.asked = 0;
    system_state.inside_max = 0;
    *state = &fixture;
    return poller_new(&fixture.poller) == LULL_OK &&
                   resolver_new(&fixture.resolver, fixture.poller) == LULL_OK
               ? 0
               : -1;
}

/* Each test ends without a thread or a descriptor of the resolver. */
static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    atomic_store(&is_thread_refused, false);
    atomic_store(&idle_shorter_by_ms, 0);
    resolver_destroy(fixture->resolver);
    poller_destroy(fixture->poller);
    set_gate(true);
    wait_for_threads(fixture->threads_before);
    assert_int_equal(count_descriptors(), fixture->descriptors_before);
    return 0;
}

/* ---- what it says ---- */

static bool is_loopback(const union socket_address *address)
{
    if (address->any.sa_family == AF_INET) {
        return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127 &&
               ntohs(address->v4.sin_port) == PORT;
    }
    return address->any.sa_family == AF_INET6 && ntohs(address->v6.sin6_port) == PORT &&
           IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

static void test_C1_names_of_this_machine(void **state)
{
    struct answer answer;
    resolve(*state, "localhost", &answer);
    assert_int_equal(answer.result.transport, LULL_TRANSPORT_NONE);
    assert_true(answer.result.addresses.count >= 1);
    for (size_t i = 0; i < answer.result.addresses.count; i++) {
        assert_true(is_loopback(&answer.result.addresses.list[i]));
    }
}

static void test_addresses_in_writing_need_no_thread(void **state)
{
    static const struct {
        const char *host;
        int family;
    } cases[] = {
        {"127.0.0.1", AF_INET}, {"192.0.2.7", AF_INET},         {"::1", AF_INET6},
        {"::", AF_INET6},       {"::ffff:192.0.2.7", AF_INET6}, {"2001:db8::a", AF_INET6},
    };
    struct fixture *fixture = *state;
    atomic_store(&is_thread_refused, true);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer;
        char text[INET6_ADDRSTRLEN];
        resolve(fixture, cases[i].host, &answer);
        const union socket_address *address = &answer.result.addresses.list[0];
        bool is_v6 = cases[i].family == AF_INET6;
        assert_int_equal(answer.result.transport, LULL_TRANSPORT_NONE);
        assert_int_equal(answer.result.addresses.count, 1);
        assert_int_equal(address->any.sa_family, cases[i].family);
        assert_int_equal(ntohs(is_v6 ? address->v6.sin6_port : address->v4.sin_port), PORT);
        assert_non_null(inet_ntop(cases[i].family,
                                  is_v6 ? (const void *)&address->v6.sin6_addr
                                        : (const void *)&address->v4.sin_addr,
                                  text, sizeof text));
        assert_string_equal(text, cases[i].host);
    }
    assert_true(count_threads() <= fixture->threads_before);
}

/* What the network's resolver says of it is not ours to know; that it has no address is. */
static void test_C1_a_name_that_cannot_be(void **state)
{
    struct answer answer;
    resolve(*state, "nothing.invalid.", &answer);
    assert_true(answer.result.transport == LULL_TRANSPORT_DNS_NOT_FOUND ||
                answer.result.transport == LULL_TRANSPORT_DNS);
    assert_non_null(answer.result.detail);
    assert_true(strlen(answer.result.detail) > 0);
}

static void test_C1_failures(void **state)
{
    static const struct {
        const char *host;
        enum lull_transport transport;
        const char *detail;
    } cases[] = {
        {"noname.test", LULL_TRANSPORT_DNS_NOT_FOUND, "Name or service not known"},
        {"nodata.test", LULL_TRANSPORT_DNS_NOT_FOUND, "No address associated with hostname"},
        {"0-and-0.test", LULL_TRANSPORT_DNS_NOT_FOUND, "No address associated with hostname"},
        {"again.test", LULL_TRANSPORT_DNS, "Temporary failure in name resolution"},
        {"fail.test", LULL_TRANSPORT_DNS, "Non-recoverable failure in name resolution"},
        {"memory.test", LULL_TRANSPORT_DNS, "Memory allocation failure"},
        {"system.test", LULL_TRANSPORT_DNS, "Too many open files"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer;
        resolve(*state, cases[i].host, &answer);
        assert_int_equal(answer.result.transport, cases[i].transport);
        assert_string_equal(answer.result.detail, cases[i].detail);
    }
}

/* Neither family is crowded out by the other, and the system's order is kept. */
static void test_more_addresses_than_are_kept(void **state)
{
    static const struct {
        const char *host;
        size_t v6_count;
        size_t v4_count;
    } cases[] = {
        {"3-and-2.test", 3, 2},   {"16-and-0.test", 16, 0}, {"20-and-0.test", 16, 0},
        {"0-and-20.test", 0, 16}, {"20-and-3.test", 13, 3}, {"3-and-20.test", 3, 13},
        {"20-and-20.test", 8, 8}, {"15-and-1.test", 15, 1}, {"16-and-1.test", 15, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct answer answer;
        resolve(*state, cases[i].host, &answer);
        const struct addresses *addresses = &answer.result.addresses;
        assert_int_equal(answer.result.transport, LULL_TRANSPORT_NONE);
        assert_int_equal(addresses->count, cases[i].v6_count + cases[i].v4_count);
        for (size_t j = 0; j < addresses->count; j++) {
            bool is_v6 = j < cases[i].v6_count;
            const union socket_address *address = &addresses->list[j];
            assert_int_equal(address->any.sa_family, is_v6 ? AF_INET6 : AF_INET);
            if (is_v6) {
                assert_int_equal(address->v6.sin6_addr.s6_addr[15], j + 1);
            }
        }
    }
}

/* ---- its threads ---- */

static void test_signals_are_for_other_threads(void **state)
{
    struct answer answer;
    sigset_t one;
    sigset_t after;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, SIGUSR2);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &one, NULL), 0);
    resolve(*state, "any.test", &answer);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    assert_int_equal(system_state.asked, 1);
    assert_true(system_state.is_asker_deaf);
    for (int signal = 1; signal < 32; signal++) { /* ours are as they were */
        assert_int_equal(sigismember(&after, signal), signal == SIGUSR2);
    }
}

static void test_an_idle_thread_is_used_again(void **state)
{
    struct answer answer;
    resolve(*state, "one.test", &answer);
    pid_t first = system_state.asker;
    for (int i = 0; i < 20; i++) {
        resolve(*state, "two.test", &answer);
        assert_int_equal(system_state.asker, first);
    }
    assert_int_not_equal(first, gettid());
}

static void test_an_idle_thread_ends(void **state)
{
    struct fixture *fixture = *state;
    struct answer answer;
    atomic_store(&idle_shorter_by_ms, LULL_SECONDS(5) - 20);
    resolve(fixture, "one.test", &answer);
    wait_for_threads(fixture->threads_before);
    resolve(fixture, "two.test", &answer); /* and another one begins */
    assert_int_equal(system_state.asked, 2);
}

static void test_no_more_threads_than_allowed(void **state)
{
    enum { MANY = 20 };
    struct fixture *fixture = *state;
    struct answer answers[MANY] = {0};
    for (int i = 0; i < MANY; i++) {
        start(fixture, "slow.test", &answers[i]);
    }
    wait_until_inside(RESOLVER_THREADS_MAX);
    assert_true(count_threads() <= fixture->threads_before + RESOLVER_THREADS_MAX);
    set_gate(true);
    for (int i = 0; i < MANY; i++) {
        wait_for(fixture, &answers[i]);
        assert_int_equal(answers[i].result.transport, LULL_TRANSPORT_NONE);
    }
    assert_int_equal(system_state.asked, MANY);
    assert_int_equal(system_state.inside_max, RESOLVER_THREADS_MAX);
}

static void test_no_thread_to_be_had(void **state)
{
    struct fixture *fixture = *state;
    struct answer answers[3] = {0};
    atomic_store(&is_thread_refused, true);
    assert_null(lookup_start(fixture->resolver, "slow.test", PORT, keep, &answers[0]));
    atomic_store(&is_thread_refused, false);
    start(fixture, "slow.test", &answers[1]);
    wait_until_inside(1);
    atomic_store(&is_thread_refused, true); /* then the one that there is does it all */
    start(fixture, "slow.test", &answers[2]);
    set_gate(true);
    wait_for(fixture, &answers[1]);
    wait_for(fixture, &answers[2]);
    assert_int_equal(answers[0].calls, 0);
    assert_int_equal(system_state.inside_max, 1);
}

static void test_many_at_once(void **state)
{
    enum { MANY = 300 };
    static const char *const hosts[] = {"127.0.0.1", "localhost", "quick.test", "again.test"};
    struct answer *answers = calloc(MANY, sizeof *answers);
    assert_non_null(answers);
    for (int i = 0; i < MANY; i++) {
        start(*state, hosts[i % 4], &answers[i]);
    }
    for (int i = 0; i < MANY; i++) {
        wait_for(*state, &answers[i]);
        assert_int_equal(answers[i].result.transport,
                         i % 4 == 3 ? LULL_TRANSPORT_DNS : LULL_TRANSPORT_NONE);
    }
    free(answers);
}

/* ---- ends before the end ---- */

static void test_cancelled_in_each_state(void **state)
{
    struct fixture *fixture = *state;
    struct answer running[RESOLVER_THREADS_MAX] = {0};
    struct answer queued[3] = {0};
    struct answer done[3] = {0};
    for (int i = 0; i < RESOLVER_THREADS_MAX; i++) {
        start(fixture, "slow.test", &running[i]);
    }
    wait_until_inside(RESOLVER_THREADS_MAX);
    for (int i = 0; i < 3; i++) {
        start(fixture, "slow.test", &queued[i]);
        start(fixture, "127.0.0.1", &done[i]);
    }
    lookup_cancel(queued[1].lookup);
    lookup_cancel(done[1].lookup);
    for (int i = 1; i < RESOLVER_THREADS_MAX; i++) {
        lookup_cancel(running[i].lookup);
    }
    set_gate(true);
    wait_for(fixture, &running[0]);
    wait_for(fixture, &queued[0]);
    wait_for(fixture, &queued[2]);
    wait_for(fixture, &done[0]);
    wait_for(fixture, &done[2]);
    wait_until_inside(0);
    poller_dispatch(fixture->poller, NOW_MS);
    assert_int_equal(queued[1].calls + done[1].calls, 0);
    for (int i = 1; i < RESOLVER_THREADS_MAX; i++) {
        assert_int_equal(running[i].calls, 0);
    }
    assert_int_equal(system_state.asked, RESOLVER_THREADS_MAX + 2);
}

static void test_first_cancels_second_inside_on_done(void **state)
{
    struct fixture *fixture = *state;
    struct answer answers[3] = {0};
    answers[0].cancels = &answers[1].lookup;
    for (int i = 0; i < 3; i++) {
        start(fixture, "127.0.0.1", &answers[i]);
    }
    wait_for(fixture, &answers[0]);
    wait_for(fixture, &answers[2]);
    assert_int_equal(answers[1].calls, 0);
}

static void test_started_inside_on_done_comes_with_the_next_dispatch(void **state)
{
    struct fixture *fixture = *state;
    struct answer answers[2] = {0};
    answers[0].starts = &answers[1];
    start(fixture, "127.0.0.1", &answers[0]);
    poller_dispatch(fixture->poller, NOW_MS);
    assert_int_equal(answers[0].calls, 1);
    assert_int_equal(answers[1].calls, 0);
    wait_for(fixture, &answers[1]);
}

static void test_destroyed_inside_on_done(void **state)
{
    struct fixture *fixture = *state;
    struct answer answers[3] = {0};
    answers[0].destroys = true;
    for (int i = 0; i < 3; i++) {
        start(fixture, "127.0.0.1", &answers[i]);
    }
    wait_for(fixture, &answers[0]);
    assert_null(fixture->resolver);
    poller_dispatch(fixture->poller, NOW_MS);
    assert_int_equal(answers[1].calls + answers[2].calls, 0);
}

/* The gate is shut until the resolver is gone: had it waited, this would not end. */
static void test_destroyed_with_look_ups_in_each_state(void **state)
{
    struct fixture *fixture = *state;
    struct answer answers[RESOLVER_THREADS_MAX + 6] = {0};
    for (int i = 0; i < RESOLVER_THREADS_MAX + 3; i++) {
        start(fixture, "slow.test", &answers[i]);
    }
    wait_until_inside(RESOLVER_THREADS_MAX);
    for (int i = RESOLVER_THREADS_MAX + 3; i < RESOLVER_THREADS_MAX + 6; i++) {
        start(fixture, "127.0.0.1", &answers[i]);
    }
    lookup_cancel(answers[0].lookup);
    resolver_destroy(fixture->resolver);
    fixture->resolver = NULL;
    poller_dispatch(fixture->poller, NOW_MS);
    set_gate(true);
    wait_for_threads(fixture->threads_before);
    poller_dispatch(fixture->poller, NOW_MS);
    assert_int_equal(system_state.asked, RESOLVER_THREADS_MAX); /* the queued ones never were */
    for (int i = 0; i < RESOLVER_THREADS_MAX + 6; i++) {
        assert_int_equal(answers[i].calls, 0);
    }
}

/* Threads that are just beginning, looking up, or telling, when the resolver goes. */
static void test_destroyed_at_any_moment(void **state)
{
    struct fixture *fixture = *state;
    struct lull_random random;
    lull_random_init(&random, test_seed("resolver"));
    for (int round = 0; round < 200; round++) {
        struct answer answers[8] = {0};
        struct resolver *resolver = NULL;
        int calls = 0;
        assert_int_equal(resolver_new(&resolver, fixture->poller), LULL_OK);
        for (int i = 0; i < 8; i++) {
            const char *host = i % 4 ? "quick.test" : "127.0.0.1";
            answers[i].lookup = lookup_start(resolver, host, PORT, keep, &answers[i]);
            assert_non_null(answers[i].lookup);
        }
        for (int64_t turns = lull_random_between(&random, 0, 20); turns > 0; turns--) {
            poller_dispatch(fixture->poller, NOW_MS);
            (void)sched_yield();
        }
        resolver_destroy(resolver);
        for (int i = 0; i < 8; i++) {
            assert_true(answers[i].calls <= 1);
            calls += answers[i].calls;
        }
        poller_dispatch(fixture->poller, NOW_MS);
        for (int i = 0; i < 8; i++) {
            calls -= answers[i].calls;
        }
        assert_int_equal(calls, 0);
    }
}

static void *do_nothing(void *argument)
{
    return argument;
}

int main(void)
{
    /* The thread sanitizer begins one of its own with the first of the program: before we count. */
    pthread_t first;
    if (pthread_create(&first, NULL, do_nothing, NULL) != 0 || pthread_join(first, NULL) != 0) {
        return EXIT_FAILURE;
    }
    /* For nothing.invalid., where no network answers. */
    (void)setenv("RES_OPTIONS", "timeout:1 attempts:1", 1);
#define WITH_RESOLVER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_RESOLVER(test_C1_names_of_this_machine),
        WITH_RESOLVER(test_addresses_in_writing_need_no_thread),
        WITH_RESOLVER(test_C1_a_name_that_cannot_be),
        WITH_RESOLVER(test_C1_failures),
        WITH_RESOLVER(test_more_addresses_than_are_kept),
        WITH_RESOLVER(test_signals_are_for_other_threads),
        WITH_RESOLVER(test_an_idle_thread_is_used_again),
        WITH_RESOLVER(test_an_idle_thread_ends),
        WITH_RESOLVER(test_no_more_threads_than_allowed),
        WITH_RESOLVER(test_no_thread_to_be_had),
        WITH_RESOLVER(test_many_at_once),
        WITH_RESOLVER(test_cancelled_in_each_state),
        WITH_RESOLVER(test_first_cancels_second_inside_on_done),
        WITH_RESOLVER(test_started_inside_on_done_comes_with_the_next_dispatch),
        WITH_RESOLVER(test_destroyed_inside_on_done),
        WITH_RESOLVER(test_destroyed_with_look_ups_in_each_state),
        WITH_RESOLVER(test_destroyed_at_any_moment),
    };
    return cmocka_run_group_tests_name("resolver", tests, NULL, NULL);
}
