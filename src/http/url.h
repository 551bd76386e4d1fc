/*
 * url - the parts of an absolute http or https URL that a request needs. Pure; points into the
 * text.
 *
 * Strict: what would have to be guessed at is refused. The path is kept byte for byte (V4).
 */
#ifndef LULL_HTTP_URL_H
#define LULL_HTTP_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct url {
    bool is_https;
    const char *host; /* without brackets; letters as they were */
    size_t host_length;
    uint16_t port;         /* 443 or 80 where none was said */
    const char *authority; /* host and port as they were written, without an empty port */
    size_t authority_length;
    const char *path; /* with the query, without the fragment; "/" if there is none. One that begins
                         with '?' is to be sent with a '/' before it */
    size_t path_length;
};

/* LULL_ERR_SYNTAX: other scheme, no host, user info, a bad port, brackets around what is no IPv6
 * address, or a byte that is no part of a URL (controls, space, above 126). ret_url is untouched
 * then. */
int url_split(const char *text, struct url *ret_url);

#endif
