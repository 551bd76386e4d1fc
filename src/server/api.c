/* api - see the header. SPDX-License-Identifier: MIT */
#include "api.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api_request.h"
#include "api_thread.h"
#include "lull/error.h"
#include "lull/os.h"

/* Of one connection: its head, and what is read of a body at once. A head that does not fit is
 * answered 431. */
#define CONNECTION_MEMORY ((size_t)32 << 10)

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

/* One that has no thread yet; the socket is its own, and closed if this fails. */
static struct MHD_Daemon *new_daemon(struct api *api, int listen_fd, unsigned connections)
{
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)say_nothing, NULL},
        {MHD_OPTION_LISTEN_SOCKET, listen_fd, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, connections, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, api->config.config->limits.client_timeout_s, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)CONNECTION_MEMORY, NULL},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, api},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)unescape, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    struct MHD_Daemon *daemon =
        MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, api,
                         MHD_OPTION_ARRAY, options, MHD_OPTION_END);
    if (!daemon) {
        (void)close(listen_fd);
    }
    return daemon;
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

/* Each listens on the same socket, and takes its share of the connections. */
static bool start_threads(struct api *api)
{
    unsigned count = api->config.config->limits.api_threads;
    unsigned connections = (api->config.config->limits.connections + count - 1) / count;
    api->threads = calloc(count, sizeof(struct api_thread *));
    while (api->threads && api->thread_count < count) {
        int fd = fcntl(api->config.listen_fd, F_DUPFD_CLOEXEC, 0);
        struct MHD_Daemon *daemon = fd < 0 ? NULL : new_daemon(api, fd, connections);
        struct api_thread *thread = daemon ? api_thread_start(daemon) : NULL;
        if (!thread) {
            end_threads(api);
            return false;
        }
        api->threads[api->thread_count++] = thread;
    }
    return api->threads;
}

static bool set_nonblocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0;
}

int api_new(struct api **ret_api, const struct api_config *config)
{
    struct api *api = calloc(1, sizeof *api);
    if (!api) {
        goto no_api;
    }
    api->config = *config;
    api->request_seed = lull_os_seed();
    if (pthread_key_create(&api->intake, free_intake)) {
        goto no_key;
    }
    if (!waiting_init(&api->waiting, config->server, config->submit)) {
        goto no_waiting;
    }
    if (!set_nonblocking(config->listen_fd) || !start_threads(api)) {
        goto no_threads;
    }
    (void)close(config->listen_fd); /* each thread has it */
    *ret_api = api;
    return LULL_OK;

no_threads:
    waiting_clean_up(&api->waiting);
no_waiting:
    (void)pthread_key_delete(api->intake);
no_key:
    free(api);
    (void)close(config->listen_fd);
    return LULL_ERR_RANGE;
no_api:
    (void)close(config->listen_fd);
    return LULL_ERR_MEMORY;
}

void api_stop_listening(struct api *api)
{
    atomic_store(&api->is_closing, true);
    for (size_t i = 0; i < api->thread_count; i++) {
        api_thread_stop_listening(api->threads[i]);
    }
}

void api_destroy(struct api *api)
{
    if (!api) {
        return;
    }
    atomic_store(&api->is_closing, true);
    waiting_close(&api->waiting);
    end_threads(api);
    waiting_clean_up(&api->waiting);
    (void)pthread_key_delete(api->intake);
    free(api);
}
