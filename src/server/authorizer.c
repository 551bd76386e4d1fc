/* authorizer - see the header. SPDX-License-Identifier: MIT */
#include "authorizer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lull/error.h"

struct authorizer {
    pthread_mutex_t lock; /* around the ring */
    struct lull_vapid_ring *ring;
};

struct authorizer *authorizer_new(struct lull_vapid_ring *ring)
{
    struct authorizer *authorizer = calloc(1, sizeof *authorizer);
    if (authorizer) {
        authorizer->ring = ring;
        (void)pthread_mutex_init(&authorizer->lock, NULL);
    }
    return authorizer;
}

void authorizer_destroy(struct authorizer *authorizer)
{
    if (authorizer) {
        (void)pthread_mutex_destroy(&authorizer->lock);
        free(authorizer);
    }
}

int authorizer_write(struct authorizer *authorizer, const char *key_id, const char *endpoint,
                     int64_t now_ms, bool is_fresh, char ret_value[AUTHORIZATION_SIZE],
                     size_t *ret_length)
{
    const char *value = NULL;
    (void)pthread_mutex_lock(&authorizer->lock);
    int error = lull_vapid_authorize(authorizer->ring, *key_id != '\0' ? key_id : NULL, endpoint,
                                     now_ms, is_fresh, &value);
    if (error == LULL_OK) {
        size_t length = strlen(value);
        error = length < AUTHORIZATION_SIZE ? LULL_OK : LULL_ERR_FULL;
        if (error == LULL_OK) {
            memcpy(ret_value, value, length + 1);
            *ret_length = length;
        }
    }
    (void)pthread_mutex_unlock(&authorizer->lock);
    return error;
}
