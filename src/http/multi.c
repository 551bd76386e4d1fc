/*
 * multi - the calls under way on one CURLM: their timers, their transfers, their end.
 *
 * Timers are a binary heap by due time, so a hundred thousand waiting calls cost one comparison a
 * step. Transfers are known by their place in a table, which curl keeps as CURLOPT_PRIVATE; a
 * message is ours if that place holds that very handle, so other transfers on the caller's CURLM
 * may have any PRIVATE.
 *
 * SPDX-License-Identifier: MIT
 */
#include "multi.h"

#include <stdlib.h>
#include <string.h>

#include "cancel.h"
#include "client.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/os.h"

struct lull_multi {
    struct lull_client *client;
    struct lull_multi_config config;
    CURLM *curl;
    bool is_curl_ours;
    struct call *calls;
    size_t count;
    struct call **heap; /* count of them have a place, those with due_ms LULL_NEVER too */
    size_t heap_count;
    size_t heap_size;
    struct transfer **transfers;
    size_t transfer_count;
    struct transfer **free_transfers; /* as long as transfers */
    size_t free_count;
    bool is_fresh; /* a transfer was started */
    char last_url[256];
    struct origin last_origin; /* of last_url */
    struct call *spare;        /* the memory of the last call, for the next */
    atomic_bool is_any_cancelled;
};

/* ---- the heap ---- */

static void place(struct lull_multi *multi, struct call *call, size_t index)
{
    multi->heap[index] = call;
    call->heap_index = index;
}

static void sift(struct lull_multi *multi, struct call *call, size_t index)
{
    while (index > 0 && multi->heap[(index - 1) / 2]->due_ms > call->due_ms) {
        place(multi, multi->heap[(index - 1) / 2], index);
        index = (index - 1) / 2;
    }
    for (;;) {
        size_t child = index * 2 + 1;
        if (child + 1 < multi->heap_count &&
            multi->heap[child + 1]->due_ms < multi->heap[child]->due_ms) {
            child++;
        }
        if (child >= multi->heap_count || multi->heap[child]->due_ms >= call->due_ms) {
            break;
        }
        place(multi, multi->heap[child], index);
        index = child;
    }
    place(multi, call, index);
}

void multi_reschedule(struct lull_multi *multi, struct call *call, int64_t due_ms)
{
    call->due_ms = due_ms;
    sift(multi, call, call->heap_index);
}

static void heap_remove(struct lull_multi *multi, const struct call *call)
{
    struct call *last = multi->heap[--multi->heap_count];
    if (last != call) {
        sift(multi, last, call->heap_index);
    }
}

static bool heap_reserve(struct lull_multi *multi)
{
    if (multi->heap_count < multi->heap_size) {
        return true;
    }
    size_t size = multi->heap_size > 0 ? multi->heap_size * 2 : 8;
    struct call **moved = realloc(multi->heap, size * sizeof(struct call *));
    if (moved) {
        multi->heap = moved;
        multi->heap_size = size;
    }
    return moved != NULL;
}

/* ---- transfers ---- */

static bool transfers_reserve(struct lull_multi *multi)
{
    size_t size = multi->transfer_count + 1;
    if (multi->free_count > 0) {
        return true;
    }
    struct transfer **all = realloc(multi->transfers, size * sizeof(struct transfer *));
    if (!all) {
        return false;
    }
    multi->transfers = all;
    struct transfer **idle = realloc(multi->free_transfers, size * sizeof(struct transfer *));
    if (!idle) {
        return false;
    }
    multi->free_transfers = idle;
    struct transfer *transfer = calloc(1, sizeof *transfer);
    if (!transfer) {
        return false;
    }
    transfer->index = multi->transfer_count;
    multi->transfers[multi->transfer_count++] = transfer;
    multi->free_transfers[multi->free_count++] = transfer;
    return true;
}

struct transfer *multi_start(struct lull_multi *multi, struct call *call, bool is_hedge,
                             size_t attempt, int64_t mono_ms)
{
    if (!transfers_reserve(multi)) {
        return NULL;
    }
    struct transfer *transfer = multi->free_transfers[--multi->free_count];
    transfer->attempt = attempt;
    transfer->started_ms = mono_ms;
    if (transfer_prepare(transfer, call, is_hedge) &&
        curl_multi_add_handle(multi->curl, transfer->easy) == CURLM_OK) {
        multi->is_fresh = true;
        return transfer;
    }
    transfer_release(transfer);
    multi->free_transfers[multi->free_count++] = transfer;
    return NULL;
}

void multi_stop(struct lull_multi *multi, struct transfer *transfer)
{
    (void)curl_multi_remove_handle(multi->curl, transfer->easy);
    transfer_release(transfer);
    multi->free_transfers[multi->free_count++] = transfer;
}

size_t multi_take_fresh(struct lull_multi *multi)
{
    size_t out = multi->is_fresh ? multi->transfer_count - multi->free_count : 0;
    multi->is_fresh = false;
    return out;
}

struct origin multi_origin(struct lull_multi *multi, const char *url)
{
    if (strcmp(url, multi->last_url) == 0 && *url) {
        return multi->last_origin;
    }
    size_t length = strlen(url);
    multi->last_origin = origin_of(url);
    multi->last_url[0] = '\0';
    if (length < sizeof multi->last_url) {
        memcpy(multi->last_url, url, length + 1);
    }
    return multi->last_origin;
}

