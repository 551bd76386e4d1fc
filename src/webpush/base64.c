/* base64 - both alphabets, strict. SPDX-License-Identifier: MIT */
#include "base64.h"

#include <stdbool.h>
#include <stdint.h>

#include "lull/error.h"
#include "lull/webpush.h"

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static size_t encode(const char *alphabet, bool is_padded, const uint8_t *data, size_t length,
                     char *out)
{
    size_t written = 0;
    for (size_t i = 0; i < length; i += 3) {
        size_t count = length - i < 3 ? length - i : 3;
        uint32_t bits = (uint32_t)data[i] << 16;
        bits |= count > 1 ? (uint32_t)data[i + 1] << 8 : 0;
        bits |= count > 2 ? data[i + 2] : 0;
        for (size_t k = 0; k <= count; k++) {
            out[written++] = alphabet[bits >> (18 - 6 * k) & 63];
        }
        for (size_t k = count; is_padded && k < 3; k++) {
            out[written++] = '=';
        }
    }
    out[written] = '\0';
    return written;
}

size_t base64_encode(const void *data, size_t length, char *out)
{
    return encode(standard, true, data, length, out);
}

size_t lull_base64url_encode(const void *data, size_t length, char *out)
{
    return encode(url_safe, false, data, length, out);
}

static int digit_of(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    if (c == '+' || c == '-') {
        return 62;
    }
    return c == '/' || c == '_' ? 63 : -1;
}

int lull_base64_decode(const char *text, size_t length, uint8_t *out, size_t size,
                       size_t *ret_length)
{
    size_t digits = length;
    while (digits > 0 && length - digits < 2 && text[digits - 1] == '=') {
        digits--;
    }
    bool is_whole = length == digits || length % 4 == 0; /* padding, where there is any, is right */
    if (!is_whole || digits % 4 == 1) {
        return LULL_ERR_SYNTAX;
    }
    size_t wanted = digits / 4 * 3 + digits % 4 * 3 / 4;
    uint32_t bits = 0;
    unsigned bit_count = 0;
    size_t written = 0;
    bool is_standard = false;
    bool is_url_safe = false;
    for (size_t i = 0; i < digits; i++) {
        if (digit_of(text[i]) < 0) {
            return LULL_ERR_SYNTAX;
        }
        is_standard = is_standard || text[i] == '+' || text[i] == '/';
        is_url_safe = is_url_safe || text[i] == '-' || text[i] == '_';
    }
    if (is_standard && is_url_safe) { /* a text is of one alphabet */
        return LULL_ERR_SYNTAX;
    }
    if (digits % 4 != 0) { /* what is left over must be zero, so that each value has one text */
        unsigned spare = digits % 4 == 2 ? 0xf : 0x3;
        if ((unsigned)digit_of(text[digits - 1]) & spare) {
            return LULL_ERR_SYNTAX;
        }
    }
    if (wanted > size) {
        return LULL_ERR_FULL;
    }
    for (size_t i = 0; i < digits; i++) {
        bits = bits << 6 | (uint32_t)digit_of(text[i]);
        bit_count += 6;
        if (bit_count >= 8) {
            bit_count -= 8;
            out[written++] = (uint8_t)(bits >> bit_count);
        }
    }
    *ret_length = written;
    return LULL_OK;
}
