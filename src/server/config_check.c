/* config_check - what can be seen only when all is read. SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "config_value.h"
#include "listen.h"
#include "lull/error.h"
#include "token.h"

static bool check_listen(struct config *config, const struct config_report *report)
{
    struct config_place place = config_place_of(config, "listen");
    char problem[LISTEN_PROBLEM_SIZE];
    bool is_loopback = false;
    if (!listen_check(config->listen, &is_loopback, problem)) {
        return config_refuse(report, place, "%s", problem);
    }
    return is_loopback || config->token_file ||
           config_refuse(report, place,
                         "others could reach this address, so it needs a token_file; make one: "
                         "(umask 077; echo \"me: $(openssl rand -hex 32)\" >tokens)");
}

static bool check_policy(const struct config *config, const char *key, const char *text,
                         const struct config_report *report)
{
    struct lull_policy policy;
    struct lull_policy_error error = {.text = ""};
    return config_policy_parse(config, text, strlen(text), &policy, &error) == LULL_OK ||
           config_refuse(report, config_place_of(config, key), "%s", error.text);
}

static bool check_limits(const struct config *config, const struct config_report *report)
{
    return config->limits.waiting_soft_max <= config->limits.waiting_hard_max ||
           config_refuse(report, config_place_of(config, "limits.waiting_soft_max"),
                         "limits.waiting_soft_max must not be over limits.waiting_hard_max");
}

/* Its name is not repeated, as of no file that is not there. */
static bool check_ca_file(const struct config *config, const struct config_report *report)
{
    return !config->ca_file || access(config->ca_file, R_OK) == 0 ||
           config_refuse(report, config_place_of(config, "ca_file"), "the file cannot be read: %s",
                         strerror(errno));
}

bool config_check(struct config *config, const struct config_report *report)
{
    bool is_good = check_listen(config, report);
    is_good = token_read(config, report) && is_good;
    is_good = check_policy(config, "push_policy", config->push_policy, report) && is_good;
    is_good = check_policy(config, "webhook_policy", config->webhook_policy, report) && is_good;
    is_good = check_limits(config, report) && is_good;
    return check_ca_file(config, report) && is_good;
}
