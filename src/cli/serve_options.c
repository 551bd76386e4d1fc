/* serve_options - see the header. SPDX-License-Identifier: MIT */
#include "serve_options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "config_keys.h"

#define SYSTEM_CONFIG "/etc/lull/lull.conf"

const char serve_help[] =
    "Usage: lull serve [OPTIONS]\n"
    "\n"
    "Takes messages over HTTP, keeps them in one file, and delivers them: what was accepted is\n"
    "delivered, or ends as a dead letter with a reason.\n"
    "\n"
    "  --config FILE        lull.conf(5); default $LULL_CONFIG, or " SYSTEM_CONFIG "\n"
    "                       if that is there\n"
    "  --vapid-key FILE     a VAPID key; may be repeated, the first is the usual one\n"
    "  --set KEY=VALUE      any plain key of the configuration\n"
    "  --check              say what is wrong with the configuration, and do nothing\n"
    "  --log-level LEVEL    debug, info (default), warn or error\n"
    "  --log-format FORMAT  json, text, or auto (default): text on a terminal\n"
    "\n"
    "SIGTERM ends what is in flight and stops; SIGHUP reads the configuration again.\n"
    "\n"
    "Exit status: 0 it was stopped, 1 it could not go on, 2 the arguments or the configuration\n"
    "are wrong.\n"
    "\n"
    "Each plain key of the configuration is a flag, and a variable of the environment:\n";

void serve_print_keys(FILE *out)
{
    char usual[CONFIG_NUMBER_SIZE];
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_keys[i];
        fprintf(out, "  --%s %s\n      %s (default %s; $%s)\n", key->option, key->value, key->help,
                config_key_usual(key, usual), key->variable);
    }
}

enum { /* beside the places of keys */
       OPTION_CONFIG = 1000,
       OPTION_VAPID_KEY,
       OPTION_SET,
       OPTION_CHECK,
       OPTION_LOG_LEVEL,
       OPTION_LOG_FORMAT,
       OPTION_HELP,
};

static const struct option own_options[] = {
    {"config", required_argument, NULL, OPTION_CONFIG},
    {"vapid-key", required_argument, NULL, OPTION_VAPID_KEY},
    {"set", required_argument, NULL, OPTION_SET},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"log-level", required_argument, NULL, OPTION_LOG_LEVEL},
    {"log-format", required_argument, NULL, OPTION_LOG_FORMAT},
    {"help", no_argument, NULL, OPTION_HELP},
};
#define OWN_COUNT (sizeof own_options / sizeof *own_options)

/* Those and the table's, for free(). NULL: no memory. */
static struct option *all_options(void)
{
    struct option *options = calloc(OWN_COUNT + config_key_count + 1, sizeof *options);
    if (options) {
        memcpy(options, own_options, sizeof own_options);
        for (size_t i = 0; i < config_key_count; i++) {
            bool is_yes_no = config_keys[i].kind == CONFIG_YES_NO;
            options[OWN_COUNT + i] =
                (struct option){config_keys[i].option,
                                is_yes_no ? optional_argument : required_argument, NULL, (int)i};
        }
    }
    return options;
}

static void add_setting(struct serve_options *options, const char *key, const char *value,
                        const char *where)
{
    struct serve_setting *setting = &options->settings[options->setting_count++];
    setting->key = key;
    setting->value = value;
    (void)snprintf(setting->where, sizeof setting->where, "--%s", where);
}

/* KEY=VALUE, in the argument itself. */
static int read_set(struct serve_options *options, char *text)
{
    char *equals = text ? strchr(text, '=') : NULL; /* which getopt never leaves out */
    if (!equals || equals == text) {
        return cli_usage("serve", "--set takes KEY=VALUE");
    }
    *equals = '\0';
    if (!config_key_find(text)) {
        return cli_usage("serve", "--set: there is no such key; lull.conf(5) lists them");
    }
    add_setting(options, text, equals + 1, "set");
    return CLI_OK;
}

static int add_key_path(struct serve_options *options, const char *path)
{
    char *longer = NULL;
    int length = options->key_paths ? asprintf(&longer, "%s:%s", options->key_paths, path)
                                    : asprintf(&longer, "%s", path);
    if (length < 0) {
        return CLI_FAILED;
    }
    free(options->key_paths);
    options->key_paths = longer;
    return CLI_OK;
}

static int read_own(struct serve_options *options, int code)
{
    switch (code) {
    case OPTION_CONFIG:
        options->config_path = optarg;
        return CLI_OK;
    case OPTION_VAPID_KEY:
        return add_key_path(options, optarg);
    case OPTION_SET:
        return read_set(options, optarg);
    case OPTION_CHECK:
        options->is_check = true;
        return CLI_OK;
    case OPTION_LOG_LEVEL:
        return log_level_from_string(optarg, &options->log_level)
                   ? CLI_OK
                   : cli_usage("serve", "--log-level takes debug, info, warn or error");
    case OPTION_LOG_FORMAT:
        return log_form_from_string(optarg, &options->log_form)
                   ? CLI_OK
                   : cli_usage("serve", "--log-format takes json, text or auto");
    default:
        options->is_help = true;
        return CLI_OK;
    }
}

static int read_all(struct serve_options *options, const struct option *known, int argc,
                    char **argv)
{
    int code = CLI_OK;
    int found = 0;
    optind = 0;
    while (code == CLI_OK && (found = getopt_long(argc, argv, ":", known, NULL)) != -1) {
        if (found == '?' || found == ':') {
            return cli_refuse_option("serve", known, found, argv[optind - 1]);
        }
        if (found >= OPTION_CONFIG) {
            code = read_own(options, found);
        } else {
            const struct config_key *key = &config_keys[found];
            add_setting(options, key->name, optarg ? optarg : "yes", key->option);
        }
    }
    if (code == CLI_OK && optind < argc) {
        return cli_usage("serve", "it takes no arguments beside its options");
    }
    return code;
}

int serve_options_read(struct serve_options *options, int argc, char **argv)
{
    *options = (struct serve_options){.log_level = LOG_INFO, .log_form = LOG_FORM_AUTO};
    struct option *known = all_options();
    options->settings = calloc((size_t)argc, sizeof *options->settings);
    int code = known && options->settings ? read_all(options, known, argc, argv) : CLI_FAILED;
    free(known);
    return code;
}

void serve_options_free(struct serve_options *options)
{
    free(options->settings);
    free(options->key_paths);
}

/* ---- the configuration ---- */

static const char *config_path_of(const struct serve_options *options)
{
    const char *path = options->config_path ? options->config_path : getenv("LULL_CONFIG");
    if (path && *path != '\0') {
        return path;
    }
    return access(SYSTEM_CONFIG, F_OK) == 0 ? SYSTEM_CONFIG : NULL;
}

bool serve_configure(const struct serve_options *options, struct config *ret_config)
{
    const struct config_report report = {stderr, config_print_mistake};
    const char *path = config_path_of(options);
    if (!config_init(ret_config)) {
        fputs("lull serve: there is not enough memory\n", stderr);
        return false;
    }
    bool is_good = !path || config_read_file(ret_config, path, &report);
    is_good &= config_read_environment(ret_config, &report);
    for (size_t i = 0; i < options->setting_count; i++) {
        const struct serve_setting *setting = &options->settings[i];
        is_good &= config_set(ret_config, setting->key, setting->value, setting->where, &report);
    }
    if (options->key_paths) {
        is_good &= config_set(ret_config, "vapid_keys", options->key_paths, "--vapid-key", &report);
    }
    is_good &= config_check(ret_config, &report); /* also after mistakes: all of them are told */
    return is_good;
}
