/* keys - `lull keys`: VAPID keys, made and kept (W2). SPDX-License-Identifier: MIT */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "key_file.h"
#include "keys_check.h"
#include "lull/error.h"
#include "lull/webpush.h"

#define IMPORT_MAX 65536 /* bytes */
#define PUBLIC_SIZE LULL_BASE64URL_SIZE(LULL_P256_POINT_SIZE)

static const char help[] =
    "Usage: lull keys new --sub ADDRESS [--out FILE] [--force]\n"
    "       lull keys show [--key FILE] [--public | --json]\n"
    "       lull keys import FILE|- [--sub ADDRESS] [--out FILE] [--force]\n"
    "       lull keys export --format FORMAT [--key FILE] [--out FILE] [--force]\n"
    "       lull keys check [--key FILE] [--to FILE] [--topic TEXT] [--ttl SECONDS]\n"
    "                       [--allow-private] [--no-network] [--json]\n"
    "\n"
    "Makes and keeps the VAPID key that tells the push services who sends. Browsers subscribe\n"
    "with its public half; the private one signs, and only you can read its file.\n"
    "\n"
    "  new      make a key\n"
    "  show     its id, subject and public key; never the private one\n"
    "  import   take over a key: PEM, JWK, a pair in base64url as JSON or as two labelled lines\n"
    "  export   write a key, with its private half, in another format\n"
    "  check    look for what would spoil the first send: access to the file, whether the keys\n"
    "           are a pair, the subject, the subscription, topic and TTL, and our clock\n"
    "           against the service's\n"
    "\n"
    "Options:\n"
    "  --key FILE        default $XDG_CONFIG_HOME/lull/vapid.json, else\n"
    "                    ~/.config/lull/vapid.json\n"
    "  --out FILE        where to write; default: the same file; for export standard output\n"
    "  --sub ADDRESS     where the push services can reach you: mailto:you@example.org or\n"
    "                    https://example.org/contact; import: instead of the key's own\n"
    "  --force           write over an existing file; export: a private key on a terminal\n"
    "  --format FORMAT   file (Lull's own), jwk, pem or pair\n"
    "  --public          the public key alone, in base64url: a browser's applicationServerKey\n"
    "  --to FILE         a subscription as JSON; - is standard input\n"
    "  --topic TEXT      that you want to send with\n"
    "  --ttl SECONDS     that you want to send with\n"
    "  --allow-private   the service may be at a loopback, private or link-local address\n"
    "  --no-network      do not ask the push service for the time\n"
    "  --json            one JSON object\n"
    "  --help            show this\n"
    "\n"
    "Exit status: 0 done, and check found no error; 1 it could not be done, or check found an\n"
    "error; 2 the arguments or the file that they name are wrong.\n";

enum option_code {
    OPT_KEY = 256,
    OPT_OUT,
    OPT_SUB,
    OPT_FORCE,
    OPT_FORMAT,
    OPT_PUBLIC,
    OPT_TO,
    OPT_TOPIC,
    OPT_TTL,
    OPT_ALLOW_PRIVATE,
    OPT_NO_NETWORK,
    OPT_JSON,
    OPT_HELP,
};

static const struct option options[] = {
    {"key", required_argument, NULL, OPT_KEY},
    {"out", required_argument, NULL, OPT_OUT},
    {"sub", required_argument, NULL, OPT_SUB},
    {"force", no_argument, NULL, OPT_FORCE},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"public", no_argument, NULL, OPT_PUBLIC},
    {"to", required_argument, NULL, OPT_TO},
    {"topic", required_argument, NULL, OPT_TOPIC},
    {"ttl", required_argument, NULL, OPT_TTL},
    {"allow-private", no_argument, NULL, OPT_ALLOW_PRIVATE},
    {"no-network", no_argument, NULL, OPT_NO_NETWORK},
    {"json", no_argument, NULL, OPT_JSON},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

struct arguments {
    struct keys_check check; /* and its key is that of show and export */
    const char *operand;     /* import's file */
    const char *out;
    const char *subject;
    enum lull_key_format format; /* LULL_KEY_FORMATS: not said */
    bool is_forced;
    bool is_public;
    bool is_help;
};

#define TAKES(code) (1U << ((code)-OPT_KEY))

struct action {
    const char *name;
    int (*run)(const struct arguments *arguments);
    unsigned takes; /* bits of TAKES; --help is always */
    bool has_operand;
};

static int refuse(const char *what)
{
    return cli_usage("keys", "%s", what);
}

static int fail(const char *what)
{
    fprintf(stderr, "lull keys: %s.\n", what);
    return CLI_FAILED;
}

/* ---- new, import ---- */

static void encode_public(const struct lull_vapid_key *key, char text[PUBLIC_SIZE])
{
    (void)lull_base64url_encode(lull_vapid_key_public(key), LULL_P256_POINT_SIZE, text);
}

