/* W2: any text as an Authorization header. Claims are given only where the signature is good, and
 * are then whole. */
#include <assert.h>
#include <string.h>

#include "lull/error.h"
#include "lull/webpush.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct lull_vapid_claims claims;
    struct lull_vapid_claims before;
    struct lull_webpush_error error;
    memset(&claims, 0xa5, sizeof claims);
    memset(&error, 0, sizeof error);
    before = claims;
    int result = lull_vapid_verify((const char *)data, size, &claims, &error);
    if (result != LULL_OK) {
        assert(result == LULL_ERR_SYNTAX || result == LULL_ERR_RANGE);
        assert(error.text[0] != '\0' && memchr(error.text, '\0', sizeof error.text));
        assert(memcmp(&claims, &before, sizeof claims) == 0);
        return 0;
    }
    assert(memchr(claims.audience, '\0', sizeof claims.audience));
    assert(memchr(claims.subject, '\0', sizeof claims.subject));
    assert(claims.public_key[0] == 4);
    /* its last second, where only the subject can be wrong; and the one after */
    result = lull_vapid_check(&claims, claims.audience, claims.expires_ms - 1000, &error);
    assert(result == LULL_OK || lull_vapid_check_subject(claims.subject, NULL) != LULL_OK);
    assert(lull_vapid_check(&claims, claims.audience, claims.expires_ms + 1000, NULL) ==
           LULL_ERR_RANGE);
    assert(lull_vapid_check(&claims, "https://other.invalid", claims.expires_ms - 1000, NULL) ==
           LULL_ERR_RANGE);
    return 0;
}
