/* K2, K3, K5: one probe at a time, nothing while open, and it never sticks. */
#include "property.h"

#define PERMITS_MAX 32
#define RETRY_AFTER_MAX_MS 120000

struct breaker_permit {
    struct lull_breaker_permit permit;
    uint64_t probe; /* which one; 0: none */
};

struct breaker_world {
    struct lull_breaker breaker;
    struct lull_random *random;
    int64_t now_ms;
    int64_t real_ms;
    int64_t wait_ms;                            /* what the last refusal named */
    int64_t back_ms;                            /* how far the clock has stepped back in all */
    bool is_clock_sound;                        /* it never will */
    int64_t named_ms;                           /* the latest instant that a 429 has named */
    int64_t seen_ms;                            /* and when the last 429 came */
    int64_t shut_until_real_ms;                 /* open at least until then */
    int64_t failing_permille;                   /* the service's mood */
    struct breaker_permit permits[PERMITS_MAX]; /* given, not yet reported */
    int64_t permit_count;
    uint64_t probes;       /* given; the last of them is number probes */
    bool is_probe_out;     /* the last one has not been reported */
    int64_t probe_real_ms; /* when it was given */
    uint64_t lost_probes;
    uint64_t recoveries;
};

static void print_breaker(const struct breaker_world *world)
{
    const struct lull_breaker_config *config = &world->breaker.config;
    print_error("%s for %" PRId64 " ms of %" PRId64 ", probe out %d, generation %" PRIu32
                "; now %" PRId64 ", real %" PRId64 ", shut until real %" PRId64 "; open %" PRId64
                " to %" PRId64 ", probe timeout %" PRId64 ", step %" PRId64 "\n",
                lull_breaker_state_to_string(world->breaker.state),
                world->now_ms - world->breaker.state_ms, world->breaker.open_for_ms,
                (int)world->breaker.is_probe_out, world->breaker.generation, world->now_ms,
                world->real_ms, world->shut_until_real_ms, config->open_ms, config->open_max_ms,
                config->probe_timeout_ms, config->slow_start_step_ms);
}

#define assert_breaker(world, condition) assert_that(condition, "%s", (print_breaker(world), ""))

static struct lull_breaker_config any_breaker(struct lull_random *random)
{
    struct lull_breaker_config config;
    lull_breaker_config_default(&config);
    config.unavailable_permille = (uint32_t)lull_random_between(random, 0, 1000);
    config.unavailable_window_ms = LULL_WINDOW_SLOTS * (1 + any_up_to(random, 6000));
    config.throttled_permille = (uint32_t)lull_random_between(random, 0, 1000);
    config.transport_permille = (uint32_t)lull_random_between(random, 0, 1000);
    config.window_ms = LULL_WINDOW_SLOTS * (1 + any_up_to(random, 1200));
    config.volume_min = (uint32_t)any_up_to(random, 20);
    config.open_ms = 1 + any_up_to(random, 30000);
    config.open_max_ms = config.open_ms + any_up_to(random, 300000);
    config.probe_timeout_ms = 1 + any_up_to(random, 60000);
    config.slow_start_step_ms = 1 + any_up_to(random, 3000);
    return config;
}

/* The least time open when nobody named one: the lower half of the first (K2). */
static int64_t least_open(const struct breaker_world *world)
{
    return world->breaker.config.open_ms / 2;
}

/* The least time open after 429s: until the latest instant that they named (K2). Once a clock has
 * stepped back only what the last of them said can be told. */
static int64_t least_open_by_429(struct breaker_world *world, int64_t retry_after_ms)
{
    if (!world->is_clock_sound) {
        return retry_after_ms;
    }
    return world->named_ms > world->now_ms ? world->named_ms - world->now_ms : least_open(world);
}

