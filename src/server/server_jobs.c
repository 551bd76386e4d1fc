/* server_jobs - what the API asks of the engine's thread: see job.h. SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "lull/error.h"
#include "owner.h"
#include "server_parts.h"

/* ---- put, cancel: by the delivery's next step ---- */

static void do_put(struct server *server, struct job_put *job)
{
    uint32_t number = 0;
    job->error = delivery_service(server->delivery, job->service, job->service_length, &number);
    if (job->error != LULL_OK) {
        job->job.done(&job->job);
        return;
    }
    job->put.put.message->service = number;
    delivery_put(server->delivery, &job->put);
}

static void do_cancel(struct server *server, struct job_cancel *job)
{
    delivery_cancel(server->delivery, &job->cancel);
}

/* ---- why it waits (Q10) ---- */

static void fill_gate(const struct server *server, uint32_t number, int64_t now_ms,
                      struct job_gate *gate)
{
    const char *name = delivery_service_name(server->delivery, number);
    size_t length = strlen(name);
    memcpy(gate->service, name, length + 1);
    gate->stop = delivery_stop_of(server->delivery, number, now_ms, &gate->until_ms);
}

/* ---- find, list, status ---- */

static void do_find(struct server *server, struct job_find *job, int64_t now_ms)
{
    job->error = store_find(server->store, job->id, &job->message);
    if (job->error == LULL_OK && job->message) {
        job->found = JOB_FOUND;
        fill_gate(server, job->message->service, now_ms, &job->gate);
    } else if (job->error == LULL_OK) {
        const struct departed *departed = departed_find(&server->departed, job->id);
        job->found = departed                                  ? JOB_DEPARTED
                     : store_has_given(server->store, job->id) ? JOB_GONE
                                                               : JOB_UNKNOWN;
        if (departed) {
            job->departed = *departed;
            job->departed.message = NULL; /* that one stays here */
            job->message = departed->message ? message_copy(departed->message) : NULL;
        }
        if (job->message) {
            fill_gate(server, job->message->service, now_ms, &job->gate);
        }
    }
    job->job.done(&job->job);
}

struct by_name {
    const char *name;
    uint32_t number;
};

static void compare_name(void *userdata, const struct store_service *service)
{
    struct by_name *by_name = userdata;
    if (strcmp(service->name, by_name->name) == 0) {
        by_name->number = service->number;
    }
}

static void do_list(struct server *server, struct job_list *job, int64_t now_ms)
{
    struct by_name by_name = {job->service_name, 0};
    job->count = 0;
    job->after = 0;
    if (*job->service_name != '\0') {
        job->error = store_services(server->store, compare_name, &by_name);
        job->filter.service = by_name.number;
    }
    bool is_nobodys = *job->service_name != '\0' && by_name.number == 0;
    if (job->error == LULL_OK && !is_nobodys) {
        job->error = store_list(server->store, &job->filter, job->list, &job->count, &job->after);
    }
    for (size_t i = 0; job->error == LULL_OK && i < job->count; i++) {
        fill_gate(server, job->list[i]->service, now_ms, &job->gates[i]);
    }
    job->job.done(&job->job);
}

struct gathered {
    const struct server *server;
    struct job_status *job;
    size_t size;
    int64_t now_ms;
};

static void gather(void *userdata, const struct store_service *service)
{
    struct gathered *gathered = userdata;
    struct job_status *job = gathered->job;
    if (job->service_count == gathered->size) {
        size_t size = gathered->size * 2 + 16;
        struct job_gate *longer = realloc(job->services, size * sizeof *longer);
        if (!longer) {
            job->error = LULL_ERR_MEMORY;
            return;
        }
        job->services = longer;
        gathered->size = size;
    }
    struct job_gate *gate = &job->services[job->service_count++];
    *gate = (struct job_gate){.waiting = service->waiting, .leased = service->leased};
    fill_gate(gathered->server, service->number, gathered->now_ms, gate);
    memcpy(gate->service, service->name, sizeof gate->service);
}

static void do_status(struct server *server, struct job_status *job, int64_t now_ms)
{
    struct gathered gathered = {server, job, 0, now_ms};
    struct delivery_stats delivery = delivery_stats(server->delivery, now_ms);
    job->services = NULL;
    job->service_count = 0;
    job->error = LULL_OK;
    int error = store_services(server->store, gather, &gathered);
    job->error = job->error != LULL_OK ? job->error : error;
    job->store = store_stats(server->store);
    job->engine = delivery.engine;
    job->totals = server->totals;
    job->totals.commits = delivery.commits;
    job->totals.lost_leases = delivery.lost_leases;
    job->started_ms = server->started_ms;
    job->is_draining = server->is_drain_told;
    job->is_disk_full = delivery.is_disk_full;
    job->job.done(&job->job);
}

void server_do(struct server *server, struct job *job, int64_t now_ms)
{
    switch (job->kind) {
    case JOB_PUT:
        do_put(server, owner_of(job, struct job_put, job));
        break;
    case JOB_CANCEL:
        do_cancel(server, owner_of(job, struct job_cancel, job));
        break;
    case JOB_FIND:
        do_find(server, owner_of(job, struct job_find, job), now_ms);
        break;
    case JOB_LIST:
        do_list(server, owner_of(job, struct job_list, job), now_ms);
        break;
    case JOB_STATUS:
    default:
        do_status(server, owner_of(job, struct job_status, job), now_ms);
        break;
    }
}
