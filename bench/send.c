/*
 * bench/send - what it costs to send: CPU of this process for each request, of Lull's sender, of a
 * bare nghttp2 loop, and of libcurl's multi interface.
 *
 *   bench-send URL CAFILE                 all of them in turn; URL: https://ADDRESS:PORT
 *   bench-send URL CAFILE --memory [N]    ours alone, N requests: does its memory stay as it is?
 *   bench-send URL CAFILE --only WAY N    one alone (bare, ours, curl, encrypted), for a profiler
 *
 * Rounds of each in turn, so that whatever else the machine does meets all of them. A ratio is the
 * median over the rounds of what the round took next to the bare loop's of the same turn; the bare
 * loop runs a second time, and its ratio to itself tells how far to trust the others. Connections
 * are opened by rounds that do not count, and kept. Every request must get its 201. The target:
 * ours at most 1.25 times the bare loop.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rounds.h"
#include "send_way.h"
#include "send_work.h"

#define ROUNDS 40
#define WARM_UP_ROUNDS 3
#define REQUESTS 3200 /* a round: whole batches of key pairs, and eight times all streams */
#define TARGET 1.25
#define MEMORY_REQUESTS 1000000
#define GROWTH_MAX_KB 1024

struct candidate {
    const char *word;
    const char *name;
    const struct send_way *way; /* NULL: nothing is sent */
    work_make *make;
    void *sender;
    double cpu_us[ROUNDS];
    double wall_us[ROUNDS];
};

enum { BARE, BARE_AGAIN, OURS, CURL_MULTI, ENCRYPTION, ENCRYPTED, CANDIDATES };

static struct candidate candidates[CANDIDATES] = {
    [BARE] = {"bare", "a bare nghttp2 loop", &send_bare, work_fill, NULL, {0}, {0}},
    [BARE_AGAIN] = {"again", "a bare nghttp2 loop again", &send_bare, work_fill, NULL, {0}, {0}},
    [OURS] = {"ours", "ours", &send_ours, work_fill, NULL, {0}, {0}},
    [CURL_MULTI] = {"curl", "libcurl multi", &send_curl, work_fill, NULL, {0}, {0}},
    [ENCRYPTION] = {"encryption", "encryption alone", NULL, work_encrypt, NULL, {0}, {0}},
    [ENCRYPTED] = {"encrypted", "ours, encrypted", &send_ours, work_encrypt, NULL, {0}, {0}},
};

static struct work *work;

static void fail(const struct candidate *candidate)
{
    (void)fprintf(stderr, "bench-send: %s failed\n", candidate->name);
    exit(2);
}

static void open_sender(struct candidate *candidate)
{
    if (candidate->way) {
        candidate->sender = candidate->way->open(work);
        if (!candidate->sender) {
            fail(candidate);
        }
    }
}

static void close_sender(struct candidate *candidate)
{
    if (candidate->sender) {
        candidate->way->close(candidate->sender);
        candidate->sender = NULL;
    }
}

static void run(const struct candidate *candidate, uint64_t count)
{
    bool is_good = true;
    if (candidate->way) {
        is_good = candidate->way->send(candidate->sender, candidate->make, count);
    } else {
        for (uint64_t i = 0; i < count; i++) {
            is_good &= candidate->make(work, &work->pushes[i % WORK_SLOTS]);
        }
    }
    if (!is_good) {
        fail(candidate);
    }
}

/* The one before has left the caches full of its own: what goes first does not count. */
static void run_round(struct candidate *candidate, int round)
{
    run(candidate, WORK_SLOTS);
    double wall_us = rounds_now_us(CLOCK_MONOTONIC);
    double cpu_us = rounds_now_us(CLOCK_PROCESS_CPUTIME_ID);
    run(candidate, REQUESTS);
    candidate->cpu_us[round] = (rounds_now_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_us) / REQUESTS;
    candidate->wall_us[round] = (rounds_now_us(CLOCK_MONOTONIC) - wall_us) / REQUESTS;
}

/* ---- all in turn ---- */

static double cpu_of(int number)
{
    return rounds_median(candidates[number].cpu_us, ROUNDS);
}

static void print_row(int number, double ratio, const char *to_what)
{
    const struct candidate *candidate = &candidates[number];
    printf("  %-26s %6.2f us CPU  %6.3f x %s  (wall %5.1f us", candidate->name, cpu_of(number),
           ratio, to_what, rounds_median(candidate->wall_us, ROUNDS));
    if (candidate->way) {
        struct send_stats stats = candidate->way->stats(candidate->sender);
        printf(", %llu connections", (unsigned long long)stats.connections);
    }
    printf(")\n");
}

