/* tls - see the header. SPDX-License-Identifier: MIT */
#include "tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "lull/error.h"

/* Many small records arrive in one read of the socket. */
#define READ_AHEAD 32768

struct tls {
    SSL_CTX *context;
    BIO_METHOD *socket; /* like OpenSSL's own, but a closed peer raises no SIGPIPE */
};

/* ---- the socket ---- */

static bool is_transient(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

/* NOLINTNEXTLINE(performance-no-int-to-ptr): BIO keeps an int in a pointer's place */
static int fd_of(BIO *bio)
{
    return (int)(intptr_t)BIO_get_data(bio);
}

static int socket_write(BIO *bio, const char *data, int length)
{
    ssize_t done = send(fd_of(bio), data, (size_t)length, MSG_NOSIGNAL);
    BIO_clear_retry_flags(bio);
    if (done < 0 && is_transient(errno)) {
        BIO_set_retry_write(bio);
    }
    return (int)done;
}

static int socket_read(BIO *bio, char *buffer, int size)
{
    ssize_t done = recv(fd_of(bio), buffer, (size_t)size, 0);
    BIO_clear_retry_flags(bio);
    if (done < 0 && is_transient(errno)) {
        BIO_set_retry_read(bio);
    }
    return (int)done;
}

static long socket_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio;
    (void)number;
    (void)pointer;
    return command == BIO_CTRL_FLUSH || command == BIO_CTRL_DUP ? 1 : 0;
}

static BIO_METHOD *new_socket_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "lull socket");
    if (method && BIO_meth_set_write(method, socket_write) == 1 &&
        BIO_meth_set_read(method, socket_read) == 1 &&
        BIO_meth_set_ctrl(method, socket_control) == 1) {
        return method;
    }
    BIO_meth_free(method);
    return NULL;
}

/* ---- sessions ---- */

static void drop_oldest(struct tls_sessions *sessions)
{
    SSL_SESSION_free(sessions->list[0]);
    sessions->count--;
    memmove(&sessions->list[0], &sessions->list[1], sessions->count * sizeof(SSL_SESSION *));
}

/* A ticket has arrived. 1: it is ours to free. */
static int on_session(SSL *ssl, SSL_SESSION *session)
{
    struct tls_sessions *sessions = SSL_get_app_data(ssl);
    if (!sessions) {
        return 0;
    }
    if (sessions->count == TLS_SESSIONS_KEPT) {
        drop_oldest(sessions);
    }
    sessions->list[sessions->count++] = session;
    return 1;
}

/* A ticket of TLS 1.3 is used once (RFC 8446, C.4), a session of TLS 1.2 again and again. */
static void resume(SSL *ssl, struct tls_sessions *sessions)
{
    if (sessions->count == 0) {
        return;
    }
    SSL_SESSION *session = sessions->list[sessions->count - 1];
    (void)SSL_set_session(ssl, session);
    if (SSL_SESSION_get_protocol_version(session) >= TLS1_3_VERSION ||
        SSL_SESSION_is_resumable(session) != 1) {
        sessions->count--;
        SSL_SESSION_free(session);
    }
}

void tls_sessions_clear(struct tls_sessions *sessions)
{
    while (sessions->count > 0) {
        drop_oldest(sessions);
    }
}

/* ---- its life ---- */

static bool set_up(SSL_CTX *context)
{
    static const unsigned char protocols[] = "\x02h2\x08http/1.1";
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(context, 1);
    SSL_CTX_set_default_read_buffer_len(context, READ_AHEAD);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context, on_session);
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_alpn_protos(context, protocols, sizeof protocols - 1) == 0;
}

int tls_new(struct tls **ret_tls, const char *ca_file)
{
    struct tls *tls = calloc(1, sizeof *tls);
    int error = LULL_ERR_MEMORY;
    if (!tls) {
        return error;
    }
    tls->socket = new_socket_method();
    tls->context = SSL_CTX_new(TLS_client_method());
    if (tls->socket && tls->context && set_up(tls->context)) {
        int is_good = ca_file ? SSL_CTX_load_verify_file(tls->context, ca_file)
                              : SSL_CTX_set_default_verify_paths(tls->context);
        error = is_good == 1 ? LULL_OK : LULL_ERR_RANGE;
    }
    if (error != LULL_OK) {
        ERR_clear_error();
        tls_destroy(tls);
        return error;
    }
    *ret_tls = tls;
    return LULL_OK;
}

void tls_destroy(struct tls *tls)
{
    if (tls) {
        SSL_CTX_free(tls->context);
        BIO_meth_free(tls->socket);
        free(tls);
    }
}

