/* process - what this process has open, and waiting for a descriptor, for tests of what may leak.
 */
#ifndef LULL_TESTS_HTTP_PROCESS_H
#define LULL_TESTS_HTTP_PROCESS_H

#include "suite.h"

#include <dirent.h>
#include <poll.h>

/* A test that waits for longer than this has failed. */
#define PATIENCE_MS 5000

static inline size_t count_entries(const char *folder)
{
    size_t count = 0;
    DIR *open_folder = opendir(folder);
    assert_non_null(open_folder);
    while (readdir(open_folder)) {
        count++;
    }
    assert_int_equal(closedir(open_folder), 0);
    return count;
}

/* As differences only: the descriptor that reads the folder is counted too. */
static inline size_t count_descriptors(void)
{
    return count_entries("/proc/self/fd");
}

static inline size_t count_threads(void)
{
    return count_entries("/proc/self/task");
}

/* Whether it becomes readable in time. */
static inline bool wait_readable(int fd)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    return poll(&wanted, 1, PATIENCE_MS) == 1;
}

#endif
