/* route - see the header. SPDX-License-Identifier: MIT */
#include "route.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "lull/error.h"

#define MESSAGES "/v1/messages"

/* So many are looked at for a page: a filter that fits few must not take the engine's thread for
 * long. */
#define SCAN_MAX 10000

struct row {
    const char *path;
    const char *method;
    enum route_action action;
    bool is_open;
};

/* {id} stands in for one segment. Rows of one path stand together, GET first. */
static const struct row rows[] = {
    {MESSAGES, "GET", ROUTE_LIST, false},
    {MESSAGES, "POST", ROUTE_PUT, false},
    {MESSAGES "/batch", "POST", ROUTE_BATCH, false},
    {MESSAGES "/{id}", "GET", ROUTE_SHOW, false},
    {MESSAGES "/{id}", "DELETE", ROUTE_CANCEL, false},
    {"/v1/status", "GET", ROUTE_STATUS, false},
    {"/healthz", "GET", ROUTE_HEALTH, true},
    {"/readyz", "GET", ROUTE_READY, true},
    {"/metrics", "GET", ROUTE_METRICS, false},
    {"/openapi.yaml", "GET", ROUTE_OPENAPI, true},
};

#define ROWS (sizeof rows / sizeof rows[0])

/* The methods of a path, as Allow has them. */
static const char *allow_of(const char *path)
{
    if (strcmp(path, MESSAGES) == 0) {
        return "GET, HEAD, POST";
    }
    if (strcmp(path, MESSAGES "/batch") == 0) {
        return "POST";
    }
    return strcmp(path, MESSAGES "/{id}") == 0 ? "GET, HEAD, DELETE" : "GET, HEAD";
}

/* The path of the table that this one is, or NULL. */
static const char *pattern_of(const char *path, uint64_t *ret_id)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].path, path) == 0 && !strchr(path, '{')) {
            return rows[i].path;
        }
    }
    size_t prefix = sizeof MESSAGES; /* with the slash, in place of the zero */
    if (strncmp(path, MESSAGES "/", prefix) != 0) {
        return NULL;
    }
    const char *id = path + prefix;
    if (!*id || strchr(id, '/')) {
        return NULL;
    }
    (void)message_id_read(id, strlen(id), ret_id);
    return MESSAGES "/{id}";
}

int route_parse(const char *method, const char *path, struct route *ret_route)
{
    *ret_route = (struct route){0};
    const char *pattern = pattern_of(path, &ret_route->id);
    if (!pattern) {
        return LULL_ERR_UNKNOWN;
    }
    ret_route->allow = allow_of(pattern);
    const char *wanted = strcmp(method, "HEAD") == 0 ? "GET" : method;
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].path, pattern) != 0) {
            continue;
        }
        ret_route->is_open = rows[i].is_open;
        if (strcmp(rows[i].method, wanted) == 0) {
            ret_route->action = rows[i].action;
            return LULL_OK;
        }
    }
    return LULL_ERR_RANGE;
}

/* ---- the query ---- */

void route_query_init(struct route_query *query)
{
    *query = (struct route_query){.filter = {.limit = ROUTE_LIMIT_DEFAULT, .scan = SCAN_MAX}};
}

static bool read_state(struct route_query *query, const char *value)
{
    for (int place = 0; place < MESSAGE_PLACES; place++) {
        if (strcmp(value, message_place_to_string((enum message_place)place)) == 0) {
            query->filter.has_place = true;
            query->filter.place = (enum message_place)place;
            return true;
        }
    }
    return false;
}

static bool read_service(struct route_query *query, const char *value)
{
    size_t length = strlen(value);
    if (length == 0 || length >= sizeof query->service) {
        return false;
    }
    memcpy(query->service, value, length + 1);
    return true;
}

static bool read_limit(struct route_query *query, const char *value)
{
    uint32_t limit = 0;
    for (const char *at = value; *at; at++) {
        if (*at < '0' || *at > '9') {
            return false;
        }
        limit = limit * 10 + (uint32_t)(*at - '0');
        if (limit > ROUTE_LIMIT_MAX) {
            return false;
        }
    }
    query->filter.limit = limit;
    return limit > 0;
}

static bool read_cursor(struct route_query *query, const char *value)
{
    return message_id_read(value, strlen(value), &query->filter.after) && query->filter.after > 0;
}

struct parameter {
    const char *name;
    bool (*read)(struct route_query *query, const char *value);
    const char *sentence;
};

static const struct parameter parameters[] = {
    {"state", read_state,
     "state is one of waiting, leased and dead: what was delivered has left the queue"},
    {"service", read_service,
     "service is a push service's name (fcm, mozilla, apple, wns) or a host"},
    {"limit", read_limit, "limit is a number from 1 to 1000"},
    {"cursor", read_cursor, "cursor is the `next` of an earlier page, unchanged"},
};

static bool refuse(struct problem *ret_problem, const char *sentence)
{
    problem_set(ret_problem, PROBLEM_BAD_REQUEST, 0, sentence);
    return false;
}

bool route_query_add(struct route_query *query, const char *name, const char *value,
                     struct problem *ret_problem)
{
    for (unsigned i = 0; i < sizeof parameters / sizeof parameters[0]; i++) {
        if (strcmp(parameters[i].name, name) != 0) {
            continue;
        }
        if (query->seen & (1U << i)) {
            return refuse(ret_problem, "a parameter of the query may be given once");
        }
        query->seen |= 1U << i;
        return (value && parameters[i].read(query, value)) ||
               refuse(ret_problem, parameters[i].sentence);
    }
    return refuse(ret_problem,
                  "there is a parameter in the query that is not state, service, limit or cursor");
}

/* ---- headers ---- */

static const char *skip_space(const char *text)
{
    while (*text == ' ' || *text == '\t') {
        text++;
    }
    return text;
}

bool route_is_media_type(const char *content_type, const char *media_type)
{
    if (!content_type) {
        return false;
    }
    const char *at = skip_space(content_type);
    size_t length = strlen(media_type);
    if (strncasecmp(at, media_type, length) != 0) {
        return false;
    }
    at = skip_space(at + length);
    if (*at != '\0' && *at != ';') {
        return false;
    }
    const char *charset = strcasestr(at, "charset=");
    if (!charset) {
        return true;
    }
    charset += strlen("charset=");
    charset += *charset == '"';
    return strncasecmp(charset, "utf-8", 5) == 0 && strchr("\"; \t", charset[5]); /* or the end */
}

bool route_is_request_id(const char *text)
{
    static const char accepted[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (!text) {
        return false;
    }
    size_t length = strspn(text, accepted);
    return length > 0 && length < ROUTE_REQUEST_ID_SIZE && text[length] == '\0';
}
