/* json_scan - see the header. SPDX-License-Identifier: MIT */
#include "json_scan.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "text.h"

struct scanner {
    const unsigned char *at;
    const unsigned char *end;
};

/* Where a string's characters go: as many as fit. */
struct sink {
    char *data;
    size_t size; /* 0: nowhere */
    size_t length;
    bool is_cut;
};

static void skip_space(struct scanner *scanner)
{
    while (scanner->at < scanner->end && (*scanner->at == ' ' || *scanner->at == '\t' ||
                                          *scanner->at == '\n' || *scanner->at == '\r')) {
        scanner->at++;
    }
}

static bool take(struct scanner *scanner, char c)
{
    if (scanner->at == scanner->end || *scanner->at != (unsigned char)c) {
        return false;
    }
    scanner->at++;
    return true;
}

static void put(struct sink *sink, unsigned char byte)
{
    if (sink->size == 0) {
        return;
    }
    if (byte == 0 || sink->length + 1 >= sink->size) {
        sink->is_cut = true;
        return;
    }
    sink->data[sink->length++] = (char)byte;
}

static void put_code_point(struct sink *sink, uint32_t code)
{
    if (code < 0x80) {
        put(sink, (unsigned char)code);
    } else if (code < 0x800) {
        put(sink, (unsigned char)(0xc0 | (code >> 6)));
        put(sink, (unsigned char)(0x80 | (code & 0x3f)));
    } else if (code < 0x10000) {
        put(sink, (unsigned char)(0xe0 | (code >> 12)));
        put(sink, (unsigned char)(0x80 | ((code >> 6) & 0x3f)));
        put(sink, (unsigned char)(0x80 | (code & 0x3f)));
    } else {
        put(sink, (unsigned char)(0xf0 | (code >> 18)));
        put(sink, (unsigned char)(0x80 | ((code >> 12) & 0x3f)));
        put(sink, (unsigned char)(0x80 | ((code >> 6) & 0x3f)));
        put(sink, (unsigned char)(0x80 | (code & 0x3f)));
    }
}

static bool scan_hex4(struct scanner *scanner, uint32_t *ret_code)
{
    uint32_t code = 0;
    for (int i = 0; i < 4; i++) {
        if (scanner->at == scanner->end) {
            return false;
        }
        char c = to_lower((char)*scanner->at++);
        if (is_digit(c)) {
            code = code * 16 + (uint32_t)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            code = code * 16 + (uint32_t)(c - 'a') + 10;
        } else {
            return false;
        }
    }
    *ret_code = code;
    return true;
}

/* Behind a backslash. A half of a surrogate pair without the other is no character. */
static bool scan_escape(struct scanner *scanner, struct sink *sink)
{
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    if (scanner->at == scanner->end) {
        return false;
    }
    char c = (char)*scanner->at++;
    const char *simple = c != '\0' ? strchr(names, c) : NULL;
    if (simple) {
        put(sink, (unsigned char)values[simple - names]);
        return true;
    }
    uint32_t code = 0;
    uint32_t low = 0;
    if (c != 'u' || !scan_hex4(scanner, &code) || (code >= 0xdc00 && code <= 0xdfff)) {
        return false;
    }
    if (code >= 0xd800 && code <= 0xdbff) {
        if (!take(scanner, '\\') || !take(scanner, 'u') || !scan_hex4(scanner, &low) ||
            low < 0xdc00 || low > 0xdfff) {
            return false;
        }
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    put_code_point(sink, code);
    return true;
}

/* One character of UTF-8 of more than one byte: shortest form, no surrogates, within Unicode. */
static bool scan_utf8(struct scanner *scanner, struct sink *sink)
{
    unsigned char first = *scanner->at;
    int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    uint32_t least = more == 3 ? 0x10000 : more == 2 ? 0x800 : 0x80;
    uint32_t code = first & (0x3fU >> more);
    if (first < 0xc2 || first > 0xf4 || scanner->end - scanner->at <= more) {
        return false;
    }
    for (int i = 1; i <= more; i++) {
        if ((scanner->at[i] & 0xc0) != 0x80) {
            return false;
        }
        code = (code << 6) | (scanner->at[i] & 0x3f);
    }
    if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
        return false;
    }
    put_code_point(sink, code);
    scanner->at += more + 1;
    return true;
}

static bool scan_string(struct scanner *scanner, struct sink *sink)
{
    if (!take(scanner, '"')) {
        return false;
    }
    while (scanner->at < scanner->end && *scanner->at != '"') {
        unsigned char c = *scanner->at;
        bool is_good = false;
        if (c == '\\') {
            scanner->at++;
            is_good = scan_escape(scanner, sink);
        } else if (c >= 0x80) {
            is_good = scan_utf8(scanner, sink);
        } else if (c >= 0x20) {
            put(sink, c);
            scanner->at++;
            is_good = true;
        }
        if (!is_good) {
            return false;
        }
    }
    if (sink->size > 0) {
        sink->data[sink->length] = '\0';
    }
    return take(scanner, '"');
}

static size_t skip_digits(struct scanner *scanner)
{
    const unsigned char *start = scanner->at;
    while (scanner->at < scanner->end && is_digit((char)*scanner->at)) {
        scanner->at++;
    }
    return (size_t)(scanner->at - start);
}

