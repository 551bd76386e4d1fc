/*
 * classify - what an outcome means, before any thought of retrying (C2 to C8, C10, C11, C13).
 *
 * Looked at in this order, and the first that speaks wins:
 *   the policy's mapping of a problem+json type (C10, not for a 2xx), the policy's own status table
 *   (C11), a 429 that may be about our JWT (C8), the vendor's table (C13, V1-V5), the general rules
 *   (C2-C6). C8 and the vendor's table are for pushes only.
 */
#ifndef LULL_CLASSIFY_H
#define LULL_CLASSIFY_H

#include "lull/api.h"
#include "lull/outcome.h"
#include "lull/vendor.h"

LULL_BEGIN_DECLS

struct lull_policy;

enum lull_class {
    LULL_CLASS_PENDING, /* nothing has happened yet */
    LULL_CLASS_SUCCESS,
    LULL_CLASS_THROTTLED,      /* a healthy service refuses this sender: 429 */
    LULL_CLASS_UNAVAILABLE,    /* a service out of capacity: 503 */
    LULL_CLASS_SERVER_ERROR,   /* any other status worth another try */
    LULL_CLASS_TRANSPORT,      /* no answer, worth another try */
    LULL_CLASS_AUTH_SUSPECT,   /* a 429 that may be about our JWT (C8) */
    LULL_CLASS_AUTH,           /* 401, 403 */
    LULL_CLASS_GONE,           /* 404, 410 */
    LULL_CLASS_TOO_LARGE,      /* 413 */
    LULL_CLASS_REJECTED,       /* never worth another try: 400 and its like */
    LULL_CLASS_INVALID_TARGET, /* there is nobody to send to */
    LULL_CLASS_CANCELLED,
    LULL_CLASSES, /* how many there are */
};

/* What is sent, as far as the verdict depends on it. */
enum lull_kind {
    LULL_KIND_PUSH,      /* a Web Push message from the queue */
    LULL_KIND_WEBHOOK,   /* a plain HTTP message from the queue */
    LULL_KIND_REQUEST,   /* a caller waits for the response */
    LULL_KIND_OPERATION, /* a caller's own operation, not HTTP */
    LULL_KINDS,          /* how many there are */
};

struct lull_classification {
    enum lull_class class_;
    const char *rule;    /* the requirement that spoke, e.g. "C4" */
    bool is_dead_letter; /* the policy wants this kept as a dead letter, also for a caller (C10) */
};

LULL_API struct lull_classification lull_classify(const struct lull_policy *policy,
                                                  enum lull_kind kind, enum lull_vendor vendor,
                                                  const struct lull_outcome *outcome);

/* Is the class worth another try? AUTH_SUSPECT is, once. */
LULL_API bool lull_class_is_retryable(enum lull_class class_);

LULL_API const char *lull_class_to_string(enum lull_class class_);
LULL_API const char *lull_kind_to_string(enum lull_kind kind);
LULL_API int lull_kind_from_string(const char *word, enum lull_kind *ret_kind);

LULL_END_DECLS

#endif
