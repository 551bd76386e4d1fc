/*
 * route - what a request asks for: its method and path, its query, and what else of its head is
 * read.
 *
 * Pure: texts in, numbers out, so that a fuzzer can be the client.
 */
#ifndef LULL_SERVER_ROUTE_H
#define LULL_SERVER_ROUTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "problem.h"
#include "store.h"

enum route_action {
    ROUTE_PUT,    /* POST   /v1/messages */
    ROUTE_BATCH,  /* POST   /v1/messages/batch */
    ROUTE_LIST,   /* GET    /v1/messages */
    ROUTE_SHOW,   /* GET    /v1/messages/{id} */
    ROUTE_CANCEL, /* DELETE /v1/messages/{id} */
    ROUTE_STATUS,
    ROUTE_HEALTH,
    ROUTE_READY,
    ROUTE_METRICS,
    ROUTE_OPENAPI,
    ROUTE_ACTIONS, /* how many there are */
};

struct route {
    enum route_action action;
    bool is_open;      /* needs no token */
    uint64_t id;       /* SHOW, CANCEL; 0: no id that could ever have been given */
    const char *allow; /* the methods that there are for this path; NULL: there is no such path */
};

/* LULL_OK; LULL_ERR_UNKNOWN: no such path; LULL_ERR_RANGE: not by this method, see allow. HEAD is
 * taken where GET is. *ret_route is set in any case, as far as it goes. */
int route_parse(const char *method, const char *path, struct route *ret_route);

/* The query of a list, one parameter at a time. */
struct route_query {
    struct store_filter filter; /* all but service */
    char service[256];          /* "": any */
    unsigned seen;              /* which there have been: each may come once */
};

#define ROUTE_LIMIT_DEFAULT 100
#define ROUTE_LIMIT_MAX 1000

void route_query_init(struct route_query *query);

/* value may be NULL, where there was no "=". False: *ret_problem. */
bool route_query_add(struct route_query *query, const char *name, const char *value,
                     struct problem *ret_problem);

/* Is this Content-Type that media type, which is in lower case? Its parameters are looked at only
 * as far as a charset must be UTF-8. NULL is none. */
bool route_is_media_type(const char *content_type, const char *media_type);

/* May a caller's request id be given back? 1 to 64 of [A-Za-z0-9._-]. NULL may not. */
#define ROUTE_REQUEST_ID_SIZE 65
bool route_is_request_id(const char *text);

#endif
