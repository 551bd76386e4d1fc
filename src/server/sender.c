/* sender - see the header. SPDX-License-Identifier: MIT */
#include "sender.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lull/duration.h"
#include "lull/error.h"
#include "lull/os.h"

#define WAIT_MAX_MS 60000
#define HTTP_1_CONNECTIONS 16 /* to one webhook's host: as many requests at once */

/* Parcels in a row. */
struct row {
    struct parcel *first;
    struct parcel *last;
};

struct sender {
    struct sender_config config;
    struct parcel_desk desk;
    struct transport *transport;
    pthread_t thread;
    pthread_mutex_t lock; /* around posted and is_stopping */
    struct row posted;
    struct sender_recall *recalls;
    bool is_stopping;
    bool has_thread;
    int wake_fd;
    struct row done;    /* of this turn */
    struct parcel *out; /* what the transport has */
};

static void append(struct row *row, struct parcel *first, struct parcel *last)
{
    last->next = NULL;
    *(row->last ? &row->last->next : &row->first) = first;
    row->last = last;
}

static void finish(struct sender *sender, struct parcel *parcel)
{
    append(&sender->done, parcel, parcel);
}

/* It cannot even be tried: what of that is for the operator to see, and what may pass. */
static void refuse(struct sender *sender, struct parcel *parcel, int error)
{
    bool is_passing = error == LULL_ERR_MEMORY || error == LULL_ERR_FULL;
    parcel->request.outcome = (struct lull_outcome){
        .kind = LULL_OUTCOME_TRANSPORT,
        .transport = is_passing ? LULL_TRANSPORT_CONNECT_TIMEOUT : LULL_TRANSPORT_MALFORMED_URL,
    };
    parcel->request.detail = error == LULL_ERR_UNKNOWN
                                 ? "its VAPID key or webhook secret is not there any more"
                             : is_passing ? "there is no memory"
                                          : "the request cannot be made";
    finish(sender, parcel);
}

static void submit(struct sender *sender, struct parcel *parcel, int64_t mono_ms, int64_t wall_ms)
{
    int error = parcel_fill(parcel, &sender->desk, wall_ms);
    if (error == LULL_OK) {
        error = transport_submit(sender->transport, &parcel->request, mono_ms);
    }
    if (error != LULL_OK) {
        refuse(sender, parcel, error);
        return;
    }
    parcel->out_previous = NULL;
    parcel->out_next = sender->out;
    if (sender->out) {
        sender->out->out_previous = parcel;
    }
    sender->out = parcel;
}

/* The transport has it no more. */
static void forget(struct sender *sender, struct parcel *parcel)
{
    *(parcel->out_previous ? &parcel->out_previous->out_next : &sender->out) = parcel->out_next;
    if (parcel->out_next) {
        parcel->out_next->out_previous = parcel->out_previous;
    }
}

/* The next that the transport is done with; NULL: none. */
static struct parcel *collect_one(struct sender *sender)
{
    struct transport_request *request = transport_collect(sender->transport);
    if (!request) {
        return NULL;
    }
    forget(sender, request->userdata);
    return request->userdata;
}

/* What other threads have asked for. */
struct asked {
    struct parcel *parcels;
    struct sender_recall *recalls;
    bool is_stopping;
};

static struct asked take_asked(struct sender *sender)
{
    (void)pthread_mutex_lock(&sender->lock);
    struct asked asked = {sender->posted.first, sender->recalls, sender->is_stopping};
    sender->posted = (struct row){0};
    sender->recalls = NULL;
    (void)pthread_mutex_unlock(&sender->lock);
    return asked;
}

/* ---- what is called back ---- */

static bool is_meant(const struct sender_recall *recall, const struct message *message)
{
    return recall->is_service ? message->service == recall->service
                              : message->target == recall->target;
}

static void give_back(struct sender *sender, struct parcel *parcel)
{
    parcel->is_returned = true;
    finish(sender, parcel);
}

static void call_back(struct sender *sender, const struct sender_recall *recall, int64_t mono_ms)
{
    struct parcel *parcel = sender->out;
    while (parcel) {
        struct parcel *next = parcel->out_next;
        if (parcel->request.sent_ms < 0 && is_meant(recall, parcel->message)) {
            transport_withdraw(sender->transport, &parcel->request, mono_ms);
            forget(sender, parcel);
            give_back(sender, parcel);
        }
        parcel = next;
    }
}

static bool is_called_back(const struct sender_recall *recalls, const struct parcel *parcel)
{
    while (recalls && !is_meant(recalls, parcel->message)) {
        recalls = recalls->next;
    }
    return recalls != NULL;
}

static void do_asked(struct sender *sender, const struct asked *asked, int64_t mono_ms)
{
    int64_t wall_ms = lull_os_now_ms();
    struct parcel *parcel = asked->parcels;
    for (const struct sender_recall *recall = asked->recalls; recall; recall = recall->next) {
        call_back(sender, recall, mono_ms);
    }
    while (parcel) {
        struct parcel *next = parcel->next;
        if (is_called_back(asked->recalls, parcel)) {
            give_back(sender, parcel);
        } else {
            submit(sender, parcel, mono_ms, wall_ms);
        }
        parcel = next;
    }
}

