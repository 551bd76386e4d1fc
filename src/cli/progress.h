/*
 * progress - one line on a terminal that is written over and over, on standard error.
 *
 * The caller asks for it only where there is a terminal, and clears it before anything else is
 * written there.
 */
#ifndef LULL_CLI_PROGRESS_H
#define LULL_CLI_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
    bool is_shown; /* a zeroed one is fine to begin with */
};

/* done of total as a bar, and what format says behind it. */
__attribute__((format(printf, 4, 5))) void progress_bar(struct progress *progress, uint64_t done,
                                                        uint64_t total, const char *format, ...);

/* Only what format says. */
__attribute__((format(printf, 2, 3))) void progress_text(struct progress *progress,
                                                         const char *format, ...);

void progress_clear(struct progress *progress);

#endif
