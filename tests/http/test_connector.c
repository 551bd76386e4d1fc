/*
 * connector: W5 and C1, on real loopback sockets and a clock that is only a number.
 *
 * The test is linked with --wrap=connect: every connect is noted down, and what is not loopback
 * never reaches the network, but fails as the table says.
 */
#include "process.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <unistd.h>

#include "connector.h"

#define START_MS 1000000
#define STAGGER_MS CONNECTOR_STAGGER_MS

/* ---- the system of our making ---- */

int __real_connect(int fd, const struct sockaddr *address, socklen_t size);
int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size);

#define CONNECTS_MAX 64

static union socket_address connects[CONNECTS_MAX];
static size_t connect_count;
static const union socket_address *instant_target; /* what 1.1.1.3 connects to, at once */

static bool is_same(const union socket_address *a, const union socket_address *b)
{
    size_t size = a->any.sa_family == AF_INET6 ? sizeof a->v6 : sizeof a->v4;
    return memcmp(a, b, size) == 0;
}

static bool is_loopback(const union socket_address *address)
{
    return address->any.sa_family == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr) ||
                                                    IN6_IS_ADDR_V4MAPPED(&address->v6.sin6_addr)
                                              : ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
}

static int connect_at_once(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
    int error = __real_connect(fd, &instant_target->any, sizeof instant_target->v4);
    (void)fcntl(fd, F_SETFL, flags);
    return error;
}

int __wrap_connect(int fd, const struct sockaddr *address, socklen_t size)
{
    union socket_address *noted = &connects[connect_count % CONNECTS_MAX];
    connect_count++;
    memset(noted, 0, sizeof *noted);
    memcpy(noted, address, size);
    if (is_loopback(noted)) {
        return __real_connect(fd, address, size);
    }
    unsigned last = noted->any.sa_family == AF_INET6 ? noted->v6.sin6_addr.s6_addr[15]
                                                     : ntohl(noted->v4.sin_addr.s_addr) & 0xff;
    if (last == 3) {
        return connect_at_once(fd);
    }
    errno = last == 2 ? ENETUNREACH : ECONNREFUSED;
    return -1;
}

/* ---- addresses ---- */

static union socket_address address_of(const char *text, uint16_t port)
{
    union socket_address address = {0};
    if (inet_pton(AF_INET, text, &address.v4.sin_addr) == 1) {
        address.v4.sin_family = AF_INET;
        address.v4.sin_port = htons(port);
    } else {
        assert_int_equal(inet_pton(AF_INET6, text, &address.v6.sin6_addr), 1);
        address.v6.sin6_family = AF_INET6;
        address.v6.sin6_port = htons(port);
    }
    return address;
}

static socklen_t size_of(const union socket_address *address)
{
    return address->any.sa_family == AF_INET6 ? sizeof address->v6 : sizeof address->v4;
}

struct target {
    union socket_address address;
    int fd;
    int fillers[8];
    size_t filler_count;
};

