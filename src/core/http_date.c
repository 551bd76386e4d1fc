/* http_date - see the header. SPDX-License-Identifier: MIT */
#include "lull/http_date.h"

#include <stdbool.h>

#include "lull/error.h"
#include "text.h"

/* The fields as they stand in the text. */
struct civil {
    int64_t year;
    int month; /* 1..12 */
    int day;
    int hour;
    int minute;
    int second;
};

/* A reading position. A failed read sets is_bad, so that a format can be read in one go. */
struct cursor {
    const char *at;
    const char *end;
    bool is_bad;
};

static const char month_names[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                        "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char day_names[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

/* What a long day name has behind its first three letters. */
static const char *const day_endings[7] = {"day", "day", "sday", "nesday", "rsday", "day", "urday"};

static void read_literal(struct cursor *cursor, const char *literal)
{
    size_t length = strlen(literal);
    if ((size_t)(cursor->end - cursor->at) < length || memcmp(cursor->at, literal, length) != 0) {
        cursor->is_bad = true;
        return;
    }
    cursor->at += length;
}

static int read_digits(struct cursor *cursor, int count)
{
    int value = 0;
    for (int i = 0; i < count; i++) {
        if (cursor->at == cursor->end || !is_digit(*cursor->at)) {
            cursor->is_bad = true;
            return 0;
        }
        value = value * 10 + (*cursor->at - '0');
        cursor->at++;
    }
    return value;
}

/* The index of the three letters that stand at the cursor. */
static int read_name(struct cursor *cursor, const char (*names)[4], int count)
{
    if (cursor->end - cursor->at >= 3) {
        for (int i = 0; i < count; i++) {
            if (memcmp(cursor->at, names[i], 3) == 0) {
                cursor->at += 3;
                return i;
            }
        }
    }
    cursor->is_bad = true;
    return 0;
}

static void read_clock(struct cursor *cursor, struct civil *civil)
{
    civil->hour = read_digits(cursor, 2);
    read_literal(cursor, ":");
    civil->minute = read_digits(cursor, 2);
    read_literal(cursor, ":");
    civil->second = read_digits(cursor, 2);
}

/* Sun, 06 Nov 1994 08:49:37 GMT */
static bool read_imf_fixdate(struct cursor cursor, struct civil *civil)
{
    read_name(&cursor, day_names, 7);
    read_literal(&cursor, ", ");
    civil->day = read_digits(&cursor, 2);
    read_literal(&cursor, " ");
    civil->month = read_name(&cursor, month_names, 12) + 1;
    read_literal(&cursor, " ");
    civil->year = read_digits(&cursor, 4);
    read_literal(&cursor, " ");
    read_clock(&cursor, civil);
    read_literal(&cursor, " GMT");
    return !cursor.is_bad && cursor.at == cursor.end;
}

/* Sunday, 06-Nov-94 08:49:37 GMT; the year is 0..99 then. */
static bool read_rfc850(struct cursor cursor, struct civil *civil)
{
    read_literal(&cursor, day_endings[read_name(&cursor, day_names, 7)]);
    read_literal(&cursor, ", ");
    civil->day = read_digits(&cursor, 2);
    read_literal(&cursor, "-");
    civil->month = read_name(&cursor, month_names, 12) + 1;
    read_literal(&cursor, "-");
    civil->year = read_digits(&cursor, 2);
    read_literal(&cursor, " ");
    read_clock(&cursor, civil);
    read_literal(&cursor, " GMT");
    return !cursor.is_bad && cursor.at == cursor.end;
}

/* Sun Nov  6 08:49:37 1994 */
static bool read_asctime(struct cursor cursor, struct civil *civil)
{
    read_name(&cursor, day_names, 7);
    read_literal(&cursor, " ");
    civil->month = read_name(&cursor, month_names, 12) + 1;
    read_literal(&cursor, " ");
    bool is_padded = cursor.at < cursor.end && *cursor.at == ' ';
    cursor.at += is_padded;
    civil->day = read_digits(&cursor, is_padded ? 1 : 2);
    read_literal(&cursor, " ");
    read_clock(&cursor, civil);
    read_literal(&cursor, " ");
    civil->year = read_digits(&cursor, 4);
    return !cursor.is_bad && cursor.at == cursor.end;
}

static bool is_leap_year(int64_t year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int days_in_month(int64_t year, int month)
{
    static const int days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap_year(year));
}

static bool is_possible(const struct civil *civil)
{
    if (civil->day < 1 || civil->day > days_in_month(civil->year, civil->month) ||
        civil->hour > 23 || civil->minute > 59 || civil->second > 60) {
        return false;
    }
    return civil->second < 60 || (civil->hour == 23 && civil->minute == 59 &&
                                  civil->day == days_in_month(civil->year, civil->month));
}

/* Days since 1970-01-01 in the Gregorian calendar, before it too. Years begin in March here, so
 * that the leap day is the last of its year; 400 of them are always 146,097 days. */
static int64_t days_from_civil(int64_t year, int month, int day)
{
    int64_t march_year = month <= 2 ? year - 1 : year;
    int64_t era = (march_year >= 0 ? march_year : march_year - 399) / 400;
    int64_t year_of_era = march_year - era * 400;
    int64_t day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
    int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

static int64_t epoch_from_civil(const struct civil *civil)
{
    return days_from_civil(civil->year, civil->month, civil->day) * 86400 +
           INT64_C(3600) * civil->hour + INT64_C(60) * civil->minute + civil->second;
}

/* The year of an instant: an estimate from the mean year, which is at most one off, put right. */
static int64_t year_from_epoch(int64_t epoch_s)
{
    int64_t year = 1970 + epoch_s / 31556952;
    while (days_from_civil(year + 1, 1, 1) * 86400 <= epoch_s) {
        year++;
    }
    while (days_from_civil(year, 1, 1) * 86400 > epoch_s) {
        year--;
    }
    return year;
}

/* RFC 9110 5.6.7: a two-digit year that would be more than fifty years ahead is the most recent
 * past year with those digits. So: the latest year that is not more than fifty years ahead. */
static int64_t full_year(struct civil civil, int64_t now_epoch_s)
{
    int64_t now_year = year_from_epoch(now_epoch_s);
    int64_t horizon = now_year + 50;
    int64_t year = horizon - ((horizon - civil.year) % 100 + 100) % 100;
    if (year == horizon) {
        /* Same year as the horizon: compare within the year, both taken back to now's. */
        civil.year = now_year;
        if (epoch_from_civil(&civil) > now_epoch_s) {
            year -= 100;
        }
    }
    return year;
}

/* The character behind the three letters of the day tells which form it can only be. */
static bool read_any(struct cursor cursor, int64_t now_epoch_s, struct civil *civil)
{
    char fourth = cursor.end - cursor.at > 3 ? cursor.at[3] : '\0';
    if (fourth == ',') {
        return read_imf_fixdate(cursor, civil);
    }
    if (fourth == ' ') {
        return read_asctime(cursor, civil);
    }
    if (!read_rfc850(cursor, civil)) {
        return false;
    }
    /* A clock outside of what a date can say must not make the search for a year long. */
    int64_t end = INT64_C(253402300799);
    int64_t now = now_epoch_s < 0 ? 0 : now_epoch_s > end ? end : now_epoch_s;
    civil->year = full_year(*civil, now);
    return true;
}

int lull_http_date_parse(const char *text, size_t length, int64_t now_epoch_s, int64_t *ret_epoch_s)
{
    struct text trimmed = text_trim(text, length);
    struct cursor cursor = {trimmed.data, trimmed.data + trimmed.length, false};
    struct civil civil = {0};
    if (!read_any(cursor, now_epoch_s, &civil)) {
        return LULL_ERR_SYNTAX;
    }
    if (!is_possible(&civil)) {
        return LULL_ERR_RANGE;
    }
    *ret_epoch_s = epoch_from_civil(&civil);
    return LULL_OK;
}
