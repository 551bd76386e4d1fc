/* The head of a request: any method, path, query, Content-Type and request id. What is taken is
 * what the API says that it takes, and what is refused has a sentence. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "lull/lull.h"
#include "route.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The next text: up to a line's end or a zero. */
static const char *next(char **at)
{
    char *text = *at;
    *at += strcspn(text, "\n");
    if (**at) {
        *(*at)++ = '\0';
    }
    return text;
}

static void check_route(const char *method, const char *path)
{
    struct route route;
    int error = route_parse(method, path, &route);
    assert(error == LULL_OK || error == LULL_ERR_UNKNOWN || error == LULL_ERR_RANGE);
    assert((error == LULL_ERR_UNKNOWN) == (route.allow == NULL));
    if (error == LULL_OK) {
        assert((unsigned)route.action < ROUTE_ACTIONS);
        assert(strstr(route.allow, method));
    }
    if (route.id) {
        char id[MESSAGE_ID_TEXT_SIZE];
        message_id_write(route.id, id);
        assert(strlen(id) == strlen(path) - strlen("/v1/messages/"));
    }
}

static void check_query(char *at)
{
    struct route_query query;
    struct problem problem;
    route_query_init(&query);
    for (int i = 0; i < 6 && *at; i++) {
        const char *name = next(&at);
        const char *value = i == 5 ? NULL : next(&at);
        if (!route_query_add(&query, name, value, &problem)) {
            char text[PROBLEM_TEXT_SIZE];
            assert(problem.detail[0]);
            size_t length = problem_write(&problem, "id", text);
            assert(length == strlen(text));
            return;
        }
        assert(query.filter.limit >= 1 && query.filter.limit <= ROUTE_LIMIT_MAX);
        assert(!query.filter.has_place || (unsigned)query.filter.place < MESSAGE_PLACES);
        assert(strlen(query.service) < sizeof query.service);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    char *at = text;
    const char *method = next(&at);
    check_route(method, next(&at));
    (void)route_is_media_type(next(&at), "application/json");
    const char *id = next(&at);
    assert(!route_is_request_id(id) || strlen(id) < ROUTE_REQUEST_ID_SIZE);
    check_query(at);
    free(text);
    return 0;
}