/* *ret_is_whole says whether the value is a whole number within int. */
static bool scan_number(struct scanner *scanner, int *ret_number, bool *ret_is_whole)
{
    bool is_negative = take(scanner, '-');
    const unsigned char *digits = scanner->at;
    size_t count = skip_digits(scanner);
    if (count == 0 || (count > 1 && digits[0] == '0')) {
        return false;
    }
    long long value = 0;
    for (size_t i = 0; i < count && value <= INT_MAX; i++) {
        value = value * 10 + (digits[i] - '0');
    }
    *ret_is_whole = value <= INT_MAX;
    *ret_number = *ret_is_whole ? (int)(is_negative ? -value : value) : 0;
    if (take(scanner, '.')) {
        *ret_is_whole = false;
        if (skip_digits(scanner) == 0) {
            return false;
        }
    }
    if (take(scanner, 'e') || take(scanner, 'E')) {
        *ret_is_whole = false;
        if (!take(scanner, '+')) {
            take(scanner, '-');
        }
        return skip_digits(scanner) > 0;
    }
    return true;
}

static bool scan_word(struct scanner *scanner, const char *word)
{
    size_t length = strlen(word);
    if ((size_t)(scanner->end - scanner->at) < length || memcmp(scanner->at, word, length) != 0) {
        return false;
    }
    scanner->at += length;
    return true;
}

/* A value that is neither object nor array. wanted may be NULL. */
static bool scan_scalar(struct scanner *scanner, struct json_wanted *wanted)
{
    if (scanner->at == scanner->end) {
        return false;
    }
    if (*scanner->at == '"') {
        struct sink sink = {NULL, 0, 0, false};
        if (wanted) {
            sink = (struct sink){wanted->string, sizeof wanted->string, 0, false};
        }
        bool is_good = scan_string(scanner, &sink);
        if (wanted) {
            wanted->is_string = is_good;
            wanted->is_cut = sink.is_cut;
        }
        return is_good;
    }
    if (*scanner->at == '-' || is_digit((char)*scanner->at)) {
        int number = 0;
        bool is_whole = false;
        bool is_good = scan_number(scanner, &number, &is_whole);
        if (wanted) {
            wanted->is_number = is_good && is_whole;
            wanted->number = number;
        }
        return is_good;
    }
    return scan_word(scanner, "true") || scan_word(scanner, "false") || scan_word(scanner, "null");
}

/* Reads `"name":` and says which wanted member it is. A name that does not fit is none of ours. */
static bool scan_name(struct scanner *scanner, struct json_wanted *wanted, size_t wanted_count,
                      struct json_wanted **ret_wanted)
{
    char name[32] = "";
    struct sink sink = {name, wanted_count > 0 ? sizeof name : 0, 0, false};
    *ret_wanted = NULL;
    skip_space(scanner);
    if (!scan_string(scanner, &sink)) {
        return false;
    }
    for (size_t i = 0; i < wanted_count && !sink.is_cut; i++) {
        if (strcmp(name, wanted[i].name) == 0) {
            *ret_wanted = &wanted[i];
            wanted[i].is_string = wanted[i].is_number = wanted[i].is_cut = false;
        }
    }
    skip_space(scanner);
    return take(scanner, ':');
}

/* The containers that are open: a bit each, set for an object. */
struct nesting {
    uint64_t is_object;
    unsigned depth;
};

static bool is_in_object(const struct nesting *nesting)
{
    return (nesting->is_object >> (nesting->depth - 1)) & 1;
}

static bool open_container(struct nesting *nesting, bool is_object)
{
    if (nesting->depth == JSON_DEPTH_MAX) {
        return false;
    }
    uint64_t bit = UINT64_C(1) << nesting->depth;
    nesting->is_object = is_object ? nesting->is_object | bit : nesting->is_object & ~bit;
    nesting->depth++;
    return true;
}

/* Behind a value: closes what ends here. True with *ret_more set if another value follows. */
static bool close_containers(struct scanner *scanner, struct nesting *nesting, bool *ret_more)
{
    while (nesting->depth > 0) {
        skip_space(scanner);
        if (take(scanner, ',')) {
            *ret_more = true;
            return true;
        }
        if (!take(scanner, is_in_object(nesting) ? '}' : ']')) {
            return false;
        }
        nesting->depth--;
    }
    *ret_more = false;
    return true;
}

/* One value, or the opening of a container that is not empty. *ret_is_open says which. */
static bool scan_value(struct scanner *scanner, struct nesting *nesting, struct json_wanted *wanted,
                       bool *ret_is_open)
{
    skip_space(scanner);
    bool is_object = take(scanner, '{');
    *ret_is_open = false;
    if (!is_object && !take(scanner, '[')) {
        return scan_scalar(scanner, wanted);
    }
    skip_space(scanner);
    if (take(scanner, is_object ? '}' : ']')) {
        return nesting->depth < JSON_DEPTH_MAX;
    }
    *ret_is_open = true;
    return open_container(nesting, is_object);
}

bool json_scan(const char *text, size_t length, struct json_wanted *wanted, size_t wanted_count)
{
    struct scanner scanner = {(const unsigned char *)text, (const unsigned char *)text + length};
    struct nesting nesting = {0, 0};
    bool has_more = true;
    for (size_t i = 0; i < wanted_count; i++) {
        wanted[i].is_string = wanted[i].is_number = wanted[i].is_cut = false;
    }
    skip_space(&scanner);
    if (scanner.at == scanner.end || *scanner.at != '{') {
        return false;
    }
    while (has_more) {
        struct json_wanted *member = NULL;
        bool is_open = false;
        if (nesting.depth > 0 && is_in_object(&nesting) &&
            !scan_name(&scanner, wanted, nesting.depth == 1 ? wanted_count : 0, &member)) {
            return false;
        }
        if (!scan_value(&scanner, &nesting, member, &is_open)) {
            return false;
        }
        if (!is_open && !close_containers(&scanner, &nesting, &has_more)) {
            return false;
        }
    }
    skip_space(&scanner);
    return scanner.at == scanner.end;
}
