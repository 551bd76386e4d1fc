/* server_parts - what the files of the server share; nobody else's. */
#ifndef LULL_SERVER_SERVER_PARTS_H
#define LULL_SERVER_SERVER_PARTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "authorizer.h"
#include "delivery.h"
#include "departed.h"
#include "policy_shelf.h"
#include "sender.h"
#include "server.h"
#include "steady.h"

#define SERVER_SENDERS_MAX 64

struct parcel_row {
    struct parcel *first;
    struct parcel *last;
};

/* What /metrics tells, copied from time to time. */
struct server_figures {
    struct totals totals;
    struct store_stats store;
    struct delivery_stats delivery;
    uint64_t attempts_by_class[LULL_CLASSES];
    int64_t now_ms;
};

struct server {
    const struct config *config;
    struct lull_vapid_ring *ring;
    struct authorizer *authorizer;
    struct store *store;
    struct delivery *delivery;
    struct sender *senders[SERVER_SENDERS_MAX];
    uint32_t sender_count;
    struct api *api;
    struct api_health health;
    int64_t started_ms;

    /* Between threads. */
    pthread_mutex_t lock; /* around what follows, up to the next comment */
    pthread_cond_t changed;
    struct job *jobs;
    struct job **jobs_end;
    struct parcel_row returned;
    enum server_state state;
    bool is_stopping;
    struct server_figures figures;
    int wake_fd;
    atomic_bool is_draining;
    _Atomic int64_t steady_offset_ms; /* of the engine's clock from the monotonic one */

    /* The engine's thread. */
    pthread_t thread;
    bool has_thread;
    struct steady steady;
    struct policy_shelf policies;
    struct departed_list departed;
    struct parcel *idle; /* parcels to be used again */
    struct parcel_row outgoing[SERVER_SENDERS_MAX];
    struct totals totals;
    uint64_t attempts_by_class[LULL_CLASSES];
    int64_t figures_ms; /* when they are copied next */
    bool is_drain_told;
    bool was_disk_full;
};

/* The callbacks of the delivery. */
struct delivery_host server_host(struct server *server);

/* A job that has come: done at once, or by the delivery's next step. */
void server_do(struct server *server, struct job *job, int64_t now_ms);

/* What became of a parcel. */
void server_take_back(struct server *server, struct parcel *parcel, int64_t now_ms);

/* For the API: the text of /metrics. */
size_t server_metrics(void *userdata, char **ret_text);

#endif