/* After any call: has the state changed in a way that the drawing in the header has? */
static void check_transition(struct breaker_world *world, enum lull_breaker_state before,
                             uint32_t generation, int64_t open_min_ms)
{
    static const bool is_legal[4][4] = {
        [LULL_BREAKER_CLOSED] = {[LULL_BREAKER_OPEN] = true},
        [LULL_BREAKER_OPEN] = {[LULL_BREAKER_HALF_OPEN] = true},
        [LULL_BREAKER_HALF_OPEN] = {[LULL_BREAKER_OPEN] = true, [LULL_BREAKER_SLOW_START] = true},
        [LULL_BREAKER_SLOW_START] = {[LULL_BREAKER_CLOSED] = true, [LULL_BREAKER_OPEN] = true},
    };
    enum lull_breaker_state after = world->breaker.state;
    if (after == before) {
        assert_breaker(world, world->breaker.generation == generation);
        return;
    }
    assert_breaker(world, is_legal[before][after] && world->breaker.generation != generation);
    if (after == LULL_BREAKER_OPEN) {
        world->shut_until_real_ms = world->real_ms + open_min_ms;
    }
    if (after == LULL_BREAKER_HALF_OPEN) {
        assert_breaker(world, world->real_ms >= world->shut_until_real_ms);
    }
    world->recoveries += after == LULL_BREAKER_CLOSED;
}

/* K3: no probe while another is out that has neither been reported nor timed out. */
static void on_probe(struct breaker_world *world)
{
    if (world->is_probe_out) {
        int64_t age_ms = world->real_ms - world->probe_real_ms;
        assert_breaker(world, age_ms >= world->breaker.config.probe_timeout_ms);
        world->lost_probes++;
    }
    world->probes++;
    world->is_probe_out = true;
    world->probe_real_ms = world->real_ms;
}

static void keep_permit(struct breaker_world *world, struct lull_breaker_permit permit)
{
    if (world->permit_count == PERMITS_MAX) { /* this report will never come */
        world->permits[lull_random_between(world->random, 0, PERMITS_MAX - 1)] =
            world->permits[--world->permit_count];
    }
    world->permits[world->permit_count++] =
        (struct breaker_permit){permit, permit.is_probe ? world->probes : 0};
}

static void ask_breaker(struct breaker_world *world)
{
    struct lull_breaker *breaker = &world->breaker;
    const struct lull_breaker_permit untouched = {0xdeadbeef, true};
    struct lull_breaker_permit permit = untouched;
    enum lull_breaker_state before = breaker->state;
    uint32_t generation = breaker->generation;
    int64_t wait_ms = lull_breaker_ask(breaker, world->now_ms, world->random, &permit);
    check_transition(world, before, generation, least_open(world));
    if (wait_ms != 0) {
        assert_breaker(world, wait_ms > 0 && breaker->state != LULL_BREAKER_CLOSED);
        assert_breaker(world, permit.generation == untouched.generation);
        assert_breaker(world, breaker->state != LULL_BREAKER_HALF_OPEN || world->is_probe_out);
        world->wait_ms = wait_ms;
        return;
    }
    assert_breaker(world, breaker->state != LULL_BREAKER_OPEN); /* K2, K5 */
    assert_breaker(world, world->real_ms >= world->shut_until_real_ms);
    assert_breaker(world, permit.generation == breaker->generation);
    assert_breaker(world, permit.is_probe == (breaker->state == LULL_BREAKER_HALF_OPEN));
    if (permit.is_probe) {
        on_probe(world);
    }
    keep_permit(world, permit);
}

static enum lull_breaker_result any_result(struct breaker_world *world)
{
    if (one_in(world->random, 30)) {
        return LULL_BREAKER_IGNORED;
    }
    if (lull_random_between(world->random, 1, 1000) > world->failing_permille) {
        return LULL_BREAKER_SUCCESS;
    }
    return (enum lull_breaker_result)lull_random_between(world->random, LULL_BREAKER_THROTTLED,
                                                         LULL_BREAKER_FAILED);
}

