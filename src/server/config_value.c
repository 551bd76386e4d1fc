/* config_value - see the header. SPDX-License-Identifier: MIT */
#include "config_value.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config_number.h"
#include "lull/error.h"
#include "lull/vapid.h"
#include "visible.h"

#define VALUE_LENGTH_MAX 4096
#define SENTENCE_SIZE 9216 /* some name a path, twice */

bool config_refuse(const struct config_report *report, struct config_place place,
                   const char *format, ...)
{
    char sentence[SENTENCE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    report->mistake(report->userdata, place.path, place.line, place.where, sentence);
    return false;
}

bool config_refuse_memory(const struct config_report *report, struct config_place place)
{
    return config_refuse(report, place, "there is no memory left");
}

void config_print_mistake(void *file, const char *path, int line, const char *where,
                          const char *sentence)
{
    if (path) {
        fprintf(file, "%s:", path);
    }
    if (line > 0) {
        fprintf(file, "%d:", line);
    }
    fprintf(file, "%s%s%s%s\n", path ? " " : "", where, *where ? ": " : "", sentence);
}

/* ---- where a value came from ---- */

static bool remember_place(struct config *config, const struct config_key *key,
                           struct config_place place)
{
    struct config_origin *origin = &config->origins[key - config_keys];
    char *path = place.path ? strdup(place.path) : NULL;
    if (place.path && !path) {
        return false;
    }
    free(origin->path);
    origin->path = path;
    origin->line = place.line;
    (void)snprintf(origin->where, sizeof origin->where, "%s", place.where);
    return true;
}

struct config_place config_place_of(const struct config *config, const char *name)
{
    const struct config_key *key = config_key_find(name);
    const struct config_origin *origin = &config->origins[key - config_keys];
    return (struct config_place){.path = origin->path,
                                 .line = origin->line,
                                 .where = *origin->where ? origin->where : key->name};
}

/* ---- numbers ---- */

bool config_value_number(enum config_kind kind, const char *value, int64_t min, int64_t max,
                         int64_t *ret_number, struct config_place place,
                         const struct config_report *report)
{
    char least[CONFIG_NUMBER_SIZE];
    char most[CONFIG_NUMBER_SIZE];
    int64_t number = 0;
    const char *accepted = config_number_read(kind, value, &number);
    if (accepted) {
        return config_refuse(report, place, "must be %s", accepted);
    }
    if (number < min || number > max) {
        return config_refuse(report, place, "must be %s to %s",
                             config_number_write(kind, min, least),
                             config_number_write(kind, max, most));
    }
    *ret_number = number;
    return true;
}

static bool set_number(struct config *config, const struct config_key *key, const char *value,
                       struct config_place place, const struct config_report *report)
{
    char *field = (char *)config + key->offset;
    int64_t number = 0;
    if (!config_value_number(key->kind, value, key->min, key->max, &number, place, report)) {
        return false;
    }
    if (key->kind == CONFIG_YES_NO) {
        bool answer = number != 0;
        memcpy(field, &answer, sizeof answer);
    } else if (key->is_wide) {
        memcpy(field, &number, sizeof number);
    } else {
        uint32_t narrow = (uint32_t)number;
        memcpy(field, &narrow, sizeof narrow);
    }
    return true;
}

/* ---- texts ---- */

bool config_value_name(struct text name, char *ret_name, size_t size, struct config_place place,
                       const struct config_report *report)
{
    static const char alphabet[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    bool is_good = name.length > 0 && name.length < size;
    for (size_t i = 0; is_good && i < name.length; i++) {
        is_good = memchr(alphabet, name.data[i], sizeof alphabet - 1) != NULL;
    }
    if (!is_good) {
        return config_refuse(report, place,
                             "a name must have 1 to %zu letters, digits, points, lines or "
                             "underscores",
                             size - 1);
    }
    memcpy(ret_name, name.data, name.length);
    ret_name[name.length] = '\0';
    return true;
}

char *config_path_resolve(const char *value, struct config_place place)
{
    const char *slash = place.path ? strrchr(place.path, '/') : NULL;
    char *resolved = NULL;
    if (*value == '/' || !slash) {
        return strdup(value);
    }
    if (asprintf(&resolved, "%.*s%s", (int)(slash - place.path + 1), place.path, value) < 0) {
        return NULL;
    }
    return resolved;
}

static bool check_text(const struct config_key *key, const char *value, struct config_place place,
                       const struct config_report *report)
{
    struct lull_webpush_error error = {""};
    size_t length = strlen(value);
    if (length == 0 && !key->may_be_none) {
        return config_refuse(report, place, "must not be empty");
    }
    if (length > VALUE_LENGTH_MAX) {
        return config_refuse(report, place, "must have at most %d bytes", VALUE_LENGTH_MAX);
    }
    if (!visible_is_clean(value, length, ' ', false)) {
        return config_refuse(report, place, "must not hold a control character");
    }
    if (key->kind == CONFIG_SUBJECT && lull_vapid_check_subject(value, &error) != LULL_OK) {
        return config_refuse(report, place, "%s", error.text);
    }
    return true;
}

static char *copy_text(const struct config_key *key, const char *value, struct config_place place)
{
    bool is_path = key->kind == CONFIG_PATH || key->kind == CONFIG_PATHS ||
                   (key->kind == CONFIG_LISTEN && strchr(value, '/'));
    return is_path ? config_path_resolve(value, place) : strdup(value);
}

static bool set_text(struct config *config, const struct config_key *key, const char *value,
                     struct config_place place, const struct config_report *report)
{
    char **field = (char **)(void *)((char *)config + key->offset);
    char *copy = NULL;
    if (!check_text(key, value, place, report)) {
        return false;
    }
    if (*value || key->kind != CONFIG_PATH) { /* no path is NULL; no proxy is "" */
        copy = copy_text(key, value, place);
        if (!copy) {
            return config_refuse_memory(report, place);
        }
    }
    free(*field);
    *field = copy;
    return true;
}

/* ---- the list ---- */

static void clear_list(struct config *config)
{
    for (size_t i = 0; i < config->key_count; i++) {
        free(config->key_paths[i]);
    }
    free(config->key_paths);
    config->key_paths = NULL;
    config->key_count = 0;
}

static bool add_to_list(struct config *config, const struct config_key *key, const char *value,
                        struct config_place place, const struct config_report *report)
{
    if (!check_text(key, value, place, report)) {
        return false;
    }
    char *copy = copy_text(key, value, place);
    char **list =
        copy ? reallocarray(config->key_paths, config->key_count + 1, sizeof *list) : NULL;
    if (!list) {
        free(copy);
        return config_refuse_memory(report, place);
    }
    config->key_paths = list;
    config->key_paths[config->key_count++] = copy;
    return true;
}

/* In a file each value is one path; elsewhere : separates them. */
static bool set_list(struct config *config, const struct config_key *key, const char *value,
                     bool is_more, struct config_place place, const struct config_report *report)
{
    if (!is_more) {
        clear_list(config);
    }
    if (place.path) {
        return add_to_list(config, key, value, place, report);
    }
    char *copy = strdup(value);
    char *rest = copy;
    bool is_good = copy || config_refuse_memory(report, place);
    while (is_good && rest) {
        is_good = add_to_list(config, key, strsep(&rest, ":"), place, report);
    }
    free(copy);
    return is_good;
}

bool config_value_set(struct config *config, const struct config_key *key, const char *value,
                      bool is_more, struct config_place place, const struct config_report *report)
{
    bool is_good = false;
    switch (key->kind) {
    case CONFIG_PATHS:
        is_good = set_list(config, key, value, is_more, place, report);
        break;
    case CONFIG_TEXT:
    case CONFIG_LISTEN:
    case CONFIG_PATH:
    case CONFIG_SUBJECT:
    case CONFIG_POLICY:
        is_good = set_text(config, key, value, place, report);
        break;
    case CONFIG_YES_NO:
    case CONFIG_COUNT:
    case CONFIG_SIZE:
    case CONFIG_MILLISECONDS:
    case CONFIG_SECONDS:
    default:
        is_good = set_number(config, key, value, place, report);
        break;
    }
    return is_good && (remember_place(config, key, place) || config_refuse_memory(report, place));
}
