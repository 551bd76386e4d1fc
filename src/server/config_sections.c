/* config_sections - see the header. SPDX-License-Identifier: MIT */
#include "config_sections.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_value.h"
#include "lull/error.h"
#include "number_text.h"
#include "private_file.h"
#include "saturate.h"

#define WHERE_SIZE 320
#define RATE_MAX_PER_S 1000000
#define BURST_MAX 1000000

const struct config_section_key config_section_keys[] = {
    {"policy", "text"},         {"service", "rate"}, {"service", "in_flight_max"},
    {"webhook_secret", "file"}, {NULL, NULL},
};

static const struct private_file_kind secret_file = {.name = "secret file", .size_max = 65536};

/* policy "night": for a report. What is no name is not repeated. */
struct naming {
    char where[WHERE_SIZE];
    struct config_place place;
};

static void name_place(struct naming *naming, const struct config_section *section,
                       const char *name)
{
    (void)snprintf(naming->where, sizeof naming->where, *name ? "%s \"%s\"" : "%s", section->kind,
                   name);
    naming->place =
        (struct config_place){.path = section->path, .line = section->line, .where = naming->where};
}

/* The value, and its line into the place. NULL: it has none. */
static const char *find_value(const struct config_section *section, const char *key,
                              struct naming *naming)
{
    naming->place.line = section->line;
    for (size_t i = 0; i < section->count; i++) {
        if (strcmp(section->entries[i].key, key) == 0) {
            naming->place.line = section->entries[i].line;
            return section->entries[i].value;
        }
    }
    return NULL;
}

/* ---- policy "name" { text = "..." } ---- */

static bool add_policy(struct config *config, const struct config_section *section,
                       const struct config_report *report)
{
    struct config_policy added = {.name = ""};
    struct lull_policy_error error = {.text = ""};
    struct text title = {section->title, strlen(section->title)};
    struct naming naming = {.where = ""};
    name_place(&naming, section, "");
    if (!config_value_name(title, added.name, sizeof added.policy.name, naming.place, report)) {
        return false;
    }
    name_place(&naming, section, added.name);
    for (size_t i = 0; i < config->policy_count; i++) {
        if (strcmp(config->policies[i].name, added.name) == 0) {
            return config_refuse(report, naming.place, "there is one of this name above");
        }
    }
    const char *text = find_value(section, "text", &naming);
    if (!text) {
        return config_refuse(report, naming.place, "it needs a text = \"...\"; see lull-policy(7)");
    }
    if (config_policy_parse(config, text, strlen(text), &added.policy, &error) != LULL_OK) {
        return config_refuse(report, naming.place, "%s", error.text);
    }
    memcpy(added.policy.name, added.name, sizeof added.policy.name);
    struct config_policy *policies =
        reallocarray(config->policies, config->policy_count + 1, sizeof *policies);
    if (!policies) {
        return config_refuse_memory(report, naming.place);
    }
    config->policies = policies;
    config->policies[config->policy_count++] = added;
    return true;
}

/* ---- service "host" { rate = "100/s burst 500"  in_flight_max = 50 } ---- */

/* A host's name or address, in lower case. */
static bool read_host(const char *title, char *ret_name, size_t size)
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789.-:[]";
    size_t length = strlen(title);
    bool is_good = length > 0 && length < size;
    for (size_t i = 0; is_good && i < length; i++) {
        ret_name[i] = to_lower(title[i]);
        is_good = memchr(alphabet, ret_name[i], sizeof alphabet - 1) != NULL;
    }
    if (is_good) {
        ret_name[length] = '\0';
    }
    return is_good;
}

/* The number at the front, in thousandths: up to three decimals. */
static bool read_milli(struct text *text, int64_t *ret_milli)
{
    int64_t whole = 0;
    struct text rest = {0};
    if (!number_split(*text, &whole, &rest)) {
        return false;
    }
    int64_t milli = saturating_multiply(whole, 1000);
    if (rest.length > 0 && rest.data[0] == '.') {
        int64_t unit = 100;
        rest = (struct text){rest.data + 1, rest.length - 1};
        if (rest.length == 0 || !is_digit(rest.data[0])) {
            return false;
        }
        for (; rest.length > 0 && is_digit(rest.data[0]) && unit > 0; unit /= 10) {
            milli = saturating_add(milli, unit * (rest.data[0] - '0'));
            rest = (struct text){rest.data + 1, rest.length - 1};
        }
    }
    *text = rest;
    *ret_milli = milli;
    return true;
}

static bool take(struct text *text, const char *word)
{
    size_t length = strlen(word);
    if (text->length < length || memcmp(text->data, word, length) != 0) {
        return false;
    }
    *text = text_trim(text->data + length, text->length - length);
    return true;
}

/* NULL, or what is accepted: unlimited, 100/s, 0.5/s burst 20. Without a burst, what flows in a
 * second, but at least one. */
static const char *read_rate(const char *value, uint64_t *ret_milli, uint32_t *ret_burst)
{
    struct text text = text_trim(value, strlen(value));
    int64_t milli = 0;
    int64_t burst = 0;
    struct text rest = {0};
    if (text_is(text, "unlimited")) {
        *ret_milli = 0;
        *ret_burst = 0;
        return NULL;
    }
    if (!read_milli(&text, &milli) || !take(&text, "/s")) {
        return "rate must be unlimited, or like 100/s or 0.5/s burst 20";
    }
    if (milli < 1 || milli > INT64_C(1000) * RATE_MAX_PER_S) {
        return "rate must be 0.001/s to 1000000/s";
    }
    if (text.length == 0) {
        burst = (milli + 999) / 1000;
    } else if (!take(&text, "burst") || !number_split(text, &burst, &rest) || rest.length > 0) {
        return "rate must be unlimited, or like 100/s or 0.5/s burst 20";
    }
    if (burst < 1 || burst > BURST_MAX) {
        return "a burst must be 1 to 1000000";
    }
    *ret_milli = (uint64_t)milli;
    *ret_burst = (uint32_t)burst;
    return NULL;
}

