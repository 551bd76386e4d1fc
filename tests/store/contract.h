/* contract - the cases of store.h, each run on every backend by test_contract.c. */
#ifndef LULL_TESTS_STORE_CONTRACT_H
#define LULL_TESTS_STORE_CONTRACT_H

#include "worlds.h"

struct contract_case {
    const char *name; /* NULL: the end of the list */
    void (*run)(struct world *world);
};

#define CASE(name)                                                                                 \
    {                                                                                              \
#name, case_##name                                                                         \
    }

extern const struct contract_case queue_cases[];
extern const struct contract_case rules_cases[];
extern const struct contract_case reading_cases[];

#endif
