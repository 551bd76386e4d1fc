/* W1: any bytes as a message to the receiver of RFC 8291, appendix A, whose message is a seed. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lull/error.h"
#include "lull/webpush.h"

static const uint8_t private_key[LULL_P256_SCALAR_SIZE] = {
    0xab, 0x57, 0x57, 0xa7, 0x0d, 0xd4, 0xa5, 0x3e, 0x55, 0x3a, 0x6b, 0xbf, 0x71, 0xff, 0xef, 0xea,
    0x28, 0x74, 0xec, 0x07, 0xa6, 0xb3, 0x79, 0xe3, 0xc4, 0x8f, 0x89, 0x5a, 0x02, 0xdc, 0x33, 0xde};
static const uint8_t auth[LULL_PUSH_AUTH_SIZE] = {0x05, 0x30, 0x59, 0x32, 0xa1, 0xc7, 0xea, 0xbe,
                                                  0x13, 0xb6, 0xce, 0xc9, 0xfd, 0xa4, 0x88, 0x82};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct lull_encryptor *encryptor;
    if (!encryptor) {
        assert(lull_encryptor_new(&encryptor, 0) == LULL_OK);
    }
    uint8_t *text = malloc(size); /* just what the header asks for: a sanitizer watches the end */
    size_t length = SIZE_MAX;
    assert(text || size == 0);
    int result = lull_push_decrypt(encryptor, private_key, auth, data, size, text, &length);
    if (result == LULL_OK) {
        assert(size >= LULL_PUSH_OVERHEAD && length <= size - LULL_PUSH_OVERHEAD);
    } else {
        assert(result == LULL_ERR_SYNTAX && length == SIZE_MAX);
    }
    free(text);
    return 0;
}
