/* send - `lull send`: one Web Push message, now (W1 to W8). SPDX-License-Identifier: MIT */
#include <curl/curl.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call_print.h"
#include "cli.h"
#include "key_file.h"
#include "lull/error.h"
#include "lull/http.h"
#include "lull/os.h"
#include "lull/version.h"
#include "lull/webpush.h"
#include "send_options.h"
#include "send_print.h"
#include "topic.h"

#define RESPONSE_MAX 16384

enum send_exit {
    SEND_REFUSED = 3,
    SEND_GAVE_UP = 4,
    SEND_GONE = 5,
    SEND_NO_TARGET = 6,
};

static const struct call_place place = {"send", 1, 1};

struct send {
    struct send_options options;
    struct lull_vapid_ring *ring;
    struct curl_slist *headers; /* of the attempt under way */
    uint8_t body[LULL_PUSH_BODY_MAX];
    size_t body_length;
};

static int fail(const char *what)
{
    fprintf(stderr, "lull send: %s\n", what);
    return CLI_FAILED;
}

/* ---- the headers ---- */

__attribute__((format(printf, 2, 3))) static bool add(struct curl_slist **list, const char *format,
                                                      ...)
{
    char *line = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&line, format, arguments);
    va_end(arguments);
    struct curl_slist *longer = length >= 0 ? curl_slist_append(*list, line) : NULL;
    if (length >= 0) {
        OPENSSL_cleanse(line, (size_t)length); /* one of them is the token */
        free(line);
    }
    *list = longer ? longer : *list;
    return longer != NULL;
}

/* What remains of the TTL goes out, not what it was (T3). A part of a second counts as one: 0 would
 * be another thing, now or never. */
static struct curl_slist *make_headers(struct send *send, int64_t remaining_ms, bool is_fresh)
{
    const struct send_options *options = &send->options;
    int64_t remaining_s = remaining_ms / 1000 + (remaining_ms % 1000 > 0);
    const char *authorization = NULL;
    struct curl_slist *list = NULL;
    bool is_good =
        lull_vapid_authorize(send->ring, NULL, send_endpoint(options), lull_os_now_ms(), is_fresh,
                             &authorization) == LULL_OK &&
        add(&list, "User-Agent: lull/%s", LULL_VERSION) &&
        (*options->recalled || add(&list, "TTL: %" PRId64, remaining_s)) &&
        (!options->urgency || add(&list, "Urgency: %s", options->urgency)) &&
        (!options->topic || add(&list, "Topic: %s", options->topic)) &&
        (send->body_length == 0 || (add(&list, "Content-Type: application/octet-stream") &&
                                    add(&list, "Content-Encoding: aes128gcm"))) &&
        add(&list, "Authorization: %s", authorization);
    if (is_good && remaining_s == 0 && options->subscription.vendor == LULL_VENDOR_WNS) {
        is_good = add(&list, "X-WNS-Cache-Policy: no-cache"); /* V4 */
    }
    if (!is_good) {
        curl_slist_free_all(list);
        return NULL;
    }
    return list;
}

static const struct curl_slist *before_attempt(void *userdata, const struct lull_attempt_plan *plan)
{
    struct send *send = userdata;
    curl_slist_free_all(send->headers);
    send->headers = make_headers(send, plan->remaining_ms, plan->is_jwt_doubted);
    return send->headers;
}

/* ---- the other hooks ---- */

static bool before_wait(void *userdata, const struct lull_attempt *attempt)
{
    const struct send *send = userdata;
    if (!send->options.is_quiet) {
        call_print_retry(stderr, place, attempt);
    }
    return true;
}

static void after_decision(void *userdata, const struct lull_attempt *attempt,
                           const struct lull_verdict *verdict, const struct lull_trace *trace)
{
    (void)userdata;
    call_print_decision(stderr, place, attempt, verdict, trace);
}

/* ---- before the first attempt ---- */

static void warn(const struct send_options *options)
{
    const struct lull_subscription *subscription = &options->subscription;
    if (options->topic && subscription->vendor == LULL_VENDOR_APPLE &&
        topic_is_refused_by_apple(options->topic)) {
        fputs("lull send: warning: Apple refuses a topic of this length (1 modulo 4)\n", stderr);
    }
    if (!*options->recalled && subscription->expires_ms <= lull_os_now_ms()) {
        fputs("lull send: warning: the subscription's expirationTime is over\n", stderr);
    }
}

