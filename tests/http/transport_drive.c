/*
 * transport_drive - a transport from the command line, for the Python suites and for long runs.
 *
 * Submits --count requests, --in-flight of them at once, to each --url in turn, and prints a JSON
 * line for each one that comes back and one for all of them; with --quiet only the latter.
 * --threads shares them out among threads with a transport each. It ends with 1 if a request comes
 * back twice or never, or, with --echo, if a body is not the path that was asked for.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drive.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/os.h"

#define RETRY_MS 10
#define PATIENCE_MS LULL_SECONDS(20) /* with a request that is overdue */

static int64_t started_ms;

struct runner {
    pthread_t thread;
    struct transport *transport;
    struct slot *slots;
    struct slot **idle;
    size_t idle_count;
    size_t retry_count; /* slots that wait for their retry */
    int64_t next;       /* index */
    int64_t left;       /* to come back for good */
    struct rss rss;
    struct tally tally;
};

static _Noreturn void fail(const char *why, int64_t index)
{
    (void)fprintf(stderr, "transport_drive: request %" PRId64 ": %s\n", index, why);
    exit(1);
}

/* ---- requests ---- */

static void submit(struct runner *runner, struct slot *slot, int64_t now_ms)
{
    struct response kept = slot->request.response;
    slot->request = plan.request;
    slot->request.response = kept;
    slot->request.url = slot->url;
    slot->request.userdata = slot;
    int error = transport_submit(runner->transport, &slot->request, now_ms);
    if (error != LULL_OK) {
        fail(lull_error_to_string(error), slot->index);
    }
    slot->attempts++;
    slot->is_out = true;
    slot->is_cancelled = false;
}

static void submit_next(struct runner *runner, int64_t now_ms)
{
    struct slot *slot = runner->idle[--runner->idle_count];
    const char *url = plan.urls[(size_t)runner->next % plan.url_count];
    slot->index = runner->next;
    slot->attempts = 0;
    int length = plan.is_numbered
                     ? snprintf(slot->url, sizeof slot->url, "%s/%" PRId64, url, slot->index)
                     : snprintf(slot->url, sizeof slot->url, "%s", url);
    if (length >= URL_SIZE) {
        fail("too long a URL", slot->index);
    }
    runner->next += plan.threads;
    submit(runner, slot, now_ms);
}

static bool is_echo_wrong(const struct slot *slot)
{
    const struct lull_outcome *outcome = &slot->request.outcome;
    const char *path = strchr(strstr(slot->url, "//") + 2, '/');
    return !path || outcome->body_length != strlen(path) ||
           memcmp(outcome->body, path, outcome->body_length) != 0;
}

static void count(struct tally *tally, const struct slot *slot)
{
    const struct transport_request *request = &slot->request;
    const struct lull_outcome *outcome = &request->outcome;
    tally->effects[lull_outcome_effect(outcome)]++;
    tally->protocols[request->protocol]++;
    tally->done++;
    if (outcome->kind != LULL_OUTCOME_STATUS) {
        tally->transports[outcome->transport]++;
        return;
    }
    tally->statuses[outcome->status % 1000]++;
    tally->sums[ANSWERED]++;
    tally->sums[INCOMPLETE] += !request->is_body_complete;
    tally->sums[CUT] += request->response.is_body_cut;
    tally->sums[WRONG] += plan.is_echo && is_echo_wrong(slot);
}

static void take_back(struct runner *runner, struct slot *slot, int64_t now_ms)
{
    const struct lull_outcome *outcome = &slot->request.outcome;
    if (!slot->is_out) {
        fail("came back twice", slot->index);
    }
    slot->is_out = false;
    if (plan.does_retry && outcome->kind == LULL_OUTCOME_TRANSPORT &&
        lull_outcome_effect(outcome) != LULL_EFFECT_UNKNOWN) {
        slot->retry_at_ms = now_ms + RETRY_MS;
        runner->retry_count++;
        runner->tally.sums[RETRIES]++;
        return;
    }
    count(&runner->tally, slot);
    if (!plan.is_quiet) {
        print_slot(slot, started_ms, now_ms);
    }
    if ((int64_t)runner->tally.done == plan.count / plan.threads / 10) {
        runner->rss.tenth_kb = rss_kb();
    }
    runner->idle[runner->idle_count++] = slot;
    runner->left--;
}