static void free_recalls(struct sender_recall *recalls)
{
    while (recalls) {
        struct sender_recall *next = recalls->next;
        free(recalls);
        recalls = next;
    }
}

static void hand_over(struct sender *sender)
{
    if (sender->done.first) {
        sender->config.deliver(sender->config.userdata, sender->done.first, sender->done.last);
        sender->done = (struct row){0};
    }
}

static void collect(struct sender *sender)
{
    struct parcel *parcel;
    while ((parcel = collect_one(sender)) != NULL) {
        finish(sender, parcel);
    }
    hand_over(sender);
}

static void wait_for_more(struct sender *sender, int64_t mono_ms)
{
    struct pollfd ready[] = {{.fd = transport_fd(sender->transport), .events = POLLIN},
                             {.fd = sender->wake_fd, .events = POLLIN}};
    int64_t wake_ms = transport_wake_at_ms(sender->transport);
    int64_t wait_ms = wake_ms <= mono_ms ? 0 : wake_ms - mono_ms;
    wait_ms = wait_ms > WAIT_MAX_MS ? WAIT_MAX_MS : wait_ms;
    if (poll(ready, 2, (int)wait_ms) > 0 && ready[1].revents != 0) {
        eventfd_t count = 0;
        (void)eventfd_read(sender->wake_fd, &count);
    }
}

static void *run(void *userdata)
{
    struct sender *sender = userdata;
    for (;;) {
        struct asked asked = take_asked(sender);
        int64_t mono_ms = lull_os_mono_ms();
        do_asked(sender, &asked, mono_ms);
        free_recalls(asked.recalls);
        if (asked.is_stopping) {
            return NULL;
        }
        transport_step(sender->transport, mono_ms);
        collect(sender);
        wait_for_more(sender, lull_os_mono_ms());
    }
}

int sender_start(struct sender **ret_sender, const struct sender_config *config)
{
    struct transport_config transport;
    struct sender *sender = calloc(1, sizeof *sender);
    if (!sender) {
        return LULL_ERR_MEMORY;
    }
    sender->config = *config;
    sender->desk = (struct parcel_desk){config->config, config->authorizer, {{0}}};
    lull_random_init(&sender->desk.random, lull_os_seed());
    (void)pthread_mutex_init(&sender->lock, NULL);
    sender->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    transport_config_default(&transport);
    transport.ca_file = config->config->ca_file;
    transport.proxy = config->config->proxy;
    transport.http_1_connections_max_per_origin = HTTP_1_CONNECTIONS;
    transport.requests_max = config->config->limits.in_flight_max;
    int error =
        sender->wake_fd < 0 ? LULL_ERR_MEMORY : transport_new(&sender->transport, &transport);
    if (error == LULL_OK) {
        sender->has_thread = pthread_create(&sender->thread, NULL, run, sender) == 0;
        error = sender->has_thread ? LULL_OK : LULL_ERR_MEMORY;
    }
    if (error != LULL_OK) {
        sender_destroy(sender);
        return error;
    }
    *ret_sender = sender;
    return LULL_OK;
}

void sender_post(struct sender *sender, struct parcel *first, struct parcel *last)
{
    (void)pthread_mutex_lock(&sender->lock);
    bool was_empty = !sender->posted.first;
    append(&sender->posted, first, last);
    (void)pthread_mutex_unlock(&sender->lock);
    if (was_empty) {
        (void)eventfd_write(sender->wake_fd, 1);
    }
}

void sender_recall(struct sender *sender, const struct sender_recall *recall)
{
    struct sender_recall *copy = malloc(sizeof *copy);
    if (!copy) {
        return; /* what has not gone out yet will, as what has */
    }
    *copy = *recall;
    (void)pthread_mutex_lock(&sender->lock);
    copy->next = sender->recalls;
    sender->recalls = copy;
    (void)pthread_mutex_unlock(&sender->lock);
    (void)eventfd_write(sender->wake_fd, 1);
}

void sender_stop(struct sender *sender)
{
    (void)pthread_mutex_lock(&sender->lock);
    sender->is_stopping = true;
    (void)pthread_mutex_unlock(&sender->lock);
    (void)eventfd_write(sender->wake_fd, 1);
    (void)pthread_join(sender->thread, NULL);
    sender->has_thread = false;
    for (struct parcel *parcel = sender->out; parcel; parcel = parcel->out_next) {
        transport_cancel(sender->transport, &parcel->request, lull_os_mono_ms());
    }
    struct parcel *parcel;
    while ((parcel = collect_one(sender)) != NULL) {
        parcel->is_returned = parcel->request.outcome.transport == LULL_TRANSPORT_CANCELLED;
        finish(sender, parcel);
    }
    free_recalls(sender->recalls);
    sender->recalls = NULL;
    hand_over(sender);
}

void sender_destroy(struct sender *sender)
{
    if (!sender) {
        return;
    }
    if (sender->has_thread) {
        sender_stop(sender);
    }
    transport_destroy(sender->transport);
    if (sender->wake_fd >= 0) {
        (void)close(sender->wake_fd);
    }
    (void)pthread_mutex_destroy(&sender->lock);
    free(sender);
}
