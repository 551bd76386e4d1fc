/* C10: the reader of problem+json. Strict, since half of a broken body is no ground for a verdict.
 */
#include "suite.h"

#include "json_scan.h"

static bool scan(const char *text, struct json_wanted *wanted)
{
    /* An exact copy, so that the sanitizer sees a read past the end. */
    size_t length = strlen(text);
    char *copy = malloc(length > 0 ? length : 1);
    memcpy(copy, text, length);
    bool is_valid = json_scan(copy, length, wanted, 1);
    free(copy);
    return is_valid;
}

static void test_C10_finds_the_member(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *type; /* NULL: none */
    } cases[] = {
        {"{\"type\":\"https://x/y\"}", "https://x/y"},
        {" \t\r\n{ \"a\" : [1,2,{\"type\":\"no\"}] , \"type\" : \"yes\" } ", "yes"},
        {"{\"type\":\"a\",\"type\":\"b\"}", "b"},
        {"{\"type\":\"a\",\"type\":1}", NULL},
        {"{\"t\\u0079pe\":\"\\u00e9\\ud83d\\ude00\\n\\/\"}", "\xc3\xa9\xf0\x9f\x98\x80\n/"},
        {"{\"type\":null}", NULL},
        {"{\"type\":{}}", NULL},
        {"{\"x\":{\"type\":\"deep\"}}", NULL},
        {"{}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json_wanted wanted = {.name = "type"};
        assert_true(scan(cases[i].text, &wanted));
        assert_int_equal(wanted.is_string, cases[i].type != NULL);
        if (cases[i].type) {
            assert_string_equal(wanted.string, cases[i].type);
        }
    }
}

static void test_C10_malformed(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "[]",
        "1",
        "\"type\"",
        "{",
        "}",
        "{\"type\"}",
        "{\"type\":}",
        "{\"type\":\"x\"",
        "{\"type\":\"x\",}",
        "{,}",
        "{\"a\":1 \"b\":2}",
        "{\"a\":01}",
        "{\"a\":-}",
        "{\"a\":1.}",
        "{\"a\":1e}",
        "{\"a\":+1}",
        "{\"a\":.5}",
        "{\"a\":tru}",
        "{\"a\":nulll}",
        "{a:1}",
        "{'a':1}",
        "{\"a\":[1,]}",
        "{\"a\":[1}",
        "{\"a\":\"\x01\"}",
        "{\"a\":\"\\x\"}",
        "{\"a\":\"\\u12\"}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":\"\\ud800\\u0041\"}",
        "{\"a\":\"\\udc00\"}",
        "{\"a\":\"\xff\"}",
        "{\"a\":\"\xc0\x80\"}",
        "{\"a\":\"\xed\xa0\x80\"}",
        "{\"a\":\"\xf4\x90\x80\x80\"}",
        "{\"a\":\"\xe2\x82\"}",
        "{} x",
        "{}{}",
        "{\"a\":1}\x0b",
        "\xef\xbb\xbf{}",
        "{\"a\":NaN}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json_wanted wanted = {.name = "type"};
        if (scan(cases[i], &wanted)) {
            fail_msg("taken for JSON: %s", cases[i]);
        }
    }
}

static void test_C10_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_number;
        int number;
    } cases[] = {
        {"{\"errno\":103}", true, 103},
        {"{\"errno\":-5}", true, -5},
        {"{\"errno\":0}", true, 0},
        {"{\"errno\":1.0}", false, 0},
        {"{\"errno\":1e2}", false, 0},
        {"{\"errno\":2147483647}", true, 2147483647},
        {"{\"errno\":2147483648}", false, 0},
        {"{\"errno\":\"103\"}", false, 0},
        {"{\"errno\":99999999999999999999}", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct json_wanted wanted = {.name = "errno"};
        assert_true(scan(cases[i].text, &wanted));
        assert_int_equal(wanted.is_number, cases[i].is_number);
        if (cases[i].is_number) {
            assert_int_equal(wanted.number, cases[i].number);
        }
    }
}

static void test_C10_bounds(void **state)
{
    (void)state;
    struct json_wanted wanted = {.name = "type"};
    char text[400];
    char filler[201];
    memset(filler, 'x', 200);
    filler[200] = '\0';
    snprintf(text, sizeof text, "{\"type\":\"%s\"}", filler);
    assert_true(scan(text, &wanted));
    assert_true(wanted.is_string && wanted.is_cut);
    snprintf(text, sizeof text, "{\"%s\":1,\"type\":\"\\u0000\"}", filler);
    assert_true(scan(text, &wanted));
    assert_true(wanted.is_cut); /* a NUL could hide the rest */
    char deep[2 * 70 + 16] = "{\"a\":";
    for (int depth = 60; depth <= 70; depth++) {
        size_t at = 5;
        memset(deep + at, '[', (size_t)depth);
        memset(deep + at + depth, ']', (size_t)depth);
        strcpy(deep + at + 2 * depth, "}");
        assert_int_equal(scan(deep, &wanted), depth + 1 <= JSON_DEPTH_MAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_C10_finds_the_member),
        cmocka_unit_test(test_C10_malformed),
        cmocka_unit_test(test_C10_numbers),
        cmocka_unit_test(test_C10_bounds),
    };
    return cmocka_run_group_tests_name("json_scan", tests, NULL, NULL);
}
