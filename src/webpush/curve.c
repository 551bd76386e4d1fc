/* curve - see the header. SPDX-License-Identifier: MIT */
#include "curve.h"

#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/objects.h>
#include <openssl/rand.h>

bool curve_init(struct curve *curve)
{
    *curve = (struct curve){
        .group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1),
        .context = BN_CTX_secure_new(),
        .scalar = BN_secure_new(),
        .x = BN_secure_new(),
        .y = BN_secure_new(),
    };
    if (!curve->group || !curve->context || !curve->scalar || !curve->x || !curve->y) {
        return false;
    }
    BN_set_flags(curve->scalar, BN_FLG_CONSTTIME);
    curve->point = EC_POINT_new(curve->group);
    curve->product = EC_POINT_new(curve->group);
    return curve->point && curve->product;
}

void curve_clean_up(struct curve *curve)
{
    EC_POINT_free(curve->point);
    EC_POINT_clear_free(curve->product);
    BN_clear_free(curve->scalar);
    BN_clear_free(curve->x);
    BN_clear_free(curve->y);
    for (size_t i = 0; i < CURVE_BATCH; i++) {
        EC_POINT_free(curve->batch[i]);
    }
    BN_CTX_free(curve->context);
    EC_GROUP_free(curve->group);
    *curve = (struct curve){0};
}

bool curve_is_point(struct curve *curve, const uint8_t point[LULL_P256_POINT_SIZE])
{
    bool is_point = point[0] == POINT_CONVERSION_UNCOMPRESSED &&
                    EC_POINT_oct2point(curve->group, curve->point, point, LULL_P256_POINT_SIZE,
                                       curve->context) == 1;
    if (!is_point) {
        ERR_clear_error();
    }
    return is_point;
}

bool curve_load_scalar(struct curve *curve, const uint8_t private_key[LULL_P256_SCALAR_SIZE])
{
    return BN_bin2bn(private_key, LULL_P256_SCALAR_SIZE, curve->scalar) &&
           !BN_is_zero(curve->scalar) &&
           BN_cmp(curve->scalar, EC_GROUP_get0_order(curve->group)) < 0;
}

bool curve_public(struct curve *curve, const uint8_t private_key[LULL_P256_SCALAR_SIZE],
                  uint8_t ret_public[LULL_P256_POINT_SIZE])
{
    bool is_good =
        curve_load_scalar(curve, private_key) &&
        EC_POINT_mul(curve->group, curve->product, curve->scalar, NULL, NULL, curve->context) &&
        EC_POINT_point2oct(curve->group, curve->product, POINT_CONVERSION_UNCOMPRESSED, ret_public,
                           LULL_P256_POINT_SIZE, curve->context) == LULL_P256_POINT_SIZE;
    BN_clear(curve->scalar);
    return is_good;
}

bool curve_make_pair(struct curve *curve, struct pair *ret_pair)
{
    struct pair pair;
    bool is_good = false;
    /* Out of range once in 2^32 draws: then another. */
    for (int draws = 0; draws < 8 && !is_good; draws++) {
        is_good = RAND_priv_bytes(pair.private_key, sizeof pair.private_key) == 1 &&
                  curve_public(curve, pair.private_key, pair.public_key);
    }
    if (is_good) {
        *ret_pair = pair;
    }
    OPENSSL_cleanse(&pair, sizeof pair);
    return is_good;
}

bool curve_shared(struct curve *curve, const uint8_t private_key[LULL_P256_SCALAR_SIZE],
                  const uint8_t peer[LULL_P256_POINT_SIZE],
                  uint8_t ret_secret[LULL_P256_SCALAR_SIZE])
{
    bool is_good = curve_is_point(curve, peer) && curve_load_scalar(curve, private_key) &&
                   EC_POINT_mul(curve->group, curve->product, NULL, curve->point, curve->scalar,
                                curve->context) &&
                   EC_POINT_get_affine_coordinates(curve->group, curve->product, curve->x, NULL,
                                                   curve->context) &&
                   BN_bn2binpad(curve->x, ret_secret, LULL_P256_SCALAR_SIZE) > 0;
    /* BN_zero would leave the words as they are. The product is the secret, too: something public
     * goes over it. */
    BN_clear(curve->scalar);
    BN_clear(curve->x);
    (void)EC_POINT_copy(curve->product, EC_GROUP_get0_generator(curve->group));
    return is_good;
}
