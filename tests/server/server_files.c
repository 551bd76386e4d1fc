/* server_files - see the header. SPDX-License-Identifier: MIT */
#include "server_files.h"

#include "suite.h"

#include <ftw.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/lull-test-XXXXXX";

int files_begin(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

int files_end(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *files_path(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];
    (void)snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return path;
}

const char *files_write(const char *name, const char *text, mode_t mode)
{
    const char *path = files_path(name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fputs(text, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, mode), 0);
    return path;
}

char *files_read_source(const char *name)
{
    char path[PATH_MAX];
    char *text = NULL;
    size_t size = 0;
    const char *root = getenv("LULL_SOURCE_ROOT");
    (void)snprintf(path, sizeof path, "%s/%s", root ? root : ".", name);
    FILE *file = fopen(path, "r");
    if (!file || getdelim(&text, &size, '\0', file) < 0) {
        fail_msg("%s cannot be read (set LULL_SOURCE_ROOT)", path);
    }
    assert_int_equal(fclose(file), 0);
    return text;
}

void files_set_variable(const char *name, const char *value)
{
    assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}
