/* poller: who is told, and what an on_ready may do to its own watch and to that of another. */
#include "suite.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "poller.h"

#define NOW_MS 1234

struct item {
    struct watch watch;
    struct poller *poller;
    int calls;
    uint32_t events;
    struct item *removes; /* this one, when it is called */
    struct item *adds;
};

static bool is_readable(const struct poller *poller)
{
    struct pollfd wanted = {.fd = poller_fd(poller), .events = POLLIN};
    return poll(&wanted, 1, 0) == 1;
}

static void on_ready(struct watch *watch, uint32_t events, int64_t now_ms)
{
    struct item *item = owner_of(watch, struct item, watch);
    item->calls++;
    item->events = events;
    assert_int_equal(now_ms, NOW_MS);
    if (item->adds) {
        assert_true(poller_add(item->poller, &item->adds->watch));
        item->adds = NULL;
    }
    if (item->removes) {
        poller_remove(item->poller, &item->removes->watch);
        item->removes = NULL;
    }
}

static struct item *make(struct poller *poller, bool has_news)
{
    struct item *item = calloc(1, sizeof *item);
    assert_non_null(item);
    item->poller = poller;
    item->watch = (struct watch){eventfd(has_news, EFD_NONBLOCK | EFD_CLOEXEC), EPOLLIN, on_ready};
    assert_true(item->watch.fd >= 0);
    return item;
}

static void discard(struct item *item)
{
    (void)close(item->watch.fd);
    free(item);
}

static int make_poller(void **state)
{
    return poller_new((struct poller **)state) == LULL_OK ? 0 : -1;
}

static int destroy_poller(void **state)
{
    poller_destroy(*state);
    return 0;
}

static void test_told_as_long_as_there_is_news(void **state)
{
    struct poller *poller = *state;
    struct item *item = make(poller, false);
    assert_true(poller_add(poller, &item->watch));
    assert_false(is_readable(poller));
    poller_dispatch(poller, NOW_MS);
    assert_int_equal(item->calls, 0);
    assert_int_equal(eventfd_write(item->watch.fd, 1), 0);
    assert_true(is_readable(poller));
    poller_dispatch(poller, NOW_MS);
    poller_dispatch(poller, NOW_MS); /* nobody has read it */
    assert_int_equal(item->calls, 2);
    assert_int_equal(item->events, EPOLLIN);
    eventfd_t value = 0;
    assert_int_equal(eventfd_read(item->watch.fd, &value), 0);
    assert_false(is_readable(poller));
    poller_dispatch(poller, NOW_MS);
    assert_int_equal(item->calls, 2);
    poller_remove(poller, &item->watch);
    discard(item);
}

static void test_change_of_what_is_asked(void **state)
{
    struct poller *poller = *state;
    struct item *item = make(poller, true);
    assert_true(poller_add(poller, &item->watch));
    poller_change(poller, &item->watch, 0);
    assert_false(is_readable(poller));
    poller_change(poller, &item->watch, EPOLLIN | EPOLLOUT);
    poller_dispatch(poller, NOW_MS);
    assert_int_equal(item->calls, 1);
    assert_int_equal(item->events, EPOLLIN | EPOLLOUT);
    assert_int_equal(item->watch.events, EPOLLIN | EPOLLOUT);
    poller_remove(poller, &item->watch);
    discard(item);
}

static void test_hang_up_comes_unasked(void **state)
{
    struct poller *poller = *state;
    struct item *item = make(poller, false);
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    (void)close(item->watch.fd);
    item->watch.fd = ends[0];
    item->watch.events = 0;
    assert_true(poller_add(poller, &item->watch));
    (void)close(ends[1]);
    poller_dispatch(poller, NOW_MS);
    assert_int_equal(item->calls, 1);
    assert_int_equal(item->events, EPOLLHUP);
    poller_remove(poller, &item->watch);
    discard(item);
}

