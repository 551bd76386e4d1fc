/*
 * random - the one source of chance in Lull (B6).
 *
 * xoshiro256** seeded through splitmix64. Not for secrets. The caller owns the struct: one per
 * thread. A test seeds it with a number; a program with lull_os_seed() (lull/os.h), in each
 * process, so after a fork and not before it.
 */
#ifndef LULL_RANDOM_H
#define LULL_RANDOM_H

#include <stdint.h>

#include "lull/api.h"

LULL_BEGIN_DECLS

struct lull_random {
    uint64_t state[4];
};

LULL_API void lull_random_init(struct lull_random *random, uint64_t seed);

LULL_API uint64_t lull_random_next(struct lull_random *random);

/* Uniform on [min, max], both ends included, without bias. Needs min <= max. */
LULL_API int64_t lull_random_between(struct lull_random *random, int64_t min, int64_t max);

LULL_END_DECLS

#endif
