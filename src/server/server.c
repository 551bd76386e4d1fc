/* server - see the header. SPDX-License-Identifier: MIT */
#include "server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "log.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/os.h"
#include "server_parts.h"

#define WAIT_MAX_MS 1000
#define FIGURES_EVERY_MS 250

/* ---- between threads ---- */

static void wake(struct server *server)
{
    (void)eventfd_write(server->wake_fd, 1);
}

void server_submit(void *userdata, struct job *job)
{
    struct server *server = userdata;
    job->next = NULL;
    (void)pthread_mutex_lock(&server->lock);
    bool was_empty = !server->jobs;
    *server->jobs_end = job;
    server->jobs_end = &job->next;
    (void)pthread_mutex_unlock(&server->lock);
    if (was_empty) {
        wake(server);
    }
}

/* From a sender. */
static void deliver(void *userdata, struct parcel *first, struct parcel *last)
{
    struct server *server = userdata;
    (void)pthread_mutex_lock(&server->lock);
    bool was_empty = !server->returned.first;
    *(server->returned.last ? &server->returned.last->next : &server->returned.first) = first;
    server->returned.last = last;
    (void)pthread_mutex_unlock(&server->lock);
    if (was_empty) {
        wake(server);
    }
}

struct came {
    struct job *jobs;
    struct parcel *parcels;
    bool is_stopping;
};

static struct came take_what_came(struct server *server)
{
    (void)pthread_mutex_lock(&server->lock);
    struct came came = {server->jobs, server->returned.first, server->is_stopping};
    server->jobs = NULL;
    server->jobs_end = &server->jobs;
    server->returned = (struct parcel_row){0};
    (void)pthread_mutex_unlock(&server->lock);
    return came;
}

static void set_state(struct server *server, enum server_state state)
{
    (void)pthread_mutex_lock(&server->lock);
    server->state = state;
    (void)pthread_cond_broadcast(&server->changed);
    (void)pthread_mutex_unlock(&server->lock);
}

static int64_t now_for_api(void *userdata)
{
    struct server *server = userdata;
    return lull_os_mono_ms() + atomic_load(&server->steady_offset_ms);
}

/* ---- the engine's thread ---- */

static void post_parcels(struct server *server)
{
    for (uint32_t i = 0; i < server->sender_count; i++) {
        struct parcel_row *row = &server->outgoing[i];
        if (row->first) {
            sender_post(server->senders[i], row->first, row->last);
            *row = (struct parcel_row){0};
        }
    }
}

/* A full disk is said once, and once when it is over. */
static void tell_of_disk(struct server *server, bool is_full)
{
    if (is_full != server->was_disk_full) {
        server->was_disk_full = is_full;
        atomic_store(&server->health.is_disk_full, is_full);
        log_say(is_full ? LOG_ERROR : LOG_WARN, is_full ? "disk_full" : "disk_full_over",
                is_full ? "the disk is full: new messages are refused until there is room"
                        : "there is room on the disk again");
    }
}

static void publish(struct server *server, int64_t now_ms)
{
    struct engine_admission admission = delivery_admit(server->delivery, now_ms);
    struct api_admission said = {(uint32_t)admission.kind, (uint32_t)admission.retry_after_s};
    atomic_store(&server->health.admission, said);
    if (now_ms < server->figures_ms) {
        return;
    }
    server->figures_ms = now_ms + FIGURES_EVERY_MS;
    struct server_figures figures = {
        .totals = server->totals,
        .store = store_stats(server->store),
        .delivery = delivery_stats(server->delivery, now_ms),
        .now_ms = now_ms,
    };
    for (unsigned i = 0; i < LULL_CLASSES; i++) {
        figures.attempts_by_class[i] = server->attempts_by_class[i];
    }
    (void)pthread_mutex_lock(&server->lock);
    server->figures = figures;
    (void)pthread_mutex_unlock(&server->lock);
}

static void on_error(struct server *server, int error)
{
    if (error == LULL_OK || error == STORE_ERR_DISK_FULL) {
        tell_of_disk(server, error == STORE_ERR_DISK_FULL);
        return;
    }
    if (!atomic_exchange(&server->health.is_broken, true)) {
        log_say(LOG_ERROR, "store_broken", server_problem(server));
        set_state(server, SERVER_BROKEN);
    }
}

static void wait_for_more(struct server *server, int64_t now_ms)
{
    struct pollfd ready = {.fd = server->wake_fd, .events = POLLIN};
    int64_t wake_ms = delivery_wake_ms(server->delivery);
    int64_t wait_ms = wake_ms <= now_ms ? 0 : wake_ms - now_ms;
    bool is_broken = atomic_load(&server->health.is_broken);
    wait_ms = is_broken || wait_ms > WAIT_MAX_MS ? WAIT_MAX_MS : wait_ms;
    if (poll(&ready, 1, (int)wait_ms) > 0) {
        eventfd_t count = 0;
        (void)eventfd_read(server->wake_fd, &count);
    }
}

static int64_t tell_time(struct server *server)
{
    int64_t mono_ms = lull_os_mono_ms();
    int64_t now_ms = steady_now_ms(&server->steady, lull_os_now_ms(), mono_ms);
    atomic_store(&server->steady_offset_ms, now_ms - mono_ms);
    return now_ms;
}

static bool turn(struct server *server)
{
    struct came came = take_what_came(server);
    int64_t now_ms = tell_time(server);
    if (atomic_load(&server->is_draining) && !server->is_drain_told) {
        server->is_drain_told = true;
        delivery_drain(server->delivery);
    }
    while (came.parcels) {
        struct parcel *parcel = came.parcels;
        came.parcels = parcel->next;
        server_take_back(server, parcel, now_ms);
    }
    while (came.jobs) {
        struct job *job = came.jobs;
        came.jobs = job->next;
        server_do(server, job, now_ms);
    }
    on_error(server, delivery_step(server->delivery, now_ms));
    post_parcels(server);
    publish(server, now_ms);
    if (server->is_drain_told && delivery_is_idle(server->delivery)) {
        set_state(server, SERVER_DRAINED);
    }
    if (!came.is_stopping) {
        wait_for_more(server, now_ms);
    }
    return !came.is_stopping;
}

