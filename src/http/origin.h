/* origin - which destination a URL belongs to. */
#ifndef LULL_HTTP_ORIGIN_H
#define LULL_HTTP_ORIGIN_H

#include <stdint.h>

#include "lull/vendor.h"

struct origin {
    uint64_t key; /* hash of scheme, host and port; the same for all spellings of them */
    enum lull_vendor vendor;
};

/* Never fails: a URL that curl will refuse has some key, too. */
struct origin origin_of(const char *url);

#endif
