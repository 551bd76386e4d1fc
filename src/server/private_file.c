/* private_file - see the header. SPDX-License-Identifier: MIT */
#include "private_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text.h"

#define OTHERS (S_IRWXG | S_IRWXO)

__attribute__((format(printf, 2, 3))) static bool fail(char problem[PRIVATE_FILE_PROBLEM_SIZE],
                                                       const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(problem, PRIVATE_FILE_PROBLEM_SIZE, format, arguments);
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

static bool check_status(const struct private_file_kind *kind, const struct stat *status,
                         const char *path, char problem[PRIVATE_FILE_PROBLEM_SIZE])
{
    if (S_ISDIR(status->st_mode)) {
        return fail(problem, "the %s %s is a folder", kind->name, path);
    }
    if (!S_ISREG(status->st_mode)) {
        return fail(problem, "the %s %s is no regular file", kind->name, path);
    }
    if (status->st_mode & OTHERS) {
        char quoted[2 * PATH_MAX];
        return fail(problem, "others have access to the %s; mend it: chmod 600 %s", kind->name,
                    quote(path, quoted, sizeof quoted));
    }
    if ((size_t)status->st_size > kind->size_max) {
        return fail(problem, "the %s %s is too big: it may have %zu bytes", kind->name, path,
                    kind->size_max);
    }
    return true;
}

static bool read_text(const struct private_file_kind *kind, int fd, struct private_file *file,
                      char problem[PRIVATE_FILE_PROBLEM_SIZE])
{
    ssize_t count = 1;
    while (file->length < kind->size_max && count > 0) {
        count = read(fd, file->text + file->length, kind->size_max - file->length);
        if (count < 0 && errno == EINTR) {
            count = 1;
        } else if (count > 0) {
            file->length += (size_t)count;
        }
    }
    if (count < 0) {
        return fail(problem, "the %s cannot be read: %s", kind->name, strerror(errno));
    }
    file->text[file->length] = '\0';
    return true;
}

static bool read_open(const struct private_file_kind *kind, int fd, const char *path,
                      struct private_file *file, char problem[PRIVATE_FILE_PROBLEM_SIZE])
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return fail(problem, "the %s cannot be read: %s", kind->name, strerror(errno));
    }
    if (!check_status(kind, &status, path, problem)) {
        return false;
    }
    file->text = malloc(kind->size_max + 1);
    return file->text ? read_text(kind, fd, file, problem)
                      : fail(problem, "the %s cannot be read: no memory", kind->name);
}

bool private_file_read(const struct private_file_kind *kind, const char *path,
                       struct private_file *ret_file, char problem[PRIVATE_FILE_PROBLEM_SIZE])
{
    struct private_file file = {0};
    /* Not blocking: a pipe would hold us here before we could see that it is one. */
    int fd =
        open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | (kind->is_link_refused ? O_NOFOLLOW : 0));
    if (fd < 0 && errno == ELOOP && kind->is_link_refused) {
        return fail(problem, "the %s %s is a symbolic link: name the file itself", kind->name,
                    path);
    }
    if (fd < 0) {
        return fail(problem, "the %s cannot be read: %s", kind->name, strerror(errno));
    }
    bool is_good = read_open(kind, fd, path, &file, problem);
    (void)close(fd);
    if (!is_good) {
        private_file_free(&file);
        return false;
    }
    file.rest = file.text;
    *ret_file = file;
    return true;
}

char *private_file_line(struct private_file *file)
{
    while (file->rest) {
        char *start = strsep(&file->rest, "\n");
        struct text line = text_trim(start, strcspn(start, "\r"));
        file->line++;
        if (line.length > 0 && line.data[0] != '#') {
            char *text = start + (line.data - start);
            text[line.length] = '\0';
            return text;
        }
    }
    return NULL;
}

void private_file_free(struct private_file *file)
{
    if (file->text) {
        explicit_bzero(file->text, file->length);
    }
    free(file->text);
    *file = (struct private_file){0};
}
