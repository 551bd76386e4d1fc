/* listen - see the header. SPDX-License-Identifier: MIT */
#include "listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "number_text.h"

#define BACKLOG 1024
#define HOST_SIZE 256

static const char form[] = "the address must be HOST:PORT, [IPV6]:PORT, or a path with a / in it";

__attribute__((format(printf, 2, 3))) static bool fail(char problem[LISTEN_PROBLEM_SIZE],
                                                       const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(problem, LISTEN_PROBLEM_SIZE, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- the text ---- */

struct place {
    char host[HOST_SIZE];
    char port[8];
    bool is_bracketed;
};

static bool split_port(const char *text, struct place *place, char problem[LISTEN_PROBLEM_SIZE])
{
    int64_t number = 0;
    struct text rest = {0};
    if (!number_split((struct text){text, strlen(text)}, &number, &rest) || rest.length > 0) {
        return fail(problem, "%s", form);
    }
    if (number > UINT16_MAX) {
        return fail(problem, "a port is at most 65535");
    }
    (void)snprintf(place->port, sizeof place->port, "%u", (unsigned)number);
    return true;
}

static bool split(const char *address, struct place *place, char problem[LISTEN_PROBLEM_SIZE])
{
    const char *host = *address == '[' ? address + 1 : address;
    size_t length = strcspn(host, *address == '[' ? "]" : ":");
    const char *colon = host + length + (*address == '[' && host[length] == ']');
    place->is_bracketed = *address == '[';
    if (length == 0 || length >= sizeof place->host || *colon != ':') {
        return fail(problem, "%s", form);
    }
    memcpy(place->host, host, length);
    place->host[length] = '\0';
    return split_port(colon + 1, place, problem);
}

/* The addresses of a host; of a name the IPv4 ones first, since that is where most look. */
static bool resolve(const char *address, struct place *place, struct addrinfo **ret_list,
                    char problem[LISTEN_PROBLEM_SIZE])
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    if (!split(address, place, problem)) {
        return false;
    }
    hints.ai_family = place->is_bracketed ? AF_INET6 : AF_INET;
    hints.ai_flags |= place->is_bracketed ? AI_NUMERICHOST : 0;
    int error = getaddrinfo(place->host, place->port, &hints, ret_list);
    if (error != 0 && !place->is_bracketed) {
        hints.ai_family = AF_INET6;
        error = getaddrinfo(place->host, place->port, &hints, ret_list);
    }
    return error == 0 ||
           fail(problem, "the host '%s' is not known: %s", place->host, gai_strerror(error));
}

/* ---- what an address is ---- */

static bool is_loopback_v4(const uint8_t bytes[4])
{
    return bytes[0] == 127;
}

static bool is_loopback(const struct sockaddr *address)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    switch (address->sa_family) {
    case AF_UNIX:
        return true;
    case AF_INET:
        memcpy(&v4, address, sizeof v4);
        return is_loopback_v4((const uint8_t *)&v4.sin_addr);
    case AF_INET6:
        memcpy(&v6, address, sizeof v6);
        return IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr) ||
               (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr) && is_loopback_v4(v6.sin6_addr.s6_addr + 12));
    default:
        return false;
    }
}

/* All that the listener says of its socket, from the socket itself. */
static bool describe(struct listener *listener)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
        struct sockaddr_un local;
        struct sockaddr_storage storage;
    } own = {0};
    socklen_t length = sizeof own;
    char host[INET6_ADDRSTRLEN] = "";
    if (getsockname(listener->fd, &own.any, &length) != 0) {
        return false;
    }
    listener->is_loopback = is_loopback(&own.any);
    switch (own.any.sa_family) {
    case AF_INET:
        listener->port = ntohs(own.v4.sin_port);
        (void)inet_ntop(AF_INET, &own.v4.sin_addr, host, sizeof host);
        (void)snprintf(listener->text, sizeof listener->text, "%s:%u", host, listener->port);
        return true;
    case AF_INET6:
        listener->port = ntohs(own.v6.sin6_port);
        (void)inet_ntop(AF_INET6, &own.v6.sin6_addr, host, sizeof host);
        (void)snprintf(listener->text, sizeof listener->text, "[%s]:%u", host, listener->port);
        return true;
    case AF_UNIX:
        listener->is_unix = true;
        if (length > offsetof(struct sockaddr_un, sun_path)) { /* an abstract one begins with 0 */
            bool is_abstract = own.local.sun_path[0] == '\0';
            (void)snprintf(listener->text, sizeof listener->text, "%s%.*s", is_abstract ? "@" : "",
                           (int)(sizeof own.local.sun_path - is_abstract),
                           own.local.sun_path + is_abstract);
        }
        return true;
    default:
        return false;
    }
}

/* ---- opening ---- */

static bool fail_bind(const struct place *place, int error, char problem[LISTEN_PROBLEM_SIZE])
{
    switch (error) {
    case EADDRINUSE:
        return fail(problem, "port %s of %s is taken: another lull serve?", place->port,
                    place->host);
    case EADDRNOTAVAIL:
        return fail(problem, "%s is no address of this machine", place->host);
    case EACCES:
        return fail(problem, "port %s is only for programs with the right to low ports",
                    place->port);
    default:
        return fail(problem, "cannot listen on port %s of %s: %s", place->port, place->host,
                    strerror(error));
    }
}

