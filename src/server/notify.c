/* notify - see the header. SPDX-License-Identifier: MIT */
#include "notify.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE_SIZE 512
#define SOCKETS_MAX 64

/* ---- telling ---- */

/* /run/..., or @name for one in the abstract namespace. */
static bool find_peer(struct sockaddr_un *ret_peer, socklen_t *ret_length)
{
    const char *path = getenv("NOTIFY_SOCKET");
    size_t length = path ? strlen(path) : 0;
    if (length < 2 || length >= sizeof ret_peer->sun_path || (*path != '/' && *path != '@')) {
        return false;
    }
    *ret_peer = (struct sockaddr_un){.sun_family = AF_UNIX};
    memcpy(ret_peer->sun_path, path, length + 1);
    if (*path == '@') {
        ret_peer->sun_path[0] = '\0';
    }
    *ret_length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    return true;
}

static bool tell(const char *message)
{
    struct sockaddr_un peer;
    socklen_t length = 0;
    if (!find_peer(&peer, &length)) {
        return false;
    }
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    ssize_t sent = sendto(fd, message, strlen(message), MSG_NOSIGNAL | MSG_DONTWAIT,
                          (const struct sockaddr *)&peer, length);
    (void)close(fd);
    return sent >= 0;
}

bool notify_ready(void)
{
    return tell("READY=1");
}

bool notify_stopping(void)
{
    return tell("STOPPING=1");
}

bool notify_reloading(void)
{
    char message[MESSAGE_SIZE];
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    (void)snprintf(message, sizeof message, "RELOADING=1\nMONOTONIC_USEC=%" PRId64,
                   (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    return tell(message);
}

bool notify_watchdog(void)
{
    return tell("WATCHDOG=1");
}

bool notify_extend(int64_t wait_ms)
{
    char message[MESSAGE_SIZE];
    (void)snprintf(message, sizeof message, "EXTEND_TIMEOUT_USEC=%" PRId64, wait_ms * 1000);
    return tell(message);
}

bool notify_status(const char *format, ...)
{
    char message[MESSAGE_SIZE] = "STATUS=";
    size_t used = strlen(message);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(message + used, sizeof message - used, format, arguments);
    va_end(arguments);
    for (char *c = message; *c; c++) { /* a second line would be another assignment */
        *c = *c == '\n' ? ' ' : *c;
    }
    return tell(message);
}

/* ---- asking ---- */

/* A number of the environment. -1: none. */
static int64_t number_of(const char *variable)
{
    const char *text = getenv(variable);
    char *end = NULL;
    if (!text || *text < '0' || *text > '9') {
        return -1;
    }
    int64_t number = strtoll(text, &end, 10);
    return *end == '\0' ? number : -1;
}

/* Without the variable, they are meant for us all the same if may_be_absent. */
static bool is_for_us(const char *variable, bool may_be_absent)
{
    return getenv(variable) ? number_of(variable) == getpid() : may_be_absent;
}

int64_t notify_watchdog_interval_ms(void)
{
    int64_t interval_us = number_of("WATCHDOG_USEC");
    if (interval_us <= 0 || !is_for_us("WATCHDOG_PID", true)) {
        return 0;
    }
    int64_t half_ms = interval_us / 2000;
    return half_ms > 0 ? half_ms : 1;
}

int notify_sockets(void)
{
    int64_t count = number_of("LISTEN_FDS");
    bool is_ours = is_for_us("LISTEN_PID", false);
    (void)unsetenv("LISTEN_PID");
    (void)unsetenv("LISTEN_FDS");
    (void)unsetenv("LISTEN_FDNAMES");
    if (!is_ours || count <= 0 || count > SOCKETS_MAX) {
        return 0;
    }
    for (int fd = NOTIFY_FIRST_SOCKET; fd < NOTIFY_FIRST_SOCKET + (int)count; fd++) {
        int flags = fcntl(fd, F_GETFD);
        if (flags < 0 || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) != 0) {
            return 0;
        }
    }
    return (int)count;
}
