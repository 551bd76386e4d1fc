/* stand_in - see the header. SPDX-License-Identifier: MIT */
#include "stand_in.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "lull/error.h"
#include "lull/os.h"

#define LEASE_MS 120000

struct stand_in {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct job *first; /* not done */
    struct job **last;
    size_t waiting;
    size_t count;
    bool is_held;
    bool is_stopping;
    int error;
    size_t puts_left; /* until it is full; 0: never */
    bool has_answer;
    enum job_found found;
    struct departed departed;
    enum delivery_cancelled how;

    struct store *store; /* the thread's */
    struct api_health health;
};

static void must(bool is_so)
{
    if (!is_so) {
        abort();
    }
}

/* ---- the jobs ---- */

static void put(struct stand_in *stand_in, struct job_put *job)
{
    int64_t now_ms = lull_os_now_ms();
    struct store_put *one = &job->put.put;
    uint32_t service = 0;
    job->error = store_service(stand_in->store, job->service, job->service_length, &service);
    if (job->error) {
        return;
    }
    one->message->service = service;
    one->is_lease_wanted = true;
    one->lease = 1;
    one->lease_until_ms = now_ms + LEASE_MS;
    struct store_batch batch = {.puts = one, .put_count = 1, .is_durable = true};
    job->error = store_apply(stand_in->store, &batch, now_ms);
    if (!job->error && one->ret_result == STORE_PUT_LEASED) {
        message_free(one->message);
        one->message = NULL;
    }
}

static void cancel(struct stand_in *stand_in, struct job_cancel *job)
{
    struct store_cancel one = {.id = job->cancel.id};
    struct store_batch batch = {.cancels = &one, .cancel_count = 1, .is_durable = true};
    must(store_apply(stand_in->store, &batch, lull_os_now_ms()) == LULL_OK);
    job->how = stand_in->has_answer                       ? stand_in->how
               : one.ret_is_done                          ? DELIVERY_CANCELLED
               : store_has_given(stand_in->store, one.id) ? DELIVERY_CANCELLING
                                                          : DELIVERY_CANCEL_UNKNOWN;
}

struct named {
    uint32_t number;
    const char *name;
    struct job_gate *gate;
};

static void fill_if_named(void *userdata, const struct store_service *service)
{
    struct named *named = userdata;
    if (named->name && strcmp(named->name, service->name) == 0) {
        named->number = service->number;
    }
    if (named->gate && service->number == named->number) {
        memcpy(named->gate->service, service->name, sizeof service->name);
        named->gate->stop = GATE_OPEN;
    }
}

static void find(struct stand_in *stand_in, struct job_find *job)
{
    if (stand_in->has_answer) {
        job->found = stand_in->found;
        job->departed = stand_in->departed;
        return;
    }
    job->error = store_find(stand_in->store, job->id, &job->message);
    job->found = job->message                                ? JOB_FOUND
                 : store_has_given(stand_in->store, job->id) ? JOB_GONE
                                                             : JOB_UNKNOWN;
    if (job->message) {
        struct named named = {.number = job->message->service, .gate = &job->gate};
        must(store_services(stand_in->store, fill_if_named, &named) == LULL_OK);
    }
}

static void list(struct stand_in *stand_in, struct job_list *job)
{
    struct named named = {.name = job->service_name};
    must(store_services(stand_in->store, fill_if_named, &named) == LULL_OK);
    if (job->service_name[0] && !named.number) {
        return;
    }
    job->filter.service = named.number;
    job->error = store_list(stand_in->store, &job->filter, job->list, &job->count, &job->after);
    for (size_t i = 0; !job->error && i < job->count; i++) {
        struct named of = {.number = job->list[i]->service, .gate = &job->gates[i]};
        must(store_services(stand_in->store, fill_if_named, &of) == LULL_OK);
    }
}

static void status(struct stand_in *stand_in, struct job_status *job)
{
    job->store = store_stats(stand_in->store);
    job->services = calloc(1, sizeof *job->services);
    must(job->services);
    job->services[0] = (struct job_gate){"fcm", GATE_PAUSED, 1772357460000, 12, 3};
    job->service_count = 1;
    job->started_ms = lull_os_now_ms() - 5000;
    job->totals.dead[LULL_REASON_GONE] = 1;
    job->engine.leaving_milli_per_s = 40500;
}

static void fail(struct job *job, int error)
{
    switch (job->kind) {
    case JOB_PUT:
        ((struct job_put *)job)->error = error;
        break;
    case JOB_CANCEL:
        ((struct job_cancel *)job)->error = error;
        break;
    case JOB_FIND:
        ((struct job_find *)job)->error = error;
        break;
    case JOB_LIST:
        ((struct job_list *)job)->error = error;
        break;
    case JOB_STATUS:
    default:
        ((struct job_status *)job)->error = error;
        break;
    }
}

static void work(struct stand_in *stand_in, struct job *job)
{
    switch (job->kind) {
    case JOB_PUT:
        put(stand_in, (struct job_put *)job);
        break;
    case JOB_CANCEL:
        cancel(stand_in, (struct job_cancel *)job);
        break;
    case JOB_FIND:
        find(stand_in, (struct job_find *)job);
        break;
    case JOB_LIST:
        list(stand_in, (struct job_list *)job);
        break;
    case JOB_STATUS:
    default:
        status(stand_in, (struct job_status *)job);
        break;
    }
}

