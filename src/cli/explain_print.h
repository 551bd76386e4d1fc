/* explain_print - the two faces of an explanation: for a person and for a program. */
#ifndef LULL_CLI_EXPLAIN_PRINT_H
#define LULL_CLI_EXPLAIN_PRINT_H

#include <stdint.h>
#include <stdio.h>

#include "lull/decide.h"

struct explanation {
    const struct lull_policy *policy;
    struct lull_facts facts;
    struct lull_verdict verdict;
    struct lull_trace trace;
    int64_t due_ms; /* wall clock; for RETRY */
    uint64_t seed;
};

/* One question with its answer and its rule. */
void explain_print_step(FILE *out, const struct lull_step *step);

void explain_print_text(const struct explanation *explanation);

/* One object on one line. Every string in it is a word of our own, so none needs escaping. */
void explain_print_json(const struct explanation *explanation);

#endif
