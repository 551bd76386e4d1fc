/* cancel - see the header. SPDX-License-Identifier: MIT */
#include "cancel.h"

#include <pthread.h>
#include <stdlib.h>

#include "multi.h"

struct lull_cancel {
    pthread_mutex_t lock;
    bool is_signalled;
    struct call *calls;
};

struct lull_cancel *lull_cancel_new(void)
{
    struct lull_cancel *cancel = calloc(1, sizeof *cancel);
    if (cancel) {
        pthread_mutex_init(&cancel->lock, NULL);
    }
    return cancel;
}

void lull_cancel_destroy(struct lull_cancel *cancel)
{
    if (cancel) {
        pthread_mutex_destroy(&cancel->lock);
        free(cancel);
    }
}

static void mark(struct call *call)
{
    atomic_store(&call->is_cancelled, true);
    multi_wake(call->multi);
}

void lull_cancel_signal(struct lull_cancel *cancel)
{
    pthread_mutex_lock(&cancel->lock);
    cancel->is_signalled = true;
    for (struct call *call = cancel->calls; call; call = call->next_cancelled_by) {
        mark(call);
    }
    pthread_mutex_unlock(&cancel->lock);
}

void cancel_add(struct call *call)
{
    struct lull_cancel *cancel = call->request.cancel;
    if (!cancel) {
        return;
    }
    pthread_mutex_lock(&cancel->lock);
    call->next_cancelled_by = cancel->calls;
    if (cancel->calls) {
        cancel->calls->previous_cancelled_by = call;
    }
    cancel->calls = call;
    if (cancel->is_signalled) {
        mark(call);
    }
    pthread_mutex_unlock(&cancel->lock);
}

void cancel_remove(struct call *call)
{
    struct lull_cancel *cancel = call->request.cancel;
    if (!cancel) {
        return;
    }
    pthread_mutex_lock(&cancel->lock);
    if (call->previous_cancelled_by) {
        call->previous_cancelled_by->next_cancelled_by = call->next_cancelled_by;
    } else {
        cancel->calls = call->next_cancelled_by;
    }
    if (call->next_cancelled_by) {
        call->next_cancelled_by->previous_cancelled_by = call->previous_cancelled_by;
    }
    pthread_mutex_unlock(&cancel->lock);
}
