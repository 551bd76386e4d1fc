/* config_sections - the sections with a name: policy, service and webhook_secret. */
#ifndef LULL_SERVER_CONFIG_SECTIONS_H
#define LULL_SERVER_CONFIG_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "config.h"

/* key = value, in a line of the file. */
struct config_entry {
    char *section; /* "": not in one */
    char *title;   /* "": the section has none */
    char *key;
    char *value;
    int line;
    unsigned section_number; /* tells two sections of the same name apart */
    bool is_more;            /* a further value of a list */
};

/* All entries of one section. */
struct config_section {
    const char *path;
    int line; /* of its first entry; of its end, where it has none */
    const char *kind;
    const char *title;
    const struct config_entry *entries;
    size_t count;
};

struct config_section_key {
    const char *section;
    const char *key;
};

/* Every key of these sections; NULL at the end. */
extern const struct config_section_key config_section_keys[];

/* Checks it and adds it to the configuration. */
bool config_section_add(struct config *config, const struct config_section *section,
                        const struct config_report *report);

#endif
