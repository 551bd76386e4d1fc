/*
 * packed - what is kept on disk, byte by byte: little-endian on every machine, with a check of
 * whether it is still what was written.
 */
#ifndef LULL_SERVER_PACKED_H
#define LULL_SERVER_PACKED_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The lowest `size` bytes of value. Returns where to go on. */
static inline uint8_t *packed_write(uint8_t *at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
    return at + size;
}

static inline uint64_t packed_read(const uint8_t *at, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; i++) {
        value |= (uint64_t)at[i] << (8 * i);
    }
    return value;
}

/* Finds damage, not malice: of all other texts of this length, one in 2^32 has the same. Eight
 * bytes at a time, since every message pays for it. */
static inline uint32_t packed_checksum(const uint8_t *data, size_t length)
{
    uint64_t sum = UINT64_C(0x9e3779b97f4a7c15) ^ length;
    while (length > 0) {
        /* A size that is known is one instruction. */
        uint64_t word = length >= 8 ? packed_read(data, 8) : packed_read(data, length);
        size_t size = length >= 8 ? 8 : length;
        sum = (sum ^ word) * UINT64_C(0xff51afd7ed558ccd);
        sum ^= sum >> 32;
        data += size;
        length -= size;
    }
    return (uint32_t)sum;
}

#endif
