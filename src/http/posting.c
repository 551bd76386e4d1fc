/* posting - see the header. SPDX-License-Identifier: MIT */
#include "posting.h"

#include <stdlib.h>
#include <string.h>

#include "curl_outcome.h"
#include "fold.h"
#include "lull/duration.h"
#include "lull/error.h"

bool posting_is_for(const struct lull_request *request)
{
    return request->kind != LULL_KIND_REQUEST && !request->easy && !request->hooks.configure &&
           request->body.kind <= LULL_BODY_MEMORY;
}

/* "Name: value", and by curl's habits "Name;" for an empty value and "Name:" for none at all. */
static bool read_line(const char *line, struct lull_header *ret_header)
{
    size_t name_length = strcspn(line, ":;");
    const char *value = line + name_length;
    bool is_empty = *value == ';';
    if (*value == '\0') {
        return false;
    }
    value++;
    value += strspn(value, " \t");
    size_t value_length = strlen(value);
    while (value_length > 0 &&
           (value[value_length - 1] == ' ' || value[value_length - 1] == '\t')) {
        value_length--;
    }
    *ret_header = (struct lull_header){line, name_length, value, is_empty ? 0 : value_length};
    return is_empty || value_length > 0;
}

static bool reserve_names(struct posting *posting, const struct curl_slist *headers)
{
    size_t wanted = 0;
    for (const struct curl_slist *line = headers; line; line = line->next) {
        wanted += strcspn(line->data, ":;");
    }
    if (wanted <= posting->names_size) {
        return true;
    }
    char *moved = realloc(posting->names, wanted);
    if (moved) {
        posting->names = moved;
        posting->names_size = wanted;
    }
    return moved != NULL;
}

static void set_headers(struct posting *posting, const struct curl_slist *headers)
{
    size_t count = 0;
    char *name = posting->names;
    for (; headers && count < TRANSPORT_HEADERS_MAX; headers = headers->next) {
        struct lull_header *header = &posting->headers[count];
        if (!read_line(headers->data, header)) {
            continue;
        }
        fold_copy(name, header->name, header->name_length);
        header->name = name;
        name += header->name_length;
        count++;
    }
    posting->request.headers = posting->headers;
    posting->request.header_count = headers ? SIZE_MAX : count; /* too many: refused as such */
}

static int64_t or_never(int64_t ms)
{
    return ms > 0 ? ms : LULL_NEVER;
}

int posting_prepare(struct posting *posting, const struct lull_request *request,
                    const struct curl_slist *headers, size_t response_max)
{
    struct transport_request *sent = &posting->request;
    bool has_body = request->body.kind == LULL_BODY_MEMORY;
    if (!reserve_names(posting, headers)) {
        return LULL_ERR_MEMORY;
    }
    transport_request_init(sent, request->url);
    set_headers(posting, headers);
    sent->method = request->method ? request->method : has_body ? "POST" : "GET";
    sent->body = has_body ? request->body.data : NULL;
    sent->body_length = has_body ? (size_t)request->body.length : 0;
    sent->connect_timeout_ms = or_never(request->connect_timeout_ms);
    sent->first_byte_timeout_ms = or_never(request->idle_timeout_ms);
    /* The call has its own patience; this is so that a body that never ends is not waited for. */
    sent->timeout_ms = request->connect_timeout_ms > 0 && request->idle_timeout_ms > 0
                           ? request->connect_timeout_ms + 2 * request->idle_timeout_ms
                           : LULL_NEVER;
    sent->response_max = response_max;
    sent->is_public_only = request->is_public_only;
    return LULL_OK;
}

void posting_free(struct posting *posting)
{
    if (posting) {
        transport_request_clean_up(&posting->request);
        free(posting->names);
        free(posting);
    }
}

CURLcode posting_code(const struct transport_request *request)
{
    if (request->outcome.kind == LULL_OUTCOME_STATUS) {
        return request->is_body_complete || request->response.is_body_cut ? CURLE_OK
                                                                          : CURLE_PARTIAL_FILE;
    }
    return curl_code(request->outcome.transport);
}