static void print_key(const struct lull_vapid_key *key)
{
    char text[PUBLIC_SIZE];
    encode_public(key, text);
    printf("id          %s\n", lull_vapid_key_id(key));
    printf("subject     %s\n", lull_vapid_key_subject(key));
    printf("public key  %s\n", text);
}

/* Takes the key over. */
static int save(const struct arguments *arguments, struct lull_vapid_key *key)
{
    char standard[PATH_MAX] = "";
    const char *place = arguments->out;
    int result = key_file_save("keys", place, key, arguments->is_forced);
    if (result == CLI_OK) {
        if (!place) {
            (void)key_file_default(standard, sizeof standard);
            place = standard;
        }
        printf("Written to %s, which only you can read.\n\n", place);
        print_key(key);
        fputs("\n"
              "Next: let browsers subscribe with the public key as applicationServerKey, and try\n"
              "'lull keys check --to subscription.json' before the first 'lull send'. Keep a copy "
              "of\n"
              "the file in a safe place: what was subscribed with this key needs this key.\n",
              stdout);
    }
    lull_vapid_key_destroy(key);
    return result;
}

static int check_subject(const char *subject)
{
    struct lull_webpush_error error = {""};
    return lull_vapid_check_subject(subject, &error) == LULL_OK
               ? CLI_OK
               : cli_usage("keys", "--sub: %s", error.text);
}

static int run_new(const struct arguments *arguments)
{
    struct lull_vapid_key *key = NULL;
    struct lull_webpush_error error = {""};
    if (!arguments->subject) {
        return refuse("new needs --sub, where the push services can reach you: "
                      "--sub mailto:you@example.org");
    }
    if (check_subject(arguments->subject) != CLI_OK) {
        return CLI_USAGE;
    }
    if (lull_vapid_key_new(&key, arguments->subject, &error) != LULL_OK) {
        return fail("a key could not be made");
    }
    return save(arguments, key);
}

static int run_import(const struct arguments *arguments)
{
    struct lull_vapid_key *key = NULL;
    struct lull_webpush_error error = {""};
    size_t length = 0;
    if (!arguments->operand) {
        return refuse("import needs a file with a key, or - for standard input");
    }
    if (arguments->subject && check_subject(arguments->subject) != CLI_OK) {
        return CLI_USAGE;
    }
    char *text = cli_read_file("keys", "the key", arguments->operand, IMPORT_MAX, &length);
    if (!text) {
        return CLI_USAGE;
    }
    int result = lull_vapid_key_import(&key, text, length, arguments->subject, &error);
    explicit_bzero(text, length);
    free(text);
    if (result == LULL_ERR_MEMORY) {
        return fail("there is not enough memory");
    }
    return result == LULL_OK ? save(arguments, key)
                             : cli_usage("keys", "the key cannot be imported: %s", error.text);
}

/* ---- show, export, check ---- */

