/* plan - see the header. SPDX-License-Identifier: MIT */
#include "plan.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const struct plan_service services[PLAN_SERVICES_MAX] = {
    {.name = "fcm", .vendor = LULL_VENDOR_FCM},
    {.name = "mozilla", .vendor = LULL_VENDOR_MOZILLA},
    {.name = "push.example.org", .vendor = LULL_VENDOR_OTHER},
    {.name = "hooks.example.com", .vendor = LULL_VENDOR_OTHER, .is_webhook = true},
    {.name = "apple", .vendor = LULL_VENDOR_APPLE},
    {.name = "hooks.example.net", .vendor = LULL_VENDOR_OTHER, .is_webhook = true},
};

static const char *const policy_texts[PLAN_POLICIES] = {
    "delivery",
    "urgent",
    "bulk cap=2m retries=4",
    "webhook cap=10m retries=6",
};

/* Half of the worlds do not know it. */
static uint32_t trouble(struct lull_random *random, uint32_t many)
{
    return any_of(random, 2) ? 0 : 1 + any_of(random, many);
}

static void draw_gate(struct gate *gate, struct lull_random *random)
{
    if (any_of(random, 4) == 0) {
        gate->rate_milli_per_s = (uint64_t)lull_random_between(random, 2000, 50000);
        gate->burst = 1 + any_of(random, 20);
    }
    if (any_of(random, 3) == 0) {
        gate->in_flight_max = 1 + any_of(random, 8);
    }
}

static void draw_places(struct plan *plan, struct lull_random *random)
{
    plan->service_count = 2 + any_of(random, PLAN_SERVICES_MAX - 1);
    uint32_t first = any_of(random, PLAN_SERVICES_MAX);
    for (uint32_t i = 0; i < plan->service_count; i++) {
        plan->services[i] = services[(first + i) % PLAN_SERVICES_MAX];
        draw_gate(&plan->services[i].gate, random);
    }
    plan->target_count = 4 + any_of(random, PLAN_TARGETS_MAX - 3);
    for (uint32_t i = 0; i < plan->target_count; i++) {
        plan->targets[i].hash = lull_random_next(random) | 1;
        plan->targets[i].service = any_of(random, plan->service_count);
    }
}

static void draw_limits(struct plan *plan, struct lull_random *random)
{
    plan->in_flight_max = any_of(random, 2) ? 2 + any_of(random, 8) : 10 + any_of(random, 60);
    plan->in_flight_per_service_max = 1 + any_of(random, plan->in_flight_max);
    plan->in_flight_start = 1 + any_of(random, plan->in_flight_per_service_max + 4);
    plan->lease_max = 1 + any_of(random, 24);
    plan->timeout_ms = lull_random_between(random, 5000, 30000);
    plan->lease_ms = plan->timeout_ms + lull_random_between(random, 5000, 30000);
    plan->poison_after = 2 + any_of(random, 4);
    plan->waiting_soft_max = 10 + any_of(random, 300);
    plan->waiting_hard_max = plan->waiting_soft_max + any_of(random, 50);
    plan->key_ms = lull_random_between(random, 60000, 3600000);
}

static void draw_trouble(struct plan *plan, struct lull_random *random)
{
    plan->node_count = any_of(random, 5) < 2 ? 2 : 1;
    plan->crashes = trouble(random, 30);
    plan->freezes = trouble(random, 10);
    plan->clock_steps = trouble(random, 20);
    plan->full_disks = trouble(random, 15);
    plan->drains = trouble(random, 8);
    plan->pauses = trouble(random, 20);
    plan->cancels = trouble(random, 80);
    plan->killers = plan->crashes ? trouble(random, 20) : 0;
    plan->garbled = trouble(random, 20);
    plan->queues = trouble(random, 400);
    plan->returns = trouble(random, 40);
    plan->store_faults.disk_full = trouble(random, 20000);
    plan->store_faults.disk_full_length = 1 + any_of(random, 4);
    plan->store_faults.broken = trouble(random, 3000);
    plan->storms = 5 + any_of(random, 60);
    plan->batch_ms = trouble(random, 20);
    plan->busy_gap_ms = 1U << any_of(random, 12);
}

void plan_draw(struct plan *plan, struct lull_random *random)
{
    memset(plan, 0, sizeof *plan);
    draw_places(plan, random);
    draw_limits(plan, random);
    draw_trouble(plan, random);
    for (uint32_t i = 0; i < PLAN_POLICIES; i++) {
        (void)lull_policy_parse(&plan->policies[i], policy_texts[i], strlen(policy_texts[i]), NULL);
    }
}

void plan_print(const struct plan *plan)
{
    (void)printf(
        "nodes %" PRIu32 ", in flight %" PRIu32 " (of a service %" PRIu32 "), leases of %" PRIu32
        " for %" PRId64 " ms, poison after %" PRIu32 ", waiting %" PRIu64 "/%" PRIu64 "\n",
        plan->node_count, plan->in_flight_max, plan->in_flight_per_service_max, plan->lease_max,
        plan->lease_ms, plan->poison_after, plan->waiting_soft_max, plan->waiting_hard_max);
    for (uint32_t i = 0; i < plan->service_count; i++) {
        (void)printf("service %" PRIu32 " %s: %" PRIu64 "/1000 a second, burst %" PRIu32
                     ", in flight %" PRIu32 "\n",
                     i, plan->services[i].name, plan->services[i].gate.rate_milli_per_s,
                     plan->services[i].gate.burst, plan->services[i].gate.in_flight_max);
    }
}
