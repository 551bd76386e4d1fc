/* policy_shelf - see the header. SPDX-License-Identifier: MIT */
#include "policy_shelf.h"

#include <stdlib.h>
#include <string.h>

#include "fold.h"
#include "lull/error.h"

struct shelved {
    struct shelved *next;
    struct lull_policy policy;
    char text[];
};

void policy_shelf_init(struct policy_shelf *shelf, const struct config *config)
{
    *shelf = (struct policy_shelf){.config = config};
    (void)policy_shelf_find(shelf, config->push_policy);
    (void)policy_shelf_find(shelf, config->webhook_policy);
}

bool policy_shelf_is_full(const struct policy_shelf *shelf)
{
    return shelf->count >= POLICY_SHELF_MAX;
}

void policy_shelf_clean_up(struct policy_shelf *shelf)
{
    for (size_t i = 0; i < sizeof shelf->buckets / sizeof *shelf->buckets; i++) {
        while (shelf->buckets[i]) {
            struct shelved *first = shelf->buckets[i];
            shelf->buckets[i] = first->next;
            free(first);
        }
    }
}

static struct shelved *read_policy(const struct config *config, const char *text, size_t length)
{
    struct shelved *shelved = malloc(sizeof *shelved + length + 1);
    if (shelved && config_policy_parse(config, text, length, &shelved->policy, NULL) != LULL_OK) {
        free(shelved);
        return NULL;
    }
    if (shelved) {
        memcpy(shelved->text, text, length + 1);
    }
    return shelved;
}

const struct lull_policy *policy_shelf_find(struct policy_shelf *shelf, const char *text)
{
    size_t length = strlen(text);
    size_t bucket =
        fold_hash(FOLD_HASH_SEED, text, length) % (sizeof shelf->buckets / sizeof *shelf->buckets);
    for (struct shelved *one = shelf->buckets[bucket]; one; one = one->next) {
        if (strcmp(one->text, text) == 0) {
            return &one->policy;
        }
    }
    struct shelved *shelved =
        shelf->count < POLICY_SHELF_MAX ? read_policy(shelf->config, text, length) : NULL;
    if (!shelved) {
        return NULL;
    }
    shelved->next = shelf->buckets[bucket];
    shelf->buckets[bucket] = shelved;
    shelf->count++;
    return &shelved->policy;
}
