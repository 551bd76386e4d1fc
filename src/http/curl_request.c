/* curl_request - see the header. SPDX-License-Identifier: MIT */
#include "curl_request.h"

#include <stdlib.h>
#include <string.h>

#include "lull/http.h"

#define set(easy, option, value) ((void)curl_easy_setopt((easy), (option), (value)))

/* ---- headers ---- */

static bool add_line(struct curl_slist **headers, const char *line)
{
    struct curl_slist *list = curl_slist_append(*headers, line);
    *headers = list ? list : *headers;
    return list != NULL;
}

/* "name: value"; without a value "name;", which is how curl wants to be told to send it. */
static bool add_header(struct curl_slist **headers, const struct lull_header *header)
{
    const char *mark = header->value_length > 0 ? ": " : ";";
    size_t mark_length = strlen(mark);
    char *line = malloc(header->name_length + mark_length + header->value_length + 1);
    if (!line) {
        return false;
    }
    char *end = mempcpy(mempcpy(line, header->name, header->name_length), mark, mark_length);
    if (header->value_length > 0) {
        end = mempcpy(end, header->value, header->value_length);
    }
    *end = '\0';
    bool is_added = add_line(headers, line);
    free(line);
    return is_added;
}

static bool has_header(const struct transport_request *request, const char *name)
{
    return lull_header_find(request->headers, request->header_count, name) != NULL;
}

/* A name with a colon and nothing behind it is one that curl is not to add. */
static bool make_headers(const struct transport_request *request, struct curl_slist **headers)
{
    bool is_good = add_line(headers, "Expect:") &&
                   (has_header(request, "accept") || add_line(headers, "Accept:")) &&
                   (has_header(request, "content-type") || add_line(headers, "Content-Type:"));
    for (size_t i = 0; is_good && i < request->header_count; i++) {
        is_good = add_header(headers, &request->headers[i]);
    }
    return is_good;
}

/* ---- method and body ---- */

/* POST, PUT and PATCH say the length of their body even if it is 0 (RFC 9110, 8.6). The body of a
 * HEAD means nothing, and is not sent. */
static void set_method(CURL *easy, const struct transport_request *request)
{
    const char *method = request->method ? request->method : "POST";
    bool is_post = strcmp(method, "POST") == 0;
    bool has_length = is_post || request->body_length > 0 || strcmp(method, "PUT") == 0 ||
                      strcmp(method, "PATCH") == 0;
    if (strcmp(method, "HEAD") == 0) {
        set(easy, CURLOPT_NOBODY, 1L);
        return;
    }
    if (has_length) {
        set(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
        set(easy, CURLOPT_POSTFIELDS, request->body ? request->body : "");
    }
    if (!is_post) {
        set(easy, CURLOPT_CUSTOMREQUEST, method);
    }
}

/* ---- all of it ---- */

/* Strings are copied by curl, which is what can fail. */
static bool set_text(CURL *easy, CURLoption option, const char *text)
{
    return curl_easy_setopt(easy, option, text) == CURLE_OK;
}

static bool set_proxy(CURL *easy, const struct transport_request *request, const char *proxy)
{
    if (request->is_public_only) { /* a proxy would go wherever it is told to */
        return set_text(easy, CURLOPT_PROXY, "");
    }
    return !proxy || /* no_proxy of the environment has no say in one that was configured */
           (set_text(easy, CURLOPT_PROXY, proxy) && set_text(easy, CURLOPT_NOPROXY, ""));
}

bool curl_request_set(CURL *easy, const struct transport_request *request,
                      const struct transport_config *config, struct curl_slist **ret_headers)
{
    struct curl_slist *headers = NULL;
    bool is_good = make_headers(request, &headers);
    *ret_headers = headers;
    set(easy, CURLOPT_HTTPHEADER, headers);
    set(easy, CURLOPT_NOSIGNAL, 1L);
    set(easy, CURLOPT_PATH_AS_IS, 1L);
    set(easy, CURLOPT_FOLLOWLOCATION, 0L);
    set(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    set(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* Else the end of a request would wait for the thread that looks its name up. */
    set(easy, CURLOPT_QUICK_EXIT, 1L);
#endif
    set_method(easy, request);
    return is_good && set_text(easy, CURLOPT_URL, request->url) &&
           set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https") &&
           (!config->ca_file || set_text(easy, CURLOPT_CAINFO, config->ca_file)) &&
           set_proxy(easy, request, config->proxy);
}
