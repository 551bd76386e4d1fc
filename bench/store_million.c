/* store_million - a million messages that wait: what memory they take, and how long a start takes
 * with them. Each in a process of its own, whose memory is nobody else's; the first ends as if it
 * were killed. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lull/error.h"
#include "rounds.h"
#include "store_work.h"

#define MILLION 1000000
#define OPEN_TARGET_MS 2000.0
#define MEMORY_TARGET_MB 100.0

static double memory_mb(const char *which)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[128];
    double kb = 0;
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, which, strlen(which)) == 0) {
            kb = strtod(line + strlen(which), NULL);
        }
    }
    if (file) {
        (void)fclose(file);
    }
    return kb / 1024;
}

static int print_and_judge(const char *what, double value, const char *unit, double target)
{
    printf("  %-45s %6.0f %s (target %.0f)%s\n", what, value, unit, target,
           value > target ? "  MISSED" : "");
    return value > target;
}

static int fill(const char *path)
{
    struct store_opening opening = {0};
    struct work work = {0};
    if (store_sqlite_open(&work.store, path, &opening) != LULL_OK) {
        work_fail(opening.problem);
    }
    if (store_service(work.store, "sink", strlen("sink"), &work.service) != LULL_OK) {
        work_fail(store_problem(work.store));
    }
    double begin_us = rounds_now_us(CLOCK_MONOTONIC);
    work_fill(&work, MILLION);
    printf("  put to wait: %.0f a second\n",
           MILLION / (rounds_now_us(CLOCK_MONOTONIC) - begin_us) * 1e6);
    return print_and_judge("memory at the most while they came", memory_mb("VmHWM:"), "MB",
                           MEMORY_TARGET_MB);
}

static void add_waiting(void *userdata, const struct store_service *service)
{
    *(uint64_t *)userdata += service->waiting;
}

static int open_again(const char *path)
{
    struct store *store = NULL;
    uint64_t waiting = 0;
    struct store_opening opening = {0};
    double begin_us = rounds_now_us(CLOCK_MONOTONIC);
    if (store_sqlite_open(&store, path, &opening) != LULL_OK) {
        work_fail(opening.problem);
    }
    (void)store_services(store, add_waiting, &waiting);
    double took_ms = (rounds_now_us(CLOCK_MONOTONIC) - begin_us) / 1e3;
    if (waiting != MILLION) {
        work_fail("some of the million are gone");
    }
    int missed = print_and_judge("to open it again", took_ms, "ms", OPEN_TARGET_MS);
    missed += print_and_judge("memory then", memory_mb("VmRSS:"), "MB", MEMORY_TARGET_MB);
    store_close(store);
    return missed;
}

static int in_child(int (*run)(const char *path), const char *path)
{
    (void)fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int missed = run(path);
        (void)fflush(stdout);
        _exit(missed > 0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status) ||
        WEXITSTATUS(status) > 1) {
        work_fail("a process of its own");
    }
    return WEXITSTATUS(status);
}

int million_run(const char *folder)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%.400s/bench-store-%ld.million", folder, (long)getpid());
    printf("1,000,000 messages that wait\n");
    int missed = in_child(fill, path);
    missed += in_child(open_again, path);
    work_remove(path);
    return missed;
}
