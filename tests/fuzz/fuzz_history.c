/* D2: any bytes as the history of a message, and one attempt more on top. The first byte says
 * whether the check bytes are put right, so that what lies behind them is reached. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "packed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_right(uint8_t *data, size_t size)
{
    for (size_t at = 0; at + HISTORY_ATTEMPT_SIZE <= size; at += HISTORY_ATTEMPT_SIZE) {
        data[at + 1] = (uint8_t)packed_checksum(data + at + 2, HISTORY_ATTEMPT_SIZE - 2);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t longer[HISTORY_SIZE_MAX];
    static const struct attempt more = {.number = 9, .status = 503, .retry_after_ms = -1};
    struct attempt attempt;
    if (size == 0) {
        return 0;
    }
    size_t length = size - 1;
    uint8_t *old = malloc(size); /* on its own: reading over the end is seen */
    assert(old);
    memcpy(old, data + 1, length);
    if (data[0] & 1) {
        put_right(old, length);
    }
    size_t count = history_count(old, length);
    assert(count <= HISTORY_ATTEMPTS_MAX);
    for (size_t i = 0; i < count; i++) {
        assert(history_get(old, length, i, &attempt));
        assert(attempt.number > 0 && attempt.reason < LULL_REASONS && attempt.delay_ms >= 0);
    }
    assert(!history_get(old, length, length / HISTORY_ATTEMPT_SIZE, &attempt));
    size_t longer_length = history_add(old, length, &more, longer);
    size_t longer_count = history_count(longer, longer_length);
    assert(longer_count == (count < HISTORY_ATTEMPTS_MAX ? count + 1 : count));
    assert(history_get(longer, longer_length, longer_count - 1, &attempt) && attempt.number == 9);
    free(old);
    return 0;
}
