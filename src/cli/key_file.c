/* key_file - see the header. SPDX-License-Identifier: MIT */
#include "key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli.h"
#include "lull/error.h"
#include "state_folder.h"

#define KEY_FILE_MAX 16384 /* bytes; a key in any format has far less */

static const char no_default[] = "neither XDG_CONFIG_HOME nor HOME is set: name the key file";

bool key_file_default(char *path, size_t size)
{
    const char *config = getenv("XDG_CONFIG_HOME");
    const char *home = getenv("HOME");
    int length = -1;
    if (config && *config == '/') { /* a relative one is to be passed over */
        length = snprintf(path, size, "%s/lull/vapid.json", config);
    } else if (home && *home == '/') {
        length = snprintf(path, size, "%s/.config/lull/vapid.json", home);
    }
    return length > 0 && (size_t)length < size;
}

/* ---- reading ---- */

static const struct private_file_kind kind = {
    .name = "key file",
    .size_max = KEY_FILE_MAX,
    .is_link_refused = true,
};

static bool fail(char problem[PRIVATE_FILE_PROBLEM_SIZE], const char *what, const char *path,
                 const char *why)
{
    (void)snprintf(problem, PRIVATE_FILE_PROBLEM_SIZE, "%s%s%s", what, path, why);
    return false;
}

bool key_file_read(const char *path, struct lull_vapid_key **ret_key,
                   char problem[PRIVATE_FILE_PROBLEM_SIZE])
{
    char place[PATH_MAX];
    struct private_file file = {0};
    struct lull_webpush_error error = {""};
    bool is_default = path == NULL;
    if (is_default && !key_file_default(place, sizeof place)) {
        return fail(problem, no_default, "", "");
    }
    path = is_default ? place : path;
    if (is_default && access(path, F_OK) != 0 && errno == ENOENT) {
        return fail(problem, "there is no key yet in ", path, ": 'lull keys new' makes one");
    }
    if (!private_file_read(&kind, path, &file, problem)) {
        return false;
    }
    bool is_good = lull_vapid_key_import(ret_key, file.text, file.length, NULL, &error) == LULL_OK;
    private_file_free(&file);
    if (!is_good) {
        (void)snprintf(problem, PRIVATE_FILE_PROBLEM_SIZE, "the key file %s: %s", path, error.text);
    }
    return is_good;
}

int key_file_load(const char *command, const char *path, struct lull_vapid_key **ret_key)
{
    char problem[PRIVATE_FILE_PROBLEM_SIZE] = "";
    return key_file_read(path, ret_key, problem) ? CLI_OK : cli_usage(command, "%s", problem);
}

/* ---- writing ---- */

static int unwritten(const char *command, const char *path, int error)
{
    fprintf(stderr, "lull %s: %s cannot be written: %s\n", command, path, strerror(error));
    return CLI_FAILED;
}

static int refuse_existing(const char *command, const char *path)
{
    return cli_usage(
        command,
        "%s exists; --force replaces it, and what was subscribed with its key can then "
        "not be sent to any more",
        path);
}

static int write_all(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t count = write(fd, text, length);
        if (count < 0 && errno != EINTR) {
            return errno;
        }
        if (count > 0) {
            text += count;
            length -= (size_t)count;
        }
    }
    return fsync(fd) == 0 ? 0 : errno;
}

/* After a crash, the file is there only if its folder was synced, too. */
static int sync_folder(const char *path)
{
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(path, '/');
    if (slash) {
        size_t length = slash == path ? 1 : (size_t)(slash - path);
        memcpy(folder, path, length);
        folder[length] = '\0';
    }
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    /* EINVAL: a file system that has nothing to sync there */
    int error = fsync(fd) == 0 || errno == EINVAL ? 0 : errno;
    (void)close(fd);
    return error;
}

/* Gives the file its name; over another only if forced, also if that came just now. */
static int place(const char *temporary, const char *path, bool is_forced)
{
    if (is_forced) {
        return rename(temporary, path) == 0 ? 0 : errno;
    }
    if (renameat2(AT_FDCWD, temporary, AT_FDCWD, path, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS) {
        return errno;
    }
    if (link(temporary, path) != 0) { /* a file system without RENAME_NOREPLACE */
        return errno;
    }
    return unlink(temporary) == 0 ? 0 : errno;
}

/* A new file beside the one at path. -1: errno says why not. */
static int open_beside(const char *path, char ret_temporary[PATH_MAX])
{
    int length = snprintf(ret_temporary, PATH_MAX, "%s.XXXXXX", path);
    if (length < 0 || length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return mkostemp(ret_temporary, O_CLOEXEC);
}

static int write_file(const char *path, const char *text, bool is_forced)
{
    char temporary[PATH_MAX];
    int fd = open_beside(path, temporary);
    if (fd < 0) {
        return errno;
    }
    int error = fchmod(fd, S_IRUSR | S_IWUSR) == 0 ? 0 : errno;
    error = error ? error : write_all(fd, text, strlen(text));
    if (close(fd) != 0 && !error) {
        error = errno;
    }
    error = error ? error : place(temporary, path, is_forced);
    if (error) {
        (void)unlink(temporary);
        return error;
    }
    return sync_folder(path);
}

/* What is not a file of ours is not replaced. */
static int check_place(const char *command, const char *path, bool *ret_exists)
{
    struct stat status;
    *ret_exists = lstat(path, &status) == 0;
    if (*ret_exists && !S_ISREG(status.st_mode)) {
        return cli_usage(command, "%s is %s: name another file", path,
                         S_ISDIR(status.st_mode)   ? "a folder"
                         : S_ISLNK(status.st_mode) ? "a symbolic link"
                                                   : "no regular file");
    }
    return CLI_OK;
}

int key_file_check(const char *command, const char *path)
{
    char temporary[PATH_MAX];
    bool exists = false;
    int result = *path ? check_place(command, path, &exists)
                       : cli_usage(command, "a file without a name cannot be written");
    if (result != CLI_OK) {
        return result;
    }
    int fd = open_beside(path, temporary);
    if (fd < 0) {
        return cli_usage(command, "%s cannot be written: %s", path, strerror(errno));
    }
    (void)close(fd);
    (void)unlink(temporary);
    return CLI_OK;
}

int key_file_write(const char *command, const char *path, const char *text, bool is_forced)
{
    bool exists = false;
    int result = check_place(command, path, &exists);
    if (result != CLI_OK) {
        return result;
    }
    if (exists && !is_forced) {
        return refuse_existing(command, path);
    }
    int error = write_file(path, text, is_forced);
    if (error == EEXIST && !is_forced) {
        return refuse_existing(command, path);
    }
    return error ? unwritten(command, path, error) : CLI_OK;
}

int key_file_save(const char *command, const char *path, const struct lull_vapid_key *key,
                  bool is_forced)
{
    char standard[PATH_MAX];
    char text[LULL_KEY_TEXT_SIZE];
    if (!path) {
        if (!key_file_default(standard, sizeof standard)) {
            return cli_usage(command, "%s", no_default);
        }
        path = standard;
        int error = state_folder_make(path);
        if (error) {
            return unwritten(command, path, error);
        }
    }
    if (lull_vapid_key_export(key, LULL_KEY_FILE, text) != LULL_OK) {
        return unwritten(command, path, ENOMEM);
    }
    int result = key_file_write(command, path, text, is_forced);
    explicit_bzero(text, sizeof text);
    return result;
}
