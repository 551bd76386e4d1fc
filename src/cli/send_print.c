/* send_print - see the header. SPDX-License-Identifier: MIT */
#include "send_print.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "call_print.h"

static const char *service_of(const struct send_options *options)
{
    const char *host = NULL;
    size_t length = 0;
    const char *endpoint = send_endpoint(options);
    (void)lull_url_host(endpoint, strlen(endpoint), &host, &length); /* it has been read as a URL */
    return lull_vendor_lookup(lull_vendor_from_host(host, length))->name;
}

/* A token is a secret, and whose key it is shows who sends. */
static bool is_secret(const char *header)
{
    return strncasecmp(header, "Authorization:", 14) == 0;
}

void send_print_request(FILE *out, const struct send_options *options,
                        const struct curl_slist *headers, size_t body_length)
{
    char origin[LULL_ORIGIN_SIZE] = "";
    char hash[LULL_ENDPOINT_HASH_SIZE];
    const char *endpoint = send_endpoint(options);
    (void)lull_endpoint_origin(endpoint, origin);
    lull_endpoint_hash(endpoint, hash);
    fprintf(out, "%s %s/*** HTTP/2\n", *options->recalled ? "DELETE" : "POST", origin);
    for (; headers; headers = headers->next) {
        if (is_secret(headers->data)) {
            fputs("Authorization: vapid t=***, k=***\n", out);
        } else {
            fprintf(out, "%s\n", headers->data);
        }
    }
    fprintf(out, "Content-Length: %zu\n\n", body_length);
    fprintf(out, "Nothing was sent. Endpoint %s, service %s, %zu bytes of text.\n", hash,
            service_of(options), options->body.length);
}

void send_print_json(FILE *out, const struct send_options *options,
                     const struct lull_result *result, size_t body_length, int exit_code)
{
    char hash[LULL_ENDPOINT_HASH_SIZE];
    lull_endpoint_hash(send_endpoint(options), hash);
    fputc('{', out);
    call_print_members(out, result);
    fprintf(out, ",\"endpoint_hash\":\"%s\",\"service\":\"%s\",\"body_bytes\":%zu,\"exit\":%d}\n",
            hash, service_of(options), body_length, exit_code);
}

void send_print_success(FILE *out, const struct send_options *options,
                        const struct lull_result *result)
{
    const struct lull_attempt *last = &result->attempts[result->attempt_count - 1];
    char hash[LULL_ENDPOINT_HASH_SIZE];
    lull_endpoint_hash(send_endpoint(options), hash);
    fprintf(out, "lull send: %s, HTTP %u, attempt %" PRIu32 ", service %s, %.19s\n",
            *options->recalled ? "recalled" : "delivered", result->status, last->number,
            service_of(options), hash);
}
