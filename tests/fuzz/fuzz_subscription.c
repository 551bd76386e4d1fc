/* S1, S3: any text as a subscription. What is accepted can be sent to; what is not, is refused with
 * a sentence and touches nothing. */
#include <assert.h>
#include <string.h>

#include "lull/error.h"
#include "lull/webpush.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_accepted(const struct lull_subscription *subscription)
{
    static struct lull_encryptor *encryptor;
    if (!encryptor) {
        assert(lull_encryptor_new(&encryptor, 0) == LULL_OK);
    }
    assert(memchr(subscription->endpoint, '\0', sizeof subscription->endpoint));
    const char *host = NULL;
    size_t host_length = 0;
    assert(lull_url_host(subscription->endpoint, strlen(subscription->endpoint), &host,
                         &host_length) == LULL_OK);
    assert(lull_vendor_from_host(host, host_length) == subscription->vendor);
    char origin[LULL_ORIGIN_SIZE];
    int error = lull_endpoint_origin(subscription->endpoint, origin);
    assert(error == LULL_OK || (error == LULL_ERR_FULL && host_length > 200));
    char hash[LULL_ENDPOINT_HASH_SIZE];
    lull_endpoint_hash(subscription->endpoint, hash);
    assert(strlen(hash) == LULL_ENDPOINT_HASH_SIZE - 1);
    uint8_t body[LULL_PUSH_BODY_MAX];
    size_t length = 0;
    assert(lull_push_encrypt(encryptor, subscription->p256dh, subscription->auth, "x", 1, 0, body,
                             &length) == LULL_OK);
    assert(length == 1 + LULL_PUSH_OVERHEAD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct lull_subscription subscription;
    static struct lull_subscription before;
    struct lull_webpush_error error;
    memset(&subscription, 0xa5, sizeof subscription);
    memset(&error, 0, sizeof error);
    before = subscription;
    int result = lull_subscription_parse(&subscription, (const char *)data, size, &error);
    if (result == LULL_OK) {
        check_accepted(&subscription);
        return 0;
    }
    assert(result == LULL_ERR_SYNTAX || result == LULL_ERR_RANGE);
    assert(error.text[0] != '\0' && memchr(error.text, '\0', sizeof error.text));
    assert(memcmp(&subscription, &before, sizeof subscription) == 0);
    return 0;
}
