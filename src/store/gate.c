/* gate - see the header. SPDX-License-Identifier: MIT */
#include "gate.h"

#include <stdbool.h>

#include "lull/duration.h"

/* What a bucket can be. A gate that asks for more gets that: it is no limit in practice. */
#define BURST_MAX 1000000U
#define RATE_MILLI_MAX UINT64_C(1000000000000)

/* The bucket as this version of the gate has it: what is in it stays, so that a gate that is set
 * again and again does not fill it each time. */
static void follow(const struct gate *gate, struct gate_use *use, int64_t now_ms)
{
    struct lull_bucket_config config = {
        .capacity = gate->burst < 1 ? 1 : gate->burst,
        .rate_milli_per_s = gate->rate_milli_per_s,
    };
    config.capacity = config.capacity > BURST_MAX ? BURST_MAX : config.capacity;
    if (config.rate_milli_per_s > RATE_MILLI_MAX) {
        config.rate_milli_per_s = RATE_MILLI_MAX;
    }
    bool is_first = use->bucket.config.capacity == 0;
    if (is_first) {
        (void)lull_bucket_init(&use->bucket, &config, now_ms);
    } else if (use->version != gate->version) {
        (void)lull_bucket_configure(&use->bucket, &config, now_ms);
    }
    use->version = gate->version;
}

static uint32_t room_in_flight(const struct gate *gate, const struct gate_use *use)
{
    if (gate->in_flight_max == 0) {
        return UINT32_MAX;
    }
    return gate->in_flight_max > use->in_flight ? gate->in_flight_max - use->in_flight : 0;
}

uint32_t gate_pass(const struct gate *gate, struct gate_use *use, int64_t now_ms, uint32_t wanted,
                   enum gate_stop *ret_stop, int64_t *ret_until_ms)
{
    *ret_stop = GATE_OPEN;
    *ret_until_ms = now_ms;
    if (wanted == 0) {
        return 0;
    }
    if (now_ms < gate->paused_until_ms) {
        *ret_stop = GATE_PAUSED;
        *ret_until_ms = gate->paused_until_ms;
        return 0;
    }
    uint32_t passed = wanted;
    uint32_t room = room_in_flight(gate, use);
    if (passed > room) {
        passed = room;
        *ret_stop = GATE_FULL;
        *ret_until_ms = LULL_NEVER;
    }
    if (gate->rate_milli_per_s > 0) {
        follow(gate, use, now_ms);
        uint32_t tokens = lull_bucket_available(&use->bucket, now_ms);
        bool is_short = tokens < passed;
        passed = is_short ? tokens : passed;
        (void)lull_bucket_take(&use->bucket, now_ms, passed);
        if (is_short) {
            *ret_stop = GATE_RATE;
            *ret_until_ms = now_ms + lull_bucket_wait(&use->bucket, now_ms, 1);
        }
    }
    use->in_flight += passed;
    return passed;
}

void gate_return(const struct gate *gate, struct gate_use *use, int64_t now_ms, uint32_t count)
{
    if (gate->rate_milli_per_s > 0 && count > 0) {
        lull_bucket_return(&use->bucket, now_ms, count);
    }
    gate_leave(use, count);
}

void gate_leave(struct gate_use *use, uint32_t count)
{
    use->in_flight -= count < use->in_flight ? count : use->in_flight;
}

const char *gate_stop_to_string(enum gate_stop stop)
{
    switch (stop) {
    case GATE_OPEN:
        return "open";
    case GATE_PAUSED:
        return "paused";
    case GATE_RATE:
        return "rate";
    case GATE_FULL:
        return "full";
    default:
        return "unknown";
    }
}
