/*
 * config_value - one value, as text, checked and put in its place; and how a mistake is told.
 */
#ifndef LULL_SERVER_CONFIG_VALUE_H
#define LULL_SERVER_CONFIG_VALUE_H

#include <stdbool.h>

#include "config.h"
#include "config_keys.h"
#include "text.h"

/* Where something stands: a line of a file, or (path NULL) a variable or flag. */
struct config_place {
    const char *path;
    int line;
    const char *where;
};

/* Tells it, and is false. The sentence must not repeat a value. */
__attribute__((format(printf, 3, 4))) bool config_refuse(const struct config_report *report,
                                                         struct config_place place,
                                                         const char *format, ...);

/* Out of memory is told as a mistake, too. */
bool config_refuse_memory(const struct config_report *report, struct config_place place);

/* Checks and sets, and remembers the place. Of a list: its only value, or one more if is_more. */
bool config_value_set(struct config *config, const struct config_key *key, const char *value,
                      bool is_more, struct config_place place, const struct config_report *report);

/* A whole number from min to max of any kind that is one. */
bool config_value_number(enum config_kind kind, const char *value, int64_t min, int64_t max,
                         int64_t *ret_number, struct config_place place,
                         const struct config_report *report);

/* What a thing of the configuration may be called: letters, digits, point, line and underscore;
 * at most size - 1 of them. */
bool config_value_name(struct text name, char *ret_name, size_t size, struct config_place place,
                       const struct config_report *report);

/* A copy of the path, for free(); in a file it is relative to that file's folder. NULL: no memory.
 */
char *config_path_resolve(const char *value, struct config_place place);

/* The place that this key got its value from. */
struct config_place config_place_of(const struct config *config, const char *name);

#endif
