/* curl_outcome - see the header. SPDX-License-Identifier: MIT */
#include "curl_outcome.h"

enum lull_transport curl_transport(CURLcode code, bool is_sent)
{
    switch (code) {
    case CURLE_URL_MALFORMAT:
        return LULL_TRANSPORT_MALFORMED_URL;
    case CURLE_UNSUPPORTED_PROTOCOL: /* of the URL; or an answer that is no HTTP/1 */
        return is_sent ? LULL_TRANSPORT_PROTOCOL : LULL_TRANSPORT_MALFORMED_URL;
    case CURLE_COULDNT_RESOLVE_HOST: /* libcurl does not tell "no such name" from "not now" */
    case CURLE_COULDNT_RESOLVE_PROXY:
        return LULL_TRANSPORT_DNS;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CRL_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
    case CURLE_SSL_INVALIDCERTSTATUS:
    case CURLE_SSL_CLIENTCERT:
    case CURLE_SSL_ENGINE_NOTFOUND:
    case CURLE_SSL_ENGINE_SETFAILED:
    case CURLE_SSL_ENGINE_INITFAILED:
    case CURLE_USE_SSL_FAILED:
        return LULL_TRANSPORT_TLS;
    case CURLE_OPERATION_TIMEDOUT:
        return is_sent ? LULL_TRANSPORT_TIMEOUT : LULL_TRANSPORT_CONNECT_TIMEOUT;
    case CURLE_ABORTED_BY_CALLBACK:
    case CURLE_WRITE_ERROR: /* our own end: the sink, the body's source, memory */
    case CURLE_READ_ERROR:
    case CURLE_OUT_OF_MEMORY:
    case CURLE_FILESIZE_EXCEEDED:
        return LULL_TRANSPORT_CANCELLED;
    case CURLE_COULDNT_CONNECT:
    case CURLE_PROXY:
    case CURLE_INTERFACE_FAILED:
        return is_sent ? LULL_TRANSPORT_RESET : LULL_TRANSPORT_REFUSED;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_HTTP3:
    case CURLE_BAD_CONTENT_ENCODING:
        return is_sent ? LULL_TRANSPORT_PROTOCOL : LULL_TRANSPORT_REFUSED;
    case CURLE_SSL_CONNECT_ERROR:
    default: /* SEND_ERROR, RECV_ERROR, GOT_NOTHING, HTTP2_STREAM, PARTIAL_FILE, and the rare */
        return is_sent ? LULL_TRANSPORT_RESET : LULL_TRANSPORT_TLS_HANDSHAKE;
    }
}

CURLcode curl_code(enum lull_transport transport)
{
    switch (transport) {
    case LULL_TRANSPORT_DNS:
    case LULL_TRANSPORT_DNS_NOT_FOUND:
        return CURLE_COULDNT_RESOLVE_HOST;
    case LULL_TRANSPORT_REFUSED:
    case LULL_TRANSPORT_FORBIDDEN:
        return CURLE_COULDNT_CONNECT;
    case LULL_TRANSPORT_CONNECT_TIMEOUT:
    case LULL_TRANSPORT_TIMEOUT:
        return CURLE_OPERATION_TIMEDOUT;
    case LULL_TRANSPORT_TLS:
        return CURLE_PEER_FAILED_VERIFICATION;
    case LULL_TRANSPORT_TLS_HANDSHAKE:
        return CURLE_SSL_CONNECT_ERROR;
    case LULL_TRANSPORT_PROTOCOL:
        return CURLE_WEIRD_SERVER_REPLY;
    case LULL_TRANSPORT_REFUSED_STREAM:
    case LULL_TRANSPORT_GOAWAY:
        return CURLE_HTTP2_STREAM;
    case LULL_TRANSPORT_MALFORMED_URL:
        return CURLE_URL_MALFORMAT;
    case LULL_TRANSPORT_CANCELLED:
        return CURLE_ABORTED_BY_CALLBACK;
    case LULL_TRANSPORT_NONE:
        return CURLE_OK;
    case LULL_TRANSPORT_RESET:
    default:
        return CURLE_RECV_ERROR;
    }
}
