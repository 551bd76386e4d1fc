/*
 * sqlite_spare - room on the disk that is kept, in a file beside the store, for the day when
 * there is none.
 *
 *   spare_init -> spare_take ... spare_give_up ... spare_take -> spare_clean_up
 *
 * A lease and a settle need the disk too. When it is full, this room is given up: with that room
 * what is in the store can leave it, while nothing new is taken. What makes it enough is that the
 * log can be carried into the file, which grows by no more than the log has of it; after that
 * both are written over where they are.
 */
#ifndef LULL_STORE_SQLITE_SPARE_H
#define LULL_STORE_SQLITE_SPARE_H

#include <stdbool.h>

struct spare {
    char *path;
    bool was_needed;
};

/* False: no memory. If the disk is as good as full, what an earlier run kept is given up at
 * once: to be opened, a store needs a little room. */
bool spare_init(struct spare *spare, const char *store_path);
void spare_clean_up(struct spare *spare); /* the file stays */

/* False: the disk has not that much room. */
bool spare_take(const struct spare *spare);
void spare_give_up(struct spare *spare);

#endif
