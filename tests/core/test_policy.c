/* B4, C11: the named policies, the validator, the text form. */
#include "suite.h"

static void test_B4_named(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum lull_kind kind;
        int64_t base_ms;
        int64_t cap_ms;
        int64_t floor_ms;
        uint32_t retries;
        int64_t ttl_ms;
        int64_t retry_after_max_ms;
    } cases[] = {
        {"delivery", LULL_KIND_PUSH, 2000, 120000, 0, 5, LULL_DAYS(28), LULL_NEVER},
        {"urgent", LULL_KIND_PUSH, 2000, 120000, 0, 3, LULL_DAYS(28), LULL_NEVER},
        {"bulk", LULL_KIND_PUSH, 2000, 300000, 0, 7, LULL_DAYS(28), LULL_NEVER},
        {"client", LULL_KIND_REQUEST, 200, 30000, 50, 3, LULL_NEVER, 120000},
        {"webhook", LULL_KIND_WEBHOOK, 5000, 3600000, 0, 10, LULL_HOURS(24), LULL_NEVER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lull_policy policy;
        assert_int_equal(lull_policy_named(&policy, cases[i].name), LULL_OK);
        assert_string_equal(policy.name, cases[i].name);
        assert_string_equal(lull_policy_names()[i], cases[i].name);
        assert_int_equal(policy.kind, cases[i].kind);
        assert_int_equal(policy.backoff.strategy, LULL_BACKOFF_FULL_JITTER);
        assert_int_equal(policy.backoff.base_ms, cases[i].base_ms);
        assert_int_equal(policy.backoff.cap_ms, cases[i].cap_ms);
        assert_int_equal(policy.backoff.floor_ms, cases[i].floor_ms);
        assert_int_equal(policy.retries, cases[i].retries);
        assert_int_equal(policy.ttl_ms, cases[i].ttl_ms);
        assert_int_equal(policy.retry_after_max_ms, cases[i].retry_after_max_ms);
        assert_int_equal(lull_policy_validate(&policy, NULL), LULL_OK);
    }
    assert_null(lull_policy_names()[5]);
    struct lull_policy untouched = {.retries = 77};
    assert_int_equal(lull_policy_named(&untouched, "deliver"), LULL_ERR_UNKNOWN);
    assert_int_equal(untouched.retries, 77);
}

static int parse(struct lull_policy *policy, const char *text, struct lull_policy_error *error)
{
    return lull_policy_parse(policy, text, strlen(text), error);
}

static void test_every_key_of_the_text(void **state)
{
    (void)state;
    struct lull_policy policy;
    const char *text = "bulk strategy=decorrelated base=1s cap=10m, floor=500ms multiplier=1.25 "
                       "retries=9 deadline=1h ttl=2d wait-ttl=12.5% spread=20 spread-max=1m "
                       "retry-after-max=30m throttle-min=5s throttle-sender-min=10s "
                       "inner-retries=1 kind=webhook retry-after=exact reset-header=X-Reset "
                       "status.409=retry status.503=never status.409=gone "
                       "problem.urn:a=b=retry";
    assert_int_equal(parse(&policy, text, NULL), LULL_OK);
    assert_string_equal(policy.name, "bulk");
    assert_int_equal(policy.backoff.strategy, LULL_BACKOFF_DECORRELATED);
    assert_int_equal(policy.backoff.base_ms, 1000);
    assert_int_equal(policy.backoff.cap_ms, 600000);
    assert_int_equal(policy.backoff.floor_ms, 500);
    assert_true(policy.backoff.multiplier > 1.249 && policy.backoff.multiplier < 1.251);
    assert_int_equal(policy.retries, 9);
    assert_int_equal(policy.deadline_ms, LULL_HOURS(1));
    assert_int_equal(policy.ttl_ms, LULL_DAYS(2));
    assert_int_equal(policy.wait_ttl_permille, 125);
    assert_int_equal(policy.spread_permille, 200);
    assert_int_equal(policy.spread_max_ms, 60000);
    assert_int_equal(policy.retry_after_max_ms, LULL_MINUTES(30));
    assert_int_equal(policy.throttle_min_ms, 5000);
    assert_int_equal(policy.throttle_sender_min_ms, 10000);
    assert_int_equal(policy.inner_retries, 1);
    assert_int_equal(policy.kind, LULL_KIND_WEBHOOK);
    assert_int_equal(policy.retry_after_mode, LULL_RETRY_AFTER_EXACT);
    assert_int_equal(policy.reset_header_count, 1);
    assert_string_equal(policy.reset_headers[0], "x-reset");
    assert_int_equal(policy.status_count, 2);
    assert_int_equal(policy.statuses[0].class_, LULL_CLASS_GONE);
    assert_int_equal(policy.problem_count, 1);
    assert_string_equal(policy.problems[0].type, "urn:a=b");
    assert_int_equal(parse(&policy, "", NULL), LULL_OK);
    assert_string_equal(policy.name, "delivery");
    assert_int_equal(parse(&policy, "ttl=none retries=0 floor=0", NULL), LULL_OK);
    assert_true(policy.ttl_ms == LULL_NEVER);
}

