/* mock_push - see the header. SPDX-License-Identifier: MIT */
#include "mock_push.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lull/error.h"
#include "lull/os.h"
#include "topic.h"

#define MESSAGES_MAX 65536

struct mock_service {
    char base[MOCK_URL_SIZE];
    char origin[LULL_ORIGIN_SIZE];
    struct mock_plan plan;
    uint64_t seed;
    bool is_vapid_optional;
    struct lull_encryptor *encryptor;
    struct mock_subscription *newest;
    uint64_t count;
    uint64_t messages[MESSAGES_MAX]; /* a ring; 0: taken back, or none yet */
    size_t next_message;
};

/* ---- ids ---- */

static uint64_t write_id(char ret_id[MOCK_ID_SIZE])
{
    uint64_t number = lull_os_seed();
    number += number == 0;
    (void)snprintf(ret_id, MOCK_ID_SIZE, "%016" PRIx64, number);
    return number;
}

/* 0 if it is none of ours. */
static uint64_t read_id(const char *id)
{
    char *end = NULL;
    if (strlen(id) != MOCK_ID_SIZE - 1 || strspn(id, "0123456789abcdef") != MOCK_ID_SIZE - 1) {
        return 0;
    }
    return strtoull(id, &end, 16);
}

/* ---- the service ---- */

int mock_service_new(struct mock_service **ret_service, const struct mock_service_config *config,
                     int64_t mono_ms)
{
    struct mock_service *service = calloc(1, sizeof *service);
    if (!service) {
        return LULL_ERR_MEMORY;
    }
    (void)snprintf(service->base, sizeof service->base, "%s", config->base);
    service->plan = *config->plan;
    service->seed = config->seed;
    service->is_vapid_optional = config->is_vapid_optional;
    mock_plan_start(&service->plan, mono_ms);
    int result = lull_endpoint_origin(service->base, service->origin);
    if (result == LULL_OK) {
        result = lull_encryptor_new(&service->encryptor, 0);
    }
    if (result != LULL_OK) {
        mock_service_destroy(service);
        return result;
    }
    *ret_service = service;
    return LULL_OK;
}

static void destroy_subscription(struct mock_subscription *subscription)
{
    free(subscription->own_plan);
    explicit_bzero(subscription, sizeof *subscription);
    free(subscription);
}

void mock_service_destroy(struct mock_service *service)
{
    if (!service) {
        return;
    }
    while (service->newest) {
        struct mock_subscription *subscription = service->newest;
        service->newest = subscription->older;
        destroy_subscription(subscription);
    }
    lull_encryptor_destroy(service->encryptor);
    free(service);
}

/* ---- subscriptions ---- */

static int read_plan(struct mock_subscription *subscription, const char *text, int64_t mono_ms,
                     char sentence[MOCK_SENTENCE_SIZE])
{
    struct mock_plan_error error;
    subscription->own_plan = calloc(1, sizeof *subscription->own_plan);
    if (!subscription->own_plan) {
        return LULL_ERR_MEMORY;
    }
    int result = mock_plan_parse(subscription->own_plan, text, strlen(text), &error);
    if (result != LULL_OK) {
        (void)snprintf(sentence, MOCK_SENTENCE_SIZE, "plan: at character %zu: %s", error.offset + 1,
                       error.text);
        return result;
    }
    mock_plan_start(subscription->own_plan, mono_ms);
    return LULL_OK;
}

static int read_sender_key(struct mock_subscription *subscription, const char *text,
                           char sentence[MOCK_SENTENCE_SIZE])
{
    size_t length = 0;
    uint8_t *key = subscription->sender_key;
    int result =
        lull_base64_decode(text, strlen(text), key, sizeof subscription->sender_key, &length);
    if (result != LULL_OK || length != sizeof subscription->sender_key || key[0] != 4) {
        (void)snprintf(sentence, MOCK_SENTENCE_SIZE,
                       "applicationServerKey: must be an uncompressed P-256 point of 65 bytes in "
                       "base64url");
        return LULL_ERR_SYNTAX;
    }
    subscription->is_restricted = true;
    return LULL_OK;
}

int mock_subscribe(struct mock_service *service, const char *plan, const char *sender_key,
                   int64_t mono_ms, const struct mock_subscription **ret_subscription,
                   char sentence[MOCK_SENTENCE_SIZE])
{
    struct mock_subscription *subscription = calloc(1, sizeof *subscription);
    if (!subscription) {
        return LULL_ERR_MEMORY;
    }
    (void)write_id(subscription->id);
    /* Each has chance of its own, so that the order of the others' pushes does not matter. */
    mock_walk_init(&subscription->walk, service->seed + service->count);
    uint64_t halves[LULL_PUSH_AUTH_SIZE / sizeof(uint64_t)] = {lull_os_seed(), lull_os_seed()};
    memcpy(subscription->auth, halves, sizeof subscription->auth);
    int result =
        lull_push_keypair(service->encryptor, subscription->private_key, subscription->public_key);
    if (result == LULL_OK && plan) {
        result = read_plan(subscription, plan, mono_ms, sentence);
    }
    if (result == LULL_OK && sender_key) {
        result = read_sender_key(subscription, sender_key, sentence);
    }
    if (result != LULL_OK) {
        destroy_subscription(subscription);
        return result;
    }
    subscription->older = service->newest;
    service->newest = subscription;
    service->count++;
    *ret_subscription = subscription;
    return LULL_OK;
}

