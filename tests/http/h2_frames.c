/* h2_frames - see the header. SPDX-License-Identifier: MIT */
#include "h2_frames.h"

#include "suite.h"

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define HEAD_LENGTH 9

/* ---- bytes ---- */

void bytes_add(struct bytes *bytes, const void *data, size_t length)
{
    if (bytes->length + length > bytes->size) {
        bytes->size = (bytes->length + length) * 2;
        bytes->data = realloc(bytes->data, bytes->size);
        assert_non_null(bytes->data);
    }
    if (length > 0) {
        memcpy(bytes->data + bytes->length, data, length);
    }
    bytes->length += length;
}

void bytes_add_number(struct bytes *bytes, uint32_t number, int octets)
{
    for (int i = octets - 1; i >= 0; i--) {
        uint8_t octet = (uint8_t)(number >> (8 * i));
        bytes_add(bytes, &octet, 1);
    }
}

void bytes_free(struct bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct bytes){0};
}

/* ---- what a server says ---- */

void h2_frame(struct bytes *out, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
              size_t length)
{
    bytes_add_number(out, (uint32_t)length, 3);
    bytes_add_number(out, type, 1);
    bytes_add_number(out, flags, 1);
    bytes_add_number(out, stream, 4);
    bytes_add(out, payload, length);
}

void h2_number_frame(struct bytes *out, uint8_t type, uint32_t stream, uint32_t number)
{
    struct bytes payload = {0};
    bytes_add_number(&payload, number, 4);
    h2_frame(out, type, 0, stream, payload.data, payload.length);
    bytes_free(&payload);
}

void h2_setting(struct bytes *out, uint16_t id, uint32_t value)
{
    struct bytes payload = {0};
    bytes_add_number(&payload, id, 2);
    bytes_add_number(&payload, value, 4);
    h2_frame(out, NGHTTP2_SETTINGS, 0, 0, payload.data, payload.length);
    bytes_free(&payload);
}

void h2_goaway(struct bytes *out, uint32_t last_id, uint32_t code)
{
    struct bytes payload = {0};
    bytes_add_number(&payload, last_id, 4);
    bytes_add_number(&payload, code, 4);
    h2_frame(out, NGHTTP2_GOAWAY, 0, 0, payload.data, payload.length);
    bytes_free(&payload);
}

/* A string of HPACK, not by Huffman: its length with a prefix of seven bits (RFC 7541, 5.1). */
static void add_string(struct bytes *block, const char *text, size_t length)
{
    if (length < 127) {
        bytes_add_number(block, (uint32_t)length, 1);
    } else {
        size_t rest = length - 127;
        bytes_add_number(block, 127, 1);
        for (; rest >= 128; rest /= 128) {
            bytes_add_number(block, (uint32_t)(rest % 128 + 128), 1);
        }
        bytes_add_number(block, (uint32_t)rest, 1);
    }
    bytes_add(block, text, length);
}

void h2_field(struct bytes *block, const char *name, const char *value)
{
    bytes_add_number(block, 0x00, 1);
    add_string(block, name, strlen(name));
    add_string(block, value, strlen(value));
}

void h2_remember(struct bytes *block, const char *name, const char *value)
{
    bytes_add_number(block, 0x40, 1);
    add_string(block, name, strlen(name));
    add_string(block, value, strlen(value));
}

void h2_indexed(struct bytes *block, uint8_t index)
{
    bytes_add_number(block, 0x80U | index, 1);
}

void h2_fields(struct bytes *block, const char *lines)
{
    while (*lines) {
        char name[64] = "";
        char value[64] = "";
        size_t name_length = 1 + strcspn(lines + 1, ":"); /* :status begins with one */
        size_t length = strcspn(lines, "\n");
        assert_true(name_length + 2 <= length && name_length < sizeof name &&
                    length - name_length - 2 < sizeof value);
        memcpy(name, lines, name_length);
        memcpy(value, lines + name_length + 2, length - name_length - 2);
        h2_field(block, name, value);
        lines += length + (lines[length] == '\n');
    }
}

