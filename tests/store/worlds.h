/* worlds - the backends, each with a store of its own that a case can fill, and short words for
 * what the cases do most. Nothing here reads a clock: a world has its own time. */
#ifndef LULL_TESTS_STORE_WORLDS_H
#define LULL_TESTS_STORE_WORLDS_H

#include "suite.h"

#include "store.h"

#define NOW_MS INT64_C(1767225600000)

enum backend {
    BACKEND_SQLITE,
    BACKEND_MEMORY,
    BACKEND_FAULTY, /* memory, inside a faulty store without faults */
    BACKENDS,
};

struct world {
    enum backend backend;
    struct store *store;
    char folder[64]; /* SQLite's */
    char path[96];
    int64_t now_ms;
    uint32_t service; /* one is there already */
    uint64_t lease;   /* the last that was used */
};

const char *backend_name(enum backend backend);
void world_open(struct world *world, enum backend backend);
void world_close(struct world *world);

/* Closes it and opens it again, where something is kept; false: this one keeps nothing. */
bool world_reopen(struct world *world);

/* A folder that is gone after folder_remove, with all that is in it. */
void folder_make(char *ret_folder, size_t size);
void folder_remove(const char *folder);

/* ---- what cases do most ---- */

/* Of the world's service, due now, of urgency normal, with some texts. */
struct message *make_message(const struct world *world);

/* Puts it; asserts that it worked. The message is freed. */
struct store_put put_message(struct world *world, struct message *message, bool is_lease_wanted);

/* The id of a new one that waits. */
uint64_t put_waiting(struct world *world);

/* Up to max of a service, and what the lease said. The messages are the caller's. */
struct store_lease lease_some(struct world *world, uint32_t service, struct message **messages,
                              uint32_t max);

/* Leases them and says how many; their ids if ret_ids is not NULL. */
uint32_t lease_count(struct world *world, uint32_t max, uint64_t *ret_ids);

/* Settles it, frees it, and says whether the lease was stale. */
bool settle_message(struct world *world, struct message *message, enum store_settle_kind kind);

void set_hold(struct world *world, uint64_t target, int64_t until_ms);
bool set_gate(struct world *world, uint32_t service, uint64_t expected_version, struct gate gate);
void apply(struct world *world, struct store_batch *batch);
struct message *find_message(struct world *world, uint64_t id); /* NULL: there is none */
void assert_place(struct world *world, uint64_t id, enum message_place place);
void assert_counts(struct world *world, uint64_t waiting, uint64_t leased, uint64_t dead);
void free_messages(struct message **messages, uint32_t count);

/* All that is kept is the same. */
bool messages_are_same(const struct message *a, const struct message *b);

#endif
