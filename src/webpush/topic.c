/* topic - see the header. SPDX-License-Identifier: MIT */
#include "topic.h"

#include <string.h>

enum topic_form topic_form_of(const char *topic)
{
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t length = strlen(topic);
    if (length == 0 || length > TOPIC_MAX) {
        return TOPIC_BAD_LENGTH;
    }
    return strspn(topic, alphabet) == length ? TOPIC_GOOD : TOPIC_BAD_CHARACTER;
}

bool topic_is_refused_by_apple(const char *topic)
{
    return strlen(topic) % 4 == 1;
}
