/*
 * multi - the calls under way on one CURLM: their timers, their transfers, their end.
 *
 * Timers are a heap by due time, so a hundred thousand waiting calls cost one comparison a step.
 * Transfers are known by their place in a table, which curl keeps as CURLOPT_PRIVATE, unless they
 * are few; a message is ours if that place holds that very handle, so other transfers on the
 * caller's CURLM may have any PRIVATE. Messages do not go by curl but by a transport, which is made
 * for the first.
 *
 * SPDX-License-Identifier: MIT
 */
#include "multi.h"

#include <stdlib.h>
#include <string.h>

#include "cancel.h"
#include "client.h"
#include "instant.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/os.h"
#include "seldom.h"

struct lull_multi {
    struct lull_client *client;
    struct lull_multi_config config;
    CURLM *curl;
    bool is_curl_ours;
    struct transport *transport; /* NULL: there was no message yet */
    struct call *calls;
    size_t count;
    struct timers timers; /* one of each call */
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

/* ---- transfers ---- */

SELDOM static bool add_transfer(struct lull_multi *multi)
{
    size_t size = multi->transfer_count + 1;
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

static int make_transport(struct lull_multi *multi)
{
    struct transport_config config;
    if (multi->transport) {
        return LULL_OK;
    }
    transport_config_default(&config);
    config.requests_max = UINT32_MAX; /* the caller knows what it does */
    config.ca_file = client_ca_file(multi->client);
    return transport_new(&multi->transport, &config);
}

SELDOM static int start_message(struct lull_multi *multi, struct transfer *transfer,
                                struct call *call, int64_t mono_ms)
{
    int error = make_transport(multi);
    if (!transfer_prepare(transfer, call, false, true)) {
        return LULL_ERR_MEMORY;
    }
    transfer->posting->request.userdata = transfer;
    return error != LULL_OK
               ? error
               : transport_submit(multi->transport, &transfer->posting->request, mono_ms);
}

static bool start_on_curl(struct lull_multi *multi, struct transfer *transfer, struct call *call,
                          bool is_hedge)
{
    bool is_started = transfer_prepare(transfer, call, is_hedge, false) &&
                      curl_multi_add_handle(multi->curl, transfer->easy) == CURLM_OK;
    multi->is_fresh |= is_started;
    return is_started;
}

struct transfer *multi_start(struct lull_multi *multi, struct call *call, bool is_hedge,
                             size_t attempt, int64_t mono_ms)
{
    if (multi->free_count == 0 && !add_transfer(multi)) {
        return NULL;
    }
    struct transfer *transfer = multi->free_transfers[--multi->free_count];
    transfer->attempt = attempt;
    transfer->started_ms = mono_ms;
    bool is_for_curl = is_hedge || !posting_is_for(&call->request);
    bool is_started = false;
    if (!is_for_curl) {
        int error = start_message(multi, transfer, call, mono_ms);
        is_started = error == LULL_OK;
        /* A URL or a header that curl is to judge, or a bad ca_file. */
        is_for_curl = error == LULL_ERR_SYNTAX || error == LULL_ERR_RANGE;
        if (is_for_curl) {
            transfer_release(transfer);
        }
    }
    if (is_for_curl) {
        is_started = start_on_curl(multi, transfer, call, is_hedge);
    }
    if (is_started) {
        return transfer;
    }
    transfer_release(transfer);
    multi->free_transfers[multi->free_count++] = transfer;
    return NULL;
}

void multi_stop(struct lull_multi *multi, struct transfer *transfer)
{
    if (transfer->is_message) {
        transport_withdraw(multi->transport, &transfer->posting->request, lull_os_mono_ms());
    } else {
        (void)curl_multi_remove_handle(multi->curl, transfer->easy);
    }
    transfer_release(transfer);
    multi->free_transfers[multi->free_count++] = transfer;
}

void multi_withdraw(struct lull_multi *multi, struct transfer *transfer, int64_t mono_ms)
{
    if (transfer->is_message) {
        transport_withdraw(multi->transport, &transfer->posting->request, mono_ms);
        (void)transfer_take_message(transfer);
        transfer->is_stopped = true;
    }
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

int lull_multi_fd(struct lull_multi *multi)
{
    return make_transport(multi) == LULL_OK ? transport_fd(multi->transport) : -1;
}

struct transport *multi_transport(const struct lull_multi *multi)
{
    return multi->transport;
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
    timers_clear(&multi->timers, &call->timer);
    timers_unreserve(&multi->timers);
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

static void finish_if_done(struct lull_multi *multi, struct call *call)
{
    if (call->state == CALL_DONE) {
        finish(multi, call);
    }
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
    transport_destroy(multi->transport);
    if (multi->is_curl_ours) {
        (void)curl_multi_cleanup(multi->curl);
    }
    free(multi->transfers);
    free(multi->free_transfers);
    timers_free(&multi->timers);
    call_free(multi->spare);
    free(multi);
}

void multi_reschedule(struct lull_multi *multi, struct call *call, int64_t due_ms)
{
    timers_set(&multi->timers, &call->timer, due_ms);
}

static void on_call_due(struct timer *timer, int64_t mono_ms)
{
    struct call *call = owner_of(timer, struct call, timer);
    call_on_timer(call, mono_ms);
    finish_if_done(call->multi, call);
}

static int add(struct lull_multi *multi, const struct lull_request *request,
               void (*on_done)(void *userdata, struct lull_result *result), void *userdata,
               struct call **ret_call)
{
    struct call *call = multi->spare ? multi->spare : calloc(1, sizeof *call);
    multi->spare = NULL;
    if (!call || !timers_reserve(&multi->timers)) {
        call_free(call);
        return LULL_ERR_MEMORY;
    }
    int error = call_init(call, multi, multi->client, request);
    if (error != LULL_OK) {
        timers_unreserve(&multi->timers);
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
    call->timer.on_due = on_call_due;
    *ret_call = call;
    return LULL_OK;
}

int lull_multi_add(struct lull_multi *multi, const struct lull_request *request,
                   void (*on_done)(void *userdata, struct lull_result *result), void *userdata)
{
    struct call *call = NULL;
    int error = add(multi, request, on_done, userdata, &call);
    if (error == LULL_OK) {
        multi_reschedule(multi, call, 0); /* at once */
        cancel_add(call);
    }
    return error;
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
    for (size_t i = 0; i < TRANSFERS_FOUND_BY_HANDLE && i < multi->transfer_count; i++) {
        if (multi->transfers[i]->easy == easy) {
            return multi->transfers[i];
        }
    }
    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &place_plus_one);
    size_t index = (size_t)place_plus_one - 1;
    bool is_ours = index < multi->transfer_count && multi->transfers[index]->easy == easy;
    return is_ours ? multi->transfers[index] : NULL;
}

static void take_in_messages(struct lull_multi *multi, int64_t mono_ms)
{
    CURLMsg *message = NULL;
    int left = 1;
    while (left > 0 && (message = curl_multi_info_read(multi->curl, &left))) {
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

SELDOM static void stop_cancelled(struct lull_multi *multi, int64_t mono_ms)
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

SELDOM static void move_messages(struct lull_multi *multi, int64_t mono_ms)
{
    struct transport_request *request = NULL;
    transport_step(multi->transport, mono_ms);
    while ((request = transport_collect(multi->transport))) {
        struct transfer *transfer = request->userdata;
        struct call *call = transfer->call;
        call_on_end(call, transfer, transfer_take_message(transfer), mono_ms);
        finish_if_done(multi, call);
    }
}

/* How long curl may wait. */
static int64_t wait_ms(struct lull_multi *multi, int64_t due_ms, int64_t mono_ms)
{
    due_ms = instant_earlier(timers_due_ms(&multi->timers), due_ms);
    if (due_ms == LULL_NEVER) {
        return -1;
    }
    return due_ms > mono_ms ? due_ms - mono_ms : 0;
}

int multi_begin(struct lull_multi *multi, const struct lull_request *request,
                void (*on_done)(void *userdata, struct lull_result *result), void *userdata,
                int64_t *ret_wait_ms)
{
    struct call *call = NULL;
    if (request->cancel || posting_is_for(request)) {
        int error = lull_multi_add(multi, request, on_done, userdata);
        if (error == LULL_OK) {
            *ret_wait_ms = lull_multi_step(multi);
        }
        return error;
    }
    int error = add(multi, request, on_done, userdata, &call);
    if (error == LULL_OK) {
        int64_t mono_ms = call->start_ms;
        call_on_timer(call, mono_ms);
        finish_if_done(multi, call);
        *ret_wait_ms = wait_ms(multi, LULL_NEVER, mono_ms);
    }
    return error;
}

int64_t lull_multi_step(struct lull_multi *multi)
{
    int64_t mono_ms = lull_os_mono_ms();
    take_in_messages(multi, mono_ms);
    if (atomic_load_explicit(&multi->is_any_cancelled, memory_order_relaxed) &&
        atomic_exchange(&multi->is_any_cancelled, false)) {
        stop_cancelled(multi, mono_ms);
    }
    timers_run(&multi->timers, mono_ms);
    int64_t due_ms = LULL_NEVER;
    if (multi->transport) {
        move_messages(multi, mono_ms);
        due_ms = transport_wake_at_ms(multi->transport);
    }
    return wait_ms(multi, due_ms, mono_ms);
}
