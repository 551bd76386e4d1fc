/*
 * claim - which messages a lease takes, and why not more: the rule of Q5, the same in every
 * backend.
 *
 * Pure. The backend knows what is due; this says of which urgency the next one is, and how many.
 *
 *   claim_begin -> claim_next, as long as something is due and it allows more -> claim_end
 */
#ifndef LULL_STORE_CLAIM_H
#define LULL_STORE_CLAIM_H

#include "service_table.h"
#include "store.h"

struct claim {
    uint32_t allowed; /* by the gate, of max */
    enum gate_stop stop;
    int64_t until_ms;
    uint32_t turn;
};

/* next_due_ms is that of what waits. As many as may go are in flight from here on. */
void claim_begin(struct claim *claim, struct service_entry *service, int64_t next_due_ms,
                 int64_t now_ms, uint32_t max);

/* One urgency at least must have something due. */
enum message_urgency claim_next(struct claim *claim, const bool has_due[MESSAGE_URGENCIES]);

/* lease->ret_count were taken, and next_due_ms is that of what is left. Gives back what was not
 * taken, and says what there is to say. */
void claim_end(const struct claim *claim, struct service_entry *service, struct store_lease *lease,
               int64_t next_due_ms, int64_t now_ms);

#endif
