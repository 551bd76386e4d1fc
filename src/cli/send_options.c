/* send_options - see the header. SPDX-License-Identifier: MIT */
#include "send_options.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "message_options.h"

#define TTL_MAX_S (UINT64_C(366) * 86400)

const char send_help[] =
    "Usage: lull send --to SUBSCRIPTION.json [--body TEXT] [OPTIONS]\n"
    "       lull send --recall RECEIPT [OPTIONS]\n"
    "\n"
    "Encrypts a Web Push message, signs it, and delivers it now, with the retries of the policy.\n"
    "\n"
    "The message:\n"
    "      --to FILE            the subscription, as PushSubscription.toJSON() gives it; - is\n"
    "                           standard input\n"
    "      --body TEXT          up to 3993 bytes; @FILE is the content of a file, - standard\n"
    "                           input; without it the push has no body\n"
    "      --ttl SECONDS        how long the service keeps it; default 4 weeks; 0: now or never\n"
    "      --urgency WORD       very-low, low, normal or high\n"
    "      --topic TEXT         replaces a waiting message of the same topic; up to 32 characters\n"
    "                           of A-Z a-z 0-9 - _\n"
    "      --pad BYTES|random   hides the length of the body\n"
    "      --receipt FILE       where to keep what recalls the message, if the service gives that\n"
    "      --recall FILE        take back the message of that receipt, if it still waits\n"
    "\n"
    "The sender:\n"
    "      --key FILE           the VAPID key, as 'lull keys new' makes it; default: vapid.json "
    "in\n"
    "                           the folder lull of the usual configuration folder\n"
    "\n"
    "The delivery:\n"
    "      --policy TEXT        default delivery; 'urgent', 'bulk retries=9 cap=10m';\n"
    "                           lull-policy(7)\n"
    "      --retries N          after the first attempt; default 5\n"
    "      --deadline SECONDS   for all of it, waits included\n"
    "  -m, --max-time SECONDS   for one attempt; default 30\n"
    "      --connect-timeout SECONDS  default 10\n"
    "      --cacert FILE        trust these certificates\n"
    "      --allow-private      also to loopback, private and link-local addresses\n"
    "\n"
    "The output:\n"
    "      --dry-run            print the request, endpoint and token masked, and send nothing\n"
    "      --json               a report as one JSON object\n"
    "      --explain            each question of each decision, on standard error\n"
    "  -q, --quiet              no line per attempt\n"
    "\n"
    "Exit status: 0 delivered, 1 failed here, 2 wrong arguments or a bad file, 3 refused, 4 gave "
    "up,\n"
    "5 the subscription (with --recall the message) is gone, 6 no such target, or one that is not "
    "to be trusted.\n";

enum option_code {
    OPT_TO = 256,
    OPT_KEY,
    OPT_BODY,
    OPT_TTL,
    OPT_URGENCY,
    OPT_TOPIC,
    OPT_PAD,
    OPT_RECEIPT,
    OPT_RECALL,
    OPT_POLICY,
    OPT_RETRIES,
    OPT_DEADLINE,
    OPT_CONNECT_TIMEOUT,
    OPT_CACERT,
    OPT_ALLOW_PRIVATE,
    OPT_DRY_RUN,
    OPT_JSON,
    OPT_EXPLAIN,
    OPT_HELP,
};

static const char short_options[] = ":m:qh";

