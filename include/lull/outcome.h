/*
 * outcome - what became of one attempt (C1), and whether it can have had an effect (C12).
 *
 * All pointers are borrowed for the time of the call.
 */
#ifndef LULL_OUTCOME_H
#define LULL_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/api.h"

LULL_BEGIN_DECLS

/* Why there is no status. */
enum lull_transport {
    LULL_TRANSPORT_NONE,            /* there is one */
    LULL_TRANSPORT_DNS,             /* the name could not be looked up just now */
    LULL_TRANSPORT_DNS_NOT_FOUND,   /* there is no such name */
    LULL_TRANSPORT_REFUSED,         /* connection refused, or no route */
    LULL_TRANSPORT_CONNECT_TIMEOUT, /* no connection in time */
    LULL_TRANSPORT_TLS,             /* the certificate is not to be trusted */
    LULL_TRANSPORT_TLS_HANDSHAKE,   /* the handshake broke off before anything was sent */
    LULL_TRANSPORT_RESET,           /* reset or closed before the headers arrived */
    LULL_TRANSPORT_TIMEOUT,         /* sent, and no answer in time */
    LULL_TRANSPORT_PROTOCOL,        /* sent, and the answer was no HTTP */
    LULL_TRANSPORT_REFUSED_STREAM,  /* HTTP/2 REFUSED_STREAM: not processed */
    LULL_TRANSPORT_GOAWAY,          /* HTTP/2 GOAWAY below this stream: not processed */
    LULL_TRANSPORT_MALFORMED_URL,   /* nothing to connect to */
    LULL_TRANSPORT_FORBIDDEN,       /* the address is private and not allowed (W5) */
    LULL_TRANSPORT_CANCELLED,       /* by the caller */
    LULL_TRANSPORTS,                /* how many there are */
};

/* Can the request have had an effect? Duplicates can only come from UNKNOWN. */
enum lull_effect {
    LULL_EFFECT_NOT_SENT,
    LULL_EFFECT_REFUSED, /* answered, or provably not processed */
    LULL_EFFECT_UNKNOWN, /* sent, no answer */
};

struct lull_header {
    const char *name;
    size_t name_length;
    const char *value;
    size_t value_length;
};

enum lull_outcome_kind {
    LULL_OUTCOME_PENDING,   /* not attempted yet: may it be sent? */
    LULL_OUTCOME_STATUS,    /* an HTTP status arrived: it stands, whatever came after */
    LULL_OUTCOME_TRANSPORT, /* none did */
    LULL_OUTCOME_OPERATION, /* not HTTP: the caller's own operation (H3) */
};

struct lull_outcome {
    enum lull_outcome_kind kind;
    unsigned status;               /* STATUS: 100 to 999 */
    enum lull_transport transport; /* TRANSPORT */
    bool is_success;               /* OPERATION */
    bool is_transient;             /* OPERATION that failed */
    const struct lull_header *headers;
    size_t header_count;
    const char *body; /* as much of it as was kept, or NULL; read up to 16 KB (C10) */
    size_t body_length;
};

LULL_API enum lull_effect lull_outcome_effect(const struct lull_outcome *outcome);

LULL_API const char *lull_effect_to_string(enum lull_effect effect);
LULL_API const char *lull_transport_to_string(enum lull_transport transport);

/* By the word that _to_string gives. LULL_ERR_UNKNOWN for any other. */
LULL_API int lull_transport_from_string(const char *word, enum lull_transport *ret_transport);

LULL_END_DECLS

#endif
