/* address - see the header. SPDX-License-Identifier: MIT */
#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

struct block {
    uint8_t prefix[16];
    unsigned bits;
};

/* The special-purpose registries of IANA, as far as they are not globally reachable. */
static const struct block special_v4[] = {
    {{0}, 8},             /* this network */
    {{10}, 8},            /* private */
    {{100, 64}, 10},      /* shared by carriers */
    {{127}, 8},           /* loopback */
    {{169, 254}, 16},     /* link-local, and the clouds' metadata */
    {{172, 16}, 12},      /* private */
    {{192, 0, 0}, 24},    /* protocol assignments */
    {{192, 0, 2}, 24},    /* documentation */
    {{192, 88, 99}, 24},  /* 6to4 relays, gone */
    {{192, 168}, 16},     /* private */
    {{198, 18}, 15},      /* benchmarks */
    {{198, 51, 100}, 24}, /* documentation */
    {{203, 0, 113}, 24},  /* documentation */
    {{224}, 4},           /* multicast */
    {{240}, 4},           /* reserved, and broadcast */
};

static const struct block special_v6[] = {
    {{0x20, 0x01, 0x00}, 23},       /* protocol assignments, Teredo */
    {{0x20, 0x01, 0x0d, 0xb8}, 32}, /* documentation */
    {{0x3f, 0xff}, 20},             /* documentation */
};

/* These hold an IPv4 address, so many bytes from their start. */
static const struct {
    struct block block;
    size_t offset;
} carriers[] = {
    {{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96}, 12}, /* mapped */
    {{{0, 0x64, 0xff, 0x9b}, 96}, 12},                      /* NAT64 */
    {{{0x20, 0x02}, 16}, 2},                                /* 6to4 */
};

static const struct block global_unicast_v6 = {{0x20}, 3};

static bool is_in(const uint8_t *bytes, const struct block *block)
{
    unsigned whole = block->bits / 8;
    unsigned rest = block->bits % 8;
    uint8_t mask = (uint8_t)(0xff00U >> rest);
    return memcmp(bytes, block->prefix, whole) == 0 &&
           (rest == 0 || (bytes[whole] & mask) == block->prefix[whole]);
}

static bool is_in_any(const uint8_t *bytes, const struct block *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (is_in(bytes, &blocks[i])) {
            return true;
        }
    }
    return false;
}

static bool is_public_v4(const uint8_t bytes[4])
{
    return !is_in_any(bytes, special_v4, sizeof special_v4 / sizeof special_v4[0]);
}

static bool is_public_v6(const uint8_t bytes[16])
{
    for (size_t i = 0; i < sizeof carriers / sizeof carriers[0]; i++) {
        if (is_in(bytes, &carriers[i].block)) {
            return is_public_v4(bytes + carriers[i].offset);
        }
    }
    return is_in(bytes, &global_unicast_v6) &&
           !is_in_any(bytes, special_v6, sizeof special_v6 / sizeof special_v6[0]);
}

bool address_is_public(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        return is_public_v4((const uint8_t *)&v4.sin_addr);
    }
    if (address->sa_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, address, sizeof v6);
        return is_public_v6((const uint8_t *)&v6.sin6_addr);
    }
    return false;
}

bool address_text_is_public(const char *text)
{
    uint8_t bytes[16];
    if (inet_pton(AF_INET, text, bytes) == 1) {
        return is_public_v4(bytes);
    }
    return inet_pton(AF_INET6, text, bytes) == 1 && is_public_v6(bytes);
}

/* localhost, and all below it (RFC 6761, section 6.3). A final dot changes nothing. */
static bool is_localhost(const char *host, size_t length)
{
    static const char name[] = "localhost";
    size_t name_length = sizeof name - 1;
    length -= length > 0 && host[length - 1] == '.';
    return length >= name_length &&
           strncasecmp(host + length - name_length, name, name_length) == 0 &&
           (length == name_length || host[length - name_length - 1] == '.');
}

bool address_host_is_private(const char *host, size_t length)
{
    char text[64]; /* no address is that long, in any writing */
    struct in_addr v4;
    struct in6_addr v6;
    if (length >= sizeof text) {
        return is_localhost(host, length);
    }
    memcpy(text, host, length);
    text[length] = '\0';
    if (inet_pton(AF_INET6, text, &v6) == 1) {
        return !is_public_v6((const uint8_t *)&v6);
    }
    if (inet_aton(text, &v4)) {
        return !is_public_v4((const uint8_t *)&v4);
    }
    return is_localhost(host, length);
}
