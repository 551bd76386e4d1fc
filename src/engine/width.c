/* width - see the header. SPDX-License-Identifier: MIT */
#include "width.h"

void width_init(struct width *width, uint32_t start, uint32_t max)
{
    *width = (struct width){.now = start < max ? start : max, .max = max};
}

void width_on_queued(struct width *width, int64_t queued_ms, uint32_t in_flight)
{
    width->sent++;
    if (queued_ms > WIDTH_LONG_MS && width->sent >= width->now) {
        uint32_t less = width->now - width->now / 4;
        width->now = less > WIDTH_MIN ? less : width->now < WIDTH_MIN ? width->now : WIDTH_MIN;
        width->sent = 0;
    } else if (queued_ms < WIDTH_SHORT_MS && in_flight >= width->now / 2) {
        width->now += width->now < width->max; /* doubles with each round */
    }
}
