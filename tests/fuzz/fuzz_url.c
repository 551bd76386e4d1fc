/* P1: any URL. The host lies inside of it and is not empty. */
#include <assert.h>

#include "lull/lull.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *url = (const char *)data;
    const char *host = NULL;
    size_t length = 0;
    if (lull_url_host(url, size, &host, &length) == LULL_OK) {
        assert(length > 0 && host > url && host + length <= url + size);
        assert((unsigned)lull_vendor_from_host(host, length) < LULL_VENDORS);
    }
    return 0;
}
