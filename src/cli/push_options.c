/* push_options - see the header. SPDX-License-Identifier: MIT */
#include "push_options.h"

#include <stdlib.h>
#include <string.h>

#include "api_client.h"
#include "cli.h"
#include "lull/duration.h"
#include "lull/subscription.h"
#include "lull/webpush.h"

#define BODY_MAX 1048576 /* of a webhook; the server has a limit of its own */
#define AHEAD_MAX_S UINT64_C(2419200)
#define CHUNK_MAX 100000
#define CHUNK_DEFAULT 2000
#define WAIT_DEFAULT_MS LULL_SECONDS(60)
#define KEY_MAX 256
#define KEY_OF_BATCH_MAX 200 /* leaves room for the numbers of the chunk and the line */

const char push_help[] =
    "Usage: lull push --to SUBSCRIPTION.json [--body TEXT] [OPTIONS]\n"
    "       lull push --webhook URL [--body TEXT | --body-json JSON] [OPTIONS]\n"
    "       lull push --batch FILE [OPTIONS]\n"
    "\n"
    "Hands a message to 'lull serve', which keeps it safe and delivers it; prints its id. A "
    "request\n"
    "is repeated until the server has answered it, and the message is in the queue once.\n"
    "\n"
    "The message:\n"
    "      --to FILE            a push to this subscription, as PushSubscription.toJSON() gives "
    "it;\n"
    "                           - is standard input\n"
    "      --webhook URL        a request to this URL\n"
    "      --body TEXT          @FILE is the content of a file, - standard input\n"
    "      --body-json JSON     the same, which must be JSON, and is sent as that\n"
    "      --ttl SECONDS        up to 4 weeks; default the policy's; 0: now or never\n"
    "      --urgency WORD       very-low, low, normal or high\n"
    "      --topic TEXT         replaces a waiting message of the same topic\n"
    "      --policy TEXT        a name of the server's configuration, or as in lull-policy(7)\n"
    "      --at TIME            not before 2026-01-31T09:00:00Z; up to 4 weeks ahead\n"
    "      --delay SECONDS      not before so long from now\n"
    "      --correlation-id ID  of yours, shown with the message\n"
    "\n"
    "Of a push:\n"
    "      --key ID             the server's VAPID key with this id\n"
    "      --padding BYTES|random  hides the length of the body\n"
    "Of a webhook:\n"
    "      --method METHOD      POST (default), PUT or PATCH\n"
    "      --header 'NAME: VALUE'  may be repeated\n"
    "      --content-type TYPE\n"
    "      --sign NAME          with this webhook_secret of the server's configuration\n"
    "\n"
    "Many messages:\n"
    "      --batch FILE         a message a line, as JSON; - is standard input. Those that are "
    "refused\n"
    "                           are told with their line\n"
    "      --chunk LINES        so many in one request; default 2000\n"
    "\n"
    "The delivery:\n"
    "      --wait[=SECONDS]     until it is delivered or dead, but no longer; default 60\n"
    "      --idempotency-key KEY  the same key again makes no second message within 24 hours;\n"
    "                           default auto: a new one. A batch makes KEY:CHUNK:LINE of it\n"
    "\n" API_HELP "\n"
    "The output:\n"
    "      --json               the server's answer; of a batch one a line, and a last one that "
    "counts\n"
    "  -q, --quiet              no progress, and no line but for what went wrong\n"
    "\n"
    "Exit status: " API_EXIT_HELP ", 5 dead or replaced (with --wait),\n"
    "6 not delivered yet when --wait was over. Of a batch, 0 only if all were accepted.\n";

