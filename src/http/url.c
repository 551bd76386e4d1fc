/* url - see the header. SPDX-License-Identifier: MIT */
#include "url.h"

#include <arpa/inet.h>
#include <string.h>

#include "lull/error.h"
#include "lull/vendor.h"
#include "visible.h"

/* lull_url_host has seen to it that there are only digits. */
static uint16_t read_port(const char *digits, size_t length)
{
    unsigned port = 0;
    for (size_t i = 0; i < length; i++) {
        port = port * 10 + (unsigned)(digits[i] - '0');
    }
    return (uint16_t)port;
}

/* Brackets are for IPv6 addresses: without them, "[dead.beef]" would be looked up as a name. */
static bool is_ipv6(const char *text, size_t length)
{
    char copy[INET6_ADDRSTRLEN];
    struct in6_addr ignored;
    if (length >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    return inet_pton(AF_INET6, copy, &ignored) == 1;
}

int url_split(const char *text, struct url *ret_url)
{
    size_t length = strlen(text);
    const char *host = NULL;
    size_t host_length = 0;
    const char *slashes = memchr(text, ':', length < 6 ? length : 6);
    size_t front = slashes ? (size_t)(slashes - text) + strlen("://") : 0;
    front += front <= length ? strcspn(text + front, "/?#") : 0; /* as far as the path */
    if (front > length || lull_url_host(text, front, &host, &host_length) != LULL_OK ||
        !visible_is_clean(text, length, '!', true)) {
        return LULL_ERR_SYNTAX;
    }
    const char *end = text + length;
    const char *after_host = host + host_length;
    struct url url = {
        .is_https = (text[4] | ' ') == 's',
        .host = host,
        .host_length = host_length,
        .authority = host,
        .authority_length = host_length,
    };
    const char *path = after_host;
    if (path < end && *path == ':') {
        size_t digits = strspn(path + 1, "0123456789");
        url.port = read_port(path + 1, digits);
        if (digits > 0) {
            url.authority_length += 1 + digits;
            if (url.port == 0) {
                return LULL_ERR_SYNTAX;
            }
        }
        path += 1 + digits;
    }
    if (url.port == 0) {
        url.port = url.is_https ? 443 : 80;
    }
    if (*host == '[') {
        url.host++;
        url.host_length -= 2;
        if (!is_ipv6(url.host, url.host_length)) {
            return LULL_ERR_SYNTAX;
        }
    }
    url.path_length = strcspn(path, "#");
    url.path = path;
    if (url.path_length == 0) {
        url.path = "/";
        url.path_length = 1;
    }
    *ret_url = url;
    return LULL_OK;
}
