/* intake_target - see the header. SPDX-License-Identifier: MIT */
#include "intake_target.h"

#include <stdio.h>
#include <string.h>

#include "address.h"
#include "fold.h"
#include "lull/error.h"
#include "url.h"

/* Would a host of this name be taken for one of the vendors? */
static bool is_vendor_name(const char *name, size_t length)
{
    for (int i = 0; i < LULL_VENDORS; i++) {
        const char *vendor = lull_vendor_lookup((enum lull_vendor)i)->name;
        if (strlen(vendor) == length && memcmp(vendor, name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Without the final dot that a name may have, and with brackets again around an IPv6 address.
 * False: it is too long. */
static bool name_host(struct intake_target *target, const struct url *url)
{
    size_t length = url->host_length;
    bool is_v6 = memchr(url->host, ':', length) != NULL;
    length -= url->host[length - 1] == '.';
    if (length == 0 || length + sizeof "[]:65535" > sizeof target->service) {
        return false;
    }
    char *at = target->service;
    *at = '[';
    at += is_v6;
    fold_copy(at, url->host, length);
    at += length;
    *at = ']';
    at += is_v6;
    *at = '\0';
    target->service_length = (size_t)(at - target->service);
    if (url->port != (url->is_https ? 443 : 80) ||
        is_vendor_name(target->service, target->service_length)) {
        target->service_length += (size_t)snprintf(at, sizeof ":65535", ":%u", url->port);
    }
    return true;
}

static void name_vendor(struct intake_target *target)
{
    const char *name = lull_vendor_lookup(target->vendor)->name;
    target->service_length = strlen(name);
    memcpy(target->service, name, target->service_length + 1);
}

int intake_target_read(struct intake_target *ret_target, const struct config *config,
                       enum lull_kind kind, const char *url, const char *member,
                       struct intake_problem *problem)
{
    struct url parts;
    if (url_split(url, &parts) != LULL_OK) {
        return intake_refuse(problem, LULL_ERR_RANGE, member,
                             "%s must be an absolute https or http URL with a host in ASCII, "
                             "without user, spaces or controls",
                             member);
    }
    if (kind == LULL_KIND_PUSH && !parts.is_https && !config->is_private_allowed) {
        return intake_refuse(problem, LULL_ERR_RANGE, member,
                             "%s must be https; http is for practice, where the server allows "
                             "private targets",
                             member);
    }
    ret_target->vendor = lull_vendor_from_host(parts.host, parts.host_length);
    if (ret_target->vendor == LULL_VENDOR_INVALID) {
        return intake_refuse(problem, LULL_ERR_RANGE, member,
                             "%s is under .invalid, where nobody can ever be reached; a browser "
                             "says so that the subscription is gone",
                             member);
    }
    if (!config->is_private_allowed && address_host_is_private(parts.host, parts.host_length)) {
        return intake_refuse(problem, LULL_ERR_RANGE, member,
                             "%s must not be on a private, loopback or link-local address; the "
                             "server's allow_private is off",
                             member);
    }
    if (ret_target->vendor != LULL_VENDOR_OTHER) {
        name_vendor(ret_target);
    } else if (!name_host(ret_target, &parts)) {
        return intake_refuse(problem, LULL_ERR_RANGE, member, "%s has a host that is too long",
                             member);
    }
    return LULL_OK;
}
