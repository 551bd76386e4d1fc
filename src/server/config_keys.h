/*
 * config_keys - every plain key of lull.conf, in one table: what it is called in the file, in the
 * environment and on the command line, what it may be, and what it is for. The parser, the
 * environment, `lull serve --help` and its completion all go by it.
 *
 * Not in it are the sections with a name: policy, service and webhook_secret.
 */
#ifndef LULL_SERVER_CONFIG_KEYS_H
#define LULL_SERVER_CONFIG_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum config_kind {
    CONFIG_TEXT,
    CONFIG_LISTEN,  /* as listen.h takes it */
    CONFIG_PATH,    /* in a file: relative to the folder of that file */
    CONFIG_PATHS,   /* a list; in a variable or flag with : between them */
    CONFIG_SUBJECT, /* mailto: or https: */
    CONFIG_POLICY,
    CONFIG_YES_NO,
    CONFIG_COUNT,
    CONFIG_SIZE,         /* bytes, or with KiB, MiB or GiB */
    CONFIG_MILLISECONDS, /* a duration, as policies write it */
    CONFIG_SECONDS,      /* the same, whole seconds */
};

struct config_key {
    const char *name; /* "listen", "limits.senders": limits is the section, senders the key in it */
    enum config_kind kind;
    bool is_wide;     /* int64_t or uint64_t, else uint32_t */
    bool may_be_none; /* "" is accepted */
    size_t offset;    /* in struct config */
    int64_t min;
    int64_t max;
    int64_t usual;          /* the default of a number; 0 where usual_text says how it is found */
    const char *usual_text; /* for people; of a text it is the default itself, unless in () */
    const char *variable;
    const char *option; /* without the -- */
    const char *value;  /* what stands for it in a help text: ADDRESS */
    const char *help;
};

extern const struct config_key config_keys[];
extern const size_t config_key_count;

/* NULL: there is none. */
const struct config_key *config_key_find(const char *name);

#define CONFIG_NUMBER_SIZE 32

/* The default for people: "127.0.0.1:8372", "30s", "one for each core, at most 8". */
const char *config_key_usual(const struct config_key *key, char buffer[CONFIG_NUMBER_SIZE]);

#endif
