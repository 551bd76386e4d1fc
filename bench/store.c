/*
 * bench/store - what the SQLite store costs on the fast path: the processor's time of each message,
 * from its put, leased at once, to its settle in a later batch; and how long a commit takes, which
 * is safe from a power loss when it returns.
 *
 *   bench-store FOLDER        on a disk that is a disk; what it makes there it removes
 *
 * So many messages are in flight all the time: each batch puts some and settles as many of the
 * oldest. Beside it a bare write of the same size with a sync of its own, which says what the disk
 * does. Targets: at most 8 us in batches of 100 and more; commits of those in 2 ms (p99), none over
 * 10 ms.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lull/classify.h"
#include "lull/error.h"
#include "lull/os.h"
#include "rounds.h"
#include "store.h"

#define ENVELOPE_SIZE 300
#define BODY_SIZE 300
#define BATCH_MAX 1000
#define COMMITS_MAX 4000
#define TTL_MS INT64_C(86400000)
#define LEASE_MS INT64_C(120000)
#define CPU_MAX_US 8.0
#define COMMIT_P99_MAX_MS 2.0
#define COMMIT_MAX_MS 10.0
#define TARGET_BATCH 100

struct scenario {
    uint32_t batch;
    uint32_t in_flight;
    uint32_t commits; /* that count; those before them fill up what is in flight */
};

static const struct scenario scenarios[] = {
    {10, 2000, 4000},
    {100, 2000, 2000},
    {100, 100000, 2000},
    {1000, 8000, 300},
};

struct bench {
    struct store *store;
    uint32_t service;
    struct message **ring; /* in flight, the oldest first */
    size_t ring_size;
    uint64_t put;
    uint64_t settled;
};

static double commits_ms[COMMITS_MAX];

static void fail(const char *what)
{
    (void)fprintf(stderr, "bench-store: %s\n", what);
    exit(2);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct message *make_message(const struct bench *bench, uint64_t number, int64_t now_ms)
{
    struct message *message = message_new(ENVELOPE_SIZE, BODY_SIZE, 0);
    if (!message) {
        fail("no memory");
    }
    memset((void *)message->envelope.data, 'e', ENVELOPE_SIZE);
    memset((void *)message->body.data, 'b', BODY_SIZE);
    message->service = bench->service;
    message->target = number + 1;
    message->kind = LULL_KIND_PUSH;
    message->urgency = MESSAGE_NORMAL;
    message->accepted_ms = message->due_ms = now_ms;
    message->ttl_ms = TTL_MS;
    return message;
}

/* One batch: puts so many, and settles the oldest, if there are more than may be in flight. */
static void step(struct bench *bench, const struct scenario *scenario)
{
    static struct store_put puts[BATCH_MAX];
    static struct store_settle settles[BATCH_MAX];
    int64_t now_ms = lull_os_now_ms();
    struct store_batch batch = {.puts = puts, .settles = settles, .is_durable = true};
    while (batch.put_count < scenario->batch) {
        puts[batch.put_count] = (struct store_put){
            .message = make_message(bench, bench->put + batch.put_count, now_ms),
            .is_lease_wanted = true,
            .lease = 1,
            .lease_until_ms = now_ms + LEASE_MS,
        };
        batch.put_count++;
    }
    while (bench->put - bench->settled >= scenario->in_flight + batch.settle_count &&
           batch.settle_count < scenario->batch) {
        settles[batch.settle_count] = (struct store_settle){
            .kind = STORE_DONE,
            .message = bench->ring[(bench->settled + batch.settle_count) % bench->ring_size],
        };
        batch.settle_count++;
    }
    if (store_apply(bench->store, &batch, now_ms) != LULL_OK) {
        fail(store_problem(bench->store));
    }
    for (size_t i = 0; i < batch.settle_count; i++, bench->settled++) {
        if (settles[i].ret_is_stale) {
            fail("a lease was lost");
        }
        message_free(bench->ring[bench->settled % bench->ring_size]);
    }
    for (size_t i = 0; i < batch.put_count; i++, bench->put++) {
        if (puts[i].ret_result != STORE_PUT_LEASED) {
            fail("a message was not leased");
        }
        bench->ring[bench->put % bench->ring_size] = puts[i].message;
    }
}

static void print_commits(uint32_t count, double *ret_p99_ms, double *ret_max_ms)
{
    qsort(commits_ms, count, sizeof *commits_ms, compare);
    *ret_p99_ms = commits_ms[count * 99 / 100];
    *ret_max_ms = commits_ms[count - 1];
    printf("  p50 %6.2f ms  p99 %6.2f ms  longest %6.2f ms", commits_ms[count / 2], *ret_p99_ms,
           *ret_max_ms);
}

/* False: a target was missed. */
static bool measure(struct bench *bench, const struct scenario *scenario)
{
    while (bench->put < bench->settled + scenario->in_flight) {
        step(bench, scenario);
    }
    double cpu_us = rounds_now_us(CLOCK_PROCESS_CPUTIME_ID);
    for (uint32_t i = 0; i < scenario->commits; i++) {
        double begin_us = rounds_now_us(CLOCK_MONOTONIC);
        step(bench, scenario);
        commits_ms[i] = (rounds_now_us(CLOCK_MONOTONIC) - begin_us) / 1000;
    }
    cpu_us =
        (rounds_now_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_us) / scenario->commits / scenario->batch;
    double p99_ms = 0;
    double max_ms = 0;
    printf("  %5u a batch, %6u in flight  %6.2f us CPU each", scenario->batch, scenario->in_flight,
           cpu_us);
    print_commits(scenario->commits, &p99_ms, &max_ms);
    bool is_target = scenario->batch >= TARGET_BATCH;
    bool is_met = cpu_us <= CPU_MAX_US && p99_ms <= COMMIT_P99_MAX_MS && max_ms <= COMMIT_MAX_MS;
    printf("%s\n", is_target && !is_met ? "  MISSED" : "");
    return is_met || !is_target;
}

/* A store of its own: what one scenario leaves must not cost the next. */
static bool run(const char *folder, const struct scenario *scenario)
{
    static const char *const endings[] = {"", "-wal", "-shm", "-lock"};
    char path[512];
    struct store_opening opening = {0};
    struct bench bench = {.ring_size = scenario->in_flight + (size_t)2 * BATCH_MAX};
    (void)snprintf(path, sizeof path, "%s/bench-store-%ld.db", folder, (long)getpid());
    bench.ring = calloc(bench.ring_size, sizeof(struct message *));
    if (!bench.ring) {
        fail("no memory");
    }
    if (store_sqlite_open(&bench.store, path, &opening) != LULL_OK) {
        fail(opening.problem);
    }
    if (store_service(bench.store, "sink", strlen("sink"), &bench.service) != LULL_OK) {
        fail(store_problem(bench.store));
    }
    bool is_met = measure(&bench, scenario);
    for (; bench.settled < bench.put; bench.settled++) {
        message_free(bench.ring[bench.settled % bench.ring_size]);
    }
    store_close(bench.store);
    free(bench.ring);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char name[520];
        (void)snprintf(name, sizeof name, "%s%s", path, endings[i]);
        (void)unlink(name);
    }
    return is_met;
}

