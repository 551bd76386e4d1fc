/*
 * config_file - lull.conf, read with libConfuse. SPDX-License-Identifier: MIT
 *
 * libConfuse ends at the first mistake, so it is used only to tell keys, values and sections apart:
 * all values are texts to it, noted one by one with their line, and looked at when it is done. A
 * key that it does not know is reported, blanked out, and the text read once more.
 */
#include <confuse.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "config_keys.h"
#include "config_sections.h"
#include "config_text.h"
#include "config_value.h"

#define UNKNOWN_MAX 50    /* keys, and then no more is read */
#define OPTIONS_MAX 64    /* keys of the table, and the sections */
#define ENTRIES_MAX 10000 /* each is compared with those before it */
#define SENTENCE_SIZE 256

struct reading {
    const char *path;
    const struct config_report *report;
    struct config_entry *entries;
    size_t count;
    size_t capacity;
    unsigned sections_ended;
    bool is_good;
    bool has_unknown; /* what libConfuse ended at */
    int unknown_line;
    char unknown[CONFIG_NAME_SIZE];
};

/* libConfuse passes nothing of ours to its callbacks, and is itself for one thread at a time. */
static struct reading *current;

static struct config_place place_of(const struct reading *reading, int line, const char *where)
{
    return (struct config_place){.path = reading->path, .line = line, .where = where};
}

/* ---- what libConfuse tells ---- */

static void free_entries(struct reading *reading)
{
    for (size_t i = 0; i < reading->count; i++) {
        free(reading->entries[i].section);
        free(reading->entries[i].title);
        free(reading->entries[i].key);
        free(reading->entries[i].value);
    }
    reading->count = 0;
}

static bool make_room(struct reading *reading)
{
    if (reading->count < reading->capacity) {
        return true;
    }
    size_t capacity = reading->capacity ? reading->capacity * 2 : 64;
    struct config_entry *entries = reallocarray(reading->entries, capacity, sizeof *entries);
    if (entries) {
        reading->entries = entries;
        reading->capacity = capacity;
    }
    return entries != NULL;
}

static bool is_root(const cfg_t *section)
{
    return strcmp(section->name, "root") == 0;
}

/* Each value, as it comes. */
static int note_value(cfg_t *section, cfg_opt_t *option, const char *value, void *result)
{
    struct reading *reading = current;
    const char *text = value ? value : "";
    if (reading->count == ENTRIES_MAX) {
        cfg_error(section, "there are more than %d values", ENTRIES_MAX);
        return -1;
    }
    if (!make_room(reading)) {
        return -1;
    }
    struct config_entry *entry = &reading->entries[reading->count];
    *entry = (struct config_entry){.section = strdup(is_root(section) ? "" : section->name),
                                   .title = strdup(section->title ? section->title : ""),
                                   .key = strdup(option->name),
                                   .value = strdup(text),
                                   .line = section->line,
                                   .section_number = reading->sections_ended,
                                   .is_more = (option->flags & CFGF_LIST) && option->nvalues > 1};
    reading->count++;
    memcpy(result, &text, sizeof text);
    return entry->section && entry->title && entry->key && entry->value ? 0 : -1;
}

static int note_end_of_section(cfg_t *parent, cfg_opt_t *option)
{
    (void)parent;
    (void)option;
    current->sections_ended++;
    return 0;
}

__attribute__((format(printf, 2, 0))) static void note_mistake(cfg_t *section, const char *format,
                                                               va_list arguments)
{
    struct reading *reading = current;
    struct config_place place = place_of(reading, section->line, "");
    char sentence[SENTENCE_SIZE];
    (void)vsnprintf(sentence, sizeof sentence, format, arguments);
    if (strncmp(sentence, "no such option", 14) == 0) {
        const char *name = strchr(sentence, '\'');
        size_t length = name ? strcspn(name + 1, "'") : 0;
        reading->has_unknown = true;
        reading->unknown_line = section->line;
        (void)snprintf(reading->unknown, sizeof reading->unknown, "%.*s", (int)length,
                       name ? name + 1 : "");
        return;
    }
    reading->is_good = false;
    if (strncmp(sentence, "unexpected token", 16) == 0) { /* which may be a secret */
        (void)config_refuse(reading->report, place, "there is something that does not belong here");
    } else {
        (void)config_refuse(reading->report, place, "%s", sentence);
    }
}

/* ---- the options ---- */

static cfg_opt_t make_value(const char *name, bool is_list)
{
    cfg_opt_t plain = CFG_STR_CB(NULL, NULL, CFGF_NODEFAULT, note_value);
    cfg_opt_t list = CFG_STR_LIST_CB(NULL, NULL, CFGF_NODEFAULT, note_value);
    cfg_opt_t option = is_list ? list : plain;
    option.name = name;
    return option;
}