static int print_key_json(const struct lull_vapid_key *key)
{
    char text[PUBLIC_SIZE];
    encode_public(key, text);
    json_t *object = json_pack("{s:s, s:s, s:s}", "id", lull_vapid_key_id(key), "subject",
                               lull_vapid_key_subject(key), "public_key", text);
    bool is_good = object && json_dumpf(object, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF;
    json_decref(object);
    return is_good ? CLI_OK : fail("the output could not be written");
}

static int run_show(const struct arguments *arguments)
{
    struct lull_vapid_key *key = NULL;
    if (arguments->is_public && arguments->check.is_json) {
        return refuse("--public and --json do not go together");
    }
    int result = key_file_load("keys", arguments->check.key, &key);
    if (result != CLI_OK) {
        return result;
    }
    if (arguments->check.is_json) {
        result = print_key_json(key);
    } else if (arguments->is_public) {
        char text[PUBLIC_SIZE];
        encode_public(key, text);
        puts(text);
    } else {
        print_key(key);
    }
    lull_vapid_key_destroy(key);
    return result;
}

static int run_export(const struct arguments *arguments)
{
    struct lull_vapid_key *key = NULL;
    char text[LULL_KEY_TEXT_SIZE];
    if (arguments->format == LULL_KEY_FORMATS) {
        return refuse("export needs --format file, jwk, pem or pair");
    }
    if (!arguments->out && !arguments->is_forced && isatty(STDOUT_FILENO)) {
        return refuse("the private key would be shown on the terminal: say --out FILE, or --force");
    }
    int result = key_file_load("keys", arguments->check.key, &key);
    if (result != CLI_OK) {
        return result;
    }
    if (lull_vapid_key_export(key, arguments->format, text) != LULL_OK) {
        result = fail("the key could not be exported");
    } else if (arguments->out) {
        result = key_file_write("keys", arguments->out, text, arguments->is_forced);
    } else {
        (void)fputs(text, stdout);
    }
    explicit_bzero(text, sizeof text);
    lull_vapid_key_destroy(key);
    return result;
}

static int run_check(const struct arguments *arguments)
{
    return keys_check_run(&arguments->check);
}

static const struct action actions[] = {
    {"new", run_new, TAKES(OPT_SUB) | TAKES(OPT_OUT) | TAKES(OPT_FORCE), false},
    {"show", run_show, TAKES(OPT_KEY) | TAKES(OPT_PUBLIC) | TAKES(OPT_JSON), false},
    {"import", run_import, TAKES(OPT_SUB) | TAKES(OPT_OUT) | TAKES(OPT_FORCE), true},
    {"export", run_export, TAKES(OPT_KEY) | TAKES(OPT_FORMAT) | TAKES(OPT_OUT) | TAKES(OPT_FORCE),
     false},
    {"check", run_check,
     TAKES(OPT_KEY) | TAKES(OPT_TO) | TAKES(OPT_TOPIC) | TAKES(OPT_TTL) | TAKES(OPT_ALLOW_PRIVATE) |
         TAKES(OPT_NO_NETWORK) | TAKES(OPT_JSON),
     false},
};

/* ---- the arguments ---- */

static int read_file_name(const char *option, const char *value, const char **ret_name)
{
    if (*value == '\0' || strcmp(value, "-") == 0) {
        return cli_usage("keys", "--%s must be the name of a file", option);
    }
    *ret_name = value;
    return CLI_OK;
}

static int read_value(struct arguments *arguments, int code, const char *value)
{
    uint64_t number = 0;
    switch (code) {
    case OPT_KEY:
        return read_file_name("key", value, &arguments->check.key);
    case OPT_OUT:
        return read_file_name("out", value, &arguments->out);
    case OPT_SUB:
        arguments->subject = value;
        return CLI_OK;
    case OPT_FORMAT:
        return lull_key_format_from_string(value, &arguments->format) == LULL_OK
                   ? CLI_OK
                   : refuse("--format must be file, jwk, pem or pair");
    case OPT_TO:
        arguments->check.to = value;
        return CLI_OK;
    case OPT_TOPIC:
        arguments->check.topic = value;
        return CLI_OK;
    case OPT_TTL:
    default:
        if (!cli_parse_number(value, 0, INT32_MAX, &number)) {
            return refuse("--ttl must be whole seconds, from 0 to 2147483647");
        }
        arguments->check.ttl_s = (int64_t)number;
        return CLI_OK;
    }
}

static int read_option(struct arguments *arguments, int code, const char *value)
{
    switch (code) {
    case OPT_FORCE:
        arguments->is_forced = true;
        return CLI_OK;
    case OPT_PUBLIC:
        arguments->is_public = true;
        return CLI_OK;
    case OPT_ALLOW_PRIVATE:
        arguments->check.is_private_allowed = true;
        return CLI_OK;
    case OPT_NO_NETWORK:
        arguments->check.is_offline = true;
        return CLI_OK;
    case OPT_JSON:
        arguments->check.is_json = true;
        return CLI_OK;
    case OPT_HELP:
        arguments->is_help = true;
        return CLI_OK;
    default:
        return read_value(arguments, code, value);
    }
}

static int refuse_for(const struct action *action, int code)
{
    const struct option *option = options;
    while (option->val != code) {
        option++;
    }
    return cli_usage("keys", "--%s is not for 'lull keys %s'", option->name, action->name);
}

static int read_arguments(struct arguments *arguments, const struct action *action, int argc,
                          char **argv)
{
    int code = 0;
    opterr = 0;
    while ((code = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        int result = CLI_OK;
        if (code == '?' || code == ':') {
            result = cli_refuse_option("keys", options, code, argv[optind - 1]);
        } else if (code != OPT_HELP && !(action->takes & TAKES(code))) {
            result = refuse_for(action, code);
        } else {
            result = read_option(arguments, code, optarg);
        }
        if (result != CLI_OK) {
            return result;
        }
    }
    if (action->has_operand && optind < argc) {
        arguments->operand = argv[optind++];
    }
    if (optind < argc && !arguments->is_help) {
        return cli_usage("keys", "%s takes %s; is a quote missing?", action->name,
                         action->has_operand ? "one file" : "options only");
    }
    return CLI_OK;
}

static int run(int argc, char **argv)
{
    struct arguments arguments = {.format = LULL_KEY_FORMATS, .check.ttl_s = -1};
    const struct action *action = NULL;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(help, stdout);
        return CLI_OK;
    }
    for (size_t i = 0; argc > 1 && i < sizeof actions / sizeof actions[0]; i++) {
        action = strcmp(argv[1], actions[i].name) == 0 ? &actions[i] : action;
    }
    if (!action) {
        return refuse("needs one of new, show, import, export and check");
    }
    int result = read_arguments(&arguments, action, argc - 1, argv + 1);
    if (result == CLI_OK && arguments.is_help) {
        fputs(help, stdout);
    } else if (result == CLI_OK) {
        result = action->run(&arguments);
    }
    return result;
}

const struct cli_command cli_keys = {
    .name = "keys",
    .summary = "make, show, import, export and check the keys of Web Push",
    .help = help,
    .run = run,
};
