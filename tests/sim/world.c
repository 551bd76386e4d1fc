/* world - see the header. SPDX-License-Identifier: MIT */
#include "world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "faulty.h"

#define START_MONO_MS 1000000
#define START_WALL_MS INT64_C(1893456000000) /* 2030 */
#define OFFSET_MAX_MS LULL_HOURS(1)
#define HEALING_MAX_MS LULL_HOURS(12)
#define STEPS_AT_ONCE_MAX 1000
#define AWAKE_MS 2        /* as late as a node of its own may wake */
#define LOOK_MS 1500      /* ... and one that has to look what others have put */
#define DISK_RETRY_MS 300 /* a disk that was full is tried again */
#define MODEL_LIVE_MAX 1024
#define NARROWEST 4 /* as few of a service as are in flight at once, if more wait */
#define PAUSE_MAX_MS 60000

/* ---- the network ---- */

void world_answer(struct world *world, const struct letter *letter, struct answer *ret_answer)
{
    if (world->is_healed) {
        answer_well(ret_answer, &world->random);
        return;
    }
    answer_draw(ret_answer, &world->plan, world->moods[letter->service],
                letter->kind == LULL_KIND_PUSH, world->mono_ms + START_WALL_MS, &world->random);
}

/* ---- what happens at random ---- */

static struct node *any_node(struct world *world)
{
    struct node *node = &world->nodes[any_of(&world->random, world->plan.node_count)];
    return node->is_up && !node->is_frozen ? node : NULL;
}

static void step_clock(struct world *world)
{
    static const int64_t sizes_ms[] = {50, 1000, 30000, LULL_MINUTES(10), OFFSET_MAX_MS};
    int64_t size_ms = sizes_ms[any_of(&world->random, 5)];
    int64_t offset_ms = world->offset_ms + lull_random_between(&world->random, -size_ms, size_ms);
    world->offset_ms = later_of(-OFFSET_MAX_MS, sooner_of(OFFSET_MAX_MS, offset_ms));
    world->wall_ms = START_WALL_MS + world->mono_ms + world->offset_ms;
    trace_event(&world->trace, "the clock is set: %" PRId64 " ms off", world->offset_ms);
}

static void bury(struct world *world, struct node *node)
{
    trace_event(&world->trace, "node %" PRIu32 " is gone", node->index);
    node_end(node);
    int64_t down_ms = any_of(&world->random, 4) == 0 ? 60000 : 3000;
    node->until_mono_ms = world->mono_ms + lull_random_between(&world->random, 0, down_ms);
}

/* What came is done before an operator's word, so that it is clear which was first. */
static void pause_service(struct world *world, struct node *node)
{
    if (world->disk_room == DISK_FULL || node->is_draining || node->dies_in > 0) {
        return;
    }
    node_answer(node);
    node_step(node);
    if (node->is_dead || node->has_work) {
        return;
    }
    uint32_t service = any_of(&world->random, world->plan.service_count);
    int64_t until_ms = 0;
    if (any_of(&world->random, 3) > 0) {
        until_ms = node_now_ms(node) + lull_random_between(&world->random, 1, PAUSE_MAX_MS);
    }
    node_pause(node, service, until_ms);
    node_step(node);
}

static void freeze(struct world *world, struct node *node)
{
    node->is_frozen = true;
    node->until_mono_ms =
        world->mono_ms + lull_random_between(&world->random, 1, 3 * world->plan.lease_ms);
    trace_event(&world->trace, "node %" PRIu32 " freezes", node->index);
}

static void change_mood(struct world *world)
{
    uint32_t service = any_of(&world->random, world->plan.service_count);
    world->moods[service] = (enum mood)any_of(&world->random, MOODS);
    trace_event(&world->trace, "service %" PRIu32 " has mood %d", service,
                (int)world->moods[service]);
}

