/* A1, A2, A6. Vectors with their sources: tests/data/retry_after.csv. */
#include "suite.h"

#include "csv.h"

#define NOW_MS INT64_C(1767225600000)

static struct lull_retry_after parse(const char *text, const char *date, int64_t now_ms)
{
    struct lull_retry_after_clock clock = {now_ms, date, date ? strlen(date) : 0};
    return lull_retry_after_parse(text, text ? strlen(text) : 0, &clock);
}

/* id,class,expected_delay_s,input_json,now_epoch,... POLICY rows are about what is done with a
 * value that parses; they are tested in test_decide.c. */
static void check_vector(const struct csv_row *row)
{
    const char *class = row->fields[1];
    size_t length = 0;
    const char *input = csv_json_string(row->fields[3], &length);
    struct lull_retry_after_clock clock = {strtoll(row->fields[4], NULL, 10) * 1000, NULL, 0};
    struct lull_retry_after actual = lull_retry_after_parse(input, length, &clock);
    int64_t expected_ms = strtoll(row->fields[2], NULL, 10) * 1000;
    bool is_value = actual.state == LULL_RETRY_AFTER_OK && actual.wait_ms == expected_ms;
    bool is_good = false;
    if (strcmp(class, "ACCEPT") == 0) {
        is_good = is_value;
    } else if (strcmp(class, "REJECT") == 0) {
        is_good = actual.state == LULL_RETRY_AFTER_MALFORMED && actual.wait_ms == 0;
    } else if (strcmp(class, "EITHER") == 0) {
        is_good = is_value || actual.state == LULL_RETRY_AFTER_MALFORMED;
    } else if (strcmp(class, "SATURATE") == 0) {
        is_good = actual.state == LULL_RETRY_AFTER_OK && actual.wait_ms > LULL_DAYS(365) &&
                  actual.wait_ms <= LULL_WAIT_MAX_MS;
    } else if (strcmp(class, "ABSENT") == 0) {
        is_good = actual.state == LULL_RETRY_AFTER_ABSENT;
    } else if (strcmp(class, "POLICY") == 0) {
        is_good = actual.state == LULL_RETRY_AFTER_OK;
    }
    if (!is_good) {
        fail_msg("%s %s %s: %s, %lld ms", row->fields[0], class, row->fields[3],
                 lull_retry_after_state_to_string(actual.state), (long long)actual.wait_ms);
    }
}

static void test_A1_vectors(void **state)
{
    (void)state;
    assert_int_equal(csv_each("retry_after.csv", check_vector), 70);
}

static void test_A1_malformed(void **state)
{
    (void)state;
    static const char *const cases[] = {"",     " ",      "120, 60", "120 60", "12s", "1e3",
                                        "0x10", "120;",   "١٢",      "--1",    "1_0", "120\n",
                                        "120,", "\v120 ", "NaN",     "soon",   "1.5 "};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lull_retry_after actual = parse(cases[i], NULL, NOW_MS);
        assert_int_equal(actual.state, LULL_RETRY_AFTER_MALFORMED);
        assert_int_equal(actual.wait_ms, 0);
    }
}

/* Our clock is a whole day off; the server's Date puts it right, to the second. */
static void test_A2_date_is_read_against_the_servers_clock(void **state)
{
    (void)state;
    const char *date = "Thu, 01 Jan 2026 00:00:00 GMT";
    const char *later = "Thu, 01 Jan 2026 00:02:00 GMT";
    static const int64_t skews_ms[] = {
        0, LULL_HOURS(3), -LULL_HOURS(3), LULL_DAYS(400), -LULL_DAYS(4000), -NOW_MS};
    for (size_t i = 0; i < sizeof skews_ms / sizeof skews_ms[0]; i++) {
        assert_int_equal(parse(later, date, NOW_MS + skews_ms[i]).wait_ms, 120000);
        assert_int_equal(parse(date, later, NOW_MS + skews_ms[i]).wait_ms, 0);
    }
    /* without a Date: by ours */
    assert_int_equal(parse(later, NULL, NOW_MS + 30500).wait_ms, 89500);
    assert_int_equal(parse(later, "yesterday", NOW_MS + 30000).wait_ms, 90000);
    /* a Date that is far from both our clock and the date named is not sane */
    assert_int_equal(parse(later, "Thu, 01 Jan 1970 00:00:00 GMT", NOW_MS).wait_ms, 120000);
    assert_int_equal(parse(later, "Fri, 31 Dec 9999 23:59:59 GMT", NOW_MS).wait_ms, 120000);
}

static void test_A6_epochs_and_huge_numbers(void **state)
{
    (void)state;
    assert_int_equal(parse("1767225720", NULL, NOW_MS).wait_ms, 120000);
    assert_int_equal(parse("1767225720", "Thu, 01 Jan 2026 00:01:00 GMT", NOW_MS).wait_ms, 60000);
    assert_int_equal(parse("1767225000", NULL, NOW_MS).wait_ms, 0); /* past */
    assert_int_equal(parse("1000000000", NULL, NOW_MS).wait_ms, 0); /* the first that is a date */
    assert_int_equal(parse("999999999", NULL, NOW_MS).wait_ms, INT64_C(999999999000));
    static const char *const huge[] = {"9223372036854775807", "9223372036854775808",
                                       "18446744073709551616", "340282366920938463463374607431768",
                                       "253402300800"};
    for (size_t i = 0; i < sizeof huge / sizeof huge[0]; i++) {
        struct lull_retry_after actual = parse(huge[i], NULL, NOW_MS);
        assert_int_equal(actual.state, LULL_RETRY_AFTER_OK);
        assert_true(actual.wait_ms > LULL_DAYS(365 * 1000) && actual.wait_ms <= LULL_WAIT_MAX_MS);
    }
    /* clocks that cannot be */
    assert_int_equal(parse("Fri, 31 Dec 9999 23:59:59 GMT", NULL, INT64_MIN).wait_ms,
                     LULL_WAIT_MAX_MS);
    assert_int_equal(parse("Fri, 31 Dec 9999 23:59:59 GMT", NULL, INT64_MAX).wait_ms, 0);
    assert_int_equal(parse("Sat, 01 Jan 0000 00:00:00 GMT", NULL, NOW_MS).wait_ms, 0);
}

static void test_A7_milliseconds(void **state)
{
    (void)state;
    assert_int_equal(lull_retry_after_parse_ms(" 1500 ", 6).wait_ms, 1500);
    assert_int_equal(lull_retry_after_parse_ms("1.5", 3).state, LULL_RETRY_AFTER_MALFORMED);
    assert_int_equal(lull_retry_after_parse_ms("99999999999999999999", 20).wait_ms,
                     LULL_WAIT_MAX_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_A1_vectors),
        cmocka_unit_test(test_A1_malformed),
        cmocka_unit_test(test_A2_date_is_read_against_the_servers_clock),
        cmocka_unit_test(test_A6_epochs_and_huge_numbers),
        cmocka_unit_test(test_A7_milliseconds),
    };
    return cmocka_run_group_tests_name("retry_after", tests, NULL, NULL);
}
