/*
 * authorizer - the Authorization of pushes, for all sender threads: one token for an origin and
 * key, reused (W2, W8), whoever asks.
 *
 *   authorizer_new with the ring -> authorizer_write ... from any thread -> authorizer_destroy
 */
#ifndef LULL_SERVER_AUTHORIZER_H
#define LULL_SERVER_AUTHORIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/vapid.h"

/* The longest value: a token of the longest subject and origin, and the key. */
#define AUTHORIZATION_SIZE 1400

struct authorizer;

/* Borrows the ring. NULL: no memory. */
struct authorizer *authorizer_new(struct lull_vapid_ring *ring);
void authorizer_destroy(struct authorizer *authorizer); /* NULL is fine */

/* As lull_vapid_authorize, and LULL_ERR_FULL where it is longer than AUTHORIZATION_SIZE. key_id "":
 * the first. now_ms is the real wall clock: the service reads `exp` by its own. */
int authorizer_write(struct authorizer *authorizer, const char *key_id, const char *endpoint,
                     int64_t now_ms, bool is_fresh, char ret_value[AUTHORIZATION_SIZE],
                     size_t *ret_length);

#endif
