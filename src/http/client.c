/* client - see the header. SPDX-License-Identifier: MIT */
#include "client.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lull/destination.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/os.h"
#include "multi.h"
#include "origin.h"

#define ATTEMPT_HEADER_MAX 64

/* How many idle multis keep their connections open for the next blocking call. */
#define IDLE_MAX 64

struct lull_client {
    pthread_mutex_t lock; /* for all that is not said to be fixed */
    struct lull_destination_table destinations;
    struct lull_random random;
    _Atomic(struct lull_multi *) idle_first; /* without the lock */
    struct lull_multi *idle[IDLE_MAX];
    size_t idle_count;
    struct lull_client_config config;        /* fixed */
    char attempt_header[ATTEMPT_HEADER_MAX]; /* fixed */
    char *ca_file;                           /* fixed */
    CURLSH *share;                           /* fixed; with the locks below */
    pthread_mutex_t share_locks[CURL_LOCK_DATA_LAST];
};

void lull_client_config_default(struct lull_client_config *config)
{
    *config = (struct lull_client_config){
        .has_budget = true,
        .has_breaker = true,
        .destinations_max = 256,
        .attempt_header = "Lull-Attempt",
        .hedge_permille = 950,
        .hedge_samples_min = 20,
    };
    (void)lull_policy_named(&config->policy, "client");
    lull_budget_config_default(&config->budget);
    lull_breaker_config_default(&config->breaker);
}

static void lock_share(CURL *easy, curl_lock_data data, curl_lock_access access, void *userdata)
{
    (void)easy;
    (void)access;
    struct lull_client *client = userdata;
    pthread_mutex_lock(&client->share_locks[data]);
}

static void unlock_share(CURL *easy, curl_lock_data data, void *userdata)
{
    (void)easy;
    struct lull_client *client = userdata;
    pthread_mutex_unlock(&client->share_locks[data]);
}

static bool init_share(struct lull_client *client)
{
    client->share = curl_share_init();
    for (size_t i = 0; i < CURL_LOCK_DATA_LAST; i++) {
        pthread_mutex_init(&client->share_locks[i], NULL);
    }
    return client->share &&
           curl_share_setopt(client->share, CURLSHOPT_LOCKFUNC, lock_share) == CURLSHE_OK &&
           curl_share_setopt(client->share, CURLSHOPT_UNLOCKFUNC, unlock_share) == CURLSHE_OK &&
           curl_share_setopt(client->share, CURLSHOPT_USERDATA, client) == CURLSHE_OK &&
           curl_share_setopt(client->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_DNS) == CURLSHE_OK &&
           curl_share_setopt(client->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION) ==
               CURLSHE_OK;
}

int lull_client_new(struct lull_client **ret_client, const struct lull_client_config *config)
{
    struct lull_client_config usual;
    lull_client_config_default(&usual);
    config = config ? config : &usual;
    const char *header = config->attempt_header ? config->attempt_header : "";
    if (lull_policy_validate(&config->policy, NULL) != LULL_OK || config->hedge_permille > 1000 ||
        strlen(header) >= ATTEMPT_HEADER_MAX || config->destinations_max == 0 ||
        config->destinations_max > 1000000) {
        return LULL_ERR_RANGE;
    }
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return LULL_ERR_MEMORY;
    }
    struct lull_client *client = calloc(1, sizeof *client);
    struct lull_destination *slots = calloc(config->destinations_max, sizeof *slots);
    int error = LULL_ERR_MEMORY;
    if (client && slots) {
        error = lull_destination_table_init(&client->destinations, &config->budget,
                                            &config->breaker, slots, config->destinations_max);
    }
    if (error != LULL_OK) {
        free(slots);
        free(client);
        curl_global_cleanup();
        return error;
    }
    pthread_mutex_init(&client->lock, NULL);
    client->config = *config;
    memcpy(client->attempt_header, header, strlen(header) + 1);
    lull_random_init(&client->random, lull_os_seed());
    client->ca_file = config->ca_file ? strdup(config->ca_file) : NULL;
    if (!init_share(client) || !client->ca_file != !config->ca_file) {
        lull_client_destroy(client);
        return LULL_ERR_MEMORY;
    }
    *ret_client = client;
    return LULL_OK;
}

void lull_client_destroy(struct lull_client *client)
{
    if (!client) {
        return;
    }
    lull_multi_destroy(atomic_load(&client->idle_first));
    for (size_t i = 0; i < client->idle_count; i++) {
        lull_multi_destroy(client->idle[i]);
    }
    if (client->share) {
        curl_share_cleanup(client->share);
    }
    for (size_t i = 0; i < CURL_LOCK_DATA_LAST; i++) {
        pthread_mutex_destroy(&client->share_locks[i]);
    }
    pthread_mutex_destroy(&client->lock);
    free(client->destinations.slots);
    free(client->ca_file);
    free(client);
    curl_global_cleanup();
}

/* ---- the destinations ---- */

static struct lull_destination *enter(struct lull_client *client, uint64_t key, int64_t mono_ms)
{
    pthread_mutex_lock(&client->lock);
    return lull_destination_get(&client->destinations, key, mono_ms);
}

static void leave(struct lull_client *client)
{
    pthread_mutex_unlock(&client->lock);
}

