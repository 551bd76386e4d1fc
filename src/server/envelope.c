/*
 * envelope - see the header. SPDX-License-Identifier: MIT
 *
 * The form: version 1, how many headers 1, received 8, then the texts in the order of the struct
 * and each header's name and value, all with their final zero, then a checksum of all before 4.
 */
#include "envelope.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "lull/error.h"
#include "packed.h"

#define VERSION 1

enum { /* where it is */
       AT_VERSION = 0,
       AT_HEADER_COUNT = 1,
       AT_RECEIVED = 2,
       AT_TEXTS = 10,
};

#define CHECKSUM_SIZE 4

#define TEXTS 11

/* Where each text is in the struct, in the order in which they are packed. */
static const size_t text_offsets[TEXTS] = {
    offsetof(struct envelope, url),
    offsetof(struct envelope, method),
    offsetof(struct envelope, urgency),
    offsetof(struct envelope, topic),
    offsetof(struct envelope, key_id),
    offsetof(struct envelope, signer),
    offsetof(struct envelope, policy),
    offsetof(struct envelope, correlation_id),
    offsetof(struct envelope, idempotency_key),
    offsetof(struct envelope, traceparent),
    offsetof(struct envelope, content_type),
};

static const char *text_of(const struct envelope *envelope, size_t index)
{
    const char *text = NULL;
    memcpy(&text, (const char *)envelope + text_offsets[index], sizeof text);
    return text;
}

static void set_text(struct envelope *envelope, size_t index, const char *text)
{
    memcpy((char *)envelope + text_offsets[index], &text, sizeof text);
}

size_t envelope_size(const struct envelope *envelope)
{
    size_t size = AT_TEXTS + CHECKSUM_SIZE;
    for (size_t i = 0; i < TEXTS; i++) {
        size += strlen(text_of(envelope, i)) + 1;
    }
    for (size_t i = 0; i < envelope->header_count; i++) {
        size += envelope->headers[i].name_length + 1 + envelope->headers[i].value_length + 1;
    }
    return size;
}

static uint8_t *write_text(uint8_t *at, const char *text, size_t length)
{
    memcpy(at, text, length);
    at[length] = '\0';
    return at + length + 1;
}

void envelope_pack(const struct envelope *envelope, void *ret_data)
{
    uint8_t *data = ret_data;
    uint8_t *at = data + AT_TEXTS;
    assert(envelope->header_count <= ENVELOPE_HEADERS_MAX);
    data[AT_VERSION] = VERSION;
    data[AT_HEADER_COUNT] = (uint8_t)envelope->header_count;
    (void)packed_write(data + AT_RECEIVED, (uint64_t)envelope->received_ms, 8);
    for (size_t i = 0; i < TEXTS; i++) {
        const char *text = text_of(envelope, i);
        at = write_text(at, text, strlen(text));
    }
    for (size_t i = 0; i < envelope->header_count; i++) {
        const struct lull_header *header = &envelope->headers[i];
        at = write_text(at, header->name, header->name_length);
        at = write_text(at, header->value, header->value_length);
    }
    (void)packed_write(at, packed_checksum(data, (size_t)(at - data)), CHECKSUM_SIZE);
}

/* A reading position. A failed read sets is_bad, so that all can be read in one go. */
struct cursor {
    const char *at;
    const char *end;
    bool is_bad;
};

static const char *read_text(struct cursor *cursor, size_t *ret_length)
{
    const char *text = cursor->at;
    size_t left = (size_t)(cursor->end - text);
    const char *zero = left > 0 ? memchr(text, '\0', left) : NULL;
    if (!zero) {
        cursor->is_bad = true;
        *ret_length = 0;
        return "";
    }
    cursor->at = zero + 1;
    *ret_length = (size_t)(zero - text);
    return text;
}

static bool is_whole(const uint8_t *data, size_t length)
{
    return length >= AT_TEXTS + CHECKSUM_SIZE && data[AT_VERSION] == VERSION &&
           data[AT_HEADER_COUNT] <= ENVELOPE_HEADERS_MAX &&
           packed_read(data + length - CHECKSUM_SIZE, CHECKSUM_SIZE) ==
               packed_checksum(data, length - CHECKSUM_SIZE);
}

int envelope_unpack(struct envelope *ret_envelope, const void *data, size_t length)
{
    const uint8_t *bytes = data;
    size_t ignored = 0;
    if (!is_whole(bytes, length)) {
        return LULL_ERR_SYNTAX;
    }
    struct cursor cursor = {(const char *)bytes + AT_TEXTS,
                            (const char *)bytes + length - CHECKSUM_SIZE, false};
    struct envelope envelope = {
        .received_ms = (int64_t)packed_read(bytes + AT_RECEIVED, 8),
        .header_count = bytes[AT_HEADER_COUNT],
    };
    for (size_t i = 0; i < TEXTS; i++) {
        set_text(&envelope, i, read_text(&cursor, &ignored));
    }
    for (size_t i = 0; i < envelope.header_count; i++) {
        struct lull_header *header = &envelope.headers[i];
        header->name = read_text(&cursor, &header->name_length);
        header->value = read_text(&cursor, &header->value_length);
    }
    if (cursor.is_bad || cursor.at != cursor.end) {
        return LULL_ERR_SYNTAX;
    }
    *ret_envelope = envelope;
    return LULL_OK;
}
