/* RFC 3339 as the API takes it: strict in form, and no day that is none. */
#include "suite.h"

#include "time_read.h"

static const struct {
    const char *text;
    int64_t ms;
} good[] = {
    {"1970-01-01T00:00:00Z", 0},
    {"1970-01-01T00:00:00.001Z", 1},
    {"1969-12-31T23:59:59.999Z", -1},
    {"1985-04-12T23:20:50.52Z", INT64_C(482196050520)}, /* the examples of RFC 3339 */
    {"1996-12-19T16:39:57-08:00", INT64_C(851042397000)},
    {"1990-12-31T23:59:60Z", INT64_C(662688000000)},
    {"1990-12-31T15:59:60-08:00", INT64_C(662688000000)},
    {"1937-01-01T12:00:27.87+00:20", INT64_C(-1041337172130)},
    {"2026-09-21t14:13:20z", INT64_C(1790000000000)},
    {"2026-09-21 14:13:20Z", INT64_C(1790000000000)},
    {"2026-09-21T14:13:20.9999999999999999999999Z", INT64_C(1790000000999)},
    {"2026-09-21T14:13:20-00:00", INT64_C(1790000000000)},
    {"2024-02-29T00:00:00Z", INT64_C(1709164800000)},
    {"2000-02-29T00:00:00Z", INT64_C(951782400000)},
    {"9999-12-31T23:59:59.999Z", INT64_C(253402300799999)},
    {"0000-01-01T00:00:00Z", INT64_C(-62167219200000)},
};

static const struct {
    const char *text;
    int code;
} bad[] = {
    {"", LULL_ERR_SYNTAX},
    {"2026-09-21", LULL_ERR_SYNTAX},
    {"2026-09-21T14:13:20", LULL_ERR_SYNTAX},
    {"2026-09-21T14:13Z", LULL_ERR_SYNTAX},
    {"2026-09-21T14:13:20.Z", LULL_ERR_SYNTAX},
    {"2026-09-21T14:13:20,5Z", LULL_ERR_SYNTAX},
    {"2026-09-21T14:13:20+0200", LULL_ERR_SYNTAX},
    {"2026-09-21T14:13:20+02", LULL_ERR_SYNTAX},
    {"2026-09-21T14:13:20ZZ", LULL_ERR_SYNTAX},
    {" 2026-09-21T14:13:20Z", LULL_ERR_SYNTAX},
    {"2026-9-21T14:13:20Z", LULL_ERR_SYNTAX},
    {"+2026-09-21T14:13:20Z", LULL_ERR_SYNTAX},
    {"20260921T141320Z", LULL_ERR_SYNTAX},
    {"2026-09-21T14:13:20 Z", LULL_ERR_SYNTAX},
    {"2026-00-21T14:13:20Z", LULL_ERR_RANGE},
    {"2026-13-21T14:13:20Z", LULL_ERR_RANGE},
    {"2026-09-00T14:13:20Z", LULL_ERR_RANGE},
    {"2026-09-31T14:13:20Z", LULL_ERR_RANGE},
    {"2026-02-29T14:13:20Z", LULL_ERR_RANGE},
    {"2026-02-30T14:13:60Z", LULL_ERR_RANGE},
    {"1900-02-29T14:13:20Z", LULL_ERR_RANGE},
    {"2026-09-21T24:00:00Z", LULL_ERR_RANGE},
    {"2026-09-21T14:60:00Z", LULL_ERR_RANGE},
    {"2026-09-21T14:13:61Z", LULL_ERR_RANGE},
    {"2026-09-21T14:13:20+24:00", LULL_ERR_RANGE},
    {"2026-09-21T14:13:20+02:60", LULL_ERR_RANGE},
};

/* Without a final zero: reading over the end is seen. */
static int read_exact(const char *text, int64_t *ret_ms)
{
    size_t length = strlen(text);
    char *exact = malloc(length + 1);
    assert_non_null(exact);
    memcpy(exact + 1, text, length);
    int code = time_read(exact + 1, length, ret_ms);
    free(exact);
    return code;
}

static void test_times(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        int64_t ms = 0;
        if (read_exact(good[i].text, &ms) != LULL_OK || ms != good[i].ms) {
            fail_msg("%s: %lld", good[i].text, (long long)ms);
        }
    }
}

static void test_what_is_none(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        int64_t ms = 4711;
        int code = read_exact(bad[i].text, &ms);
        if (code != bad[i].code || ms != 4711) {
            fail_msg("%s: %s", bad[i].text, lull_error_to_string(code));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_times),
        cmocka_unit_test(test_what_is_none),
    };
    return cmocka_run_group_tests_name("time_read", tests, NULL, NULL);
}
