/*
 * visible - is a text free of what no line of HTTP may hold? Looked at eight bytes at a time, since
 * every message pays for it.
 */
#ifndef LULL_HTTP_VISIBLE_H
#define LULL_HTTP_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Each byte of a word set to the same. */
#define VISIBLE_ALL(byte) (UINT64_C(0x0101010101010101) * (byte))

/* The high bit of each byte that is below `least` (at most 0x80), or DEL. */
static inline uint64_t visible_bad_bits(uint64_t word, unsigned char least)
{
    uint64_t is_del = word ^ VISIBLE_ALL(0x7f);
    uint64_t below = (word - VISIBLE_ALL(least)) & ~word;
    uint64_t del = (is_del - VISIBLE_ALL(1)) & ~is_del;
    return (below | del) & VISIBLE_ALL(0x80);
}

/* No control character, no DEL; tabs and bytes above 126 are as the caller says. A borrow between
 * bytes can only accuse a good byte behind a bad one, so the answer for the whole is exact. */
static inline bool visible_is_clean(const char *text, size_t length, unsigned char least,
                                    bool is_ascii_only)
{
    uint64_t bad = 0;
    uint64_t all = 0;
    uint64_t word = 0;
    for (; length >= sizeof word; text += sizeof word, length -= sizeof word) {
        memcpy(&word, text, sizeof word);
        bad |= visible_bad_bits(word, least);
        all |= word;
    }
    word = VISIBLE_ALL('a');
    memcpy(&word, text, length);
    bad |= visible_bad_bits(word, least);
    all |= word;
    return bad == 0 && (!is_ascii_only || (all & VISIBLE_ALL(0x80)) == 0);
}

#endif
