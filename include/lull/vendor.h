/*
 * vendor - the push services that Lull knows by name, and what is special about each (P1, V1-V5).
 *
 * The facts are one table in src/core/vendor_table.c, with a version.
 */
#ifndef LULL_VENDOR_H
#define LULL_VENDOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/api.h"

LULL_BEGIN_DECLS

enum lull_vendor {
    LULL_VENDOR_OTHER,   /* any host that is not below: a service of its own */
    LULL_VENDOR_FCM,     /* fcm.googleapis.com */
    LULL_VENDOR_MOZILLA, /* *.push.services.mozilla.com and kin */
    LULL_VENDOR_APPLE,   /* *.push.apple.com */
    LULL_VENDOR_WNS,     /* *.notify.windows.com */
    LULL_VENDOR_INVALID, /* anything under .invalid: no such service can ever be (S6) */
    LULL_VENDORS,        /* how many there are */
};

struct lull_vendor_traits {
    const char *name;
    const char *status_page;      /* where its operators say what is wrong; NULL if none (K4) */
    int64_t retry_min_ms;         /* no retry sooner than this (V2) */
    int64_t throttle_min_ms;      /* 429 without Retry-After; 0: the policy's (A5) */
    bool is_throttle_sender_wide; /* one 429 means the whole sender (P4) */
    const char *throttle_rule;    /* the requirement that says so; NULL if nothing is special */
    bool is_throttle_single_only; /* one 429 never means more than one subscription (P4) */
};

/* The version of the table of facts, as year-month-number. */
LULL_API const char *lull_vendor_table_version(void);

/* By the host of an endpoint, without port; letters in any case, a final dot allowed. */
LULL_API enum lull_vendor lull_vendor_from_host(const char *host, size_t length);

LULL_API const struct lull_vendor_traits *lull_vendor_lookup(enum lull_vendor vendor);

/* Finds the host in an absolute http or https URL: a pointer into url. Returns 0, or
 * LULL_ERR_SYNTAX: no such scheme, no host, user info, a bad port, a space or a control. */
LULL_API int lull_url_host(const char *url, size_t length, const char **ret_host,
                           size_t *ret_host_length);

LULL_END_DECLS

#endif