/* In groups: what goes with which target is a range of them. */
enum option_code {
    OPT_TO = 256,
    OPT_WEBHOOK,
    OPT_BATCH,
    OPT_KEY, /* from here, of a push */
    OPT_PADDING,
    OPT_METHOD, /* from here, of a webhook */
    OPT_HEADER,
    OPT_CONTENT_TYPE,
    OPT_SIGN,
    OPT_BODY, /* from here, of either */
    OPT_BODY_JSON,
    OPT_TTL,
    OPT_URGENCY,
    OPT_TOPIC,
    OPT_POLICY,
    OPT_AT,
    OPT_DELAY,
    OPT_CORRELATION_ID,
    OPT_WAIT,
    OPT_CHUNK, /* of a batch */
    OPT_IDEMPOTENCY_KEY,
    OPT_JSON,
    OPT_QUIET,
    OPT_HELP,
    OPT_END,
};

static const char short_options[] = ":m:qh";

static const struct option long_options[] = {
    {"to", required_argument, NULL, OPT_TO},
    {"webhook", required_argument, NULL, OPT_WEBHOOK},
    {"batch", required_argument, NULL, OPT_BATCH},
    {"key", required_argument, NULL, OPT_KEY},
    {"padding", required_argument, NULL, OPT_PADDING},
    {"method", required_argument, NULL, OPT_METHOD},
    {"header", required_argument, NULL, OPT_HEADER},
    {"content-type", required_argument, NULL, OPT_CONTENT_TYPE},
    {"sign", required_argument, NULL, OPT_SIGN},
    {"body", required_argument, NULL, OPT_BODY},
    {"body-json", required_argument, NULL, OPT_BODY_JSON},
    {"ttl", required_argument, NULL, OPT_TTL},
    {"urgency", required_argument, NULL, OPT_URGENCY},
    {"topic", required_argument, NULL, OPT_TOPIC},
    {"policy", required_argument, NULL, OPT_POLICY},
    {"at", required_argument, NULL, OPT_AT},
    {"delay", required_argument, NULL, OPT_DELAY},
    {"correlation-id", required_argument, NULL, OPT_CORRELATION_ID},
    {"wait", optional_argument, NULL, OPT_WAIT},
    {"chunk", required_argument, NULL, OPT_CHUNK},
    {"idempotency-key", required_argument, NULL, OPT_IDEMPOTENCY_KEY},
    API_LONG_OPTIONS,
    {"json", no_argument, NULL, OPT_JSON},
    {"quiet", no_argument, NULL, OPT_QUIET},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

/* The arguments as they came. What depends on another is worked out when all are read. */
struct arguments {
    struct push_options *options;
    const char *to;
    const char *body;
    const char *body_json;
    bool is_said[OPT_END - OPT_TO];
};

static int refuse(const char *what)
{
    return cli_usage("push", "%s", what);
}

/* ---- values ---- */

static int read_header(struct push_options *options, const char *text)
{
    size_t name_length = 0;
    const char *value = NULL;
    if (!cli_split_header(text, &name_length, &value)) {
        return refuse("--header must be 'NAME: VALUE', on one line");
    }
    if (!options->headers) {
        options->headers = json_object();
    }
    if (json_object_getn(options->headers, text, name_length)) {
        return cli_usage("push", "--header %.*s is given twice", (int)name_length, text);
    }
    return json_object_setn_new(options->headers, text, name_length, json_string(value)) == 0
               ? CLI_OK
               : refuse("--header must be text in UTF-8");
}

/* It goes into a header, and comes back in a log. */
static int read_visible(const char *option, const char *text, size_t max, const char **ret_text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++) {
        length = text[i] < ' ' || text[i] > '~' ? 0 : length;
    }
    if (length == 0 || length > max) {
        return cli_usage("push", "--%s must be 1 to %zu printable ASCII characters", option, max);
    }
    *ret_text = text;
    return CLI_OK;
}

