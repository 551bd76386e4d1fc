/*
 * listen - the socket of the API: "127.0.0.1:8372", "[::1]:8372", "localhost:8372", a path with a /
 * for a Unix socket, or one that systemd has opened.
 *
 *   listen_open or listen_adopt -> (serve on listener.fd) -> listen_close
 */
#ifndef LULL_SERVER_LISTEN_H
#define LULL_SERVER_LISTEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/un.h>

#define LISTEN_PROBLEM_SIZE 384

struct listener {
    int fd;           /* non-blocking, closed on exec */
    bool is_loopback; /* of this machine alone; a Unix socket is */
    bool is_unix;
    uint16_t port;  /* 0: a Unix socket. It is the real one, where port 0 asked for any */
    char text[128]; /* "127.0.0.1:8372", or the path */
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* to be removed at the end, or "" */
};

/* False: *problem is a sentence that says what is wrong or in the way. A file of a Unix socket that
 * nobody answers at is taken over; it may be used by owner and group. */
bool listen_open(const char *address, struct listener *ret_listener,
                 char problem[LISTEN_PROBLEM_SIZE]);

/* A listening stream socket that came from outside. */
bool listen_adopt(int fd, struct listener *ret_listener, char problem[LISTEN_PROBLEM_SIZE]);

/* Is the text an address, and one that only this machine reaches? Nothing is opened. */
bool listen_check(const char *address, bool *ret_is_loopback, char problem[LISTEN_PROBLEM_SIZE]);

/* Closes it, and removes the file that listen_open made. */
void listen_close(struct listener *listener);

#endif