/* ---- its life ---- */

int lull_multi_new(struct lull_multi **ret_multi, struct lull_client *client,
                   const struct lull_multi_config *config)
{
    struct lull_multi *multi = calloc(1, sizeof *multi);
    if (!multi) {
        return LULL_ERR_MEMORY;
    }
    multi->client = client;
    multi->config = config ? *config : (struct lull_multi_config){0};
    multi->is_curl_ours = !multi->config.curl;
    multi->curl = multi->is_curl_ours ? curl_multi_init() : multi->config.curl;
    if (!multi->curl) {
        free(multi);
        return LULL_ERR_MEMORY;
    }
    *ret_multi = multi;
    return LULL_OK;
}

CURLM *lull_multi_curl(struct lull_multi *multi)
{
    return multi->curl;
}

size_t lull_multi_count(const struct lull_multi *multi)
{
    return multi->count;
}

/* Takes it out, and tells whoever waits for it. */
static void finish(struct lull_multi *multi, struct call *call)
{
    void (*on_done)(void *, struct lull_result *) = call->on_done;
    void *userdata = call->userdata;
    struct lull_result *result = call->result;
    cancel_remove(call);
    heap_remove(multi, call);
    if (call->previous) {
        call->previous->next = call->next;
    } else {
        multi->calls = call->next;
    }
    if (call->next) {
        call->next->previous = call->previous;
    }
    multi->count--;
    call_clean_up(call);
    call_free(multi->spare);
    multi->spare = call;
    on_done(userdata, result);
}

void lull_multi_destroy(struct lull_multi *multi)
{
    if (!multi) {
        return;
    }
    while (multi->calls) {
        call_on_cancel(multi->calls, lull_os_mono_ms());
        finish(multi, multi->calls);
    }
    for (size_t i = 0; i < multi->transfer_count; i++) {
        transfer_free(multi->transfers[i]);
    }
    if (multi->is_curl_ours) {
        (void)curl_multi_cleanup(multi->curl);
    }
    free(multi->transfers);
    free(multi->free_transfers);
    free(multi->heap);
    call_free(multi->spare);
    free(multi);
}

int lull_multi_add(struct lull_multi *multi, const struct lull_request *request,
                   void (*on_done)(void *userdata, struct lull_result *result), void *userdata)
{
    struct call *call = multi->spare ? multi->spare : calloc(1, sizeof *call);
    multi->spare = NULL;
    int error = call && heap_reserve(multi) ? call_init(call, multi, multi->client, request)
                                            : LULL_ERR_MEMORY;
    if (error != LULL_OK) {
        call_free(call);
        return error;
    }
    call->on_done = on_done;
    call->userdata = userdata;
    call->next = multi->calls;
    if (multi->calls) {
        multi->calls->previous = call;
    }
    multi->calls = call;
    multi->count++;
    sift(multi, call, multi->heap_count++);
    cancel_add(call);
    return LULL_OK;
}

void multi_wake(struct lull_multi *multi)
{
    atomic_store(&multi->is_any_cancelled, true);
    (void)curl_multi_wakeup(multi->curl);
    if (multi->config.wake) {
        multi->config.wake(multi->config.userdata);
    }
}

/* ---- a step ---- */

static struct transfer *find_transfer(struct lull_multi *multi, CURL *easy)
{
    char *place_plus_one = NULL;
    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &place_plus_one);
    size_t index = (size_t)place_plus_one - 1;
    bool is_ours = index < multi->transfer_count && multi->transfers[index]->easy == easy;
    return is_ours ? multi->transfers[index] : NULL;
}

static void finish_if_done(struct lull_multi *multi, struct call *call)
{
    if (call->state == CALL_DONE) {
        finish(multi, call);
    }
}

static void take_in_messages(struct lull_multi *multi, int64_t mono_ms)
{
    CURLMsg *message = NULL;
    int left = 0;
    while ((message = curl_multi_info_read(multi->curl, &left))) {
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        struct transfer *transfer = find_transfer(multi, message->easy_handle);
        if (transfer) {
            struct call *call = transfer->call;
            call_on_end(call, transfer, message->data.result, mono_ms);
            finish_if_done(multi, call);
        } else if (multi->config.on_other) {
            multi->config.on_other(multi->config.userdata, message);
        }
    }
}

static void stop_cancelled(struct lull_multi *multi, int64_t mono_ms)
{
    struct call *next = NULL;
    for (struct call *call = multi->calls; call; call = next) {
        next = call->next;
        if (atomic_load(&call->is_cancelled)) {
            call_on_cancel(call, mono_ms);
            finish_if_done(multi, call);
        }
    }
}

int64_t lull_multi_step(struct lull_multi *multi)
{
    int64_t mono_ms = lull_os_mono_ms();
    take_in_messages(multi, mono_ms);
    if (atomic_load_explicit(&multi->is_any_cancelled, memory_order_relaxed) &&
        atomic_exchange(&multi->is_any_cancelled, false)) {
        stop_cancelled(multi, mono_ms);
    }
    while (multi->heap_count > 0 && multi->heap[0]->due_ms <= mono_ms) {
        struct call *call = multi->heap[0];
        call_on_timer(call, mono_ms);
        finish_if_done(multi, call);
    }
    if (multi->heap_count == 0 || multi->heap[0]->due_ms == LULL_NEVER) {
        return -1;
    }
    return multi->heap[0]->due_ms - mono_ms;
}
