/*
 * h2_fields - the head of a request as fields for nghttp2: which are indexed, which are copied.
 *
 * All but the length of the body is packed from where it is, so the request must last until then.
 */
#ifndef LULL_HTTP_H2_FIELDS_H
#define LULL_HTTP_H2_FIELDS_H

#include <nghttp2/nghttp2.h>
#include <stddef.h>

#include "transport.h"

#define H2_FIELDS_MAX (TRANSPORT_HEADERS_MAX + 5)
#define H2_NUMBER_SIZE 20

struct h2_fields {
    nghttp2_nv list[H2_FIELDS_MAX];
    size_t count;
    char length[H2_NUMBER_SIZE]; /* of the body; to be copied */
};

/* path: that of the request, or a longer one that is to be copied, with is_path_copied. */
void h2_fields_set(struct h2_fields *fields, const struct transport_request *request,
                   const char *path, size_t path_length, bool is_path_copied);

#endif