static const struct option long_options[] = {
    {"to", required_argument, NULL, OPT_TO},
    {"key", required_argument, NULL, OPT_KEY},
    {"body", required_argument, NULL, OPT_BODY},
    {"ttl", required_argument, NULL, OPT_TTL},
    {"urgency", required_argument, NULL, OPT_URGENCY},
    {"topic", required_argument, NULL, OPT_TOPIC},
    {"pad", required_argument, NULL, OPT_PAD},
    {"receipt", required_argument, NULL, OPT_RECEIPT},
    {"recall", required_argument, NULL, OPT_RECALL},
    {"policy", required_argument, NULL, OPT_POLICY},
    {"retries", required_argument, NULL, OPT_RETRIES},
    {"deadline", required_argument, NULL, OPT_DEADLINE},
    {"max-time", required_argument, NULL, 'm'},
    {"connect-timeout", required_argument, NULL, OPT_CONNECT_TIMEOUT},
    {"cacert", required_argument, NULL, OPT_CACERT},
    {"allow-private", no_argument, NULL, OPT_ALLOW_PRIVATE},
    {"dry-run", no_argument, NULL, OPT_DRY_RUN},
    {"json", no_argument, NULL, OPT_JSON},
    {"explain", no_argument, NULL, OPT_EXPLAIN},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

/* What is said once and read when all is known. */
struct pending {
    const char *to;
    const char *body;
    const char *recall;
    int64_t retries; /* -1: not said */
    int64_t deadline_ms;
};

static int refuse(const char *what)
{
    return cli_usage("send", "%s", what);
}

/* ---- values ---- */

static int read_number(struct send_options *options, struct pending *pending, int code,
                       const char *value)
{
    uint64_t number = 0;
    int result = CLI_OK;
    switch (code) {
    case OPT_TTL:
        result = cli_read_count("send", "ttl", value, 0, TTL_MAX_S, &number);
        options->ttl_ms = (int64_t)number * 1000;
        return result;
    case OPT_PAD:
        return message_read_padding("send", "pad", value, &options->padding);
    case OPT_RETRIES:
    default:
        result = cli_read_count("send", "retries", value, 0, LULL_POLICY_RETRIES_MAX, &number);
        pending->retries = (int64_t)number;
        return result;
    }
}

static int read_option(struct send_options *options, struct pending *pending, int code,
                       const char *value)
{
    switch (code) {
    case OPT_TO:
        pending->to = value;
        return CLI_OK;
    case OPT_BODY:
        pending->body = value;
        return CLI_OK;
    case OPT_KEY:
        options->key_path = value;
        return CLI_OK;
    case OPT_CACERT:
        options->cacert = value;
        return CLI_OK;
    case OPT_RECEIPT:
        options->receipt_path = value;
        return CLI_OK;
    case OPT_RECALL:
        pending->recall = value;
        return CLI_OK;
    case OPT_URGENCY:
        return message_read_urgency("send", value, &options->urgency);
    case OPT_TOPIC:
        return message_read_topic("send", value, &options->topic);
    case OPT_POLICY:
        return cli_read_policy("send", "delivery", value, &options->policy);
    case OPT_DEADLINE:
        return cli_read_seconds("send", "deadline", value, &pending->deadline_ms);
    case OPT_CONNECT_TIMEOUT:
        return cli_read_seconds("send", "connect-timeout", value, &options->connect_timeout_ms);
    case 'm':
        return cli_read_seconds("send", "max-time", value, &options->max_time_ms);
    default:
        return read_number(options, pending, code, value);
    }
}

static bool read_flag(struct send_options *options, int code)
{
    switch (code) {
    case OPT_ALLOW_PRIVATE:
        options->is_private_allowed = true;
        return true;
    case OPT_DRY_RUN:
        options->is_dry_run = true;
        return true;
    case OPT_JSON:
        options->is_json = true;
        return true;
    case OPT_EXPLAIN:
        options->is_explaining = true;
        return true;
    case 'q':
        options->is_quiet = true;
        return true;
    case 'h':
    case OPT_HELP:
        options->is_help = true;
        return true;
    default:
        return false;
    }
}

/* ---- the files ---- */

/* A URL on one line, as --receipt has written it. */
static int read_recalled(struct send_options *options, const char *path)
{
    char origin[LULL_ORIGIN_SIZE];
    size_t length = 0;
    char *text = cli_read_file("send", "the receipt", path, LULL_ENDPOINT_SIZE, &length);
    if (!text) {
        return CLI_USAGE;
    }
    length = strcspn(text, "\r\n");
    text[length] = '\0';
    bool is_url = length < sizeof options->recalled &&
                  lull_endpoint_origin(text, origin) == LULL_OK; /* a token must name it */
    if (is_url) {
        memcpy(options->recalled, text, length);
    }
    OPENSSL_cleanse(text, length);
    free(text);
    return is_url ? CLI_OK : refuse("--recall: the file is not a receipt of 'lull send --receipt'");
}

static int check_together(struct send_options *options, const struct pending *pending)
{
    if (!pending->to && !pending->recall) {
        return refuse("--to must name a subscription");
    }
    if (pending->recall && (pending->to || pending->body || options->receipt_path)) {
        return refuse("--recall goes without --to, --body and --receipt");
    }
    if (pending->recall &&
        (options->ttl_ms != LULL_TTL_DEFAULT || options->urgency || options->topic)) {
        return refuse("--ttl, --urgency and --topic are of a message, not of its --recall");
    }
    if (!options->body.data && (options->padding.bytes > 0 || options->padding.is_random)) {
        return refuse("--pad needs a --body");
    }
    if (options->body.length + options->padding.bytes > LULL_PUSH_TEXT_MAX) {
        return cli_usage("send", "--body and --pad have %zu bytes, at most %d fit into a push",
                         options->body.length + options->padding.bytes, LULL_PUSH_TEXT_MAX);
    }
    if (options->ttl_ms == LULL_TTL_DEFAULT && options->policy.ttl_ms == LULL_NEVER) {
        options->ttl_ms = LULL_DAYS(28); /* a push has one, whatever the policy was made for (T1) */
    }
    if (pending->retries >= 0) {
        options->policy.retries = (uint32_t)pending->retries;
    }
    if (pending->deadline_ms > 0) {
        options->policy.deadline_ms = pending->deadline_ms;
    }
    return CLI_OK;
}

int send_options_read(struct send_options *options, int argc, char **argv)
{
    struct pending pending = {.retries = -1};
    int code = 0;
    int result = CLI_OK;
    *options = (struct send_options){
        .ttl_ms = LULL_TTL_DEFAULT,
        .max_time_ms = LULL_SECONDS(30),
        .connect_timeout_ms = LULL_SECONDS(10),
    };
    (void)lull_policy_named(&options->policy, "delivery");
    optind = 0;
    while (result == CLI_OK &&
           (code = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
        if (code == '?' || code == ':') {
            return cli_refuse_option("send", long_options, code, argv[optind - 1]);
        }
        if (!read_flag(options, code)) {
            result = read_option(options, &pending, code, optarg);
        }
    }
    if (result != CLI_OK || options->is_help) {
        return result;
    }
    if (optind < argc) {
        return refuse("there is an argument too many; values belong to flags");
    }
    if (pending.to && pending.body && strcmp(pending.to, "-") == 0 &&
        message_is_stdin(pending.body)) {
        return refuse("--to and --body cannot both be standard input");
    }
    result = pending.to
                 ? message_read_subscription("send", pending.to, &options->subscription, NULL)
                 : CLI_OK;
    if (result == CLI_OK && pending.recall) {
        result = read_recalled(options, pending.recall);
    }
    if (result == CLI_OK && pending.body) {
        result =
            message_read_text("send", "body", pending.body, LULL_PUSH_TEXT_MAX, &options->body);
    }
    return result == CLI_OK ? check_together(options, &pending) : result;
}

const char *send_endpoint(const struct send_options *options)
{
    return *options->recalled ? options->recalled : options->subscription.endpoint;
}

void send_options_free(struct send_options *options)
{
    message_text_free(&options->body);
    OPENSSL_cleanse(&options->subscription, sizeof options->subscription);
    OPENSSL_cleanse(options->recalled, sizeof options->recalled);
}