int64_t client_ask(struct lull_client *client, uint64_t key, int64_t mono_ms, bool is_first,
                   struct lull_breaker_permit *ret_permit)
{
    int64_t wait_ms = 0;
    *ret_permit = (struct lull_breaker_permit){0};
    struct lull_destination *destination = enter(client, key, mono_ms);
    if (is_first) {
        lull_budget_on_request(&destination->budget, mono_ms);
    }
    if (client->config.has_breaker) {
        wait_ms = lull_breaker_ask(&destination->breaker, mono_ms, &client->random, ret_permit);
    }
    leave(client);
    return wait_ms;
}

uint64_t client_draw(struct lull_client *client)
{
    pthread_mutex_lock(&client->lock);
    uint64_t drawn = lull_random_next(&client->random);
    leave(client);
    return drawn;
}

void client_report(struct lull_client *client, uint64_t key, int64_t mono_ms,
                   struct lull_breaker_permit permit, enum lull_class class_,
                   int64_t retry_after_ms, int64_t latency_us)
{
    struct lull_destination *destination = enter(client, key, mono_ms);
    if (client->config.has_breaker) {
        (void)lull_breaker_report(&destination->breaker, mono_ms, permit,
                                  lull_breaker_result_of(class_), retry_after_ms, &client->random);
    }
    if (class_ == LULL_CLASS_SUCCESS) {
        lull_budget_on_success(&destination->budget, mono_ms);
        if (latency_us >= 0) {
            lull_latency_add(&destination->latency, latency_us);
        }
    }
    leave(client);
}

void client_inspect_for_retry(struct lull_client *client, uint64_t key, int64_t mono_ms,
                              bool was_timeout, struct lull_facts *facts)
{
    struct lull_destination *destination = enter(client, key, mono_ms);
    facts->is_circuit_open = client->config.has_breaker &&
                             lull_breaker_wait(&destination->breaker, mono_ms, &client->random) > 0;
    facts->is_budget_exhausted = client->config.has_budget &&
                                 lull_budget_wait(&destination->budget, mono_ms, was_timeout) > 0;
    leave(client);
}

bool client_take_retry(struct lull_client *client, uint64_t key, int64_t mono_ms, bool was_timeout)
{
    if (!client->config.has_budget) {
        return true;
    }
    struct lull_destination *destination = enter(client, key, mono_ms);
    int64_t wait_ms = lull_budget_take(&destination->budget, mono_ms, was_timeout);
    leave(client);
    return wait_ms == 0;
}

int64_t client_hedge_delay_ms(struct lull_client *client, uint64_t key, int64_t mono_ms)
{
    struct lull_destination *destination = enter(client, key, mono_ms);
    int64_t us = lull_latency_percentile(&destination->latency, client->config.hedge_permille,
                                         client->config.hedge_samples_min);
    leave(client);
    return us < 0 ? LULL_NEVER : (us + 999) / 1000;
}

bool client_take_hedge(struct lull_client *client, uint64_t key, int64_t mono_ms,
                       struct lull_breaker_permit *ret_permit)
{
    struct lull_destination *destination = enter(client, key, mono_ms);
    *ret_permit = (struct lull_breaker_permit){0};
    bool is_closed = true;
    if (client->config.has_breaker) {
        is_closed =
            lull_breaker_tick(&destination->breaker, mono_ms, &client->random) ==
                LULL_BREAKER_CLOSED &&
            lull_breaker_ask(&destination->breaker, mono_ms, &client->random, ret_permit) == 0;
    }
    bool is_paid = is_closed && (!client->config.has_budget ||
                                 lull_budget_take(&destination->budget, mono_ms, false) == 0);
    leave(client);
    return is_paid;
}

struct lull_destination_state lull_client_inspect(struct lull_client *client, const char *url)
{
    int64_t mono_ms = lull_os_mono_ms();
    struct lull_destination *destination = enter(client, origin_of(url).key, mono_ms);
    struct lull_destination_state state = {
        .breaker = lull_breaker_tick(&destination->breaker, mono_ms, &client->random),
        .breaker_wait_ms = lull_breaker_wait(&destination->breaker, mono_ms, &client->random),
        .budget_left = lull_budget_left(&destination->budget, mono_ms),
        .p95_us = lull_latency_percentile(&destination->latency, 950, 1),
    };
    leave(client);
    return state;
}

/* ---- what is fixed, and the idle multis ---- */

const struct lull_policy *client_policy(const struct lull_client *client)
{
    return &client->config.policy;
}

const char *client_ca_file(const struct lull_client *client)
{
    return client->ca_file;
}

const char *client_attempt_header(const struct lull_client *client)
{
    return client->attempt_header;
}

CURLSH *client_share(const struct lull_client *client)
{
    return client->share;
}

struct lull_multi *client_take_multi(struct lull_client *client)
{
    struct lull_multi *multi = atomic_exchange(&client->idle_first, NULL);
    if (multi) {
        return multi;
    }
    pthread_mutex_lock(&client->lock);
    if (client->idle_count > 0) {
        multi = client->idle[--client->idle_count];
    }
    leave(client);
    return multi;
}

void client_give_multi(struct lull_client *client, struct lull_multi *multi)
{
    struct lull_multi *none = NULL;
    if (atomic_compare_exchange_strong(&client->idle_first, &none, multi)) {
        return;
    }
    pthread_mutex_lock(&client->lock);
    if (client->idle_count < IDLE_MAX) {
        client->idle[client->idle_count++] = multi;
        multi = NULL;
    }
    leave(client);
    lull_multi_destroy(multi);
}
