/* perform - a call to its end, on the caller's thread. SPDX-License-Identifier: MIT */
#include "client.h"
#include "lull/error.h"
#include "multi.h"

/* How long one poll may last; a cancel wakes it, so this is only for what nobody foresaw. */
#define POLL_MAX_MS 10000

static void keep_result(void *userdata, struct lull_result *result)
{
    *(struct lull_result **)userdata = result;
}

/* Lets curl work, until there may be news. What has just been started is sent without a poll, since
 * it has something to say first. */
static bool drive(struct lull_multi *multi, int64_t wait_ms)
{
    CURLM *curl = lull_multi_curl(multi);
    int poll_ms = wait_ms >= 0 && wait_ms < POLL_MAX_MS ? (int)wait_ms : POLL_MAX_MS;
    int running = 0;
    size_t out = multi_take_fresh(multi);
    if (out > 0) {
        bool is_good = curl_multi_perform(curl, &running) == CURLM_OK;
        if (!is_good || (size_t)running < out) {
            return is_good; /* one has ended already: there is news */
        }
    }
    struct transport *transport = multi_transport(multi);
    struct curl_waitfd messages = {.fd = transport ? transport_fd(transport) : -1,
                                   .events = CURL_WAIT_POLLIN};
    return curl_multi_poll(curl, &messages, transport ? 1 : 0, poll_ms, NULL) == CURLM_OK &&
           curl_multi_perform(curl, &running) == CURLM_OK;
}

int lull_http_perform(struct lull_client *client, const struct lull_request *request,
                      struct lull_result **ret_result)
{
    struct lull_result *result = NULL;
    struct lull_multi *multi = client_take_multi(client);
    int error = multi ? LULL_OK : lull_multi_new(&multi, client, NULL);
    if (error != LULL_OK) {
        return error;
    }
    int64_t wait_ms = 0;
    error = multi_begin(multi, request, keep_result, &result, &wait_ms);
    while (error == LULL_OK && !result) {
        if (!drive(multi, wait_ms)) {
            error = LULL_ERR_MEMORY; /* what else there is would be our own mistake */
            break;
        }
        wait_ms = lull_multi_step(multi);
    }
    if (error != LULL_OK) {
        lull_multi_destroy(multi); /* cancels, so that the result is there */
        lull_result_free(result);
        return error;
    }
    client_give_multi(client, multi);
    *ret_result = result;
    return LULL_OK;
}
