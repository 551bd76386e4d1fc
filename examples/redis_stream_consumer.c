/*
 * redis_stream_consumer - webhooks from a Redis stream, retried by the queue itself.
 *
 *   redis_stream_consumer HOST PORT STREAM CONSUMER [POLICY [TIMEOUT_MS]]
 *
 * An entry has the fields url and body; it is POSTed with its id as the idempotency key, TIMEOUT_MS
 * (default 10,000) for each attempt. POLICY (default webhook) says when a failed one is tried
 * again.
 *
 * Two times must agree. The lease (the broker's visibility timeout, here min-idle-time) is how long
 * an entry that somebody took is left alone; it is longer than a request can take, else two
 * consumers send the same entry. The backoff is when a failed entry is due. So a failed entry is
 * not acked but given back as if it had been taken long ago: XCLAIM with IDLE = lease - wait, and
 * XAUTOCLAIM finds it when the wait is over. A wait longer than the lease takes several leases: the
 * hash STREAM:due knows when it ends, and until then the entry is only given back again.
 *
 *   XREADGROUP >, or XAUTOCLAIM and due -> POST -> delivered:  XACK
 *                                               -> retry:      due, IDLE = lease - wait
 *                                               -> the end:    XADD STREAM:dead, XACK (one MULTI)
 *
 * Redis counts the deliveries of an entry, so the attempts survive a crash of the consumer.
 *
 * SPDX-License-Identifier: MIT
 */
#include <hiredis/hiredis.h>
#include <inttypes.h>
#include <lull/error.h>
#include <lull/http.h>
#include <lull/os.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP "lull"
#define BLOCK_MS 100 /* how late a due entry can be seen */

struct consumer {
    redisContext *redis;
    struct lull_client *client;
    struct lull_policy policy; /* of the queue; the client's own has no retries */
    const char *stream;
    const char *name;
    int64_t timeout_ms;
    int64_t lease_ms;
};

static volatile sig_atomic_t is_stopped;

static void on_signal(int number)
{
    (void)number;
    is_stopped = 1;
}

/* Asks Redis. An error ends the program: nothing is acked before it is done, so nothing is lost,
 * and whoever starts the program again does that with a backoff of his own. */
static redisReply *ask(redisContext *redis, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = redisvCommand(redis, format, arguments);
    va_end(arguments);
    const redisReply *bad = reply && reply->type == REDIS_REPLY_ERROR ? reply : NULL;
    for (size_t i = 0; reply && reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++) {
        bad = reply->element[i]->type == REDIS_REPLY_ERROR ? reply->element[i] : bad; /* of EXEC */
    }
    if ((!reply || bad) && !(bad && strncmp(bad->str, "BUSYGROUP", 9) == 0)) {
        fprintf(stderr, "redis: %s: %s\n", format, bad ? bad->str : redis->errstr);
        exit(EXIT_FAILURE);
    }
    return reply;
}

#define TELL(...) freeReplyObject(ask(__VA_ARGS__))

/* ---- the three ends of a delivery ---- */

static void give_back(struct consumer *consumer, const char *id, int64_t wait_ms, int64_t attempts)
{
    int64_t idle_ms = wait_ms < consumer->lease_ms ? consumer->lease_ms - wait_ms : 0;
    TELL(consumer->redis, "MULTI");
    TELL(consumer->redis, "HSET %s:due %s %lld", consumer->stream, id,
         (long long)(lull_os_now_ms() + wait_ms));
    TELL(consumer->redis, "XCLAIM %s " GROUP " %s 0 %s IDLE %lld RETRYCOUNT %lld JUSTID",
         consumer->stream, consumer->name, id, (long long)idle_ms, (long long)attempts);
    TELL(consumer->redis, "EXEC");
}

/* reason: NULL if it was delivered; else why it goes to the dead letters. */
static void finish(struct consumer *consumer, const char *id, const redisReply *url,
                   const redisReply *body, const char *reason, unsigned status, int64_t attempts)
{
    TELL(consumer->redis, "MULTI");
    if (reason) {
        TELL(consumer->redis,
             "XADD %s:dead * id %s url %b body %b reason %s status %u attempts %lld",
             consumer->stream, id, url ? url->str : "", url ? (size_t)url->len : 0,
             body ? body->str : "", body ? (size_t)body->len : 0, reason, status,
             (long long)attempts);
    }
    TELL(consumer->redis, "XACK %s " GROUP " %s", consumer->stream, id);
    TELL(consumer->redis, "HDEL %s:due %s", consumer->stream, id);
    TELL(consumer->redis, "EXEC");
    printf("%s %s\n", id, reason ? reason : "delivered");
    (void)fflush(stdout);
}

/* ---- one entry ---- */

