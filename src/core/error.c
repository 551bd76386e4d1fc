/* error, version - the smallest parts. SPDX-License-Identifier: MIT */
#include "lull/error.h"

#include "lull/version.h"

const char *lull_error_to_string(int error)
{
    switch (error) {
    case LULL_OK:
        return "ok";
    case LULL_ERR_RANGE:
        return "range";
    case LULL_ERR_SYNTAX:
        return "syntax";
    case LULL_ERR_UNKNOWN:
        return "unknown";
    case LULL_ERR_FULL:
        return "full";
    case LULL_ERR_MEMORY:
        return "memory";
    default:
        return "other";
    }
}

const char *lull_version(void)
{
    return LULL_VERSION;
}
