/* response - see the header. SPDX-License-Identifier: MIT */
#include "response.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lull/http.h"

void response_clear(struct response *response)
{
    response->status = 0;
    response->is_head_complete = false;
    response->is_in_lines = false;
    response->header_count = 0;
    response->text_length = 0;
    response->body_length = 0;
    response->received = 0;
    response->is_body_cut = false;
}

void response_free(struct response *response)
{
    free(response->headers);
    free(response->text);
    free(response->body);
    *response = (struct response){0};
}

static bool reserve(char **data, size_t *size, size_t wanted, size_t first)
{
    if (wanted <= *size) {
        return true;
    }
    size_t grown = *size > 0 ? *size : first;
    while (grown < wanted) {
        grown *= 2;
    }
    char *moved = realloc(*data, grown);
    if (!moved) {
        return false;
    }
    *data = moved;
    *size = grown;
    return true;
}

/* "HTTP/1.1 503 Service Unavailable" and "HTTP/2 503 ": 0 if it is none. */
static unsigned read_status(const char *line, size_t length)
{
    const char *space = memchr(line, ' ', length);
    if (!space || line + length - space < 4) {
        return 0;
    }
    unsigned status = 0;
    for (int i = 1; i <= 3; i++) {
        if (space[i] < '0' || space[i] > '9') {
            return 0;
        }
        status = status * 10 + (unsigned)(space[i] - '0');
    }
    return status >= 100 ? status : 0;
}

/* Room for one more header of that many bytes. While the text can still move, a header holds no
 * pointers; the end of the head sets them. */
static bool make_room(struct response *response, size_t length)
{
    if (response->header_count == response->headers_size) {
        size_t grown = response->headers_size > 0 ? response->headers_size * 2 : 16;
        struct lull_header *moved = realloc(response->headers, grown * sizeof *moved);
        if (!moved) {
            return false;
        }
        response->headers = moved;
        response->headers_size = grown;
    }
    return reserve(&response->text, &response->text_size, response->text_length + length, 1024);
}

bool response_add(struct response *response, const char *name, size_t name_length,
                  const char *value, size_t value_length)
{
    size_t length = name_length + value_length;
    if (response->header_count >= RESPONSE_HEADERS_MAX ||
        response->text_length + length > RESPONSE_HEADER_BYTES_MAX) {
        return true;
    }
    if (!make_room(response, length)) {
        return false;
    }
    memcpy(response->text + response->text_length, name, name_length);
    memcpy(response->text + response->text_length + name_length, value, value_length);
    response->headers[response->header_count++] =
        (struct lull_header){NULL, name_length, NULL, value_length};
    response->text_length += length;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* A line is kept as it came, and taken apart when the head is complete: most heads are small, and
 * are read once. Lines that are no headers are let go of here. */
static bool add_line(struct response *response, const char *line, size_t length)
{
    const char *colon = memchr(line, ':', length);
    if (!colon || colon == line || is_blank(*line) ||
        response->header_count >= RESPONSE_HEADERS_MAX ||
        response->text_length + length > RESPONSE_HEADER_BYTES_MAX) {
        return true;
    }
    if (!make_room(response, length)) {
        return false;
    }
    memcpy(response->text + response->text_length, line, length);
    response->headers[response->header_count++] =
        (struct lull_header){NULL, (size_t)(colon - line), NULL, length - (size_t)(colon - line)};
    response->text_length += length;
    return true;
}

/* Names and values stand in the text one behind the other; a value that came as a line still has
 * its colon. */
static void point_into(struct response *response)
{
    const char *text = response->text;
    for (size_t i = 0; i < response->header_count; i++) {
        struct lull_header *header = &response->headers[i];
        const char *value = text + header->name_length;
        const char *end = value + header->value_length;
        header->name = text;
        text = end;
        if (response->is_in_lines) {
            do {
                value++;
            } while (value < end && is_blank(*value));
            while (end > value && is_blank(end[-1])) {
                end--;
            }
        }
        header->value = value;
        header->value_length = (size_t)(end - value);
    }
}

struct lull_header *response_copy_headers(const struct response *response)
{
    size_t size = response->header_count * sizeof(struct lull_header);
    struct lull_header *copy = size > 0 ? malloc(size + response->text_length) : NULL;
    if (copy) {
        char *text = (char *)copy + size;
        memcpy(text, response->text, response->text_length);
        for (size_t i = 0; i < response->header_count; i++) {
            const struct lull_header *header = &response->headers[i];
            copy[i] =
                (struct lull_header){text + (header->name - response->text), header->name_length,
                                     text + (header->value - response->text), header->value_length};
        }
    }
    return copy;
}

void response_end_head(struct response *response)
{
    point_into(response);
    response->is_head_complete = true;
}

struct lull_outcome response_outcome(const struct response *response)
{
    return (struct lull_outcome){
        .kind = LULL_OUTCOME_STATUS,
        .status = response->status,
        .headers = response->headers,
        .header_count = response->header_count,
        .body = response->body,
        .body_length = response->body_length,
    };
}

bool response_line(struct response *response, const char *line, size_t length)
{
    while (length > 0 && (line[length - 1] == '\n' || line[length - 1] == '\r')) {
        length--;
    }
    if (length >= 5 && memcmp(line, "HTTP/", 5) == 0) {
        response_clear(response);
        response->is_in_lines = true;
        response->status = read_status(line, length);
        return true;
    }
    if (response->is_head_complete) { /* a trailer */
        return true;
    }
    if (length > 0) {
        return add_line(response, line, length);
    }
    if (response->status < 200 && response->status != 101) { /* 100 Continue, 103 Early Hints */
        response_clear(response);
    } else {
        response_end_head(response);
    }
    return true;
}

bool response_keep(struct response *response, const char *data, size_t length, size_t max)
{
    size_t room = max > response->body_length ? max - response->body_length : 0;
    if (length > room) {
        length = room;
        response->is_body_cut = true;
    }
    if (!reserve(&response->body, &response->body_size, response->body_length + length + 1, 1024)) {
        return false;
    }
    if (length > 0) {
        memcpy(response->body + response->body_length, data, length);
    }
    response->body_length += length;
    response->body[response->body_length] = '\0';
    return true;
}

const struct lull_header *lull_header_find(const struct lull_header *headers, size_t count,
                                           const char *name)
{
    size_t length = strlen(name);
    for (size_t i = 0; i < count; i++) {
        if (headers[i].name_length == length && strncasecmp(headers[i].name, name, length) == 0) {
            return &headers[i];
        }
    }
    return NULL;
}

int64_t lull_response_length(const struct lull_response *response)
{
    const struct lull_header *header =
        lull_header_find(response->headers, response->header_count, "content-length");
    int64_t length = header && header->value_length > 0 ? 0 : -1;
    for (size_t i = 0; header && i < header->value_length; i++) {
        int digit = header->value[i] - '0';
        if (digit < 0 || digit > 9 || length > (INT64_MAX - digit) / 10) {
            return -1;
        }
        length = length * 10 + digit;
    }
    return length;
}
