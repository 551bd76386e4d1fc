/*
 * reserve - randomness drawn ahead, and key pairs made ahead, each used once.
 *
 * OpenSSL's generator takes a microsecond to start, however little is asked of it, and a public key
 * is cheaper in a batch: so much is made at a time. What lies in store must never be used twice,
 * also not by two processes: the memory is wiped by the kernel in a forked child, which then finds
 * the store empty, and is left out of core dumps. Where the kernel cannot do that, nothing is kept
 * in store.
 */
#ifndef LULL_WEBPUSH_RESERVE_H
#define LULL_WEBPUSH_RESERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aes128gcm.h"
#include "curve.h"

struct reserve {
    struct store *store; /* in memory of its own; NULL: the kernel cannot wipe it */
    size_t store_size;
    size_t pair_max;
};

/* For so many pairs. False: no memory. clean_up is right after a failed init too. */
bool reserve_init(struct reserve *reserve, size_t pair_max);
void reserve_clean_up(struct reserve *reserve);

/* Makes up to count pairs ahead. Returns how many are there now. */
size_t reserve_prepare(struct reserve *reserve, struct curve *curve, size_t count);

/* Both take what lies in store, and wipe it there. False: no randomness to be had. */
bool reserve_take_salt(struct reserve *reserve, uint8_t ret_salt[AES128GCM_SALT_SIZE]);
bool reserve_take_pair(struct reserve *reserve, struct curve *curve, struct pair *ret_pair);

#endif
