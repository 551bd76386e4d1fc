/* topic - what may be in the Topic header of a push (RFC 8030, section 5.4). */
#ifndef LULL_WEBPUSH_TOPIC_H
#define LULL_WEBPUSH_TOPIC_H

#include <stdbool.h>

#define TOPIC_MAX 32

enum topic_form {
    TOPIC_GOOD,
    TOPIC_BAD_LENGTH,    /* none, or over TOPIC_MAX */
    TOPIC_BAD_CHARACTER, /* outside of base64url */
};

enum topic_form topic_form_of(const char *topic);

/* Apple refuses a good one too, if its length is 1 modulo 4, which base64 never has (V3). */
bool topic_is_refused_by_apple(const char *topic);

#endif
