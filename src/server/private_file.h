/*
 * private_file - reads a file that holds a secret, if nobody but its owner can.
 *
 *   private_file_read -> private_file_line ... -> private_file_free
 */
#ifndef LULL_SERVER_PRIVATE_FILE_H
#define LULL_SERVER_PRIVATE_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Enough for a sentence that names a path twice. */
#define PRIVATE_FILE_PROBLEM_SIZE 8704

struct private_file_kind {
    const char *name; /* "key file" */
    size_t size_max;
    bool is_link_refused; /* else what the link leads to is checked and read */
};

struct private_file {
    char *text; /* with a final zero */
    size_t length;
    char *rest; /* for private_file_line */
    int line;
};

/* False: why is in problem, which begins with "the key file" and holds nothing of the file. A path
 * is named only if there is such a file: what was given as one may be a secret in the wrong place.
 */
bool private_file_read(const struct private_file_kind *kind, const char *path,
                       struct private_file *ret_file, char problem[PRIVATE_FILE_PROBLEM_SIZE]);

/* The next line that is not empty and no # comment, without spaces around it; file->line is its
 * number. NULL: there is none. */
char *private_file_line(struct private_file *file);

void private_file_free(struct private_file *file); /* wipes it */

#endif
