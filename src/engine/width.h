/*
 * width - how many messages of one service are in flight at once, found from how long they queue
 * for a connection.
 *
 * Pure. What is leased but not sent is out of reach: it overtakes what is more urgent, it may time
 * out before it was ever sent, and a hold or a pause has to call it back. So no more are leased
 * than keep the connections busy: it grows while what is leased goes out at once, stays where there
 * is a short queue, and falls where that gets long.
 */
#ifndef LULL_ENGINE_WIDTH_H
#define LULL_ENGINE_WIDTH_H

#include <stdint.h>

#define WIDTH_MIN 4
#define WIDTH_SHORT_MS 20 /* a queue up to this is none */
#define WIDTH_LONG_MS 100

struct width {
    uint32_t now;
    uint32_t max;
    uint32_t sent; /* since it last fell: it falls once for each round of messages */
};

void width_init(struct width *width, uint32_t start, uint32_t max);

/* One was sent, or gave up to wait for it, after so long; so many were in flight. */
void width_on_queued(struct width *width, int64_t queued_ms, uint32_t in_flight);

#endif
