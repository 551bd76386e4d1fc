/* csv - see the header. SPDX-License-Identifier: MIT */
#include "csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *file)
{
    fprintf(stderr, "csv: %s: %s\n", what, file);
    abort();
}

/* Splits in place. "" inside of quotes is one quote. */
static void split(struct csv_row *row)
{
    char *in = row->line;
    char *out = row->line;
    row->count = 0;
    while (row->count < CSV_FIELDS_MAX) {
        row->fields[row->count++] = out;
        int is_quoted = *in == '"';
        in += is_quoted;
        while (*in && (is_quoted ? !(in[0] == '"' && in[1] != '"') : *in != ',')) {
            in += is_quoted && *in == '"';
            *out++ = *in++;
        }
        in += is_quoted && *in == '"';
        char end = *in++;
        *out++ = '\0';
        if (end == '\0') {
            return;
        }
    }
}

size_t csv_each(const char *file, void (*each)(const struct csv_row *row))
{
    char path[1024];
    const char *root = getenv("LULL_SOURCE_ROOT");
    static struct csv_row row;
    size_t count = 0;
    snprintf(path, sizeof path, "%s/tests/data/%s", root ? root : ".", file);
    FILE *in = fopen(path, "r");
    if (!in || !fgets(row.line, sizeof row.line, in)) {
        die("cannot be read (set LULL_SOURCE_ROOT)", path);
    }
    while (fgets(row.line, sizeof row.line, in)) {
        row.line[strcspn(row.line, "\r\n")] = '\0';
        split(&row);
        each(&row);
        count++;
    }
    fclose(in);
    return count;
}

static void put_utf8(char **out, unsigned code)
{
    if (code < 0x80) {
        *(*out)++ = (char)code;
    } else if (code < 0x800) {
        *(*out)++ = (char)(0xc0 | (code >> 6));
        *(*out)++ = (char)(0x80 | (code & 0x3f));
    } else {
        *(*out)++ = (char)(0xe0 | (code >> 12));
        *(*out)++ = (char)(0x80 | ((code >> 6) & 0x3f));
        *(*out)++ = (char)(0x80 | (code & 0x3f));
    }
}

const char *csv_json_string(const char *json, size_t *ret_length)
{
    static char value[4096];
    static const char names[] = "nrtbf\"\\/";
    static const char values[] = "\n\r\t\b\f\"\\/";
    char *out = value;
    if (*json != '"') {
        return NULL;
    }
    for (json++; *json && *json != '"'; json++) {
        if (*json != '\\') {
            *out++ = *json;
            continue;
        }
        json++;
        if (*json == 'u') {
            char hex[5] = {json[1], json[2], json[3], json[4], '\0'};
            put_utf8(&out, (unsigned)strtoul(hex, NULL, 16));
            json += 4;
        } else {
            *out++ = values[strchr(names, *json) - names];
        }
    }
    *out = '\0';
    *ret_length = (size_t)(out - value);
    return value;
}