static void test_refused_by_the_kernel(void **state)
{
    struct poller *poller = *state;
    struct item *item = make(poller, true);
    assert_true(poller_add(poller, &item->watch));
    assert_false(poller_add(poller, &item->watch)); /* it is there already */
    poller_remove(poller, &item->watch);
    (void)close(item->watch.fd);
    assert_false(poller_add(poller, &item->watch));
    free(item);
}

static void test_own_watch_removed_inside(void **state)
{
    struct poller *poller = *state;
    struct item *item = make(poller, true);
    assert_true(poller_add(poller, &item->watch));
    item->removes = item;
    poller_dispatch(poller, NOW_MS);
    poller_dispatch(poller, NOW_MS);
    assert_int_equal(item->calls, 1);
    assert_false(is_readable(poller));
    discard(item);
}

static struct item *survivor;

static void free_each_other(struct watch *watch, uint32_t events, int64_t now_ms)
{
    struct item *item = owner_of(watch, struct item, watch);
    struct item *other = item->removes;
    (void)events;
    (void)now_ms;
    item->calls++;
    survivor = item;
    if (other) {
        poller_remove(item->poller, &other->watch);
        discard(other);
        item->removes = NULL;
    }
}

/* Both have news, whichever is first frees the other: memory that is gone must not be called. */
static void test_watch_of_another_removed_and_freed_inside(void **state)
{
    struct poller *poller = *state;
    struct item *pair[2] = {make(poller, true), make(poller, true)};
    for (int i = 0; i < 2; i++) {
        pair[i]->removes = pair[!i];
        pair[i]->watch.on_ready = free_each_other;
        assert_true(poller_add(poller, &pair[i]->watch));
    }
    poller_dispatch(poller, NOW_MS);
    poller_dispatch(poller, NOW_MS);
    assert_int_equal(survivor->calls, 2);
    poller_remove(poller, &survivor->watch);
    discard(survivor);
}

static void test_added_inside_is_told_of_by_the_next_call(void **state)
{
    struct poller *poller = *state;
    struct item *first = make(poller, true);
    struct item *second = make(poller, true);
    assert_true(poller_add(poller, &first->watch));
    first->adds = second;
    poller_dispatch(poller, NOW_MS);
    assert_int_equal(first->calls, 1);
    assert_int_equal(second->calls, 0);
    poller_dispatch(poller, NOW_MS);
    assert_int_equal(second->calls, 1);
    poller_remove(poller, &first->watch);
    poller_remove(poller, &second->watch);
    discard(first);
    discard(second);
}

/* More than fit into one answer of the kernel: nobody is called twice before all were called. */
static void test_many_have_their_turn(void **state)
{
    enum { MANY = 200 };
    struct poller *poller = *state;
    struct item *items[MANY];
    int calls = 0;
    for (int i = 0; i < MANY; i++) {
        items[i] = make(poller, true);
        items[i]->removes = items[i];
        assert_true(poller_add(poller, &items[i]->watch));
    }
    for (int round = 0; round < MANY && is_readable(poller); round++) {
        poller_dispatch(poller, NOW_MS);
    }
    for (int i = 0; i < MANY; i++) {
        assert_int_equal(items[i]->calls, 1);
        calls += items[i]->calls;
        discard(items[i]);
    }
    assert_int_equal(calls, MANY);
}

int main(void)
{
#define WITH_POLLER(test) cmocka_unit_test_setup_teardown(test, make_poller, destroy_poller)
    const struct CMUnitTest tests[] = {
        WITH_POLLER(test_told_as_long_as_there_is_news),
        WITH_POLLER(test_change_of_what_is_asked),
        WITH_POLLER(test_hang_up_comes_unasked),
        WITH_POLLER(test_refused_by_the_kernel),
        WITH_POLLER(test_own_watch_removed_inside),
        WITH_POLLER(test_watch_of_another_removed_and_freed_inside),
        WITH_POLLER(test_added_inside_is_told_of_by_the_next_call),
        WITH_POLLER(test_many_have_their_turn),
    };
    return cmocka_run_group_tests_name("poller", tests, NULL, NULL);
}
