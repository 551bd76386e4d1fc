/*
 * h2_frames - the server's side of HTTP/2 by hand, for tests: frames that a good or a bad server
 * would send, and what the client sent, taken apart.
 *
 *   h2_frame, h2_field ... build bytes; h2_listener_add, then h2_listener_next until false
 *
 * Fields are literals without indexing, so that no state is shared with the client. What the client
 * sent is unpacked by nghttp2's own inflater.
 */
#ifndef LULL_TESTS_H2_FRAMES_H
#define LULL_TESTS_H2_FRAMES_H

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
    uint8_t *data;
    size_t length;
    size_t size;
};

void bytes_add(struct bytes *bytes, const void *data, size_t length);
void bytes_add_number(struct bytes *bytes, uint32_t number, int octets); /* big-endian */
void bytes_free(struct bytes *bytes);

/* ---- what a server says ---- */

void h2_frame(struct bytes *out, uint8_t type, uint8_t flags, uint32_t stream, const void *payload,
              size_t length);
void h2_number_frame(struct bytes *out, uint8_t type, uint32_t stream, uint32_t number);
void h2_setting(struct bytes *out, uint16_t id, uint32_t value); /* a SETTINGS frame with one */
void h2_goaway(struct bytes *out, uint32_t last_id, uint32_t code);

/* One field of a header block. */
void h2_field(struct bytes *block, const char *name, const char *value);
void h2_indexed(struct bytes *block, uint8_t index); /* of either table, 1..126 */
void h2_remember(struct bytes *block, const char *name, const char *value); /* into the table */

/* "name: value" by lines. */
void h2_fields(struct bytes *block, const char *lines);

/* ---- what the client said ---- */

#define H2_FIELDS_MAX 64

struct h2_said_field {
    char name[64];
    char value[512]; /* cut */
    size_t value_length;
    bool is_never_indexed;
};

struct h2_said {
    uint8_t type;
    uint8_t flags;
    uint32_t stream;
    size_t length;
    const uint8_t *payload; /* until the next call */
    size_t field_count;     /* of HEADERS */
    struct h2_said_field fields[H2_FIELDS_MAX];
};

struct h2_listener {
    struct bytes bytes;
    size_t at;
    nghttp2_hd_inflater *inflater;
};

void h2_listener_init(struct h2_listener *listener);
void h2_listener_clean_up(struct h2_listener *listener);
void h2_listener_add(struct h2_listener *listener, const void *data, size_t length);

/* The next whole frame. Fails the test if the preface, a frame or a header block is broken. */
bool h2_listener_next(struct h2_listener *listener, struct h2_said *ret_said);

/* NULL: it has none of that name. */
const struct h2_said_field *h2_said_find(const struct h2_said *said, const char *name);

/* How many bytes of fields the client's header table has, which it built up by indexing. */
size_t h2_listener_table_size(const struct h2_listener *listener);

#endif
