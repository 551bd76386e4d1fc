/*
 * policy_shelf - the policies of messages by their text, each read once.
 *
 * Belongs to one thread. What it gives lasts as long as the shelf does.
 */
#ifndef LULL_SERVER_POLICY_SHELF_H
#define LULL_SERVER_POLICY_SHELF_H

#include <stdbool.h>

#include "config.h"

#define POLICY_SHELF_MAX 512

struct policy_shelf {
    const struct config *config;
    struct shelved *buckets[64];
    unsigned count;
};

/* config is borrowed. */
void policy_shelf_init(struct policy_shelf *shelf, const struct config *config);
void policy_shelf_clean_up(struct policy_shelf *shelf);

/* The two usual ones are put on it first, so that they are always there. */
bool policy_shelf_is_full(const struct policy_shelf *shelf);

/* NULL: there is no such policy any more, or no room for one more. */
const struct lull_policy *policy_shelf_find(struct policy_shelf *shelf, const char *text);

#endif
