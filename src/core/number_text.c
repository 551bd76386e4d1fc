/* number_text - see the header. SPDX-License-Identifier: MIT */
#include "number_text.h"

#include "lull/duration.h"
#include "saturate.h"

bool number_split(struct text text, int64_t *ret_number, struct text *ret_rest)
{
    size_t i = 0;
    int64_t number = 0;
    for (; i < text.length && is_digit(text.data[i]); i++) {
        number = saturating_add(saturating_multiply(number, 10), text.data[i] - '0');
    }
    *ret_number = number;
    *ret_rest = (struct text){text.data + i, text.length - i};
    return i > 0;
}

bool number_duration(struct text text, int64_t *ret_ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1},
                 {"s", LULL_SECONDS(1)},
                 {"m", LULL_MINUTES(1)},
                 {"h", LULL_HOURS(1)},
                 {"d", LULL_DAYS(1)}};
    int64_t number = 0;
    struct text rest = {0};
    if (!number_split(text, &number, &rest)) {
        return false;
    }
    if (rest.length == 0 && number == 0) {
        *ret_ms = 0;
        return true;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (text_is(rest, units[i].unit)) {
            *ret_ms = saturating_multiply(number, units[i].ms);
            return true;
        }
    }
    return false;
}
