/* W4: any text as a secret, and any lines as the headers and the body of a webhook: id, timestamp,
 * signatures, and what is left. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lull/error.h"
#include "lull/webhook.h"

#define NOW_S 1614265330

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct lull_webhook_secret secret_of(const char *text)
{
    struct lull_webhook_secret secret;
    int result = lull_webhook_secret_parse(&secret, text, strlen(text));
    assert(result == LULL_OK);
    return secret;
}

/* What a secret signs, it verifies: unless it is there to verify only. */
static void check_secret(const char *text, size_t length)
{
    struct lull_webhook_secret secret;
    char signature[LULL_WEBHOOK_SIGNATURE_SIZE];
    int result = lull_webhook_secret_parse(&secret, text, length);
    if (result != LULL_OK) {
        assert(result == LULL_ERR_SYNTAX || result == LULL_ERR_RANGE);
        return;
    }
    result = lull_webhook_sign(&secret, 1, "id", NOW_S, text, length, signature);
    if (secret.kind == LULL_WEBHOOK_ED25519_PUBLIC) {
        assert(result == LULL_ERR_RANGE);
        return;
    }
    assert(result == LULL_OK);
    assert(lull_webhook_verify(&secret, 1, "id", "1614265330", signature, text, length, NOW_S, 0) ==
           LULL_OK);
}

/* Cuts a line off, and leaves *rest behind it. */
static char *cut_line(char **rest)
{
    char *line = *rest;
    size_t length = strcspn(line, "\n");
    *rest = line + length + (line[length] != '\0');
    line[length] = '\0';
    return line;
}

/* An id that was accepted has no dot, so that there is one reading of what was signed. */
static void check_message(char *text, const char *end)
{
    struct lull_webhook_secret secrets[] = {
        secret_of("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"),
        secret_of("whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="),
    };
    const char *id = cut_line(&text);
    const char *timestamp = cut_line(&text);
    const char *signature = cut_line(&text);
    int result = lull_webhook_verify(secrets, 2, id, timestamp, signature, text,
                                     (size_t)(end - text), NOW_S, LULL_WEBHOOK_TOLERANCE_S);
    if (result == LULL_OK) {
        assert(*id && !strchr(id, '.') && strspn(timestamp, "0123456789") == strlen(timestamp));
    } else {
        assert(result == LULL_ERR_SYNTAX || result == LULL_ERR_RANGE || result == LULL_ERR_UNKNOWN);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_secret((const char *)data, size);
    char *text = malloc(size + 1);
    assert(text);
    memcpy(text, data, size);
    text[size] = '\0';
    check_message(text, text + size);
    free(text);
    return 0;
}
