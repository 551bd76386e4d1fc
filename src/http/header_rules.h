/* header_rules - which headers a request may have. */
#ifndef LULL_HTTP_HEADER_RULES_H
#define LULL_HTTP_HEADER_RULES_H

#include <stdbool.h>
#include <stddef.h>

#include "lull/outcome.h"

/* A token of RFC 9110 in lower case. */
bool header_is_name_good(const struct lull_header *header);

/* Of a name in lower case: it is about the connection, which is the transport's business. */
bool header_is_about_connection(const struct lull_header *header);

/* No controls but tabs, and no blank at an end. Nothing at all is fine. */
bool header_is_value_good(const char *value, size_t length);

#endif
