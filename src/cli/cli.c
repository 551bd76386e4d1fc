/* cli - see the header. SPDX-License-Identifier: MIT */
#include "cli.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lull/duration.h"
#include "lull/error.h"
#include "lull/os.h"
#include "lull/policy.h"

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

bool cli_split_header(const char *text, size_t *ret_name_length, const char **ret_value)
{
    const char *colon = strchr(text, ':');
    if (!colon || !cli_is_token(text, (size_t)(colon - text)) || strpbrk(colon, "\r\n")) {
        return false;
    }
    *ret_name_length = (size_t)(colon - text);
    *ret_value = colon + 1 + strspn(colon + 1, " \t");
    return true;
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

/* Up to max + 1 bytes, so that the caller sees that there are more; -1 and errno. */
static ssize_t read_up_to(int fd, char *text, size_t max)
{
    size_t length = 0;
    ssize_t count = 1;
    while (length <= max && count != 0) {
        count = read(fd, text + length, max + 1 - length);
        if (count < 0 && errno != EINTR) {
            return -1;
        }
        length += count > 0 ? (size_t)count : 0;
    }
    return (ssize_t)length;
}

/* The name is not repeated: it may be the content itself, pasted in the wrong place. One block from
 * the start, so that no copy of a secret is left behind by a block that grew. */
char *cli_read_file(const char *command, const char *what, const char *path, size_t max,
                    size_t *ret_length)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        (void)cli_usage(command, "%s cannot be read: %s", what, strerror(errno));
        return NULL;
    }
    char *text = malloc(max + 2);
    ssize_t length = text ? read_up_to(fd, text, max) : -1;
    if (!text || length < 0) {
        (void)cli_usage(command, "%s cannot be read: %s", what, strerror(errno));
    } else if ((size_t)length > max) {
        (void)cli_usage(command, "%s is too big: at most %zu bytes", what, max);
    }
    if (!is_stdin) {
        (void)close(fd);
    }
    if (length < 0 || (size_t)length > max) {
        if (text) {
            explicit_bzero(text, max + 2);
        }
        free(text);
        return NULL;
    }
    text[length] = '\0';
    *ret_length = (size_t)length;
    return text;
}

int cli_read_seconds(const char *command, const char *option, const char *text, int64_t *ret_ms)
{
    int64_t ms = 0;
    if (!cli_parse_seconds(text, &ms) || ms == 0 || ms > LULL_DAYS(20)) {
        return cli_usage(command, "--%s must be seconds, more than 0, with up to three decimals",
                         option);
    }
    *ret_ms = ms;
    return CLI_OK;
}

int cli_read_count(const char *command, const char *option, const char *text, uint64_t min,
                   uint64_t max, uint64_t *ret_count)
{
    if (!cli_parse_number(text, min, max, ret_count)) {
        return cli_usage(command, "--%s must be a whole number from %" PRIu64 " to %" PRIu64,
                         option, min, max);
    }
    return CLI_OK;
}

int cli_read_policy(const char *command, const char *usual, const char *text,
                    struct lull_policy *ret_policy)
{
    struct lull_policy_error error;
    char named[1024];
    bool has_name = *text != '\0' && strcspn(text, "= ,") == strcspn(text, " ,");
    int length =
        snprintf(named, sizeof named, "%s%s%s", has_name ? "" : usual, has_name ? "" : " ", text);
    if (length < 0 || (size_t)length >= sizeof named) {
        return cli_usage(command, "--policy is too long");
    }
    if (lull_policy_parse(ret_policy, named, (size_t)length, &error) != LULL_OK) {
        size_t offset = error.offset + 1 - (has_name ? 0 : strlen(usual) + 1);
        return cli_usage(command, "--policy: at character %zu: %s", offset, error.text);
    }
    return CLI_OK;
}

void cli_make_key(char key[CLI_KEY_SIZE])
{
    uint64_t high = (lull_os_seed() & ~UINT64_C(0xf000)) | UINT64_C(0x4000);
    uint64_t low = (lull_os_seed() >> 2) | UINT64_C(0x8000000000000000);
    (void)snprintf(key, CLI_KEY_SIZE, "%08x-%04x-%04x-%04x-%012" PRIx64, (unsigned)(high >> 32),
                   (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xffff),
                   (unsigned)(low >> 48), low & UINT64_C(0xffffffffffff));
}

void cli_sleep(int64_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
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
