/* S3, W1, W4: any text as a message for the API. What is accepted can be unpacked and, if it is a
 * push, decrypted; what is not, is refused with a sentence. The first byte says what comes along.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "envelope.h"
#include "intake.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/webpush.h"

#define NOW_MS INT64_C(1790000000000)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct config config;
static struct intake *intake;
static struct lull_vapid_ring *ring;
static struct lull_encryptor *receiver;

/* Those of the seeds' subscription: the example of RFC 8291's appendix A. */
static uint8_t private_key[LULL_P256_SCALAR_SIZE];
static uint8_t auth[LULL_PUSH_AUTH_SIZE];

static void set_up(void)
{
    static const char key[] = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94";
    static const char secret[] = "BTBZMqHH6r4Tts7J_aSIgg";
    static const char pair[] = "{\"publicKey\":\"BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-"
                               "AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4\",\"privateKey\":\""
                               "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94\"}";
    struct lull_vapid_key *vapid = NULL;
    size_t length = 0;
    assert(config_init(&config));
    assert(lull_base64_decode(key, strlen(key), private_key, sizeof private_key, &length) == 0);
    assert(lull_base64_decode(secret, strlen(secret), auth, sizeof auth, &length) == 0);
    assert(lull_encryptor_new(&receiver, 0) == LULL_OK);
    assert(lull_vapid_ring_new(&ring, NULL) == LULL_OK);
    assert(lull_vapid_key_import(&vapid, pair, strlen(pair), "mailto:a@example.org", NULL) == 0);
    assert(lull_vapid_ring_add(ring, vapid) == LULL_OK);
    assert(intake_new(&intake, &config, ring) == LULL_OK);
}

static void check_push(const struct message *message)
{
    static uint8_t text[LULL_PUSH_BODY_MAX];
    size_t length = 0;
    assert(message->body.length == 0 || message->body.length >= LULL_PUSH_OVERHEAD);
    assert(message->body.length <= LULL_PUSH_BODY_MAX);
    if (message->body.length > 0) { /* else it was for another receiver */
        (void)lull_push_decrypt(receiver, private_key, auth, message->body.data,
                                message->body.length, text, &length);
    }
}

static void check(const struct job_put *put)
{
    const struct message *message = put->put.put.message;
    struct envelope envelope;
    assert(put->job.kind == JOB_PUT && put->service_length == strlen(put->service));
    assert(put->service_length > 0 && put->service_length < sizeof put->service);
    assert(envelope_unpack(&envelope, message->envelope.data, message->envelope.length) == 0);
    assert(message->urgency < MESSAGE_URGENCIES && message->target != 0);
    assert(message->due_ms >= NOW_MS && message->due_ms <= NOW_MS + LULL_DAYS(28));
    assert(message->ttl_ms >= 0 && message->ttl_ms <= LULL_DAYS(366));
    assert((message->topic != 0) == (*envelope.topic != '\0'));
    assert(put->put.put.has_key == (*envelope.idempotency_key != '\0'));
    if (message->kind == LULL_KIND_PUSH) {
        check_push(message);
        assert(lull_vapid_ring_find(ring, envelope.key_id));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct intake_problem problem = {.status = 0};
    struct job_put *put = NULL;
    char warning[INTAKE_WARNING_SIZE];
    if (!intake) {
        set_up();
    }
    if (size == 0) {
        return 0;
    }
    const struct intake_call call = {
        .now_ms = NOW_MS,
        .idempotency_key = data[0] & 1 ? "K:1" : NULL,
        .is_key_default = data[0] & 2,
        .traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    };
    config.is_private_allowed = data[0] & 4;
    int code =
        intake_read(intake, (const char *)data + 1, size - 1, &call, &put, warning, &problem);
    if (code == LULL_OK) {
        check(put);
        assert(memchr(warning, '\0', sizeof warning));
        intake_free(put);
        return 0;
    }
    assert(code == LULL_ERR_SYNTAX || code == LULL_ERR_RANGE || code == LULL_ERR_UNKNOWN);
    assert(put == NULL && (problem.status == 400 || problem.status == 413));
    assert(problem.detail[0] != '\0' && memchr(problem.detail, '\0', sizeof problem.detail));
    assert(memchr(problem.member, '\0', sizeof problem.member));
    return 0;
}
