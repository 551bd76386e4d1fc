/* subscription_json - a subscription out of JSON that has been read already, as a part of more. */
#ifndef LULL_WEBPUSH_SUBSCRIPTION_JSON_H
#define LULL_WEBPUSH_SUBSCRIPTION_JSON_H

#include <jansson.h>

#include "lull/subscription.h"

#define SUBSCRIPTION_NO_POINT "keys.p256dh is not an uncompressed point on the curve P-256"

/* As lull_subscription_parse, but p256dh is not checked to be on the curve: whoever encrypts to it
 * does that. If it is refused, *ret_member says where ("keys.auth", "" for the whole), and
 * *subscription is half filled. */
int subscription_read(struct lull_subscription *subscription, const json_t *object,
                      const char **ret_member, struct lull_webpush_error *error);

#endif