static const redisReply *field(const redisReply *fields, const char *name)
{
    for (size_t i = 0; i + 1 < fields->elements; i += 2) {
        if (strcmp(fields->element[i]->str, name) == 0) {
            return fields->element[i + 1];
        }
    }
    return NULL;
}

/* How often Redis has handed it out, this time included. */
static int64_t delivery_count(struct consumer *consumer, const char *id)
{
    redisReply *reply =
        ask(consumer->redis, "XPENDING %s " GROUP " %s %s 1", consumer->stream, id, id);
    int64_t count = reply->elements == 1 ? reply->element[0]->element[3]->integer : 1;
    freeReplyObject(reply);
    return count > 0 ? count : 1;
}

/* What the queue makes of it: the same decision as the client's, with the queue's own policy. */
static struct lull_verdict judge(struct consumer *consumer, const struct lull_result *result,
                                 const char *id, int64_t attempt)
{
    static struct lull_random random;
    static bool is_seeded;
    if (!is_seeded) {
        lull_random_init(&random, lull_os_seed());
        is_seeded = true;
    }
    struct lull_verdict verdict = {.kind = LULL_VERDICT_DEAD, .reason = LULL_REASON_REJECTED};
    struct lull_facts facts;
    struct lull_outcome outcome = {
        .kind = result->status > 0 ? LULL_OUTCOME_STATUS : LULL_OUTCOME_TRANSPORT,
        .status = result->status,
        .transport = result->attempts[result->attempt_count - 1].transport,
        .headers = result->headers,
        .header_count = result->header_count,
        .body = result->body,
        .body_length = result->body_length,
    };
    lull_facts_init(&facts, &consumer->policy, lull_os_now_ms());
    facts.attempt = (uint32_t)attempt;
    facts.first_accepted_ms = strtoll(id, NULL, 10); /* an id begins with the time it came in */
    facts.has_idempotency_key = true;
    int error =
        lull_decide(&consumer->policy, &facts, &outcome, lull_os_now_ms(), &random, &verdict, NULL);
    if (error != LULL_OK) {
        fprintf(stderr, "%s: %s\n", id, lull_error_to_string(error));
    }
    return verdict;
}

static void deliver(struct consumer *consumer, const char *id, const redisReply *fields)
{
    struct lull_request request;
    struct lull_result *result = NULL;
    const redisReply *url = field(fields, "url");
    const redisReply *body = field(fields, "body");
    int64_t attempt = delivery_count(consumer, id);
    if (attempt > (int64_t)consumer->policy.retries + 1) { /* consumers died of it */
        finish(consumer, id, url, body, lull_reason_to_string(LULL_REASON_POISON), 0, attempt);
        return;
    }
    lull_request_init(&request, url ? url->str : "");
    request.method = "POST";
    request.idempotency_key = id;
    request.timeout_ms = consumer->timeout_ms;
    if (body) {
        request.body = (struct lull_body){
            .kind = LULL_BODY_MEMORY, .data = body->str, .length = (int64_t)body->len};
    }
    int error = lull_http_perform(consumer->client, &request, &result);
    if (error != LULL_OK) {
        fprintf(stderr, "%s: %s\n", id, lull_error_to_string(error));
        exit(EXIT_FAILURE); /* no memory: the entry is still pending */
    }
    if (result->attempt_count == 0 && result->reason == LULL_REASON_CIRCUIT_OPEN) {
        give_back(consumer, id, consumer->policy.backoff.base_ms, attempt - 1); /* nothing sent */
    } else if (result->attempt_count == 0) {
        finish(consumer, id, url, body, lull_reason_to_string(result->reason), 0, attempt);
    } else {
        struct lull_verdict verdict = judge(consumer, result, id, attempt);
        if (verdict.kind == LULL_VERDICT_RETRY) {
            printf("%s attempt %" PRId64 ": %s, again in %" PRId64 " ms\n", id, attempt,
                   lull_reason_to_string(verdict.reason), verdict.delay_ms);
            (void)fflush(stdout);
            give_back(consumer, id, verdict.delay_ms, attempt - !verdict.burns_attempt);
        } else {
            bool is_delivered = verdict.kind == LULL_VERDICT_DELIVERED;
            finish(consumer, id, url, body,
                   is_delivered ? NULL : lull_reason_to_string(verdict.reason), result->status,
                   attempt);
        }
    }
    lull_result_free(result);
}

/* ---- where entries come from ---- */

/* A reply with entries, [[id, [name, value ...]] ...]. */
static void deliver_all(struct consumer *consumer, const redisReply *entries)
{
    for (size_t i = 0; i < entries->elements; i++) {
        const redisReply *entry = entries->element[i];
        deliver(consumer, entry->element[0]->str, entry->element[1]);
    }
}

