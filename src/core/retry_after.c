/* retry_after - see the header. SPDX-License-Identifier: MIT */
#include "lull/retry_after.h"

#include <stdbool.h>

#include "lull/duration.h"
#include "lull/error.h"
#include "lull/http_date.h"
#include "saturate.h"
#include "text.h"

/* From here on a number of seconds can only be an epoch: as a wait it would be 31 years (A6). */
#define EPOCH_MIN_S INT64_C(1000000000)

#define DAY_S INT64_C(86400)

/* Digits only, at least one. Stops growing at INT64_MAX. */
static bool parse_number(struct text text, int64_t *ret_number)
{
    int64_t number = 0;
    for (size_t i = 0; i < text.length; i++) {
        if (!is_digit(text.data[i])) {
            return false;
        }
        number = saturating_add(saturating_multiply(number, 10), text.data[i] - '0');
    }
    *ret_number = number;
    return text.length > 0;
}

static struct lull_retry_after wait_ok(int64_t wait_ms)
{
    int64_t bounded = max_i64(0, min_i64(wait_ms, LULL_WAIT_MAX_MS));
    return (struct lull_retry_after){LULL_RETRY_AFTER_OK, bounded};
}

static struct lull_retry_after wait_malformed(void)
{
    return (struct lull_retry_after){LULL_RETRY_AFTER_MALFORMED, 0};
}

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? saturating_sub(a, b) : saturating_sub(b, a);
}

/* From now until target: by the server's clock if it can be believed, else by ours (A2). */
static struct lull_retry_after wait_until(int64_t target_s,
                                          const struct lull_retry_after_clock *clock)
{
    int64_t date_s = 0;
    int64_t now_s = clock->now_ms / 1000;
    if (clock->date &&
        lull_http_date_parse(clock->date, clock->date_length, now_s, &date_s) == LULL_OK &&
        (distance(date_s, now_s) <= DAY_S || distance(date_s, target_s) <= DAY_S)) {
        return wait_ok(saturating_multiply(max_i64(0, saturating_sub(target_s, date_s)), 1000));
    }
    return wait_ok(saturating_sub(saturating_multiply(max_i64(0, target_s), 1000), clock->now_ms));
}

struct lull_retry_after lull_retry_after_parse(const char *text, size_t length,
                                               const struct lull_retry_after_clock *clock)
{
    if (!text) {
        return (struct lull_retry_after){LULL_RETRY_AFTER_ABSENT, 0};
    }
    struct text value = text_trim(text, length);
    int64_t number = 0;
    if (parse_number(value, &number)) {
        return number >= EPOCH_MIN_S ? wait_until(number, clock) : wait_ok(number * 1000);
    }
    int64_t epoch_s = 0;
    if (lull_http_date_parse(value.data, value.length, clock->now_ms / 1000, &epoch_s) == LULL_OK) {
        return wait_until(epoch_s, clock);
    }
    return wait_malformed();
}

struct lull_retry_after lull_retry_after_parse_ms(const char *text, size_t length)
{
    int64_t number = 0;
    return parse_number(text_trim(text, length), &number) ? wait_ok(number) : wait_malformed();
}

const char *lull_retry_after_state_to_string(enum lull_retry_after_state state)
{
    static const char *const words[] = {"absent", "ok", "malformed"};
    return words[state];
}
