/* policy_fields - the plain knobs of a policy as a table, for validating and for parsing. */
#ifndef LULL_CORE_POLICY_FIELDS_H
#define LULL_CORE_POLICY_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/duration.h"
#include "lull/policy.h"

/* A year and a day: nothing that waits longer is a retry. Keeps every sum far from overflow. */
#define POLICY_DURATION_MAX_MS LULL_DAYS(366)

enum policy_unit {
    POLICY_DURATION,
    POLICY_DURATION_OR_NONE, /* `none` is LULL_NEVER */
    POLICY_COUNT,
    POLICY_PERCENT, /* kept in thousandths */
};

struct policy_field {
    const char *key;
    size_t offset;
    bool is_wide; /* int64_t, else uint32_t */
    int64_t min;
    int64_t max;
    enum policy_unit unit;
};

extern const struct policy_field policy_fields[];
extern const size_t policy_field_count;

int64_t policy_field_get(const struct lull_policy *policy, const struct policy_field *field);
void policy_field_set(struct lull_policy *policy, const struct policy_field *field, int64_t value);
bool policy_field_accepts(const struct policy_field *field, int64_t value);

/* May a user move a status to this class (C11)? */
bool policy_class_is_settable(enum lull_class class_);

/* Fill in *ret_error, if there is one, with "<field> <what>.", and return error. */
int policy_refuse(struct lull_policy_error *ret_error, int error, size_t offset, const char *field,
                  const char *what);
/* The same, with the range of a field from the table. */
int policy_refuse_field(struct lull_policy_error *ret_error, size_t offset,
                        const struct policy_field *field);

#endif