static void test_bad_text_names_what_and_where(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int error;
        size_t offset;
        const char *field;
        const char *says;
    } cases[] = {
        {"fast", LULL_ERR_UNKNOWN, 0, "fast", "there are delivery, urgent, bulk, client"},
        {"bulk delivery", LULL_ERR_SYNTAX, 5, "delivery", "setting=value"},
        {"bulk retrys=3", LULL_ERR_UNKNOWN, 5, "retrys", "is not a setting"},
        {"retries=-1", LULL_ERR_SYNTAX, 8, "retries", "whole number"},
        {"retries=1001", LULL_ERR_RANGE, 8, "retries", "must be 0 to 1000"},
        {"retries=99999999999999999999", LULL_ERR_RANGE, 8, "retries", "must be 0 to 1000"},
        {"cap=10", LULL_ERR_SYNTAX, 4, "cap", "duration like 500ms"},
        {"cap=10x", LULL_ERR_SYNTAX, 4, "cap", "duration"},
        {"cap=none", LULL_ERR_SYNTAX, 4, "cap", "duration"},
        {"cap=367d", LULL_ERR_RANGE, 4, "cap", "must be 1ms to 366d"},
        {"base=0", LULL_ERR_RANGE, 5, "base", "must be 1ms to 366d"},
        {"ttl=soon", LULL_ERR_SYNTAX, 4, "ttl", "none or a duration"},
        {"ttl=400d", LULL_ERR_RANGE, 4, "ttl", "must be 0d to 366d, or none"},
        {"spread=101%", LULL_ERR_RANGE, 7, "spread", "must be 0% to 100%"},
        {"spread=x%", LULL_ERR_SYNTAX, 7, "spread", "percentage"},
        {"spread=1.55%", LULL_ERR_SYNTAX, 7, "spread", "percentage"},
        {"multiplier=0.5", LULL_ERR_RANGE, 11, "multiplier", "from 1 to 100"},
        {"multiplier=2.", LULL_ERR_SYNTAX, 11, "multiplier", "from 1 to 100"},
        {"multiplier=2.x", LULL_ERR_SYNTAX, 11, "multiplier", "from 1 to 100"},
        {"strategy=random", LULL_ERR_UNKNOWN, 9, "strategy", "full_jitter"},
        {"kind=letter", LULL_ERR_UNKNOWN, 5, "kind", "push, webhook, request"},
        {"retry-after=soon", LULL_ERR_UNKNOWN, 12, "retry-after", "floor or exact"},
        {"reset-header=a:b", LULL_ERR_SYNTAX, 13, "reset-header", "header's name"},
        {"status.40=retry", LULL_ERR_SYNTAX, 7, "status", "three digits"},
        {"status.4xx=retry", LULL_ERR_SYNTAX, 7, "status", "three digits"},
        {"status.409=maybe", LULL_ERR_UNKNOWN, 11, "status", "retry, never, success"},
        {"problem.=retry", LULL_ERR_SYNTAX, 8, "problem", "1 to 127 characters"},
        {"problem.x=sleep", LULL_ERR_UNKNOWN, 10, "problem", "give_up or dead_letter"},
        {"base=10s cap=5s", LULL_ERR_RANGE, 0, "cap", "must not be under base"},
        {"floor=3s", LULL_ERR_RANGE, 0, "floor", "must not be over base"},
        {"=", LULL_ERR_UNKNOWN, 0, "", "is not a setting"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lull_policy policy = {.retries = 77};
        struct lull_policy_error error = {0};
        int result = parse(&policy, cases[i].text, &error);
        if (result != cases[i].error || error.offset != cases[i].offset ||
            strcmp(error.field, cases[i].field) != 0 || !strstr(error.text, cases[i].says) ||
            policy.retries != 77) {
            fail_msg("%s: %s at %zu: %s: %s", cases[i].text, lull_error_to_string(result),
                     error.offset, error.field, error.text);
        }
        assert_int_equal(parse(&policy, cases[i].text, NULL), cases[i].error);
    }
}

