/* status - `lull status`: what `lull serve` has to do, and what stops it.
 * SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api_client.h"
#include "cli.h"
#include "lull/duration.h"
#include "messages_print.h"

static const char help[] =
    "Usage: lull status [--watch[=SECONDS]] [--json] [OPTIONS]\n"
    "\n"
    "Shows the queue of 'lull serve': what waits, what is on its way, which service is stopped by\n"
    "what and until when, and what has become of all messages since it was started.\n"
    "\n"
    "Options:\n"
    "      --watch[=SECONDS]    again and again, until interrupted; default every second\n"
    "      --count N            with --watch, so many times and no more\n"
    "\n" API_HELP "\n"
    "The output:\n"
    "      --json               the server's answer, on one line\n"
    "\n"
    "Exit status: " API_EXIT_HELP ".\n";

enum option_code {
    OPT_WATCH = 256,
    OPT_COUNT,
    OPT_JSON,
    OPT_HELP,
};

static const char short_options[] = ":m:h";

static const struct option long_options[] = {
    {"watch", optional_argument, NULL, OPT_WATCH},
    {"count", required_argument, NULL, OPT_COUNT},
    {"json", no_argument, NULL, OPT_JSON},
    {"help", no_argument, NULL, OPT_HELP},
    API_LONG_OPTIONS,
    {NULL, 0, NULL, 0},
};

struct arguments {
    struct api_options api;
    int64_t watch_ms; /* 0: once */
    uint64_t count;   /* 0: until interrupted */
    bool is_json;
    bool is_help;
};

/* ---- for people ---- */

static void print_queue(json_t *status)
{
    char buffer[MESSAGES_TIME_SIZE];
    json_t *queue = json_object_get(status, "queue");
    const json_t *leaving = json_object_get(queue, "leaving_per_s");
    const char *oldest = api_text(queue, "oldest_due_at", NULL);
    printf("Queue: %" PRId64 " waiting, %" PRId64 " on their way, %" PRId64
           " dead; %.1f leave each "
           "second\n",
           api_number(queue, "waiting", 0), api_number(queue, "leased", 0),
           api_number(queue, "dead", 0), json_number_value(leaving));
    if (oldest) {
        printf("The one that is due first: %s UTC\n", messages_format_time(oldest, buffer));
    }
}

static void print_services(json_t *status)
{
    static const char *const stops[][2] = {
        {"open", "goes"},
        {"paused", "paused"},
        {"rate", "at its rate"},
        {"full", "as many on their way as may be"},
    };
    json_t *services = json_object_get(status, "services");
    size_t index = 0;
    json_t *service = NULL;
    if (json_array_size(services) > 0) {
        printf("\n%-32s  %10s  %10s  %s\n", "SERVICE", "WAITING", "ON THEIR WAY", "STATE");
    }
    json_array_foreach(services, index, service)
    {
        char buffer[MESSAGES_TIME_SIZE];
        const char *stop = api_text(service, "stop", "-");
        const char *until = api_text(service, "until", NULL);
        for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
            stop = strcmp(stop, stops[i][0]) == 0 ? stops[i][1] : stop;
        }
        printf("%-32s  %10" PRId64 "  %12" PRId64 "  %s%s%s%s\n", api_text(service, "name", "-"),
               api_number(service, "waiting", 0), api_number(service, "leased", 0), stop,
               until ? " until " : "", until ? messages_format_time(until, buffer) : "",
               until ? " UTC" : "");
    }
}

static void print_counts(json_t *counts, const char *indent)
{
    const char *name = NULL;
    json_t *value = NULL;
    json_object_foreach(counts, name, value)
    {
        if (json_is_integer(value)) {
            printf("%s%-*s %12" PRId64 "\n", indent, 28 - (int)strlen(indent), name,
                   (int64_t)json_integer_value(value));
        }
    }
}

/* The names are the server's own, so that a newer one's are shown too; the dead by their reasons.
 */
