/* The contract of store.h, case by case, on every backend: Q2, Q3, Q5, Q6, Q7, Q8, P3, P5.
 * SPDX-License-Identifier: MIT */
#include "contract.h"

#define RUNS_MAX 256

struct run {
    enum backend backend;
    const struct contract_case *contract_case;
};

static struct run runs[RUNS_MAX];
static char names[RUNS_MAX][128];
static struct CMUnitTest tests[RUNS_MAX];
static size_t count;

static void run_case(void **state)
{
    const struct run *run = *state;
    struct world world;
    world_open(&world, run->backend);
    run->contract_case->run(&world);
    world_close(&world);
}

static void add(enum backend backend, const struct contract_case *cases)
{
    for (; cases->name; cases++, count++) {
        assert_true(count < RUNS_MAX);
        runs[count] = (struct run){backend, cases};
        (void)snprintf(names[count], sizeof names[count], "%s %s", backend_name(backend),
                       cases->name);
        tests[count] = (struct CMUnitTest){
            .name = names[count], .test_func = run_case, .initial_state = &runs[count]};
    }
}

int main(void)
{
    for (int backend = 0; backend < BACKENDS; backend++) {
        add((enum backend)backend, queue_cases);
        add((enum backend)backend, rules_cases);
        add((enum backend)backend, reading_cases);
    }
    return _cmocka_run_group_tests("store contract", tests, count, NULL, NULL);
}