/* One kind of trouble, or none. */
static void trouble(struct world *world, struct node *node)
{
    const struct plan *plan = &world->plan;
    struct lull_random *random = &world->random;
    if (chance(random, plan->crashes) && node->dies_in == 0) {
        node->dies_in = 1 + any_of(random, 60);
    } else if (chance(random, plan->freezes)) {
        freeze(world, node);
    } else if (chance(random, plan->clock_steps)) {
        step_clock(world);
    } else if (chance(random, world->disk_room != DISK_GOOD ? 100 : plan->full_disks)) {
        bool was_good = world->disk_room == DISK_GOOD;
        world->disk_room = was_good ? (enum disk)(1 + any_of(random, DISK_FULL)) : DISK_GOOD;
        world->disk_freed_mono_ms = world->mono_ms;
        trace_event(&world->trace, "the disk is in state %d", (int)world->disk_room);
    } else if (chance(random, plan->drains) && !node->is_draining) {
        node_drain(node);
    } else if (chance(random, plan->pauses)) {
        pause_service(world, node);
    } else if (chance(random, plan->storms)) {
        change_mood(world);
    } else if (chance(random, 10)) {
        model_compare_all(&world->model);
    }
}

static void act(struct world *world)
{
    world->steps++;
    struct node *node = any_node(world);
    if (!node) {
        return;
    }
    trouble(world, node);
    if (node->is_frozen || node->is_dead) {
        return;
    }
    if (chance(&world->random, world->plan.cancels)) {
        client_cancel(world, node);
    } else if (chance(&world->random, 100)) {
        client_repeat(world, node);
    } else if (chance(&world->random, 700)) {
        client_send(world, node);
    }
}

static int64_t any_gap_ms(struct world *world)
{
    bool is_long = any_of(&world->random, 40) == 0;
    int64_t longest_ms = is_long ? 60000 : (int64_t)world->plan.busy_gap_ms;
    return lull_random_between(&world->random, 0, longest_ms);
}

/* ---- going on ---- */

/* How full a node is, and how full the gates are. */
struct fullness {
    uint32_t in_flight;
    uint32_t own[PLAN_SERVICES_MAX];
    uint32_t leased[PLAN_SERVICES_MAX]; /* by all nodes */
};

static void measure(struct world *world, const struct node *node, struct fullness *fullness)
{
    struct model *model = &world->model;
    memset(fullness, 0, sizeof *fullness);
    for (size_t i = 0; i < model->flight_count; i++) {
        const struct record *record = model_find(model, model->flights[i].id);
        if (record && model->flights[i].node == node->index) {
            fullness->own[model_letter(model, record)->service]++;
            fullness->in_flight++;
        }
    }
    for (size_t i = 0; i < model->live_count; i++) {
        const struct record *record = &model->records[model->live[i]];
        fullness->leased[model_letter(model, record)->service] += record->fate == FATE_LEASED;
    }
}

static bool could_send(const struct world *world, const struct record *record,
                       const struct fullness *fullness, int64_t now_ms)
{
    uint32_t service = model_letter(&world->model, record)->service;
    const struct gate *gate = &world->model.services[service].gate;
    /* A queue for connections makes it narrower, but never less than this. */
    int64_t narrowest = sooner_of(world->plan.in_flight_per_service_max,
                                  sooner_of(world->plan.in_flight_start, NARROWEST));
    return record->fate == FATE_WAITING && record->due_ms <= now_ms &&
           gate->paused_until_ms <= now_ms && gate->rate_milli_per_s == 0 &&
           fullness->in_flight < world->plan.in_flight_max && fullness->own[service] < narrowest &&
           (gate->in_flight_max == 0 || fullness->leased[service] < gate->in_flight_max);
}

