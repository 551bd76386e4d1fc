/* address - may a message be sent there? Private, loopback, link-local and other special addresses
 * are the operator's own network: a subscription must not reach into it (W5). */
#ifndef LULL_HTTP_ADDRESS_H
#define LULL_HTTP_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

/* False for any other family, too. An IPv4 address inside an IPv6 one counts as itself. */
bool address_is_public(const struct sockaddr *address);

/* The same of one in writing, "192.0.2.1" or "2001:db8::1"; false for anything else. */
bool address_text_is_public(const char *text);

/* Does the host of a URL, without brackets, say by itself that it is not public? It is an address
 * in any writing that getaddrinfo knows, "127.1" too, or localhost. What other names stand for
 * shows only when they are looked up. */
bool address_host_is_private(const char *host, size_t length);

#endif
