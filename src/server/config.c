/* config - see the header. SPDX-License-Identifier: MIT */
#include "config.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config_keys.h"
#include "config_value.h"
#include "lull/error.h"
#include "policy_text.h"
#include "state_folder.h"

#define API_THREADS_USUAL_MAX 8

/* ---- the defaults ---- */

static uint32_t count_cores(void)
{
    cpu_set_t ours;
    CPU_ZERO(&ours);
    int count = sched_getaffinity(0, sizeof ours, &ours) == 0 ? CPU_COUNT(&ours) : 1;
    return count > 0 ? (uint32_t)count : 1;
}

static char *usual_subject(void)
{
    char host[HOST_NAME_MAX + 1] = "";
    char *subject = NULL;
    if (gethostname(host, sizeof host - 1) != 0 || *host == '\0') {
        (void)snprintf(host, sizeof host, "lull");
    }
    /* A name without a dot is no address (V3). */
    const char *domain = strchr(host, '.') ? "" : ".localdomain";
    return asprintf(&subject, "mailto:admin@%s%s", host, domain) < 0 ? NULL : subject;
}

/* As the table says; what it puts in brackets is found out or stays NULL. */
static bool set_usual(struct config *config, const struct config_key *key)
{
    char *field = (char *)config + key->offset;
    bool is_text = key->usual_text && *key->usual_text != '(';
    if (is_text) {
        char **place = (char **)(void *)field;
        *place = strdup(key->usual_text);
        return *place != NULL;
    }
    if (key->usual != 0 && key->is_wide) {
        memcpy(field, &key->usual, sizeof key->usual);
    } else if (key->usual != 0) {
        uint32_t narrow = (uint32_t)key->usual;
        memcpy(field, &narrow, sizeof narrow);
    }
    return true;
}

bool config_init(struct config *config)
{
    *config = (struct config){.store = state_folder_file("lull.db"), .subject = usual_subject()};
    config->origins = calloc(config_key_count, sizeof *config->origins);
    bool is_good = config->store && config->subject && config->origins;
    for (size_t i = 0; is_good && i < config_key_count; i++) {
        is_good = set_usual(config, &config_keys[i]);
    }
    uint32_t cores = count_cores();
    config->limits.api_threads = cores < API_THREADS_USUAL_MAX ? cores : API_THREADS_USUAL_MAX;
    config->limits.senders = cores > 1 ? cores / 2 : 1;
    if (config->limits.senders > 64) {
        config->limits.senders = 64;
    }
    if (!is_good) {
        config_clean_up(config);
    }
    return is_good;
}

/* ---- the end ---- */

static void free_keys(struct config *config)
{
    for (size_t i = 0; config->origins && i < config_key_count; i++) {
        free(config->origins[i].path);
    }
    free(config->origins);
    for (size_t i = 0; i < config->key_count; i++) {
        free(config->key_paths[i]);
    }
    free(config->key_paths);
    free(config->listen);
    free(config->store);
    free(config->token_file);
    free(config->subject);
    free(config->ca_file);
    free(config->proxy);
    free(config->push_policy);
    free(config->webhook_policy);
}

void config_clean_up(struct config *config)
{
    free_keys(config);
    free(config->policies);
    free(config->services);
    if (config->signers) {
        explicit_bzero(config->signers, config->signer_count * sizeof *config->signers);
    }
    free(config->signers);
    free(config->tokens);
    *config = (struct config){0};
}

/* ---- one key ---- */

bool config_set(struct config *config, const char *key, const char *value, const char *where,
                const struct config_report *report)
{
    struct config_place place = {.where = where};
    const struct config_key *row = config_key_find(key);
    return row ? config_value_set(config, row, value, false, place, report)
               : config_refuse(report, place, "there is no such key; lull.conf(5) lists them");
}

bool config_read_environment(struct config *config, const struct config_report *report)
{
    bool is_good = true;
    for (size_t i = 0; i < config_key_count; i++) {
        const char *value = getenv(config_keys[i].variable);
        if (value && *value) {
            is_good =
                config_set(config, config_keys[i].name, value, config_keys[i].variable, report) &&
                is_good;
        }
    }
    return is_good;
}

/* ---- what has a name ---- */

const struct config_service *config_find_service(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->service_count; i++) {
        if (strcmp(config->services[i].name, name) == 0) {
            return &config->services[i];
        }
    }
    return NULL;
}

const struct config_signer *config_find_signer(const struct config *config, const char *name)
{
    for (size_t i = 0; i < config->signer_count; i++) {
        if (strcmp(config->signers[i].name, name) == 0) {
            return &config->signers[i];
        }
    }
    return NULL;
}

int config_policy_parse(const struct config *config, const char *text, size_t length,
                        struct lull_policy *ret_policy, struct lull_policy_error *ret_error)
{
    struct text name = {0};
    size_t end = 0;
    bool has_name = policy_text_name(text, length, &name, &end);
    for (size_t i = 0; has_name && i < config->policy_count; i++) {
        if (text_is(name, config->policies[i].name)) {
            struct lull_policy policy = config->policies[i].policy;
            int error = policy_text_change(&policy, text, length, end, ret_error);
            if (error == LULL_OK) {
                *ret_policy = policy;
            }
            return error;
        }
    }
    return lull_policy_parse(ret_policy, text, length, ret_error);
}
