/* decide: policy, facts and outcome in; verdict, delay, reason, scope and side effects out. */
#include "suite.h"

#define NOW_MS INT64_C(1767225600000) /* 2026-01-01 00:00:00 */

/* A question to decide, with the usual answer to everything left out. */
struct question {
    const char *policy; /* NULL: delivery */
    unsigned status;    /* 0: transport */
    enum lull_transport transport;
    const char *headers[4][2];
    void (*change)(struct lull_facts *);
};

static struct lull_verdict ask(const struct question *question, struct lull_trace *trace)
{
    struct lull_policy policy;
    struct lull_policy_error error;
    struct lull_facts facts;
    struct lull_random random;
    struct lull_verdict verdict;
    struct lull_header headers[4];
    const char *text = question->policy ? question->policy : "delivery";
    struct lull_outcome outcome = {
        .kind = question->status ? LULL_OUTCOME_STATUS : LULL_OUTCOME_TRANSPORT,
        .status = question->status,
        .transport = question->transport,
        .headers = headers,
    };
    if (lull_policy_parse(&policy, text, strlen(text), &error) != LULL_OK) {
        fail_msg("%s", error.text);
    }
    for (int i = 0; i < 4 && question->headers[i][0]; i++) {
        const char *const *pair = question->headers[i];
        headers[outcome.header_count++] =
            (struct lull_header){pair[0], strlen(pair[0]), pair[1], strlen(pair[1])};
    }
    lull_facts_init(&facts, &policy, NOW_MS);
    if (question->change) {
        question->change(&facts);
    }
    lull_random_init(&random, 7);
    assert_int_equal(lull_decide(&policy, &facts, &outcome, NOW_MS, &random, &verdict, trace),
                     LULL_OK);
    return verdict;
}

static void check(const struct question *question, enum lull_verdict_kind kind,
                  enum lull_reason reason)
{
    struct lull_verdict verdict = ask(question, NULL);
    if (verdict.kind != kind || verdict.reason != reason) {
        fail_msg("%s %u %s: %s %s", question->policy ? question->policy : "delivery",
                 question->status, lull_transport_to_string(question->transport),
                 lull_verdict_kind_to_string(verdict.kind), lull_reason_to_string(verdict.reason));
    }
}

static void check_delay(const struct question *question, int64_t min_ms, int64_t max_ms)
{
    struct lull_verdict verdict = ask(question, NULL);
    assert_int_equal(verdict.kind, LULL_VERDICT_RETRY);
    if (verdict.delay_min_ms != min_ms || verdict.delay_max_ms != max_ms ||
        verdict.delay_ms < min_ms || verdict.delay_ms > max_ms) {
        fail_msg("%u: %lld in [%lld, %lld], expected [%lld, %lld]", question->status,
                 (long long)verdict.delay_ms, (long long)verdict.delay_min_ms,
                 (long long)verdict.delay_max_ms, (long long)min_ms, (long long)max_ms);
    }
}

#define FACT(name, code)                                                                           \
    static void name(struct lull_facts *facts)                                                     \
    {                                                                                              \
        code;                                                                                      \
    }
FACT(attempt_2, facts->attempt = 2)
FACT(attempt_5, facts->attempt = 5)
FACT(attempt_6, facts->attempt = 6)
FACT(body_spent, facts->is_body_spent = true)
FACT(post_body_spent, facts->is_body_spent = true; facts->method = LULL_METHOD_POST)
FACT(fcm, facts->vendor = LULL_VENDOR_FCM)
FACT(mozilla, facts->vendor = LULL_VENDOR_MOZILLA)
FACT(invalid_host, facts->vendor = LULL_VENDOR_INVALID)
FACT(sender_throttled, facts->is_sender_throttled = true)
FACT(auth_retried, facts->auth_retries = 1)
FACT(key_paused, facts->is_key_paused = true; facts->attempt = 6; facts->is_repeatable = false)
FACT(ttl_0, facts->ttl_ms = 0)
FACT(ttl_60, facts->ttl_ms = 60000)
FACT(ttl_60_age_45, facts->ttl_ms = 60000; facts->first_accepted_ms = NOW_MS - 45000)
FACT(ttl_60_from_the_future, facts->ttl_ms = 60000; facts->first_accepted_ms = NOW_MS + 9999999)
FACT(post, facts->method = LULL_METHOD_POST)
FACT(post_with_key, facts->method = LULL_METHOD_POST; facts->has_idempotency_key = true)
FACT(post_repeatable, facts->method = LULL_METHOD_POST; facts->is_repeatable = true)
FACT(served_a_retry, facts->incoming_attempt = 2)
FACT(served_a_first, facts->incoming_attempt = 1)
FACT(circuit_open, facts->is_circuit_open = true)
FACT(budget_exhausted, facts->is_budget_exhausted = true)

