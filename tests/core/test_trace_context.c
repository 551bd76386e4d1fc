/* L5: the W3C traceparent header, read strictly and written back. */
#include "suite.h"

#define EXAMPLE "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static int parse(struct lull_trace_context *context, const char *text)
{
    return lull_trace_context_parse(context, text, strlen(text));
}

static void test_L5_examples_of_the_standard(void **state)
{
    (void)state;
    struct lull_trace_context context;
    char text[LULL_TRACEPARENT_SIZE];
    assert_int_equal(parse(&context, EXAMPLE), LULL_OK);
    assert_true(context.trace_id[0] == UINT64_C(0x4bf92f3577b34da6));
    assert_true(context.trace_id[1] == UINT64_C(0xa3ce929d0e0e4736));
    assert_true(context.span_id == UINT64_C(0x00f067aa0ba902b7));
    assert_int_equal(context.flags, 1);
    lull_trace_context_format(&context, text);
    assert_string_equal(text, EXAMPLE);
    assert_int_equal(parse(&context, "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"),
                     LULL_OK);
    assert_int_equal(context.flags, 0);
}

static void test_L5_good_and_bad(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int expected;
    } cases[] = {
        {EXAMPLE, LULL_OK},
        {"00-00000000000000000000000000000001-0000000000000001-00", LULL_OK},
        {"00-00000000000000010000000000000000-0000000000000001-00", LULL_OK},
        /* later versions: the same beginning, then the end or a dash */
        {"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", LULL_OK},
        {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-else", LULL_OK},
        {"fe-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-", LULL_OK},
        {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.what-else", LULL_ERR_SYNTAX},
        {"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-011", LULL_ERR_SYNTAX},
        /* version 00 has exactly this length */
        {EXAMPLE "-", LULL_ERR_SYNTAX},
        {EXAMPLE "-what-else", LULL_ERR_SYNTAX},
        {EXAMPLE " ", LULL_ERR_SYNTAX},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0", LULL_ERR_SYNTAX},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7", LULL_ERR_SYNTAX},
        {"", LULL_ERR_SYNTAX},
        /* never a version */
        {"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", LULL_ERR_SYNTAX},
        /* ids of zeros */
        {"00-00000000000000000000000000000000-00f067aa0ba902b7-01", LULL_ERR_SYNTAX},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", LULL_ERR_SYNTAX},
        /* upper case, no hex, dashes elsewhere */
        {"00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", LULL_ERR_SYNTAX},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00F067AA0BA902B7-01", LULL_ERR_SYNTAX},
        {"0A-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", LULL_ERR_SYNTAX},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0G", LULL_ERR_SYNTAX},
        {"00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01", LULL_ERR_SYNTAX},
        {"00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", LULL_ERR_SYNTAX},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736_00f067aa0ba902b7-01", LULL_ERR_SYNTAX},
        {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7_01", LULL_ERR_SYNTAX},
        {" 0-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", LULL_ERR_SYNTAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lull_trace_context context = {{1, 2}, 3, 4};
        int result = parse(&context, cases[i].text);
        if (result != cases[i].expected) {
            fail_msg("%s: %s", cases[i].text, lull_error_to_string(result));
        }
        if (result != LULL_OK) { /* then nothing is touched */
            assert_true(context.trace_id[0] == 1 && context.trace_id[1] == 2);
            assert_true(context.span_id == 3 && context.flags == 4);
        }
    }
}

static void test_L5_a_byte_less_is_never_read(void **state)
{
    (void)state;
    struct lull_trace_context context;
    for (size_t length = 0; length < LULL_TRACEPARENT_SIZE - 1; length++) {
        char *exact = malloc(length + 1); /* the sanitizer watches its end */
        assert_non_null(exact);
        memcpy(exact, EXAMPLE, length);
        assert_int_equal(lull_trace_context_parse(&context, exact, length), LULL_ERR_SYNTAX);
        free(exact);
    }
}

static void test_L5_unknown_flags_are_not_passed_on(void **state)
{
    (void)state;
    struct lull_trace_context context;
    char text[LULL_TRACEPARENT_SIZE];
    assert_int_equal(parse(&context, "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff"),
                     LULL_OK);
    lull_trace_context_format(&context, text);
    assert_string_equal(text, EXAMPLE); /* what goes out is version 00 */
}

static void test_L5_a_span_for_each_attempt(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("a_span_for_each_attempt"));
    struct lull_trace_context parent = lull_trace_context_new(&random);
    uint64_t previous = parent.span_id;
    assert_true(parent.trace_id[0] != 0 && parent.trace_id[1] != 0 && parent.span_id != 0);
    assert_int_equal(parent.flags, 1);
    for (int i = 0; i < 1000; i++) {
        struct lull_trace_context child = lull_trace_context_child(&parent, &random);
        assert_memory_equal(child.trace_id, parent.trace_id, sizeof child.trace_id);
        assert_int_equal(child.flags, parent.flags);
        assert_true(child.span_id != previous && child.span_id != 0);
        previous = child.span_id;
        struct lull_trace_context again;
        char text[LULL_TRACEPARENT_SIZE];
        lull_trace_context_format(&child, text);
        assert_int_equal(parse(&again, text), LULL_OK);
        assert_true(again.span_id == child.span_id);
        assert_memory_equal(again.trace_id, child.trace_id, sizeof child.trace_id);
    }
    parent.flags = 0;
    assert_int_equal(lull_trace_context_child(&parent, &random).flags, 0);
    struct lull_trace_context other = lull_trace_context_new(&random);
    assert_true(other.trace_id[0] != parent.trace_id[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_L5_examples_of_the_standard),
        cmocka_unit_test(test_L5_good_and_bad),
        cmocka_unit_test(test_L5_a_byte_less_is_never_read),
        cmocka_unit_test(test_L5_unknown_flags_are_not_passed_on),
        cmocka_unit_test(test_L5_a_span_for_each_attempt),
    };
    return cmocka_run_group_tests_name("trace_context", tests, NULL, NULL);
}
