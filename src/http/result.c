/* result - see the header. SPDX-License-Identifier: MIT */
#include "result.h"

#include <stdlib.h>
#include <string.h>

#define ATTEMPTS_FIRST 4

/* As we allocate it: most have few attempts, and these need no memory of their own. */
struct owned_result {
    struct lull_result public_;
    size_t attempts_size;
    struct lull_attempt first[ATTEMPTS_FIRST];
};

struct lull_result *result_new(void)
{
    struct owned_result *owned = malloc(sizeof *owned);
    if (!owned) {
        return NULL;
    }
    owned->public_ = (struct lull_result){.attempts = owned->first};
    owned->attempts_size = ATTEMPTS_FIRST;
    return &owned->public_;
}

void lull_result_free(struct lull_result *result)
{
    if (result) {
        struct owned_result *owned = (struct owned_result *)result; /* its first member */
        free(result->headers);                                      /* with their text */
        free(result->body);
        if (result->attempts != owned->first) {
            free(result->attempts);
        }
        free(owned);
    }
}

struct lull_attempt *result_add_attempt(struct lull_result *result)
{
    struct owned_result *owned = (struct owned_result *)result;
    if (result->attempt_count == owned->attempts_size) {
        size_t size = owned->attempts_size * 2;
        bool is_first = result->attempts == owned->first;
        struct lull_attempt *moved =
            realloc(is_first ? NULL : result->attempts, size * sizeof *moved);
        if (!moved) {
            return NULL;
        }
        if (is_first) {
            memcpy(moved, owned->first, sizeof owned->first);
        }
        result->attempts = moved;
        owned->attempts_size = size;
    }
    struct lull_attempt *attempt = &result->attempts[result->attempt_count++];
    *attempt = (struct lull_attempt){0};
    return attempt;
}
