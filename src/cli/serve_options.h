/* serve_options - the command line of `lull serve`: what config_keys has, and a few words more. */
#ifndef LULL_CLI_SERVE_OPTIONS_H
#define LULL_CLI_SERVE_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>

#include "config.h"
#include "log.h"

struct serve_setting { /* a flag that sets a key */
    const char *key;
    const char *value; /* an argument of the program */
    char where[72];    /* "--listen" */
};

struct serve_options {
    const char *config_path; /* NULL: none was named */
    struct serve_setting *settings;
    size_t setting_count;
    char *key_paths; /* of all --vapid-key, with : between them; NULL: none */
    enum log_level log_level;
    enum log_form log_form;
    bool is_check;
    bool is_help;
};

/* CLI_OK, or what the program is to exit with. */
int serve_options_read(struct serve_options *options, int argc, char **argv);
void serve_options_free(struct serve_options *options);

/* What is configured by all of it: the file, the environment, the flags. False: there were
 * mistakes, which stand on stderr. To be cleaned up in both cases. */
bool serve_configure(const struct serve_options *options, struct config *ret_config);

/* A line for each key of the table. */
void serve_print_keys(FILE *out);

extern const char serve_help[];

#endif
