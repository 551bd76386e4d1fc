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

int lull_http_perform(struct lull_client *client, const struct lull_request *request,
                      struct lull_result **ret_result)
{
    struct lull_result *result = NULL;
    struct lull_multi *multi = client_take_multi(client);
    int error = multi ? LULL_OK : lull_multi_new(&multi, client, NULL);
    if (error != LULL_OK) {
        return error;
    }
    error = lull_multi_add(multi, request, keep_result, &result);
    CURLM *curl = lull_multi_curl(multi);
    while (error == LULL_OK) {
        int running = 0;
        int64_t wait_ms = lull_multi_step(multi);
        if (result) {
            break;
        }
        int poll_ms = wait_ms >= 0 && wait_ms < POLL_MAX_MS ? (int)wait_ms : POLL_MAX_MS;
        bool is_poll_due = !multi_take_fresh(multi); /* a fresh one has something to say first */
        if ((is_poll_due && curl_multi_poll(curl, NULL, 0, poll_ms, NULL) != CURLM_OK) ||
            curl_multi_perform(curl, &running) != CURLM_OK) {
            error = LULL_ERR_MEMORY; /* what else there is would be our own mistake */
        }
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
