/* classify_hints - classify for a caller that has collected the hints already: decide. */
#ifndef LULL_CORE_CLASSIFY_HINTS_H
#define LULL_CORE_CLASSIFY_HINTS_H

#include "hints.h"
#include "lull/classify.h"

struct lull_classification classify_with_hints(const struct lull_policy *policy,
                                               enum lull_kind kind, enum lull_vendor vendor,
                                               const struct lull_outcome *outcome,
                                               const struct hints *hints);

#endif