/* With the lock held. */
static void count_put(struct stand_in *stand_in)
{
    if (stand_in->puts_left > 0 && --stand_in->puts_left == 0) {
        atomic_store(&stand_in->health.admission, ((struct api_admission){ENGINE_THROTTLED, 7}));
    }
}

static void *run(void *userdata)
{
    struct stand_in *stand_in = userdata;
    (void)pthread_mutex_lock(&stand_in->lock);
    for (;;) {
        while (!stand_in->is_stopping && (!stand_in->first || stand_in->is_held)) {
            (void)pthread_cond_wait(&stand_in->changed, &stand_in->lock);
        }
        struct job *job = stand_in->first;
        if (!job) {
            break;
        }
        stand_in->first = job->next;
        if (!stand_in->first) {
            stand_in->last = &stand_in->first;
        }
        stand_in->waiting--;
        int error = stand_in->error;
        if (error) {
            fail(job, error);
        } else {
            work(stand_in, job);
        }
        if (job->kind == JOB_PUT) {
            count_put(stand_in);
        }
        (void)pthread_mutex_unlock(&stand_in->lock);
        job->done(job);
        (void)pthread_mutex_lock(&stand_in->lock);
    }
    (void)pthread_mutex_unlock(&stand_in->lock);
    return NULL;
}

/* ---- its life ---- */

struct stand_in *stand_in_start(void)
{
    struct stand_in *stand_in = calloc(1, sizeof *stand_in);
    must(stand_in && store_memory_open(&stand_in->store) == LULL_OK);
    stand_in->last = &stand_in->first;
    must(pthread_mutex_init(&stand_in->lock, NULL) == 0 &&
         pthread_cond_init(&stand_in->changed, NULL) == 0 &&
         pthread_create(&stand_in->thread, NULL, run, stand_in) == 0);
    return stand_in;
}

void stand_in_stop(struct stand_in *stand_in)
{
    (void)pthread_mutex_lock(&stand_in->lock);
    stand_in->is_stopping = true;
    (void)pthread_cond_broadcast(&stand_in->changed);
    (void)pthread_mutex_unlock(&stand_in->lock);
    (void)pthread_join(stand_in->thread, NULL);
    store_close(stand_in->store);
    (void)pthread_cond_destroy(&stand_in->changed);
    (void)pthread_mutex_destroy(&stand_in->lock);
    free(stand_in);
}

void stand_in_submit(void *userdata, struct job *job)
{
    struct stand_in *stand_in = userdata;
    (void)pthread_mutex_lock(&stand_in->lock);
    job->next = NULL;
    *stand_in->last = job;
    stand_in->last = &job->next;
    stand_in->waiting++;
    stand_in->count++;
    (void)pthread_cond_broadcast(&stand_in->changed);
    (void)pthread_mutex_unlock(&stand_in->lock);
}

int64_t stand_in_now_ms(void *userdata)
{
    (void)userdata;
    return lull_os_now_ms();
}

size_t stand_in_metrics(void *userdata, char **ret_text)
{
    (void)userdata;
    *ret_text = strdup("lull_waiting 12\n");
    return *ret_text ? strlen(*ret_text) : 0;
}

struct api_health *stand_in_health(struct stand_in *stand_in)
{
    return &stand_in->health;
}

/* ---- what a test does to it ---- */

void stand_in_hold(struct stand_in *stand_in, bool is_held)
{
    (void)pthread_mutex_lock(&stand_in->lock);
    stand_in->is_held = is_held;
    (void)pthread_cond_broadcast(&stand_in->changed);
    (void)pthread_mutex_unlock(&stand_in->lock);
}

size_t stand_in_await(struct stand_in *stand_in, size_t count)
{
    (void)pthread_mutex_lock(&stand_in->lock);
    while (stand_in->waiting < count) {
        (void)pthread_cond_wait(&stand_in->changed, &stand_in->lock);
    }
    size_t waiting = stand_in->waiting;
    (void)pthread_mutex_unlock(&stand_in->lock);
    return waiting;
}

void stand_in_fail(struct stand_in *stand_in, int error)
{
    (void)pthread_mutex_lock(&stand_in->lock);
    stand_in->error = error;
    (void)pthread_mutex_unlock(&stand_in->lock);
}

void stand_in_fill_after(struct stand_in *stand_in, size_t puts)
{
    (void)pthread_mutex_lock(&stand_in->lock);
    stand_in->puts_left = puts;
    (void)pthread_mutex_unlock(&stand_in->lock);
}

void stand_in_answer(struct stand_in *stand_in, enum job_found found, struct departed departed,
                     enum delivery_cancelled how)
{
    (void)pthread_mutex_lock(&stand_in->lock);
    stand_in->has_answer = true;
    stand_in->found = found;
    stand_in->departed = departed;
    stand_in->how = how;
    (void)pthread_mutex_unlock(&stand_in->lock);
}

size_t stand_in_count(struct stand_in *stand_in)
{
    (void)pthread_mutex_lock(&stand_in->lock);
    size_t count = stand_in->count;
    (void)pthread_mutex_unlock(&stand_in->lock);
    return count;
}
