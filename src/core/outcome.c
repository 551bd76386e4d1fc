/* outcome - see the header. SPDX-License-Identifier: MIT */
#include "lull/outcome.h"

#include <string.h>

#include "lull/error.h"

static const struct {
    const char *word;
    enum lull_effect effect;
} transports[LULL_TRANSPORTS] = {
    [LULL_TRANSPORT_NONE] = {"none", LULL_EFFECT_NOT_SENT},
    [LULL_TRANSPORT_DNS] = {"dns", LULL_EFFECT_NOT_SENT},
    [LULL_TRANSPORT_DNS_NOT_FOUND] = {"dns_not_found", LULL_EFFECT_NOT_SENT},
    [LULL_TRANSPORT_REFUSED] = {"refused", LULL_EFFECT_NOT_SENT},
    [LULL_TRANSPORT_CONNECT_TIMEOUT] = {"connect_timeout", LULL_EFFECT_NOT_SENT},
    [LULL_TRANSPORT_TLS] = {"tls", LULL_EFFECT_NOT_SENT},
    [LULL_TRANSPORT_TLS_HANDSHAKE] = {"tls_handshake", LULL_EFFECT_NOT_SENT},
    [LULL_TRANSPORT_RESET] = {"reset", LULL_EFFECT_UNKNOWN},
    [LULL_TRANSPORT_TIMEOUT] = {"timeout", LULL_EFFECT_UNKNOWN},
    [LULL_TRANSPORT_PROTOCOL] = {"protocol", LULL_EFFECT_UNKNOWN},
    [LULL_TRANSPORT_REFUSED_STREAM] = {"refused_stream", LULL_EFFECT_REFUSED},
    [LULL_TRANSPORT_GOAWAY] = {"goaway", LULL_EFFECT_REFUSED},
    [LULL_TRANSPORT_MALFORMED_URL] = {"malformed_url", LULL_EFFECT_NOT_SENT},
    [LULL_TRANSPORT_FORBIDDEN] = {"forbidden", LULL_EFFECT_NOT_SENT},
    [LULL_TRANSPORT_CANCELLED] = {"cancelled", LULL_EFFECT_UNKNOWN},
};

enum lull_effect lull_outcome_effect(const struct lull_outcome *outcome)
{
    switch (outcome->kind) {
    case LULL_OUTCOME_STATUS:
        return LULL_EFFECT_REFUSED;
    case LULL_OUTCOME_TRANSPORT:
        return transports[outcome->transport].effect;
    case LULL_OUTCOME_OPERATION:
        return LULL_EFFECT_UNKNOWN;
    case LULL_OUTCOME_PENDING:
    default:
        return LULL_EFFECT_NOT_SENT;
    }
}

const char *lull_effect_to_string(enum lull_effect effect)
{
    static const char *const words[] = {"not_sent", "refused", "unknown"};
    return words[effect];
}

const char *lull_transport_to_string(enum lull_transport transport)
{
    return transports[transport].word;
}

int lull_transport_from_string(const char *word, enum lull_transport *ret_transport)
{
    for (int i = LULL_TRANSPORT_NONE + 1; i < LULL_TRANSPORTS; i++) {
        if (strcmp(word, transports[i].word) == 0) {
            *ret_transport = (enum lull_transport)i;
            return LULL_OK;
        }
    }
    return LULL_ERR_UNKNOWN;
}