static cfg_opt_t make_section(const char *name, cfg_opt_t *options, cfg_flag_t flags)
{
    cfg_opt_t option = CFG_SEC(NULL, NULL, flags);
    option.name = name;
    option.subopts = options;
    option.validcb = note_end_of_section;
    return option;
}

/* The keys of the table in this section; "" for those in none. */
static size_t add_keys(cfg_opt_t *options, size_t count, const char *prefix)
{
    size_t length = strlen(prefix);
    for (size_t i = 0; i < config_key_count && count < OPTIONS_MAX - 1; i++) {
        const char *name = config_keys[i].name;
        if (strncmp(name, prefix, length) == 0 && !strchr(name + length, '.')) {
            options[count++] = make_value(name + length, config_keys[i].kind == CONFIG_PATHS);
        }
    }
    return count;
}

static size_t add_titled(cfg_opt_t *options, size_t count, cfg_opt_t inner[][4])
{
    for (size_t i = 0, at = 0; config_section_keys[i].section; at++) {
        const char *section = config_section_keys[i].section;
        size_t inner_count = 0;
        for (;
             config_section_keys[i].section && strcmp(config_section_keys[i].section, section) == 0;
             i++) {
            inner[at][inner_count++] = make_value(config_section_keys[i].key, false);
        }
        inner[at][inner_count] = (cfg_opt_t)CFG_END();
        options[count++] = make_section(section, inner[at], CFGF_TITLE | CFGF_MULTI);
    }
    return count;
}

static cfg_t *make_parser(void)
{
    cfg_opt_t options[OPTIONS_MAX];
    cfg_opt_t limits[OPTIONS_MAX];
    cfg_opt_t titled[3][4];
    limits[add_keys(limits, 0, "limits.")] = (cfg_opt_t)CFG_END();
    size_t count = add_keys(options, 0, "");
    count = add_titled(options, count, titled);
    options[count++] = make_section("limits", limits, CFGF_NONE);
    options[count] = (cfg_opt_t)CFG_END();
    cfg_t *parser = cfg_init(options, CFGF_NONE);
    if (parser) {
        (void)cfg_set_error_function(parser, note_mistake);
    }
    return parser;
}

/* ---- reading ---- */

/* True: it is to be read again, without a key that was not known. */
static bool blank_unknown(struct reading *reading, char *text)
{
    enum config_text_found found = config_text_blank(text, reading->unknown_line, reading->unknown);
    struct config_place place = place_of(reading, reading->unknown_line, reading->unknown);
    reading->is_good = false;
    if (found == CONFIG_TEXT_KEY) {
        (void)config_refuse(reading->report, place,
                            "there is no such key; lull.conf(5) lists them");
    } else { /* a stray word is not repeated */
        place.where = "";
        (void)config_refuse(reading->report, place, "there is something that does not belong here");
    }
    return found != CONFIG_TEXT_NONE;
}

/* A section in which nothing stands, and so nothing was noted. */
static void add_empty_sections(struct config *config, struct reading *reading, cfg_t *parser)
{
    for (size_t i = 0; config_section_keys[i].section; i++) {
        const char *kind = config_section_keys[i].section;
        bool is_seen = i > 0 && strcmp(config_section_keys[i - 1].section, kind) == 0;
        cfg_opt_t *option = is_seen ? NULL : cfg_getopt(parser, kind);
        for (unsigned at = 0; option && at < cfg_opt_size(option); at++) {
            cfg_t *inner = cfg_opt_getnsec(option, at);
            struct config_section section = {.path = reading->path,
                                             .line = inner->line,
                                             .kind = kind,
                                             .title = inner->title ? inner->title : ""};
            bool has_entry = false;
            for (size_t k = 0; k < reading->count && !has_entry; k++) {
                has_entry = strcmp(reading->entries[k].section, kind) == 0 &&
                            strcmp(reading->entries[k].title, section.title) == 0;
            }
            if (!has_entry && !config_section_add(config, &section, reading->report)) {
                reading->is_good = false;
            }
        }
    }
}

static void check_twice(struct reading *reading, size_t index)
{
    const struct config_entry *entry = &reading->entries[index];
    struct config_place place = place_of(reading, entry->line, entry->key);
    for (size_t i = 0; i < index && !entry->is_more; i++) {
        const struct config_entry *other = &reading->entries[i];
        bool is_same_section = *entry->title ? other->section_number == entry->section_number &&
                                                   strcmp(other->title, entry->title) == 0
                                             : *other->title == '\0';
        if (is_same_section && strcmp(other->section, entry->section) == 0 &&
            strcmp(other->key, entry->key) == 0) {
            reading->is_good = config_refuse(
                reading->report, place, "it stands twice; the first is in line %d", other->line);
            return;
        }
    }
}

