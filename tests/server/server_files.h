/* server_files - a folder for the files of one test program, gone at its end. */
#ifndef LULL_TESTS_SERVER_FILES_H
#define LULL_TESTS_SERVER_FILES_H

#include <sys/types.h>

/* For cmocka_run_group_tests. */
int files_begin(void **state);
int files_end(void **state);

/* The path of a name in the folder: good until it has been asked four times more. */
const char *files_path(const char *name);

/* Writes the file, with this mode. Returns its path. */
const char *files_write(const char *name, const char *text, mode_t mode);

/* The text of a file of this repository, for free(). */
char *files_read_source(const char *name);

/* NULL: unset. */
void files_set_variable(const char *name, const char *value);

#endif
