/* client - see the header. SPDX-License-Identifier: MIT */
#include "client.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BURST_MAX 24
#define DELAY_MAX_MS LULL_MINUTES(30)

static int64_t any_ttl_ms(struct lull_random *random)
{
    switch (any_of(random, 8)) {
    case 0:
        return 0;
    case 1:
        return lull_random_between(random, 1, 5000);
    case 2:
    case 3:
        return lull_random_between(random, 5000, 120000);
    case 4:
        return lull_random_between(random, 120000, LULL_HOURS(2));
    default:
        return LULL_DAYS(28);
    }
}

static struct letter *new_letter(struct world *world)
{
    if (world->letter_count == world->letter_room) {
        size_t room = world->letter_room ? 2 * world->letter_room : 1024;
        struct letter *more = realloc(world->letters, room * sizeof *more);
        if (!more) {
            trace_fail(&world->trace, "memory", "there is none");
            return NULL;
        }
        world->letters = more;
        world->letter_room = room;
        world->model.letters = more;
    }
    struct letter *letter = &world->letters[world->letter_count];
    memset(letter, 0, sizeof *letter);
    letter->number = (uint32_t)world->letter_count++;
    return letter;
}

static uint8_t any_urgency(struct lull_random *random)
{
    return (uint8_t)any_of(random, MESSAGE_URGENCIES);
}

static void draw_letter(struct world *world, struct letter *letter, int64_t now_ms)
{
    struct lull_random *random = &world->random;
    const struct plan *plan = &world->plan;
    letter->target = any_of(random, plan->target_count);
    letter->service = plan->targets[letter->target].service;
    bool is_webhook = plan->services[letter->service].is_webhook;
    letter->kind = is_webhook ? LULL_KIND_WEBHOOK : LULL_KIND_PUSH;
    letter->policy = is_webhook ? 3 : any_of(random, 3);
    letter->urgency = any_urgency(random);
    letter->topic = any_of(random, 4) == 0 ? 1 + any_of(random, 3) : 0;
    letter->ttl_ms = any_ttl_ms(random);
    letter->due_ms = now_ms;
    if (any_of(random, 10) == 0) {
        letter->due_ms += lull_random_between(random, 1, DELAY_MAX_MS);
    }
    letter->accepted_ms = letter->due_ms; /* the TTL counts from when it is to go */
    letter->has_key = any_of(random, 3) == 0;
    letter->key = any_of(random, MODEL_KEYS);
    letter->request = any_of(random, 4) == 0 ? any_of(random, 1000) : letter->key;
    letter->is_killer = chance(random, plan->killers);
    letter->is_garbled = chance(random, plan->garbled);
}

void client_send(struct world *world, struct node *node)
{
    struct lull_random *random = &world->random;
    uint32_t count = 1 + any_of(random, any_of(random, 4) == 0 ? BURST_MAX : 3);
    int64_t now_ms = node_now_ms(node);
    for (uint32_t i = 0; i < count && !world->trace.has_failed; i++) {
        struct engine_admission admission = delivery_admit(node->delivery, now_ms);
        model_on_admission(&world->model, node->index, admission, node->put_count);
        if (admission.kind != ENGINE_ADMITTED) {
            trace_event(&world->trace, "node %" PRIu32 " admits no more: %d", node->index,
                        (int)admission.kind);
            return;
        }
        struct letter *letter = new_letter(world);
        if (letter) {
            draw_letter(world, letter, now_ms);
            node_put(node, letter);
        }
    }
}

void client_repeat(struct world *world, struct node *node)
{
    uint32_t back = (uint32_t)sooner_of((int64_t)world->letter_count, 100);
    if (back == 0) {
        return;
    }
    const struct letter *old =
        &world->letters[world->letter_count - 1 - any_of(&world->random, back)];
    if (!old->has_key) {
        return;
    }
    uint32_t number = old->number;
    struct letter *letter = new_letter(world);
    if (letter) {
        uint32_t own = letter->number;
        *letter = world->letters[number];
        letter->number = own;
        letter->is_acknowledged = letter->is_given_up = false;
        letter->accepted_ms = letter->due_ms = node_now_ms(node);
        node_put(node, letter);
    }
}

void client_cancel(struct world *world, struct node *node)
{
    uint32_t back = (uint32_t)sooner_of((int64_t)world->letter_count, 40);
    if (back == 0) {
        return;
    }
    const struct letter *letter =
        &world->letters[world->letter_count - 1 - any_of(&world->random, back)];
    if (letter->is_acknowledged) {
        node_cancel(node, letter->id);
    } else if (any_of(&world->random, 10) == 0) {
        node_cancel(node, UINT64_C(1) << 62); /* never given */
    }
}

void client_on_put(struct world *world, struct letter *letter, const struct store_put *put,
                   int error)
{
    trace_event(&world->trace, "letter %" PRIu32 " was answered %d %d %" PRIu64, letter->number,
                error, error ? 0 : (int)put->ret_result, error ? 0 : put->ret_id);
    model_on_put(&world->model, letter, put, error);
    if (error == LULL_OK && put->ret_result != STORE_PUT_CONFLICT) {
        letter->is_acknowledged = true;
        letter->id = put->ret_id;
    } else {
        letter->is_given_up = true;
    }
}
