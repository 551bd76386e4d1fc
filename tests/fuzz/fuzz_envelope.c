/* Q4: any bytes as an envelope. What is accepted is packed into the same bytes again. The first
 * byte says whether the checksum is put right, so that what lies behind it is reached. */
#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "envelope.h"
#include "lull/error.h"
#include "packed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct envelope envelope;
    static struct envelope before;
    if (size == 0) {
        return 0;
    }
    bool is_put_right = data[0] & 1;
    size_t length = size - 1 + (is_put_right ? 4 : 0);
    uint8_t *packed = malloc(length + 1); /* on its own: reading over the end is seen */
    assert(packed);
    uint8_t *start = packed + 1;
    memcpy(start, data + 1, size - 1);
    if (is_put_right) {
        (void)packed_write(start + size - 1, packed_checksum(start, size - 1), 4);
    }
    memset(&envelope, 0xa5, sizeof envelope);
    before = envelope;
    int error = envelope_unpack(&envelope, start, length);
    if (error == LULL_OK) {
        assert(envelope_size(&envelope) == length);
        uint8_t *again = malloc(length);
        assert(again);
        envelope_pack(&envelope, again);
        assert(memcmp(again, start, length) == 0);
        free(again);
    } else {
        assert(error == LULL_ERR_SYNTAX);
        assert(memcmp(&envelope, &before, sizeof envelope) == 0);
    }
    free(packed);
    return 0;
}
