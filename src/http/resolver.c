/*
 * resolver - see the header. SPDX-License-Identifier: MIT
 *
 * A look-up is in one list at a time, or with a thread:
 *
 *   lookup_start --> queued --> with a thread, in no list --> done --> on_done
 *              \____________________________________________/
 *                          an address in writing
 *
 * Whoever finds it in a list may free it. With a thread it can only be marked as cancelled, and the
 * thread frees it. In the same way the resolver belongs to its owner and to each of its threads,
 * and the last one to let go frees it: so nobody ever waits for getaddrinfo, which can take
 * minutes.
 */
#include "resolver.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lull/duration.h"
#include "lull/error.h"
#include "lull/os.h"

/* A burst of look-ups shares its threads; between two bursts there are none. */
#define IDLE_MAX_MS LULL_SECONDS(5)

struct lookup_list {
    struct lookup *first;
    struct lookup *last;
    size_t count;
};

struct lookup {
    struct resolver *resolver;
    struct lookup_list *list; /* NULL: a thread has it */
    struct lookup *next;
    struct lookup *previous;
    bool is_cancelled;
    void (*on_done)(void *userdata, const struct lookup_result *result, int64_t now_ms);
    void *userdata;
    struct lookup_result result;
    uint16_t port;
    char host[];
};

struct resolver {
    /* The owner's; a thread only writes to the watch's descriptor. */
    struct poller *poller;
    struct watch watch; /* readable: something is done */

    pthread_mutex_t lock; /* of all that follows, and of the look-ups in the lists */
    pthread_cond_t has_work;
    struct lookup_list queued;
    struct lookup_list done;
    size_t thread_count;
    size_t idle_count; /* of those, waiting for work */
    size_t references; /* the owner's, one of each thread, one while on_done is called */
    bool is_closed;    /* the owner's is gone */
};

/* ---- lists, under the lock ---- */

static void append(struct lookup_list *list, struct lookup *lookup)
{
    lookup->list = list;
    lookup->next = NULL;
    lookup->previous = list->last;
    if (list->last) {
        list->last->next = lookup;
    } else {
        list->first = lookup;
    }
    list->last = lookup;
    list->count++;
}

static void take_out(struct lookup *lookup)
{
    struct lookup_list *list = lookup->list;
    if (lookup->previous) {
        lookup->previous->next = lookup->next;
    } else {
        list->first = lookup->next;
    }
    if (lookup->next) {
        lookup->next->previous = lookup->previous;
    } else {
        list->last = lookup->previous;
    }
    list->count--;
    lookup->list = NULL;
}

/* NULL: the list is empty. */
static struct lookup *take_first(struct lookup_list *list)
{
    struct lookup *first = list->first;
    if (first) {
        take_out(first);
    }
    return first;
}

static void free_all(struct lookup_list *list)
{
    struct lookup *next = NULL;
    for (struct lookup *lookup = list->first; lookup; lookup = next) {
        next = lookup->next;
        free(lookup);
    }
    *list = (struct lookup_list){0};
}

/* Under the lock too, so that the owner sees the look-up once it sees the event. */
static void append_done(struct resolver *resolver, struct lookup *lookup)
{
    append(&resolver->done, lookup);
    (void)eventfd_write(resolver->watch.fd, 1);
}

/* ---- one look-up, without the lock ---- */

static bool is_ip(const struct addrinfo *info)
{
    return info->ai_family == AF_INET || info->ai_family == AF_INET6;
}

/* How many of a family are kept: if there are too many, each family has at least one half, so that
 * a name with many addresses of the one can still be reached by the other. */
static size_t share(size_t others)
{
    return ADDRESSES_MAX - (others < ADDRESSES_MAX / 2 ? others : ADDRESSES_MAX / 2);
}