/* Without listen, a port that is ours and refuses. False: the machine lacks the family. */
static bool bind_target(struct target *target, const char *text)
{
    target->address = address_of(text, 0);
    target->filler_count = 0;
    target->fd = socket(target->address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = size_of(&target->address);
    if (target->fd < 0) {
        return false;
    }
    if (bind(target->fd, &target->address.any, size) != 0) {
        (void)close(target->fd);
        return false;
    }
    assert_int_equal(getsockname(target->fd, &target->address.any, &size), 0);
    return true;
}

static struct target refusing(void)
{
    struct target target;
    assert_true(bind_target(&target, "127.0.0.1"));
    return target;
}

static struct target listening(void)
{
    struct target target = refusing();
    assert_int_equal(listen(target.fd, 128), 0);
    return target;
}

/* A listener whose queue is full: the kernel drops what comes then, and the peer goes on asking. */
static void fill(struct target *target)
{
    int is_connected = 1;
    assert_int_equal(listen(target->fd, 0), 0);
    while (is_connected) {
        assert_true(target->filler_count < sizeof target->fillers / sizeof target->fillers[0]);
        int fd = socket(target->address.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
        assert_true(fd >= 0);
        (void)__real_connect(fd, &target->address.any, size_of(&target->address));
        struct pollfd wanted = {.fd = fd, .events = POLLOUT};
        is_connected = poll(&wanted, 1, 20);
        target->fillers[target->filler_count++] = fd;
    }
}

static struct target black_hole(void)
{
    struct target target = refusing();
    fill(&target);
    return target;
}

static void close_target(struct target *target)
{
    for (size_t i = 0; i < target->filler_count; i++) {
        (void)close(target->fillers[i]);
    }
    (void)close(target->fd);
}

static bool has_visitor(const struct target *target)
{
    struct pollfd wanted = {.fd = target->fd, .events = POLLIN};
    return poll(&wanted, 1, 0) == 1;
}

/* ---- a connector with its poller and timers ---- */

struct world {
    struct poller *poller;
    struct timers timers;
    struct addresses addresses;
    size_t descriptors_before;
};

struct ending {
    int calls;
    struct connector_result result;
    int64_t at_ms;
    struct world *world;
    struct ending *next; /* started inside of on_done, if it is set */
};

static void keep(void *userdata, const struct connector_result *result, int64_t now_ms);

static void add(struct world *world, union socket_address address)
{
    world->addresses.list[world->addresses.count++] = address;
}

static struct connector *start(struct world *world, bool is_public_only, struct ending *ending)
{
    ending->world = world;
    struct connector *connector = connector_start(world->poller, &world->timers, &world->addresses,
                                                  is_public_only, START_MS, keep, ending);
    assert_non_null(connector);
    assert_int_equal(ending->calls, 0);
    return connector;
}

static void keep(void *userdata, const struct connector_result *result, int64_t now_ms)
{
    struct ending *ending = userdata;
    ending->calls++;
    ending->result = *result;
    ending->at_ms = now_ms;
    if (ending->next) {
        (void)start(ending->world, false, ending->next);
    }
}

/* All that happens at this instant, as far as the kernel has news by now. */
static void step(struct world *world, int64_t now_ms)
{
    timers_run(&world->timers, now_ms);
    poller_dispatch(world->poller, now_ms);
    timers_run(&world->timers, now_ms);
}

/* Until it has ended, without the clock moving on. */
static void wait_for(struct world *world, const struct ending *ending, int64_t now_ms)
{
    int64_t until_ms = lull_os_mono_ms() + PATIENCE_MS;
    step(world, now_ms);
    while (ending->calls == 0 && lull_os_mono_ms() < until_ms) {
        assert_true(wait_readable(poller_fd(world->poller)));
        step(world, now_ms);
    }
    assert_int_equal(ending->calls, 1);
}

static void assert_connected_to(const struct ending *ending, const struct target *target)
{
    union socket_address peer = {0};
    socklen_t size = sizeof peer;
    assert_int_equal(ending->result.transport, LULL_TRANSPORT_NONE);
    assert_true(ending->result.fd >= 0);
    assert_int_equal(getpeername(ending->result.fd, &peer.any, &size), 0);
    assert_true(is_same(&peer, &target->address));
}

static void assert_failed(const struct ending *ending, enum lull_transport transport,
                          const char *detail)
{
    assert_int_equal(ending->calls, 1);
    assert_int_equal(ending->result.fd, -1);
    assert_int_equal(ending->result.transport, transport);
    assert_string_equal(ending->result.detail, detail);
}

static int set_up(void **state)
{
    static struct world world;
    world = (struct world){.descriptors_before = count_descriptors()};
    connect_count = 0;
    *state = &world;
    return poller_new(&world.poller) == LULL_OK ? 0 : -1;
}

/* Each test ends with no timer set or reserved, and closes what it was given. */
static int tear_down(void **state)
{
    struct world *world = *state;
    assert_int_equal(world->timers.count, 0);
    assert_int_equal(world->timers.reserved, 0);
    timers_free(&world->timers);
    poller_destroy(world->poller);
    assert_int_equal(count_descriptors(), world->descriptors_before);
    return 0;
}

/* ---- one after the other ---- */

static void test_C1_connected(void **state)
{
    struct world *world = *state;
    struct target target = listening();
    struct ending ending = {0};
    add(world, target.address);
    (void)start(world, false, &ending);
    wait_for(world, &ending, START_MS);
    assert_connected_to(&ending, &target);
    assert_int_equal(ending.at_ms, START_MS);
    int fd = ending.result.fd;
    int is_on = 0;
    socklen_t size = sizeof is_on;
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &is_on, &size), 0);
    assert_true(is_on);
    /* The poller has let go of it: it may be watched by somebody else. */
    struct watch watch = {.fd = fd, .events = EPOLLIN};
    assert_true(poller_add(world->poller, &watch));
    poller_remove(world->poller, &watch);
    (void)close(fd);
    close_target(&target);
}