static void test_tables_have_room_for_so_many(void **state)
{
    (void)state;
    struct lull_policy policy;
    char text[2048] = "";
    for (int i = 0; i < 16; i++) {
        snprintf(text + strlen(text), 32, "status.%d=retry ", 400 + i);
    }
    assert_int_equal(parse(&policy, text, NULL), LULL_OK);
    strcat(text, "status.499=retry");
    assert_int_equal(parse(&policy, text, NULL), LULL_ERR_FULL);
    assert_int_equal(parse(&policy,
                           "problem.a=retry problem.b=retry problem.c=retry "
                           "problem.d=retry problem.e=retry",
                           NULL),
                     LULL_ERR_FULL);
    assert_int_equal(parse(&policy,
                           "reset-header=a reset-header=b reset-header=c "
                           "reset-header=d reset-header=e",
                           NULL),
                     LULL_ERR_FULL);
}

/* Each bad field of a struct that was filled by hand is named. */
static void test_validate_names_the_bad_field(void **state)
{
    (void)state;
    struct lull_policy good;
    assert_int_equal(lull_policy_named(&good, "delivery"), LULL_OK);
    struct lull_policy bad[12];
    static const char *const fields[] = {"base",       "retries", "deadline", "spread",
                                         "name",       "kind",    "strategy", "retry-after",
                                         "multiplier", "status",  "problem",  "reset-header"};
    for (size_t i = 0; i < 12; i++) {
        bad[i] = good;
    }
    bad[0].backoff.base_ms = 0;
    bad[1].retries = 1001;
    bad[2].deadline_ms = 0;
    bad[3].spread_permille = 1001;
    memset(bad[4].name, 'x', sizeof bad[4].name);
    bad[5].kind = (enum lull_kind)LULL_KINDS;
    bad[6].backoff.strategy = LULL_BACKOFF_STRATEGIES;
    bad[7].retry_after_mode = (enum lull_retry_after_mode)2;
    bad[8].backoff.multiplier = __builtin_nan("");
    bad[9].status_count = 1;
    bad[10].problem_count = LULL_POLICY_PROBLEMS_MAX + 1;
    bad[11].reset_header_count = 1;
    memset(bad[11].reset_headers[0], 'x', sizeof bad[11].reset_headers[0]);
    for (size_t i = 0; i < 12; i++) {
        struct lull_policy_error error = {0};
        assert_int_equal(lull_policy_validate(&bad[i], &error), LULL_ERR_RANGE);
        assert_string_equal(error.field, fields[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_B4_named),
        cmocka_unit_test(test_every_key_of_the_text),
        cmocka_unit_test(test_bad_text_names_what_and_where),
        cmocka_unit_test(test_tables_have_room_for_so_many),
        cmocka_unit_test(test_validate_names_the_bad_field),
    };
    return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
