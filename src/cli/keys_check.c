/* keys_check - see the header. SPDX-License-Identifier: MIT */
#include "keys_check.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "key_file.h"
#include "lull/duration.h"
#include "lull/error.h"
#include "lull/http.h"
#include "lull/http_date.h"
#include "lull/os.h"
#include "lull/version.h"
#include "lull/webpush.h"
#include "topic.h"

#define SUBSCRIPTION_MAX 65536 /* bytes */
#define CLOCK_WAIT_MS LULL_SECONDS(10)
#define CLOCK_APART_MAX_S 300
#define BODY_KEPT 1024
#define AGE_MAX_S UINT64_C(31536000)
#define MOZILLA_TTL_MAX_S INT64_C(2592000) /* V1 */

enum level {
    LEVEL_OK,
    LEVEL_WARNING,
    LEVEL_ERROR,
};

struct report {
    json_t *findings; /* NULL: print lines */
    unsigned warnings;
    unsigned errors;
    bool is_memory_out;
};

static json_t *pack_finding(const char *level, const char *check, const char *text)
{
    return json_pack("{s:s, s:s, s:s}", "level", level, "check", check, "text", text);
}

__attribute__((format(printf, 4, 5))) static void say(struct report *report, enum level level,
                                                      const char *check, const char *format, ...)
{
    static const char *const words[] = {"ok", "warning", "error"};
    char text[PRIVATE_FILE_PROBLEM_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    report->warnings += level == LEVEL_WARNING;
    report->errors += level == LEVEL_ERROR;
    if (!report->findings) {
        printf("%-7s  %s\n", words[level], text);
        return;
    }
    json_t *finding = pack_finding(words[level], check, text);
    if (!finding) { /* a path may have bytes that are no UTF-8, and JSON takes none */
        for (char *c = text; *c; c++) {
            *c = (unsigned char)*c < 0x80 ? *c : '?';
        }
        finding = pack_finding(words[level], check, text);
    }
    if (json_array_append_new(report->findings, finding) != 0) {
        report->is_memory_out = true;
    }
}

/* ---- the key ---- */

static void check_key(struct report *report, const char *path)
{
    struct lull_vapid_key *key = NULL;
    struct lull_webpush_error error = {""};
    char problem[PRIVATE_FILE_PROBLEM_SIZE] = "";
    if (!key_file_read(path, &key, problem)) {
        say(report, LEVEL_ERROR, "key", "%s", problem);
        return;
    }
    say(report, LEVEL_OK, "file", "only you have access to the key file");
    say(report, LEVEL_OK, "key", "private and public key belong together; id %s",
        lull_vapid_key_id(key));
    if (lull_vapid_check_subject(lull_vapid_key_subject(key), &error) != LULL_OK) {
        say(report, LEVEL_ERROR, "subject", "%s", error.text);
    } else {
        say(report, LEVEL_OK, "subject", "push services can reach you at %s",
            lull_vapid_key_subject(key));
    }
    lull_vapid_key_destroy(key);
}

/* ---- the subscription and what is to be sent ---- */

static bool is_https(const char *endpoint)
{
    return strncasecmp(endpoint, "https:", 6) == 0;
}

/* False: nothing can be sent to it. */
static bool check_subscription(struct report *report, const char *text, size_t length,
                               struct lull_subscription *subscription)
{
    struct lull_webpush_error error = {""};
    char hash[LULL_ENDPOINT_HASH_SIZE];
    if (lull_subscription_parse(subscription, text, length, &error) != LULL_OK) {
        say(report, LEVEL_ERROR, "subscription", "the subscription: %s", error.text);
        return false;
    }
    if (subscription->vendor == LULL_VENDOR_INVALID) {
        say(report, LEVEL_ERROR, "subscription",
            "the subscription is gone: its endpoint is under .invalid");
        return false;
    }
    if (subscription->expires_ms <= lull_os_now_ms()) {
        say(report, LEVEL_ERROR, "subscription", "the subscription's expirationTime has passed");
        return false;
    }
    if (!is_https(subscription->endpoint)) {
        say(report, LEVEL_WARNING, "subscription",
            "the endpoint is http, not https: for tests only");
    }
    lull_endpoint_hash(subscription->endpoint, hash);
    say(report, LEVEL_OK, "subscription",
        "the subscription can be sent to; service %s, endpoint %s",
        lull_vendor_lookup(subscription->vendor)->name, hash);
    return true;
}

/* vendor: of the subscription; OTHER if there is none, is_known then is false. */
static void check_topic(struct report *report, const char *topic, bool is_known,
                        enum lull_vendor vendor)
{
    enum topic_form form = topic_form_of(topic);
    size_t length = strlen(topic);
    if (form == TOPIC_BAD_LENGTH) {
        say(report, LEVEL_ERROR, "topic", "the topic has %zu characters: 1 to %d are accepted",
            length, TOPIC_MAX);
    } else if (form == TOPIC_BAD_CHARACTER) {
        say(report, LEVEL_ERROR, "topic",
            "the topic has a character that is refused: letters, digits, - and _ are accepted");
    } else if (topic_is_refused_by_apple(topic) && (!is_known || vendor == LULL_VENDOR_APPLE)) {
        say(report, LEVEL_WARNING, "topic",
            "Apple refuses a topic of %zu characters, as base64 never has that length: one more or "
            "one less is accepted",
            length);
    } else {
        say(report, LEVEL_OK, "topic", "the topic is of an accepted form");
    }
}

static void check_ttl(struct report *report, int64_t ttl_s, enum lull_vendor vendor)
{
    if (ttl_s == 0 && vendor == LULL_VENDOR_WNS) {
        say(report, LEVEL_OK, "ttl",
            "TTL 0: WNS wants X-WNS-Cache-Policy: no-cache with it, and Lull sends that");
    } else if (ttl_s == 0) {
        say(report, LEVEL_OK, "ttl", "TTL 0: delivered at once or never");
    } else if (ttl_s > MOZILLA_TTL_MAX_S && vendor == LULL_VENDOR_MOZILLA) {
        say(report, LEVEL_WARNING, "ttl", "Mozilla keeps a message for 30 days at most");
    } else {
        char text[CLI_DURATION_SIZE];
        say(report, LEVEL_OK, "ttl", "the service may keep the message for %s",
            cli_format_duration(ttl_s * 1000, text));
    }
}

/* ---- the clock ---- */

static void configure(void *userdata, CURL *easy)
{
    (void)userdata;
    (void)curl_easy_setopt(easy, CURLOPT_USERAGENT, "lull/" LULL_VERSION);
}

static void compare_clocks(struct report *report, const struct lull_result *result,
                           int64_t before_ms, int64_t after_ms)
{
    const struct lull_header *date =
        lull_header_find(result->headers, result->header_count, "Date");
    const struct lull_header *age = lull_header_find(result->headers, result->header_count, "Age");
    int64_t server_s = 0;
    uint64_t age_s = 0;
    if (!date || lull_http_date_parse(date->value, date->value_length, after_ms / 1000,
                                      &server_s) != LULL_OK) {
        say(report, LEVEL_WARNING, "clock",
            "the service's answer has no Date: our clock could not be compared");
        return;
    }
    if (age) { /* a cache answered, and so long ago it was made */
        char digits[16] = "";
        memcpy(digits, age->value,
               age->value_length < sizeof digits ? age->value_length : sizeof digits - 1);
        (void)cli_parse_number(digits, 0, AGE_MAX_S, &age_s);
        server_s += (int64_t)age_s;
    }
    /* Date is cut to seconds, and was written at some instant between before and after. */
    int64_t ahead_s = before_ms / 1000 - 1 - server_s;
    int64_t behind_s = server_s - after_ms / 1000;
    int64_t apart_s = ahead_s > behind_s ? ahead_s : behind_s;
    char text[CLI_DURATION_SIZE];
    if (apart_s <= 1) {
        say(report, LEVEL_OK, "clock", "our clock and the service's agree");
        return;
    }
    bool is_far = apart_s > CLOCK_APART_MAX_S;
    say(report, is_far ? LEVEL_ERROR : LEVEL_OK, "clock", "our clock is %s %s the service's%s",
        cli_format_duration(apart_s * 1000, text), ahead_s > behind_s ? "ahead of" : "behind",
        is_far ? ": tokens would have a wrong exp and be refused; set the clock" : "");
}

static void say_no_answer(struct report *report, const struct lull_result *result)
{
    if (result->attempt_count > 0 && result->attempts[0].transport == LULL_TRANSPORT_FORBIDDEN) {
        say(report, LEVEL_ERROR, "subscription",
            "the endpoint is at a private, loopback or link-local address: only with "
            "--allow-private");
        return;
    }
    const char *why = result->attempt_count > 0
                          ? lull_transport_to_string(result->attempts[0].transport)
                          : lull_reason_to_string(result->reason);
    say(report, LEVEL_WARNING, "clock",
        "the service did not answer (%s): our clock could not be compared", why);
}

/* One GET to the origin: the endpoint itself is only for messages. What a send would not connect
 * to, this does not either (W5). */
static void check_clock(struct report *report, const char *endpoint, bool is_private_allowed)
{
    char origin[LULL_ORIGIN_SIZE];
    char url[LULL_ORIGIN_SIZE + 1];
    struct lull_policy policy;
    struct lull_request request;
    struct lull_client *client = NULL;
    struct lull_result *result = NULL;
    struct curl_slist *headers = curl_slist_append(NULL, "Cache-Control: no-cache");
    if (!headers || lull_endpoint_origin(endpoint, origin) != LULL_OK ||
        lull_policy_named(&policy, "client") != LULL_OK ||
        lull_client_new(&client, NULL) != LULL_OK) {
        curl_slist_free_all(headers);
        report->is_memory_out = true;
        return;
    }
    (void)snprintf(url, sizeof url, "%s/", origin);
    policy.retries = 0;
    policy.deadline_ms = CLOCK_WAIT_MS;
    lull_request_init(&request, url);
    request.policy = &policy;
    request.headers = headers;
    request.is_public_only = !is_private_allowed;
    request.timeout_ms = CLOCK_WAIT_MS;
    request.body_max = BODY_KEPT;
    request.hooks.configure = configure;
    int64_t before_ms = lull_os_now_ms();
    if (lull_http_perform(client, &request, &result) != LULL_OK) {
        report->is_memory_out = true;
    } else if (result->status == 0) {
        say_no_answer(report, result);
    } else {
        compare_clocks(report, result, before_ms, lull_os_now_ms());
    }
    lull_result_free(result);
    lull_client_destroy(client);
    curl_slist_free_all(headers);
}

/* ---- all of it ---- */

static int finish(struct report *report)
{
    if (report->findings) {
        json_t *all = json_pack("{s:i, s:i, s:O}", "errors", (int)report->errors, "warnings",
                                (int)report->warnings, "findings", report->findings);
        if (!all || json_dumpf(all, stdout, JSON_COMPACT) != 0 || putchar('\n') == EOF) {
            report->is_memory_out = true;
        }
        json_decref(all);
        json_decref(report->findings);
    }
    if (report->is_memory_out) {
        fputs("lull keys: there is not enough memory.\n", stderr);
        return CLI_FAILED;
    }
    return report->errors > 0 ? CLI_FAILED : CLI_OK;
}

int keys_check_run(const struct keys_check *check)
{
    struct lull_subscription subscription = {.vendor = LULL_VENDOR_OTHER};
    struct report report = {.findings = check->is_json ? json_array() : NULL};
    char *text = NULL;
    size_t length = 0;
    bool is_sendable = false;
    report.is_memory_out = check->is_json && !report.findings;
    if (check->to) {
        text = cli_read_file("keys", "the subscription", check->to, SUBSCRIPTION_MAX, &length);
        if (!text) {
            json_decref(report.findings);
            return CLI_USAGE;
        }
    }
    check_key(&report, check->key);
    if (text) {
        is_sendable = check_subscription(&report, text, length, &subscription);
    }
    enum lull_vendor vendor = is_sendable ? subscription.vendor : LULL_VENDOR_OTHER;
    if (check->topic) {
        check_topic(&report, check->topic, is_sendable, vendor);
    }
    if (check->ttl_s >= 0) {
        check_ttl(&report, check->ttl_s, vendor);
    }
    if (is_sendable && !check->is_offline) {
        (void)fflush(stdout); /* what is known already, before the wait */
        check_clock(&report, subscription.endpoint, check->is_private_allowed);
    }
    free(text);
    return finish(&report);
}