static void test_a_refusal_begins_the_next_at_once(void **state)
{
    struct world *world = *state;
    struct target dead[2] = {refusing(), refusing()};
    struct target good = listening();
    struct ending ending = {0};
    add(world, dead[0].address);
    add(world, dead[1].address);
    add(world, good.address);
    (void)start(world, false, &ending);
    wait_for(world, &ending, START_MS);
    assert_connected_to(&ending, &good);
    assert_int_equal(connect_count, 3);
    (void)close(ending.result.fd);
    close_target(&dead[0]);
    close_target(&dead[1]);
    close_target(&good);
}

static void test_C1_all_refuse(void **state)
{
    struct world *world = *state;
    struct target dead[2] = {refusing(), refusing()};
    struct ending ending = {0};
    add(world, dead[0].address);
    add(world, dead[1].address);
    (void)start(world, false, &ending);
    wait_for(world, &ending, START_MS);
    assert_failed(&ending, LULL_TRANSPORT_REFUSED, "Connection refused");
    close_target(&dead[0]);
    close_target(&dead[1]);
}

/* That connect can be done before it returns is seldom seen, and allowed. */
static void test_connected_at_once(void **state)
{
    struct world *world = *state;
    struct target good = listening();
    struct ending ending = {0};
    instant_target = &good.address;
    add(world, address_of("1.1.1.3", 443));
    add(world, address_of("1.1.1.1", 443));
    (void)start(world, true, &ending);
    timers_run(&world->timers, START_MS);
    assert_int_equal(ending.calls, 1);
    assert_connected_to(&ending, &good);
    assert_int_equal(connect_count, 1);
    (void)close(ending.result.fd);
    close_target(&good);
}

static void test_no_address(void **state)
{
    struct world *world = *state;
    struct ending ending = {0};
    (void)start(world, false, &ending);
    timers_run(&world->timers, START_MS);
    assert_failed(&ending, LULL_TRANSPORT_REFUSED, "there is no address");
}

static void test_no_socket_to_be_had(void **state)
{
    struct world *world = *state;
    struct target good = listening();
    struct ending ending = {0};
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
    add(world, good.address);
    (void)start(world, false, &ending);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    timers_run(&world->timers, START_MS);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_failed(&ending, LULL_TRANSPORT_REFUSED, "Too many open files");
    assert_false(has_visitor(&good));
    close_target(&good);
}

/* What says most about the peer is told, whichever came last. */
static void test_C1_the_lack_of_a_route_says_less(void **state)
{
    static const struct {
        const char *first;
        const char *second;
        const char *detail;
    } cases[] = {
        {"1.1.1.1", "2600::2", "Connection refused"},
        {"2600::2", "1.1.1.1", "Connection refused"},
        {"2600::2", "1.1.1.2", "Network is unreachable"},
    };
    struct world *world = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ending ending = {0};
        world->addresses.count = 0;
        add(world, address_of(cases[i].first, 443));
        add(world, address_of(cases[i].second, 443));
        (void)start(world, true, &ending);
        timers_run(&world->timers, START_MS);
        assert_failed(&ending, LULL_TRANSPORT_REFUSED, cases[i].detail);
    }
}