static void test_C_verdicts(void **state)
{
    (void)state;
    check(&(struct question){.status = 201}, LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED);
    check(&(struct question){.status = 503}, LULL_VERDICT_RETRY, LULL_REASON_UNAVAILABLE);
    check(&(struct question){.status = 429}, LULL_VERDICT_RETRY, LULL_REASON_THROTTLED);
    check(&(struct question){.status = 500}, LULL_VERDICT_RETRY, LULL_REASON_SERVER_ERROR);
    check(&(struct question){.transport = LULL_TRANSPORT_RESET}, LULL_VERDICT_RETRY,
          LULL_REASON_TRANSPORT);
    check(&(struct question){.status = 400}, LULL_VERDICT_DEAD, LULL_REASON_REJECTED);
    check(&(struct question){.status = 301}, LULL_VERDICT_DEAD, LULL_REASON_REJECTED);
    check(&(struct question){.transport = LULL_TRANSPORT_TLS}, LULL_VERDICT_DEAD,
          LULL_REASON_INVALID_TARGET);
    check(&(struct question){.transport = LULL_TRANSPORT_CANCELLED}, LULL_VERDICT_DEAD,
          LULL_REASON_CANCELLED);
    check(&(struct question){.status = 400, .policy = "client"}, LULL_VERDICT_GIVE_UP,
          LULL_REASON_REJECTED);
    check(&(struct question){.status = 400, .policy = "webhook"}, LULL_VERDICT_DEAD,
          LULL_REASON_REJECTED);
}

