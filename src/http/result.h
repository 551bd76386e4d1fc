/* result - what a call came to, attempt by attempt: made by the call, given to the caller. */
#ifndef LULL_HTTP_RESULT_H
#define LULL_HTTP_RESULT_H

#include "lull/http.h"

struct lull_result *result_new(void); /* NULL: no memory; else for lull_result_free */

/* One more, zeroed; the attempts may move. NULL: no memory. */
struct lull_attempt *result_add_attempt(struct lull_result *result);

#endif
