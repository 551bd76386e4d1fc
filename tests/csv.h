/* csv - reads the vector files in tests/data: quoted fields, and JSON strings within them. */
#ifndef LULL_TESTS_CSV_H
#define LULL_TESTS_CSV_H

#include <stddef.h>

#define CSV_FIELDS_MAX 16

struct csv_row {
    char *fields[CSV_FIELDS_MAX];
    size_t count;
    char line[4096];
};

/* Calls each(row) for every row but the first (the names). Returns how many there were; aborts
 * the test program if the file cannot be read. */
size_t csv_each(const char *file, void (*each)(const struct csv_row *row));

/* The value of a JSON string literal, as bytes; NULL for null. *ret_length without the final
 * zero. Valid until the next call. */
const char *csv_json_string(const char *json, size_t *ret_length);

#endif
