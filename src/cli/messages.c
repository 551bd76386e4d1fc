/* messages - `lull messages`: look at messages of `lull serve`, and cancel them.
 * SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api_client.h"
#include "cli.h"
#include "messages_print.h"

#define LIMIT_DEFAULT 100
#define PAGE_MAX 1000
#define PATH_SIZE 1024

static const char help[] =
    "Usage: lull messages list [--state STATE] [--service NAME] [--limit N | --all] [--json]\n"
    "       lull messages show ID [--json]\n"
    "       lull messages cancel ID... [--json]\n"
    "\n"
    "Looks at the messages of 'lull serve', and cancels them.\n"
    "\n"
    "  list     the newest first: state, attempts, and in a word why it waits or died\n"
    "  show     all of one: in a sentence why it waits, and each attempt\n"
    "  cancel   takes messages out of the queue; they become dead letters with that reason\n"
    "\n"
    "Options of list:\n"
    "      --state STATE        waiting, leased, dead, delivered or replaced\n"
    "      --service NAME       of this service: fcm, mozilla, apple, wns or a host\n"
    "      --limit N            at most so many; default 100\n"
    "      --all                as many as there are\n"
    "\n" API_HELP "\n"
    "The output:\n"
    "      --json               one JSON object a line\n"
    "  -q, --quiet              no line but for what went wrong\n"
    "\n"
    "Exit status: " API_EXIT_HELP ". 3 is also for an id that\n"
    "is not known, and for a message that it is too late to cancel. Of several, the first "
    "failure's.\n";

enum option_code {
    OPT_STATE = 256,
    OPT_SERVICE,
    OPT_LIMIT,
    OPT_ALL,
    OPT_JSON, /* from here, for all of them */
    OPT_QUIET,
    OPT_HELP,
};

static const char short_options[] = ":m:qh";

static const struct option long_options[] = {
    {"state", required_argument, NULL, OPT_STATE},
    {"service", required_argument, NULL, OPT_SERVICE},
    {"limit", required_argument, NULL, OPT_LIMIT},
    {"all", no_argument, NULL, OPT_ALL},
    {"json", no_argument, NULL, OPT_JSON},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"help", no_argument, NULL, OPT_HELP},
    API_LONG_OPTIONS,
    {NULL, 0, NULL, 0},
};

struct arguments {
    struct api_options api;
    const char *state;   /* NULL: any */
    const char *service; /* NULL: any */
    uint64_t limit;      /* 0: not said */
    char **ids;
    size_t id_count;
    bool is_all;
    bool is_json;
    bool is_quiet;
    bool is_help;
};

struct action {
    const char *name;
    int (*run)(struct api *api, const struct arguments *arguments);
    size_t ids_min;
    size_t ids_max;
    const char *operands; /* what it takes, for a sentence */
    bool is_list;         /* and has its options */
};

/* ---- list ---- */

static bool make_path(const struct arguments *arguments, uint64_t count, const char *cursor,
                      char path[PATH_SIZE])
{
    char *service = curl_easy_escape(NULL, arguments->service ? arguments->service : "", 0);
    char *place = curl_easy_escape(NULL, cursor ? cursor : "", 0);
    int length =
        service && place
            ? snprintf(path, PATH_SIZE, "/v1/messages?limit=%llu%s%s%s%s%s%s",
                       (unsigned long long)(count < PAGE_MAX ? count : PAGE_MAX),
                       arguments->state ? "&state=" : "", arguments->state ? arguments->state : "",
                       arguments->service ? "&service=" : "", service, cursor ? "&cursor=" : "",
                       place)
            : -1;
    curl_free(service);
    curl_free(place);
    return length > 0 && length < PATH_SIZE;
}

/* Prints a page, and returns how many were on it. */
static size_t print_page(const struct arguments *arguments, json_t *page, uint64_t left,
                         bool is_first)
{
    json_t *messages = json_object_get(page, "messages");
    size_t index = 0;
    json_t *message = NULL;
    json_array_foreach(messages, index, message)
    {
        if (index == left) {
            break;
        }
        if (arguments->is_json) {
            (void)api_print_json(message);
            continue;
        }
        if (is_first && index == 0) {
            messages_print_head(stdout);
        }
        messages_print_line(stdout, message);
    }
    return index;
}

/* Page after page. One may be short or empty and still not be the last. */
static int run_list(struct api *api, const struct arguments *arguments)
{
    uint64_t limit = arguments->is_all  ? UINT64_MAX
                     : arguments->limit ? arguments->limit
                                        : LIMIT_DEFAULT;
    uint64_t count = 0;
    struct api_answer page = {.status = 0};
    const char *next = NULL;
    do {
        char path[PATH_SIZE];
        struct api_answer answer;
        if (!make_path(arguments, limit - count, next, path)) {
            api_answer_free(&page);
            return api_say(api, "the name of the service, or the cursor, is too long");
        }
        int code = api_ask(api, "GET", path, &answer);
        api_answer_free(&page);
        if (code != CLI_OK) {
            return code;
        }
        page = answer;
        count += print_page(arguments, page.json, limit - count, count == 0);
        next = api_text(page.json, "next", NULL);
    } while (next && count < limit);
    if (next && !arguments->is_quiet && !arguments->is_json) {
        (void)api_say(api, "there may be more: --all shows all, --limit another number");
    }
    if (count == 0 && !arguments->is_quiet && !arguments->is_json) {
        (void)api_say(api, "there is no such message");
    }
    api_answer_free(&page);
    return CLI_OK;
}

/* ---- show and cancel ---- */

