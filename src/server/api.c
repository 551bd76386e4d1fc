/* api - see the header. SPDX-License-Identifier: MIT */
#include "api.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api_request.h"
#include "lull/error.h"
#include "lull/os.h"

/* Of one connection: its head, and what is read of a body at once. A head that does not fit is
 * answered 431. */
#define CONNECTION_MEMORY ((size_t)32 << 10)

/* At the end: for requests that have come, or are about to, on connections that are there. */
#define LAST_ANSWERS_MS 300
#define LOOK_EVERY_MS 5

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

static struct MHD_Daemon *start(struct api *api)
{
    const struct config *config = api->config.config;
    struct MHD_OptionItem options[] = {
        {MHD_OPTION_EXTERNAL_LOGGER, (intptr_t)say_nothing, NULL},
        {MHD_OPTION_LISTEN_SOCKET, api->config.listen_fd, NULL},
        {MHD_OPTION_CONNECTION_LIMIT, config->limits.connections, NULL},
        {MHD_OPTION_CONNECTION_TIMEOUT, config->limits.client_timeout_s, NULL},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, (intptr_t)CONNECTION_MEMORY, NULL},
        {MHD_OPTION_NOTIFY_COMPLETED, (intptr_t)on_completed, api},
        {MHD_OPTION_UNESCAPE_CALLBACK, (intptr_t)unescape, NULL},
        /* A pool of one is not a pool. */
        {config->limits.api_threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END,
         config->limits.api_threads, NULL},
        {MHD_OPTION_END, 0, NULL},
    };
    return MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
                            on_request, api, MHD_OPTION_ARRAY, options, MHD_OPTION_END);
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
    api->quiet_fd = -1;
    api->request_seed = lull_os_seed();
    if (pthread_key_create(&api->intake, free_intake)) {
        goto no_key;
    }
    if (!waiting_init(&api->waiting, config->server, config->submit)) {
        goto no_waiting;
    }
    api->daemon = set_nonblocking(config->listen_fd) ? start(api) : NULL;
    if (!api->daemon) {
        goto no_daemon;
    }
    *ret_api = api;
    return LULL_OK;

no_daemon:
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
    api->quiet_fd = MHD_quiesce_daemon(api->daemon);
}

static bool has_connections(struct api *api)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(api->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info && info->num_connections > 0;
}

/* Each answer closes its connection by now; those that are idle are not waited for any longer. */
static void give_last_answers(struct api *api)
{
    int64_t end_ms = lull_os_mono_ms() + LAST_ANSWERS_MS;
    while (has_connections(api) && lull_os_mono_ms() < end_ms) {
        (void)poll(NULL, 0, LOOK_EVERY_MS);
    }
}

void api_destroy(struct api *api)
{
    if (!api) {
        return;
    }
    atomic_store(&api->is_closing, true);
    waiting_close(&api->waiting);
    give_last_answers(api);
    MHD_stop_daemon(api->daemon); /* its threads end, and with them their intakes */
    if (api->quiet_fd >= 0) {     /* until then they may still take it out of their epoll sets */
        (void)close(api->quiet_fd);
    }
    waiting_clean_up(&api->waiting);
    (void)pthread_key_delete(api->intake);
    free(api);
}
