/*
 * json_scan - finds members of a JSON object without building it.
 *
 * Pure: no allocation, no recursion, bounded depth. The whole text must be valid JSON (RFC 8259,
 * UTF-8 checked) or nothing is found: half of a broken body is no ground for a verdict.
 */
#ifndef LULL_CORE_JSON_SCAN_H
#define LULL_CORE_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

#define JSON_DEPTH_MAX 64

/* A member of the top-level object to look for. */
struct json_wanted {
    const char *name;
    bool is_string; /* found, and its value is a string ... */
    bool is_number; /* ... or a whole number within int */
    bool is_cut;    /* the string did not fit, or holds a NUL */
    int number;
    char string[128]; /* unescaped, zero-terminated */
};

/* True if the text is a valid JSON object. Fills in what was found; the last of two equal names
 * counts. Names are compared after unescaping. */
bool json_scan(const char *text, size_t length, struct json_wanted *wanted, size_t wanted_count);

#endif