/* ---- what the client said ---- */

void h2_listener_init(struct h2_listener *listener)
{
    *listener = (struct h2_listener){0};
    assert_int_equal(nghttp2_hd_inflate_new(&listener->inflater), 0);
}

void h2_listener_clean_up(struct h2_listener *listener)
{
    nghttp2_hd_inflate_del(listener->inflater);
    bytes_free(&listener->bytes);
}

void h2_listener_add(struct h2_listener *listener, const void *data, size_t length)
{
    bytes_add(&listener->bytes, data, length);
}

static void keep_field(struct h2_said *said, const nghttp2_nv *pair)
{
    assert_true(said->field_count < H2_FIELDS_MAX);
    struct h2_said_field *field = &said->fields[said->field_count++];
    *field = (struct h2_said_field){
        .value_length = pair->valuelen,
        .is_never_indexed = (pair->flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0,
    };
    size_t most = sizeof field->value - 1;
    assert_true(pair->namelen < sizeof field->name);
    memcpy(field->name, pair->name, pair->namelen);
    memcpy(field->value, pair->value, pair->valuelen < most ? pair->valuelen : most);
}

static void unpack(struct h2_listener *listener, struct h2_said *said)
{
    const uint8_t *at = said->payload;
    size_t left = said->length;
    bool is_last = (said->flags & NGHTTP2_FLAG_END_HEADERS) != 0;
    assert_int_equal(said->flags & (NGHTTP2_FLAG_PADDED | NGHTTP2_FLAG_PRIORITY), 0);
    for (;;) {
        nghttp2_nv pair;
        int flags = 0;
        ssize_t done = nghttp2_hd_inflate_hd2(listener->inflater, &pair, &flags, at, left, is_last);
        assert_true(done >= 0);
        at += done;
        left -= (size_t)done;
        if (flags & NGHTTP2_HD_INFLATE_EMIT) {
            keep_field(said, &pair);
        }
        if (flags & NGHTTP2_HD_INFLATE_FINAL) {
            (void)nghttp2_hd_inflate_end_headers(listener->inflater);
            break;
        }
        if (!(flags & NGHTTP2_HD_INFLATE_EMIT) && left == 0) {
            assert_false(is_last);
            break;
        }
    }
}

bool h2_listener_next(struct h2_listener *listener, struct h2_said *ret_said)
{
    const struct bytes *bytes = &listener->bytes;
    if (listener->at == 0 && bytes->length >= strlen(PREFACE)) {
        assert_memory_equal(bytes->data, PREFACE, strlen(PREFACE));
        listener->at = strlen(PREFACE);
    }
    const uint8_t *head = bytes->data + listener->at;
    size_t left = bytes->length - listener->at;
    if (listener->at == 0 || left < HEAD_LENGTH) {
        return false;
    }
    size_t length = (size_t)head[0] << 16 | (size_t)head[1] << 8 | head[2];
    if (left < HEAD_LENGTH + length) {
        return false;
    }
    listener->at += HEAD_LENGTH + length;
    ret_said->length = length;
    ret_said->type = head[3];
    ret_said->flags = head[4];
    ret_said->stream =
        ((uint32_t)head[5] << 24 | (uint32_t)head[6] << 16 | (uint32_t)head[7] << 8 | head[8]) &
        INT32_MAX;
    ret_said->payload = head + HEAD_LENGTH;
    ret_said->field_count = 0;
    if (ret_said->type == NGHTTP2_HEADERS || ret_said->type == NGHTTP2_CONTINUATION) {
        unpack(listener, ret_said);
    }
    return true;
}

const struct h2_said_field *h2_said_find(const struct h2_said *said, const char *name)
{
    for (size_t i = 0; i < said->field_count; i++) {
        if (strcmp(said->fields[i].name, name) == 0) {
            return &said->fields[i];
        }
    }
    return NULL;
}

size_t h2_listener_table_size(const struct h2_listener *listener)
{
    return nghttp2_hd_inflate_get_dynamic_table_size(listener->inflater);
}
