/*
 * bench/intake - what it costs to take a message: JSON in, checked, encrypted, packed for the
 * store.
 *
 * Beside it, in the same run and in turn, lull_push_encrypt of the same text alone: what lies
 * between them is what the intake adds. The target is 10 us.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "intake.h"
#include "lull/error.h"
#include "lull/webpush.h"
#include "rounds.h"

#define ROUNDS 150
#define REPEATS 64 /* as many as the library makes key pairs at once */
#define TEXT_SIZE 200
#define TARGET 1.2
#define NOW_MS INT64_C(1790000000000)

static struct config config;
static struct lull_vapid_ring *ring;
static struct intake *intake;
static struct lull_encryptor *encryptor;
static uint8_t private_key[LULL_P256_SCALAR_SIZE];
static uint8_t p256dh[LULL_P256_POINT_SIZE];
static const uint8_t auth[LULL_PUSH_AUTH_SIZE] = "0123456789abcdef";
static char text[TEXT_SIZE + 1];
static char push[2048];
static char keyed[2048];
static char webhook[2048];

static bool encrypt(void)
{
    static uint8_t body[LULL_PUSH_BODY_MAX];
    size_t length = 0;
    return lull_push_encrypt(encryptor, p256dh, auth, text, TEXT_SIZE, 0, body, &length) == LULL_OK;
}

static bool take(const char *json)
{
    static const struct intake_call call = {.now_ms = NOW_MS};
    struct intake_problem problem = {.status = 0};
    struct job_put *put = NULL;
    char warning[INTAKE_WARNING_SIZE];
    if (intake_read(intake, json, strlen(json), &call, &put, warning, &problem) != LULL_OK) {
        (void)fprintf(stderr, "bench-intake: %s\n", problem.detail);
        return false;
    }
    intake_free(put);
    return true;
}

static bool take_push(void)
{
    return take(push);
}

static bool take_keyed(void)
{
    return take(keyed);
}

static bool take_webhook(void)
{
    return take(webhook);
}

struct way {
    const char *name;
    bool (*run)(void);
    double us[ROUNDS];
};

enum { ENCRYPT, PUSH, KEYED, WEBHOOK, WAYS };

static struct way ways[WAYS] = {
    [ENCRYPT] = {.name = "lull_push_encrypt alone", .run = encrypt},
    [PUSH] = {.name = "intake_read, a push", .run = take_push},
    [KEYED] = {.name = "... with key, topic and policy", .run = take_keyed},
    [WEBHOOK] = {.name = "intake_read, a webhook", .run = take_webhook},
};

static double time_round(const struct way *way)
{
    double start_us = rounds_now_us(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < REPEATS; i++) {
        if (!way->run()) {
            (void)fprintf(stderr, "bench-intake: %s failed\n", way->name);
            exit(2);
        }
    }
    return (rounds_now_us(CLOCK_THREAD_CPUTIME_ID) - start_us) / REPEATS;
}

static void write_messages(void)
{
    char point_text[LULL_BASE64URL_SIZE(sizeof p256dh)];
    char auth_text[LULL_BASE64URL_SIZE(sizeof auth)];
    char subscription[512];
    (void)lull_base64url_encode(p256dh, sizeof p256dh, point_text);
    (void)lull_base64url_encode(auth, sizeof auth, auth_text);
    memset(text, 'a', TEXT_SIZE);
    (void)snprintf(subscription, sizeof subscription,
                   "\"subscription\":{\"endpoint\":\"https://fcm.googleapis.com/fcm/send/"
                   "dPx3nqf1Xk0:APA91bHzKqv0JgdPx3nqf1Xk0APA91bHzKqv0JgdPx3nqf1Xk0APA91bHzKqv0Jg\","
                   "\"expirationTime\":null,\"keys\":{\"p256dh\":\"%s\",\"auth\":\"%s\"}}",
                   point_text, auth_text);
    (void)snprintf(push, sizeof push, "{%s,\"ttl\":3600,\"urgency\":\"high\",\"body\":\"%s\"}",
                   subscription, text);
    (void)snprintf(keyed, sizeof keyed,
                   "{%s,\"ttl\":3600,\"urgency\":\"high\",\"body\":\"%s\",\"topic\":\"news\","
                   "\"policy\":\"bulk retries=9\",\"idempotency_key\":\"order-17\"}",
                   subscription, text);
    (void)snprintf(webhook, sizeof webhook,
                   "{\"webhook\":{\"url\":\"https://hooks.example/in\",\"headers\":{\"X-Shop\":"
                   "\"7\"}},\"json\":{\"event\":\"%s\"}}",
                   text);
}

static bool set_up(void)
{
    struct lull_vapid_key *key = NULL;
    if (!config_init(&config) || lull_vapid_ring_new(&ring, NULL) != LULL_OK ||
        lull_vapid_key_new(&key, "mailto:bench@example.org", NULL) != LULL_OK ||
        lull_vapid_ring_add(ring, key) != LULL_OK || lull_encryptor_new(&encryptor, 0) != LULL_OK ||
        lull_push_keypair(encryptor, private_key, p256dh) != LULL_OK ||
        intake_new(&intake, &config, ring) != LULL_OK) {
        return false;
    }
    write_messages();
    return true;
}

static void tear_down(void)
{
    intake_destroy(intake);
    lull_encryptor_destroy(encryptor);
    lull_vapid_ring_destroy(ring);
    config_clean_up(&config);
}

/* What a way takes more than the other, round by round. */
static double median_more(const struct way *way, const struct way *other)
{
    double more[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        more[i] = way->us[i] - other->us[i];
    }
    return rounds_median(more, ROUNDS);
}

int main(void)
{
    if (!set_up()) {
        return 2;
    }
    for (int round = -10; round < ROUNDS; round++) { /* the first few only warm up */
        for (int i = 0; i < WAYS; i++) {
            ways[i].us[round < 0 ? 0 : round] = time_round(&ways[i]);
        }
    }
    printf("bench/intake: a message of %d bytes, median of %d rounds of %d each\n", TEXT_SIZE,
           ROUNDS, REPEATS);
    for (int i = 0; i < WAYS; i++) {
        printf("  %-36s %6.1f us\n", ways[i].name, rounds_median(ways[i].us, ROUNDS));
    }
    double ratio = rounds_median_ratio(ways[PUSH].us, ways[ENCRYPT].us, ROUNDS);
    printf("  a push beside its encryption: %.1f us more, %.3f times%s\n",
           median_more(&ways[PUSH], &ways[ENCRYPT]), ratio, ratio > TARGET ? "  MISSED" : "");
    tear_down();
    return ratio > TARGET;
}