static void print_totals(json_t *totals)
{
    json_t *dead = json_object_get(totals, "dead");
    printf("\nSince it was started\n");
    print_counts(totals, "  ");
    if (json_object_size(dead) > 0) {
        printf("  dead\n");
        print_counts(dead, "    ");
    }
}

static void print_text(json_t *status)
{
    char buffer[CLI_DURATION_SIZE];
    printf("lull serve %s, up for %s%s%s\n", api_text(status, "version", "-"),
           cli_format_duration(api_number(status, "uptime_s", 0) * 1000, buffer),
           json_is_true(json_object_get(status, "draining")) ? ", DRAINING: it takes nothing new"
                                                             : "",
           json_is_true(json_object_get(status, "disk_full")) ? ", THE DISK IS FULL" : "");
    print_queue(status);
    print_services(status);
    print_totals(json_object_get(status, "totals"));
}

/* ---- asking ---- */

static int show(struct api *api, const struct arguments *arguments, bool is_over_last)
{
    struct api_answer answer;
    int code = api_ask(api, "GET", "/v1/status", &answer);
    if (code != CLI_OK) {
        return code;
    }
    if (is_over_last) {
        fputs("\033[H\033[J", stdout);
    }
    if (arguments->is_json) {
        (void)api_print_json(answer.json);
    } else {
        print_text(answer.json);
    }
    api_answer_free(&answer);
    return CLI_OK;
}

/* A server that goes away and comes back is what one watches for: it is asked again. What it will
 * not be asked is a refusal's to say. */
static int watch(struct api *api, const struct arguments *arguments)
{
    bool is_over_last = !arguments->is_json && isatty(STDOUT_FILENO);
    int code = CLI_OK;
    for (uint64_t shown = 1;; shown++) {
        code = show(api, arguments, is_over_last);
        if (fflush(stdout) != 0) {
            return CLI_FAILED;
        }
        if ((code != CLI_OK && code != API_NO_ANSWER) || shown == arguments->count) {
            return code;
        }
        cli_sleep(arguments->watch_ms);
        if (!is_over_last && !arguments->is_json) {
            fputc('\n', stdout);
        }
    }
}

/* ---- arguments ---- */

static int read_option(struct arguments *arguments, int code, const char *value)
{
    if (api_options_has(code)) {
        return api_options_read(&arguments->api, "status", code, value);
    }
    switch (code) {
    case OPT_WATCH:
        arguments->watch_ms = LULL_SECONDS(1);
        return value ? cli_read_seconds("status", "watch", value, &arguments->watch_ms) : CLI_OK;
    case OPT_COUNT:
        return cli_read_count("status", "count", value, 1, 1000000000, &arguments->count);
    case OPT_JSON:
        arguments->is_json = true;
        return CLI_OK;
    default:
        arguments->is_help = true;
        return CLI_OK;
    }
}

static int read_arguments(struct arguments *arguments, int argc, char **argv)
{
    int code = 0;
    opterr = 0;
    while ((code = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
        int result = code == '?' || code == ':'
                         ? cli_refuse_option("status", long_options, code, argv[optind - 1])
                         : read_option(arguments, code, optarg);
        if (result != CLI_OK) {
            return result;
        }
    }
    if (optind < argc && !arguments->is_help) {
        return cli_usage("status", "takes options only");
    }
    if (arguments->count > 0 && arguments->watch_ms == 0) {
        return cli_usage("status", "--count goes with --watch");
    }
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = {.watch_ms = 0};
    struct api api;
    api_options_init(&arguments.api);
    int code = read_arguments(&arguments, argc, argv);
    if (code != CLI_OK || arguments.is_help) {
        fputs(code == CLI_OK ? help : "", stdout);
        return code;
    }
    code = api_open(&api, "status", &arguments.api);
    if (code == CLI_OK) {
        code = arguments.watch_ms > 0 ? watch(&api, &arguments) : show(&api, &arguments, false);
    }
    api_close(&api);
    return code;
}

const struct cli_command cli_status = {
    .name = "status",
    .summary = "show the queue of 'lull serve', and what stops it",
    .help = help,
    .run = run,
};
