/*
 * curl_guard - what a request on an easy handle may do, and what is known of it when it ends: it is
 * written once (C12), and only to an address that is allowed (W5).
 *
 *   cleared, is_public_only set -> curl_guard_open_socket, curl_guard_may_send by libcurl's
 *   callbacks, is_answered by each line of a response -> curl_guard_failure
 *
 * Pure but for the socket that curl_guard_open_socket opens.
 */
#ifndef LULL_HTTP_CURL_GUARD_H
#define LULL_HTTP_CURL_GUARD_H

#include <curl/curl.h>
#include <stdbool.h>

#include "lull/outcome.h"

struct curl_guard {
    bool is_public_only;       /* to no private, loopback or link-local address */
    bool is_sent;              /* curl was about to write the request */
    bool is_answered;          /* a line of a response came since */
    bool is_repeat_stopped;    /* curl wanted to send it again by itself, and was not let */
    bool is_address_forbidden; /* one that it resolved to was refused ... */
    bool is_address_allowed;   /* ... and another was not */
};

/* The CURLOPT_OPENSOCKETFUNCTION of a request that is_public_only; userdata is its guard. */
curl_socket_t curl_guard_open_socket(void *userdata, curlsocktype purpose,
                                     struct curl_sockaddr *address);

/* From the CURLOPT_PREREQFUNCTION, just before the request is written. False: abort. */
bool curl_guard_may_send(struct curl_guard *guard, const char *remote_ip);

/* Why a request that ended with this code has no status. */
enum lull_transport curl_guard_failure(const struct curl_guard *guard, CURLcode code);

#endif