/* ---- W5 ---- */

static void test_W5_all_forbidden(void **state)
{
    struct world *world = *state;
    struct target good = listening();
    struct ending ending = {0};
    uint16_t port = ntohs(good.address.v4.sin_port);
    add(world, good.address);
    add(world, address_of("::1", port));
    add(world, address_of("::ffff:127.0.0.1", port));
    add(world, address_of("169.254.169.254", 80));
    add(world, address_of("0.0.0.0", port));
    (void)start(world, true, &ending);
    assert_int_equal(timers_due_ms(&world->timers), START_MS); /* and not a moment later */
    step(world, START_MS);
    assert_failed(&ending, LULL_TRANSPORT_FORBIDDEN, "the address is not public");
    assert_int_equal(connect_count, 0);
    assert_false(has_visitor(&good));
    close_target(&good);
}

static void test_W5_only_the_public_one_is_tried(void **state)
{
    struct world *world = *state;
    struct target good = listening();
    struct ending ending = {0};
    union socket_address public_one = address_of("1.1.1.1", 443);
    add(world, good.address);
    add(world, public_one);
    add(world, address_of("::1", 443));
    (void)start(world, true, &ending);
    step(world, START_MS);
    assert_failed(&ending, LULL_TRANSPORT_REFUSED, "Connection refused");
    assert_int_equal(connect_count, 1);
    assert_true(is_same(&connects[0], &public_one));
    assert_false(has_visitor(&good));
    close_target(&good);
}

/* ---- side by side (RFC 8305) ---- */

static void test_the_families_take_turns(void **state)
{
    static const struct {
        const char *given[8];
        const char *tried[8];
    } cases[] = {
        {{"2600::a", "2600::b", "2600::c", "1.1.1.7", "1.1.1.8"},
         {"2600::a", "1.1.1.7", "2600::b", "1.1.1.8", "2600::c"}},
        {{"1.1.1.7", "2600::a", "2600::b", "2600::c"},
         {"1.1.1.7", "2600::a", "2600::b", "2600::c"}},
        {{"1.1.1.7", "1.1.1.8", "1.1.1.9", "2600::a"},
         {"1.1.1.7", "2600::a", "1.1.1.8", "1.1.1.9"}},
        {{"1.1.1.7", "1.1.1.8"}, {"1.1.1.7", "1.1.1.8"}},
        {{"2600::a"}, {"2600::a"}},
    };
    struct world *world = *state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ending ending = {0};
        world->addresses.count = 0;
        connect_count = 0;
        for (size_t j = 0; cases[i].given[j]; j++) {
            add(world, address_of(cases[i].given[j], 443));
        }
        (void)start(world, true, &ending);
        timers_run(&world->timers, START_MS);
        assert_failed(&ending, LULL_TRANSPORT_REFUSED, "Connection refused");
        assert_int_equal(connect_count, world->addresses.count);
        for (size_t j = 0; j < connect_count; j++) {
            union socket_address expected = address_of(cases[i].tried[j], 443);
            assert_true(is_same(&connects[j], &expected));
        }
    }
}

static void test_a_silent_address_is_overtaken(void **state)
{
    struct world *world = *state;
    struct target hole = black_hole();
    struct target good = listening();
    struct ending ending = {0};
    size_t open_before = count_descriptors();
    add(world, hole.address);
    add(world, good.address);
    (void)start(world, false, &ending);
    step(world, START_MS);
    assert_int_equal(timers_due_ms(&world->timers), START_MS + STAGGER_MS);
    step(world, START_MS + STAGGER_MS - 1);
    assert_int_equal(connect_count, 1);
    assert_false(has_visitor(&good));
    wait_for(world, &ending, START_MS + STAGGER_MS);
    assert_connected_to(&ending, &good);
    assert_int_equal(ending.at_ms, START_MS + STAGGER_MS);
    assert_int_equal(connect_count, 2);
    assert_int_equal(count_descriptors(), open_before + 1); /* the slow one is closed */
    (void)close(ending.result.fd);
    close_target(&hole);
    close_target(&good);
}

