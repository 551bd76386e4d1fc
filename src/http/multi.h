/* multi - what a call asks of the multi that it lives in. */
#ifndef LULL_HTTP_MULTI_H
#define LULL_HTTP_MULTI_H

#include "call.h"

/* For a blocking call: lull_multi_add and the first lull_multi_step, without a detour by the timers
 * where none is needed. */
int multi_begin(struct lull_multi *multi, const struct lull_request *request,
                void (*on_done)(void *userdata, struct lull_result *result), void *userdata,
                int64_t *ret_wait_ms);

/* A transfer that is prepared for this attempt and handed to curl. NULL: it could not be. */
struct transfer *multi_start(struct lull_multi *multi, struct call *call, bool is_hedge,
                             size_t attempt, int64_t mono_ms);

/* Takes it away from curl, ended or not, and makes it free for the next. */
void multi_stop(struct lull_multi *multi, struct transfer *transfer);

/* Before a transfer that is still out is judged: takes a message back from the transport, with what
 * is known of it. */
void multi_withdraw(struct lull_multi *multi, struct transfer *transfer, int64_t mono_ms);

/* NULL: there was no message yet. */
struct transport *multi_transport(const struct lull_multi *multi);

/* Sets the call's timer, or moves it. LULL_NEVER: clears it. */
void multi_reschedule(struct lull_multi *multi, struct call *call, int64_t due_ms);

/* Which destination the URL belongs to. Remembers the last one: most programs have few. */
struct origin multi_origin(struct lull_multi *multi, const char *url);

/* How many transfers are out, if one was started since this was last asked; else 0. */
size_t multi_take_fresh(struct lull_multi *multi);

/* From any thread: some call of it was cancelled. */
void multi_wake(struct lull_multi *multi);

#endif
