/*
 * client - who sends messages, cancels them, and asks again when no answer came.
 */
#ifndef LULL_TESTS_SIM_CLIENT_H
#define LULL_TESTS_SIM_CLIENT_H

#include "world.h"

/* A few letters at once, if they are admitted. */
void client_send(struct world *world, struct node *node);

/* One that was never answered, or that was, with the same key. */
void client_repeat(struct world *world, struct node *node);

void client_cancel(struct world *world, struct node *node);

/* The answers, from the node. */
void client_on_put(struct world *world, struct letter *letter, const struct store_put *put,
                   int error);

#endif
