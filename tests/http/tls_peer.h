/*
 * tls_peer - a server with TLS and HTTP/1.1 on a thread inside the test, which does the same with
 * each request whose body is "pay". RESET: the bytes, the end, and a reset behind it. Its
 * certificate is its own, and for "name.test" only.
 */
#ifndef LULL_TESTS_HTTP_TLS_PEER_H
#define LULL_TESTS_HTTP_TLS_PEER_H

#include <stdbool.h>
#include <stddef.h>

#include "server.h"

struct tls_peer;

/* The step is borrowed. is_closing_at_once: there is not even a handshake. */
struct tls_peer *tls_peer_start(const struct step *step, bool is_closing_at_once);
void tls_peer_stop(struct tls_peer *peer); /* when the clients have closed their connections */

int tls_peer_port(const struct tls_peer *peer);
const char *tls_peer_ca_file(const struct tls_peer *peer);

size_t tls_peer_closed(struct tls_peer *peer); /* connections that are over */

/* For after the last request has been answered: how many came, and the protocols that the last
 * client offered, as on the wire. */
size_t tls_peer_count(struct tls_peer *peer);
const char *tls_peer_alpn(const struct tls_peer *peer);

#endif