/* Two holes, a refusal, and the good one: at 0, 250, 500 and, as the third has failed, 500. */
static void test_each_has_its_time_unless_it_fails(void **state)
{
    struct world *world = *state;
    struct target holes[2] = {black_hole(), black_hole()};
    struct target dead = refusing();
    struct target good = listening();
    struct ending ending = {0};
    add(world, holes[0].address);
    add(world, holes[1].address);
    add(world, dead.address);
    add(world, good.address);
    (void)start(world, false, &ending);
    for (int64_t ms = 0; ms < 2 * STAGGER_MS; ms++) {
        step(world, START_MS + ms);
        assert_int_equal(connect_count, ms < STAGGER_MS ? 1 : 2);
    }
    wait_for(world, &ending, START_MS + 2 * STAGGER_MS);
    assert_connected_to(&ending, &good);
    assert_int_equal(connect_count, 4);
    (void)close(ending.result.fd);
    for (int i = 0; i < 2; i++) {
        close_target(&holes[i]);
    }
    close_target(&dead);
    close_target(&good);
}

static void test_the_last_one_has_all_the_time(void **state)
{
    struct world *world = *state;
    struct target holes[2] = {black_hole(), black_hole()};
    struct ending ending = {0};
    add(world, holes[0].address);
    add(world, holes[1].address);
    struct connector *connector = start(world, false, &ending);
    step(world, START_MS);
    step(world, START_MS + STAGGER_MS);
    assert_int_equal(connect_count, 2);
    assert_true(timers_due_ms(&world->timers) == LULL_NEVER); /* the caller has the timeout */
    step(world, START_MS + LULL_HOURS(1));
    assert_int_equal(ending.calls, 0);
    connector_cancel(connector);
    assert_int_equal(ending.calls, 0);
    close_target(&holes[0]);
    close_target(&holes[1]);
}

/* Also where it began before its turn, and the turn would still come. */
static void test_no_turn_is_left_behind_the_last(void **state)
{
    struct world *world = *state;
    struct target dead = refusing();
    struct target hole = black_hole();
    struct ending ending = {0};
    add(world, dead.address);
    add(world, hole.address);
    struct connector *connector = start(world, false, &ending);
    step(world, START_MS);
    if (connect_count < 2) {
        assert_true(wait_readable(poller_fd(world->poller)));
        step(world, START_MS);
    }
    assert_int_equal(connect_count, 2);
    assert_true(timers_due_ms(&world->timers) == LULL_NEVER);
    assert_int_equal(ending.calls, 0);
    connector_cancel(connector);
    close_target(&dead);
    close_target(&hole);
}

/* The first that is under way may still win when those after it have failed. */
static void test_failures_beside_one_under_way(void **state)
{
    struct world *world = *state;
    struct target hole = black_hole();
    struct ending ending = {0};
    add(world, hole.address);
    add(world, address_of("1.1.1.1", 443));
    add(world, address_of("1.1.1.2", 443));
    struct connector *connector = start(world, false, &ending);
    step(world, START_MS);
    step(world, START_MS + STAGGER_MS);
    assert_int_equal(connect_count, 3);
    assert_int_equal(ending.calls, 0);
    assert_true(timers_due_ms(&world->timers) == LULL_NEVER);
    connector_cancel(connector);
    close_target(&hole);
}

static void test_both_families(void **state)
{
    struct world *world = *state;
    struct target v6;
    struct target good = listening();
    struct ending endings[2] = {0};
    if (!bind_target(&v6, "::1")) {
        close_target(&good);
        skip(); /* no IPv6 here */
    }
    assert_int_equal(listen(v6.fd, 8), 0);
    add(world, v6.address);
    add(world, good.address);
    (void)start(world, false, &endings[0]);
    wait_for(world, &endings[0], START_MS);
    assert_connected_to(&endings[0], &v6);
    assert_false(has_visitor(&good));
    (void)close(endings[0].result.fd);
    close_target(&v6);
    /* And one that drops everything, as a broken tunnel does. */
    assert_true(bind_target(&v6, "::1"));
    fill(&v6);
    world->addresses.list[0] = v6.address;
    (void)start(world, false, &endings[1]);
    step(world, START_MS);
    wait_for(world, &endings[1], START_MS + STAGGER_MS);
    assert_connected_to(&endings[1], &good);
    (void)close(endings[1].result.fd);
    close_target(&v6);
    close_target(&good);
}