static void copy_addresses(const struct addrinfo *list, uint16_t port,
                           struct addresses *ret_addresses)
{
    size_t found[2] = {0, 0}; /* IPv4, IPv6 */
    size_t kept[2] = {0, 0};
    ret_addresses->count = 0;
    for (const struct addrinfo *info = list; info; info = info->ai_next) {
        found[info->ai_family == AF_INET6] += is_ip(info);
    }
    for (const struct addrinfo *info = list; info; info = info->ai_next) {
        bool is_v6 = info->ai_family == AF_INET6;
        if (!is_ip(info) || kept[is_v6] >= share(found[!is_v6])) {
            continue;
        }
        union socket_address *address = &ret_addresses->list[ret_addresses->count++];
        *address = (union socket_address){0};
        memcpy(address, info->ai_addr, is_v6 ? sizeof address->v6 : sizeof address->v4);
        if (is_v6) {
            address->v6.sin6_port = htons(port);
        } else {
            address->v4.sin_port = htons(port);
        }
        kept[is_v6]++;
    }
}

/* Without AI_ADDRCONFIG, which does not count loopback and would hide ::1 on a machine that has no
 * other IPv6. An address that cannot be reached costs the connector one system call. */
static int ask_system(const char *host, uint16_t port, int flags, struct addresses *ret_addresses)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    struct addrinfo *list = NULL;
    int error = getaddrinfo(host, NULL, &hints, &list);
    if (error == 0) {
        copy_addresses(list, port, ret_addresses);
        freeaddrinfo(list);
    }
    return error;
}

static void resolve(struct lookup *lookup)
{
    struct lookup_result *result = &lookup->result;
    int error = ask_system(lookup->host, lookup->port, 0, &result->addresses);
    int system_error = errno;
    if (error == 0 && result->addresses.count == 0) {
        error = EAI_NODATA;
    }
    if (error == 0) {
        result->transport = LULL_TRANSPORT_NONE;
    } else if (error == EAI_NONAME || error == EAI_NODATA) {
        result->transport = LULL_TRANSPORT_DNS_NOT_FOUND;
        result->detail = gai_strerror(error);
    } else {
        const char *why = error == EAI_SYSTEM ? strerrordesc_np(system_error) : NULL;
        result->transport = LULL_TRANSPORT_DNS;
        result->detail = why ? why : gai_strerror(error);
    }
}

/* ---- who it belongs to ---- */

static void let_go(struct resolver *resolver)
{
    pthread_mutex_lock(&resolver->lock);
    bool is_last = --resolver->references == 0;
    pthread_mutex_unlock(&resolver->lock);
    if (is_last) {
        (void)close(resolver->watch.fd);
        pthread_cond_destroy(&resolver->has_work);
        pthread_mutex_destroy(&resolver->lock);
        free(resolver);
    }
}

/* ---- threads ---- */

/* Under the lock. False: it has timed out. */
static bool wait_for_work(struct resolver *resolver)
{
    int64_t until_ms = lull_os_mono_ms() + IDLE_MAX_MS;
    struct timespec until = {.tv_sec = until_ms / 1000, .tv_nsec = until_ms % 1000 * 1000000};
    int error = 0;
    resolver->idle_count++;
    while (error == 0 && !resolver->queued.first && !resolver->is_closed) {
        error = pthread_cond_timedwait(&resolver->has_work, &resolver->lock, &until);
    }
    resolver->idle_count--;
    return resolver->queued.first != NULL;
}

static void *work(void *argument)
{
    struct resolver *resolver = argument;
    pthread_mutex_lock(&resolver->lock);
    while (!resolver->is_closed && (resolver->queued.first || wait_for_work(resolver))) {
        struct lookup *lookup = take_first(&resolver->queued);
        pthread_mutex_unlock(&resolver->lock);
        resolve(lookup);
        pthread_mutex_lock(&resolver->lock);
        if (lookup->is_cancelled || resolver->is_closed) {
            free(lookup);
        } else {
            append_done(resolver, lookup);
        }
    }
    resolver->thread_count--;
    pthread_mutex_unlock(&resolver->lock);
    let_go(resolver);
    return NULL;
}

/* Under the lock. The program's signals are for its own threads. */
static bool begin_thread(struct resolver *resolver)
{
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool is_begun = pthread_create(&thread, NULL, work, resolver) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (is_begun) {
        (void)pthread_detach(thread);
        resolver->thread_count++;
        resolver->references++;
    }
    return is_begun;
}

