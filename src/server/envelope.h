/*
 * envelope - what a message carries besides its numbers, packed into one piece for the store (Q4).
 *
 *   envelope_pack when it is accepted -> the store -> envelope_unpack when it is sent or shown
 *
 * Pure. It holds the endpoint: nothing of it goes into a log. The form has a version; one of a
 * later version, or that was damaged, is refused and never half read.
 */
#ifndef LULL_SERVER_ENVELOPE_H
#define LULL_SERVER_ENVELOPE_H

#include <stddef.h>
#include <stdint.h>

#include "lull/classify.h"
#include "lull/outcome.h"
#include "message.h"

#define ENVELOPE_HEADERS_MAX 32

/* Texts end with a zero that is not counted; where there is none, it is "". Out of _unpack they
 * point into what was unpacked. */
struct envelope {
    const char *url;            /* the endpoint, or the webhook's URL */
    const char *method;         /* "POST", or another of a webhook */
    const char *urgency;        /* as it is sent; "": not sent */
    const char *topic;          /* as it is sent */
    const char *key_id;         /* of the VAPID key; "": the first */
    const char *signer;         /* the name of a webhook secret; "": not signed */
    const char *policy;         /* as lull_policy_parse takes it, or a name of the configuration */
    const char *correlation_id; /* "": the message's own id */
    const char *idempotency_key;
    const char *traceparent; /* of the call that brought it */
    const char *content_type;
    int64_t received_ms; /* when it came; accepted_ms may be later, where it was to be delayed */
    size_t header_count; /* the webhook's own; names in lower case */
    struct lull_header headers[ENVELOPE_HEADERS_MAX];
};

/* How long the packed form will be; and writes it there. */
size_t envelope_size(const struct envelope *envelope);
void envelope_pack(const struct envelope *envelope, void *ret_data);

/* LULL_ERR_SYNTAX: damaged, or of a later version. */
int envelope_unpack(struct envelope *ret_envelope, const void *data, size_t length);

#endif