/* ---- the end before the end, and many ---- */

static void test_cancel_closes_what_is_open(void **state)
{
    struct world *world = *state;
    struct target holes[3] = {black_hole(), black_hole(), black_hole()};
    size_t open_before = count_descriptors();
    for (int i = 0; i < 3; i++) {
        add(world, holes[i].address);
    }
    for (size_t begun = 0; begun <= 3; begun++) {
        struct ending ending = {0};
        connect_count = 0;
        struct connector *connector = start(world, false, &ending);
        for (size_t i = 0; i < begun; i++) {
            step(world, START_MS + (int64_t)i * STAGGER_MS);
        }
        assert_int_equal(connect_count, begun);
        assert_int_equal(count_descriptors(), open_before + begun);
        connector_cancel(connector);
        assert_int_equal(count_descriptors(), open_before);
        assert_int_equal(world->timers.count, 0);
        step(world, START_MS + LULL_HOURS(1));
        assert_int_equal(ending.calls, 0);
    }
    for (int i = 0; i < 3; i++) {
        close_target(&holes[i]);
    }
}

static void test_the_next_is_started_inside_on_done(void **state)
{
    struct world *world = *state;
    struct target dead = refusing();
    struct ending endings[2] = {0};
    endings[0].next = &endings[1];
    add(world, dead.address);
    (void)start(world, false, &endings[0]);
    wait_for(world, &endings[0], START_MS);
    wait_for(world, &endings[1], START_MS);
    assert_failed(&endings[0], LULL_TRANSPORT_REFUSED, "Connection refused");
    assert_failed(&endings[1], LULL_TRANSPORT_REFUSED, "Connection refused");
    close_target(&dead);
}

static void test_many_at_once(void **state)
{
    enum { MANY = 100 };
    struct world *world = *state;
    struct target dead = refusing();
    struct target good = listening();
    struct ending endings[MANY] = {0};
    add(world, dead.address);
    add(world, good.address);
    for (int i = 0; i < MANY; i++) {
        (void)start(world, false, &endings[i]);
    }
    for (int i = 0; i < MANY; i++) {
        wait_for(world, &endings[i], START_MS);
        assert_connected_to(&endings[i], &good);
    }
    assert_int_equal(connect_count, 2 * MANY);
    for (int i = 0; i < MANY; i++) {
        (void)close(endings[i].result.fd);
    }
    close_target(&dead);
    close_target(&good);
}

int main(void)
{
#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        WITH_WORLD(test_C1_connected),
        WITH_WORLD(test_a_refusal_begins_the_next_at_once),
        WITH_WORLD(test_C1_all_refuse),
        WITH_WORLD(test_connected_at_once),
        WITH_WORLD(test_no_address),
        WITH_WORLD(test_no_socket_to_be_had),
        WITH_WORLD(test_C1_the_lack_of_a_route_says_less),
        WITH_WORLD(test_W5_all_forbidden),
        WITH_WORLD(test_W5_only_the_public_one_is_tried),
        WITH_WORLD(test_the_families_take_turns),
        WITH_WORLD(test_a_silent_address_is_overtaken),
        WITH_WORLD(test_each_has_its_time_unless_it_fails),
        WITH_WORLD(test_the_last_one_has_all_the_time),
        WITH_WORLD(test_no_turn_is_left_behind_the_last),
        WITH_WORLD(test_failures_beside_one_under_way),
        WITH_WORLD(test_both_families),
        WITH_WORLD(test_cancel_closes_what_is_open),
        WITH_WORLD(test_the_next_is_started_inside_on_done),
        WITH_WORLD(test_many_at_once),
    };
    return cmocka_run_group_tests_name("connector", tests, NULL, NULL);
}
