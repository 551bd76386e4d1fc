/* claim - see the header. SPDX-License-Identifier: MIT */
#include "claim.h"

#include <assert.h>

/* Of every 15 one very-low, two low, four normal, eight high, as evenly as they go. */
#define TURNS 15
static const uint8_t turns[TURNS] = {
    MESSAGE_HIGH,   MESSAGE_NORMAL, MESSAGE_HIGH,     MESSAGE_LOW,    MESSAGE_HIGH,
    MESSAGE_NORMAL, MESSAGE_HIGH,   MESSAGE_VERY_LOW, MESSAGE_HIGH,   MESSAGE_NORMAL,
    MESSAGE_HIGH,   MESSAGE_LOW,    MESSAGE_HIGH,     MESSAGE_NORMAL, MESSAGE_HIGH,
};

void claim_begin(struct claim *claim, struct service_entry *service, int64_t next_due_ms,
                 int64_t now_ms, uint32_t max)
{
    *claim = (struct claim){.stop = GATE_OPEN, .turn = service->turn};
    if (next_due_ms <= now_ms) {
        claim->allowed =
            gate_pass(&service->gate, &service->use, now_ms, max, &claim->stop, &claim->until_ms);
    }
}

enum message_urgency claim_next(struct claim *claim, const bool has_due[MESSAGE_URGENCIES])
{
    enum message_urgency urgency = (enum message_urgency)turns[claim->turn];
    claim->turn = (claim->turn + 1) % TURNS;
    if (has_due[urgency]) {
        return urgency;
    }
    for (int i = MESSAGE_URGENCIES - 1; i > 0;
         i--) { /* whose turn it is has none: the most urgent */
        if (has_due[i]) {
            return (enum message_urgency)i;
        }
    }
    assert(has_due[MESSAGE_VERY_LOW]);
    return MESSAGE_VERY_LOW;
}

void claim_end(const struct claim *claim, struct service_entry *service, struct store_lease *lease,
               int64_t next_due_ms, int64_t now_ms)
{
    assert(lease->ret_count <= claim->allowed);
    gate_return(&service->gate, &service->use, now_ms, claim->allowed - lease->ret_count);
    service->turn = claim->turn;
    bool is_gate = claim->stop != GATE_OPEN && next_due_ms <= now_ms;
    lease->ret_stop = is_gate ? claim->stop : GATE_OPEN;
    lease->ret_until_ms = is_gate ? claim->until_ms : next_due_ms;
}
