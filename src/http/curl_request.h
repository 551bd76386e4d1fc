/*
 * curl_request - a request of the transport as the options of an easy handle: what is said to the
 * server, how, and by which proxy. When, and what of the answer, is transport_curl's.
 *
 * It says the same as the request would on HTTP/2: no header that libcurl would add by itself but
 * Host and Content-Length, and no Expect.
 */
#ifndef LULL_HTTP_CURL_REQUEST_H
#define LULL_HTTP_CURL_REQUEST_H

#include <curl/curl.h>
#include <stdbool.h>

#include "transport.h"

/* For a handle that is new or was reset. The body is not copied. False: no memory. Either way the
 * list is the caller's to free, when the handle does not use it any more. */
bool curl_request_set(CURL *easy, const struct transport_request *request,
                      const struct transport_config *config, struct curl_slist **ret_headers);

#endif
