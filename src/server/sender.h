/*
 * sender - a thread with a transport: parcels in, outcomes back.
 *
 *   sender_start -> sender_post ... -> sender_stop (all that is out comes back) -> sender_destroy
 *
 * What comes back is handed to `deliver` in one chain, on the sender's thread. A parcel is the
 * sender's from post until then; its outcome points into it.
 */
#ifndef LULL_SERVER_SENDER_H
#define LULL_SERVER_SENDER_H

#include "parcel.h"

struct sender_config {
    const struct config *config; /* borrowed, as all of these */
    struct authorizer *authorizer;
    void *userdata;
    void (*deliver)(void *userdata, struct parcel *first, struct parcel *last);
};

struct sender;

/* LULL_ERR_RANGE: a ca_file that cannot be read; LULL_ERR_MEMORY. */
int sender_start(struct sender **ret_sender, const struct sender_config *config);

/* A chain of parcels, from another thread. */
void sender_post(struct sender *sender, struct parcel *first, struct parcel *last);

/* What is not on a connection yet, of this target, or of this service with is_service, comes back
 * with is_returned. From another thread. */
struct sender_recall {
    struct sender_recall *next;
    uint64_t target;
    uint32_t service;
    bool is_service;
};
void sender_recall(struct sender *sender, const struct sender_recall *recall);

/* Ends what is out: each comes back with its status, or with is_returned. No post after this. */
void sender_stop(struct sender *sender);
void sender_destroy(struct sender *sender); /* after stop; NULL is fine */

#endif
