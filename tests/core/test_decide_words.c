/* decide: what it refuses to look at, and the words of its answers. */
#include "suite.h"

static void test_impossible_facts_are_refused(void **state)
{
    (void)state;
    struct lull_policy policy;
    struct lull_random random;
    assert_int_equal(lull_policy_named(&policy, "delivery"), LULL_OK);
    lull_random_init(&random, 1);
    for (int i = 0; i < 9; i++) {
        struct lull_facts facts;
        struct lull_outcome outcome = {.kind = LULL_OUTCOME_STATUS, .status = 503};
        struct lull_verdict verdict = {.delay_ms = 77};
        lull_facts_init(&facts, &policy, 0);
        facts.attempt = i == 0 ? 0 : 1;
        facts.kind = i == 1 ? LULL_KINDS : LULL_KIND_PUSH;
        facts.vendor = i == 2 ? LULL_VENDORS : LULL_VENDOR_OTHER;
        facts.method = i == 3 ? LULL_METHODS : LULL_METHOD_POST;
        facts.ttl_ms = i == 4 ? -2 : LULL_TTL_DEFAULT;
        outcome.status = i == 5 ? 99 : i == 6 ? 1000 : 503;
        outcome.kind = i == 7   ? LULL_OUTCOME_TRANSPORT
                       : i == 8 ? (enum lull_outcome_kind)9
                                : LULL_OUTCOME_STATUS;
        assert_int_equal(lull_decide(&policy, &facts, &outcome, 0, &random, &verdict, NULL),
                         LULL_ERR_RANGE);
        assert_int_equal(verdict.delay_ms, 77);
    }
}

static void test_words(void **state)
{
    (void)state;
    for (int i = 0; i < LULL_REASONS; i++) {
        assert_non_null(lull_reason_to_string((enum lull_reason)i));
    }
    for (int i = 0; i < LULL_VERDICTS; i++) {
        assert_non_null(lull_verdict_kind_to_string((enum lull_verdict_kind)i));
    }
    for (unsigned i = 0; i < LULL_SIDE_EFFECTS; i++) {
        enum lull_side_effect effect = (enum lull_side_effect)(1U << i);
        assert_string_not_equal(lull_side_effect_to_string(effect), "none");
    }
    assert_string_equal(lull_side_effect_to_string((enum lull_side_effect)0), "none");
    assert_string_equal(lull_method_to_string(LULL_METHOD_PATCH), "PATCH");
    assert_string_equal(lull_scope_to_string(LULL_SCOPE_SENDER), "sender");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_impossible_facts_are_refused),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests_name("decide_words", tests, NULL, NULL);
}