static int read_count_option(struct push_options *options, int code, const char *value)
{
    uint64_t number = 0;
    int result = CLI_OK;
    switch (code) {
    case OPT_TTL:
        result = cli_read_count("push", "ttl", value, 0, AHEAD_MAX_S, &number);
        options->ttl_s = (int64_t)number;
        return result;
    case OPT_DELAY:
        result = cli_read_count("push", "delay", value, 0, AHEAD_MAX_S, &number);
        options->delay_s = (int64_t)number;
        return result;
    case OPT_CHUNK:
        result = cli_read_count("push", "chunk", value, 1, CHUNK_MAX, &number);
        options->chunk_lines = (uint32_t)number;
        return result;
    case OPT_PADDING:
        options->has_padding = true;
        return message_read_padding("push", "padding", value, &options->padding);
    case OPT_WAIT:
    default:
        options->wait_ms = WAIT_DEFAULT_MS;
        return value ? cli_read_seconds("push", "wait", value, &options->wait_ms) : CLI_OK;
    }
}

static int read_text_option(struct push_options *options, int code, const char *value)
{
    switch (code) {
    case OPT_URGENCY:
        return message_read_urgency("push", value, &options->urgency);
    case OPT_TOPIC:
        return message_read_topic("push", value, &options->topic);
    case OPT_HEADER:
        return read_header(options, value);
    case OPT_CORRELATION_ID:
        return read_visible("correlation-id", value, 128, &options->correlation_id);
    case OPT_IDEMPOTENCY_KEY:
    default:
        return strcmp(value, "auto") == 0
                   ? CLI_OK
                   : read_visible("idempotency-key", value, KEY_MAX, &options->idempotency_key);
    }
}

/* Where a text goes that the server checks, or that is read later. NULL: it is another option. */
static const char **place_of(struct arguments *arguments, int code)
{
    struct push_options *options = arguments->options;
    switch (code) {
    case OPT_TO:
        return &arguments->to;
    case OPT_BODY:
        return &arguments->body;
    case OPT_BODY_JSON:
        return &arguments->body_json;
    case OPT_WEBHOOK:
        return &options->webhook;
    case OPT_BATCH:
        return &options->batch;
    case OPT_KEY:
        return &options->key;
    case OPT_METHOD:
        return &options->method;
    case OPT_CONTENT_TYPE:
        return &options->content_type;
    case OPT_SIGN:
        return &options->sign;
    case OPT_POLICY:
        return &options->policy;
    case OPT_AT:
        return &options->at;
    default:
        return NULL;
    }
}

static int read_option(struct arguments *arguments, int code, const char *value)
{
    struct push_options *options = arguments->options;
    if (api_options_has(code)) {
        return api_options_read(&options->api, "push", code, value);
    }
    code = code == 'q' ? OPT_QUIET : code == 'h' ? OPT_HELP : code;
    arguments->is_said[code - OPT_TO] = true;
    const char **place = place_of(arguments, code);
    if (place) {
        *place = value;
        return CLI_OK;
    }
    switch (code) {
    case OPT_JSON:
        options->is_json = true;
        return CLI_OK;
    case OPT_QUIET:
        options->is_quiet = true;
        return CLI_OK;
    case OPT_HELP:
        options->is_help = true;
        return CLI_OK;
    case OPT_TTL:
    case OPT_DELAY:
    case OPT_CHUNK:
    case OPT_PADDING:
    case OPT_WAIT:
        return read_count_option(options, code, value);
    default:
        return read_text_option(options, code, value);
    }
}

/* ---- all of it ---- */

/* What was said from first up to, but not, end has nothing to do with this target. */
static int refuse_range(const struct arguments *arguments, int first, int end, const char *why)
{
    for (int code = first; code < end; code++) {
        for (const struct option *option = long_options; option->name; option++) {
            if (option->val == code && arguments->is_said[code - OPT_TO]) {
                return cli_usage("push", "--%s %s", option->name, why);
            }
        }
    }
    return CLI_OK;
}