/* A permit of an earlier state is stale: all that happens is what time alone would do. */
static void check_stale(const struct breaker_world *world, struct lull_breaker by_time,
                        struct lull_random random, bool is_opened)
{
    const struct lull_breaker *breaker = &world->breaker;
    lull_breaker_tick(&by_time, world->now_ms, &random);
    assert_breaker(world, !is_opened && breaker->state == by_time.state);
    assert_breaker(world, breaker->generation == by_time.generation);
    assert_breaker(world, breaker->is_probe_out == by_time.is_probe_out);
    assert_breaker(world, breaker->trips == by_time.trips);
}

static struct breaker_permit pick_permit(struct breaker_world *world)
{
    int64_t index = lull_random_between(world->random, 0, world->permit_count - 1);
    struct breaker_permit picked = world->permits[index];
    world->permits[index] = world->permits[--world->permit_count];
    return picked;
}

/* In any order: the first given is not the first to come back, and some come much too late. */
static void report_breaker(struct breaker_world *world)
{
    struct breaker_permit given = pick_permit(world);
    if (given.probe != 0 && one_in(world->random, 5)) {
        return; /* a lost probe: it stays out until it times out */
    }
    enum lull_breaker_result result = any_result(world);
    bool is_429 = result == LULL_BREAKER_THROTTLED;
    int64_t retry_after_ms =
        one_in(world->random, 2) ? 0 : any_up_to(world->random, RETRY_AFTER_MAX_MS);
    struct lull_breaker earlier = world->breaker;
    struct lull_random random = *world->random;
    bool is_opened = lull_breaker_report(&world->breaker, world->now_ms, given.permit, result,
                                         retry_after_ms, world->random);
    if (given.permit.generation != earlier.generation) {
        check_stale(world, earlier, random, is_opened);
    } else if (is_429 && (is_opened || world->breaker.generation == earlier.generation)) {
        int64_t named_ms = world->now_ms + retry_after_ms;
        bool is_old = world->now_ms - world->seen_ms > world->breaker.config.window_ms;
        world->named_ms = is_old ? named_ms : max_of(world->named_ms, named_ms);
        world->seen_ms = world->now_ms;
    }
    assert_breaker(world, !is_opened || world->breaker.state == LULL_BREAKER_OPEN);
    check_transition(world, earlier.state, earlier.generation,
                     is_opened && is_429 ? least_open_by_429(world, retry_after_ms)
                                         : least_open(world));
    if (given.probe != 0 && given.probe == world->probes) {
        world->is_probe_out = false;
    }
}

/* The waits that were named, to the millisecond and one short of it, and all sorts besides. */
static int64_t any_breaker_step(struct breaker_world *world)
{
    const struct lull_breaker_config *config = &world->breaker.config;
    switch (lull_random_between(world->random, 0, 19)) {
    case 0:
        return world->wait_ms;
    case 1:
        return max_of(0, world->wait_ms - 1);
    case 2:
        return config->probe_timeout_ms - lull_random_between(world->random, 0, 1);
    case 3:
        return any_up_to(world->random, 2 * config->open_max_ms);
    case 4:
        return world->is_clock_sound ? 0 : -any_up_to(world->random, 100000);
    default:
        return any_up_to(world->random, 100);
    }
}

/* P2's halt, from outside, as the service does it: when the breaker is closed. */
static void halt_breaker(struct breaker_world *world)
{
    struct lull_breaker *breaker = &world->breaker;
    if (breaker->state == LULL_BREAKER_CLOSED) {
        uint32_t generation = breaker->generation;
        int64_t open_for_ms = any_up_to(world->random, RETRY_AFTER_MAX_MS);
        lull_breaker_trip(breaker, world->now_ms, open_for_ms, world->random);
        check_transition(world, LULL_BREAKER_CLOSED, generation,
                         open_for_ms > 0 ? open_for_ms : least_open(world));
    }
}

