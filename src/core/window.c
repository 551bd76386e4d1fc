/* window - see the header. SPDX-License-Identifier: MIT */
#include "lull/window.h"

#include <string.h>

#include "lull/error.h"
#include "saturate.h"

/* The ring has one slot more than the span needs: the one that is half out. */
#define RING (LULL_WINDOW_SLOTS + 1)

/* Rounds down below zero too, so that slots are of one width everywhere. */
static int64_t slot_number(const struct lull_window *window, int64_t mono_ms)
{
    int64_t quotient = mono_ms / window->slot_ms;
    return mono_ms % window->slot_ms < 0 ? quotient - 1 : quotient;
}

static uint32_t *ring_slot(struct lull_window *window, int64_t slot)
{
    int64_t index = slot % RING;
    return window->counts[index < 0 ? index + RING : index];
}

int lull_window_init(struct lull_window *window, int64_t span_ms, int64_t mono_ms)
{
    if (span_ms <= 0 || span_ms % LULL_WINDOW_SLOTS != 0) {
        return LULL_ERR_RANGE;
    }
    window->slot_ms = span_ms / LULL_WINDOW_SLOTS;
    lull_window_clear(window, mono_ms);
    return LULL_OK;
}

void lull_window_clear(struct lull_window *window, int64_t mono_ms)
{
    window->slot = slot_number(window, mono_ms);
    memset(window->counts, 0, sizeof window->counts);
    memset(window->totals, 0, sizeof window->totals);
}

static void advance(struct lull_window *window, int64_t mono_ms)
{
    int64_t slot = slot_number(window, mono_ms);
    if (slot <= window->slot) {
        return;
    }
    if (saturating_sub(slot, window->slot) >= RING) {
        lull_window_clear(window, mono_ms);
        return;
    }
    while (window->slot < slot) {
        window->slot++;
        uint32_t *oldest = ring_slot(window, window->slot);
        for (unsigned i = 0; i < LULL_WINDOW_COUNTERS; i++) {
            window->totals[i] -= oldest[i];
            oldest[i] = 0;
        }
    }
}

void lull_window_add(struct lull_window *window, int64_t mono_ms, unsigned counter, uint32_t count)
{
    advance(window, mono_ms);
    uint32_t *cell = &ring_slot(window, window->slot)[counter];
    uint32_t added = count < UINT32_MAX - *cell ? count : UINT32_MAX - *cell;
    *cell += added;
    window->totals[counter] += added;
}

uint64_t lull_window_over(struct lull_window *window, int64_t mono_ms, unsigned counter)
{
    advance(window, mono_ms);
    return window->totals[counter];
}

uint64_t lull_window_under(struct lull_window *window, int64_t mono_ms, unsigned counter)
{
    advance(window, mono_ms);
    return window->totals[counter] - ring_slot(window, window->slot + 1)[counter];
}
