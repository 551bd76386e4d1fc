/*
 * mock_push - what `lull mock` knows: its subscriptions with their keys, what was accepted, and how
 * a push is checked (W1, V1).
 *
 * No socket, no log, no clock. Not safe for threads: the server holds one lock around every call
 * and for as long as it looks at a subscription.
 *
 *   mock_service_new -> mock_subscribe ... mock_find, mock_push_check ... -> mock_service_destroy
 */
#ifndef LULL_CLI_MOCK_PUSH_H
#define LULL_CLI_MOCK_PUSH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/webpush.h"
#include "mock_plan.h"

#define MOCK_ID_SIZE 17 /* 16 hex digits and the final zero */
#define MOCK_URL_SIZE 400
#define MOCK_SENTENCE_SIZE 240
#define MOCK_TTL_MAX_S 2592000 /* what is granted at most: 30 days */

struct mock_subscription {
    struct mock_subscription *older;
    char id[MOCK_ID_SIZE];
    uint8_t private_key[LULL_P256_SCALAR_SIZE];
    uint8_t public_key[LULL_P256_POINT_SIZE];
    uint8_t auth[LULL_PUSH_AUTH_SIZE];
    bool is_restricted; /* to the sender with this key */
    uint8_t sender_key[LULL_P256_POINT_SIZE];
    bool is_gone;
    struct mock_plan *own_plan; /* NULL: the service's */
    struct mock_walk walk;
    int64_t not_before_ms; /* wall clock, the latest that was asked for; 0: none */
};

struct mock_service_config {
    const char *base;             /* the URL without a final slash */
    const struct mock_plan *plan; /* of every subscription that has none of its own */
    uint64_t seed;
    bool is_vapid_optional;
};

struct mock_service;

/* LULL_ERR_SYNTAX: base is no URL; LULL_ERR_FULL, LULL_ERR_MEMORY. */
int mock_service_new(struct mock_service **ret_service, const struct mock_service_config *config,
                     int64_t mono_ms);
void mock_service_destroy(struct mock_service *service); /* wipes the keys; NULL is fine */

/* plan and sender_key (base64url) may be NULL. LULL_ERR_SYNTAX or LULL_ERR_RANGE with a sentence;
 * LULL_ERR_MEMORY. The service owns the subscription. */
int mock_subscribe(struct mock_service *service, const char *plan, const char *sender_key,
                   int64_t mono_ms, const struct mock_subscription **ret_subscription,
                   char sentence[MOCK_SENTENCE_SIZE]);

/* Those that are gone, too. NULL: there never was one. */
struct mock_subscription *mock_find(struct mock_service *service, const char *id);

/* As PushSubscription.toJSON() has it. For free(); NULL: no memory. */
char *mock_subscription_json(const struct mock_service *service,
                             const struct mock_subscription *subscription);

/* ---- a push ---- */

/* In the order in which they decide the answer: the first that was found does. */
enum mock_problem {
    MOCK_SUBSCRIPTION_UNKNOWN,
    MOCK_SUBSCRIPTION_GONE,
    MOCK_TTL_MISSING,
    MOCK_TTL_MALFORMED,
    MOCK_TTL_NEGATIVE,
    MOCK_BODY_TOO_LARGE,
    MOCK_CONTENT_ENCODING,
    MOCK_ENCRYPTION,
    MOCK_URGENCY,
    MOCK_TOPIC,
    MOCK_VAPID_MISSING,
    MOCK_VAPID_MALFORMED,
    MOCK_VAPID_SIGNATURE,
    MOCK_VAPID_CLAIMS,
    MOCK_VAPID_KEY,
    MOCK_PROBLEMS, /* how many there are */
};

/* "ttl_missing", ...: the log's words. */
const char *mock_problem_to_string(enum mock_problem problem);

struct mock_push {
    const char *ttl; /* headers, NULL where absent */
    const char *urgency;
    const char *topic;
    const char *content_encoding;
    const char *authorization;
    const uint8_t *body; /* up to LULL_PUSH_BODY_MAX of it */
    size_t length;       /* all of it */
};

struct mock_finding {
    bool has[MOCK_PROBLEMS];
    unsigned status;   /* the honest one */
    unsigned number;   /* Mozilla's errno (V1) */
    const char *error; /* a few words */
    char sentence[MOCK_SENTENCE_SIZE];
    int64_t ttl_s; /* -1: none that can be read */
    bool has_text;
    size_t text_length;
    uint8_t text[LULL_PUSH_BODY_MAX]; /* decrypted */
};

/* subscription NULL: there is none of that id. */
void mock_push_check(struct mock_service *service, const struct mock_subscription *subscription,
                     const struct mock_push *push, int64_t now_ms,
                     struct mock_finding *ret_finding);

/* What the subscription's plan wants done with its next push. */
struct mock_answer mock_push_plan(struct mock_service *service,
                                  struct mock_subscription *subscription, int64_t mono_ms);

/* ---- accepted messages; the last 65,536 are remembered ---- */

void mock_message_new(struct mock_service *service, char ret_id[MOCK_ID_SIZE]);
bool mock_message_take_back(struct mock_service *service, const char *id);

#endif
