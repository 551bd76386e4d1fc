/* intake_hash - SHA-256 on one reused context: what stands for a target, a topic, a key. */
#ifndef LULL_SERVER_INTAKE_HASH_H
#define LULL_SERVER_INTAKE_HASH_H

#include <jansson.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "message.h"

struct intake_hash {
    EVP_MD *digest;
    EVP_MD_CTX *context;
};

/* False: no memory, here and below. clean_up is right after a failed init, and on a zeroed struct.
 */
bool intake_hash_init(struct intake_hash *hash);
void intake_hash_clean_up(struct intake_hash *hash);

/* Never 0. */
bool intake_hash_text(struct intake_hash *hash, const char *text, size_t length, uint64_t *ret_sum);

/* Of a topic among those of one target; never 0. */
bool intake_hash_topic(struct intake_hash *hash, uint64_t target, const char *topic,
                       uint64_t *ret_sum);

bool intake_hash_key(struct intake_hash *hash, const char *key, uint8_t ret_sum[MESSAGE_KEY_SIZE]);

/* Of the values, however they were written: the members of each object in the order of their names,
 * without white space. */
bool intake_hash_json(struct intake_hash *hash, const json_t *json,
                      uint8_t ret_sum[MESSAGE_KEY_SIZE]);

#endif
