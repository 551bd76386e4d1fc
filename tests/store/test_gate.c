/* A gate, through every small combination: pause, rate, burst, in flight, and how many want to pass
 * (P5, G5, P2). SPDX-License-Identifier: MIT */
#include "suite.h"

#include "gate.h"

#define NOW_MS INT64_C(1767225600000)

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* A full bucket: what passes is the least of what is wanted, has room, and has a token. */
static void check(struct gate gate, uint32_t in_flight, uint32_t wanted)
{
    struct gate_use use = {.in_flight = in_flight};
    enum gate_stop stop = GATE_PAUSED;
    int64_t until_ms = -1;
    uint32_t passed = gate_pass(&gate, &use, NOW_MS, wanted, &stop, &until_ms);
    bool is_paused = gate.paused_until_ms > NOW_MS;
    uint32_t room = gate.in_flight_max == 0          ? UINT32_MAX
                    : gate.in_flight_max > in_flight ? gate.in_flight_max - in_flight
                                                     : 0;
    uint32_t tokens = gate.rate_milli_per_s == 0 ? UINT32_MAX : gate.burst;
    tokens = gate.rate_milli_per_s > 0 && tokens == 0 ? 1 : tokens;
    uint32_t expected = is_paused ? 0 : smaller(wanted, smaller(room, tokens));
    assert_int_equal(passed, expected);
    assert_int_equal(use.in_flight, in_flight + passed);
    if (passed == wanted) {
        assert_int_equal(stop, GATE_OPEN);
        return;
    }
    assert_int_equal(stop, is_paused ? GATE_PAUSED : tokens < room ? GATE_RATE : GATE_FULL);
    if (stop == GATE_FULL) {
        assert_true(until_ms == LULL_NEVER);
    } else if (stop == GATE_PAUSED) {
        assert_int_equal(until_ms, gate.paused_until_ms);
    } else { /* when it says, one passes, and not a millisecond before */
        struct gate_use early = use;
        assert_true(until_ms > NOW_MS);
        assert_int_equal(gate_pass(&gate, &early, until_ms - 1, 1, &stop, &until_ms), 0);
        assert_int_equal(gate_pass(&gate, &use, until_ms, 1, &stop, &until_ms), 1);
    }
}

static void test_every_small_gate(void **state)
{
    (void)state;
    static const int64_t pauses_ms[] = {0, NOW_MS - 1, NOW_MS, NOW_MS + 1, NOW_MS + 5000};
    static const uint64_t rates[] = {0, 1, 999, 1000, 333333, 10000000};
    for (size_t pause = 0; pause < sizeof pauses_ms / sizeof *pauses_ms; pause++) {
        for (size_t rate = 0; rate < sizeof rates / sizeof *rates; rate++) {
            for (uint32_t burst = 0; burst <= 5; burst++) {
                for (uint32_t max = 0; max <= 5; max++) {
                    for (uint32_t in_flight = 0; in_flight <= 6; in_flight++) {
                        for (uint32_t wanted = 0; wanted <= 6; wanted++) {
                            struct gate gate = {
                                .paused_until_ms = pauses_ms[pause],
                                .rate_milli_per_s = rates[rate],
                                .burst = burst,
                                .in_flight_max = max,
                            };
                            check(gate, in_flight, wanted);
                        }
                    }
                }
            }
        }
    }
}

/* Setting it again does not fill the bucket; a higher version with more room gives only time's
 * worth. */
static void test_G5_a_new_version_gives_nothing_away(void **state)
{
    (void)state;
    struct gate gate = {.version = 1, .rate_milli_per_s = 1000, .burst = 10};
    struct gate_use use = {0};
    enum gate_stop stop = GATE_OPEN;
    int64_t until_ms = 0;
    assert_int_equal(gate_pass(&gate, &use, NOW_MS, 20, &stop, &until_ms), 10);
    for (int i = 0; i < 100; i++) {
        gate.version++;
        assert_int_equal(gate_pass(&gate, &use, NOW_MS, 1, &stop, &until_ms), 0);
        assert_int_equal(stop, GATE_RATE);
    }
    gate.version++;
    gate.burst = 100;
    assert_int_equal(gate_pass(&gate, &use, NOW_MS + 3000, 20, &stop, &until_ms), 3);
    gate.version++; /* no rate for a while, and one again */
    gate.rate_milli_per_s = 0;
    assert_int_equal(gate_pass(&gate, &use, NOW_MS + 3000, 50, &stop, &until_ms), 50);
    gate.version++;
    gate.rate_milli_per_s = 1000;
    assert_int_equal(gate_pass(&gate, &use, NOW_MS + 4000, 20, &stop, &until_ms), 1);
}

static void test_numbers_beyond_all_bounds_are_no_limit(void **state)
{
    (void)state;
    struct gate gate = {.version = 1,
                        .rate_milli_per_s = UINT64_MAX,
                        .burst = UINT32_MAX,
                        .in_flight_max = UINT32_MAX};
    struct gate_use use = {0};
    enum gate_stop stop = GATE_PAUSED;
    int64_t until_ms = 0;
    assert_int_equal(gate_pass(&gate, &use, NOW_MS, 1000000, &stop, &until_ms), 1000000);
    assert_int_equal(stop, GATE_OPEN);
    gate_leave(&use, 999999);
    assert_int_equal(use.in_flight, 1);
    gate_leave(&use, 7); /* never below none */
    assert_int_equal(use.in_flight, 0);
}

static void test_words(void **state)
{
    (void)state;
    static const char *const words[] = {"open", "paused", "rate", "full"};
    for (int i = GATE_OPEN; i <= GATE_FULL; i++) {
        assert_string_equal(gate_stop_to_string((enum gate_stop)i), words[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_small_gate),
        cmocka_unit_test(test_G5_a_new_version_gives_nothing_away),
        cmocka_unit_test(test_numbers_beyond_all_bounds_are_no_limit),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests_name("store gate", tests, NULL, NULL);
}