static void run_bare(const char *folder, const struct scenario *scenario)
{
    char path[512];
    size_t size = (size_t)scenario->batch * (ENVELOPE_SIZE + BODY_SIZE);
    char *data = calloc(1, size);
    (void)snprintf(path, sizeof path, "%s/bench-store-%ld.bare", folder, (long)getpid());
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (!data || file < 0) {
        fail("the bare file cannot be made");
    }
    for (uint32_t i = 0; i < scenario->commits; i++) {
        double begin_us = rounds_now_us(CLOCK_MONOTONIC);
        if (pwrite(file, data, size, (off_t)(i % 100 * size)) != (ssize_t)size ||
            fdatasync(file) != 0) {
            fail("the bare file cannot be written");
        }
        commits_ms[i] = (rounds_now_us(CLOCK_MONOTONIC) - begin_us) / 1000;
    }
    double p99_ms = 0;
    double max_ms = 0;
    printf("  %5u x %d bytes, bare                            ", scenario->batch,
           ENVELOPE_SIZE + BODY_SIZE);
    print_commits(scenario->commits, &p99_ms, &max_ms);
    printf("\n");
    (void)close(file);
    (void)unlink(path);
    free(data);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        (void)fprintf(stderr, "usage: bench-store FOLDER\n");
        return 2;
    }
    printf("bench/store: a put and a settle of %d bytes in SQLite, each batch synced\n",
           ENVELOPE_SIZE + BODY_SIZE);
    bool is_met = true;
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++) {
        is_met &= run(argv[1], &scenarios[i]);
    }
    run_bare(argv[1], &scenarios[1]);
    printf("  from %d a batch on: at most %.0f us, p99 %.0f ms, longest %.0f ms: %s\n",
           TARGET_BATCH, CPU_MAX_US, COMMIT_P99_MAX_MS, COMMIT_MAX_MS, is_met ? "met" : "MISSED");
    return is_met ? 0 : 1;
}
