/*
 * blocking - a GET with a deadline, told attempt by attempt; then a POST that may be repeated.
 *
 *   blocking URL
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <lull/error.h>
#include <lull/http.h>
#include <lull/os.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_attempt(const struct lull_attempt *attempt)
{
    printf("  attempt %" PRIu32 ": ", attempt->number);
    if (attempt->transport == LULL_TRANSPORT_NONE) {
        printf("status %u", attempt->status);
    } else {
        printf("%s (%s)", lull_transport_to_string(attempt->transport),
               curl_easy_strerror(attempt->code));
    }
    printf(", %s, took %" PRId64 " ms", lull_reason_to_string(attempt->reason),
           attempt->duration_ms);
    if (attempt->retry_after_ms >= 0) {
        printf(", asked for %" PRId64 " ms", attempt->retry_after_ms);
    }
    if (attempt->delay_ms > 0) {
        printf(", waited %" PRId64 " ms", attempt->delay_ms);
    }
    printf("\n");
}

/* Performs it and prints how it went. true: delivered, with all of its body. */
static bool perform(struct lull_client *client, const struct lull_request *request,
                    const char *name)
{
    struct lull_result *result = NULL;
    int error = lull_http_perform(client, request, &result);
    if (error != LULL_OK) {
        fprintf(stderr, "blocking: %s: %s\n", name, lull_error_to_string(error));
        return false;
    }
    printf("%s %s\n", name, request->url);
    for (size_t i = 0; i < result->attempt_count; i++) {
        print_attempt(&result->attempts[i]);
    }
    printf("  %s: %s, status %u, %zu bytes\n", lull_verdict_kind_to_string(result->verdict),
           lull_reason_to_string(result->reason), result->status, result->body_length);

    /* A status that stands can come with a body that broke off: two questions, not one. */
    bool is_good = result->verdict == LULL_VERDICT_DELIVERED && result->is_body_complete;
    lull_result_free(result);
    return is_good;
}

static bool get(struct lull_client *client, const char *url)
{
    struct lull_request request;
    lull_request_init(&request, url);
    request.deadline_ms = 10000; /* for all attempts and the waits between them */
    request.timeout_ms = 3000;   /* for one attempt */
    return perform(client, &request, "GET");
}

static bool post(struct lull_client *client, const char *url)
{
    static const char body[] = "{\"amount\": 5}";
    struct lull_request request;

    /* One key for one thing to be done, however often it is sent. The server must know it too: it
     * answers a key that it has seen without doing the thing again. A program that can be started
     * again in between keeps the key with the thing. */
    char key[33];
    (void)snprintf(key, sizeof key, "%016" PRIx64 "%016" PRIx64, lull_os_seed(), lull_os_seed());

    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (!headers) {
        fprintf(stderr, "blocking: no memory\n");
        return false;
    }
    lull_request_init(&request, url);
    request.headers = headers;
    request.body =
        (struct lull_body){.kind = LULL_BODY_MEMORY, .data = body, .length = (int64_t)strlen(body)};
    request.idempotency_key = key; /* without it, a POST that may have arrived is not repeated */
    request.deadline_ms = 10000;
    request.timeout_ms = 3000;
    bool is_good = perform(client, &request, "POST");
    curl_slist_free_all(headers);
    return is_good;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: blocking URL\n");
        return 2;
    }
    struct lull_client *client = NULL; /* one for the whole program, shared by its threads */
    int error = lull_client_new(&client, NULL);
    if (error != LULL_OK) {
        fprintf(stderr, "blocking: %s\n", lull_error_to_string(error));
        return 1;
    }
    bool is_good = get(client, argv[1]);
    is_good = post(client, argv[1]) && is_good;
    lull_client_destroy(client);
    return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