static void *run(void *userdata)
{
    while (turn(userdata)) {
    }
    return NULL;
}

/* ---- its life ---- */

static struct engine_config engine_config_of(const struct config *config)
{
    struct engine_config engine;
    engine_config_default(&engine);
    engine.in_flight_max = config->limits.in_flight_max;
    engine.in_flight_per_service_max = config->limits.in_flight_per_service_max;
    engine.waiting_soft_max = config->limits.waiting_soft_max;
    engine.waiting_hard_max = config->limits.waiting_hard_max;
    engine.poison_after = config->limits.poison_after;
    /* Longer than a request can take, by whatever clock (Q2). */
    engine.lease_ms = 2 * config->limits.timeout_ms + LULL_SECONDS(30);
    engine.seed = lull_os_seed();
    return engine;
}

static int open_parts(struct server *server, struct store_opening *problem)
{
    const struct config *config = server->config;
    int error = store_sqlite_open(&server->store, config->store, problem);
    if (error != LULL_OK) {
        return error;
    }
    steady_init(&server->steady, lull_os_now_ms(), lull_os_mono_ms());
    server->started_ms = tell_time(server);
    policy_shelf_init(&server->policies, config);
    server->authorizer = authorizer_new(server->ring);
    if (!server->authorizer || !departed_init(&server->departed, config->limits.delivered_kept)) {
        return LULL_ERR_MEMORY;
    }
    struct delivery_config delivery;
    delivery_config_default(&delivery);
    delivery.engine = engine_config_of(config);
    delivery.host = server_host(server);
    delivery.store = server->store;
    error = delivery_new(&server->delivery, &delivery, server->started_ms);
    struct sender_config sender = {config, server->authorizer, server, deliver};
    while (error == LULL_OK && server->sender_count < config->limits.senders) {
        error = sender_start(&server->senders[server->sender_count], &sender);
        server->sender_count += error == LULL_OK;
    }
    return error;
}

int server_new(struct server **ret_server, const struct config *config,
               struct lull_vapid_ring *ring, struct store_opening *ret_problem)
{
    struct server *server = calloc(1, sizeof *server);
    *ret_problem = (struct store_opening){""};
    if (!server) {
        return LULL_ERR_MEMORY;
    }
    server->config = config;
    server->ring = ring;
    server->jobs_end = &server->jobs;
    pthread_condattr_t attributes;
    (void)pthread_mutex_init(&server->lock, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&server->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    server->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int error = server->wake_fd < 0                           ? LULL_ERR_MEMORY
                : config->limits.senders > SERVER_SENDERS_MAX ? LULL_ERR_RANGE
                                                              : open_parts(server, ret_problem);
    if (error != LULL_OK) {
        server_destroy(server);
        return error;
    }
    *ret_server = server;
    return LULL_OK;
}

int server_start(struct server *server, int listen_fd)
{
    const struct api_config api = {
        .config = server->config,
        .ring = server->ring,
        .health = &server->health,
        .listen_fd = listen_fd,
        .server = server,
        .submit = server_submit,
        .now_ms = now_for_api,
        .metrics = server_metrics,
    };
    server->has_thread = pthread_create(&server->thread, NULL, run, server) == 0;
    if (!server->has_thread) {
        (void)close(listen_fd);
        return LULL_ERR_MEMORY;
    }
    return api_new(&server->api, &api);
}

void server_drain(struct server *server)
{
    atomic_store(&server->health.is_draining, true);
    atomic_store(&server->is_draining, true);
    wake(server);
}

enum server_state server_wait(struct server *server, int64_t timeout_ms)
{
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_mutex_lock(&server->lock);
    while (server->state == SERVER_RUNNING &&
           pthread_cond_timedwait(&server->changed, &server->lock, &until) != ETIMEDOUT) {
    }
    enum server_state state = server->state;
    (void)pthread_mutex_unlock(&server->lock);
    return state;
}

const char *server_problem(const struct server *server)
{
    return store_problem(server->store);
}

void server_stop(struct server *server)
{
    server_drain(server);
    if (server->api) {
        api_stop_listening(server->api);
    }
    for (uint32_t i = 0; i < server->sender_count; i++) {
        sender_stop(server->senders[i]); /* what was out comes back, and is written down */
    }
    api_destroy(server->api);
    server->api = NULL;
    if (server->has_thread) {
        (void)pthread_mutex_lock(&server->lock);
        server->is_stopping = true;
        (void)pthread_mutex_unlock(&server->lock);
        wake(server);
        (void)pthread_join(server->thread, NULL);
        server->has_thread = false;
    }
}

void server_destroy(struct server *server)
{
    if (!server) {
        return;
    }
    for (uint32_t i = 0; i < server->sender_count; i++) {
        sender_destroy(server->senders[i]);
    }
    delivery_destroy(server->delivery);
    while (server->idle) {
        struct parcel *parcel = server->idle;
        server->idle = parcel->next;
        parcel_free(parcel);
    }
    departed_clean_up(&server->departed);
    policy_shelf_clean_up(&server->policies);
    authorizer_destroy(server->authorizer);
    store_close(server->store);
    if (server->wake_fd >= 0) {
        (void)close(server->wake_fd);
    }
    (void)pthread_cond_destroy(&server->changed);
    (void)pthread_mutex_destroy(&server->lock);
    free(server);
}
