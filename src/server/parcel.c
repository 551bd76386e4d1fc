/* parcel - see the header. SPDX-License-Identifier: MIT */
#include "parcel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lull/error.h"
#include "lull/version.h"

#define RESPONSE_MAX 16384 /* C10 */

bool parcel_open(struct parcel *parcel, struct message *message)
{
    const char *host = NULL;
    size_t host_length = 0;
    if (envelope_unpack(&parcel->envelope, message->envelope.data, message->envelope.length) !=
            LULL_OK ||
        lull_url_host(parcel->envelope.url, strlen(parcel->envelope.url), &host, &host_length) !=
            LULL_OK) {
        return false;
    }
    parcel->message = message;
    parcel->vendor = lull_vendor_from_host(host, host_length);
    parcel->is_returned = false;
    message_id_write(message->id, parcel->id);
    return true;
}

/* ---- headers ---- */

static void add(struct parcel *parcel, const char *name, const char *value, size_t length)
{
    parcel->headers[parcel->request.header_count++] =
        (struct lull_header){name, strlen(name), value, length};
}

static void add_text(struct parcel *parcel, const char *name, const char *value)
{
    if (*value != '\0') {
        add(parcel, name, value, strlen(value));
    }
}

static int add_push_headers(struct parcel *parcel, struct parcel_desk *desk, int64_t wall_ms)
{
    const struct envelope *envelope = &parcel->envelope;
    size_t length = 0;
    /* A part of a second counts as one: 0 would be another thing, now or never (T3). */
    int64_t remaining_s = parcel->remaining_ms / 1000 + (parcel->remaining_ms % 1000 > 0);
    int error = authorizer_write(desk->authorizer, envelope->key_id, envelope->url, wall_ms,
                                 parcel->is_token_doubted, parcel->proof.authorization, &length);
    if (error != LULL_OK) {
        return error;
    }
    (void)snprintf(parcel->ttl, sizeof parcel->ttl, "%" PRId64, remaining_s);
    add_text(parcel, "ttl", parcel->ttl);
    add_text(parcel, "urgency", envelope->urgency);
    add_text(parcel, "topic", envelope->topic);
    if (parcel->message->body.length > 0) {
        add_text(parcel, "content-type", "application/octet-stream");
        add_text(parcel, "content-encoding", "aes128gcm");
    }
    if (remaining_s == 0 && parcel->vendor == LULL_VENDOR_WNS) {
        add_text(parcel, "x-wns-cache-policy", "no-cache"); /* V4 */
    }
    add(parcel, "authorization", parcel->proof.authorization, length);
    return LULL_OK;
}

static int add_webhook_headers(struct parcel *parcel, const struct parcel_desk *desk,
                               int64_t wall_ms)
{
    const struct envelope *envelope = &parcel->envelope;
    for (size_t i = 0; i < envelope->header_count; i++) {
        parcel->headers[parcel->request.header_count++] = envelope->headers[i];
    }
    add_text(parcel, "content-type", envelope->content_type);
    add_text(parcel, "idempotency-key", envelope->idempotency_key);
    if (*envelope->signer == '\0') {
        return LULL_OK;
    }
    const struct config_signer *signer = config_find_signer(desk->config, envelope->signer);
    if (!signer) {
        return LULL_ERR_UNKNOWN;
    }
    const struct message_bytes *body = &parcel->message->body;
    int error =
        lull_webhook_sign(signer->secrets, signer->secret_count, parcel->id, wall_ms / 1000,
                          body->data ? body->data : "", body->length, parcel->proof.signature);
    if (error == LULL_OK) {
        (void)snprintf(parcel->timestamp, sizeof parcel->timestamp, "%" PRId64, wall_ms / 1000);
        add_text(parcel, "webhook-id", parcel->id);
        add_text(parcel, "webhook-timestamp", parcel->timestamp);
        add_text(parcel, "webhook-signature", parcel->proof.signature);
    }
    return error;
}

/* Each attempt is a span of its own in the caller's trace (L5), and a retry says so (G7). */
static void add_common_headers(struct parcel *parcel, struct parcel_desk *desk)
{
    struct lull_trace_context trace;
    const char *traceparent = parcel->envelope.traceparent;
    uint32_t attempt = parcel->message->attempts + 1;
    add_text(parcel, "user-agent", "lull/" LULL_VERSION);
    if (*traceparent != '\0' &&
        lull_trace_context_parse(&trace, traceparent, strlen(traceparent)) == LULL_OK) {
        trace = lull_trace_context_child(&trace, &desk->random);
        lull_trace_context_format(&trace, parcel->traceparent);
        add_text(parcel, "traceparent", parcel->traceparent);
    }
    if (attempt > 1) {
        (void)snprintf(parcel->attempt, sizeof parcel->attempt, "%" PRIu32, attempt);
        add_text(parcel, "lull-attempt", parcel->attempt);
    }
}

int parcel_fill(struct parcel *parcel, struct parcel_desk *desk, int64_t wall_ms)
{
    struct transport_request *request = &parcel->request;
    const struct config *config = desk->config;
    transport_request_init(request, parcel->envelope.url);
    request->method = parcel->envelope.method;
    request->headers = parcel->headers;
    request->header_count = 0;
    request->body = parcel->message->body.data;
    request->body_length = parcel->message->body.length;
    request->connect_timeout_ms = config->limits.connect_timeout_ms;
    request->first_byte_timeout_ms = config->limits.first_byte_timeout_ms;
    request->timeout_ms = config->limits.timeout_ms;
    request->response_max = RESPONSE_MAX;
    request->is_public_only = !config->is_private_allowed;
    request->userdata = parcel;
    int error = parcel->message->kind == LULL_KIND_PUSH
                    ? add_push_headers(parcel, desk, wall_ms)
                    : add_webhook_headers(parcel, desk, wall_ms);
    if (error == LULL_OK) {
        add_common_headers(parcel, desk);
    }
    return error;
}

void parcel_free(struct parcel *parcel)
{
    transport_request_clean_up(&parcel->request);
    free(parcel->own_policy);
    free(parcel);
}
