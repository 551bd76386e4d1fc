/*
 * spy - the store as a process sees it: faults are put in here, and the model sees each commit.
 */
#ifndef LULL_TESTS_SIM_SPY_H
#define LULL_TESTS_SIM_SPY_H

#include "node.h"

/* Puts it before node->inner, as node->spy. */
void spy_init(struct node *node);

#endif
