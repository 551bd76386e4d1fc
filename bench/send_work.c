/* send_work - see the header. SPDX-License-Identifier: MIT */
#include "send_work.h"

#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#include "lull/error.h"
#include "lull/os.h"

#define SUBSCRIPTIONS 1000
#define TEXT_SIZE (WORK_BODY_SIZE - LULL_PUSH_OVERHEAD)
#define PATH_BEGIN "/fcm/send/"
#define NUMBER_LENGTH 8 /* of what makes a path distinct, after that */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static bool authorize(struct work *work, struct push *push)
{
    const char *header = NULL;
    if (lull_vapid_authorize(work->ring, NULL, push->url, lull_os_now_ms(), false, &header) !=
        LULL_OK) {
        return false;
    }
    push->authorization_length = strlen(header);
    if (push->authorization_length >= sizeof push->authorization) {
        return false;
    }
    memcpy(push->authorization, header, push->authorization_length + 1);
    return true;
}

bool work_fill(struct work *work, struct push *push)
{
    char *number = push->url + work->origin_length + strlen(PATH_BEGIN);
    uint64_t left = ++work->count;
    for (int i = 0; i < NUMBER_LENGTH; i++, left >>= 6) {
        number[i] = digits[left % 64];
    }
    return true;
}

bool work_encrypt(struct work *work, struct push *push)
{
    static const uint8_t text[TEXT_SIZE] = "{\"title\":\"A parcel is on its way\"}";
    const struct subscription *to = &work->subscriptions[work->count % SUBSCRIPTIONS];
    size_t length = 0;
    return work_fill(work, push) &&
           lull_push_encrypt(work->encryptor, to->p256dh, to->auth, text, sizeof text, 0,
                             push->body, &length) == LULL_OK &&
           length == WORK_BODY_SIZE && authorize(work, push);
}

/* An endpoint as FCM has them: the identity of an app, a colon, and a token. */
static bool begin_push(struct work *work, struct push *push)
{
    char *path = push->url + work->origin_length;
    uint8_t random[WORK_PATH_LENGTH];
    if (RAND_bytes(random, sizeof random) != 1) {
        return false;
    }
    memcpy(push->url, work->origin, work->origin_length);
    for (size_t i = 0; i < WORK_PATH_LENGTH; i++) {
        path[i] = digits[random[i] % 64];
    }
    path[WORK_PATH_LENGTH] = '\0';
    memcpy(path, PATH_BEGIN, strlen(PATH_BEGIN));
    memcpy(path + 32, ":APA91b", strlen(":APA91b"));
    return work_encrypt(work, push);
}

static bool subscribe(struct work *work, struct subscription *subscription)
{
    uint8_t private_key[LULL_P256_SCALAR_SIZE];
    return lull_push_keypair(work->encryptor, private_key, subscription->p256dh) == LULL_OK &&
           RAND_bytes(subscription->auth, sizeof subscription->auth) == 1;
}

static bool set_up(struct work *work)
{
    struct lull_vapid_key *key = NULL;
    work->subscriptions = calloc(SUBSCRIPTIONS, sizeof *work->subscriptions);
    if (!work->subscriptions || lull_encryptor_new(&work->encryptor, WORK_BATCH) != LULL_OK ||
        lull_vapid_ring_new(&work->ring, NULL) != LULL_OK ||
        lull_vapid_key_new(&key, "mailto:operations@example.org", NULL) != LULL_OK) {
        return false;
    }
    if (lull_vapid_ring_add(work->ring, key) != LULL_OK) {
        lull_vapid_key_destroy(key);
        return false;
    }
    for (size_t i = 0; i < SUBSCRIPTIONS; i++) {
        if (!subscribe(work, &work->subscriptions[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < WORK_SLOTS; i++) {
        if (!begin_push(work, &work->pushes[i])) {
            return false;
        }
    }
    return true;
}

struct work *work_new(const char *origin, const char *ca_file)
{
    struct work *work = calloc(1, sizeof *work);
    if (!work) {
        return NULL;
    }
    work->origin = origin;
    work->origin_length = strlen(origin);
    work->ca_file = ca_file;
    if (work->origin_length + WORK_PATH_LENGTH >= sizeof work->pushes[0].url || !set_up(work)) {
        work_destroy(work);
        return NULL;
    }
    return work;
}

void work_destroy(struct work *work)
{
    if (work) {
        lull_vapid_ring_destroy(work->ring);
        lull_encryptor_destroy(work->encryptor);
        free(work->subscriptions);
        free(work);
    }
}
