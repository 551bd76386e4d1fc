/* A1: whatever parses is a date between the years 0 and 9999, and parses again the same. */
#include <assert.h>
#include <string.h>

#include "lull/lull.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int64_t now_s = 0;
    int64_t epoch_s = INT64_MIN;
    if (size < sizeof now_s) {
        return 0;
    }
    memcpy(&now_s, data, sizeof now_s);
    const char *text = (const char *)data + sizeof now_s;
    int error = lull_http_date_parse(text, size - sizeof now_s, now_s, &epoch_s);
    assert(error == LULL_OK ? epoch_s >= INT64_C(-62167219200) &&
                                  epoch_s <= INT64_C(255611289600) /* fifty years past 9999 */
                            : epoch_s == INT64_MIN);
    return 0;
}
