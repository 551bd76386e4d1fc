/*
 * vendor_table - what the push services do, as data (C13, V1 to V5).
 *
 * To add what a service has taught us: add a row, raise the version, add a case to
 * tests/core/test_classify.c. What every HTTP service does alike is not here but in classify.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "vendor_table.h"

#define TABLE_VERSION "2026-11-1"

const char *lull_vendor_table_version(void)
{
    return TABLE_VERSION;
}

static const struct lull_vendor_traits traits[LULL_VENDORS] = {
    [LULL_VENDOR_OTHER] = {.name = "other"},
    [LULL_VENDOR_FCM] = {.name = "fcm",
                         .status_page = "https://status.firebase.google.com/",
                         .retry_min_ms = 10000,
                         .throttle_rule = "P4",
                         .is_throttle_sender_wide = true},
    [LULL_VENDOR_MOZILLA] = {.name = "mozilla",
                             .status_page = "https://status.services.mozilla.com/",
                             .throttle_min_ms = 60000,
                             .throttle_rule = "P4",
                             .is_throttle_single_only = true},
    [LULL_VENDOR_APPLE] = {.name = "apple",
                           .status_page = "https://developer.apple.com/system-status/",
                           .throttle_rule = "V3",
                           .is_throttle_single_only = true},
    [LULL_VENDOR_WNS] = {.name = "wns", .status_page = "https://status.cloud.microsoft/"},
    [LULL_VENDOR_INVALID] = {.name = "invalid"},
};

const struct lull_vendor_traits *lull_vendor_lookup(enum lull_vendor vendor)
{
    return &traits[(unsigned)vendor < LULL_VENDORS ? vendor : LULL_VENDOR_OTHER];
}

#define MOZILLA_ERRNO(status_, errno_, class_name)                                                 \
    {                                                                                              \
        LULL_VENDOR_MOZILLA, status_, DETAIL_ERRNO, errno_, NULL, LULL_CLASS_##class_name, "V1"    \
    }
#define APPLE_REASON(status_, word_, class_name)                                                   \
    {                                                                                              \
        LULL_VENDOR_APPLE, status_, DETAIL_REASON, 0, word_, LULL_CLASS_##class_name, "V3"         \
    }
#define STATUS(vendor_name, status_, class_name, rule_)                                            \
    {                                                                                              \
        LULL_VENDOR_##vendor_name, status_, DETAIL_NONE, 0, NULL, LULL_CLASS_##class_name, rule_   \
    }

const struct vendor_row vendor_rows[] = {
    MOZILLA_ERRNO(400, 110, REJECTED), /* encryption headers */
    MOZILLA_ERRNO(400, 111, REJECTED), /* TTL */
    MOZILLA_ERRNO(400, 113, REJECTED), /* topic */
    MOZILLA_ERRNO(400, 114, REJECTED), /* negative TTL */
    MOZILLA_ERRNO(401, 109, AUTH),     /* every VAPID fault */
    MOZILLA_ERRNO(404, 102, GONE),
    MOZILLA_ERRNO(410, 103, GONE),
    MOZILLA_ERRNO(410, 105, GONE),
    MOZILLA_ERRNO(410, 106, GONE),
    MOZILLA_ERRNO(413, 104, TOO_LARGE),
    MOZILLA_ERRNO(502, 901, SERVER_ERROR),
    MOZILLA_ERRNO(502, 902, SERVER_ERROR),
    MOZILLA_ERRNO(502, 903, SERVER_ERROR),
    MOZILLA_ERRNO(503, 201, UNAVAILABLE), /* back off */
    MOZILLA_ERRNO(503, 202, UNAVAILABLE), /* retry */

    APPLE_REASON(400, "BadJwtToken", AUTH), /* a 403 is AUTH for everybody */
    APPLE_REASON(400, "BadVapidPublicKey", AUTH),
    APPLE_REASON(400, "VapidPkHashMismatch", AUTH),
    APPLE_REASON(400, "BadTtl", REJECTED),
    APPLE_REASON(400, "BadUrgency", REJECTED),
    APPLE_REASON(400, "BadWebPushTopic", REJECTED),
    APPLE_REASON(400, "BadWebPushRequest", REJECTED),

    STATUS(FCM, 403, AUTH, "V2"), /* key mismatch, in plain text; never gone (V5) */
    STATUS(FCM, 404, GONE, "V2"), /* unseen for 270 days */
    STATUS(FCM, 410, GONE, "V2"), /* unsubscribed */
    STATUS(WNS, 406, THROTTLED, "V4"),
};
const size_t vendor_row_count = sizeof vendor_rows / sizeof vendor_rows[0];
