/* curl_outcome - what libcurl's end of a transfer means as a transport failure (C1, C12). */
#ifndef LULL_HTTP_CURL_OUTCOME_H
#define LULL_HTTP_CURL_OUTCOME_H

#include <curl/curl.h>
#include <stdbool.h>

#include "lull/outcome.h"

/* For a transfer that ended without a status. is_sent: curl was about to write the request, so it
 * can have arrived; before that, nothing can. */
enum lull_transport curl_transport(CURLcode code, bool is_sent);

/* The other way round, for a failure that was not libcurl's: what it would have said. */
CURLcode curl_code(enum lull_transport transport);

#endif
