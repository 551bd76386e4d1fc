/*
 * parcel - a message on its way out: its envelope opened, and the request that is made of it.
 *
 *   parcel_open on the engine's thread -> parcel_fill, the transport on a sender's -> parcel_close
 *
 * It borrows the message, whose envelope and body must last. Its memory is used again for another.
 */
#ifndef LULL_SERVER_PARCEL_H
#define LULL_SERVER_PARCEL_H

#include <stdbool.h>
#include <stdint.h>

#include "authorizer.h"
#include "config.h"
#include "engine.h"
#include "envelope.h"
#include "lull/random.h"
#include "lull/trace_context.h"
#include "message.h"
#include "transport.h"

struct parcel {
    struct parcel *next;     /* in a row on its way to or from a sender */
    struct parcel *out_next; /* of those that its transport has */
    struct parcel *out_previous;
    struct message *message;
    struct envelope envelope;
    enum lull_vendor vendor;
    struct lull_policy *own_policy; /* room for one that the shelf has no place for; or NULL */
    bool is_token_doubted;
    bool is_returned;     /* it was not sent, or nobody knows: to wait again */
    int64_t remaining_ms; /* of its TTL */
    struct transport_request request;

    /* The texts of its headers. */
    struct lull_header headers[ENVELOPE_HEADERS_MAX + 12];
    char id[MESSAGE_ID_TEXT_SIZE];
    char ttl[24];
    char attempt[12];
    char timestamp[24];
    char traceparent[LULL_TRACEPARENT_SIZE];
    union {
        char authorization[AUTHORIZATION_SIZE];      /* of a push */
        char signature[LULL_WEBHOOK_SIGNATURE_SIZE]; /* of a webhook */
    } proof;
};

/* False: the envelope makes no sense. */
bool parcel_open(struct parcel *parcel, struct message *message);

/* What a sender needs to make requests. */
struct parcel_desk {
    const struct config *config;
    struct authorizer *authorizer;
    struct lull_random random; /* for span ids */
};

/* Makes the request (W1, T3, W4, G7, L5). wall_ms is the real wall clock. LULL_ERR_UNKNOWN: its
 * VAPID key or its webhook secret is not there any more; LULL_ERR_MEMORY, and what
 * lull_vapid_authorize says. */
int parcel_fill(struct parcel *parcel, struct parcel_desk *desk, int64_t wall_ms);

/* With all its buffers. */
void parcel_free(struct parcel *parcel);

#endif
