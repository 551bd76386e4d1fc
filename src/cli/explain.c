/* explain - `lull explain`: what would Lull do with this response? SPDX-License-Identifier: MIT */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "explain_print.h"
#include "lull/lull.h"

#define HEADERS_MAX 256

static const char help[] =
    "Usage: lull explain (--status N | --error WORD | --queued) [OPTIONS]\n"
    "\n"
    "Says what Lull would do with the end of an attempt: each question of the decision with its\n"
    "answer and its rule, and the verdict. Nothing is sent.\n"
    "\n"
    "What happened:\n"
    "  --status N              an HTTP status arrived, 100 to 999\n"
    "  --header 'NAME: VALUE'  a header of the response; may be repeated\n"
    "  --body TEXT             the body of the response\n"
    "  --error WORD            no status: dns, dns_not_found, refused, connect_timeout, tls,\n"
    "                          tls_handshake, reset, timeout, protocol, refused_stream, goaway,\n"
    "                          malformed_url, forbidden or cancelled\n"
    "  --queued                nothing yet: may it be sent?\n"
    "\n"
    "The message or request:\n"
    "  --policy TEXT           delivery (default), urgent, bulk, client or webhook, and changes\n"
    "                          to it: 'bulk retries=9 cap=10m status.409=retry'; lull-policy(7)\n"
    "  --kind KIND             push, webhook or request; default: what the policy is for\n"
    "  --endpoint URL          picks the service by its host; never printed\n"
    "  --method METHOD         default: POST for messages, GET for requests. Saying POST makes "
    "the\n"
    "                          idempotency gate ask for a key or --repeatable\n"
    "  --idempotency-key KEY   it carries one; never printed\n"
    "  --repeatable            it is safe to repeat\n"
    "  --attempt N             this ended the N-th attempt; default 1\n"
    "  --ttl SECONDS           asked for; default: the policy's\n"
    "  --age SECONDS           since it was accepted; default 0\n"
    "  --previous-delay SECONDS  the wait before this attempt (decorrelated jitter); default 0\n"
    "\n"
    "What else is known:\n"
    "  --sender-throttled      the service refuses the whole sender, not one subscription\n"
    "  --auth-retried          a retry with a fresh JWT has been made\n"
    "  --key-paused            our key is paused on this service\n"
    "  --incoming-attempt N    the request that we serve is itself an N-th attempt\n"
    "  --circuit-open          the circuit breaker is open\n"
    "  --budget-exhausted      the retry budget is spent\n"
    "\n"
    "Output:\n"
    "  --json                  one JSON object\n"
    "  --now EPOCH[.mmm]       the time, in seconds since 1970; default: the clock\n"
    "  --seed N                makes the draw repeatable; default: a new one each time\n"
    "\n"
    "Exit status: 0 a verdict was printed, 2 the arguments are wrong.\n";

enum option_code {
    OPT_STATUS = 256,
    OPT_HEADER,
    OPT_BODY,
    OPT_ERROR,
    OPT_QUEUED,
    OPT_POLICY,
    OPT_KIND,
    OPT_ENDPOINT,
    OPT_METHOD,
    OPT_IDEMPOTENCY_KEY,
    OPT_REPEATABLE,
    OPT_ATTEMPT,
    OPT_TTL,
    OPT_AGE,
    OPT_PREVIOUS_DELAY,
    OPT_SENDER_THROTTLED,
    OPT_AUTH_RETRIED,
    OPT_KEY_PAUSED,
    OPT_INCOMING_ATTEMPT,
    OPT_CIRCUIT_OPEN,
    OPT_BUDGET_EXHAUSTED,
    OPT_JSON,
    OPT_NOW,
    OPT_SEED,
    OPT_HELP,
};