/* 0, or an errno. *ret_fd is open, or -1. */
static int bind_internet(const struct addrinfo *address, int *ret_fd)
{
    int yes = 1;
    int no = 0;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    *ret_fd = fd;
    if (fd < 0) {
        return errno;
    }
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        (address->ai_family == AF_INET6 && /* [::] is for IPv4 too */
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) != 0) ||
        bind(fd, address->ai_addr, address->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        return errno;
    }
    return 0;
}

static bool open_internet(const char *address, struct listener *listener,
                          char problem[LISTEN_PROBLEM_SIZE])
{
    struct place place = {.host = ""};
    struct addrinfo *list = NULL;
    if (!resolve(address, &place, &list, problem)) {
        return false;
    }
    int error = EADDRNOTAVAIL;
    for (const struct addrinfo *one = list; one && error == EADDRNOTAVAIL; one = one->ai_next) {
        if (listener->fd >= 0) {
            (void)close(listener->fd);
        }
        error = bind_internet(one, &listener->fd);
    }
    freeaddrinfo(list);
    return error == 0 || fail_bind(&place, error, problem);
}

/* Does somebody answer there? */
static bool is_answered(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* EAGAIN: its queue is full, so there is one */
    bool is_answered =
        fd >= 0 && (connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ||
                    errno != ECONNREFUSED);
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_answered;
}

/* Makes room for a socket where an old one lies. */
static bool remove_stale(const struct sockaddr_un *address, char problem[LISTEN_PROBLEM_SIZE])
{
    struct stat status;
    if (lstat(address->sun_path, &status) != 0) {
        return errno == ENOENT || fail(problem, "cannot listen on the socket: %s", strerror(errno));
    }
    if (!S_ISSOCK(status.st_mode)) {
        return fail(problem, "%s is there and is no socket", address->sun_path);
    }
    if (is_answered(address)) {
        return fail(problem, "the socket %s is taken: another lull serve?", address->sun_path);
    }
    return unlink(address->sun_path) == 0 || errno == ENOENT ||
           fail(problem, "the old socket %s cannot be removed: %s", address->sun_path,
                strerror(errno));
}

static bool open_unix(const char *path, struct listener *listener,
                      char problem[LISTEN_PROBLEM_SIZE])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path) {
        return fail(problem, "the path of a socket has at most %zu bytes",
                    sizeof address.sun_path - 1);
    }
    memcpy(address.sun_path, path, length + 1);
    if (!remove_stale(&address, problem)) {
        return false;
    }
    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* The mode is the socket's before it has a name, so that it is never open to others. */
    if (listener->fd < 0 || fchmod(listener->fd, S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP) != 0 ||
        bind(listener->fd, (const struct sockaddr *)&address, sizeof address) != 0) {
        return fail(problem, "cannot listen on the socket %s: %s", path, strerror(errno));
    }
    memcpy(listener->path, path, length + 1);
    return listen(listener->fd, BACKLOG) == 0 ||
           fail(problem, "cannot listen on the socket %s: %s", path, strerror(errno));
}

bool listen_open(const char *address, struct listener *ret_listener,
                 char problem[LISTEN_PROBLEM_SIZE])
{
    struct listener listener = {.fd = -1};
    bool is_good = strchr(address, '/') ? open_unix(address, &listener, problem)
                                        : open_internet(address, &listener, problem);
    if (is_good && !describe(&listener)) {
        is_good = fail(problem, "cannot listen: %s", strerror(errno));
    }
    if (!is_good) {
        listen_close(&listener);
        return false;
    }
    *ret_listener = listener;
    return true;
}

bool listen_adopt(int fd, struct listener *ret_listener, char problem[LISTEN_PROBLEM_SIZE])
{
    struct listener listener = {.fd = fd};
    int type = 0;
    int is_listening = 0;
    socklen_t type_length = sizeof type;
    socklen_t length = sizeof is_listening;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_length) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &length) != 0) {
        return fail(problem, "descriptor %d is no socket: %s", fd, strerror(errno));
    }
    if (type != SOCK_STREAM || !is_listening) {
        return fail(problem, "descriptor %d is no listening stream socket", fd);
    }
    if (fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 ||
        !describe(&listener)) {
        return fail(problem, "descriptor %d cannot be listened on: %s", fd, strerror(errno));
    }
    *ret_listener = listener;
    return true;
}

bool listen_check(const char *address, bool *ret_is_loopback, char problem[LISTEN_PROBLEM_SIZE])
{
    struct place place = {.host = ""};
    struct addrinfo *list = NULL;
    struct sockaddr_un local;
    if (strchr(address, '/')) {
        *ret_is_loopback = true;
        return strlen(address) < sizeof local.sun_path ||
               fail(problem, "the path of a socket has at most %zu bytes",
                    sizeof local.sun_path - 1);
    }
    if (!resolve(address, &place, &list, problem)) {
        return false;
    }
    bool is_all = true; /* any of them may be the one that is opened */
    for (const struct addrinfo *one = list; one; one = one->ai_next) {
        is_all = is_all && is_loopback(one->ai_addr);
    }
    freeaddrinfo(list);
    *ret_is_loopback = is_all;
    return true;
}

void listen_close(struct listener *listener)
{
    if (*listener->path) {
        (void)unlink(listener->path);
    }
    if (listener->fd >= 0) {
        (void)close(listener->fd);
    }
    *listener = (struct listener){.fd = -1};
}
