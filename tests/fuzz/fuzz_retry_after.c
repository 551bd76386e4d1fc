/* A1, A6: any value, with any Date beside it, against any clock. */
#include <assert.h>
#include <string.h>

#include "lull/lull.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Eight bytes of clock, then the value, then (behind a NUL) the Date. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lull_retry_after_clock clock = {0};
    if (size < sizeof clock.now_ms) {
        return 0;
    }
    memcpy(&clock.now_ms, data, sizeof clock.now_ms);
    const char *value = (const char *)data + sizeof clock.now_ms;
    size_t rest = size - sizeof clock.now_ms;
    const char *date = memchr(value, '\0', rest);
    size_t length = date ? (size_t)(date - value) : rest;
    if (date) {
        clock.date = date + 1;
        clock.date_length = rest - length - 1;
    }
    struct lull_retry_after wait = lull_retry_after_parse(value, length, &clock);
    assert(wait.wait_ms >= 0 && wait.wait_ms <= LULL_WAIT_MAX_MS);
    assert(wait.state == LULL_RETRY_AFTER_OK ||
           (wait.state == LULL_RETRY_AFTER_MALFORMED && wait.wait_ms == 0));
    wait = lull_retry_after_parse_ms(value, length);
    assert(wait.wait_ms >= 0 && wait.wait_ms <= LULL_WAIT_MAX_MS);
    return 0;
}
