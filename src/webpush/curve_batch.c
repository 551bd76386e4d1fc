/*
 * curve_batch - many public keys with one inversion.
 *
 * A multiplication ends in projective coordinates, and each way out of them costs an inversion,
 * half as much as the multiplication of the generator itself. For many points at once one is
 * enough, but libcrypto has only functions for that which OpenSSL 3 calls deprecated. Where they
 * are gone, the keys are made one by one.
 *
 * SPDX-License-Identifier: MIT
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "curve.h"

#include <openssl/bn.h>
#include <openssl/opensslv.h>

#if OPENSSL_VERSION_MAJOR < 4

static bool multiply_all(struct curve *curve, const struct pair pairs[CURVE_BATCH])
{
    bool is_good = true;
    for (size_t i = 0; i < CURVE_BATCH && is_good; i++) {
        EC_POINT **point = &curve->batch[i];
        *point = *point ? *point : EC_POINT_new(curve->group);
        is_good = *point && curve_load_scalar(curve, pairs[i].private_key) &&
                  EC_POINT_mul(curve->group, *point, curve->scalar, NULL, NULL, curve->context);
    }
    BN_clear(curve->scalar);
    return is_good &&
           EC_POINTs_make_affine(curve->group, CURVE_BATCH, curve->batch, curve->context);
}

/* Its third coordinate is 1 now, so the others are what is wanted. */
static bool write_point(struct curve *curve, const EC_POINT *point,
                        uint8_t ret_public[LULL_P256_POINT_SIZE])
{
    ret_public[0] = POINT_CONVERSION_UNCOMPRESSED;
    return EC_POINT_get_Jprojective_coordinates_GFp(curve->group, point, curve->x, curve->y, NULL,
                                                    curve->context) &&
           BN_bn2binpad(curve->x, ret_public + 1, 32) > 0 &&
           BN_bn2binpad(curve->y, ret_public + 33, 32) > 0;
}

bool curve_publish_all(struct curve *curve, struct pair pairs[CURVE_BATCH])
{
    bool is_good = multiply_all(curve, pairs);
    for (size_t i = 0; i < CURVE_BATCH && is_good; i++) {
        is_good = write_point(curve, curve->batch[i], pairs[i].public_key);
    }
    return is_good;
}

#else

bool curve_publish_all(struct curve *curve, struct pair pairs[CURVE_BATCH])
{
    for (size_t i = 0; i < CURVE_BATCH; i++) {
        if (!curve_public(curve, pairs[i].private_key, pairs[i].public_key)) {
            return false;
        }
    }
    return true;
}

#endif
