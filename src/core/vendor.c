/* vendor - from an endpoint to the service behind it. SPDX-License-Identifier: MIT */
#include "lull/vendor.h"

#include "lull/error.h"
#include "text.h"

static const struct {
    const char *domain; /* itself and all below it */
    enum lull_vendor vendor;
} domains[] = {
    {"fcm.googleapis.com", LULL_VENDOR_FCM},
    {"push.services.mozilla.com", LULL_VENDOR_MOZILLA},
    {"autopush.mozilla.com", LULL_VENDOR_MOZILLA},
    {"autopush.mozaws.net", LULL_VENDOR_MOZILLA},
    {"push.apple.com", LULL_VENDOR_APPLE},
    {"notify.windows.com", LULL_VENDOR_WNS},
    {"invalid", LULL_VENDOR_INVALID},
};

static bool is_within(struct text host, const char *domain)
{
    size_t length = strlen(domain);
    if (host.length < length ||
        (host.length > length && host.data[host.length - length - 1] != '.')) {
        return false;
    }
    return text_is_nocase((struct text){host.data + host.length - length, length}, domain);
}

enum lull_vendor lull_vendor_from_host(const char *host, size_t length)
{
    struct text text = {host, length};
    if (length > 0 && host[length - 1] == '.') {
        text.length--;
    }
    for (size_t i = 0; i < sizeof domains / sizeof domains[0]; i++) {
        if (is_within(text, domains[i].domain)) {
            return domains[i].vendor;
        }
    }
    return LULL_VENDOR_OTHER;
}

static bool starts_with_nocase(const char *text, size_t length, const char *lower)
{
    size_t wanted = strlen(lower);
    return length >= wanted && text_is_nocase((struct text){text, wanted}, lower);
}

static bool is_port(const char *text, size_t length)
{
    unsigned port = 0;
    for (size_t i = 0; i < length; i++) {
        if (!is_digit(text[i])) {
            return false;
        }
        port = port * 10 + (unsigned)(text[i] - '0');
        if (port > 65535) {
            return false;
        }
    }
    return true; /* an empty port is the default one (RFC 3986) */
}

static bool is_host_character(char c)
{
    char lower = to_lower(c);
    return is_digit(c) || (lower >= 'a' && lower <= 'z') || c == '.' || c == '-' || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* Where the host ends: behind a bracketed IPv6 address, or at the first character of no name. */
static size_t host_length(const char *authority, size_t length)
{
    size_t i = 0;
    if (length > 0 && authority[0] == '[') {
        for (i = 1; i < length && authority[i] != ']'; i++) {
            if (!is_digit(authority[i]) && authority[i] != ':' && authority[i] != '.' &&
                !(to_lower(authority[i]) >= 'a' && to_lower(authority[i]) <= 'f')) {
                return 0;
            }
        }
        return i < length && i > 2 ? i + 1 : 0;
    }
    while (i < length && is_host_character(authority[i])) {
        i++;
    }
    return i;
}

int lull_url_host(const char *url, size_t length, const char **ret_host, size_t *ret_host_length)
{
    size_t scheme = starts_with_nocase(url, length, "https://")  ? strlen("https://")
                    : starts_with_nocase(url, length, "http://") ? strlen("http://")
                                                                 : 0;
    if (scheme == 0) {
        return LULL_ERR_SYNTAX;
    }
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)url[i] <= ' ' || url[i] == 0x7f) {
            return LULL_ERR_SYNTAX;
        }
    }
    const char *authority = url + scheme;
    size_t authority_length = 0;
    while (scheme + authority_length < length && authority[authority_length] != '/' &&
           authority[authority_length] != '?' && authority[authority_length] != '#') {
        authority_length++;
    }
    size_t host = host_length(authority, authority_length);
    if (host == 0) {
        return LULL_ERR_SYNTAX;
    }
    if (host < authority_length &&
        (authority[host] != ':' || !is_port(authority + host + 1, authority_length - host - 1))) {
        return LULL_ERR_SYNTAX;
    }
    *ret_host = authority;
    *ret_host_length = host;
    return LULL_OK;
}