/* What could be sent is sent soon, by some node: none sleeps beside it (Q2, B7). */
static void check_awake(struct world *world, int64_t next_mono_ms)
{
    struct model *model = &world->model;
    int64_t slack_ms = world->plan.node_count == 1 ? AWAKE_MS : LOOK_MS;
    slack_ms += world->plan.batch_ms;
    bool is_disk_bad = world->disk_room == DISK_FULL ||
                       world->mono_ms <= world->disk_freed_mono_ms + DISK_RETRY_MS;
    bool is_possible[MODEL_LIVE_MAX] = {false};
    size_t count = model->live_count < MODEL_LIVE_MAX ? model->live_count : MODEL_LIVE_MAX;
    for (uint32_t i = 0; i < world->plan.node_count && !is_disk_bad; i++) {
        struct node *node = &world->nodes[i];
        struct fullness fullness;
        if (!node->is_up || node->is_dead || node->is_frozen || node->is_draining ||
            node_step_mono_ms(node) <= world->mono_ms + world->plan.batch_ms) {
            continue; /* or it is about to go on */
        }
        measure(world, node, &fullness);
        int64_t now_ms = node_now_ms(node);
        for (size_t j = 0; j < count; j++) {
            const struct record *record = &model->records[model->live[j]];
            is_possible[j] = is_possible[j] || could_send(world, record, &fullness, now_ms);
        }
    }
    for (size_t j = 0; j < count; j++) {
        struct record *record = &model->records[model->live[j]];
        if (!is_possible[j]) {
            record->could_go_mono_ms = 0;
            continue;
        }
        if (record->could_go_mono_ms == 0) {
            record->could_go_mono_ms = world->mono_ms;
        }
        int64_t late_ms = next_mono_ms - record->could_go_mono_ms;
        must(&world->trace, late_ms <= slack_ms, "B7",
             "%" PRIu64 " could be sent, and will not be for %" PRId64 " ms", record->id, late_ms);
    }
}

static int64_t next_of_node(const struct world *world, struct node *node)
{
    if (node->is_dead) {
        return world->mono_ms; /* to be buried */
    }
    if (!node->is_up || node->is_frozen) {
        bool is_waiting_for_disk = !node->is_up && world->disk_room == DISK_FULL;
        return is_waiting_for_disk ? LULL_NEVER : later_of(world->mono_ms, node->until_mono_ms);
    }
    return node_wake_mono_ms(node);
}

static void run_node(struct world *world, struct node *node)
{
    if ((!node->is_up || node->is_frozen) && node->until_mono_ms > world->mono_ms) {
        return;
    }
    if (!node->is_up) {
        if (world->disk_room == DISK_FULL) {
            return;
        }
        node_start(node);
    }
    if (node->is_frozen) {
        node->is_frozen = false;
        node->has_work = true;
        trace_event(&world->trace, "node %" PRIu32 " goes on", node->index);
    }
    if (!node->is_dead) {
        node_answer(node);
    }
    if (!node->is_dead && node_step_mono_ms(node) <= world->mono_ms) {
        node_step(node);
        node->steps_at_once++;
        must(&world->trace, node->steps_at_once < STEPS_AT_ONCE_MAX, "B7",
             "node %" PRIu32 " does not come to rest", node->index);
    }
    if (node->is_dead || (node->is_draining && delivery_is_idle(node->delivery))) {
        bury(world, node);
    }
}

static void advance(struct world *world, int64_t next_action_mono_ms)
{
    int64_t next_ms = next_action_mono_ms;
    for (uint32_t i = 0; i < world->plan.node_count; i++) {
        next_ms = sooner_of(next_ms, next_of_node(world, &world->nodes[i]));
    }
    if (next_ms > world->mono_ms) {
        check_awake(world, next_ms);
        for (uint32_t i = 0; i < world->plan.node_count; i++) {
            world->nodes[i].steps_at_once = 0;
        }
        world->mono_ms = next_ms;
        world->wall_ms = START_WALL_MS + world->mono_ms + world->offset_ms;
        world->trace.mono_ms = world->mono_ms;
    }
    for (uint32_t i = 0; i < world->plan.node_count && !world->trace.has_failed; i++) {
        run_node(world, &world->nodes[i]);
    }
}

static void suffer(struct world *world, uint64_t steps)
{
    int64_t next_action_mono_ms = world->mono_ms;
    while (world->steps < steps && !world->trace.has_failed) {
        advance(world, next_action_mono_ms);
        if (world->mono_ms >= next_action_mono_ms && !world->trace.has_failed) {
            act(world);
            next_action_mono_ms = world->mono_ms + any_gap_ms(world);
        }
    }
}

/* What a client has just handed over is not the model's before it is in the store. */
static bool is_at_work(const struct world *world)
{
    for (uint32_t i = 0; i < world->plan.node_count; i++) {
        const struct node *node = &world->nodes[i];
        if (node->is_up && !delivery_is_idle(node->delivery)) {
            return true;
        }
    }
    return world->model.live_count > 0;
}

