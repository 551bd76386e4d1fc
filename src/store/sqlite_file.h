/*
 * sqlite_file - the file before SQLite sees it: whose it is, and the lock that keeps others out.
 *
 * SQLite's own locks would keep the sqlite3 shell out as well; so the lock is on a file beside it,
 * which is never deleted, since another may just be waiting for it.
 */
#ifndef LULL_STORE_SQLITE_FILE_H
#define LULL_STORE_SQLITE_FILE_H

#include "store.h"

/* LULL_OK: ours, or empty, or not there. Else one of store_sqlite_open's, and a sentence. */
int sqlite_file_look(const char *path, uint32_t application_id, uint32_t version,
                     struct store_opening *opening);

/* *ret_file is to be closed in the end: then the lock is gone. */
int sqlite_file_lock(const char *path, int *ret_file, struct store_opening *opening);

/* An empty one that nobody else may read, if there is none. */
int sqlite_file_make(const char *path, struct store_opening *opening);

#endif
