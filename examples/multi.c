/*
 * multi - many requests at once on a CURLM of the program's own, beside a transfer that is not
 * Lull's.
 *
 *   multi PLAIN_URL URL...
 *
 * PLAIN_URL is fetched by an easy handle that Lull knows nothing of; the others by Lull. Nothing
 * sleeps: the one place that waits is curl_multi_poll, for sockets and for the next retry alike.
 *
 * SPDX-License-Identifier: MIT
 */
#include <lull/error.h>
#include <lull/http.h>
#include <stdio.h>
#include <stdlib.h>

#define POLL_MAX_MS 1000

struct plain {
    CURLM *curl;
    bool is_running;
    bool is_good;
};

static size_t failures;

/* Keeps the page of the plain transfer off the screen. */
/* NOLINTNEXTLINE(readability-non-const-parameter): the type is curl's */
static size_t drop(char *data, size_t size, size_t count, void *userdata)
{
    (void)data;
    (void)userdata;
    return size * count;
}

/* A finished transfer on our CURLM that Lull did not start: it hands us curl's own message. */
static void on_other(void *userdata, CURLMsg *message)
{
    struct plain *plain = userdata;
    CURL *easy = message->easy_handle;
    CURLcode code = message->data.result; /* the message is gone once the handle is removed */
    long status = 0;
    char *url = NULL;
    (void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    (void)curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
    printf("plain %s: status %ld, %s\n", url ? url : "", status, curl_easy_strerror(code));
    plain->is_good = code == CURLE_OK;
    plain->is_running = false;
    (void)curl_multi_remove_handle(plain->curl, easy);
}

/* The result is ours to free. */
static void on_done(void *userdata, struct lull_result *result)
{
    const char *url = userdata;
    printf("lull %s: %s, %s, status %u, attempts %zu\n", url,
           lull_verdict_kind_to_string(result->verdict), lull_reason_to_string(result->reason),
           result->status, result->attempt_count);
    failures += result->verdict != LULL_VERDICT_DELIVERED || !result->is_body_complete;
    lull_result_free(result);
}

static bool drive(struct lull_multi *multi, const struct plain *plain)
{
    int64_t wait_ms = lull_multi_step(multi); /* starts what was added */
    while (lull_multi_count(multi) > 0 || plain->is_running) {
        int running = 0;
        int poll_ms = wait_ms >= 0 && wait_ms < POLL_MAX_MS ? (int)wait_ms : POLL_MAX_MS;
        CURLMcode code = curl_multi_poll(plain->curl, NULL, 0, poll_ms, NULL);
        if (code == CURLM_OK) {
            code = curl_multi_perform(plain->curl, &running);
        }
        if (code != CURLM_OK) {
            fprintf(stderr, "multi: %s\n", curl_multi_strerror(code));
            return false;
        }
        wait_ms = lull_multi_step(multi); /* takes in what has ended, starts what is due */
    }
    return true;
}

static bool add_all(struct lull_multi *multi, char **urls)
{
    for (; *urls; urls++) {
        struct lull_request request;
        lull_request_init(&request, *urls);
        request.deadline_ms = 20000;
        int error = lull_multi_add(multi, &request, on_done, *urls);
        if (error != LULL_OK) {
            fprintf(stderr, "multi: %s: %s\n", *urls, lull_error_to_string(error));
            return false;
        }
    }
    return true;
}

static bool add_plain(struct plain *plain, CURL *easy, const char *url)
{
    plain->is_running = curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
                        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop) == CURLE_OK &&
                        curl_multi_add_handle(plain->curl, easy) == CURLM_OK;
    return plain->is_running;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: multi PLAIN_URL URL...\n");
        return 2;
    }
    struct lull_client *client = NULL;
    struct lull_multi *multi = NULL;
    bool is_good = lull_client_new(&client, NULL) == LULL_OK; /* this also starts up libcurl */
    CURL *easy = curl_easy_init();
    struct plain plain = {.curl = curl_multi_init()};
    struct lull_multi_config config = {
        .curl = plain.curl, .userdata = &plain, .on_other = on_other};
    is_good = is_good && easy && plain.curl && lull_multi_new(&multi, client, &config) == LULL_OK &&
              add_plain(&plain, easy, argv[1]);
    if (!is_good) {
        fprintf(stderr, "multi: could not begin\n");
    }
    is_good = is_good && add_all(multi, argv + 2) && drive(multi, &plain);

    /* Lull's part first: it takes its handles off our CURLM. */
    lull_multi_destroy(multi);
    if (plain.is_running) {
        (void)curl_multi_remove_handle(plain.curl, easy);
    }
    curl_easy_cleanup(easy);
    (void)curl_multi_cleanup(plain.curl);
    lull_client_destroy(client);
    return is_good && plain.is_good && failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