/* All trouble is over: everything has to come to its end. */
static void heal(struct world *world)
{
    trace_event(&world->trace, "all trouble is over");
    world->is_healed = true;
    world->disk_room = DISK_GOOD;
    world->disk_freed_mono_ms = world->mono_ms;
    for (uint32_t i = 0; i < world->plan.node_count; i++) {
        struct node *node = &world->nodes[i];
        node->dies_in = 0;
        node->has_work = node->is_up;
        if (node->is_up) {
            faulty_set_plan(node->inner, &(struct faulty_plan){.disk_full = 0});
        }
        if (!node->is_up || node->is_frozen) {
            node->until_mono_ms = sooner_of(node->until_mono_ms, world->mono_ms);
        }
    }
    int64_t deadline_ms = world->mono_ms + HEALING_MAX_MS;
    while (!world->trace.has_failed && is_at_work(world)) {
        advance(world, deadline_ms);
        must(&world->trace, world->mono_ms < deadline_ms, "Q1",
             "%zu messages are left after all that time", world->model.live_count);
    }
    if (!world->trace.has_failed) {
        model_at_end(&world->model);
    }
}

/* ---- beginning and end ---- */

static bool begin(struct world *world, uint64_t seed, bool is_verbose)
{
    trace_init(&world->trace, is_verbose);
    lull_random_init(&world->random, seed);
    plan_draw(&world->plan, &world->random);
    world->mono_ms = START_MONO_MS;
    world->wall_ms = START_WALL_MS + world->mono_ms;
    if (store_memory_open(&world->disk) != LULL_OK ||
        !model_init(&world->model, &world->trace, &world->plan)) {
        trace_fail(&world->trace, "memory", "there is none");
        return false;
    }
    world->model.store = world->disk;
    for (uint32_t i = 0; i < world->plan.node_count; i++) {
        world->nodes[i].world = world;
        world->nodes[i].index = i;
        node_start(&world->nodes[i]);
    }
    return true;
}

static void end(struct world *world)
{
    for (uint32_t i = 0; i < world->plan.node_count; i++) {
        if (world->nodes[i].delivery) {
            node_end(&world->nodes[i]);
        }
    }
    store_close(world->disk);
    model_clean_up(&world->model);
    free(world->letters);
}

static void sum_up(const struct world *world, uint64_t seed)
{
    const struct model *model = &world->model;
    (void)printf("seed %" PRIu64 ": %" PRIu32 " nodes, %" PRIu64 " accepted (%" PRIu64
                 " repeated), %" PRIu64 " delivered, %" PRIu64 " replaced; %" PRIu64
                 " attempts, %" PRIu64 " retries, %" PRIu64 " leased, %" PRIu64
                 " of them at once, %" PRIu64 " leases lost, %" PRIu64
                 " ends of processes, %" PRIu64 " duplicates\n  dead:",
                 seed, world->plan.node_count, model->totals.accepted, model->totals.repeated,
                 model->totals.delivered, model->totals.replaced, model->totals.attempts,
                 model->totals.retries, model->totals.leased, model->totals.fast,
                 model->totals.lost, model->totals.crashes, model->totals.duplicates);
    for (int i = 0; i < LULL_REASONS; i++) {
        if (model->totals.dead[i] > 0) {
            (void)printf(" %s %" PRIu64, lull_reason_to_string((enum lull_reason)i),
                         model->totals.dead[i]);
        }
    }
    (void)putchar('\n');
}

struct world_result world_run(uint64_t seed, uint64_t steps, bool is_verbose, bool is_summed_up)
{
    struct world_result result = {.is_good = false};
    struct world *world = calloc(1, sizeof *world);
    if (!world) {
        return result;
    }
    if (begin(world, seed, is_verbose)) {
        suffer(world, steps);
        heal(world);
    }
    if (world->trace.has_failed) {
        plan_print(&world->plan);
        trace_print_failure(&world->trace, seed);
    }
    if (is_summed_up) {
        sum_up(world, seed);
    }
    result.is_good = !world->trace.has_failed;
    result.hash = world->trace.hash;
    result.events = world->trace.count;
    result.virtual_ms = world->mono_ms - START_MONO_MS;
    end(world);
    free(world);
    return result;
}
