/* random - see the header. SPDX-License-Identifier: MIT */
#include "lull/random.h"

static uint64_t rotate_left(uint64_t x, int bits)
{
    return (x << bits) | (x >> (64 - bits));
}

/* splitmix64: spreads any seed, 0 too, over the whole state. */
static uint64_t spread(uint64_t *seed)
{
    *seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *seed;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void lull_random_init(struct lull_random *random, uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        random->state[i] = spread(&seed);
    }
}

uint64_t lull_random_next(struct lull_random *random)
{
    uint64_t *s = random->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

int64_t lull_random_between(struct lull_random *random, int64_t min, int64_t max)
{
    uint64_t span = (uint64_t)max - (uint64_t)min + 1;
    if (span == 0) { /* all of int64_t */
        return (int64_t)lull_random_next(random);
    }
    /* The high half of a 128-bit product is the draw; the low half shows whether it fell into
     * the uneven rest, which is drawn again. */
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)lull_random_next(random) * span;
    if ((uint64_t)product < span) {
        uint64_t rest = (0 - span) % span;
        while ((uint64_t)product < rest) {
            product = (wide)lull_random_next(random) * span;
        }
    }
    return (int64_t)((uint64_t)min + (uint64_t)(product >> 64));
}