/* Somewhere between nothing and all that fits (W3). */
static bool draw_padding(struct send_options *options)
{
    size_t room = LULL_PUSH_TEXT_MAX - options->body.length;
    uint32_t number = 0;
    if (RAND_bytes((unsigned char *)&number, sizeof number) != 1) {
        return false;
    }
    options->padding.bytes = (size_t)(number % (room + 1));
    return true;
}

static int encrypt(struct send *send)
{
    struct send_options *options = &send->options;
    struct lull_encryptor *encryptor = NULL;
    if (!options->body.data) {
        return CLI_OK;
    }
    if ((options->padding.is_random && !draw_padding(options)) ||
        lull_encryptor_new(&encryptor, 0) != LULL_OK) {
        return fail("there is not enough memory");
    }
    int code = lull_push_encrypt(
        encryptor, options->subscription.p256dh, options->subscription.auth, options->body.data,
        options->body.length, options->padding.bytes, send->body, &send->body_length);
    lull_encryptor_destroy(encryptor);
    return code == LULL_OK ? CLI_OK : fail("the message could not be encrypted");
}

static int load_key(struct send *send)
{
    struct lull_vapid_key *key = NULL;
    int code = key_file_load("send", send->options.key_path, &key);
    if (code != CLI_OK) {
        return code;
    }
    if (lull_vapid_ring_new(&send->ring, NULL) != LULL_OK ||
        lull_vapid_ring_add(send->ring, key) != LULL_OK) {
        lull_vapid_key_destroy(key);
        return fail("there is not enough memory");
    }
    return CLI_OK;
}

/* ---- the end ---- */

static int exit_of(const struct send *send, const struct lull_result *result)
{
    if (result->verdict == LULL_VERDICT_DELIVERED) {
        return CLI_OK;
    }
    if (!*send->options.recalled && send->options.subscription.vendor == LULL_VENDOR_INVALID) {
        return SEND_GONE; /* S6: browsers register such, and nobody was asked */
    }
    switch (result->reason) {
    case LULL_REASON_GONE:
        return SEND_GONE;
    case LULL_REASON_INVALID_TARGET:
        return SEND_NO_TARGET;
    case LULL_REASON_REJECTED:
    case LULL_REASON_AUTH:
    case LULL_REASON_PAYLOAD_TOO_LARGE:
        return SEND_REFUSED;
    case LULL_REASON_CANCELLED: /* nobody can: it was memory */
        return CLI_FAILED;
    default:
        return SEND_GAVE_UP;
    }
}

static void tell(const struct send *send, const struct lull_result *result, int exit_code)
{
    if (exit_code != CLI_OK) {
        call_print_failure(stderr, place, result);
    } else if (!send->options.is_quiet) {
        send_print_success(stderr, &send->options, result);
    }
}

/* One that --recall takes: a URL of HTTP whose host a token can name. */
static bool is_recallable(const char *url)
{
    char origin[LULL_ORIGIN_SIZE];
    return strlen(url) < LULL_ENDPOINT_SIZE && lull_endpoint_origin(url, origin) == LULL_OK;
}

/* The message's own URL and the end of its line: a whole one byte for byte, another as it is seen
 * from the endpoint (RFC 9110, section 10.2.2). NULL: it is none. */
static char *read_location(const char *endpoint, const struct lull_header *location)
{
    char given[LULL_ENDPOINT_SIZE] = "";
    char *seen = NULL;
    char *line = NULL;
    if (location->value_length >= sizeof given) {
        return NULL;
    }
    memcpy(given, location->value, location->value_length);
    CURLU *parts = curl_url();
    if (!is_recallable(given) && parts &&
        curl_url_set(parts, CURLUPART_URL, endpoint, 0) == CURLUE_OK &&
        curl_url_set(parts, CURLUPART_URL, given, 0) == CURLUE_OK) {
        (void)curl_url_get(parts, CURLUPART_URL, &seen, 0);
    }
    const char *url = seen ? seen : given;
    if (is_recallable(url) && asprintf(&line, "%s\n", url) < 0) {
        line = NULL;
    }
    curl_free(seen);
    curl_url_cleanup(parts);
    return line;
}

