/* json_member - the members of an object out of JSON: known ones, of the right type and size. */
#ifndef LULL_SERVER_JSON_MEMBER_H
#define LULL_SERVER_JSON_MEMBER_H

#include <jansson.h>

#include "intake_problem.h"

/* An object of which each member has its place in a list. */
struct json_names {
    const char *prefix; /* of its members in a problem, "webhook."; "" for the whole */
    const char *const *names;
    size_t count;
};

/* The members in the order of the names; NULL where there is none. One of another name is refused.
 */
int json_member_sort(const json_t *object, const struct json_names *names,
                     const json_t **ret_members, struct intake_problem *problem);

/* A text without NUL, which it would be cut off at; NULL: it is none. */
const char *json_member_word(const json_t *value);

/* A text of 1 to length_max bytes without NUL. It is the member's memory. */
int json_member_text(const json_t *value, const char *member, size_t length_max,
                     const char **ret_text, struct intake_problem *problem);

/* The same, of printable ASCII without a space at either end: it can be sent in a header. */
int json_member_ascii(const json_t *value, const char *member, size_t length_max,
                      const char **ret_text, struct intake_problem *problem);

/* Is this such a text? */
bool json_is_ascii(const char *text, size_t length_max);

/* A whole number from 0 to max. `what` says of what, "seconds". */
int json_member_count(const json_t *value, const char *member, int64_t max, const char *what,
                      int64_t *ret_count, struct intake_problem *problem);

#endif