static bool is_address(const char *host)
{
    struct in6_addr bytes;
    return inet_pton(AF_INET, host, &bytes) == 1 || inet_pton(AF_INET6, host, &bytes) == 1;
}

/* Whom the certificate must name. An address is not sent as a server name, and the dot that ends a
 * name is no part of it (RFC 6066, 3). */
static bool expect(SSL *ssl, const char *host)
{
    size_t length = strlen(host);
    if (is_address(host)) {
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    }
    char *name = strndup(host, length > 0 && host[length - 1] == '.' ? length - 1 : length);
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    bool is_set = name && SSL_set1_host(ssl, name) == 1 && SSL_set_tlsext_host_name(ssl, name) == 1;
    free(name);
    return is_set;
}

SSL *tls_open(struct tls *tls, int fd, const char *host, struct tls_sessions *sessions)
{
    SSL *ssl = SSL_new(tls->context);
    BIO *bio = BIO_new(tls->socket);
    if (!ssl || !bio || !expect(ssl, host)) {
        SSL_free(ssl);
        BIO_free(bio);
        return NULL;
    }
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): see fd_of */
    BIO_set_data(bio, (void *)(intptr_t)fd);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_app_data(ssl, sessions);
    SSL_set_connect_state(ssl);
    resume(ssl, sessions);
    return ssl;
}

void tls_close(SSL *ssl)
{
    if (ssl) {
        ERR_clear_error();
        if (SSL_is_init_finished(ssl)) {
            (void)SSL_shutdown(ssl);
        }
        /* A session is not to be forgotten because its connection broke. */
        SSL_set_app_data(ssl, NULL);
        SSL_free(ssl);
        ERR_clear_error();
    }
}

/* ---- bytes ---- */

static enum tls_result result_of(const SSL *ssl, int code)
{
    switch (SSL_get_error(ssl, code)) {
    case SSL_ERROR_NONE:
        return TLS_DONE;
    case SSL_ERROR_WANT_READ:
        return TLS_WANTS_READ;
    case SSL_ERROR_WANT_WRITE:
        return TLS_WANTS_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        return TLS_END;
    default:
        return TLS_ERROR;
    }
}

/* SSL_get_error looks at the thread's queue of errors, where others may have left some. */
static void clear_errors(void)
{
    if (ERR_peek_error() != 0) { /* the cheaper question */
        ERR_clear_error();
    }
}

enum tls_result tls_handshake(SSL *ssl)
{
    clear_errors();
    int code = SSL_do_handshake(ssl);
    return code == 1 ? TLS_DONE : result_of(ssl, code);
}

enum tls_result tls_read(SSL *ssl, void *buffer, size_t size, size_t *ret_length)
{
    clear_errors();
    int code = SSL_read_ex(ssl, buffer, size, ret_length);
    return code == 1 ? TLS_DONE : result_of(ssl, code);
}

bool tls_has_more(const SSL *ssl)
{
    return SSL_has_pending(ssl) == 1;
}

enum tls_result tls_write(SSL *ssl, const void *data, size_t length, size_t *ret_length)
{
    clear_errors();
    int code = SSL_write_ex(ssl, data, length, ret_length);
    return code == 1 ? TLS_DONE : result_of(ssl, code);
}

bool tls_is_h2(const SSL *ssl)
{
    const unsigned char *protocol = NULL;
    unsigned length = 0;
    SSL_get0_alpn_selected(ssl, &protocol, &length);
    return length == 2 && memcmp(protocol, "h2", 2) == 0;
}

bool tls_is_resumed(const SSL *ssl)
{
    return SSL_session_reused(ssl) == 1;
}

/* Alerts that no second try can help. */
static bool is_about_certificates(int reason)
{
    switch (reason) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED:
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_NO_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
        return true;
    default:
        return false;
    }
}

enum lull_transport tls_failure(const SSL *ssl, const char **ret_detail)
{
    unsigned long error = ERR_peek_error();
    long verified = SSL_get_verify_result(ssl);
    if (verified != X509_V_OK) {
        *ret_detail = X509_verify_cert_error_string(verified);
        return LULL_TRANSPORT_TLS;
    }
    const char *reason = error != 0 ? ERR_reason_error_string(error) : NULL;
    *ret_detail = reason ? reason : "the connection was closed in the handshake";
    return error != 0 && is_about_certificates(ERR_GET_REASON(error))
               ? LULL_TRANSPORT_TLS
               : LULL_TRANSPORT_TLS_HANDSHAKE;
}
