/*
 * pace - how well does a sender find a rate limit that nobody told it? On virtual time.
 *
 * A server takes so many requests a second, with a burst of 50, and refuses the rest with 429. A
 * sender has 20,000 messages. Each way over the network takes 10 to 40 ms. A refused message comes
 * back when lull_decide says so, for every controller alike. Printed are the time until the last
 * message is delivered over the best possible one, and the refusals per delivered message: the mean
 * over the seeds, and the worst.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lull/lull.h"
#include "pace_controllers.h"

#define MESSAGES 20000
#define BURST 50.0
#define SEEDS 20
#define TIME_MAX_MS LULL_HOURS(12)

/* The limit from each instant on. */
struct limit_step {
    int64_t from_ms;
    double per_s;
};

struct scenario {
    const char *name;
    struct limit_step steps[3];
    int step_count;
    bool has_retry_after;
    double drain_target; /* what Lull has to reach */
    double refused_target;
};

static const struct scenario scenarios[] = {
    {"200/s, Retry-After: 1", {{0, 200}}, 1, true, 1.05, 0.01},
    {"200/s, no Retry-After", {{0, 200}}, 1, false, 1.05, 0.01},
    {"200 > 50 > 400/s, Retry-After: 1",
     {{0, 200}, {30000, 50}, {60000, 400}},
     3,
     true,
     1.15,
     0.03},
    {"200 > 50 > 400/s, no Retry-After",
     {{0, 200}, {30000, 50}, {60000, 400}},
     3,
     false,
     1.15,
     0.03},
};

enum event_kind { ARRIVAL, ANSWER, DUE, WAKE };

struct event {
    int64_t at_ms;
    uint64_t order; /* ties in the order of making */
    enum event_kind kind;
    uint32_t message;
    bool is_throttled;
};

/* A message's life in the simulation. */
struct message {
    uint32_t attempt;
    int64_t sent_ms;
    struct lull_service_permit permit;
};

struct world {
    const struct scenario *scenario;
    const struct pace_controller *controller;
    struct lull_random random;
    struct lull_policy policy;
    struct event *heap;
    size_t heap_count;
    uint64_t order;
    struct message *messages;
    uint32_t *ready; /* ring of message numbers */
    size_t ready_head;
    size_t ready_count;
    double tokens;
    int64_t tokens_ms;
    uint64_t delivered;
    uint64_t refused;
    int64_t wake_ms;
    int64_t now_ms;
};

static bool is_before(const struct event *a, const struct event *b)
{
    return a->at_ms != b->at_ms ? a->at_ms < b->at_ms : a->order < b->order;
}

