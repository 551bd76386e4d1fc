/*
 * core - what one decision costs, and one Retry-After, beside one clock_gettime for scale.
 *
 * The best of several rounds: noise only ever makes a round slower. Allocations are counted by
 * wrapping malloc at link time. With --ns only the mean cost of a decision is printed, for the
 * comparison in bench/compare_tenacity.py.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lull/lull.h"

#define ROUNDS 1000
#define CALLS 10000
#define DECIDE_TARGET_NS 150.0
#define RETRY_AFTER_TARGET_NS 100.0
#define NOW_MS INT64_C(1767225600000)

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

static uint64_t allocations;

void *__wrap_malloc(size_t size)
{
    allocations++;
    return __real_malloc(size);
}

static double now_ns(void)
{
    struct timespec time = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* A result that the compiler must believe is used. */
static volatile int64_t sink;

#define HEADER(name_, value_)                                                                      \
    {                                                                                              \
        .name = (name_), .name_length = sizeof(name_) - 1, .value = (value_),                      \
        .value_length = sizeof(value_) - 1                                                         \
    }

/* As a push service answers: what matters is somewhere in the middle. */
static const struct lull_header headers_429[] = {
    HEADER("date", "Thu, 01 Jan 2026 00:00:00 GMT"),
    HEADER("server", "nginx"),
    HEADER("content-type", "application/json"),
    HEADER("content-length", "79"),
    HEADER("retry-after", "120"),
    HEADER("x-request-id", "c5f0a8d2b7e94b1f"),
    HEADER("strict-transport-security", "max-age=31536000"),
    HEADER("access-control-allow-origin", "*"),
};

static const struct lull_header headers_503[] = {
    HEADER("date", "Thu, 01 Jan 2026 00:00:00 GMT"),
    HEADER("server", "nginx"),
    HEADER("retry-after", "Thu, 01 Jan 2026 00:02:00 GMT"),
    HEADER("content-length", "0"),
};

static const struct lull_outcome outcomes[] = {
    {.kind = LULL_OUTCOME_STATUS, .status = 201, .headers = headers_429, .header_count = 8},
    {.kind = LULL_OUTCOME_STATUS, .status = 429, .headers = headers_429, .header_count = 8},
    {.kind = LULL_OUTCOME_STATUS, .status = 503, .headers = headers_503, .header_count = 4},
    {.kind = LULL_OUTCOME_STATUS, .status = 500, .headers = headers_503, .header_count = 2},
    {.kind = LULL_OUTCOME_TRANSPORT, .transport = LULL_TRANSPORT_TIMEOUT},
};
static const char *const outcome_names[] = {"201", "429, Retry-After: 120, 8 headers",
                                            "503, Retry-After: date, 4 headers", "500, 2 headers",
                                            "timeout"};
#define OUTCOMES 5
_Static_assert(sizeof outcomes / sizeof outcomes[0] == OUTCOMES, "one name for each");

static double time_decide(const struct lull_policy *policy, const struct lull_outcome *outcome)
{
    struct lull_random random;
    struct lull_facts facts;
    struct lull_verdict verdict;
    lull_random_init(&random, 1);
    lull_facts_init(&facts, policy, NOW_MS);
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (uint32_t i = 0; i < CALLS; i++) {
            facts.attempt = 1 + i % 5;
            (void)lull_decide(policy, &facts, outcome, NOW_MS, &random, &verdict, NULL);
            sink = verdict.delay_ms;
        }
        double took = (now_ns() - start) / CALLS;
        best = took < best ? took : best;
    }
    return best;
}

static double time_retry_after(const char *value)
{
    struct lull_retry_after_clock clock = {.now_ms = NOW_MS};
    size_t length = strlen(value);
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (int i = 0; i < CALLS; i++) {
            sink = lull_retry_after_parse(value, length, &clock).wait_ms;
        }
        double took = (now_ns() - start) / CALLS;
        best = took < best ? took : best;
    }
    return best;
}

static double time_clock(void)
{
    double best = 1e18;
    for (int round = 0; round < ROUNDS; round++) {
        double start = now_ns();
        for (int i = 0; i < CALLS; i++) {
            struct timespec time = {0};
            (void)clock_gettime(CLOCK_MONOTONIC, &time);
            sink = time.tv_nsec;
        }
        double took = (now_ns() - start) / CALLS;
        best = took < best ? took : best;
    }
    return best;
}

static int print_line(const char *what, double ns, double clock_ns, double target_ns)
{
    printf("  %-48s %6.1f ns  %5.2f x clock_gettime%s\n", what, ns, ns / clock_ns,
           ns > target_ns ? "  MISSED" : "");
    return ns > target_ns;
}

int main(int argc, char **argv)
{
    static const char *const values[] = {"120", "1767225720", "Thu, 01 Jan 2026 00:02:00 GMT",
                                         "Thursday, 01-Jan-26 00:02:00 GMT",
                                         "Thu Jan  1 00:02:00 2026"};
    struct lull_policy policy;
    double costs[OUTCOMES];
    double mean = 0;
    int missed = 0;
    (void)lull_policy_named(&policy, "delivery");
    allocations = 0;
    for (size_t i = 0; i < OUTCOMES; i++) {
        costs[i] = time_decide(&policy, &outcomes[i]);
        mean += costs[i] / OUTCOMES;
    }
    uint64_t decide_allocations = allocations;
    if (argc > 1 && strcmp(argv[1], "--ns") == 0) {
        printf("%.1f\n", mean);
        return 0;
    }
    double clock_ns = time_clock();
    printf("bench/core: best of %d rounds of %d calls; clock_gettime %.1f ns\n", ROUNDS, CALLS,
           clock_ns);
    printf("decide (target %.0f ns)\n", DECIDE_TARGET_NS);
    for (size_t i = 0; i < OUTCOMES; i++) {
        missed += print_line(outcome_names[i], costs[i], clock_ns, DECIDE_TARGET_NS);
    }
    missed += print_line("mean of these", mean, clock_ns, DECIDE_TARGET_NS);
    printf("retry_after (target %.0f ns)\n", RETRY_AFTER_TARGET_NS);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        missed +=
            print_line(values[i], time_retry_after(values[i]), clock_ns, RETRY_AFTER_TARGET_NS);
    }
    printf("allocations in all decisions: %" PRIu64 "\n", decide_allocations);
    return missed > 0 || decide_allocations > 0;
}
