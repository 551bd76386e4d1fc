/* sqlite_spare - see the header. SPDX-License-Identifier: MIT */
#include "sqlite_spare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define FILE_MODE 0600
#define KIB INT64_C(1024)

/* More than a checkpoint is put off for (sqlite_checkpoint.c), but no large part of a small disk.
 * It is the same from full disk to full disk: less each time would soon be too little. */
#define SIZE_MAX_WANTED (20 * 1024 * KIB)
#define SHARE 4 /* of the disk */

/* A part of it has to be free beside it, so that a disk is not full again at once. */
#define MARGIN 8

#define OPENING_ROOM (256 * KIB)

struct disk { /* in bytes */
    int64_t size;
    int64_t room;
};

/* False: not known. */
static bool look(const struct spare *spare, struct disk *ret_disk)
{
    struct statvfs about;
    char *end = strrchr(spare->path, '/');
    char first = end ? end[1] : '\0';
    if (end) {
        end[1] = '\0';
    }
    int result = statvfs(end ? spare->path : ".", &about);
    if (end) {
        end[1] = first;
    }
    if (result == 0) {
        *ret_disk = (struct disk){(int64_t)(about.f_blocks * about.f_frsize),
                                  (int64_t)(about.f_bavail * about.f_frsize)};
    }
    return result == 0;
}

/* Of the file that is there; 0: none. */
static int64_t held_bytes(const struct spare *spare)
{
    struct stat status;
    return stat(spare->path, &status) == 0 ? (int64_t)status.st_size : 0;
}

bool spare_init(struct spare *spare, const char *store_path)
{
    int length = asprintf(&spare->path, "%s-spare", store_path);
    if (length < 0) {
        spare->path = NULL;
        return false;
    }
    spare->was_needed = false;
    struct disk disk;
    if (look(spare, &disk) && disk.room < OPENING_ROOM) {
        spare_give_up(spare);
    }
    return true;
}

void spare_clean_up(struct spare *spare)
{
    free(spare->path);
}

bool spare_take(const struct spare *spare)
{
    struct disk disk;
    if (!look(spare, &disk)) {
        return true; /* where nothing is known of the disk, it is found out by writing */
    }
    int64_t wanted = disk.size / SHARE < SIZE_MAX_WANTED ? disk.size / SHARE : SIZE_MAX_WANTED;
    int64_t held = held_bytes(spare);
    if (held >= wanted) {
        return true;
    }
    if (disk.room < wanted - held + wanted / MARGIN) {
        return false;
    }
    int file = open(spare->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);
    int error = file >= 0 ? posix_fallocate(file, 0, (off_t)wanted) : errno;
    if (file >= 0) {
        (void)close(file);
    }
    if (error != 0) {
        (void)unlink(spare->path);
    }
    /* A limit of the size of files is no full disk, as long as the store itself has not met it. */
    return error == 0 || (error == EFBIG && !spare->was_needed);
}

void spare_give_up(struct spare *spare)
{
    spare->was_needed = true;
    (void)unlink(spare->path);
}