static void push(struct world *world, struct event event)
{
    event.order = world->order++;
    size_t i = world->heap_count++;
    while (i > 0 && is_before(&event, &world->heap[(i - 1) / 2])) {
        world->heap[i] = world->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    world->heap[i] = event;
}

static struct event pop(struct world *world)
{
    struct event top = world->heap[0];
    struct event last = world->heap[--world->heap_count];
    size_t i = 0;
    while (2 * i + 1 < world->heap_count) {
        size_t child = 2 * i + 1;
        if (child + 1 < world->heap_count &&
            is_before(&world->heap[child + 1], &world->heap[child])) {
            child++;
        }
        if (!is_before(&world->heap[child], &last)) {
            break;
        }
        world->heap[i] = world->heap[child];
        i = child;
    }
    world->heap[i] = last;
    return top;
}

static void make_ready(struct world *world, uint32_t message)
{
    world->ready[(world->ready_head + world->ready_count++) % MESSAGES] = message;
}

static double limit_at(const struct scenario *scenario, int64_t at_ms)
{
    double limit = 0;
    for (int i = 0; i < scenario->step_count; i++) {
        if (at_ms >= scenario->steps[i].from_ms) {
            limit = scenario->steps[i].per_s;
        }
    }
    return limit;
}

/* The best that anybody could do: the burst at once, and then every token as it comes. */
static double ideal_ms(const struct scenario *scenario)
{
    double given = BURST;
    int64_t at_ms = 0;
    while (given < MESSAGES) {
        given += limit_at(scenario, at_ms) / 1000;
        at_ms++;
    }
    return (double)at_ms;
}

static bool server_takes(struct world *world)
{
    for (; world->tokens_ms < world->now_ms; world->tokens_ms++) {
        double more = world->tokens + limit_at(world->scenario, world->tokens_ms) / 1000;
        world->tokens = more < BURST ? more : BURST;
    }
    if (world->tokens < 1.0) {
        return false;
    }
    world->tokens -= 1.0;
    return true;
}

static int64_t network_ms(struct world *world)
{
    return lull_random_between(&world->random, 10, 40);
}

static void send_all(struct world *world)
{
    while (world->ready_count > 0) {
        struct lull_service_permit permit = {0};
        int64_t wait_ms = world->controller->ask(world->now_ms, world->ready_count, &permit);
        if (wait_ms > 0) {
            if (world->wake_ms <= world->now_ms || world->wake_ms > world->now_ms + wait_ms) {
                world->wake_ms = world->now_ms + wait_ms;
                push(world, (struct event){.at_ms = world->wake_ms, .kind = WAKE});
            }
            return;
        }
        uint32_t number = world->ready[world->ready_head];
        world->ready_head = (world->ready_head + 1) % MESSAGES;
        world->ready_count--;
        struct message *message = &world->messages[number];
        message->attempt++;
        message->sent_ms = world->now_ms;
        message->permit = permit;
        push(world, (struct event){.at_ms = world->now_ms + network_ms(world),
                                   .kind = ARRIVAL,
                                   .message = number});
    }
}

/* A refused message waits for as long as Lull's decision says. */
static void wait_for_retry(struct world *world, uint32_t number, bool is_sender_throttled)
{
    static const struct lull_header header = {"Retry-After", 11, "1", 1};
    struct lull_outcome outcome = {.kind = LULL_OUTCOME_STATUS, .status = 429};
    struct lull_facts facts;
    struct lull_verdict verdict;
    lull_facts_init(&facts, &world->policy, 0);
    facts.attempt = world->messages[number].attempt;
    facts.is_sender_throttled = is_sender_throttled;
    if (world->scenario->has_retry_after) {
        outcome.headers = &header;
        outcome.header_count = 1;
    }
    if (lull_decide(&world->policy, &facts, &outcome, world->now_ms, &world->random, &verdict,
                    NULL) != LULL_OK ||
        verdict.kind != LULL_VERDICT_RETRY) {
        fprintf(stderr, "pace: a message was given up\n");
        exit(1);
    }
    push(world,
         (struct event){.at_ms = world->now_ms + verdict.delay_ms, .kind = DUE, .message = number});
}

static void handle(struct world *world, const struct event *event)
{
    struct message *message = &world->messages[event->message];
    switch (event->kind) {
    case ARRIVAL:
        push(world, (struct event){.at_ms = world->now_ms + network_ms(world),
                                   .kind = ANSWER,
                                   .message = event->message,
                                   .is_throttled = !server_takes(world)});
        break;
    case ANSWER: {
        struct pace_answer answer = {
            .sent_ms = message->sent_ms,
            .permit = message->permit,
            .subscription = event->message + 1,
            .is_throttled = event->is_throttled,
            .retry_after_ms = world->scenario->has_retry_after ? 1000 : 0,
        };
        bool is_sender = world->controller->answer(world->now_ms, &answer);
        if (event->is_throttled) {
            world->refused++;
            wait_for_retry(world, event->message, is_sender);
        } else {
            world->delivered++;
        }
        break;
    }
    case DUE:
        make_ready(world, event->message);
        break;
    case WAKE:
    default:
        break;
    }
}

static void run(struct world *world, uint64_t seed)
{
    lull_random_init(&world->random, seed);
    world->heap_count = 0;
    world->order = 0;
    world->ready_head = 0;
    world->ready_count = 0;
    world->tokens = BURST;
    world->tokens_ms = 0;
    world->delivered = 0;
    world->refused = 0;
    world->wake_ms = 0;
    world->now_ms = 0;
    memset(world->messages, 0, MESSAGES * sizeof *world->messages);
    for (uint32_t i = 0; i < MESSAGES; i++) {
        make_ready(world, i);
    }
    world->controller->start(seed);
    send_all(world);
    while (world->delivered < MESSAGES && world->heap_count > 0 && world->now_ms < TIME_MAX_MS) {
        struct event event = pop(world);
        world->now_ms = event.at_ms;
        handle(world, &event);
        send_all(world);
    }
}

struct figures {
    double drain_mean;
    double drain_worst;
    double refused_mean;
    double refused_worst;
};

static struct figures measure(struct world *world)
{
    struct figures figures = {0};
    double ideal = ideal_ms(world->scenario);
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        run(world, seed);
        double drain = (double)world->now_ms / ideal;
        double refused = (double)world->refused / (double)world->delivered;
        figures.drain_mean += drain / SEEDS;
        figures.refused_mean += refused / SEEDS;
        figures.drain_worst = drain > figures.drain_worst ? drain : figures.drain_worst;
        figures.refused_worst = refused > figures.refused_worst ? refused : figures.refused_worst;
    }
    return figures;
}

int main(void)
{
    static struct event heap[4 * MESSAGES];
    static struct message messages[MESSAGES];
    static uint32_t ready[MESSAGES];
    struct world world = {.heap = heap, .messages = messages, .ready = ready};
    int missed = 0;
    (void)lull_policy_parse(&world.policy, "bulk retries=1000", 17, NULL);
    printf("bench/pace: %d messages, burst %.0f, %d seeds; drain time / ideal, refusals per "
           "delivered (worst seed in brackets)\n",
           MESSAGES, BURST, SEEDS);
    for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
        world.scenario = &scenarios[i];
        printf("\n%s, ideal %.1f s\n", scenarios[i].name, ideal_ms(&scenarios[i]) / 1000);
        for (int j = 0; j < pace_controller_count; j++) {
            world.controller = &pace_controllers[j];
            struct figures figures = measure(&world);
            printf("  %-16s %7.3f (%.3f) x ideal   %7.3f %% (%.3f %%) refused\n",
                   pace_controllers[j].name, figures.drain_mean, figures.drain_worst,
                   figures.refused_mean * 100, figures.refused_worst * 100);
            bool is_last = j == pace_controller_count - 1;
            if (is_last && (figures.drain_worst > scenarios[i].drain_target ||
                            figures.refused_worst > scenarios[i].refused_target)) {
                printf("  MISSED: target %.2f x ideal, %.0f %% refused\n",
                       scenarios[i].drain_target, scenarios[i].refused_target * 100);
                missed++;
            }
        }
    }
    return missed > 0;
}
