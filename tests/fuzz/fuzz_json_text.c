/* Any text becomes the inside of a JSON string; one that is UTF-8 is the same when it is read. */
#include <assert.h>
#include <jansson.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "json_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    char *written = malloc(JSON_TEXT_SIZE(size) + 2);
    if (text && written) {
        memcpy(text, data, size);
        text[size] = '\0';
        written[0] = '"';
        size_t length = json_text_write(written + 1, text);
        assert(length == strlen(written + 1));
        assert(length < JSON_TEXT_SIZE(strlen(text)));
        written[length + 1] = '"';
        json_t *read = json_loadb(written, length + 2, JSON_DECODE_ANY, NULL);
        assert(read);
        json_t *same = json_string(text); /* NULL where it is not UTF-8 */
        assert(!same || json_equal(read, same));
        json_decref(same);
        json_decref(read);
    }
    free(text);
    free(written);
    return 0;
}
