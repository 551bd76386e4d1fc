/* sqlite_checkpoint - see the header. SPDX-License-Identifier: MIT */
#include "sqlite_checkpoint.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>

#define FRAMES_WANTED                                                                              \
    2048 /* 8 MiB of log: worth the syncs, and short enough not to fill the disk's queue */
#define FRAMES_LAST 256 /* so many are carried while commits wait: 1 MiB */
#define PASSES_MAX 8    /* beside the writer; one that is faster for so long has to wait */

struct checkpointer {
    sqlite3 *connection;
    pthread_t thread;
    pthread_mutex_t lock; /* of all below; never held over a transaction or a checkpoint */
    pthread_cond_t changed;
    bool is_stopping;
    bool is_committing;
    bool is_last_wanted; /* no commit begins */
    bool is_hurried;
    int frames;      /* in the log */
    int frames_next; /* when to begin */
};

/* ---- the writer's side ---- */

void checkpointer_enter(struct checkpointer *checkpointer)
{
    (void)pthread_mutex_lock(&checkpointer->lock);
    while (checkpointer->is_last_wanted) {
        (void)pthread_cond_wait(&checkpointer->changed, &checkpointer->lock);
    }
    checkpointer->is_committing = true;
    (void)pthread_mutex_unlock(&checkpointer->lock);
}

void checkpointer_leave(struct checkpointer *checkpointer, int frames, bool is_full)
{
    (void)pthread_mutex_lock(&checkpointer->lock);
    checkpointer->is_committing = false;
    checkpointer->frames = frames;
    checkpointer->is_hurried = checkpointer->is_hurried || is_full;
    if (checkpointer->is_last_wanted || is_full || frames >= checkpointer->frames_next) {
        (void)pthread_cond_broadcast(&checkpointer->changed);
    }
    (void)pthread_mutex_unlock(&checkpointer->lock);
}

/* ---- the thread ---- */

/* Carries what it can. How many frames of the log are in the file now, -1: it did not work. */
static int carry(const struct checkpointer *checkpointer)
{
    int in_log = 0;
    int carried = 0;
    int rc = sqlite3_wal_checkpoint_v2(checkpointer->connection, NULL, SQLITE_CHECKPOINT_PASSIVE,
                                       &in_log, &carried);
    return rc == SQLITE_OK ? carried : -1;
}

/* SQLite syncs the file only when it has carried the whole log, which would be while commits wait.
 * So nearly all of it is synced before. */
static void sync_file(const struct checkpointer *checkpointer)
{
    sqlite3_file *file = NULL;
    int rc = sqlite3_file_control(checkpointer->connection, NULL, SQLITE_FCNTL_FILE_POINTER, &file);
    if (rc == SQLITE_OK && file && file->pMethods) {
        (void)file->pMethods->xSync(file, SQLITE_SYNC_NORMAL | SQLITE_SYNC_DATAONLY);
    }
}

/* The end of the log, while no commit is under way. With the lock held. */
static int carry_last(struct checkpointer *checkpointer)
{
    checkpointer->is_last_wanted = true;
    while (checkpointer->is_committing) {
        (void)pthread_cond_wait(&checkpointer->changed, &checkpointer->lock);
    }
    (void)pthread_mutex_unlock(&checkpointer->lock);
    int carried = carry(checkpointer);
    (void)pthread_mutex_lock(&checkpointer->lock);
    checkpointer->is_last_wanted = false;
    (void)pthread_cond_broadcast(&checkpointer->changed);
    return carried;
}

/* With the lock held. */
static void checkpoint(struct checkpointer *checkpointer)
{
    int carried = 0;
    for (int pass = 0; pass < PASSES_MAX && carried >= 0; pass++) {
        (void)pthread_mutex_unlock(&checkpointer->lock);
        carried = carry(checkpointer);
        sync_file(checkpointer);
        (void)pthread_mutex_lock(&checkpointer->lock);
        if (checkpointer->frames - carried <= FRAMES_LAST) {
            break;
        }
    }
    if (carried >= 0) {
        carried = carry_last(checkpointer);
    }
    /* All of it: the next commit begins at the front. Somebody reads an old state, or there was no
     * room: again after as much has come. */
    bool is_all = carried >= checkpointer->frames;
    checkpointer->frames_next = is_all ? FRAMES_WANTED : checkpointer->frames + FRAMES_WANTED;
    checkpointer->frames = is_all ? 0 : checkpointer->frames;
}

static void *run(void *userdata)
{
    struct checkpointer *checkpointer = userdata;
    (void)pthread_mutex_lock(&checkpointer->lock);
    while (!checkpointer->is_stopping) {
        if (checkpointer->frames < checkpointer->frames_next && !checkpointer->is_hurried) {
            (void)pthread_cond_wait(&checkpointer->changed, &checkpointer->lock);
            continue;
        }
        checkpointer->is_hurried = false;
        checkpoint(checkpointer);
    }
    (void)pthread_mutex_unlock(&checkpointer->lock);
    return NULL;
}

/* ---- its life ---- */

static sqlite3 *connect(const char *path)
{
    sqlite3 *connection = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    /* It needs the schema in memory, and next to no cache: a checkpoint goes past it. */
    if (sqlite3_open_v2(path, &connection, flags, NULL) != SQLITE_OK ||
        sqlite3_exec(connection, "PRAGMA cache_size = 16; PRAGMA wal_autocheckpoint = 0", NULL,
                     NULL, NULL) != SQLITE_OK) {
        (void)sqlite3_close(connection);
        return NULL;
    }
    return connection;
}

struct checkpointer *checkpointer_start(const char *path)
{
    struct checkpointer *checkpointer = calloc(1, sizeof *checkpointer);
    if (!checkpointer) {
        return NULL;
    }
    checkpointer->frames_next = FRAMES_WANTED;
    checkpointer->connection = connect(path);
    (void)pthread_mutex_init(&checkpointer->lock, NULL);
    (void)pthread_cond_init(&checkpointer->changed, NULL);
    if (!checkpointer->connection ||
        pthread_create(&checkpointer->thread, NULL, run, checkpointer) != 0) {
        (void)sqlite3_close(checkpointer->connection);
        (void)pthread_cond_destroy(&checkpointer->changed);
        (void)pthread_mutex_destroy(&checkpointer->lock);
        free(checkpointer);
        return NULL;
    }
    return checkpointer;
}

void checkpointer_stop(struct checkpointer *checkpointer)
{
    if (!checkpointer) {
        return;
    }
    (void)pthread_mutex_lock(&checkpointer->lock);
    checkpointer->is_stopping = true;
    (void)pthread_cond_broadcast(&checkpointer->changed);
    (void)pthread_mutex_unlock(&checkpointer->lock);
    (void)pthread_join(checkpointer->thread, NULL);
    (void)sqlite3_close(checkpointer->connection);
    (void)pthread_cond_destroy(&checkpointer->changed);
    (void)pthread_mutex_destroy(&checkpointer->lock);
    free(checkpointer);
}