/* What the message can be recalled by (W7). */
static int keep_receipt(const struct send *send, const struct lull_result *result)
{
    const struct lull_header *location =
        lull_header_find(result->headers, result->header_count, "location");
    if (!send->options.receipt_path) {
        return CLI_OK;
    }
    if (!location || location->value_length == 0) {
        return fail("delivered, but the service gave nothing to recall the message by");
    }
    char *line = read_location(send->options.subscription.endpoint, location);
    if (!line) {
        return fail("delivered, but what the service gave to recall it by is no usable URL");
    }
    int code = key_file_write("send", send->options.receipt_path, line, true);
    OPENSSL_cleanse(line, strlen(line));
    free(line);
    return code == CLI_OK ? CLI_OK : CLI_FAILED;
}

static int perform(struct send *send, struct lull_client *client)
{
    const struct send_options *options = &send->options;
    struct lull_request request;
    struct lull_result *result = NULL;
    lull_request_init(&request, send_endpoint(options));
    request.method = *options->recalled ? "DELETE" : "POST";
    request.kind = LULL_KIND_PUSH;
    request.policy = &options->policy;
    request.is_repeatable = true; /* a message is delivered at least once */
    request.ttl_ms = options->ttl_ms;
    request.is_public_only = !options->is_private_allowed;
    request.timeout_ms = options->max_time_ms;
    request.connect_timeout_ms = options->connect_timeout_ms;
    request.body_max = RESPONSE_MAX;
    request.hooks = (struct lull_hooks){
        .userdata = send,
        .before_attempt = before_attempt,
        .before_wait = before_wait,
        .after_decision = options->is_explaining ? after_decision : NULL,
    };
    if (send->body_length > 0) {
        request.body = (struct lull_body){
            .kind = LULL_BODY_MEMORY, .data = send->body, .length = (int64_t)send->body_length};
    }
    if (lull_http_perform(client, &request, &result) != LULL_OK) {
        return fail("there is not enough memory");
    }
    for (size_t i = 0; *options->recalled && i < result->attempt_count; i++) {
        result->attempts[i].side_effects &=
            ~(unsigned)LULL_DO_PURGE; /* a message is gone, no more */
    }
    int exit_code = exit_of(send, result);
    tell(send, result, exit_code);
    if (exit_code == CLI_OK) {
        exit_code = keep_receipt(send, result);
    }
    if (options->is_json) {
        send_print_json(stdout, options, result, send->body_length, exit_code);
    }
    lull_result_free(result);
    return exit_code;
}

static int dry_run(struct send *send)
{
    int64_t ttl_ms = send->options.ttl_ms == LULL_TTL_DEFAULT ? send->options.policy.ttl_ms
                                                              : send->options.ttl_ms;
    send->headers = make_headers(send, ttl_ms, false);
    if (!send->headers) {
        return fail("there is not enough memory");
    }
    send_print_request(stdout, &send->options, send->headers, send->body_length);
    return CLI_OK;
}

static int deliver(struct send *send)
{
    struct lull_client_config config;
    struct lull_client *client = NULL;
    lull_client_config_default(&config);
    config.has_budget = false; /* one message, whose retries are counted anyway */
    config.has_breaker = false;
    config.ca_file = send->options.cacert;
    if (lull_client_new(&client, &config) != LULL_OK) {
        return fail("there is not enough memory");
    }
    int code = perform(send, client);
    lull_client_destroy(client);
    return code;
}

static int run(int argc, char **argv)
{
    struct send send = {0};
    int code = send_options_read(&send.options, argc, argv);
    if (code == CLI_OK && send.options.is_help) {
        fputs(send_help, stdout);
    } else if (code == CLI_OK) {
        code = load_key(&send);
        if (code == CLI_OK && send.options.receipt_path) {
            code = key_file_check("send", send.options.receipt_path);
        }
        if (code == CLI_OK) {
            warn(&send.options);
            code = encrypt(&send);
        }
        if (code == CLI_OK) {
            code = send.options.is_dry_run ? dry_run(&send) : deliver(&send);
        }
    }
    curl_slist_free_all(send.headers);
    lull_vapid_ring_destroy(send.ring);
    send_options_free(&send.options);
    return code;
}

const struct cli_command cli_send = {
    .name = "send",
    .summary = "send a Web Push message now",
    .help = send_help,
    .run = run,
};
