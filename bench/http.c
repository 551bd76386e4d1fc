/*
 * bench/http - what a successful request costs over plain libcurl.
 *
 *   bench-http NAME URL [CAFILE]
 *
 * Very short rounds of each in turn, so that whatever else the machine does meets all of them. A
 * ratio is the median over the rounds of what the round took next to curl's of the same turn; curl
 * itself runs a second time, on a second handle, and its ratio to itself tells how far to trust the
 * others. Plain libcurl does the same job here: it keeps head and body. The target is 2 % for a
 * request on a handle of the caller's.
 */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lull/error.h"
#include "lull/http.h"
#include "rounds.h"

#define ROUNDS 4000
#define REQUESTS 5 /* a round */
#define TARGET 1.02

struct kept {
    char *data;
    size_t length;
};

static struct lull_client *client;
static const char *url;
static const char *ca_file;

static size_t keep(char *data, size_t size, size_t count, void *userdata)
{
    struct kept *kept = userdata;
    size_t length = size * count;
    char *moved = realloc(kept->data, kept->length + length + 1);
    if (!moved) {
        return 0;
    }
    memcpy(moved + kept->length, data, length);
    kept->data = moved;
    kept->length += length;
    return length;
}

static int run_curl(CURL *easy)
{
    struct kept head = {0};
    struct kept body = {0};
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, &head);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, &body);
    CURLcode code = curl_easy_perform(easy);
    free(head.data);
    free(body.data);
    return code == CURLE_OK && body.length > 0;
}

static void trust(void *userdata, CURL *easy)
{
    (void)userdata;
    if (ca_file) {
        (void)curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file);
    }
}

static int run_lull(CURL *easy)
{
    struct lull_request request;
    struct lull_result *result = NULL;
    lull_request_init(&request, easy ? NULL : url);
    request.easy = easy;
    request.hooks.configure = trust;
    int is_good = lull_http_perform(client, &request, &result) == LULL_OK &&
                  result->status == 200 && result->body_length > 0 && result->attempt_count == 1;
    lull_result_free(result);
    return is_good;
}

struct way {
    const char *name;
    int (*run)(CURL *easy);
    CURL *easy;
    double wall_us[ROUNDS];
    double cpu_us[ROUNDS];
};

static struct way ways[] = {
    {.name = "curl_easy_perform", .run = run_curl},
    {.name = "curl_easy_perform again", .run = run_curl},
    {.name = "lull_http_perform, own handle", .run = run_lull},
    {.name = "lull_http_perform, request struct", .run = run_lull},
};
#define WAYS (sizeof ways / sizeof ways[0])
#define OWN_HANDLE 2 /* the one with the target */

static int run_round(struct way *way, int round)
{
    double wall_us = rounds_now_us(CLOCK_MONOTONIC);
    double cpu_us = rounds_now_us(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < REQUESTS; i++) {
        if (!way->run(way->easy)) {
            return 0;
        }
    }
    way->cpu_us[round] = (rounds_now_us(CLOCK_PROCESS_CPUTIME_ID) - cpu_us) / REQUESTS;
    way->wall_us[round] = (rounds_now_us(CLOCK_MONOTONIC) - wall_us) / REQUESTS;
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 3 || argc > 4 || lull_client_new(&client, NULL) != LULL_OK) {
        (void)fprintf(stderr, "usage: bench-http NAME URL [CAFILE]\n");
        return 2;
    }
    url = argv[2];
    ca_file = argc == 4 ? argv[3] : NULL;
    for (size_t i = 0; i <= OWN_HANDLE; i++) {
        ways[i].easy = curl_easy_init();
        (void)curl_easy_setopt(ways[i].easy, CURLOPT_URL, url);
        (void)curl_easy_setopt(ways[i].easy, CURLOPT_NOSIGNAL, 1L);
        trust(NULL, ways[i].easy);
        if (i < OWN_HANDLE) {
            (void)curl_easy_setopt(ways[i].easy, CURLOPT_HEADERFUNCTION, keep);
            (void)curl_easy_setopt(ways[i].easy, CURLOPT_WRITEFUNCTION, keep);
        }
    }
    for (int round = -50; round < ROUNDS; round++) { /* the first few only warm up */
        for (size_t i = 0; i < WAYS; i++) {
            size_t turn = (i + (size_t)(round + 50)) % WAYS; /* nobody is always first */
            if (!run_round(&ways[turn], round < 0 ? 0 : round)) {
                (void)fprintf(stderr, "bench-http: %s failed\n", ways[turn].name);
                return 2;
            }
        }
    }
    printf("bench/http, %s: median of %d rounds of %d requests each\n", argv[1], ROUNDS, REQUESTS);
    int is_missed = 0;
    for (size_t i = 0; i < WAYS; i++) {
        double wall = rounds_median_ratio(ways[i].wall_us, ways[0].wall_us, ROUNDS);
        double cpu = rounds_median_ratio(ways[i].cpu_us, ways[0].cpu_us, ROUNDS);
        int is_over = i == OWN_HANDLE && wall > TARGET;
        is_missed |= is_over;
        printf("  %-36s %6.1f us  %.3f x curl_easy_perform  (CPU %5.1f us, %.3f x)%s\n",
               ways[i].name, rounds_median(ways[i].wall_us, ROUNDS), wall,
               rounds_median(ways[i].cpu_us, ROUNDS), cpu, is_over ? "  MISSED" : "");
    }
    for (size_t i = 0; i <= OWN_HANDLE; i++) {
        curl_easy_cleanup(ways[i].easy);
    }
    lull_client_destroy(client);
    return is_missed;
}
