/* suite - what every C test file starts from: cmocka with its prerequisites, in their order. */
#ifndef LULL_TESTS_SUITE_H
#define LULL_TESTS_SUITE_H

/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
/* clang-format on */

#include "lull/lull.h"

/* Runs what uses the seed, and says it, so that a failure can be repeated:
 * LULL_TEST_SEED=... build-test/tests/test_x */
static inline uint64_t test_seed(const char *name)
{
    const char *given = getenv("LULL_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 0) : lull_os_seed();
    printf("%s: LULL_TEST_SEED=%llu\n", name, (unsigned long long)seed);
    return seed;
}

#endif