/* As the limit of the same name. */
static bool read_in_flight(const struct config_section *section, struct naming *naming,
                           uint32_t *ret_max, const struct config_report *report)
{
    const struct config_key *key = config_key_find("limits.in_flight_max");
    const char *value = find_value(section, "in_flight_max", naming);
    int64_t number = 0;
    if (!value) {
        return true;
    }
    (void)snprintf(naming->where, sizeof naming->where, "in_flight_max");
    if (!config_value_number(CONFIG_COUNT, value, key->min, key->max, &number, naming->place,
                             report)) {
        return false;
    }
    *ret_max = (uint32_t)number;
    return true;
}

static bool add_service(struct config *config, const struct config_section *section,
                        const struct config_report *report)
{
    struct config_service added = {.name = ""};
    struct naming naming = {.where = ""};
    name_place(&naming, section, "");
    if (!read_host(section->title, added.name, sizeof added.name)) {
        return config_refuse(report, naming.place,
                             "the name must be fcm, mozilla, apple, wns, or a host");
    }
    name_place(&naming, section, added.name);
    bool is_good = !config_find_service(config, added.name) ||
                   config_refuse(report, naming.place, "there is one of this name above");
    const char *rate = find_value(section, "rate", &naming);
    const char *accepted = rate ? read_rate(rate, &added.rate_milli_per_s, &added.burst) : NULL;
    if (accepted) {
        is_good = config_refuse(report, naming.place, "%s", accepted);
    }
    is_good = read_in_flight(section, &naming, &added.in_flight_max, report) && is_good;
    struct config_service *services =
        is_good ? reallocarray(config->services, config->service_count + 1, sizeof *services)
                : NULL;
    if (!services) {
        return is_good ? config_refuse_memory(report, naming.place) : false;
    }
    config->services = services;
    config->services[config->service_count++] = added;
    return true;
}

/* ---- webhook_secret "name" { file = "..." } ---- */

static bool read_secret(struct config_signer *signer, const char *line, struct config_place place,
                        const struct config_report *report)
{
    struct lull_webhook_secret secret = {.length = 0};
    if (signer->secret_count == LULL_WEBHOOK_SECRETS_MAX) {
        return config_refuse(report, place, "there are more than %d secrets",
                             LULL_WEBHOOK_SECRETS_MAX);
    }
    int error = lull_webhook_secret_parse(&secret, line, strlen(line));
    if (error != LULL_OK || secret.kind == LULL_WEBHOOK_ED25519_PUBLIC) {
        explicit_bzero(&secret, sizeof secret);
        return config_refuse(report, place,
                             "this is no whsec_ with 24 to 64 bytes, and no whsk_ with 32 or 64, "
                             "in base64");
    }
    signer->secrets[signer->secret_count++] = secret;
    explicit_bzero(&secret, sizeof secret);
    return true;
}

static bool read_secrets(struct config_signer *signer, const char *value, struct config_place place,
                         const struct config_report *report)
{
    struct private_file file = {0};
    char problem[PRIVATE_FILE_PROBLEM_SIZE];
    char *path = config_path_resolve(value, place);
    if (!path) {
        return config_refuse_memory(report, place);
    }
    bool is_good = private_file_read(&secret_file, path, &file, problem) ||
                   config_refuse(report, place, "%s", problem);
    for (char *line = private_file_line(&file); line; line = private_file_line(&file)) {
        struct config_place at = {.path = path, .line = file.line, .where = place.where};
        is_good = read_secret(signer, line, at, report) && is_good;
    }
    private_file_free(&file);
    free(path);
    return is_good && (signer->secret_count > 0 ||
                       config_refuse(report, place, "the secret file has no secret in it"));
}

static bool keep_signer(struct config *config, const struct config_signer *signer,
                        struct config_place place, const struct config_report *report)
{
    /* Not by realloc, which would leave the secrets behind where they were. */
    struct config_signer *signers = calloc(config->signer_count + 1, sizeof *signers);
    if (!signers) {
        return config_refuse_memory(report, place);
    }
    if (config->signers) {
        memcpy(signers, config->signers, config->signer_count * sizeof *signers);
        explicit_bzero(config->signers, config->signer_count * sizeof *signers);
    }
    free(config->signers);
    signers[config->signer_count++] = *signer;
    config->signers = signers;
    return true;
}

static bool add_signer(struct config *config, const struct config_section *section,
                       const struct config_report *report)
{
    struct config_signer added = {.name = ""};
    struct text title = {section->title, strlen(section->title)};
    struct naming naming = {.where = ""};
    name_place(&naming, section, "");
    if (!config_value_name(title, added.name, sizeof added.name, naming.place, report)) {
        return false;
    }
    name_place(&naming, section, added.name);
    if (config_find_signer(config, added.name)) {
        return config_refuse(report, naming.place, "there is one of this name above");
    }
    const char *file = find_value(section, "file", &naming);
    if (!file) {
        return config_refuse(report, naming.place, "it needs a file = \"...\"");
    }
    bool is_good = read_secrets(&added, file, naming.place, report) &&
                   keep_signer(config, &added, naming.place, report);
    explicit_bzero(&added, sizeof added);
    return is_good;
}

bool config_section_add(struct config *config, const struct config_section *section,
                        const struct config_report *report)
{
    if (strcmp(section->kind, "policy") == 0) {
        return add_policy(config, section, report);
    }
    if (strcmp(section->kind, "service") == 0) {
        return add_service(config, section, report);
    }
    return add_signer(config, section, report);
}