/* JUSTID: it is ours for a lease, and the delivery is not counted yet. */
static void take_back(struct consumer *consumer, const char *id)
{
    redisReply *due = ask(consumer->redis, "HGET %s:due %s", consumer->stream, id);
    int64_t wait_ms = due->type == REDIS_REPLY_STRING
                          ? strtoll(due->str, NULL, 10) - lull_os_now_ms()
                          : 0; /* whoever had it died before it could say */
    freeReplyObject(due);
    if (wait_ms > 0) {
        give_back(consumer, id, wait_ms, delivery_count(consumer, id));
        return;
    }
    redisReply *entries =
        ask(consumer->redis, "XCLAIM %s " GROUP " %s 0 %s", consumer->stream, consumer->name, id);
    deliver_all(consumer, entries); /* none, if it was deleted from the stream */
    freeReplyObject(entries);
}

/* One entry at a time in both: a second one would wait for the first while its own lease runs. */
static void turn(struct consumer *consumer, char *cursor, size_t cursor_size)
{
    redisReply *reply =
        ask(consumer->redis, "XAUTOCLAIM %s " GROUP " %s %lld %s COUNT 1 JUSTID", consumer->stream,
            consumer->name, (long long)consumer->lease_ms, cursor);
    const redisReply *ids = reply->element[1];
    (void)snprintf(cursor, cursor_size, "%s", reply->element[0]->str); /* 0-0 at the end */
    bool is_idle = ids->elements == 0 && strcmp(cursor, "0-0") == 0;
    for (size_t i = 0; i < ids->elements; i++) {
        take_back(consumer, ids->element[i]->str);
    }
    freeReplyObject(reply);

    /* BLOCK only when there is nothing else to do; 1 ms, since 0 is for ever. */
    reply = ask(consumer->redis, "XREADGROUP GROUP " GROUP " %s COUNT 1 BLOCK %d STREAMS %s >",
                consumer->name, is_idle ? BLOCK_MS : 1, consumer->stream);
    if (reply->type == REDIS_REPLY_ARRAY) { /* [[stream, entries]]; nil if none came */
        deliver_all(consumer, reply->element[0]->element[1]);
    }
    freeReplyObject(reply);
}

static bool begin(struct consumer *consumer, int argc, char **argv)
{
    struct lull_client_config config;
    struct lull_policy_error error = {0};
    const char *policy = argc > 5 ? argv[5] : "webhook";
    consumer->stream = argv[3];
    consumer->name = argv[4];
    consumer->timeout_ms = argc > 6 ? strtoll(argv[6], NULL, 10) : 10000;
    consumer->lease_ms = 2 * consumer->timeout_ms; /* the request, and room for Redis */
    if (lull_policy_parse(&consumer->policy, policy, strlen(policy), &error) != LULL_OK ||
        consumer->timeout_ms <= 0) {
        fprintf(stderr, "redis_stream_consumer: %s: %s\n", error.field, error.text);
        return false;
    }
    lull_client_config_default(&config);
    config.policy.retries = 0; /* the queue does that: two layers that retry would multiply */
    config.has_budget = false; /* and its retries are the client's first attempts */
    int result = lull_client_new(&consumer->client, &config);
    if (result != LULL_OK) {
        fprintf(stderr, "redis_stream_consumer: %s\n", lull_error_to_string(result));
        return false;
    }
    struct timeval timeout = {.tv_sec = 5};
    consumer->redis = redisConnectWithTimeout(argv[1], (int)strtol(argv[2], NULL, 10), timeout);
    if (!consumer->redis || consumer->redis->err) {
        fprintf(stderr, "redis: %s\n", consumer->redis ? consumer->redis->errstr : "no memory");
        return false;
    }
    TELL(consumer->redis, "XGROUP CREATE %s " GROUP " 0 MKSTREAM", consumer->stream);
    return true;
}

int main(int argc, char **argv)
{
    struct consumer consumer = {0};
    char cursor[64] = "0-0";
    if (argc < 5 || argc > 7) {
        fprintf(stderr, "usage: redis_stream_consumer HOST PORT STREAM CONSUMER "
                        "[POLICY [TIMEOUT_MS]]\n");
        return 2;
    }
    (void)signal(SIGINT, on_signal);
    (void)signal(SIGTERM, on_signal);
    bool is_good = begin(&consumer, argc, argv);
    while (is_good && !is_stopped) {
        turn(&consumer, cursor, sizeof cursor);
    }
    if (consumer.redis) {
        redisFree(consumer.redis);
    }
    lull_client_destroy(consumer.client);
    return is_good ? EXIT_SUCCESS : EXIT_FAILURE;
}
