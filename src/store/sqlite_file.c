/* sqlite_file - see the header. SPDX-License-Identifier: MIT */
#include "sqlite_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lull/error.h"

#define FILE_MODE 0600

/* The header of a database, as its format says. */
#define HEADER_SIZE 100
#define HEADER_MAGIC "SQLite format 3" /* and a zero */
#define HEADER_USER_VERSION 60
#define HEADER_APPLICATION_ID 68

static int fail_system(struct store_opening *opening, const char *what, int reason)
{
    char text[96];
    (void)snprintf(opening->problem, sizeof opening->problem, "%s: %s", what,
                   strerror_r(reason, text, sizeof text));
    return reason == ENOSPC || reason == EDQUOT ? STORE_ERR_DISK_FULL : STORE_ERR_BROKEN;
}

static int fail(struct store_opening *opening, int error, const char *sentence)
{
    (void)snprintf(opening->problem, sizeof opening->problem, "%s", sentence);
    return error;
}

static uint32_t read_number(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static int judge(const unsigned char *header, size_t length, uint32_t application_id,
                 uint32_t version, struct store_opening *opening)
{
    if (length == 0) {
        return LULL_OK;
    }
    if (length < HEADER_SIZE || memcmp(header, HEADER_MAGIC, sizeof HEADER_MAGIC) != 0) {
        return fail(
            opening, STORE_ERR_FOREIGN,
            "the file is not a database of Lull, and was not touched; give the path of one, "
            "or of a file that is not there yet");
    }
    if (read_number(header + HEADER_APPLICATION_ID) != application_id) {
        return fail(opening, STORE_ERR_FOREIGN,
                    "the file is a database of another program, and was not touched; give the path "
                    "of one of Lull's, or of a file that is not there yet");
    }
    uint32_t found = read_number(header + HEADER_USER_VERSION);
    if (found > version) {
        (void)snprintf(opening->problem, sizeof opening->problem,
                       "the file is of version %u, and this program knows up to %u: it was not "
                       "touched; use the newer program",
                       found, version);
        return STORE_ERR_FOREIGN;
    }
    return LULL_OK;
}

int sqlite_file_look(const char *path, uint32_t application_id, uint32_t version,
                     struct store_opening *opening)
{
    /* Without waiting: a FIFO of this name would have us wait for ever. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) {
        return errno == ENOENT ? LULL_OK : fail_system(opening, "the file cannot be opened", errno);
    }
    struct stat status;
    unsigned char header[HEADER_SIZE];
    ssize_t length = -1;
    int error = LULL_OK;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        error = fail(opening, STORE_ERR_BROKEN, "it is not a file; give the path of one");
    } else if ((length = pread(file, header, sizeof header, 0)) < 0) {
        error = fail_system(opening, "the file cannot be read", errno);
    } else {
        error = judge(header, (size_t)length, application_id, version, opening);
    }
    (void)close(file);
    return error;
}

int sqlite_file_lock(const char *path, int *ret_file, struct store_opening *opening)
{
    size_t size = strlen(path) + sizeof "-lock";
    char *name = malloc(size);
    if (!name) {
        return fail(opening, LULL_ERR_MEMORY, "there is no memory");
    }
    (void)snprintf(name, size, "%s-lock", path);
    int file = open(name, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE);
    int reason = errno;
    free(name);
    if (file < 0) {
        return fail_system(opening, "the lock file beside it cannot be made", reason);
    }
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
        reason = errno;
        (void)close(file);
        return reason == EWOULDBLOCK
                   ? fail(opening, STORE_ERR_BUSY,
                          "another process has the store; stop that one, or give each its own file")
                   : fail_system(opening, "the lock file beside it cannot be locked", reason);
    }
    *ret_file = file;
    return LULL_OK;
}

int sqlite_file_make(const char *path, struct store_opening *opening)
{
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, FILE_MODE);
    if (file < 0) {
        return fail_system(opening, "the file cannot be opened for writing", errno);
    }
    (void)close(file);
    return LULL_OK;
}