static const struct option options[] = {
    {"status", required_argument, NULL, OPT_STATUS},
    {"header", required_argument, NULL, OPT_HEADER},
    {"body", required_argument, NULL, OPT_BODY},
    {"error", required_argument, NULL, OPT_ERROR},
    {"queued", no_argument, NULL, OPT_QUEUED},
    {"policy", required_argument, NULL, OPT_POLICY},
    {"kind", required_argument, NULL, OPT_KIND},
    {"endpoint", required_argument, NULL, OPT_ENDPOINT},
    {"method", required_argument, NULL, OPT_METHOD},
    {"idempotency-key", required_argument, NULL, OPT_IDEMPOTENCY_KEY},
    {"repeatable", no_argument, NULL, OPT_REPEATABLE},
    {"attempt", required_argument, NULL, OPT_ATTEMPT},
    {"ttl", required_argument, NULL, OPT_TTL},
    {"age", required_argument, NULL, OPT_AGE},
    {"previous-delay", required_argument, NULL, OPT_PREVIOUS_DELAY},
    {"sender-throttled", no_argument, NULL, OPT_SENDER_THROTTLED},
    {"auth-retried", no_argument, NULL, OPT_AUTH_RETRIED},
    {"key-paused", no_argument, NULL, OPT_KEY_PAUSED},
    {"incoming-attempt", required_argument, NULL, OPT_INCOMING_ATTEMPT},
    {"circuit-open", no_argument, NULL, OPT_CIRCUIT_OPEN},
    {"budget-exhausted", no_argument, NULL, OPT_BUDGET_EXHAUSTED},
    {"json", no_argument, NULL, OPT_JSON},
    {"now", required_argument, NULL, OPT_NOW},
    {"seed", required_argument, NULL, OPT_SEED},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

/* The arguments as they came. What depends on another is worked out when all are read. */
struct arguments {
    const char *method; /* NULL: not said */
    const char *kind;
    struct lull_policy policy;
    struct lull_facts said; /* only the fields that have an option */
    struct lull_outcome outcome;
    struct lull_header headers[HEADERS_MAX];
    int outcomes; /* how many of --status, --error, --queued */
    int64_t age_ms;
    int64_t now_ms;
    uint64_t seed;
    bool is_json;
    bool is_help;
};

static int refuse(const char *what)
{
    return cli_usage("explain", "%s", what);
}

static int read_header(struct arguments *arguments, const char *text)
{
    size_t name_length = 0;
    const char *value = NULL;
    if (!cli_split_header(text, &name_length, &value)) {
        return refuse("--header must be 'NAME: VALUE', on one line");
    }
    if (arguments->outcome.header_count == HEADERS_MAX) {
        return refuse("--header may be given 256 times at most");
    }
    arguments->headers[arguments->outcome.header_count++] =
        (struct lull_header){text, name_length, value, strlen(value)};
    return CLI_OK;
}

static int read_policy(struct arguments *arguments, const char *text)
{
    struct lull_policy_error error;
    if (lull_policy_parse(&arguments->policy, text, strlen(text), &error) != LULL_OK) {
        return cli_usage("explain", "--policy: at character %zu: %s", error.offset + 1, error.text);
    }
    return CLI_OK;
}

static int read_endpoint(struct arguments *arguments, const char *url)
{
    const char *host = NULL;
    size_t length = 0;
    if (lull_url_host(url, strlen(url), &host, &length) != LULL_OK) {
        return refuse("--endpoint must be an http or https URL with a host");
    }
    arguments->said.vendor = lull_vendor_from_host(host, length);
    return CLI_OK;
}

static int read_count(const char *option, const char *text, uint32_t *ret_count)
{
    uint64_t number = 0;
    if (!cli_parse_number(text, 1, 1000000, &number)) {
        return cli_usage("explain", "--%s must be a whole number from 1 to 1000000", option);
    }
    *ret_count = (uint32_t)number;
    return CLI_OK;
}

static int read_seconds(const char *option, const char *text, int64_t *ret_ms)
{
    if (!cli_parse_seconds(text, ret_ms)) {
        return cli_usage("explain", "--%s must be seconds, with up to three decimals", option);
    }
    return CLI_OK;
}

static int read_outcome_option(struct arguments *arguments, int code, const char *value)
{
    uint64_t number = 0;
    arguments->outcomes++;
    switch (code) {
    case OPT_STATUS:
        if (!cli_parse_number(value, 100, 999, &number)) {
            return refuse("--status must be a whole number from 100 to 999");
        }
        arguments->outcome.kind = LULL_OUTCOME_STATUS;
        arguments->outcome.status = (unsigned)number;
        return CLI_OK;
    case OPT_ERROR:
        arguments->outcome.kind = LULL_OUTCOME_TRANSPORT;
        if (lull_transport_from_string(value, &arguments->outcome.transport) != LULL_OK) {
            return refuse("--error must be dns, dns_not_found, refused, connect_timeout, tls, "
                          "tls_handshake, reset, timeout, protocol, refused_stream, goaway, "
                          "malformed_url, forbidden or cancelled");
        }
        return CLI_OK;
    case OPT_QUEUED:
    default:
        arguments->outcome.kind = LULL_OUTCOME_PENDING;
        return CLI_OK;
    }
}

static int read_message_option(struct arguments *arguments, int code, const char *value)
{
    struct lull_facts *said = &arguments->said;
    switch (code) {
    case OPT_POLICY:
        return read_policy(arguments, value);
    case OPT_KIND:
        arguments->kind = value;
        return CLI_OK;
    case OPT_ENDPOINT:
        return read_endpoint(arguments, value);
    case OPT_METHOD:
        if (!cli_is_token(value, strlen(value))) {
            return refuse("--method must be an HTTP method, like POST");
        }
        arguments->method = value;
        return CLI_OK;
    case OPT_IDEMPOTENCY_KEY:
        said->has_idempotency_key = true;
        return *value ? CLI_OK : refuse("--idempotency-key must not be empty");
    case OPT_ATTEMPT:
        return read_count("attempt", value, &said->attempt);
    case OPT_TTL:
        return read_seconds("ttl", value, &said->ttl_ms);
    case OPT_AGE:
        return read_seconds("age", value, &arguments->age_ms);
    case OPT_PREVIOUS_DELAY:
    default:
        return read_seconds("previous-delay", value, &said->previous_delay_ms);
    }
}

static int read_option(struct arguments *arguments, int code, const char *value)
{
    struct lull_facts *said = &arguments->said;
    switch (code) {
    case OPT_STATUS:
    case OPT_ERROR:
    case OPT_QUEUED:
        return read_outcome_option(arguments, code, value);
    case OPT_HEADER:
        return read_header(arguments, value);
    case OPT_BODY:
        arguments->outcome.body = value;
        arguments->outcome.body_length = strlen(value);
        return CLI_OK;
    case OPT_REPEATABLE:
        said->is_repeatable = true;
        return CLI_OK;
    case OPT_SENDER_THROTTLED:
        said->is_sender_throttled = true;
        return CLI_OK;
    case OPT_AUTH_RETRIED:
        said->auth_retries = 1;
        return CLI_OK;
    case OPT_KEY_PAUSED:
        said->is_key_paused = true;
        return CLI_OK;
    case OPT_INCOMING_ATTEMPT:
        return read_count("incoming-attempt", value, &said->incoming_attempt);
    case OPT_CIRCUIT_OPEN:
        said->is_circuit_open = true;
        return CLI_OK;
    case OPT_BUDGET_EXHAUSTED:
        said->is_budget_exhausted = true;
        return CLI_OK;
    case OPT_JSON:
        arguments->is_json = true;
        return CLI_OK;
    case OPT_NOW:
        return read_seconds("now", value, &arguments->now_ms);
    case OPT_SEED:
        return cli_parse_number(value, 0, UINT64_MAX, &arguments->seed)
                   ? CLI_OK
                   : refuse("--seed must be a whole number");
    case OPT_HELP:
        arguments->is_help = true;
        return CLI_OK;
    default:
        return read_message_option(arguments, code, value);
    }
}

static int read_arguments(struct arguments *arguments, int argc, char **argv)
{
    int code = 0;
    opterr = 0;
    while ((code = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        int result = code == '?' || code == ':'
                         ? cli_refuse_option("explain", options, code, argv[optind - 1])
                         : read_option(arguments, code, optarg);
        if (result != CLI_OK) {
            return result;
        }
    }
    if (arguments->is_help) {
        return CLI_OK;
    }
    if (optind < argc) {
        return refuse("takes options only; is a quote missing?");
    }
    if (arguments->outcomes != 1) {
        return refuse("needs one of --status, --error and --queued");
    }
    return CLI_OK;
}

/* The facts: what is usual for the policy, and what was said on top. */
static int make_facts(const struct arguments *arguments, struct lull_facts *facts)
{
    struct lull_policy policy = arguments->policy;
    if ((arguments->kind && lull_kind_from_string(arguments->kind, &policy.kind) != LULL_OK) ||
        policy.kind == LULL_KIND_OPERATION) {
        return refuse("--kind must be push, webhook or request");
    }
    lull_facts_init(facts, &policy, arguments->now_ms);
    struct lull_facts usual = *facts;
    *facts = arguments->said;
    facts->kind = usual.kind;
    facts->method = usual.method;
    facts->first_accepted_ms = arguments->now_ms - arguments->age_ms;
    if (arguments->method) {
        facts->method = lull_method_from_string(arguments->method);
    } else {
        facts->is_repeatable = facts->is_repeatable || usual.is_repeatable;
    }
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    static struct arguments arguments;
    arguments = (struct arguments){
        .said = {.attempt = 1, .ttl_ms = LULL_TTL_DEFAULT},
        .now_ms = lull_os_now_ms(),
        .seed = lull_os_seed() >> 11, /* fits a JSON number */
    };
    (void)lull_policy_named(&arguments.policy, "delivery");
    int result = read_arguments(&arguments, argc, argv);
    if (result != CLI_OK) {
        return result;
    }
    if (arguments.is_help) {
        fputs(help, stdout);
        return CLI_OK;
    }
    struct explanation explanation = {.policy = &arguments.policy, .seed = arguments.seed};
    result = make_facts(&arguments, &explanation.facts);
    if (result != CLI_OK) {
        return result;
    }
    struct lull_random random;
    lull_random_init(&random, arguments.seed);
    arguments.outcome.headers = arguments.headers;
    if (lull_decide(&arguments.policy, &explanation.facts, &arguments.outcome, arguments.now_ms,
                    &random, &explanation.verdict, &explanation.trace) != LULL_OK) {
        return refuse("these values do not fit together");
    }
    explanation.due_ms = arguments.now_ms + explanation.verdict.delay_ms;
    if (arguments.is_json) {
        explain_print_json(&explanation);
    } else {
        explain_print_text(&explanation);
    }
    return CLI_OK;
}

const struct cli_command cli_explain = {
    .name = "explain",
    .summary = "say what Lull would do with a response, and why",
    .help = help,
    .run = run,
};
