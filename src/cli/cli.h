/*
 * cli - what the subcommands of `lull` share.
 *
 * One file per subcommand. Each has a run function, which gets its own arguments with its name in
 * argv[0] and returns the exit code, and a help text.
 */
#ifndef LULL_CLI_H
#define LULL_CLI_H

#include <getopt.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum cli_exit {
    CLI_OK = 0,
    CLI_FAILED = 1,
    CLI_USAGE = 2, /* the arguments are wrong: nothing was done */
};

struct lull_policy;

struct cli_command {
    const char *name;
    const char *summary;           /* a line for `lull --help` */
    const char *help;              /* all of `lull help NAME` ... */
    void (*print_more)(FILE *out); /* ... but what a table has; NULL: nothing */
    int (*run)(int argc, char **argv);
};

extern const struct cli_command cli_explain;
extern const struct cli_command cli_fetch;
extern const struct cli_command cli_keys;
extern const struct cli_command cli_messages;
extern const struct cli_command cli_mock;
extern const struct cli_command cli_push;
extern const struct cli_command cli_send;
extern const struct cli_command cli_serve;
extern const struct cli_command cli_status;

/* Prints "lull COMMAND: MESSAGE" and where to find help, on stderr. Returns CLI_USAGE. The message
 * must not repeat an endpoint, a key or a body. */
__attribute__((format(printf, 2, 3))) int cli_usage(const char *command, const char *format, ...);

/* What getopt_long could not place: code is its '?' or ':', word the argument that it was at. A
 * value may be secret, so only the names of options are repeated. Returns CLI_USAGE. */
int cli_refuse_option(const char *command, const struct option *options, int code,
                      const char *word);

/* The name of a header or a method (RFC 9110's token). */
bool cli_is_token(const char *text, size_t length);

/* 'NAME: VALUE' on one line. False leaves the outputs alone. */
bool cli_split_header(const char *text, size_t *ret_name_length, const char **ret_value);

/* A whole number from min to max, all of text. False leaves *ret_number alone. */
bool cli_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number);

/* Seconds with up to three decimals, as milliseconds. */
bool cli_parse_seconds(const char *text, int64_t *ret_ms);

/* All of a file, standard input for "-", up to max bytes; NULL after saying why on stderr. For
 * free(); zero-terminated. what names it for the message: "the subscription". */
char *cli_read_file(const char *command, const char *what, const char *path, size_t max,
                    size_t *ret_length);

/* The value of --OPTION of a command. CLI_OK, or CLI_USAGE after saying what is accepted.
 * Seconds are more than 0 and up to 20 days, with up to three decimals. */
int cli_read_seconds(const char *command, const char *option, const char *text, int64_t *ret_ms);
int cli_read_count(const char *command, const char *option, const char *text, uint64_t min,
                   uint64_t max, uint64_t *ret_count);

/* --policy; changes without a name are to the usual one. */
int cli_read_policy(const char *command, const char *usual, const char *text,
                    struct lull_policy *ret_policy);

/* A random UUID (version 4), for an Idempotency-Key that nobody has chosen. */
#define CLI_KEY_SIZE 37
void cli_make_key(char key[CLI_KEY_SIZE]);

/* For a command that has nothing else to do. */
void cli_sleep(int64_t ms);

/* A duration for a person: 450 ms, 2.5 s, 1 h 5 min. The buffer is big enough for any. */
#define CLI_DURATION_SIZE 48
const char *cli_format_duration(int64_t ms, char buffer[CLI_DURATION_SIZE]);

#endif
