/* intake_world - a receiver, a configuration with two policies and a signer, a VAPID key, an
 * intake. */
#ifndef LULL_TESTS_INTAKE_WORLD_H
#define LULL_TESTS_INTAKE_WORLD_H

#include "suite.h"

#include "envelope.h"
#include "intake.h"
#include "lull/webpush.h"

#define NOW_MS INT64_C(1790000000000) /* 2026-09-21T14:13:20Z */
#define FCM "https://fcm.googleapis.com/fcm/send/dPx3nqf1Xk0"
#define KEYS "\"keys\":{\"p256dh\":\"$P\",\"auth\":\"$A\"}"
#define PUSH_TO(endpoint) "\"subscription\":{\"endpoint\":\"" endpoint "\"," KEYS "}"
#define PUSH PUSH_TO(FCM)
#define HOOK_URL "https://hooks.example/in?token=secret"
#define HOOK "\"webhook\":{\"url\":\"" HOOK_URL "\"}"

struct intake_world {
    struct config config;
    struct lull_vapid_ring *ring;
    char key_id[LULL_KEY_ID_SIZE];
    char other_key_id[LULL_KEY_ID_SIZE];
    struct lull_encryptor *receiver;
    uint8_t private_key[LULL_P256_SCALAR_SIZE];
    uint8_t auth[LULL_PUSH_AUTH_SIZE];
    char p256dh[LULL_BASE64URL_SIZE(LULL_P256_POINT_SIZE)];
    char auth_text[LULL_BASE64URL_SIZE(LULL_PUSH_AUTH_SIZE)];
    struct intake *intake;
};

int intake_world_set_up(void **state);
int intake_world_tear_down(void **state);
extern struct intake_world world;

/* What intake_read said. put is for intake_free. */
struct taken {
    int code;
    struct job_put *put;
    struct message *message; /* put's */
    struct envelope envelope;
    char warning[INTAKE_WARNING_SIZE];
    struct intake_problem problem;
};

/* A text with $P for the point, $A for auth, $K and $L for the ids of the keys. For free(). */
char *intake_world_fill(const char *json, size_t *ret_length);

/* So many letters between two texts. For free(). */
char *with_body(const char *before, size_t length, const char *behind);

/* call NULL: at NOW_MS and nothing else. */
struct taken take(const char *json, const struct intake_call *call);

/* It must be accepted. */
struct taken take_good(const char *json, const struct intake_call *call);

/* The plain text of a push, zero-terminated, for free(). */
char *open_push(const struct message *message, size_t *ret_length);

#endif