static int run_show(struct api *api, const struct arguments *arguments)
{
    char path[API_MESSAGE_PATH_SIZE];
    struct api_answer answer;
    (void)api_message_path(arguments->ids[0], path); /* it has been read as an id */
    int code = api_ask(api, "GET", path, &answer);
    if (code != CLI_OK) {
        return code;
    }
    if (arguments->is_json) {
        (void)api_print_json(answer.json);
    } else {
        messages_print_one(stdout, answer.json);
    }
    api_answer_free(&answer);
    return CLI_OK;
}

static int cancel_one(struct api *api, const struct arguments *arguments, const char *id)
{
    char path[API_MESSAGE_PATH_SIZE];
    struct api_answer answer;
    (void)api_message_path(id, path);
    int code = api_ask(api, "DELETE", path, &answer);
    if (code != CLI_OK) {
        (void)api_say(api, "%s is not cancelled", id);
        return code;
    }
    if (arguments->is_json) {
        (void)api_print_json(answer.json);
    } else if (!arguments->is_quiet) {
        (void)api_say(api, "%s %s", id,
                      answer.status == 202
                          ? "is on its way right now; it is cancelled if that does not deliver it"
                          : "is cancelled");
    }
    api_answer_free(&answer);
    return CLI_OK;
}

static int run_cancel(struct api *api, const struct arguments *arguments)
{
    int first = CLI_OK;
    for (size_t i = 0; i < arguments->id_count; i++) {
        int code = cancel_one(api, arguments, arguments->ids[i]);
        first = first == CLI_OK ? code : first;
        if (code == API_NO_ANSWER) { /* the others would meet the same */
            break;
        }
    }
    return first;
}

static const struct action actions[] = {
    {"list", run_list, 0, 0, "options only", true},
    {"show", run_show, 1, 1, "one id", false},
    {"cancel", run_cancel, 1, SIZE_MAX, "one id or more", false},
};

/* ---- arguments ---- */

static int read_state(struct arguments *arguments, const char *text)
{
    static const char *const words[] = {"waiting", "leased", "dead", "delivered", "replaced"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(text, words[i]) == 0) {
            arguments->state = words[i];
            return CLI_OK;
        }
    }
    return cli_usage("messages", "--state must be waiting, leased, dead, delivered or replaced");
}

static int read_option(struct arguments *arguments, int code, const char *value)
{
    if (api_options_has(code)) {
        return api_options_read(&arguments->api, "messages", code, value);
    }
    switch (code) {
    case OPT_STATE:
        return read_state(arguments, value);
    case OPT_SERVICE:
        arguments->service = value;
        return CLI_OK;
    case OPT_LIMIT:
        return cli_read_count("messages", "limit", value, 1, 1000000000, &arguments->limit);
    case OPT_ALL:
        arguments->is_all = true;
        return CLI_OK;
    case OPT_JSON:
        arguments->is_json = true;
        return CLI_OK;
    case 'q':
    case OPT_QUIET:
        arguments->is_quiet = true;
        return CLI_OK;
    default:
        arguments->is_help = true;
        return CLI_OK;
    }
}

static int check(const struct arguments *arguments, const struct action *action)
{
    char path[API_MESSAGE_PATH_SIZE];
    if (arguments->id_count < action->ids_min || arguments->id_count > action->ids_max) {
        return cli_usage("messages", "%s takes %s", action->name, action->operands);
    }
    for (size_t i = 0; i < arguments->id_count; i++) {
        if (!api_message_path(arguments->ids[i], path)) {
            return cli_usage("messages", "%s: an id has letters, digits, - and _, up to 64 of them",
                             action->name);
        }
    }
    if (arguments->is_all && arguments->limit > 0) {
        return cli_usage("messages", "--all and --limit do not go together");
    }
    return CLI_OK;
}

static int read_arguments(struct arguments *arguments, const struct action *action, int argc,
                          char **argv)
{
    int code = 0;
    opterr = 0;
    while ((code = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
        int result = CLI_OK;
        if (code == '?' || code == ':') {
            result = cli_refuse_option("messages", long_options, code, argv[optind - 1]);
        } else if (!action->is_list && code >= OPT_STATE && code < OPT_JSON) {
            result = cli_usage("messages", "--%s is of 'lull messages list'",
                               long_options[code - OPT_STATE].name);
        } else {
            result = read_option(arguments, code, optarg);
        }
        if (result != CLI_OK) {
            return result;
        }
    }
    arguments->ids = argv + optind;
    arguments->id_count = (size_t)(argc - optind);
    return arguments->is_help ? CLI_OK : check(arguments, action);
}

static int run_action(const struct action *action, const struct arguments *arguments)
{
    struct api api;
    int code = api_open(&api, "messages", &arguments->api);
    api.is_quiet = arguments->is_quiet;
    if (code == CLI_OK) {
        code = action->run(&api, arguments);
    }
    api_close(&api);
    return code;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = {.state = NULL};
    const struct action *action = NULL;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return CLI_OK;
    }
    for (size_t i = 0; argc > 1 && i < sizeof actions / sizeof actions[0]; i++) {
        action = strcmp(argv[1], actions[i].name) == 0 ? &actions[i] : action;
    }
    if (!action) {
        return cli_usage("messages", "needs one of list, show and cancel");
    }
    api_options_init(&arguments.api);
    int result = read_arguments(&arguments, action, argc - 1, argv + 1);
    if (result == CLI_OK && arguments.is_help) {
        fputs(help, stdout);
    } else if (result == CLI_OK) {
        result = run_action(action, &arguments);
    }
    return result;
}

const struct cli_command cli_messages = {
    .name = "messages",
    .summary = "look at the messages of 'lull serve', and cancel them",
    .help = help,
    .run = run,
};
