/*
 * job - what other threads ask of the engine's thread, which alone touches engine and store.
 *
 * A job is the asker's memory from server_submit until its done has been called, once, on the
 * engine's thread: done must be quick and never block. It may free the job.
 */
#ifndef LULL_SERVER_JOB_H
#define LULL_SERVER_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delivery.h"
#include "store.h"

enum job_kind {
    JOB_PUT,
    JOB_CANCEL,
    JOB_FIND,
    JOB_LIST,
    JOB_STATUS,
};

struct job {
    enum job_kind kind;
    struct job *next;
    void (*done)(struct job *job);
    void *userdata;
};

/* A new message. */
struct job_put {
    struct job job;
    struct delivery_put put; /* put.put.message and the idempotency key are filled in */
    char service[256];       /* its service's name; the number is looked up */
    size_t service_length;
    int error; /* LULL_OK: see put.put.ret_result; STORE_ERR_..., LULL_ERR_FULL (services) */
};

struct job_cancel {
    struct job job;
    struct delivery_cancel cancel;
    enum delivery_cancelled how;
    int error; /* a store's, or the server is about to stop: then nothing of it was done */
};

/* One that has left the store, while it is remembered. */
struct departed {
    uint64_t id;
    int64_t at_ms;
    uint32_t attempts;
    uint16_t status;
    bool is_replaced; /* else it was delivered */
    uint64_t replaced_by;
    struct message *message; /* of one that was delivered, without its body; or NULL */
};

enum job_found {
    JOB_FOUND,    /* message is a copy, the asker's: message_free */
    JOB_DEPARTED, /* departed says how; message is a copy of its own, the asker's, or NULL */
    JOB_GONE,     /* it was delivered or replaced, longer ago than is remembered */
    JOB_UNKNOWN,  /* there never was such an id */
};

/* Why a message that is due has not gone: the gate of its service (Q10). */
struct job_gate {
    char service[256];
    enum gate_stop stop;
    int64_t until_ms;
    uint64_t waiting;
    uint64_t leased;
};

struct job_find {
    struct job job;
    uint64_t id;
    enum job_found found;
    struct message *message;
    struct departed departed;
    struct job_gate gate; /* of its service, where found is FOUND */
    int error;
};

struct job_list {
    struct job job;
    struct store_filter filter; /* service is set by service_name, if that is not "" */
    char service_name[256];
    struct message **list;  /* room for filter.limit; copies, the asker's */
    struct job_gate *gates; /* room for as many: of the service of each */
    size_t count;
    uint64_t after;
    int error;
};

/* Totals since the program started. */
struct totals {
    uint64_t accepted;
    uint64_t repeated; /* by idempotency key */
    uint64_t replaced; /* by topic */
    uint64_t attempts;
    uint64_t retries;
    uint64_t delivered;
    uint64_t dead[LULL_REASONS];
    uint64_t commits;
    uint64_t lost_leases;
};

struct job_status {
    struct job job;
    struct store_stats store;
    struct engine_stats engine;
    struct totals totals;
    struct job_gate *services; /* for free() */
    size_t service_count;
    int64_t started_ms;
    bool is_draining;
    bool is_disk_full;
    int error;
};

#endif
