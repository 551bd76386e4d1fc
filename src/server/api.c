/* api - see the header. SPDX-License-Identifier: MIT */
#include "api.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api_request.h"
#include "lull/error.h"
#include "lull/os.h"

/* Of one connection: its head, and what is read of a body at once. A head that does not fit is
 * answered 431. Not more, since all of it is cleared after each request. */
#define CONNECTION_MEMORY ((size_t)16 << 10)

/* ---- a thread's own ---- */

struct intake *api_intake(struct api *api)
{
    struct intake *intake = pthread_getspecific(api->intake);
    if (!intake && intake_new(&intake, api->config.config, api->config.ring) == LULL_OK &&
        pthread_setspecific(api->intake, intake)) {
        intake_destroy(intake);
        intake = NULL;
    }
    return intake;
}

static void free_intake(void *intake)
{
    intake_destroy(intake);
}

int64_t api_now_ms(struct api *api)
{
    return api->config.now_ms(api->config.server);
}

/* ---- what libmicrohttpd calls ---- */

static enum MHD_Result on_request(void *userdata, struct MHD_Connection *connection,
                                  const char *path, const char *method, const char *version,
                                  const char *data, size_t *length, void **request_place)
{
    (void)version;
    struct request *request = *request_place;
    if (!request) {
        request = request_new(userdata, connection);
        *request_place = request;
        return request ? request_begin(request, method, path) : MHD_NO;
    }
    return *length > 0 ? request_read(request, data, length) : request_finish(request);
}

static void on_completed(void *userdata, struct MHD_Connection *connection, void **request_place,
                         enum MHD_RequestTerminationCode how)
{
    (void)userdata;
    (void)connection;
    (void)how;
    if (*request_place) {
        request_free(*request_place);
        *request_place = NULL;
    }
}

static void on_connection(void *userdata, struct MHD_Connection *connection, void **place,
                          enum MHD_ConnectionNotificationCode what)
{
    (void)userdata;
    (void)connection;
    (void)place;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        api_thread_on_closed(api_thread_current());
    }
}

/* As libmicrohttpd does it, but a zero does not cut the text in two. */
static size_t unescape(void *userdata, struct MHD_Connection *connection, char *text)
{
    (void)userdata;
    (void)connection;
    return strstr(text, "%00") ? strlen(text) : MHD_http_unescape(text);
}

/* What it would say may have URLs in it. */
static void say_nothing(void *userdata, const char *format, va_list arguments)
{
    (void)userdata;
    (void)format;
    (void)arguments;
}

/* ---- life ---- */

/* One that has no thread yet, and no socket to listen on. */
static struct MHD_Daemon *new_daemon(struct api *api)
{
    const struct config *config = api->config.config;
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)say_nothing, NULL},
        /* Out of reach: the acceptor counts. */
        {MHD_OPTION_CONNECTION_LIMIT, 2 * (intptr_t)config->limits.connections, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, config->limits.client_timeout_s, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)CONNECTION_MEMORY, NULL},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, api},
        {MHD_OPTION_NOTIFY_CONNECTION, (intptr_t)on_connection, NULL},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)unescape, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET, 0,
                            NULL, NULL, on_request, api, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
}

static void end_threads(struct api *api)
{
    for (size_t i = 0; i < api->thread_count; i++) {
        api_thread_end(api->threads[i]);
    }
    for (size_t i = 0; i < api->thread_count; i++) {
        api_thread_join(api->threads[i]); /* and with it its intake goes */
    }
    free(api->threads);
}

static bool start_threads(struct api *api)
{
    unsigned count = api->config.config->limits.api_threads;
    api->threads = calloc(count, sizeof(struct api_thread *));
    while (api->threads && api->thread_count < count) {
        struct MHD_Daemon *daemon = new_daemon(api);
        struct api_thread *thread = daemon ? api_thread_start(daemon) : NULL;
        if (!thread) {
            end_threads(api);
            return false;
        }
        api->threads[api->thread_count++] = thread;
    }
    return api->threads;
}

int api_new(struct api **ret_api, const struct api_config *config)
{
    int error = LULL_ERR_MEMORY;
    struct api *api = calloc(1, sizeof *api);
    if (!api) {
        goto no_api;
    }
    api->config = *config;
    api->request_seed = lull_os_seed();
    error = LULL_ERR_RANGE;
    if (pthread_key_create(&api->intake, free_intake)) {
        goto no_key;
    }
    if (!waiting_init(&api->waiting, config->server, config->submit)) {
        goto no_waiting;
    }
    if (!start_threads(api)) {
        goto no_threads;
    }
    error = acceptor_start(&api->acceptor, config->listen_fd, api->threads, api->thread_count,
                           config->config->limits.connections);
    if (error) {
        api_destroy(api);
        return error;
    }
    *ret_api = api;
    return LULL_OK;

no_threads:
    waiting_clean_up(&api->waiting);
no_waiting:
    (void)pthread_key_delete(api->intake);
no_key:
    free(api);
no_api:
    (void)close(config->listen_fd);
    return error;
}

void api_stop_listening(struct api *api)
{
    atomic_store(&api->is_closing, true);
    acceptor_stop(api->acceptor);
    api->acceptor = NULL;
}

void api_destroy(struct api *api)
{
    if (!api) {
        return;
    }
    api_stop_listening(api);
    waiting_close(&api->waiting);
    end_threads(api);
    waiting_clean_up(&api->waiting);
    (void)pthread_key_delete(api->intake);
    free(api);
}
