/* cli - see the header. SPDX-License-Identifier: MIT */
#include "cli.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lull/duration.h"

int cli_usage(const char *command, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "lull %s: ", command);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\nTry 'lull help %s'.\n", command);
    va_end(arguments);
    return CLI_USAGE;
}

int cli_refuse_option(const char *command, const struct option *options, int code, const char *word)
{
    for (const struct option *option = options; option->name; option++) {
        if (option->val == optopt) {
            return cli_usage(command, "--%s %s", option->name,
                             code == ':' ? "needs a value" : "takes no value");
        }
    }
    if (optopt > 0) {
        return cli_usage(command, "there is no option -%c", optopt);
    }
    return cli_usage(command, "there is no option %.*s, or it could be several",
                     (int)strcspn(word, "="), word);
}

bool cli_is_token(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] <= ' ' || text[i] >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", text[i])) {
            return false;
        }
    }
    return length > 0;
}

bool cli_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number)
{
    uint64_t number = 0;
    if (*text == '\0') {
        return false;
    }
    for (; *text; text++) {
        unsigned digit = (unsigned)(*text - '0');
        if (digit > 9 || number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    if (number < min || number > max) {
        return false;
    }
    *ret_number = number;
    return true;
}

bool cli_parse_seconds(const char *text, int64_t *ret_ms)
{
    char whole[16] = "";
    size_t length = strcspn(text, ".");
    uint64_t seconds = 0;
    uint64_t thousandths = 0;
    if (length >= sizeof whole) {
        return false;
    }
    memcpy(whole, text, length);
    if (!cli_parse_number(whole, 0, (uint64_t)(LULL_WAIT_MAX_MS / 1000), &seconds)) {
        return false;
    }
    if (text[length] == '.') {
        char decimals[4] = "000";
        size_t count = strlen(text + length + 1);
        if (count < 1 || count > 3) {
            return false;
        }
        memcpy(decimals, text + length + 1, count);
        if (!cli_parse_number(decimals, 0, 999, &thousandths)) {
            return false;
        }
    }
    *ret_ms = (int64_t)(seconds * 1000 + thousandths);
    return true;
}

const char *cli_format_duration(int64_t ms, char buffer[CLI_DURATION_SIZE])
{
    static const struct {
        int64_t ms;
        const char *unit;
    } units[] = {{LULL_DAYS(1), "d"}, {LULL_HOURS(1), "h"}, {LULL_MINUTES(1), "min"}};
    if (ms == LULL_NEVER) {
        snprintf(buffer, CLI_DURATION_SIZE, "no limit");
        return buffer;
    }
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (ms < units[i].ms) {
            continue;
        }
        int64_t rest = ms % units[i].ms;
        int64_t below = i + 1 < sizeof units / sizeof units[0] ? units[i + 1].ms : 1000;
        const char *unit = i + 1 < sizeof units / sizeof units[0] ? units[i + 1].unit : "s";
        if (rest / below == 0) {
            snprintf(buffer, CLI_DURATION_SIZE, "%" PRId64 " %s", ms / units[i].ms, units[i].unit);
        } else {
            snprintf(buffer, CLI_DURATION_SIZE, "%" PRId64 " %s %" PRId64 " %s", ms / units[i].ms,
                     units[i].unit, rest / below, unit);
        }
        return buffer;
    }
    if (ms >= 1000) {
        snprintf(buffer, CLI_DURATION_SIZE, "%" PRId64 ".%" PRId64 " s", ms / 1000,
                 ms % 1000 / 100);
    } else {
        snprintf(buffer, CLI_DURATION_SIZE, "%" PRId64 " ms", ms);
    }
    return buffer;
}
