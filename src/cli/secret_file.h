/*
 * secret_file - reads a file that holds a secret: a key, a token.
 *
 * One that others have access to is refused with the command that mends it, and so is everything
 * that is no regular file; a symbolic link too, so that what is checked is what is read.
 */
#ifndef LULL_CLI_SECRET_FILE_H
#define LULL_CLI_SECRET_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Enough for a sentence that names a path. */
#define SECRET_FILE_PROBLEM_SIZE 8704

struct secret_file_problem {
    char text[SECRET_FILE_PROBLEM_SIZE];
    int error; /* errno of the opening; 0: it could be opened */
};

/* All of the file, up to size bytes, with no zero behind. what names it: "key file". False: why is
 * in *problem, and the name only if there is such a file, since what was given as a name may be a
 * secret that was pasted in the wrong place. */
bool secret_file_read(const char *what, const char *path, char *text, size_t size,
                      size_t *ret_length, struct secret_file_problem *problem);

/* Writes the sentence. Returns false, for the caller to return. */
__attribute__((format(printf, 2, 3))) bool secret_file_fail(struct secret_file_problem *problem,
                                                            const char *format, ...);

#endif
