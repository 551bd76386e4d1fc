/* said - what a config_report was told: "conf:3: limits.senders: must be ..." a line; "-" is no
 * file. */
#ifndef LULL_TESTS_SAID_H
#define LULL_TESTS_SAID_H

#include <stdio.h>
#include <string.h>

struct said {
    char text[16384];
    unsigned count;
};

static inline void note(void *userdata, const char *path, int line, const char *where,
                        const char *sentence)
{
    struct said *said = userdata;
    size_t used = strlen(said->text);
    const char *slash = path ? strrchr(path, '/') : NULL;
    said->count++;
    (void)snprintf(said->text + used, sizeof said->text - used, "%s:%d: %s: %s\n",
                   slash ? slash + 1 : "-", line, where, sentence);
}

#endif