/* Under the lock. False: there is no thread, and none can be begun. */
static bool enqueue(struct resolver *resolver, struct lookup *lookup)
{
    bool is_thread_wanted = resolver->queued.count + 1 > resolver->idle_count &&
                            resolver->thread_count < RESOLVER_THREADS_MAX;
    if (is_thread_wanted && !begin_thread(resolver) && resolver->thread_count == 0) {
        return false;
    }
    append(&resolver->queued, lookup);
    pthread_cond_signal(&resolver->has_work);
    return true;
}

/* ---- the owner's side ---- */

/* At most as many as there were: an on_done that starts the next look-up of an address in writing
 * must not keep the loop from everything else. */
static void tell_owner(struct watch *watch, uint32_t events, int64_t now_ms)
{
    struct resolver *resolver = owner_of(watch, struct resolver, watch);
    eventfd_t ignored = 0;
    (void)events;
    (void)eventfd_read(watch->fd, &ignored);
    pthread_mutex_lock(&resolver->lock);
    resolver->references++; /* on_done may destroy it */
    for (size_t left = resolver->done.count; left > 0 && resolver->done.first; left--) {
        struct lookup *lookup = take_first(&resolver->done);
        pthread_mutex_unlock(&resolver->lock);
        lookup->on_done(lookup->userdata, &lookup->result, now_ms);
        free(lookup);
        pthread_mutex_lock(&resolver->lock);
    }
    pthread_mutex_unlock(&resolver->lock);
    let_go(resolver);
}

int resolver_new(struct resolver **ret_resolver, struct poller *poller)
{
    struct resolver *resolver = calloc(1, sizeof *resolver);
    if (!resolver) {
        return LULL_ERR_MEMORY;
    }
    resolver->poller = poller;
    resolver->references = 1;
    resolver->watch = (struct watch){
        .fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), .events = EPOLLIN, .on_ready = tell_owner};
    if (resolver->watch.fd < 0) {
        free(resolver);
        return LULL_ERR_MEMORY;
    }
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&resolver->has_work, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&resolver->lock, NULL);
    if (!poller_add(poller, &resolver->watch)) {
        let_go(resolver);
        return LULL_ERR_MEMORY;
    }
    *ret_resolver = resolver;
    return LULL_OK;
}

void resolver_destroy(struct resolver *resolver)
{
    if (!resolver) {
        return;
    }
    poller_remove(resolver->poller, &resolver->watch);
    pthread_mutex_lock(&resolver->lock);
    resolver->is_closed = true;
    free_all(&resolver->queued);
    free_all(&resolver->done);
    pthread_cond_broadcast(&resolver->has_work);
    pthread_mutex_unlock(&resolver->lock);
    let_go(resolver);
}

struct lookup *lookup_start(struct resolver *resolver, const char *host, uint16_t port,
                            void (*on_done)(void *userdata, const struct lookup_result *result,
                                            int64_t now_ms),
                            void *userdata)
{
    size_t host_size = strlen(host) + 1;
    struct lookup *lookup = calloc(1, sizeof *lookup + host_size);
    if (!lookup) {
        return NULL;
    }
    lookup->resolver = resolver;
    lookup->on_done = on_done;
    lookup->userdata = userdata;
    lookup->port = port;
    memcpy(lookup->host, host, host_size);
    bool is_in_writing = ask_system(host, port, AI_NUMERICHOST, &lookup->result.addresses) == 0;
    pthread_mutex_lock(&resolver->lock);
    bool is_started = true;
    if (is_in_writing) {
        append_done(resolver, lookup);
    } else {
        is_started = enqueue(resolver, lookup);
    }
    pthread_mutex_unlock(&resolver->lock);
    if (!is_started) {
        free(lookup);
        return NULL;
    }
    return lookup;
}

void lookup_cancel(struct lookup *lookup)
{
    struct resolver *resolver = lookup->resolver;
    pthread_mutex_lock(&resolver->lock);
    if (lookup->list) {
        take_out(lookup);
        free(lookup);
    } else {
        lookup->is_cancelled = true;
    }
    pthread_mutex_unlock(&resolver->lock);
}
