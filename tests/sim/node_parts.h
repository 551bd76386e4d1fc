/* node_parts - what the files of a node share. */
#ifndef LULL_TESTS_SIM_NODE_PARTS_H
#define LULL_TESTS_SIM_NODE_PARTS_H

#include "node.h"

/* Something that can be seen from outside. False: it is dead, and this is not seen any more. */
bool node_goes_on(struct node *node);

/* It has a connection. */
void node_go_out(struct node *node, struct request *request);

void node_host(struct node *node, struct delivery_host *ret_host);

#endif
