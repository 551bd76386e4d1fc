/* G3: any text as a URL has an origin, and the same one with a path behind it. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "origin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *url = malloc(size + 1);
    assert(url);
    memcpy(url, data, size);
    url[size] = '\0';
    struct origin origin = origin_of(url);
    assert(origin_of(url).key == origin.key);
    free(url);
    return 0;
}