static int compare_all(void)
{
    for (int i = 0; i < CANDIDATES; i++) {
        open_sender(&candidates[i]);
    }
    for (int round = -WARM_UP_ROUNDS; round < ROUNDS; round++) {
        for (int i = 0; i < CANDIDATES; i++) {
            int turn = (i + round + WARM_UP_ROUNDS) % CANDIDATES; /* nobody is always first */
            run_round(&candidates[turn], round < 0 ? 0 : round);
        }
    }
    printf("bench/send: pushes of %d bytes, %d connections x %d streams, median of %d rounds of %d "
           "each,\nconnections opened before\n",
           WORK_BODY_SIZE, WORK_CONNECTIONS, WORK_STREAMS, ROUNDS, REQUESTS);
    double ratio = 0;
    for (int i = BARE; i <= CURL_MULTI; i++) {
        ratio = rounds_median_ratio(candidates[i].cpu_us, candidates[BARE].cpu_us, ROUNDS);
        print_row(i, ratio, "the bare loop");
    }
    double sums[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        sums[i] = candidates[ENCRYPTION].cpu_us[i] + candidates[OURS].cpu_us[i];
    }
    print_row(ENCRYPTION, rounds_median_ratio(candidates[ENCRYPTION].cpu_us, sums, ROUNDS),
              "it and ours");
    print_row(ENCRYPTED, rounds_median_ratio(candidates[ENCRYPTED].cpu_us, sums, ROUNDS),
              "encryption alone and ours");
    struct send_stats curl = send_curl.stats(candidates[CURL_MULTI].sender);
    uint64_t curl_requests = (REQUESTS + WORK_SLOTS) * (ROUNDS + WARM_UP_ROUNDS);
    printf("  libcurl called %llu of %llu transfers failed after their 201 had arrived (%.2f %%)\n",
           (unsigned long long)curl.late_errors, (unsigned long long)curl_requests,
           100 * (double)curl.late_errors / (double)curl_requests);
    if (curl.stuck > 0) {
        printf("  and had no answer in time for %llu more\n", (unsigned long long)curl.stuck);
    }
    ratio = rounds_median_ratio(candidates[OURS].cpu_us, candidates[BARE].cpu_us, ROUNDS);
    printf("  ours is %.3f x the bare loop, the target is at most %.2f: %s\n", ratio, TARGET,
           ratio > TARGET ? "MISSED" : "met");
    for (int i = 0; i < CANDIDATES; i++) {
        close_sender(&candidates[i]);
    }
    return ratio > TARGET;
}

/* ---- memory ---- */

static long resident_kb(void)
{
    long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%*s %ld", &pages) != 1) { // NOLINT(cert-err34-c): the kernel's
        (void)fprintf(stderr, "bench-send: /proc/self/statm cannot be read\n");
        exit(2);
    }
    (void)fclose(file);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static int watch_memory(uint64_t count)
{
    struct candidate *ours = &candidates[OURS];
    open_sender(ours);
    run(ours, count / 10);
    long first_kb = resident_kb();
    run(ours, count / 2 - count / 10);
    long half_kb = resident_kb();
    run(ours, count - count / 2);
    long last_kb = resident_kb();
    close_sender(ours);
    int is_missed = last_kb - first_kb > GROWTH_MAX_KB;
    printf("bench/send, memory: %llu requests, resident %ld KB after 10 %%, %ld KB after 50 %%, "
           "%ld KB at the end;\n  grown by %ld KB, the target is at most %d: %s\n",
           (unsigned long long)count, first_kb, half_kb, last_kb, last_kb - first_kb, GROWTH_MAX_KB,
           is_missed ? "MISSED" : "met");
    return is_missed;
}

/* ---- one alone ---- */

static int run_only(const char *word, uint64_t count)
{
    for (int i = 0; i < CANDIDATES; i++) {
        struct candidate *candidate = &candidates[i];
        if (strcmp(candidate->word, word) == 0) {
            open_sender(candidate);
            run(candidate, REQUESTS);
            double cpu_us = rounds_now_us(CLOCK_PROCESS_CPUTIME_ID);
            run(candidate, count);
            cpu_us = rounds_now_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_us;
            printf("%s: %.2f us CPU\n", candidate->name, cpu_us / (double)count);
            close_sender(candidate);
            return 0;
        }
    }
    (void)fprintf(stderr, "bench-send: there is no way '%s'\n", word);
    return 2;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 3 ? argv[3] : "";
    bool is_memory = (argc == 4 || argc == 5) && strcmp(mode, "--memory") == 0;
    bool is_only = argc == 6 && strcmp(mode, "--only") == 0;
    if (argc != 3 && !is_memory && !is_only) {
        (void)fprintf(stderr, "usage: bench-send URL CAFILE [--memory [N] | --only WAY N]\n");
        return 2;
    }
    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    work = work_new(argv[1], argv[2]);
    if (!work) {
        (void)fprintf(stderr, "bench-send: the pushes could not be made\n");
        return 2;
    }
    int status = 0;
    if (is_memory) {
        status = watch_memory(argc == 5 ? strtoull(argv[4], NULL, 10) : MEMORY_REQUESTS);
    } else if (is_only) {
        status = run_only(argv[4], strtoull(argv[5], NULL, 10));
    } else {
        status = compare_all();
    }
    work_destroy(work);
    curl_global_cleanup();
    return status;
}
