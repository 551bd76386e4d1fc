/* time_read - see the header. SPDX-License-Identifier: MIT */
#include "time_read.h"

#include <stdbool.h>
#include <time.h>

#include "lull/error.h"

/* A reading position. A failed read sets is_bad, so that a form can be read in one go. */
struct cursor {
    const char *at;
    const char *end;
    bool is_bad;
};

static bool take(struct cursor *cursor, const char *any)
{
    for (; cursor->at < cursor->end && *any; any++) {
        if (*cursor->at == *any) {
            cursor->at++;
            return true;
        }
    }
    return false;
}

static void read_one(struct cursor *cursor, const char *any)
{
    cursor->is_bad = !take(cursor, any) || cursor->is_bad;
}

static int read_digits(struct cursor *cursor, int count)
{
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (cursor->at == cursor->end || *cursor->at < '0' || *cursor->at > '9') {
            cursor->is_bad = true;
            return 0;
        }
        value = value * 10 + (*cursor->at++ - '0');
    }
    return value;
}

/* The digits behind a point, of which the first three count. */
static int64_t read_fraction_ms(struct cursor *cursor)
{
    int64_t ms = 0;
    int64_t unit = 100;
    if (!take(cursor, ".")) {
        return 0;
    }
    do {
        ms += unit * read_digits(cursor, 1);
        unit /= 10;
    } while (!cursor->is_bad && cursor->at < cursor->end && *cursor->at >= '0' &&
             *cursor->at <= '9');
    return ms;
}

/* What is to be taken off for UTC. */
static int read_offset_s(struct cursor *cursor, bool *ret_is_possible)
{
    if (take(cursor, "Zz")) {
        return 0;
    }
    bool is_west = cursor->at < cursor->end && *cursor->at == '-';
    read_one(cursor, "+-");
    int hours = read_digits(cursor, 2);
    read_one(cursor, ":");
    int minutes = read_digits(cursor, 2);
    *ret_is_possible = *ret_is_possible && hours < 24 && minutes < 60;
    return (hours * 3600 + minutes * 60) * (is_west ? -1 : 1);
}

int time_read(const char *text, size_t length, int64_t *ret_ms)
{
    struct cursor cursor = {text, text + length, false};
    int year = read_digits(&cursor, 4);
    read_one(&cursor, "-");
    int month = read_digits(&cursor, 2);
    read_one(&cursor, "-");
    int day = read_digits(&cursor, 2);
    read_one(&cursor, "Tt ");
    int hour = read_digits(&cursor, 2);
    read_one(&cursor, ":");
    int minute = read_digits(&cursor, 2);
    read_one(&cursor, ":");
    int second = read_digits(&cursor, 2);
    int64_t fraction_ms = read_fraction_ms(&cursor);
    bool is_possible = hour < 24 && minute < 60 && second <= 60;
    int offset_s = read_offset_s(&cursor, &is_possible);
    if (cursor.is_bad || cursor.at != cursor.end) {
        return LULL_ERR_SYNTAX;
    }
    bool is_leap_second = second == 60; /* the one after 59, as on most clocks */
    struct tm tm = {.tm_year = year - 1900,
                    .tm_mon = month - 1,
                    .tm_mday = day,
                    .tm_hour = hour,
                    .tm_min = minute,
                    .tm_sec = second - is_leap_second};
    int64_t seconds = timegm(&tm) + is_leap_second;
    /* timegm makes the first of March of a 29th of February where there is none. */
    is_possible = is_possible && tm.tm_mday == day && tm.tm_mon == month - 1;
    if (!is_possible) {
        return LULL_ERR_RANGE;
    }
    *ret_ms = (seconds - offset_s) * 1000 + fraction_ms;
    return LULL_OK;
}