static void set_key(struct config *config, struct reading *reading,
                    const struct config_entry *entry)
{
    char name[CONFIG_NAME_SIZE];
    (void)snprintf(name, sizeof name, "%s%s%s", entry->section, *entry->section ? "." : "",
                   entry->key);
    const struct config_key *key = config_key_find(name);
    if (key && !config_value_set(config, key, entry->value, entry->is_more,
                                 place_of(reading, entry->line, name), reading->report)) {
        reading->is_good = false;
    }
}

/* All entries of the section that begins at this one. */
static size_t count_section(const struct reading *reading, size_t first)
{
    const struct config_entry *begin = &reading->entries[first];
    size_t end = first + 1;
    while (end < reading->count && reading->entries[end].section_number == begin->section_number &&
           strcmp(reading->entries[end].section, begin->section) == 0 &&
           strcmp(reading->entries[end].title, begin->title) == 0) {
        end++;
    }
    return end - first;
}

static void apply(struct config *config, struct reading *reading)
{
    size_t count = 1;
    for (size_t i = 0; i < reading->count; i += count) {
        const struct config_entry *entry = &reading->entries[i];
        bool is_plain = *entry->section == '\0' || strcmp(entry->section, "limits") == 0;
        count = is_plain ? 1 : count_section(reading, i);
        for (size_t k = i; k < i + count; k++) {
            check_twice(reading, k);
        }
        if (is_plain) {
            set_key(config, reading, entry);
            continue;
        }
        struct config_section section = {.path = reading->path,
                                         .line = entry->line,
                                         .kind = entry->section,
                                         .title = entry->title,
                                         .entries = entry,
                                         .count = count};
        if (!config_section_add(config, &section, reading->report)) {
            reading->is_good = false;
        }
    }
}

/* Once through libConfuse. True: once more, since a key was blanked out. */
static bool parse(struct config *config, struct reading *reading, char *text, bool is_last)
{
    bool is_again = false;
    cfg_t *parser = make_parser();
    if (!parser) {
        reading->is_good = config_refuse_memory(reading->report, place_of(reading, 0, ""));
        return false;
    }
    free_entries(reading);
    reading->sections_ended = 0;
    reading->has_unknown = false;
    current = reading;
    bool was_good = reading->is_good;
    bool is_parsed = cfg_parse_buf(parser, text) == CFG_SUCCESS;
    current = NULL;
    if (reading->has_unknown) {
        is_again = blank_unknown(reading, text) && !is_last;
    } else if (!is_parsed && reading->is_good == was_good && was_good) { /* it did not say why */
        reading->is_good = config_refuse_memory(reading->report, place_of(reading, 0, ""));
    }
    if (!is_again) {
        apply(config, reading);
        add_empty_sections(config, reading, parser);
    }
    (void)cfg_free(parser);
    return is_again;
}

/* With a final zero, for free(). NULL: it was reported. */
static char *read_whole(struct reading *reading, size_t *ret_length)
{
    struct config_place place = place_of(reading, 0, "");
    FILE *file = fopen(reading->path, "re");
    char *text = file ? malloc(CONFIG_TEXT_MAX + 2) : NULL;
    if (!file) {
        (void)config_refuse(reading->report, place, "it cannot be read: %s", strerror(errno));
        return NULL;
    }
    size_t length = text ? fread(text, 1, CONFIG_TEXT_MAX + 1, file) : 0;
    int error = ferror(file) ? errno : 0;
    (void)fclose(file);
    if (!text) {
        (void)config_refuse_memory(reading->report, place);
    } else if (error) {
        (void)config_refuse(reading->report, place, "it cannot be read: %s", strerror(error));
    } else if (length > CONFIG_TEXT_MAX) {
        (void)config_refuse(reading->report, place, "it is too big: it may have 256 KiB");
    } else {
        text[length] = '\0';
        *ret_length = length;
        return text;
    }
    free(text);
    return NULL;
}

bool config_read_file(struct config *config, const char *path, const struct config_report *report)
{
    struct reading reading = {.path = path, .report = report, .is_good = true};
    size_t length = 0;
    char *text = read_whole(&reading, &length);
    bool is_good = text && config_text_prepare(text, length, path, report);
    for (int round = 1; is_good && parse(config, &reading, text, round == UNKNOWN_MAX); round++) {
    }
    free_entries(&reading);
    free(reading.entries);
    free(text);
    return is_good && reading.is_good;
}
