/*
 * response - what of a response is kept while it arrives: status, headers, and the body as far as
 * wanted.
 *
 * Fed line by line as libcurl's header callback gives them: 1xx responses, and those before a
 * redirect or a second round of authentication, make room for the next; trailers are left out. Or
 * header by header: response_clear, status set, response_add ..., response_end_head.
 */
#ifndef LULL_HTTP_RESPONSE_H
#define LULL_HTTP_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/outcome.h"

#define RESPONSE_HEADERS_MAX 256
#define RESPONSE_HEADER_BYTES_MAX 65536

struct response {
    unsigned status; /* 0: none; 1xx are not kept */
    bool is_head_complete;
    bool is_in_lines; /* the text has the lines as they came */
    size_t header_count;
    struct lull_header *headers; /* point into text once the head is complete */
    size_t headers_size;
    char *text; /* all names and values */
    size_t text_length;
    size_t text_size;
    char *body;
    size_t body_length;
    size_t body_size;
    int64_t received; /* bytes of the body, kept or not */
    bool is_body_cut;
};

void response_clear(struct response *response); /* keeps the memory for the next */
void response_free(struct response *response);

/* One line with its line end. False: no memory. What is over the two limits above is dropped. */
bool response_line(struct response *response, const char *line, size_t length);

/* One header. False: no memory. What is over the limits is dropped. */
bool response_add(struct response *response, const char *name, size_t name_length,
                  const char *value, size_t value_length);
void response_end_head(struct response *response); /* from now on the status stands */

static inline bool response_is_success(const struct response *response)
{
    return response->status >= 200 && response->status <= 299;
}

/* Of one whose head is complete. Points into it. */
struct lull_outcome response_outcome(const struct response *response);

/* The headers with their text, in one piece for free(). NULL: there are none, or no memory. */
struct lull_header *response_copy_headers(const struct response *response);

/* Keeps up to max bytes in all. False: no memory. */
bool response_keep(struct response *response, const char *data, size_t length, size_t max);

#endif