struct mock_subscription *mock_find(struct mock_service *service, const char *id)
{
    struct mock_subscription *subscription = service->newest;
    while (subscription && strcmp(subscription->id, id) != 0) {
        subscription = subscription->older;
    }
    return subscription;
}

char *mock_subscription_json(const struct mock_service *service,
                             const struct mock_subscription *subscription)
{
    char endpoint[MOCK_URL_SIZE + 32];
    char p256dh[LULL_BASE64URL_SIZE(LULL_P256_POINT_SIZE)];
    char auth[LULL_BASE64URL_SIZE(LULL_PUSH_AUTH_SIZE)];
    (void)snprintf(endpoint, sizeof endpoint, "%s/push/%s", service->base, subscription->id);
    (void)lull_base64url_encode(subscription->public_key, LULL_P256_POINT_SIZE, p256dh);
    (void)lull_base64url_encode(subscription->auth, LULL_PUSH_AUTH_SIZE, auth);
    json_t *json = json_pack("{s:s, s:n, s:{s:s, s:s}}", "endpoint", endpoint, "expirationTime",
                             "keys", "p256dh", p256dh, "auth", auth);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return text;
}

/* ---- the checks ---- */

static const struct {
    const char *word;
    unsigned status;
    unsigned number;
    const char *error;
    const char *sentence; /* NULL: the library's own */
} problems[MOCK_PROBLEMS] = {
    [MOCK_SUBSCRIPTION_UNKNOWN] = {"subscription_unknown", 404, 102, "Not Found",
                                   "there is no such subscription"},
    [MOCK_SUBSCRIPTION_GONE] = {"subscription_gone", 410, 103, "Gone",
                                "the subscription was deleted"},
    [MOCK_TTL_MISSING] = {"ttl_missing", 400, 111, "Missing TTL header",
                          "a push needs a TTL header"},
    [MOCK_TTL_MALFORMED] = {"ttl_malformed", 400, 111, "Invalid TTL header",
                            "TTL must be a whole number of seconds"},
    [MOCK_TTL_NEGATIVE] = {"ttl_negative", 400, 114, "Negative TTL", "TTL must not be less than 0"},
    [MOCK_BODY_TOO_LARGE] = {"body_too_large", 413, 104, "Payload Too Large",
                             "a body has at most 4096 bytes"},
    [MOCK_CONTENT_ENCODING] = {"content_encoding", 400, 110, "Invalid encryption headers",
                               "a body needs Content-Encoding: aes128gcm"},
    [MOCK_ENCRYPTION] = {"encryption", 400, 110, "Invalid encryption",
                         "the body cannot be decrypted with this subscription's keys"},
    [MOCK_URGENCY] = {"urgency", 400, 999, "Invalid Urgency header",
                      "Urgency must be very-low, low, normal or high"},
    [MOCK_TOPIC] = {"topic", 400, 113, "Invalid Topic header",
                    "Topic must have 1 to 32 characters of the base64url alphabet"},
    [MOCK_VAPID_MISSING] = {"vapid_missing", 401, 109, "Unauthorized",
                            "a push needs Authorization: vapid t=..., k=..."},
    [MOCK_VAPID_MALFORMED] = {"vapid_malformed", 401, 109, "Unauthorized", NULL},
    [MOCK_VAPID_SIGNATURE] = {"vapid_signature", 403, 109, "Forbidden", NULL},
    [MOCK_VAPID_CLAIMS] = {"vapid_claims", 403, 109, "Forbidden", NULL},
    [MOCK_VAPID_KEY] = {"vapid_key", 403, 109, "Forbidden",
                        "the subscription belongs to another VAPID key"},
};

const char *mock_problem_to_string(enum mock_problem problem)
{
    return problems[problem].word;
}

static void check_ttl(const char *ttl, struct mock_finding *finding)
{
    if (!ttl) {
        finding->has[MOCK_TTL_MISSING] = true;
        return;
    }
    const char *digits = *ttl == '-' ? ttl + 1 : ttl;
    size_t length = strspn(digits, "0123456789");
    if (length == 0 || digits[length] != '\0') {
        finding->has[MOCK_TTL_MALFORMED] = true;
    } else if (digits != ttl) {
        finding->has[MOCK_TTL_NEGATIVE] = true;
    } else {
        long long seconds = strtoll(ttl, NULL, 10); /* one too large stays at the largest */
        finding->ttl_s = seconds;
    }
}

