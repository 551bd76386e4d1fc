/* curl_guard - see the header. SPDX-License-Identifier: MIT */
#include "curl_guard.h"

#include <sys/socket.h>

#include "address.h"
#include "curl_outcome.h"

/* Just before a connection: the address that it would really go to (W5). */
curl_socket_t curl_guard_open_socket(void *userdata, curlsocktype purpose,
                                     struct curl_sockaddr *address)
{
    struct curl_guard *guard = userdata;
    (void)purpose;
    if (!address_is_public(&address->addr)) {
        guard->is_address_forbidden = true;
        return CURL_SOCKET_BAD;
    }
    guard->is_address_allowed = true;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/* When this comes a second time with no line of an answer between, curl repeats the request by
 * itself: on a connection that had died, or after REFUSED_STREAM. That is for lull_decide to say. A
 * redirect or a round of authentication has had its answer. */
bool curl_guard_may_send(struct curl_guard *guard, const char *remote_ip)
{
    /* The connection may be an old one, opened for a request that could go anywhere (W5). */
    if (guard->is_public_only && !address_text_is_public(remote_ip)) {
        guard->is_address_forbidden = true;
        guard->is_address_allowed = false;
        return false;
    }
    if (guard->is_sent && !guard->is_answered) {
        guard->is_repeat_stopped = true;
        return false;
    }
    guard->is_sent = true;
    guard->is_answered = false;
    return true;
}

static enum lull_transport failure_at_the_end(const struct curl_guard *guard, CURLcode code)
{
    if (guard->is_address_forbidden && !guard->is_address_allowed) {
        return LULL_TRANSPORT_FORBIDDEN;
    }
    if (guard->is_repeat_stopped) {
        return LULL_TRANSPORT_RESET;
    }
    if (code == CURLE_OK) { /* an end without a head: nothing that HTTP knows */
        return LULL_TRANSPORT_PROTOCOL;
    }
    return curl_transport(code, guard->is_sent);
}

/* A repeat can also fail before it gets as far as being stopped: at the name, at TLS, at its
 * address. What was written before may have arrived all the same (C12). */
enum lull_transport curl_guard_failure(const struct curl_guard *guard, CURLcode code)
{
    struct lull_outcome outcome = {
        .kind = LULL_OUTCOME_TRANSPORT,
        .transport = failure_at_the_end(guard, code),
    };
    bool is_out = guard->is_sent && !guard->is_answered;
    bool is_said_unsent = lull_outcome_effect(&outcome) == LULL_EFFECT_NOT_SENT;
    return is_out && is_said_unsent ? LULL_TRANSPORT_RESET : outcome.transport;
}
