/*
 * curve - P-256: points that are checked, pairs, and the secret that two sides share.
 *
 * EC_POINT and reused contexts instead of EVP_PKEY: a message costs one multiplication of the
 * generator and one of the receiver's point, and no second check of what oct2point has checked (the
 * cofactor is 1). One curve belongs to one thread at a time.
 */
#ifndef LULL_WEBPUSH_CURVE_H
#define LULL_WEBPUSH_CURVE_H

#include <openssl/ec.h>
#include <stdbool.h>
#include <stdint.h>

#include "lull/subscription.h"

#define CURVE_BATCH 64

struct curve {
    EC_GROUP *group;
    BN_CTX *context;
    EC_POINT *point;
    EC_POINT *product;
    BIGNUM *scalar;
    BIGNUM *x;
    BIGNUM *y;
    EC_POINT *batch[CURVE_BATCH]; /* made when they are first needed */
};

struct pair {
    uint8_t private_key[LULL_P256_SCALAR_SIZE];
    uint8_t public_key[LULL_P256_POINT_SIZE];
};

/* False: no memory. clean_up is right after a failed init, and on a zeroed struct. */
bool curve_init(struct curve *curve);
void curve_clean_up(struct curve *curve);

/* An uncompressed point on the curve, and not the one at infinity. */
bool curve_is_point(struct curve *curve, const uint8_t point[LULL_P256_POINT_SIZE]);

/* Into curve->scalar, to be cleared by the caller. False: 0, or not below the order. */
bool curve_load_scalar(struct curve *curve, const uint8_t private_key[LULL_P256_SCALAR_SIZE]);

/* The public key of a private one. False: that is 0, or not below the order. */
bool curve_public(struct curve *curve, const uint8_t private_key[LULL_P256_SCALAR_SIZE],
                  uint8_t ret_public[LULL_P256_POINT_SIZE]);

bool curve_make_pair(struct curve *curve, struct pair *ret_pair);

/* The public keys of many private ones at once (curve_batch.c): cheaper by half than one by one.
 * False: one of them is 0 or not below the order, or no memory. */
bool curve_publish_all(struct curve *curve, struct pair pairs[CURVE_BATCH]);

/* The x of private_key times peer. False: one of them is none. */
bool curve_shared(struct curve *curve, const uint8_t private_key[LULL_P256_SCALAR_SIZE],
                  const uint8_t peer[LULL_P256_POINT_SIZE],
                  uint8_t ret_secret[LULL_P256_SCALAR_SIZE]);

#endif