static int check_target(const struct arguments *arguments)
{
    const struct push_options *options = arguments->options;
    int targets = (arguments->to != NULL) + (options->webhook != NULL) + (options->batch != NULL);
    if (targets != 1) {
        return refuse("needs one of --to, --webhook and --batch");
    }
    if (options->batch) {
        return refuse_range(arguments, OPT_KEY, OPT_CHUNK,
                            "is of one message: in a --batch, each line says its own");
    }
    int result = refuse_range(arguments, OPT_CHUNK, OPT_CHUNK + 1, "is of a --batch");
    if (result != CLI_OK) {
        return result;
    }
    return arguments->to
               ? refuse_range(arguments, OPT_METHOD, OPT_BODY, "is of a --webhook, not of a push")
               : refuse_range(arguments, OPT_KEY, OPT_METHOD, "is of a push, not of a --webhook");
}

static int check_together(const struct arguments *arguments)
{
    const struct push_options *options = arguments->options;
    const char *body = arguments->body ? arguments->body : arguments->body_json;
    if (arguments->body && arguments->body_json) {
        return refuse("--body and --body-json do not go together");
    }
    if (options->at && options->delay_s >= 0) {
        return refuse("--at and --delay do not go together");
    }
    if (arguments->to && body && strcmp(arguments->to, "-") == 0 && message_is_stdin(body)) {
        return refuse("--to and the body cannot both be standard input");
    }
    if (options->has_padding && !body) {
        return refuse("--padding needs a body");
    }
    if (options->batch && options->idempotency_key &&
        strlen(options->idempotency_key) > KEY_OF_BATCH_MAX) {
        return cli_usage("push", "--idempotency-key of a --batch has at most %d characters",
                         KEY_OF_BATCH_MAX);
    }
    return CLI_OK;
}

/* The text of jansson's error would repeat what is near it. */
static int parse_body(struct push_options *options)
{
    json_error_t error;
    options->body_json =
        json_loadb(options->body.data, options->body.length, JSON_DECODE_ANY, &error);
    return options->body_json ? CLI_OK
                              : cli_usage("push", "--body-json is no JSON: at line %d, column %d",
                                          error.line, error.column);
}

static int read_files(struct arguments *arguments)
{
    struct push_options *options = arguments->options;
    struct lull_subscription checked;
    const char *body = arguments->body ? arguments->body : arguments->body_json;
    int result = CLI_OK;
    if (arguments->to) {
        result = message_read_subscription("push", arguments->to, &checked, &options->subscription);
        explicit_bzero(&checked, sizeof checked);
    }
    if (result == CLI_OK && body) {
        result = message_read_text("push", arguments->body ? "body" : "body-json", body,
                                   arguments->to ? LULL_PUSH_TEXT_MAX : BODY_MAX, &options->body);
    }
    if (result == CLI_OK && arguments->body_json) {
        result = parse_body(options);
    }
    if (result == CLI_OK && options->body.length + options->padding.bytes > LULL_PUSH_TEXT_MAX &&
        options->has_padding) {
        return cli_usage("push", "the body and --padding have %zu bytes, at most %d fit",
                         options->body.length + options->padding.bytes, LULL_PUSH_TEXT_MAX);
    }
    return result;
}

int push_options_read(struct push_options *options, int argc, char **argv)
{
    struct arguments arguments = {.options = options};
    int code = 0;
    *options = (struct push_options){.ttl_s = -1, .delay_s = -1, .chunk_lines = CHUNK_DEFAULT};
    api_options_init(&options->api);
    opterr = 0;
    while ((code = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
        int result = code == '?' || code == ':'
                         ? cli_refuse_option("push", long_options, code, argv[optind - 1])
                         : read_option(&arguments, code, optarg);
        if (result != CLI_OK) {
            return result;
        }
    }
    if (options->is_help) {
        return CLI_OK;
    }
    if (optind < argc) {
        return refuse("there is an argument too many; values belong to flags");
    }
    int result = check_target(&arguments);
    result = result == CLI_OK ? check_together(&arguments) : result;
    return result == CLI_OK ? read_files(&arguments) : result;
}

void push_options_free(struct push_options *options)
{
    message_text_free(&options->subscription);
    message_text_free(&options->body);
    json_decref(options->headers);
    json_decref(options->body_json);
}