/* Looks at every slot: only if some wait for their retry, or all are to be cancelled. */
static void visit_slots(struct runner *runner, int64_t now_ms)
{
    for (int64_t i = 0; i < plan.in_flight; i++) {
        struct slot *slot = &runner->slots[i];
        if (slot->retry_at_ms > 0 && slot->retry_at_ms <= now_ms) {
            slot->retry_at_ms = 0;
            runner->retry_count--;
            submit(runner, slot, now_ms);
        }
        if (plan.cancel_after_ms > 0 && slot->is_out && !slot->is_cancelled &&
            now_ms >= slot->request.submitted_ms + plan.cancel_after_ms) {
            slot->is_cancelled = true;
            transport_cancel(runner->transport, &slot->request, now_ms);
        }
    }
}

static void wait_for(const struct runner *runner, int64_t wait_max_ms)
{
    int64_t due_ms = transport_wake_at_ms(runner->transport);
    int64_t now_ms = lull_os_mono_ms();
    int64_t wait_ms = due_ms <= now_ms ? 0 : due_ms - now_ms;
    struct pollfd polled = {.fd = transport_fd(runner->transport), .events = POLLIN};
    (void)poll(&polled, 1, (int)(wait_ms < wait_max_ms ? wait_ms : wait_max_ms));
}

static void *run(void *userdata)
{
    struct runner *runner = userdata;
    int64_t moved_ms = lull_os_mono_ms();
    while (runner->left > 0) {
        int64_t now_ms = lull_os_mono_ms();
        bool does_visit = runner->retry_count > 0 || plan.cancel_after_ms > 0;
        if (does_visit) {
            visit_slots(runner, now_ms);
        }
        while (runner->idle_count > 0 && runner->next < plan.count) {
            submit_next(runner, now_ms);
        }
        transport_step(runner->transport, now_ms);
        struct transport_request *request = transport_collect(runner->transport);
        if (!request) {
            if (now_ms - moved_ms > PATIENCE_MS + plan.request.timeout_ms) {
                fail("some never came back, and this one would be next", runner->next);
            }
            wait_for(runner, does_visit ? RETRY_MS / 2 : 1000);
        }
        for (; request; request = transport_collect(runner->transport)) {
            take_back(runner, request->userdata, now_ms);
            moved_ms = now_ms;
        }
    }
    runner->rss.end_kb = rss_kb();
    return NULL;
}

/* ---- the threads ---- */

static void start(struct runner *runner, int64_t number)
{
    runner->next = number;
    runner->left = (plan.count - number + plan.threads - 1) / plan.threads;
    runner->slots = calloc((size_t)plan.in_flight, sizeof *runner->slots);
    runner->idle = calloc((size_t)plan.in_flight, sizeof(struct slot *));
    int error = transport_new(&runner->transport, &plan.config);
    if (!runner->slots || !runner->idle || error != LULL_OK) {
        fail(lull_error_to_string(error), -1);
    }
    for (int64_t i = plan.in_flight; i > 0; i--) {
        runner->idle[runner->idle_count++] = &runner->slots[i - 1];
    }
    if (pthread_create(&runner->thread, NULL, run, runner) != 0) {
        fail("no thread", -1);
    }
}

static void add(void *sums, const void *counts, size_t size)
{
    for (size_t i = 0; i < size / sizeof(uint64_t); i++) {
        ((uint64_t *)sums)[i] += ((const uint64_t *)counts)[i];
    }
}

/* Adds it to what the others did; both structs are nothing but counts. */
static void finish(struct runner *runner, struct tally *sum, struct transport_stats *stats)
{
    (void)pthread_join(runner->thread, NULL);
    struct transport_stats own = transport_stats(runner->transport);
    if (transport_count(runner->transport) != 0 || transport_collect(runner->transport)) {
        fail("all came back, and yet some are under way", -1);
    }
    transport_destroy(runner->transport);
    for (int64_t i = 0; i < plan.in_flight; i++) {
        transport_request_clean_up(&runner->slots[i].request);
    }
    free(runner->slots);
    free(runner->idle);
    add(sum, &runner->tally, sizeof *sum);
    add(stats, &own, sizeof *stats);
}

int main(int argc, char **argv)
{
    static struct runner runners[THREADS_MAX];
    static struct tally sum;
    struct transport_stats stats = {0};
    read_plan(argc, argv);
    started_ms = lull_os_mono_ms();
    for (int64_t i = 0; i < plan.threads; i++) {
        start(&runners[i], i);
    }
    for (int64_t i = 0; i < plan.threads; i++) {
        finish(&runners[i], &sum, &stats);
    }
    print_summary(&sum, &stats, &runners[0].rss, started_ms);
    free(plan.body);
    if (sum.sums[WRONG] > 0 || sum.done != (uint64_t)plan.count) {
        (void)fprintf(stderr, "transport_drive: not all came back as asked\n");
        return 1;
    }
    return 0;
}
