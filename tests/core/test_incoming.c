/* H4, G7: is the request that we serve itself a retry? */
#include "suite.h"

struct incoming_case {
    const char *headers[3][2];
    uint32_t expected;
};

static void test_H4_headers(void **state)
{
    (void)state;
    static const struct incoming_case cases[] = {
        {.expected = 1},
        {{{"Accept", "3"}}, 1},
        {{{"Lull-Attempt", "1"}}, 1},
        {{{"Lull-Attempt", "3"}}, 3},
        {{{"lull-attempt", " 3\t"}}, 3},
        {{{"LULL-ATTEMPT", "003"}}, 3},
        {{{"x-envoy-attempt-count", "2"}}, 2},
        {{{"X-Envoy-Attempt-Count", "2"}}, 2},
        {{{"grpc-previous-rpc-attempts", "0"}}, 1},
        {{{"grpc-previous-rpc-attempts", "1"}}, 2},
        {{{"grpc-previous-rpc-attempts", "2"}}, 3},
        /* the largest, whoever says it */
        {{{"Lull-Attempt", "2"}, {"x-envoy-attempt-count", "4"}}, 4},
        {{{"x-envoy-attempt-count", "4"}, {"Lull-Attempt", "2"}}, 4},
        {{{"Lull-Attempt", "3"}, {"grpc-previous-rpc-attempts", "3"}, {"Lull-Attempt", "1"}}, 4},
        /* what is no whole number says nothing */
        {{{"Lull-Attempt", ""}}, 1},
        {{{"Lull-Attempt", "0"}}, 1},
        {{{"Lull-Attempt", "-2"}}, 1},
        {{{"Lull-Attempt", "+2"}}, 1},
        {{{"Lull-Attempt", "2.5"}}, 1},
        {{{"Lull-Attempt", "2, 3"}}, 1},
        {{{"Lull-Attempt", "two"}}, 1},
        {{{"Lull-Attempt", "0x10"}}, 1},
        {{{"Lull-Attempt", "2 3"}}, 1},
        {{{"Lull-Attempt", "two"}, {"Lull-Attempt", "2"}}, 2},
        {{{"Lull-Attempts", "2"}, {"Lull-Attemp", "2"}, {"", "2"}}, 1},
        /* a huge one saturates */
        {{{"Lull-Attempt", "4294967294"}}, UINT32_MAX - 1},
        {{{"Lull-Attempt", "4294967295"}}, UINT32_MAX},
        {{{"Lull-Attempt", "4294967296"}}, UINT32_MAX},
        {{{"Lull-Attempt", "99999999999999999999999"}}, UINT32_MAX},
        {{{"grpc-previous-rpc-attempts", "4294967295"}}, UINT32_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lull_header headers[3];
        size_t count = 0;
        for (int j = 0; j < 3 && cases[i].headers[j][0]; j++) {
            const char *const *pair = cases[i].headers[j];
            headers[count++] =
                (struct lull_header){pair[0], strlen(pair[0]), pair[1], strlen(pair[1])};
        }
        uint32_t attempt = lull_incoming_attempt(headers, count);
        if (attempt != cases[i].expected) {
            fail_msg("case %zu, %s: %u", i, count > 0 ? cases[i].headers[0][1] : "none", attempt);
        }
    }
}

static void test_H4_lengths_count_and_not_zeros(void **state)
{
    (void)state;
    struct lull_header header = {"Lull-Attempt: 5", 12, "34", 1};
    assert_int_equal(lull_incoming_attempt(&header, 1), 3);
    assert_int_equal(lull_incoming_attempt(NULL, 0), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_H4_headers),
        cmocka_unit_test(test_H4_lengths_count_and_not_zeros),
    };
    return cmocka_run_group_tests_name("incoming", tests, NULL, NULL);
}