static void check_body(struct mock_service *service, const struct mock_subscription *subscription,
                       const struct mock_push *push, struct mock_finding *finding)
{
    if (push->length == 0) {
        return;
    }
    if (push->length > LULL_PUSH_BODY_MAX) {
        finding->has[MOCK_BODY_TOO_LARGE] = true;
        return;
    }
    if (!push->content_encoding || strcasecmp(push->content_encoding, "aes128gcm") != 0) {
        finding->has[MOCK_CONTENT_ENCODING] = true;
        return;
    }
    finding->has_text = lull_push_decrypt(service->encryptor, subscription->private_key,
                                          subscription->auth, push->body, push->length,
                                          finding->text, &finding->text_length) == LULL_OK;
    finding->has[MOCK_ENCRYPTION] = !finding->has_text;
}

static void check_words(const struct mock_push *push, struct mock_finding *finding)
{
    static const char *const urgencies[] = {"very-low", "low", "normal", "high"};
    bool is_urgency = !push->urgency;
    for (size_t i = 0; push->urgency && i < sizeof urgencies / sizeof urgencies[0]; i++) {
        is_urgency = is_urgency || strcasecmp(push->urgency, urgencies[i]) == 0;
    }
    finding->has[MOCK_URGENCY] = !is_urgency;
    finding->has[MOCK_TOPIC] = push->topic && topic_form_of(push->topic) != TOPIC_GOOD;
}

static void check_vapid(const struct mock_service *service,
                        const struct mock_subscription *subscription, const char *authorization,
                        int64_t now_ms, struct mock_finding *finding,
                        struct lull_webpush_error *error)
{
    struct lull_vapid_claims claims;
    if (!authorization) {
        finding->has[MOCK_VAPID_MISSING] =
            !service->is_vapid_optional || subscription->is_restricted;
        return;
    }
    int result = lull_vapid_verify(authorization, strlen(authorization), &claims, error);
    if (result != LULL_OK) {
        finding->has[result == LULL_ERR_RANGE ? MOCK_VAPID_SIGNATURE : MOCK_VAPID_MALFORMED] = true;
        return;
    }
    finding->has[MOCK_VAPID_CLAIMS] =
        lull_vapid_check(&claims, service->origin, now_ms, error) != LULL_OK;
    finding->has[MOCK_VAPID_KEY] =
        subscription->is_restricted &&
        memcmp(claims.public_key, subscription->sender_key, LULL_P256_POINT_SIZE) != 0;
}

void mock_push_check(struct mock_service *service, const struct mock_subscription *subscription,
                     const struct mock_push *push, int64_t now_ms, struct mock_finding *ret_finding)
{
    struct lull_webpush_error error = {""};
    struct mock_finding *finding = ret_finding;
    memset(finding, 0, sizeof *finding);
    finding->status = 201;
    finding->ttl_s = -1;
    finding->has[MOCK_SUBSCRIPTION_UNKNOWN] = !subscription;
    finding->has[MOCK_SUBSCRIPTION_GONE] = subscription && subscription->is_gone;
    check_ttl(push->ttl, finding);
    check_words(push, finding);
    if (subscription && !subscription->is_gone) {
        check_body(service, subscription, push, finding);
        check_vapid(service, subscription, push->authorization, now_ms, finding, &error);
    }
    for (size_t i = 0; i < MOCK_PROBLEMS; i++) {
        if (finding->has[i]) {
            finding->status = problems[i].status;
            finding->number = problems[i].number;
            finding->error = problems[i].error;
            (void)snprintf(finding->sentence, sizeof finding->sentence, "%s",
                           problems[i].sentence ? problems[i].sentence : error.text);
            return;
        }
    }
}

struct mock_answer mock_push_plan(struct mock_service *service,
                                  struct mock_subscription *subscription, int64_t mono_ms)
{
    struct mock_plan *plan = subscription->own_plan ? subscription->own_plan : &service->plan;
    return mock_walk_next(&subscription->walk, plan, mono_ms);
}

/* ---- messages ---- */

void mock_message_new(struct mock_service *service, char ret_id[MOCK_ID_SIZE])
{
    service->messages[service->next_message] = write_id(ret_id);
    service->next_message = (service->next_message + 1) % MESSAGES_MAX;
}

bool mock_message_take_back(struct mock_service *service, const char *id)
{
    uint64_t number = read_id(id);
    for (size_t i = 0; number != 0 && i < MESSAGES_MAX; i++) {
        if (service->messages[i] == number) {
            service->messages[i] = 0;
            return true;
        }
    }
    return false;
}