static void test_C5_C6_side_effects(void **state)
{
    (void)state;
    static const struct {
        const char *policy;
        unsigned status;
        enum lull_reason reason;
        unsigned side_effects;
        enum lull_scope scope;
    } cases[] = {
        {"delivery", 404, LULL_REASON_GONE, LULL_DO_PURGE, LULL_SCOPE_SUBSCRIPTION},
        {"delivery", 410, LULL_REASON_GONE, LULL_DO_PURGE, LULL_SCOPE_SUBSCRIPTION},
        {"webhook", 410, LULL_REASON_GONE, LULL_DO_DISABLE_TARGET, LULL_SCOPE_SUBSCRIPTION},
        {"webhook", 404, LULL_REASON_GONE, 0, LULL_SCOPE_MESSAGE},
        {"client", 410, LULL_REASON_GONE, 0, LULL_SCOPE_MESSAGE},
        {"delivery", 413, LULL_REASON_PAYLOAD_TOO_LARGE, LULL_DO_REMEMBER_SIZE, LULL_SCOPE_MESSAGE},
        {"delivery", 401, LULL_REASON_AUTH, LULL_DO_ALERT, LULL_SCOPE_MESSAGE},
        {"delivery", 403, LULL_REASON_AUTH, LULL_DO_ALERT, LULL_SCOPE_MESSAGE},
        {"client", 401, LULL_REASON_AUTH, 0, LULL_SCOPE_MESSAGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct question question = {.policy = cases[i].policy, .status = cases[i].status};
        struct lull_verdict verdict = ask(&question, NULL);
        assert_int_equal(verdict.reason, cases[i].reason);
        assert_int_equal(verdict.side_effects, cases[i].side_effects);
        assert_int_equal(verdict.scope, cases[i].scope);
        assert_int_equal(verdict.delay_ms, 0);
    }
}

static void test_C8_one_fresh_jwt_then_auth(void **state)
{
    (void)state;
    struct question question = {.status = 429, .headers = {{"Retry-After", "0"}}};
    struct lull_verdict verdict = ask(&question, NULL);
    assert_int_equal(verdict.kind, LULL_VERDICT_RETRY);
    assert_int_equal(verdict.reason, LULL_REASON_AUTH_SUSPECT);
    assert_true(verdict.side_effects & LULL_DO_FRESH_JWT);
    assert_true(verdict.side_effects & LULL_DO_WARN_AUTH_SUSPECT);
    question.change = auth_retried;
    verdict = ask(&question, NULL);
    assert_int_equal(verdict.kind, LULL_VERDICT_DEAD);
    assert_int_equal(verdict.reason, LULL_REASON_AUTH);
    assert_true(verdict.side_effects & LULL_DO_ALERT);
    assert_true(verdict.side_effects & LULL_DO_HOLD); /* it is a 429 all the same */
    assert_false(verdict.side_effects & LULL_DO_FRESH_JWT);
}

static void test_C9_idempotency_gate(void **state)
{
    (void)state;
    static const struct {
        void (*change)(struct lull_facts *);
        unsigned status;
        enum lull_transport transport;
        const char *retry_after;
        enum lull_reason reason;
    } cases[] = {
        {NULL, 500, 0, NULL, LULL_REASON_SERVER_ERROR}, /* a GET */
        {post, 500, 0, NULL, LULL_REASON_NOT_IDEMPOTENT},
        {post_with_key, 500, 0, NULL, LULL_REASON_SERVER_ERROR},
        {post_repeatable, 500, 0, NULL, LULL_REASON_SERVER_ERROR},
        {post, 429, 0, NULL, LULL_REASON_NOT_IDEMPOTENT},
        {post, 429, 0, "1", LULL_REASON_THROTTLED},
        {post, 429, 0, "soon", LULL_REASON_NOT_IDEMPOTENT},
        {post, 503, 0, "1", LULL_REASON_UNAVAILABLE},
        {post, 503, 0, NULL, LULL_REASON_NOT_IDEMPOTENT},
        {post, 500, 0, "1", LULL_REASON_NOT_IDEMPOTENT},
        {post_with_key, 503, 0, "1", LULL_REASON_UNAVAILABLE},
        {post, 0, LULL_TRANSPORT_DNS, NULL, LULL_REASON_TRANSPORT},
        {post, 0, LULL_TRANSPORT_REFUSED, NULL, LULL_REASON_TRANSPORT},
        {post, 0, LULL_TRANSPORT_CONNECT_TIMEOUT, NULL, LULL_REASON_TRANSPORT},
        {post, 0, LULL_TRANSPORT_TLS_HANDSHAKE, NULL, LULL_REASON_TRANSPORT},
        {post, 0, LULL_TRANSPORT_REFUSED_STREAM, NULL, LULL_REASON_TRANSPORT},
        {post, 0, LULL_TRANSPORT_GOAWAY, NULL, LULL_REASON_TRANSPORT},
        {post, 0, LULL_TRANSPORT_RESET, NULL, LULL_REASON_NOT_IDEMPOTENT},
        {post, 0, LULL_TRANSPORT_TIMEOUT, NULL, LULL_REASON_NOT_IDEMPOTENT},
        {post, 0, LULL_TRANSPORT_PROTOCOL, NULL, LULL_REASON_NOT_IDEMPOTENT},
        {post, 400, 0, NULL, LULL_REASON_REJECTED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct question question = {.policy = "client",
                                    .status = cases[i].status,
                                    .transport = cases[i].transport,
                                    .change = cases[i].change};
        if (cases[i].retry_after) {
            question.headers[0][0] = "Retry-After";
            question.headers[0][1] = cases[i].retry_after;
        }
        struct lull_verdict verdict = ask(&question, NULL);
        if (verdict.reason != cases[i].reason) {
            fail_msg("case %zu: %s", i, lull_reason_to_string(verdict.reason));
        }
    }
    static const struct {
        const char *word;
        bool is_retried;
    } methods[] = {{"GET", true},    {"HEAD", true},  {"OPTIONS", true}, {"PUT", true},
                   {"DELETE", true}, {"TRACE", true}, {"POST", false},   {"PATCH", false},
                   {"get", false},   {"BREW", false}};
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        struct lull_policy policy;
        struct lull_facts facts;
        struct lull_random random;
        struct lull_verdict verdict;
        struct lull_outcome outcome = {.kind = LULL_OUTCOME_STATUS, .status = 500};
        assert_int_equal(lull_policy_named(&policy, "client"), LULL_OK);
        lull_facts_init(&facts, &policy, 0);
        facts.method = lull_method_from_string(methods[i].word);
        lull_random_init(&random, 1);
        assert_int_equal(lull_decide(&policy, &facts, &outcome, 0, &random, &verdict, NULL), 0);
        assert_int_equal(verdict.kind == LULL_VERDICT_RETRY, methods[i].is_retried);
    }
}

static void test_B2_B5_attempts_and_backoff(void **state)
{
    (void)state;
    check_delay(&(struct question){.status = 503}, 0, 2000);
    check_delay(&(struct question){.status = 503, .change = attempt_2}, 0, 4000);
    check_delay(&(struct question){.status = 503, .change = attempt_5}, 0, 32000);
    check(&(struct question){.status = 503, .change = attempt_6}, LULL_VERDICT_DEAD,
          LULL_REASON_MAX_ATTEMPTS_EXCEEDED);
    check_delay(&(struct question){.status = 503, .policy = "client"}, 50, 200);
    check(&(struct question){.status = 503, .policy = "client retries=0"}, LULL_VERDICT_GIVE_UP,
          LULL_REASON_MAX_ATTEMPTS_EXCEEDED);
    check(&(struct question){.status = 503, .policy = "strategy=immediate", .change = attempt_2},
          LULL_VERDICT_DEAD, LULL_REASON_MAX_ATTEMPTS_EXCEEDED);
    check(&(struct question){.status = 503, .policy = "client deadline=1ms"}, LULL_VERDICT_GIVE_UP,
          LULL_REASON_DEADLINE_EXCEEDED);
    check(&(struct question){.status = 503, .policy = "delivery deadline=1ms floor=5ms"},
          LULL_VERDICT_DEAD, LULL_REASON_TTL_EXPIRED_DURING_BACKOFF);
}

static void test_A3_floor_and_exact(void **state)
{
    (void)state;
    struct question question = {.status = 429, .headers = {{"Retry-After", "120"}}};
    check_delay(&question, 120000, 132000); /* 10 % on top */
    question.headers[0][1] = "3600";
    check_delay(&question, 3600000, 3630000); /* at most 30 s */
    question.headers[0][1] = "1";
    question.change = attempt_5;
    check_delay(&question, 1000, 32000 + 100); /* our backoff where it is longer */
    question.policy = "retry-after=exact";
    check_delay(&question, 1000, 1000);
    question.headers[0][1] = "Wed, 31 Dec 2025 23:59:59 GMT"; /* past: 0, and jitter (A2) */
    check_delay(&question, 0, 32000);
    question.status = 503; /* A7 */
    question.change = NULL;
    question.policy = NULL;
    question.headers[0][1] = "Thu, 01 Jan 2026 00:00:30 GMT";
    check_delay(&question, 30000, 33000);
}

static void test_A4_too_long(void **state)
{
    (void)state;
    struct question question = {
        .policy = "client", .status = 503, .headers = {{"Retry-After", "121"}}};
    check(&question, LULL_VERDICT_GIVE_UP, LULL_REASON_RETRY_AFTER_TOO_LONG);
    question.headers[0][1] = "120";
    check_delay(&question, 120000, 132000);
    question.policy = "delivery"; /* over our cap, and not shortened */
    question.headers[0][1] = "7200";
    check_delay(&question, 7200000, 7230000);
    question.change = ttl_60; /* past the TTL: ends now, and says by how much */
    struct lull_verdict verdict = ask(&question, NULL);
    assert_int_equal(verdict.reason, LULL_REASON_TTL_EXPIRED_DURING_BACKOFF);
    assert_true(verdict.delay_ms >= 7200000);
    assert_int_equal(verdict.remaining_ms, 60000);
}

static void test_A5_429_without_retry_after(void **state)
{
    (void)state;
    check_delay(&(struct question){.status = 429}, 15000, 17000);
    check_delay(&(struct question){.status = 429, .change = mozilla}, 60000, 62000);
    check_delay(&(struct question){.status = 429, .change = sender_throttled}, 60000, 62000);
    check_delay(&(struct question){.status = 429, .change = fcm}, 60000, 62000);
    check_delay(&(struct question){.status = 429, .policy = "client"}, 15050, 15200);
    struct lull_verdict verdict = ask(&(struct question){.status = 429}, NULL);
    assert_true(verdict.side_effects & LULL_DO_WARN_RETRY_AFTER_MISSING);
    struct question malformed = {.status = 429, .headers = {{"Retry-After", "1.5"}}};
    verdict = ask(&malformed, NULL);
    assert_true(verdict.side_effects & LULL_DO_WARN_RETRY_AFTER_MALFORMED);
    check_delay(&malformed, 15000, 17000); /* counts as absent */
    struct question fallback = {.status = 429,
                                .headers = {{"Retry-After", "soon"}, {"RateLimit-Reset", "30"}}};
    verdict = ask(&fallback, NULL); /* readable by another header, and still to be logged */
    assert_true(verdict.side_effects & LULL_DO_WARN_RETRY_AFTER_MALFORMED);
    assert_int_equal(verdict.retry_after.state, LULL_RETRY_AFTER_OK);
    struct question twice = {.status = 429,
                             .headers = {{"Retry-After", "5"}, {"retry-after", "5"}}};
    assert_int_equal(ask(&twice, NULL).retry_after.state, LULL_RETRY_AFTER_MALFORMED);
}

static void test_A7_reset_headers(void **state)
{
    (void)state;
    static const struct {
        const char *policy;
        unsigned status;
        const char *headers[2][2];
        int64_t min_ms;
        int64_t max_ms;
    } cases[] = {
        {NULL, 429, {{"RateLimit-Reset", "30"}}, 30000, 33000},
        {NULL, 429, {{"X-RateLimit-Reset", "1767225630"}}, 30000, 33000},
        {NULL, 503, {{"Retry-After-Ms", "2500"}}, 2500, 2750},
        {NULL, 429, {{"X-WNS-CONTINUE-AFTER", "40"}}, 40000, 44000},
        {NULL, 429, {{"X-WNS-CONTINUE-AFTER", "40"}, {"Retry-After", "20"}}, 20000, 22000},
        {NULL, 429, {{"Retry-After", "soon"}, {"RateLimit-Reset", "30"}}, 30000, 33000},
        {"reset-header=X-Come-Back", 429, {{"x-come-back", "50"}}, 50000, 55000},
        {"reset-header=X-Come-Back", 429, {{"x-come-back", "later"}}, 15000, 17000},
        {NULL, 500, {{"X-RateLimit-Reset", "3000"}}, 0, 2000}, /* not about this failure */
        {NULL, 500, {{"Retry-After-Ms", "2500"}}, 2500, 2750},
        {NULL, 500, {{"Retry-After", "30"}}, 30000, 33000},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct question question = {.policy = cases[i].policy, .status = cases[i].status};
        memcpy(question.headers, cases[i].headers, sizeof cases[i].headers);
        check_delay(&question, cases[i].min_ms, cases[i].max_ms);
    }
}

static void test_T_time_to_live(void **state)
{
    (void)state;
    check(&(struct question){.status = 503, .change = ttl_0}, LULL_VERDICT_DEAD,
          LULL_REASON_TTL_EXPIRED_DURING_BACKOFF);
    struct question question = {
        .status = 503, .headers = {{"Retry-After", "15"}}, .change = ttl_60_age_45};
    check(&question, LULL_VERDICT_DEAD, LULL_REASON_TTL_EXPIRED_DURING_BACKOFF);
    question.headers[0][1] = "10";
    check_delay(&question, 10000, 11000);
    /* T4: a clock that stepped back does not lengthen a life */
    question.change = ttl_60_from_the_future;
    assert_int_equal(ask(&question, NULL).remaining_ms, 60000);
}

static void test_B4_urgent_never_waits_over_half_the_ttl(void **state)
{
    (void)state;
    struct question question = {
        .policy = "urgent", .status = 503, .headers = {{"Retry-After", "30"}}, .change = ttl_60};
    check_delay(&question, 30000, 30000); /* the spread is cut, the wait is not */
    question.headers[0][1] = "31";
    check(&question, LULL_VERDICT_DEAD, LULL_REASON_RETRY_AFTER_TOO_LONG);
    question.headers[0][1] = "60"; /* not only over half of it: over all of it */
    check(&question, LULL_VERDICT_DEAD, LULL_REASON_TTL_EXPIRED_DURING_BACKOFF);
    question.headers[0][0] = NULL;
    question.policy = "urgent base=100s";
    check_delay(&question, 0, 30000);
    question.policy = "urgent throttle-min=40s";
    question.status = 429;
    check(&question, LULL_VERDICT_DEAD, LULL_REASON_TTL_EXPIRED_DURING_BACKOFF);
}

static void test_P3_P4_scope(void **state)
{
    (void)state;
    static const struct {
        const char *policy;
        void (*change)(struct lull_facts *);
        enum lull_scope scope;
        unsigned effect;
    } cases[] = {
        {"delivery", NULL, LULL_SCOPE_SUBSCRIPTION, LULL_DO_HOLD},
        {"delivery", mozilla, LULL_SCOPE_SUBSCRIPTION, LULL_DO_HOLD},
        {"delivery", fcm, LULL_SCOPE_SENDER, LULL_DO_PAUSE},
        {"delivery", sender_throttled, LULL_SCOPE_SENDER, LULL_DO_PAUSE},
        {"client", NULL, LULL_SCOPE_MESSAGE, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct question question = {.policy = cases[i].policy,
                                    .status = 429,
                                    .headers = {{"Retry-After", "20"}},
                                    .change = cases[i].change};
        struct lull_verdict verdict = ask(&question, NULL);
        assert_int_equal(verdict.scope, cases[i].scope);
        assert_int_equal(verdict.side_effects, cases[i].effect);
    }
}

static void test_V2_fcm_waits_ten_seconds(void **state)
{
    (void)state;
    check_delay(&(struct question){.status = 503, .change = fcm}, 10000, 12000);
    struct question question = {.status = 503, .headers = {{"Retry-After", "2"}}, .change = fcm};
    check_delay(&question, 10000, 11000); /* the service's minimum, and its spread */
    question.policy = "delivery retry-after=exact";
    check_delay(&question, 10000, 10000);
    question.policy = NULL;
    question.headers[0][1] = "20";
    check_delay(&question, 20000, 22000);
}

/* 429s hold or pause also where this message itself ends. */
static void test_P3_holds_outlive_the_message(void **state)
{
    (void)state;
    struct question question = {
        .status = 429, .headers = {{"Retry-After", "600"}}, .change = attempt_6};
    struct lull_verdict verdict = ask(&question, NULL);
    assert_int_equal(verdict.reason, LULL_REASON_MAX_ATTEMPTS_EXCEEDED);
    assert_int_equal(verdict.side_effects, LULL_DO_HOLD);
    assert_int_equal(verdict.hold_ms, 600000);
    assert_int_equal(verdict.delay_ms, 0);
    question.change = sender_throttled;
    question.policy = "delivery retry-after-max=60s";
    verdict = ask(&question, NULL);
    assert_int_equal(verdict.reason, LULL_REASON_RETRY_AFTER_TOO_LONG);
    assert_int_equal(verdict.side_effects, LULL_DO_PAUSE);
    assert_int_equal(verdict.hold_ms, 600000);
}

static void test_S6_invalid_is_gone(void **state)
{
    (void)state;
    struct question question = {.status = 503, .change = invalid_host};
    struct lull_verdict verdict = ask(&question, NULL);
    assert_int_equal(verdict.kind, LULL_VERDICT_DEAD);
    assert_int_equal(verdict.reason, LULL_REASON_GONE);
    assert_int_equal(verdict.side_effects, LULL_DO_PURGE);
}

static void test_K6_a_paused_key_burns_no_attempt(void **state)
{
    (void)state;
    struct lull_verdict verdict =
        ask(&(struct question){.status = 403, .change = key_paused}, NULL);
    assert_int_equal(verdict.kind, LULL_VERDICT_RETRY);
    assert_int_equal(verdict.reason, LULL_REASON_KEY_PAUSED);
    assert_false(verdict.burns_attempt);
    assert_int_equal(verdict.side_effects, 0);
    struct question immediate = {
        .policy = "strategy=immediate", .status = 403, .change = key_paused};
    assert_in_range(ask(&immediate, NULL).delay_ms, 0, 2000);
}

/* A body that was read from a source without a way back cannot be sent again. */
static void test_H1_a_spent_body_ends_it(void **state)
{
    (void)state;
    check(&(struct question){.policy = "client", .status = 503, .change = body_spent},
          LULL_VERDICT_GIVE_UP, LULL_REASON_BODY_SPENT);
    check(&(struct question){.policy = "client",
                             .transport = LULL_TRANSPORT_REFUSED,
                             .change = post_body_spent},
          LULL_VERDICT_GIVE_UP, LULL_REASON_BODY_SPENT);
    /* where it would have ended anyway, the reason is that */
    check(&(struct question){.policy = "client",
                             .transport = LULL_TRANSPORT_RESET,
                             .change = post_body_spent},
          LULL_VERDICT_GIVE_UP, LULL_REASON_NOT_IDEMPOTENT);
    check(&(struct question){.policy = "client", .status = 400, .change = body_spent},
          LULL_VERDICT_GIVE_UP, LULL_REASON_REJECTED);
    check(&(struct question){.policy = "client", .status = 200, .change = body_spent},
          LULL_VERDICT_DELIVERED, LULL_REASON_DELIVERED);
    assert_string_equal(lull_reason_to_string(LULL_REASON_BODY_SPENT), "body_spent");
}

static void test_G4_G7_K5_restraint(void **state)
{
    (void)state;
    check(&(struct question){.policy = "client", .status = 503, .change = circuit_open},
          LULL_VERDICT_GIVE_UP, LULL_REASON_CIRCUIT_OPEN);
    check(&(struct question){.policy = "client", .status = 503, .change = budget_exhausted},
          LULL_VERDICT_GIVE_UP, LULL_REASON_BUDGET_EXHAUSTED);
    /* a queue keeps the message: it is the gate that waits */
    check(&(struct question){.status = 503, .change = circuit_open}, LULL_VERDICT_RETRY,
          LULL_REASON_UNAVAILABLE);
    check(&(struct question){.status = 503, .change = budget_exhausted}, LULL_VERDICT_RETRY,
          LULL_REASON_UNAVAILABLE);
    check(&(struct question){.policy = "client", .status = 503, .change = served_a_retry},
          LULL_VERDICT_GIVE_UP, LULL_REASON_OUTER_RETRIES);
    check(&(struct question){.policy = "client", .status = 503, .change = served_a_first},
          LULL_VERDICT_RETRY, LULL_REASON_UNAVAILABLE);
    check(&(struct question){.policy = "client inner-retries=1",
                             .status = 503,
                             .change = served_a_retry},
          LULL_VERDICT_RETRY, LULL_REASON_UNAVAILABLE);
}

static struct lull_verdict ask_pending(const char *name, int64_t ttl_ms, int64_t age_ms,
                                       uint32_t attempt, bool is_circuit_open)
{
    struct lull_policy policy;
    struct lull_facts facts;
    struct lull_random random;
    struct lull_verdict verdict;
    struct lull_outcome outcome = {.kind = LULL_OUTCOME_PENDING};
    assert_int_equal(lull_policy_parse(&policy, name, strlen(name), NULL), LULL_OK);
    lull_facts_init(&facts, &policy, NOW_MS - age_ms);
    facts.ttl_ms = ttl_ms;
    facts.attempt = attempt;
    facts.is_circuit_open = is_circuit_open;
    lull_random_init(&random, 1);
    assert_int_equal(lull_decide(&policy, &facts, &outcome, NOW_MS, &random, &verdict, NULL),
                     LULL_OK);
    assert_false(verdict.burns_attempt);
    return verdict;
}

static void test_T2_K5_before_the_first_attempt(void **state)
{
    (void)state;
    assert_int_equal(ask_pending("delivery", 60000, 59999, 1, false).kind, LULL_VERDICT_SEND);
    assert_int_equal(ask_pending("delivery", 60000, 60000, 1, false).reason,
                     LULL_REASON_TTL_EXPIRED);
    assert_int_equal(ask_pending("delivery", 0, 5, 1, false).kind, LULL_VERDICT_SEND);
    assert_int_equal(ask_pending("delivery", 0, 5, 2, false).reason, LULL_REASON_TTL_EXPIRED);
    assert_int_equal(ask_pending("delivery", 0, 3600000, 1, false).reason, LULL_REASON_TTL_EXPIRED);
    assert_int_equal(ask_pending("delivery", 60000, 0, 1, true).kind, LULL_VERDICT_WAIT);
    assert_int_equal(ask_pending("delivery", 60000, 0, 1, true).reason, LULL_REASON_CIRCUIT_OPEN);
    assert_int_equal(ask_pending("delivery", 60000, 0, 7, false).reason,
                     LULL_REASON_MAX_ATTEMPTS_EXCEEDED);
    assert_int_equal(ask_pending("client", LULL_NEVER, 0, 1, true).reason,
                     LULL_REASON_CIRCUIT_OPEN);
    assert_int_equal(ask_pending("client deadline=1s", LULL_NEVER, 1000, 1, false).reason,
                     LULL_REASON_DEADLINE_EXCEEDED);
}

static void test_C10_asks_decide_the_kind_of_end(void **state)
{
    (void)state;
    static const struct {
        const char *policy;
        enum lull_verdict_kind kind;
    } cases[] = {
        {"client problem.urn:x=dead_letter", LULL_VERDICT_DEAD},
        {"client problem.urn:x=give_up", LULL_VERDICT_GIVE_UP},
        {"delivery problem.urn:x=give_up", LULL_VERDICT_DEAD}, /* a message is never just lost */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lull_policy policy;
        struct lull_facts facts;
        struct lull_random random;
        struct lull_verdict verdict;
        struct lull_header header = {"Content-Type", 12, "application/problem+json", 24};
        struct lull_outcome outcome = {.kind = LULL_OUTCOME_STATUS,
                                       .status = 503,
                                       .headers = &header,
                                       .header_count = 1,
                                       .body = "{\"type\":\"urn:x\"}",
                                       .body_length = 16};
        assert_int_equal(lull_policy_parse(&policy, cases[i].policy, strlen(cases[i].policy), NULL),
                         LULL_OK);
        lull_facts_init(&facts, &policy, NOW_MS);
        lull_random_init(&random, 1);
        assert_int_equal(lull_decide(&policy, &facts, &outcome, NOW_MS, &random, &verdict, NULL),
                         LULL_OK);
        assert_int_equal(verdict.kind, cases[i].kind);
        assert_int_equal(verdict.reason, LULL_REASON_REJECTED);
    }
}

/* The trace tells the questions in order, each at most once, and changes nothing. */
static void test_trace(void **state)
{
    (void)state;
    struct lull_trace trace;
    struct question question = {.status = 429, .headers = {{"Retry-After", "120"}}};
    struct lull_verdict with = ask(&question, &trace);
    struct lull_verdict without = ask(&question, NULL);
    assert_int_equal(with.delay_ms, without.delay_ms);
    assert_in_range(trace.count, 8, LULL_QUESTIONS);
    bool is_asked[LULL_QUESTIONS] = {false};
    for (size_t i = 0; i < trace.count; i++) {
        assert_false(is_asked[trace.steps[i].question]);
        is_asked[trace.steps[i].question] = true;
        assert_true(strlen(trace.steps[i].rule) >= 2);
        assert_true(strlen(trace.steps[i].answer) > 0);
        assert_non_null(lull_question_to_string(trace.steps[i].question));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_C_verdicts),
        cmocka_unit_test(test_C5_C6_side_effects),
        cmocka_unit_test(test_C8_one_fresh_jwt_then_auth),
        cmocka_unit_test(test_C9_idempotency_gate),
        cmocka_unit_test(test_B2_B5_attempts_and_backoff),
        cmocka_unit_test(test_A3_floor_and_exact),
        cmocka_unit_test(test_A4_too_long),
        cmocka_unit_test(test_A5_429_without_retry_after),
        cmocka_unit_test(test_A7_reset_headers),
        cmocka_unit_test(test_T_time_to_live),
        cmocka_unit_test(test_B4_urgent_never_waits_over_half_the_ttl),
        cmocka_unit_test(test_P3_P4_scope),
        cmocka_unit_test(test_V2_fcm_waits_ten_seconds),
        cmocka_unit_test(test_P3_holds_outlive_the_message),
        cmocka_unit_test(test_S6_invalid_is_gone),
        cmocka_unit_test(test_K6_a_paused_key_burns_no_attempt),
        cmocka_unit_test(test_H1_a_spent_body_ends_it),
        cmocka_unit_test(test_G4_G7_K5_restraint),
        cmocka_unit_test(test_T2_K5_before_the_first_attempt),
        cmocka_unit_test(test_C10_asks_decide_the_kind_of_end),
        cmocka_unit_test(test_trace),
    };
    return cmocka_run_group_tests_name("decide", tests, NULL, NULL);
}
