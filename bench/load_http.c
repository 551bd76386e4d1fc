/*
 * load_http - messages to `lull serve`: one by one, or as a batch of lines.
 *
 * Of HTTP it knows what that server's answers need: a length, or chunks. SPDX-License-Identifier:
 * MIT
 */
#include <stdlib.h>
#include <string.h>

#include "load.h"

#define HEAD_MAX 512
#define STATUS_OFFSET 9 /* behind "HTTP/1.1 " */

static void add_head(const struct load *load, struct load_bytes *out, const char *path,
                     const char *content_type, size_t length)
{
    char *head = load_bytes_room(out, HEAD_MAX);
    out->length += (size_t)snprintf(head, HEAD_MAX,
                                    "POST %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nContent-Type: %s\r\n"
                                    "Content-Length: %zu\r\n\r\n",
                                    path, load->port, content_type, length);
}

static void ask_post(const struct load *load, struct load_connection *connection)
{
    char json[LOAD_TEXT_MAX];
    size_t length = load_text_write(load->text, connection->first, json);
    add_head(load, &connection->out, "/v1/messages", "application/json", length);
    load_bytes_add(&connection->out, json, length);
}

static void ask_batch(const struct load *load, struct load_connection *connection)
{
    static struct load_bytes lines; /* of one request at a time */
    lines.length = 0;
    for (uint32_t i = 0; i < connection->count; i++) {
        char *json = load_bytes_room(&lines, LOAD_TEXT_MAX + 1);
        size_t length = load_text_write(load->text, connection->first + i, json);
        json[length] = '\n';
        lines.length += length + 1;
    }
    add_head(load, &connection->out, "/v1/messages/batch", "application/x-ndjson", lines.length);
    load_bytes_add(&connection->out, lines.data, lines.length);
}

/* ---- answers ---- */

/* The value of a header, or NULL. A zero ends the head. */
static const char *find_header(const char *head, const char *name)
{
    size_t length = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            return line + length + 1;
        }
    }
    return NULL;
}

/* Sets what is known of the body. False: the head is not whole. */
static bool read_head(struct load_connection *connection)
{
    struct load_bytes *in = &connection->in;
    if (connection->body > 0) {
        return true;
    }
    char *end = memmem(in->data, in->length, "\r\n\r\n", 4);
    if (!end) {
        return false;
    }
    end[2] = '\0';
    const char *length = find_header(in->data, "content-length");
    connection->is_chunked = !length;
    connection->body_length = length ? strtoul(length, NULL, 10) : 0;
    connection->body = (size_t)(end - in->data) + 4;
    connection->read = connection->body;
    return true;
}

static uint64_t count_text(const char *text, size_t length, const char *wanted)
{
    uint64_t count = 0;
    const char *end = text + length;
    while ((text = memmem(text, (size_t)(end - text), wanted, strlen(wanted)))) {
        text += strlen(wanted);
        count++;
    }
    return count;
}

/* Goes over the chunks from connection->read on, and moves them together where the body begins. */
static enum load_answer read_chunks(struct load_connection *connection)
{
    struct load_bytes *in = &connection->in;
    for (;;) {
        char *line = in->data + connection->read;
        const char *end = memmem(line, in->length - connection->read, "\r\n", 2);
        if (!end) {
            return LOAD_PART;
        }
        char *after = NULL;
        size_t size = strtoul(line, &after, 16);
        if (after == line) {
            return LOAD_BROKEN;
        }
        size_t whole = (size_t)(end - line) + 2 + size + 2;
        if (in->length - connection->read < whole) {
            return LOAD_PART;
        }
        if (size == 0) {
            return LOAD_WHOLE;
        }
        memmove(in->data + connection->body + connection->body_length, end + 2, size);
        connection->body_length += size;
        connection->read += whole;
    }
}

static enum load_answer read_answer(struct load_connection *connection)
{
    if (!read_head(connection)) {
        return LOAD_PART;
    }
    if (connection->is_chunked) {
        return read_chunks(connection);
    }
    return connection->in.length - connection->body < connection->body_length ? LOAD_PART
                                                                              : LOAD_WHOLE;
}

static enum load_answer answer_post(struct load *load, struct load_connection *connection)
{
    enum load_answer answer = read_answer(connection);
    if (answer == LOAD_WHOLE) {
        bool is_accepted = strtoul(connection->in.data + STATUS_OFFSET, NULL, 10) == 202;
        load->accepted += is_accepted;
        load->refused += !is_accepted;
    }
    return answer;
}

static enum load_answer answer_batch(struct load *load, struct load_connection *connection)
{
    enum load_answer answer = read_answer(connection);
    if (answer == LOAD_WHOLE) {
        const char *body = connection->in.data + connection->body;
        uint64_t accepted = count_text(body, connection->body_length, "\"status\":202");
        load->accepted += accepted;
        load->refused += connection->count - accepted;
    }
    return answer;
}

const struct load_protocol load_post = {"post", ask_post, answer_post};
const struct load_protocol load_batch = {"batch", ask_batch, answer_batch};
