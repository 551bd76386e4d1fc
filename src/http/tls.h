/*
 * tls - the client's side of TLS for connections that nghttp2 drives: certificates verified, HTTP/2
 * asked for by ALPN, sessions resumed.
 *
 *   tls_new -> { tls_open, tls_handshake ..., tls_read, tls_write, tls_close } ... -> tls_destroy
 *
 * All calls are non-blocking, and none raises SIGPIPE.
 */
#ifndef LULL_HTTP_TLS_H
#define LULL_HTTP_TLS_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/outcome.h"

/* What an origin's next connections begin with: a resumed handshake costs half of a full one. */
#define TLS_SESSIONS_KEPT 4

struct tls_sessions {
    SSL_SESSION *list[TLS_SESSIONS_KEPT];
    size_t count;
};

struct tls;

/* ca_file NULL: the system's. LULL_ERR_RANGE: it cannot be read; LULL_ERR_MEMORY. */
int tls_new(struct tls **ret_tls, const char *ca_file);
void tls_destroy(struct tls *tls); /* NULL is fine */

/* On a connected socket, which stays the caller's. host: a name or an address in writing, that the
 * certificate must be for. Tickets that arrive go to sessions, which must outlive it. NULL: no
 * memory. */
SSL *tls_open(struct tls *tls, int fd, const char *host, struct tls_sessions *sessions);
void tls_close(SSL *ssl); /* says goodbye if it can; NULL is fine */

enum tls_result {
    TLS_DONE,
    TLS_WANTS_READ, /* again, once the socket can be read */
    TLS_WANTS_WRITE,
    TLS_END,   /* the peer has closed it */
    TLS_ERROR, /* tls_failure says which */
};

enum tls_result tls_handshake(SSL *ssl);
enum tls_result tls_read(SSL *ssl, void *buffer, size_t size, size_t *ret_length);
bool tls_has_more(const SSL *ssl); /* was taken from the socket and not read yet */
enum tls_result tls_write(SSL *ssl, const void *data, size_t length, size_t *ret_length);

/* After the handshake. */
bool tls_is_h2(const SSL *ssl);
bool tls_is_resumed(const SSL *ssl);

/* After TLS_ERROR or TLS_END, before anything was sent: TLS if the certificate is not to be
 * trusted or the peer wants one of ours, else TLS_HANDSHAKE. detail: in a few words that last for
 * ever. */
enum lull_transport tls_failure(const SSL *ssl, const char **ret_detail);

void tls_sessions_clear(struct tls_sessions *sessions);

#endif
