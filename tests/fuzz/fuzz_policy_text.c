/* B4: any text. What parses is valid; what does not leaves the policy alone and says where. */
#include <assert.h>
#include <string.h>

#include "lull/lull.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lull_policy policy = {.retries = 77};
    struct lull_policy_error error = {.offset = SIZE_MAX};
    if (lull_policy_parse(&policy, (const char *)data, size, &error) == LULL_OK) {
        assert(lull_policy_validate(&policy, NULL) == LULL_OK);
    } else {
        assert(policy.retries == 77);
        assert(error.offset <= size);
        assert(strlen(error.field) < sizeof error.field);
        assert(strlen(error.text) > 0 && strlen(error.text) < sizeof error.text);
    }
    return 0;
}
