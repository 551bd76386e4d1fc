/*
 * api_request - one request on its way through the API, and the table of what can be asked.
 *
 *   begin (the head is there) -> read ... (the body, as it comes) -> finish (all of it is there)
 *         -> [suspended while jobs are under way] -> resume (they are done) -> clean_up
 *
 * A request that is refused still has its body read and thrown away, if it is not long: the client
 * sees the answer then, and the connection can go on. Where it is long the answer comes at once,
 * and the connection ends.
 */
#ifndef LULL_SERVER_API_REQUEST_H
#define LULL_SERVER_API_REQUEST_H

#include "api.h"
#include "intake.h"
#include "problem.h"
#include "route.h"
#include "waiter.h"

struct request;

/* One for each enum route_action; what is not needed is NULL. */
struct api_action {
    bool takes_body;
    /* False: refused, see request_refuse. */
    bool (*begin)(struct request *request);
    /* Returns how much of it was taken; less than all: the connection was suspended. */
    size_t (*read)(struct request *request, const char *data, size_t length);
    /* Answers, or returns request_run or request_wait. */
    enum MHD_Result (*finish)(struct request *request);
    enum MHD_Result (*resume)(struct request *request);
    /* Whatever state is set; also where nothing after begin came. */
    void (*clean_up)(struct request *request);
};

extern const struct api_action api_put;    /* api_messages.c */
extern const struct api_action api_show;   /* api_queries.c */
extern const struct api_action api_list;   /* api_queries.c */
extern const struct api_action api_cancel; /* api_queries.c */
extern const struct api_action api_batch;
extern const struct api_action api_status; /* and those below: api_status.c */
extern const struct api_action api_health;
extern const struct api_action api_ready;
extern const struct api_action api_metrics;
extern const struct api_action api_openapi;

struct request {
    struct waiter waiter;
    struct api *api;
    struct MHD_Connection *connection;
    const struct api_action *action;
    struct route route;
    char id[ROUTE_REQUEST_ID_SIZE];
    void *state; /* the action's */
    bool is_refused;
    struct problem problem;
    uint64_t discarded; /* bytes of a body that nobody wants */
    bool is_waiting;    /* for its last jobs: resume is next */
    bool is_answered;
};

/* ---- for the actions ---- */

/* Says why not; returns false. */
bool request_refuse(struct request *request, enum problem_kind kind, uint32_t retry_after_s,
                    const char *detail);

bool request_refuse_memory(struct request *request); /* the same, where malloc gave none */

const char *request_header(const struct request *request, const char *name); /* NULL: none */

/* The Content-Length, or UINT64_MAX: it does not say. */
uint64_t request_body_length(const struct request *request);

/* Is it of this media type, and not packed? Else refuses. */
bool request_has_type(struct request *request, const char *media_type);

/* Can anything be made safe at all? Else *ret_problem. */
bool request_is_able(const struct request *request, struct problem *ret_problem);

/* ... and is there room for more (G6)? */
bool request_is_admitted(const struct request *request, struct problem *ret_problem);

/* The one job of a request: fills in its done. */
enum MHD_Result request_run(struct request *request, struct job *job);

/* Goes on with resume when no more jobs are under way. */
enum MHD_Result request_wait(struct request *request);

/* ---- for api.c ---- */

/* NULL: no memory. */
struct request *request_new(struct api *api, struct MHD_Connection *connection);
enum MHD_Result request_begin(struct request *request, const char *method, const char *path);
enum MHD_Result request_read(struct request *request, const char *data, size_t *length);
enum MHD_Result request_finish(struct request *request);
void request_free(struct request *request); /* at once, or when its jobs are done */

/* ---- what api.c has for all of these ---- */

struct api {
    struct api_config config;
    struct api_thread **threads;
    size_t thread_count;
    struct waiting waiting;
    pthread_key_t intake; /* of each thread */
    uint64_t request_seed;
    _Atomic uint64_t request_count;
    atomic_bool is_closing; /* no connection is kept any more */
};

/* This thread's. NULL: no memory. */
struct intake *api_intake(struct api *api);
int64_t api_now_ms(struct api *api);

#endif
