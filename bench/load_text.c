/* load_text - see the header. SPDX-License-Identifier: MIT */
#include "load_text.h"

#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lull/error.h"
#include "lull/webpush.h"

#define SUBSCRIPTIONS 1000
#define SINK_MAX 128

/* With what is before it, a path as long as FCM's. */
#define REGISTRATION                                                                               \
    "APA91bHun4MxP5egoKMwt2KZFBaFUH-1RYqx_c0FTaVpWdzFvZ2J5S3JxTnB2Zk0tY0hLbG9QcXJzVHV2d1h5ejAxMj"  \
    "M0NTY3ODktX2FiY2RlZmdoaWprbG1ub3BxcnN0dXZ3eHl6QUJDREVGR0hJSks"

struct keys { /* as a PushSubscription has them */
    char p256dh[LULL_BASE64URL_SIZE(LULL_P256_POINT_SIZE)];
    char auth[LULL_BASE64URL_SIZE(LULL_PUSH_AUTH_SIZE)];
};

struct load_text {
    struct load_text_config config;
    char sink[SINK_MAX];
    struct keys *keys; /* SUBSCRIPTIONS of them */
};

const char *load_text_body(void)
{
    static char body[LOAD_BODY_SIZE + 1];
    if (body[0] == '\0') {
        static const char words[] = "A parcel is on its way to you. ";
        for (size_t i = 0; i < LOAD_BODY_SIZE; i++) {
            body[i] = words[i % (sizeof words - 1)];
        }
    }
    return body;
}

static bool make_keys(struct keys *keys)
{
    struct lull_encryptor *encryptor = NULL;
    bool is_good = lull_encryptor_new(&encryptor, 0) == LULL_OK;
    for (size_t i = 0; is_good && i < SUBSCRIPTIONS; i++) {
        uint8_t private_key[LULL_P256_SCALAR_SIZE];
        uint8_t public_key[LULL_P256_POINT_SIZE];
        uint8_t auth[LULL_PUSH_AUTH_SIZE];
        is_good = lull_push_keypair(encryptor, private_key, public_key) == LULL_OK &&
                  RAND_bytes(auth, sizeof auth) == 1;
        (void)lull_base64url_encode(public_key, sizeof public_key, keys[i].p256dh);
        (void)lull_base64url_encode(auth, sizeof auth, keys[i].auth);
    }
    lull_encryptor_destroy(encryptor);
    return is_good;
}

struct load_text *load_text_new(const struct load_text_config *config)
{
    struct load_text *text = calloc(1, sizeof *text);
    if (!text || strlen(config->sink) >= SINK_MAX) {
        free(text);
        return NULL;
    }
    text->config = *config;
    memcpy(text->sink, config->sink, strlen(config->sink) + 1);
    if (config->is_push) {
        text->keys = calloc(SUBSCRIPTIONS, sizeof *text->keys);
        if (!text->keys || !make_keys(text->keys)) {
            load_text_destroy(text);
            return NULL;
        }
    }
    return text;
}

void load_text_destroy(struct load_text *text)
{
    if (text) {
        free(text->keys);
        free(text);
    }
}

/* ,"at":"2026-01-01T00:00:00.000Z" or nothing. */
static void write_due(const struct load_text *text, uint64_t number, char *ret_at, size_t size)
{
    const struct load_text_config *config = &text->config;
    ret_at[0] = '\0';
    if (config->due_ms == 0) {
        return;
    }
    int64_t due_ms = config->due_ms;
    if (config->due_per_s > 0) {
        due_ms += (int64_t)((double)number * 1000 / config->due_per_s);
    }
    time_t seconds = (time_t)(due_ms / 1000);
    struct tm parts;
    char day[32];
    (void)gmtime_r(&seconds, &parts);
    (void)strftime(day, sizeof day, "%Y-%m-%dT%H:%M:%S", &parts);
    (void)snprintf(ret_at, size, ",\"at\":\"%s.%03dZ\"", day, (int)(due_ms % 1000));
}

size_t load_text_write(const struct load_text *text, uint64_t number, char *ret_json)
{
    char at[64];
    write_due(text, number, at, sizeof at);
    int length = 0;
    if (text->config.is_push) {
        const struct keys *keys = &text->keys[number % SUBSCRIPTIONS];
        length = snprintf(ret_json, LOAD_TEXT_MAX,
                          "{\"subscription\":{\"endpoint\":\"%s/fcm/send/%010llu:" REGISTRATION
                          "\",\"expirationTime\":null,\"keys\":{\"p256dh\":\"%s\",\"auth\":\"%s\"}}"
                          ",\"body\":\"%s\",\"ttl\":86400,\"urgency\":\"high\"%s}",
                          text->sink, (unsigned long long)number, keys->p256dh, keys->auth,
                          load_text_body(), at);
    } else {
        length = snprintf(ret_json, LOAD_TEXT_MAX,
                          "{\"webhook\":{\"url\":\"%s/hook/%010llu\"},\"body\":\"%s\"%s}",
                          text->sink, (unsigned long long)number, load_text_body(), at);
    }
    return (size_t)length;
}
