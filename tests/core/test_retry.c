/* H3: a user's own operation under a policy. */
#include "suite.h"

static struct lull_retry make(const char *policy_text)
{
    struct lull_retry retry;
    struct lull_policy policy;
    assert_int_equal(lull_policy_parse(&policy, policy_text, strlen(policy_text), NULL), LULL_OK);
    assert_int_equal(lull_retry_init(&retry, &policy, 7, 0), LULL_OK);
    return retry;
}

static void test_H3_waits_and_then_gives_up(void **state)
{
    (void)state;
    struct lull_retry retry = make("client");
    static const int64_t ceilings_ms[] = {200, 400, 800};
    for (int i = 0; i < 3; i++) {
        int64_t wait_ms = lull_retry_after_failure(&retry, true, 0);
        assert_in_range(wait_ms, 50, ceilings_ms[i]);
    }
    assert_true(lull_retry_after_failure(&retry, true, 0) == LULL_NEVER);
    assert_int_equal(retry.verdict.kind, LULL_VERDICT_GIVE_UP);
    assert_int_equal(retry.verdict.reason, LULL_REASON_MAX_ATTEMPTS_EXCEEDED);
}

static void test_H3_a_lasting_failure_is_not_retried(void **state)
{
    (void)state;
    struct lull_retry retry = make("delivery");
    assert_true(lull_retry_after_failure(&retry, false, 0) == LULL_NEVER);
    assert_int_equal(retry.verdict.reason, LULL_REASON_OPERATION_FAILED);
}

static void test_B5_deadline(void **state)
{
    (void)state;
    struct lull_retry retry = make("client deadline=10s retries=1000");
    int64_t now_ms = 0;
    int64_t wait_ms = 0;
    while ((wait_ms = lull_retry_after_failure(&retry, true, now_ms)) != LULL_NEVER) {
        now_ms += wait_ms;
        assert_true(now_ms < 10000);
    }
    assert_int_equal(retry.verdict.reason, LULL_REASON_DEADLINE_EXCEEDED);
}

static void test_H3_bad_policy(void **state)
{
    (void)state;
    struct lull_retry retry;
    struct lull_policy policy;
    assert_int_equal(lull_policy_named(&policy, "client"), LULL_OK);
    policy.backoff.cap_ms = 1;
    assert_int_equal(lull_retry_init(&retry, &policy, 7, 0), LULL_ERR_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_H3_waits_and_then_gives_up),
        cmocka_unit_test(test_H3_a_lasting_failure_is_not_retried),
        cmocka_unit_test(test_B5_deadline),
        cmocka_unit_test(test_H3_bad_policy),
    };
    return cmocka_run_group_tests_name("retry", tests, NULL, NULL);
}