static void step_breaker(struct breaker_world *world)
{
    int64_t choice = lull_random_between(world->random, 0, 199);
    int64_t step_ms = 0;
    if (choice < 80) {
        ask_breaker(world);
    } else if (choice < 150) {
        if (world->permit_count > 0) {
            report_breaker(world);
        }
    } else if (choice < 190) {
        step_ms = any_breaker_step(world);
    } else if (choice < 198) {
        enum lull_breaker_state before = world->breaker.state;
        uint32_t generation = world->breaker.generation;
        lull_breaker_tick(&world->breaker, world->now_ms, world->random);
        check_transition(world, before, generation, least_open(world));
    } else if (choice < 199) {
        world->failing_permille = 250 * lull_random_between(world->random, 0, 4);
    } else {
        halt_breaker(world);
    }
    world->now_ms += step_ms;
    world->real_ms += max_of(0, step_ms);
    world->back_ms += max_of(0, -step_ms);
}

/* From here on the service is well, and of all that was sent before nothing comes back. At worst
 * it waits out the open time, or a lost probe and then another open time, and the slow start. The
 * clock may have stepped back: that must not add to what is left of any of them. */
static void check_recovers(struct breaker_world *world)
{
    struct lull_breaker breaker = world->breaker;
    const struct lull_breaker_config *config = &breaker.config;
    int64_t now_ms = world->now_ms;
    int64_t pause_ms = 200;
    int64_t open_ms = config->open_max_ms;
    if (breaker.state == LULL_BREAKER_OPEN) {
        open_ms = max_of(open_ms, breaker.open_for_ms);
        assert_breaker(world,
                       open_ms <= max_of(config->open_max_ms, RETRY_AFTER_MAX_MS + world->back_ms));
    }
    int64_t end_ms = now_ms + open_ms + config->probe_timeout_ms + config->open_max_ms +
                     4 * config->slow_start_step_ms + 4 * pause_ms;
    while (breaker.state != LULL_BREAKER_CLOSED && now_ms <= end_ms) {
        struct lull_breaker_permit permit = {0, false};
        int64_t wait_ms = lull_breaker_ask(&breaker, now_ms, world->random, &permit);
        if (wait_ms == 0) {
            lull_breaker_report(&breaker, now_ms, permit, LULL_BREAKER_SUCCESS, 0, world->random);
            wait_ms = lull_random_between(world->random, 1, pause_ms);
        }
        now_ms += min_of(wait_ms, breaker.state == LULL_BREAKER_SLOW_START ? pause_ms : wait_ms);
        lull_breaker_tick(&breaker, now_ms, world->random);
    }
    assert_that(breaker.state == LULL_BREAKER_CLOSED, "%s", (print_breaker(world), "stuck\n"));
}

static void test_k3_the_breaker_has_one_probe_out_and_never_sticks(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("k3_the_breaker_has_one_probe_out_and_never_sticks"));
    static struct breaker_world world;
    uint64_t probes = 0;
    uint64_t lost = 0;
    uint64_t recoveries = 0;
    for (int i = 0; i < 1000; i++) {
        struct lull_breaker_config config = any_breaker(&random);
        memset(&world, 0, sizeof world);
        world.random = &random;
        world.now_ms = any_up_to(&random, YEAR_MS) - YEAR_MS / 2;
        world.named_ms = world.now_ms;
        world.seen_ms = world.now_ms;
        world.is_clock_sound = one_in(&random, 2);
        assert_int_equal(lull_breaker_init(&world.breaker, &config, world.now_ms), LULL_OK);
        for (int j = 0; j < 1000; j++) {
            step_breaker(&world);
            if (j % 100 == 99) {
                check_recovers(&world);
            }
        }
        probes += world.probes;
        lost += world.lost_probes;
        recoveries += world.recoveries;
    }
    /* Else it would show little. */
    assert_in_range(probes, 5000, 1000000);
    assert_in_range(lost, 500, 1000000);
    assert_in_range(recoveries, 500, 1000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_k3_the_breaker_has_one_probe_out_and_never_sticks),
    };
    return cmocka_run_group_tests_name("property_breaker", tests, NULL, NULL);
}
