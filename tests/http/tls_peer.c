/* tls_peer - see the header. SPDX-License-Identifier: MIT */
#include "tls_peer.h"

#include <arpa/inet.h>
#include <assert.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct tls_peer {
    pthread_t thread;
    SSL_CTX *context;
    int listener;
    int stop[2];
    int port;
    char ca_file[64];
    const struct step *step;
    bool is_closing_at_once;
    atomic_size_t count;
    atomic_size_t closed;
    char alpn[64];
};

/* ---- the certificate ---- */

static X509 *make_certificate(EVP_PKEY *key)
{
    X509 *certificate = X509_new();
    assert(certificate);
    X509_NAME *name = X509_get_subject_name(certificate);
    (void)X509_set_version(certificate, 2);
    (void)ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    (void)X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    (void)X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
    (void)X509_set_pubkey(certificate, key);
    (void)X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"name.test",
                                     -1, -1, 0);
    (void)X509_set_issuer_name(certificate, name);
    X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:name.test");
    assert(names);
    (void)X509_add_ext(certificate, names, -1);
    X509_EXTENSION_free(names);
    if (X509_sign(certificate, key, EVP_sha256()) <= 0) {
        abort();
    }
    return certificate;
}

/* The protocols that the client offers; of those, only HTTP/1.1 is to be had. */
static int on_alpn(SSL *ssl, const unsigned char **out, unsigned char *out_length,
                   const unsigned char *offered, unsigned length, void *userdata)
{
    struct tls_peer *peer = userdata;
    (void)ssl;
    size_t kept = length < sizeof peer->alpn ? length : sizeof peer->alpn - 1;
    memcpy(peer->alpn, offered, kept);
    peer->alpn[kept] = '\0';
    static const unsigned char ours[] = "\x08http/1.1";
    return SSL_select_next_proto((unsigned char **)out, out_length, ours, sizeof ours - 1, offered,
                                 length) == OPENSSL_NPN_NEGOTIATED
               ? SSL_TLSEXT_ERR_OK
               : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static void prepare_tls(struct tls_peer *peer)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = make_certificate(key);
    peer->context = SSL_CTX_new(TLS_server_method());
    assert(peer->context);
    (void)snprintf(peer->ca_file, sizeof peer->ca_file, "/tmp/lull-test-ca-XXXXXX");
    FILE *file = fdopen(mkstemp(peer->ca_file), "w");
    if (!file || PEM_write_X509(file, certificate) != 1 || fclose(file) != 0 ||
        SSL_CTX_use_certificate(peer->context, certificate) != 1 ||
        SSL_CTX_use_PrivateKey(peer->context, key) != 1) {
        abort();
    }
    SSL_CTX_set_alpn_select_cb(peer->context, on_alpn, peer);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

/* ---- the thread ---- */

/* False: there was none, or it is the last. */
static bool answer_one(struct tls_peer *peer, SSL *ssl)
{
    char text[8192];
    size_t length = 0;
    do {
        int got = SSL_read(ssl, text + length, (int)(sizeof text - 1 - length));
        if (got <= 0) {
            return false;
        }
        length += (size_t)got;
        text[length] = '\0';
    } while (!strstr(text, "\r\n\r\npay"));
    atomic_fetch_add(&peer->count, 1);
    const char *bytes = peer->step->bytes;
    if (bytes && SSL_write(ssl, bytes, (int)strlen(bytes)) <= 0) {
        return false;
    }
    return peer->step->act == ANSWER;
}

static void serve_connection(struct tls_peer *peer, int fd)
{
    struct timeval limit = {.tv_sec = 10};
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    SSL *ssl = SSL_new(peer->context);
    assert(ssl);
    (void)SSL_set_fd(ssl, fd);
    if (!peer->is_closing_at_once && SSL_accept(ssl) == 1) {
        while (answer_one(peer, ssl)) {
        }
    }
    SSL_free(ssl);
    if (peer->step->act == RESET) {
        struct linger linger = {.l_onoff = 1, .l_linger = 0};
        (void)shutdown(fd, SHUT_WR);
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    }
    (void)close(fd);
    atomic_fetch_add(&peer->closed, 1);
}

static void *serve(void *userdata)
{
    struct tls_peer *peer = userdata;
    sigset_t pipe_signal;
    (void)sigemptyset(&pipe_signal);
    (void)sigaddset(&pipe_signal, SIGPIPE); /* OpenSSL writes without MSG_NOSIGNAL */
    (void)pthread_sigmask(SIG_BLOCK, &pipe_signal, NULL);
    struct pollfd polled[] = {{.fd = peer->stop[0], .events = POLLIN},
                              {.fd = peer->listener, .events = POLLIN}};
    for (;;) {
        (void)poll(polled, 2, -1);
        if (polled[0].revents) {
            return NULL;
        }
        int fd = accept(peer->listener, NULL, NULL);
        if (fd >= 0) {
            serve_connection(peer, fd);
        }
    }
}

/* ---- from the test ---- */

struct tls_peer *tls_peer_start(const struct step *step, bool is_closing_at_once)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    struct tls_peer *peer = calloc(1, sizeof *peer);
    assert(peer);
    peer->step = step;
    peer->is_closing_at_once = is_closing_at_once;
    prepare_tls(peer);
    peer->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(peer->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(peer->listener, 64) != 0 || pipe(peer->stop) != 0 ||
        getsockname(peer->listener, (struct sockaddr *)&address, &length) != 0 ||
        pthread_create(&peer->thread, NULL, serve, peer) != 0) {
        perror("tls_peer");
        abort();
    }
    peer->port = ntohs(address.sin_port);
    return peer;
}

void tls_peer_stop(struct tls_peer *peer)
{
    if (write(peer->stop[1], "", 1) != 1) {
        abort();
    }
    (void)pthread_join(peer->thread, NULL);
    (void)unlink(peer->ca_file);
    (void)close(peer->listener);
    (void)close(peer->stop[0]);
    (void)close(peer->stop[1]);
    SSL_CTX_free(peer->context);
    free(peer);
}

int tls_peer_port(const struct tls_peer *peer)
{
    return peer->port;
}

const char *tls_peer_ca_file(const struct tls_peer *peer)
{
    return peer->ca_file;
}

size_t tls_peer_count(struct tls_peer *peer)
{
    return atomic_load(&peer->count);
}

size_t tls_peer_closed(struct tls_peer *peer)
{
    return atomic_load(&peer->closed);
}

const char *tls_peer_alpn(const struct tls_peer *peer)
{
    return peer->alpn;
}
