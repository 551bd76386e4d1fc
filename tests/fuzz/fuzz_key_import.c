/* W2: any text as a key. What is accepted can be written in every format and read again as the
 * same. */
#include <assert.h>
#include <string.h>

#include "lull/error.h"
#include "lull/webpush.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_accepted(const struct lull_vapid_key *key)
{
    const uint8_t *public_key = lull_vapid_key_public(key);
    const char *subject = lull_vapid_key_subject(key);
    assert(public_key[0] == 4);
    assert(lull_vapid_check_subject(subject, NULL) == LULL_OK);
    assert(strlen(lull_vapid_key_id(key)) > 0);
    for (int i = 0; i < LULL_KEY_FORMATS; i++) {
        char text[LULL_KEY_TEXT_SIZE];
        struct lull_vapid_key *again = NULL;
        assert(lull_vapid_key_export(key, (enum lull_key_format)i, text) == LULL_OK);
        assert(memchr(text, '\0', sizeof text) && strlen(text) > 1);
        assert(text[strlen(text) - 1] == '\n');
        /* Lull's own format has the subject in it */
        const char *given = i == LULL_KEY_FILE ? NULL : subject;
        assert(lull_vapid_key_import(&again, text, strlen(text), given, NULL) == LULL_OK);
        assert(memcmp(lull_vapid_key_public(again), public_key, LULL_P256_POINT_SIZE) == 0);
        assert(strcmp(lull_vapid_key_subject(again), subject) == 0);
        assert(strcmp(lull_vapid_key_id(again), lull_vapid_key_id(key)) == 0);
        lull_vapid_key_destroy(again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const subjects[] = {NULL, "mailto:push@example.com"};
    for (size_t i = 0; i < 2; i++) {
        struct lull_vapid_key *key = NULL;
        struct lull_webpush_error error = {""};
        int result = lull_vapid_key_import(&key, (const char *)data, size, subjects[i], &error);
        if (result == LULL_OK) {
            check_accepted(key);
            lull_vapid_key_destroy(key);
        } else {
            assert(!key && error.text[0] != '\0');
            assert(memchr(error.text, '\0', sizeof error.text));
        }
    }
    return 0;
}
