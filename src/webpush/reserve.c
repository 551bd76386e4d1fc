/* reserve - see the header. SPDX-License-Identifier: MIT */
#include "reserve.h"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <string.h>
#include <sys/mman.h>

#define SALTS_MAX 64 /* drawn at once */

/* All zero is an empty store: what a forked child sees. */
struct store {
    size_t salts_left;
    size_t fresh_left;
    size_t pair_count;
    uint8_t salts[SALTS_MAX][AES128GCM_SALT_SIZE];
    struct pair fresh[CURVE_BATCH]; /* of the last batch */
    struct pair pairs[];            /* made ahead for whoever asked for that */
};

bool reserve_init(struct reserve *reserve, size_t pair_max)
{
    size_t size = sizeof(struct store) + pair_max * sizeof(struct pair);
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    if (madvise(memory, size, MADV_WIPEONFORK) != 0) {
        (void)munmap(memory, size);
        return true; /* without a store */
    }
    (void)madvise(memory, size, MADV_DONTDUMP);
    *reserve = (struct reserve){memory, size, pair_max};
    return true;
}

void reserve_clean_up(struct reserve *reserve)
{
    if (reserve->store) {
        OPENSSL_cleanse(reserve->store, reserve->store_size);
        (void)munmap(reserve->store, reserve->store_size);
    }
    *reserve = (struct reserve){0};
}

bool reserve_take_salt(struct reserve *reserve, uint8_t ret_salt[AES128GCM_SALT_SIZE])
{
    struct store *store = reserve->store;
    if (!store) {
        return RAND_bytes(ret_salt, AES128GCM_SALT_SIZE) == 1;
    }
    if (store->salts_left == 0) {
        if (RAND_bytes(store->salts[0], sizeof store->salts) != 1) {
            return false;
        }
        store->salts_left = SALTS_MAX;
    }
    uint8_t *salt = store->salts[--store->salts_left];
    memcpy(ret_salt, salt, AES128GCM_SALT_SIZE);
    OPENSSL_cleanse(salt, AES128GCM_SALT_SIZE);
    return true;
}

/* A batch of new pairs. */
static bool make_pairs(struct curve *curve, struct pair pairs[CURVE_BATCH])
{
    uint8_t drawn[CURVE_BATCH][LULL_P256_SCALAR_SIZE];
    bool is_good = false;
    /* One of them is out of range once in 2^26 draws: then all are drawn again. */
    for (int draws = 0; draws < 8 && !is_good; draws++) {
        is_good = RAND_priv_bytes(drawn[0], sizeof drawn) == 1;
        for (size_t i = 0; i < CURVE_BATCH; i++) {
            memcpy(pairs[i].private_key, drawn[i], sizeof drawn[i]);
        }
        is_good = is_good && curve_publish_all(curve, pairs);
    }
    OPENSSL_cleanse(drawn, sizeof drawn);
    return is_good;
}

static void move_pair(struct pair *from, struct pair *ret_pair)
{
    *ret_pair = *from;
    OPENSSL_cleanse(from, sizeof *from);
}

/* One of a batch that was just made, for that is cheaper; or by itself, where nothing is kept. */
static bool make_pair(struct reserve *reserve, struct curve *curve, struct pair *ret_pair)
{
    struct store *store = reserve->store;
    if (!store) {
        return curve_make_pair(curve, ret_pair);
    }
    if (store->fresh_left == 0) {
        if (!make_pairs(curve, store->fresh)) {
            return false;
        }
        store->fresh_left = CURVE_BATCH;
    }
    move_pair(&store->fresh[--store->fresh_left], ret_pair);
    return true;
}

size_t reserve_prepare(struct reserve *reserve, struct curve *curve, size_t count)
{
    struct store *store = reserve->store;
    if (!store) {
        return 0;
    }
    while (count > 0 && store->pair_count < reserve->pair_max &&
           make_pair(reserve, curve, &store->pairs[store->pair_count])) {
        store->pair_count++;
        count--;
    }
    return store->pair_count;
}

bool reserve_take_pair(struct reserve *reserve, struct curve *curve, struct pair *ret_pair)
{
    struct store *store = reserve->store;
    if (!store || store->pair_count == 0) {
        return make_pair(reserve, curve, ret_pair);
    }
    move_pair(&store->pairs[--store->pair_count], ret_pair);
    return true;
}
