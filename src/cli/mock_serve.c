/* mock_serve - see the header. SPDX-License-Identifier: MIT */
#include "mock_serve.h"

#include <jansson.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "lull/duration.h"
#include "lull/error.h"
#include "lull/os.h"
#include "mock_log.h"

#define HANG_MS 120000
#define TTL_TEXT_SIZE 24

/* ---- answers ---- */

/* Up to four headers; those without a name or value are left out. */
struct header {
    const char *name;
    const char *value;
};

/* text may be NULL; it is taken over. */
static enum MHD_Result send_text(struct MHD_Connection *connection, unsigned status, char *text,
                                 const struct header headers[4])
{
    struct MHD_Response *response = MHD_create_response_from_buffer(
        text ? strlen(text) : 0, text, text ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_PERSISTENT);
    if (!response) {
        free(text);
        return MHD_NO;
    }
    if (text) {
        (void)MHD_add_response_header(response, "Content-Type", "application/json");
    }
    for (size_t i = 0; headers && i < 4; i++) {
        if (headers[i].name && headers[i].value) {
            (void)MHD_add_response_header(response, headers[i].name, headers[i].value);
        }
    }
    enum MHD_Result result = MHD_queue_response(connection, status, response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result send_error(struct MHD_Connection *connection, unsigned status,
                                  unsigned number, const char *error, const char *sentence,
                                  const struct header headers[4])
{
    json_t *json = json_pack("{s:i, s:i, s:s, s:s}", "code", (int)status, "errno", (int)number,
                             "error", error, "message", sentence);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    json_decref(json);
    return send_text(connection, status, text, headers);
}

static enum MHD_Result not_found(struct MHD_Connection *connection)
{
    return send_error(connection, MHD_HTTP_NOT_FOUND, 102, "Not Found", "there is nothing here",
                      NULL);
}

/* What Mozilla's service would call it (V1). */
static unsigned number_of(unsigned status)
{
    switch (status) {
    case MHD_HTTP_UNAUTHORIZED:
        return 109;
    case MHD_HTTP_NOT_FOUND:
        return 102;
    case MHD_HTTP_GONE:
        return 103;
    case MHD_HTTP_CONTENT_TOO_LARGE:
        return 104;
    case MHD_HTTP_SERVICE_UNAVAILABLE:
        return 201;
    default:
        return 999;
    }
}

/* ---- the log; with the lock held ---- */

/* A practice run without its log proves nothing: then it is over. */
static void note(struct mock_server *server, bool is_written)
{
    if (!is_written) {
        (void)eventfd_write(server->stop_fd, 1);
    }
}

/* ---- misbehaviour ---- */

static int fd_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/* Until the time is over, the peer leaves or the server stops. */
static void wait_out(const struct mock_server *server, struct MHD_Connection *connection,
                     uint32_t wait_ms)
{
    struct pollfd fds[] = {{.fd = fd_of(connection), .events = POLLRDHUP},
                           {.fd = server->stop_fd, .events = POLLIN}};
    if (wait_ms > 0) {
        (void)poll(fds, 2, (int)wait_ms);
    }
}

/* The reset leaves at once. A close with SO_LINGER sends one too, but libmicrohttpd may end its
 * side of the connection before it closes, and then the peer sees an orderly end. */
static void reset(int fd)
{
    struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    (void)connect(fd, &nobody, sizeof nobody);
}

static enum MHD_Result misbehave(const struct mock_server *server,
                                 struct MHD_Connection *connection, enum mock_action action)
{
    /* Cut where no reader can take it for a status. */
    static const char half[] = "HTTP/1.1 2";
    int fd = fd_of(connection);
    if (action == MOCK_RESET) {
        reset(fd);
        return MHD_NO;
    }
    if (action == MOCK_HALF) {
        (void)send(fd, half, sizeof half - 1, MSG_NOSIGNAL);
    } else if (action == MOCK_HANG) {
        wait_out(server, connection, HANG_MS);
    }
    /* An orderly end, whatever libmicrohttpd makes of a request that was not answered. */
    (void)shutdown(fd, SHUT_WR);
    return MHD_NO; /* closes the connection */
}

/* ---- pushes ---- */

static const char *header_of(struct MHD_Connection *connection, const char *name)
{
    return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

static struct mock_push push_of(const struct mock_exchange *exchange)
{
    struct MHD_Connection *connection = exchange->connection;
    return (struct mock_push){
        .ttl = header_of(connection, "TTL"),
        .urgency = header_of(connection, "Urgency"),
        .topic = header_of(connection, "Topic"),
        .content_encoding = header_of(connection, "Content-Encoding"),
        .authorization = header_of(connection, "Authorization"),
        .body = (const uint8_t *)exchange->body,
        .length = exchange->length,
    };
}

static enum MHD_Result send_accepted(const struct mock_server *server,
                                     struct MHD_Connection *connection, unsigned status,
                                     const char *message, int64_t ttl_s,
                                     const struct mock_header *wait)
{
    char location[MOCK_URL_SIZE + 32];
    char ttl[TTL_TEXT_SIZE];
    (void)snprintf(location, sizeof location, "%s/message/%s", server->base, message);
    (void)snprintf(ttl, sizeof ttl, "%lld",
                   (long long)(ttl_s < MOCK_TTL_MAX_S ? ttl_s : MOCK_TTL_MAX_S));
    const struct header headers[4] = {
        {"Location", location}, {"TTL", ttl}, {wait->name, wait->value}};
    return send_text(connection, status, NULL, headers);
}

/* A status of success is sent only for a push that deserves it. */
static unsigned status_of(const struct mock_answer *answer, const struct mock_finding *finding)
{
    bool is_success = answer->status < 300 && answer->action == MOCK_STATUS;
    return answer->action != MOCK_STATUS || (is_success && finding->status != MHD_HTTP_CREATED)
               ? finding->status
               : answer->status;
}

/* The last word on a push: what it will be told, the wait that counts from now, and the line in the
 * log. Returns true if the push was accepted, with its message's id. */
static bool settle(struct mock_server *server, const struct mock_exchange *exchange,
                   const struct mock_push *push, const struct mock_finding *finding,
                   const struct mock_answer *answer, uint64_t count, struct mock_header *ret_wait,
                   char ret_message[MOCK_ID_SIZE])
{
    struct mock_subscription *subscription = mock_find(server->service, exchange->id);
    bool is_answered = answer->action == MOCK_HONEST || answer->action == MOCK_STATUS;
    struct mock_answer told = is_answered ? *answer : (struct mock_answer){0};
    unsigned status = status_of(answer, finding);
    mock_wait_write(&told, lull_os_now_ms(), ret_wait);
    if (subscription && ret_wait->not_before_ms != LULL_NEVER &&
        ret_wait->not_before_ms > subscription->not_before_ms) {
        subscription->not_before_ms = ret_wait->not_before_ms;
    }
    bool is_accepted = is_answered && status < 300;
    if (is_accepted) {
        mock_message_new(server->service, ret_message);
    }
    const struct mock_log_push line = {
        .time_ms = exchange->time_ms,
        .mono_ms = exchange->mono_ms,
        .subscription = subscription ? subscription->id : NULL,
        .count = count,
        .attempt = header_of(exchange->connection, "Lull-Attempt"),
        .action = answer->action,
        .status = status,
        .wait = ret_wait,
        .is_early = exchange->is_early,
        .push = push,
        .finding = finding,
    };
    note(server, mock_log_push(server->log, &line));
    return is_accepted;
}

static enum MHD_Result serve_push(struct mock_server *server, const struct mock_exchange *exchange)
{
    struct MHD_Connection *connection = exchange->connection;
    struct mock_push push = push_of(exchange);
    struct mock_answer answer = {.action = MOCK_HONEST};
    struct mock_finding finding;
    struct mock_header wait;
    char message[MOCK_ID_SIZE] = "";
    uint64_t count = 0;
    pthread_mutex_lock(&server->lock);
    struct mock_subscription *subscription = mock_find(server->service, exchange->id);
    mock_push_check(server->service, subscription, &push, exchange->time_ms, &finding);
    if (subscription && subscription->is_gone) {
        count = ++subscription->walk.pushes;
    } else if (subscription) {
        answer = mock_push_plan(server->service, subscription, exchange->mono_ms);
        count = subscription->walk.pushes;
    }
    pthread_mutex_unlock(&server->lock);

    wait_out(server, connection, answer.delay_ms);

    pthread_mutex_lock(&server->lock);
    bool is_accepted = settle(server, exchange, &push, &finding, &answer, count, &wait, message);
    pthread_mutex_unlock(&server->lock);
    if (answer.action != MOCK_HONEST && answer.action != MOCK_STATUS) {
        return misbehave(server, connection, answer.action);
    }
    unsigned status = status_of(&answer, &finding);
    if (is_accepted) {
        return send_accepted(server, connection, status, message, finding.ttl_s, &wait);
    }
    const struct header headers[4] = {
        {wait.name, wait.value},
        {status == MHD_HTTP_UNAUTHORIZED ? "WWW-Authenticate" : NULL, "vapid"}};
    return status == finding.status
               ? send_error(connection, status, finding.number, finding.error, finding.sentence,
                            headers)
               : send_error(connection, status, number_of(status),
                            MHD_get_reason_phrase_for(status), "the plan says so", headers);
}

/* ---- the rest ---- */

static enum MHD_Result serve_subscribe(struct mock_server *server, struct mock_exchange *exchange)
{
    struct MHD_Connection *connection = exchange->connection;
    const char *plan = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "plan");
    const char *key =
        MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "applicationServerKey");
    const struct mock_subscription *subscription = NULL;
    char sentence[MOCK_SENTENCE_SIZE] = "";
    char location[64];
    char link[96];
    if (exchange->length > MOCK_BODY_MAX) {
        return send_error(connection, MHD_HTTP_CONTENT_TOO_LARGE, 104, "Payload Too Large",
                          "the body is larger than 16 KiB", NULL);
    }
    json_t *body = exchange->length > 0 ? json_loadb(exchange->body, exchange->length, 0, NULL)
                                        : json_object();
    json_t *plan_member = json_object_get(body, "plan");
    json_t *key_member = json_object_get(body, "applicationServerKey");
    if (!json_is_object(body) || (plan_member && !json_is_string(plan_member)) ||
        (key_member && !json_is_string(key_member))) {
        json_decref(body);
        return send_error(connection, MHD_HTTP_BAD_REQUEST, 999, "Bad Request",
                          "the body must be a JSON object, with the texts plan and "
                          "applicationServerKey or none",
                          NULL);
    }
    plan = plan_member ? json_string_value(plan_member) : plan;
    key = key_member ? json_string_value(key_member) : key;
    char *text = NULL;
    pthread_mutex_lock(&server->lock);
    int result =
        mock_subscribe(server->service, plan, key, exchange->mono_ms, &subscription, sentence);
    if (result == LULL_OK) {
        text = mock_subscription_json(server->service, subscription);
        note(server, mock_log_event(server->log, "subscribed", "subscription", subscription->id));
        (void)snprintf(location, sizeof location, "/subscription/%s", subscription->id);
        (void)snprintf(link, sizeof link, "</push/%s>; rel=\"urn:ietf:params:push\"",
                       subscription->id);
    }
    pthread_mutex_unlock(&server->lock);
    json_decref(body);
    if (result == LULL_ERR_MEMORY || (result == LULL_OK && !text)) {
        return MHD_NO;
    }
    if (result != LULL_OK) {
        return send_error(connection, MHD_HTTP_BAD_REQUEST, 999, "Bad Request", sentence, NULL);
    }
    const struct header headers[4] = {{"Location", location}, {"Link", link}};
    return send_text(connection, MHD_HTTP_CREATED, text, headers);
}

static enum MHD_Result serve_delete(struct mock_server *server,
                                    const struct mock_exchange *exchange)
{
    bool is_done = false;
    bool is_message = exchange->route == MOCK_ROUTE_MESSAGE;
    pthread_mutex_lock(&server->lock);
    if (is_message) {
        is_done = mock_message_take_back(server->service, exchange->id);
    } else {
        struct mock_subscription *subscription = mock_find(server->service, exchange->id);
        is_done = subscription && !subscription->is_gone;
        if (is_done) {
            subscription->is_gone = true;
        }
    }
    if (is_done) {
        note(server, mock_log_event(server->log, is_message ? "recalled" : "unsubscribed",
                                    is_message ? "message" : "subscription", exchange->id));
    }
    pthread_mutex_unlock(&server->lock);
    return is_done ? send_text(exchange->connection, MHD_HTTP_NO_CONTENT, NULL, NULL)
                   : not_found(exchange->connection);
}

/* ---- which of them ---- */

/* NULL: nothing is there. */
static const char *method_of(enum mock_route route)
{
    switch (route) {
    case MOCK_ROUTE_ROOT:
        return "GET";
    case MOCK_ROUTE_SUBSCRIBE:
    case MOCK_ROUTE_PUSH:
        return "POST";
    case MOCK_ROUTE_SUBSCRIPTION:
    case MOCK_ROUTE_MESSAGE:
        return "DELETE";
    case MOCK_ROUTE_NONE:
    default:
        return NULL;
    }
}

enum MHD_Result mock_serve(struct mock_server *server, struct mock_exchange *exchange)
{
    const char *method = method_of(exchange->route);
    bool is_head = exchange->route == MOCK_ROUTE_ROOT && strcmp(exchange->method, "HEAD") == 0;
    if (method && !is_head && strcmp(exchange->method, method) != 0) {
        const struct header headers[4] = {{"Allow", method}};
        return send_error(exchange->connection, MHD_HTTP_METHOD_NOT_ALLOWED, 999,
                          "Method Not Allowed", "this path has another method", headers);
    }
    switch (exchange->route) {
    case MOCK_ROUTE_ROOT:
        return send_text(exchange->connection, MHD_HTTP_OK, strdup("{\"service\":\"lull mock\"}\n"),
                         NULL);
    case MOCK_ROUTE_SUBSCRIBE:
        return serve_subscribe(server, exchange);
    case MOCK_ROUTE_PUSH:
        return serve_push(server, exchange);
    case MOCK_ROUTE_SUBSCRIPTION:
    case MOCK_ROUTE_MESSAGE:
        return serve_delete(server, exchange);
    case MOCK_ROUTE_NONE:
    default:
        return not_found(exchange->connection);
    }
}
