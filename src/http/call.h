/*
 * call - one request of the caller, through all of its attempts.
 *
 *            start                  retry
 *   QUEUED ---------> RUNNING ---------------> WAITING
 *     |                |    ^                     |
 *     |                |    +---------------------+
 *     | circuit open   | delivered, given up      | cancelled
 *     +----------------+--------> DONE <----------+
 *
 * RUNNING has one transfer, or two while a hedge is out. The multi owns the calls, their timers and
 * transfers; it tells a call of each event, one at a time.
 */
#ifndef LULL_HTTP_CALL_H
#define LULL_HTTP_CALL_H

#include <stdatomic.h>
#include <stddef.h>

#include "lull/http.h"
#include "lull/trace_context.h"
#include "origin.h"
#include "timers.h"
#include "transfer.h"

enum call_state { CALL_QUEUED, CALL_RUNNING, CALL_WAITING, CALL_DONE };

struct call {
    struct lull_multi *multi;
    struct lull_client *client;
    struct lull_request request;
    const struct lull_policy *policy;
    struct lull_policy *own_policy; /* when the request has a deadline of its own */
    struct origin origin;
    struct lull_facts facts;
    bool has_random;           /* drawn when it is first needed: */
    struct lull_random random; /* see call_random */
    bool has_trace;
    bool has_method; /* facts.method is known */
    struct lull_trace_context trace;
    enum call_state state;
    struct transfer *transfers[2]; /* the second is the hedge */
    struct transfer *winner;       /* the one that has answered */
    CURLcode last_code;
    bool is_last_complete;
    bool is_jwt_doubted; /* for the next attempt (C8) */
    bool is_stopping;    /* cancelled: whatever comes of it, it is not retried */
    bool is_sink_begun;
    bool is_sink_written;
    struct lull_result *result;
    int64_t start_ms; /* monotonic */
    bool has_wall;
    int64_t start_wall_ms; /* the wall clock then; all later times are counted from it, so that a
                              clock that is set does not move a deadline */
    int64_t hedge_at_ms;   /* LULL_NEVER: none to come */
    int64_t stop_at_ms;    /* this attempt's timeout or the deadline */
    struct timer timer;    /* the next of start, hedge, stop and retry */
    struct call *next;     /* all calls of the multi */
    struct call *previous;
    struct call *next_cancelled_by; /* all calls of a cancel token, under its lock */
    struct call *previous_cancelled_by;
    atomic_bool is_cancelled;
    void (*on_done)(void *userdata, struct lull_result *result);
    void *userdata;
    struct response last; /* of the attempt before, to give back if it was the last */
};

/* In zeroed memory, or that of a call that was cleaned up, whose buffers it takes over. Errors as
 * for lull_http_perform. */
int call_init(struct call *call, struct lull_multi *multi, struct lull_client *client,
              const struct lull_request *request);
struct lull_random *call_random(struct call *call);
void call_clean_up(struct call *call); /* not its result */
void call_free(struct call *call);     /* NULL is fine */

/* The timer has come: start, time out, hedge, or end the wait. */
void call_on_timer(struct call *call, int64_t mono_ms);

/* A transfer of it has ended. */
void call_on_end(struct call *call, struct transfer *transfer, CURLcode code, int64_t mono_ms);

/* The head of a response is complete. False: stop the transfer. */
bool call_on_head(struct call *call, struct transfer *transfer);

void call_on_cancel(struct call *call, int64_t mono_ms);

#endif
