/* secret_file - see the header. SPDX-License-Identifier: MIT */
#include "secret_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHERS (S_IRWXG | S_IRWXO)

bool secret_file_fail(struct secret_file_problem *problem, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(problem->text, sizeof problem->text, format, arguments);
    va_end(arguments);
    return false;
}

/* The path as a shell takes it. */
static const char *quote(const char *path, char *out, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+,:@%=";
    size_t used = 0;
    if (path[strspn(path, plain)] == '\0') {
        return path;
    }
    out[used++] = '\'';
    for (; *path && used + 6 < size; path++) {
        const char *piece = *path == '\'' ? "'\\''" : NULL;
        if (piece) {
            memcpy(out + used, piece, 4);
        } else {
            out[used] = *path;
        }
        used += piece ? 4 : 1;
    }
    out[used++] = '\'';
    out[used] = '\0';
    return out;
}

static bool check_status(const char *what, const struct stat *status, const char *path, size_t size,
                         struct secret_file_problem *problem)
{
    if (S_ISDIR(status->st_mode)) {
        return secret_file_fail(problem, "the %s %s is a folder", what, path);
    }
    if (!S_ISREG(status->st_mode)) {
        return secret_file_fail(problem, "the %s %s is no regular file", what, path);
    }
    if (status->st_mode & OTHERS) {
        char quoted[2 * PATH_MAX];
        return secret_file_fail(problem, "others have access to the %s; mend it: chmod 600 %s",
                                what, quote(path, quoted, sizeof quoted));
    }
    if (status->st_size > (off_t)size) {
        return secret_file_fail(problem, "the %s %s is too big: it may have %zu bytes", what, path,
                                size);
    }
    return true;
}

static bool read_text(int fd, char *text, size_t size, size_t *ret_length)
{
    size_t length = 0;
    ssize_t count = 1;
    while (length < size && count > 0) {
        count = read(fd, text + length, size - length);
        if (count < 0 && errno == EINTR) {
            count = 1;
        } else if (count > 0) {
            length += (size_t)count;
        }
    }
    *ret_length = length;
    return count >= 0;
}

bool secret_file_read(const char *what, const char *path, char *text, size_t size,
                      size_t *ret_length, struct secret_file_problem *problem)
{
    struct stat status;
    /* Not blocking: a pipe would hold us here before we could see that it is one. */
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    problem->error = fd < 0 ? errno : 0;
    if (problem->error == ELOOP) {
        return secret_file_fail(problem, "the %s %s is a symbolic link: name the file itself", what,
                                path);
    }
    if (fd < 0) {
        return secret_file_fail(problem, "the %s cannot be read: %s", what,
                                strerror(problem->error));
    }
    bool is_known = fstat(fd, &status) == 0;
    bool is_good = is_known && check_status(what, &status, path, size, problem);
    if (!is_known || (is_good && !read_text(fd, text, size, ret_length))) {
        is_good = secret_file_fail(problem, "the %s cannot be read: %s", what, strerror(errno));
    }
    (void)close(fd);
    return is_good;
}
