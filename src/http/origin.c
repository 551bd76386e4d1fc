/* origin - see the header. SPDX-License-Identifier: MIT */
#include "origin.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "fold.h"

/* The host ends at the last colon, unless that is inside the brackets of an IPv6 address. */
static size_t host_length(const char *authority, size_t length)
{
    for (size_t i = length; i > 0 && authority[i - 1] != ']'; i--) {
        if (authority[i - 1] == ':') {
            return i - 1;
        }
    }
    return length;
}

struct origin origin_of(const char *url)
{
    const char *scheme_end = strstr(url, "://");
    bool is_https = scheme_end && scheme_end - url == 5 && strncasecmp(url, "https", 5) == 0;
    const char *authority = scheme_end ? scheme_end + 3 : url;
    size_t length = 0;
    while (authority[length] != '\0' && authority[length] != '/' && authority[length] != '?' &&
           authority[length] != '#' && authority[length] != '\\') {
        length++;
    }
    for (size_t i = length; i > 0; i--) { /* without user and password */
        if (authority[i - 1] == '@') {
            authority += i;
            length -= i;
            break;
        }
    }
    size_t host = host_length(authority, length);
    const char *port = authority + host;
    size_t port_length = length - host;
    if (port_length > 0) { /* the colon */
        port++;
        port_length--;
    }
    while (port_length > 1 && *port == '0') {
        port++;
        port_length--;
    }
    if (port_length == 0) {
        port = is_https ? "443" : "80";
        port_length = strlen(port);
    }
    size_t dotless = host > 0 && authority[host - 1] == '.' ? host - 1 : host;
    uint64_t key = fold_hash(FOLD_HASH_SEED, is_https ? "https:" : "http:", 6);
    key = fold_hash(key, authority, dotless);
    key = fold_hash(fold_hash(key, ":", 1), port, port_length);
    return (struct origin){key, lull_vendor_from_host(authority, host)};
}
