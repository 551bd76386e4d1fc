/*
 * error - what a function of liblull answers when it refuses its input.
 *
 * 0 is success; the rest are negative. Outputs are untouched on failure.
 */
#ifndef LULL_ERROR_H
#define LULL_ERROR_H

#include "lull/api.h"

LULL_BEGIN_DECLS

enum lull_error {
    LULL_OK = 0,
    LULL_ERR_RANGE = -1,   /* a number outside what is accepted */
    LULL_ERR_SYNTAX = -2,  /* text that does not parse */
    LULL_ERR_UNKNOWN = -3, /* a name that is not in the list */
    LULL_ERR_FULL = -4,    /* a fixed table has no room for one more */
    LULL_ERR_MEMORY = -5,  /* malloc gave none */
};

/* One lower-case word for each error, never NULL. */
LULL_API const char *lull_error_to_string(int error);

LULL_END_DECLS

#endif
