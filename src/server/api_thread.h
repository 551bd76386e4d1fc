/*
 * api_thread - one thread of the API: it drives a daemon of libmicrohttpd that has no thread.
 *
 *   api_thread_start -> api_thread_stop_listening -> api_thread_end
 *                    -> api_thread_join
 *
 * libmicrohttpd's own threads are not used: as long as exactly as many connections have something
 * as it asks the kernel for at once (128), its loop waits again and leaves them until something
 * else happens (0.9.75). Here the waiting is done outside, and what is inside never waits. That
 * also makes one wake-up of all the connections that a commit lets go on.
 */
#ifndef LULL_SERVER_API_THREAD_H
#define LULL_SERVER_API_THREAD_H

#include <microhttpd.h>

struct api_thread;

/* The daemon is its own from here on: it must have been made with MHD_USE_EPOLL and
 * MHD_ALLOW_SUSPEND_RESUME and without a thread. NULL: no memory or descriptor or thread is to be
 * had, and the daemon was stopped. */
struct api_thread *api_thread_start(struct MHD_Daemon *daemon);

/* The one that this is; NULL: another thread. */
struct api_thread *api_thread_current(void);

/* To be called after MHD_resume_connection, from any thread: only then it goes on. */
void api_thread_wake(struct api_thread *thread);

/* No new connections, when it returns. Closes the socket that the daemon listened on. */
void api_thread_stop_listening(struct api_thread *thread);

/* Each answer must close its connection by now, and none may be suspended. It gives those that are
 * there a little time to be sent, and then stops. */
void api_thread_end(struct api_thread *thread);
void api_thread_join(struct api_thread *thread); /* frees it */

#endif
