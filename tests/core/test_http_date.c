/* A1: the three forms of RFC 9110 5.6.7. Vectors with their sources: tests/data/httpdate.csv. */
#include "suite.h"

#include "csv.h"

#define NOW INT64_C(1767225600) /* 2026-01-01 */

static int parse(const char *text, int64_t now_epoch_s, int64_t *ret_epoch_s)
{
    return lull_http_date_parse(text, strlen(text), now_epoch_s, ret_epoch_s);
}

/* id,class,expected_epoch,form,reason,input_json,now_epoch,... */
static void check_vector(const struct csv_row *row)
{
    const char *class = row->fields[1];
    size_t length = 0;
    const char *input = csv_json_string(row->fields[5], &length);
    int64_t expected = strtoll(row->fields[2], NULL, 10);
    int64_t actual = INT64_MIN;
    int error = lull_http_date_parse(input, length, strtoll(row->fields[6], NULL, 10), &actual);
    bool is_value = error == LULL_OK && actual == expected;
    bool is_good = strcmp(class, "ACCEPT") == 0   ? is_value
                   : strcmp(class, "REJECT") == 0 ? error != LULL_OK
                                                  : is_value || error != LULL_OK;
    if (!is_good || (error != LULL_OK && actual != INT64_MIN)) {
        fail_msg("%s %s %s: error %d, %lld, expected %lld", row->fields[0], class, row->fields[5],
                 error, (long long)actual, (long long)expected);
    }
}

static void test_A1_vectors(void **state)
{
    (void)state;
    assert_int_equal(csv_each("httpdate.csv", check_vector), 391);
}

static void test_A1_table(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int error;
        int64_t epoch_s;
    } cases[] = {
        {"Thu, 01 Jan 1970 00:00:00 GMT", LULL_OK, 0},
        {"Fri, 31 Dec 9999 23:59:59 GMT", LULL_OK, INT64_C(253402300799)},
        {"Sat, 01 Jan 0000 00:00:00 GMT", LULL_OK, INT64_C(-62167219200)},
        {"Thu, 29 Feb 2024 12:00:00 GMT", LULL_OK, 1709208000},
        {"Tue, 29 Feb 2000 12:00:00 GMT", LULL_OK, 951825600},
        {"Mon, 29 Feb 1900 12:00:00 GMT", LULL_ERR_RANGE, 0}, /* no leap year */
        {"Sat, 31 Apr 2024 12:00:00 GMT", LULL_ERR_RANGE, 0},
        {"Sat, 00 Apr 2024 12:00:00 GMT", LULL_ERR_RANGE, 0},
        {"Sat, 01 Apr 2024 24:00:00 GMT", LULL_ERR_RANGE, 0},
        {"Fri, 30 Jun 2012 23:59:60 GMT", LULL_OK, 1341100800}, /* leap second: the next second */
        {"Fri, 29 Jun 2012 23:59:60 GMT", LULL_ERR_RANGE, 0},   /* not at the end of a month */
        {"Fri, 30 Jun 2012 22:59:60 GMT", LULL_ERR_RANGE, 0},
        {"\t Thu, 01 Jan 1970 00:00:01 GMT\t", LULL_OK, 1},
        {"Thu, 01 Jan 1970 00:00:00 GMT x", LULL_ERR_SYNTAX, 0},
        {"Thu, 01 Jan 1970 00:00:00 GMT\n", LULL_ERR_SYNTAX, 0},
        {"Thu Jan  1 00:00:00 1970", LULL_OK, 0},
        {"Thu Jan 01 00:00:00 1970", LULL_OK, 0},
        {"Thu Jan 1 00:00:00 1970", LULL_ERR_SYNTAX, 0},
        {"", LULL_ERR_SYNTAX, 0},
        {"T", LULL_ERR_SYNTAX, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int64_t epoch_s = 0;
        int error = parse(cases[i].text, NOW, &epoch_s);
        if (error != cases[i].error || epoch_s != cases[i].epoch_s) {
            fail_msg("%s: error %d, %lld", cases[i].text, error, (long long)epoch_s);
        }
    }
}

/* The latest year with those digits that is at most fifty years ahead of now, to the second. */
static void test_A1_fifty_year_rule(void **state)
{
    (void)state;
    int64_t epoch_s = 0;
    /* now is 2026-01-01 00:00:00, so the border is 2076-01-01 00:00:00 */
    assert_int_equal(parse("Wednesday, 01-Jan-76 00:00:00 GMT", NOW, &epoch_s), LULL_OK);
    assert_int_equal(epoch_s, INT64_C(3345062400));
    assert_int_equal(parse("Thursday, 01-Jan-76 00:00:01 GMT", NOW, &epoch_s), LULL_OK);
    assert_int_equal(epoch_s, INT64_C(189302401)); /* 1976 */
    assert_int_equal(parse("Monday, 31-Dec-75 23:59:59 GMT", NOW, &epoch_s), LULL_OK);
    assert_int_equal(epoch_s, INT64_C(3345062399)); /* 2075 */
    /* 29-Feb-00 is 2000 seen from 2026 but must not exist seen from 2080, where it is 2100 */
    assert_int_equal(parse("Tuesday, 29-Feb-00 00:00:00 GMT", NOW, &epoch_s), LULL_OK);
    assert_int_equal(parse("Tuesday, 29-Feb-00 00:00:00 GMT", INT64_C(3471292800), &epoch_s),
                     LULL_ERR_RANGE);
    /* A clock before 1970 or after 9999 is no reason to search for ever. */
    assert_int_equal(parse("Monday, 01-Jan-90 00:00:00 GMT", INT64_MIN, &epoch_s), LULL_OK);
    assert_int_equal(parse("Monday, 01-Jan-90 00:00:00 GMT", INT64_MAX, &epoch_s), LULL_OK);
}

/* Every day of 400 years, and back by counting: the calendar has no other cases. */
static void test_A1_every_day(void **state)
{
    (void)state;
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    int64_t expected = 0;
    for (int year = 1970; year < 2370; year++) {
        bool is_leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
        int days[] = {31, is_leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        for (int month = 0; month < 12; month++) {
            for (int day = 1; day <= days[month]; day++, expected += 86400) {
                char text[64];
                int64_t actual = -1;
                snprintf(text, sizeof text, "Mon, %02d %s %04d 00:00:00 GMT", day, months[month],
                         year);
                assert_int_equal(parse(text, NOW, &actual), LULL_OK);
                assert_int_equal(actual, expected);
            }
        }
    }
}

/* A date cut off anywhere is none, and nothing behind its end is looked at. */
static void test_A1_every_prefix(void **state)
{
    (void)state;
    const char *forms[] = {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT",
                           "Sun Nov  6 08:49:37 1994"};
    for (size_t i = 0; i < 3; i++) {
        for (size_t length = 0; length < strlen(forms[i]); length++) {
            int64_t epoch_s = 7;
            char *copy = malloc(length + 1);
            memcpy(copy, forms[i], length);
            assert_int_equal(lull_http_date_parse(copy, length, NOW, &epoch_s), LULL_ERR_SYNTAX);
            assert_int_equal(epoch_s, 7);
            free(copy);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_A1_vectors),         cmocka_unit_test(test_A1_table),
        cmocka_unit_test(test_A1_fifty_year_rule), cmocka_unit_test(test_A1_every_day),
        cmocka_unit_test(test_A1_every_prefix),
    };
    return cmocka_run_group_tests_name("http_date", tests, NULL, NULL);
}
