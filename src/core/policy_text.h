/* policy_text - the parts of lull_policy_parse, for a caller that has policies of its own by name.
 */
#ifndef LULL_CORE_POLICY_TEXT_H
#define LULL_CORE_POLICY_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "lull/policy.h"
#include "text.h"

/* The first word, if it is a name and no change; *ret_end is behind it. */
bool policy_text_name(const char *text, size_t length, struct text *ret_name, size_t *ret_end);

/* Applies the changes from `at` to the end. Errors, and *policy untouched on any, as
 * lull_policy_parse. */
int policy_text_change(struct lull_policy *policy, const char *text, size_t length, size_t at,
                       struct lull_policy_error *ret_error);

#endif
