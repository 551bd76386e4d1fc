/* intake_hash - see the header. SPDX-License-Identifier: MIT */
#include "intake_hash.h"

#include <string.h>

#include "packed.h"

#define SUM_SIZE 32

bool intake_hash_init(struct intake_hash *hash)
{
    hash->digest = EVP_MD_fetch(NULL, "SHA256", NULL);
    hash->context = EVP_MD_CTX_new();
    return hash->digest && hash->context;
}

void intake_hash_clean_up(struct intake_hash *hash)
{
    EVP_MD_CTX_free(hash->context);
    EVP_MD_free(hash->digest);
    *hash = (struct intake_hash){0};
}

static bool begin(struct intake_hash *hash)
{
    return EVP_DigestInit_ex2(hash->context, hash->digest, NULL) == 1;
}

static bool add(struct intake_hash *hash, const void *data, size_t length)
{
    return EVP_DigestUpdate(hash->context, data, length) == 1;
}

static bool finish(struct intake_hash *hash, uint8_t *ret_sum, size_t size)
{
    uint8_t sum[SUM_SIZE];
    if (EVP_DigestFinal_ex(hash->context, sum, NULL) != 1) {
        return false;
    }
    memcpy(ret_sum, sum, size);
    return true;
}

/* 0 stands for "none" in a message. */
static bool finish_number(struct intake_hash *hash, uint64_t *ret_sum)
{
    uint8_t sum[sizeof *ret_sum];
    if (!finish(hash, sum, sizeof sum)) {
        return false;
    }
    uint64_t number = packed_read(sum, sizeof sum);
    *ret_sum = number ? number : 1;
    return true;
}

bool intake_hash_text(struct intake_hash *hash, const char *text, size_t length, uint64_t *ret_sum)
{
    return begin(hash) && add(hash, text, length) && finish_number(hash, ret_sum);
}

bool intake_hash_topic(struct intake_hash *hash, uint64_t target, const char *topic,
                       uint64_t *ret_sum)
{
    uint8_t bytes[sizeof target];
    (void)packed_write(bytes, target, sizeof bytes);
    return begin(hash) && add(hash, bytes, sizeof bytes) && add(hash, topic, strlen(topic)) &&
           finish_number(hash, ret_sum);
}

bool intake_hash_key(struct intake_hash *hash, const char *key, uint8_t ret_sum[MESSAGE_KEY_SIZE])
{
    return begin(hash) && add(hash, key, strlen(key)) && finish(hash, ret_sum, MESSAGE_KEY_SIZE);
}

static int add_piece(const char *piece, size_t length, void *userdata)
{
    return add(userdata, piece, length) ? 0 : -1;
}

bool intake_hash_json(struct intake_hash *hash, const json_t *json,
                      uint8_t ret_sum[MESSAGE_KEY_SIZE])
{
    return begin(hash) &&
           json_dump_callback(json, add_piece, hash, JSON_COMPACT | JSON_SORT_KEYS) == 0 &&
           finish(hash, ret_sum, MESSAGE_KEY_SIZE);
}
