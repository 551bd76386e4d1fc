/* endpoint - what may be said of an endpoint: its origin and its hash. SPDX-License-Identifier: MIT
 */
#include <openssl/evp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lull/error.h"
#include "lull/subscription.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

int lull_endpoint_origin(const char *endpoint, char ret_origin[LULL_ORIGIN_SIZE])
{
    const char *host = NULL;
    size_t host_length = 0;
    char port[24] = "";
    if (lull_url_host(endpoint, strlen(endpoint), &host, &host_length) != LULL_OK) {
        return LULL_ERR_SYNTAX;
    }
    for (size_t i = 0; i < host_length; i++) {
        if ((unsigned char)host[i] >= 0x80) {
            return LULL_ERR_SYNTAX;
        }
    }
    size_t length = (size_t)(host - endpoint) + host_length;
    if (endpoint[length] == ':') { /* lull_url_host has seen to it that a number follows, or none */
        const char *digits = endpoint + length + 1;
        char *end = NULL;
        unsigned long number = strtoul(digits, &end, 10);
        unsigned long usual = host - endpoint == (ptrdiff_t)strlen("https://") ? 443 : 80;
        if (end > digits && number != usual) { /* an empty port is the usual one, 0 is not */
            (void)snprintf(port, sizeof port, ":%lu", number);
        }
    }
    if (length + strlen(port) >= LULL_ORIGIN_SIZE) {
        return LULL_ERR_FULL;
    }
    for (size_t i = 0; i < length; i++) {
        ret_origin[i] = lower(endpoint[i]);
    }
    memcpy(ret_origin + length, port, strlen(port) + 1);
    return LULL_OK;
}

void lull_endpoint_hash(const char *endpoint, char ret_hash[LULL_ENDPOINT_HASH_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char sum[EVP_MAX_MD_SIZE] = {0};
    unsigned length = 0;
    (void)EVP_Digest(endpoint, strlen(endpoint), sum, &length, EVP_sha256(), NULL);
    static const char prefix[] = "sha256:";
    (void)snprintf(ret_hash, LULL_ENDPOINT_HASH_SIZE, "%s", prefix);
    char *at = ret_hash + strlen(prefix);
    for (size_t i = 0; i < 32; i++) {
        *at++ = digits[sum[i] >> 4];
        *at++ = digits[sum[i] & 15];
    }
    *at = '\0';
}
