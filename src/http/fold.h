/* fold - text in which the case of letters means nothing: names of hosts and headers. */
#ifndef LULL_HTTP_FOLD_H
#define LULL_HTTP_FOLD_H

#include <stddef.h>
#include <stdint.h>

#define FOLD_HASH_SEED UINT64_C(0xcbf29ce484222325)

static inline char fold_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static inline void fold_copy(char *to, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        to[i] = fold_lower(text[i]);
    }
}

/* FNV-1a, to be gone on with: the seed is FOLD_HASH_SEED, or the hash of what stands before. */
static inline uint64_t fold_hash(uint64_t seed, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        seed = (seed ^ (unsigned char)fold_lower(text[i])) * UINT64_C(0x100000001b3);
    }
    return seed;
}

#endif
