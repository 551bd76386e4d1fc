/*
 * sqlite_checkpoint - carries what was committed from the write-ahead log into the database file,
 * in a thread with a connection of its own, so that no commit waits for it.
 *
 * A checkpoint that runs beside the writer never reaches the end of the log, and a log that is not
 * read to its end cannot begin anew. So when little is left of it, commits are held back for that
 * moment.
 *
 *   checkpointer_start -> { checkpointer_enter, a transaction, checkpointer_leave } ... -> _stop
 */
#ifndef LULL_STORE_SQLITE_CHECKPOINT_H
#define LULL_STORE_SQLITE_CHECKPOINT_H

#include <stdbool.h>

struct checkpointer;

/* NULL: no memory, or no thread, or the file cannot be opened. */
struct checkpointer *checkpointer_start(const char *path);
void checkpointer_stop(struct checkpointer *checkpointer); /* NULL is fine */

/* Around each transaction that writes. */
void checkpointer_enter(struct checkpointer *checkpointer);

/* The log has so many frames now. With is_full the disk is: what the log holds may make room. */
void checkpointer_leave(struct checkpointer *checkpointer, int frames, bool is_full);

#endif
