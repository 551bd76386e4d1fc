/* config_number - see the header. SPDX-License-Identifier: MIT */
#include "config_number.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lull/duration.h"
#include "number_text.h"
#include "saturate.h"

struct unit {
    const char *name;
    int64_t size;
};

/* The largest first; 1 is the last, and ends a search. */
static const struct unit sizes[] = {
    {"GiB", INT64_C(1) << 30}, {"MiB", INT64_C(1) << 20}, {"KiB", INT64_C(1) << 10}, {"", 1}};
static const struct unit durations[] = {{"d", LULL_DAYS(1)},
                                        {"h", LULL_HOURS(1)},
                                        {"m", LULL_MINUTES(1)},
                                        {"s", LULL_SECONDS(1)},
                                        {"ms", 1}};
static const struct unit plain[] = {{"", 1}};

static const char *read_plain(struct text text, int64_t *ret_number)
{
    struct text rest = {0};
    return number_split(text, ret_number, &rest) && rest.length == 0 ? NULL : "a whole number";
}

static const char *read_size(struct text text, int64_t *ret_bytes)
{
    int64_t number = 0;
    struct text rest = {0};
    if (number_split(text, &number, &rest)) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
            if (text_is(rest, sizes[i].name)) {
                *ret_bytes = saturating_multiply(number, sizes[i].size);
                return NULL;
            }
        }
    }
    return "a number of bytes, or one with KiB, MiB or GiB";
}

static const char *read_seconds(struct text text, int64_t *ret_seconds)
{
    if (!number_duration(text, ret_seconds)) {
        return NUMBER_DURATION_FORM;
    }
    if (*ret_seconds % LULL_SECONDS(1) != 0) {
        return "a duration of whole seconds";
    }
    *ret_seconds /= LULL_SECONDS(1);
    return NULL;
}

static const char *read_yes_no(const char *text, int64_t *ret_number)
{
    static const char *const words[2][3] = {{"no", "false", "off"}, {"yes", "true", "on"}};
    for (int answer = 0; answer < 2; answer++) {
        for (size_t i = 0; i < 3; i++) {
            if (strcasecmp(text, words[answer][i]) == 0) {
                *ret_number = answer;
                return NULL;
            }
        }
    }
    return "yes or no";
}

const char *config_number_read(enum config_kind kind, const char *text, int64_t *ret_number)
{
    struct text whole = {text, strlen(text)};
    switch (kind) {
    case CONFIG_YES_NO:
        return read_yes_no(text, ret_number);
    case CONFIG_SIZE:
        return read_size(whole, ret_number);
    case CONFIG_MILLISECONDS:
        return number_duration(whole, ret_number) ? NULL : NUMBER_DURATION_FORM;
    case CONFIG_SECONDS:
        return read_seconds(whole, ret_number);
    default: /* a count; texts are no numbers */
        return read_plain(whole, ret_number);
    }
}

static const char *write_in(const struct unit *unit, int64_t number,
                            char buffer[CONFIG_NUMBER_SIZE])
{
    while (number == 0 ? unit->size != 1 : number % unit->size != 0) {
        unit++;
    }
    (void)snprintf(buffer, CONFIG_NUMBER_SIZE, "%" PRId64 "%s", number / unit->size,
                   number == 0 ? "" : unit->name);
    return buffer;
}

const char *config_number_write(enum config_kind kind, int64_t number,
                                char buffer[CONFIG_NUMBER_SIZE])
{
    switch (kind) {
    case CONFIG_SIZE:
        return write_in(sizes, number, buffer);
    case CONFIG_MILLISECONDS:
        return write_in(durations, number, buffer);
    case CONFIG_SECONDS:
        return write_in(durations, LULL_SECONDS(number), buffer);
    case CONFIG_YES_NO:
        return number ? "yes" : "no";
    default: /* a count; texts are no numbers */
        return write_in(plain, number, buffer);
    }
}
