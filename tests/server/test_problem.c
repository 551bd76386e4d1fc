/* Problems as JSON, whatever their texts hold; and times. SPDX-License-Identifier: MIT */
#include "suite.h"

#include <jansson.h>

#include "problem.h"
#include "time_text.h"

static const char *text_of(json_t *json, const char *member)
{
    return json_string_value(json_object_get(json, member));
}

/* The words and statuses of the API never change. */
static void test_each_kind(void **state)
{
    static const struct {
        enum problem_kind kind;
        unsigned status;
        const char *word;
    } kinds[] = {
        {PROBLEM_BAD_REQUEST, 400, "bad-request"},
        {PROBLEM_UNAUTHORIZED, 401, "unauthorized"},
        {PROBLEM_NOT_FOUND, 404, "not-found"},
        {PROBLEM_METHOD_NOT_ALLOWED, 405, "method-not-allowed"},
        {PROBLEM_KEY_UNDER_WAY, 409, "key-under-way"},
        {PROBLEM_TOO_LATE, 409, "too-late"},
        {PROBLEM_TOO_LARGE, 413, "too-large"},
        {PROBLEM_UNSUPPORTED_MEDIA_TYPE, 415, "unsupported-media-type"},
        {PROBLEM_KEY_REUSED, 422, "key-reused"},
        {PROBLEM_QUEUE_FULL, 429, "queue-full"},
        {PROBLEM_INTERNAL, 500, "internal"},
        {PROBLEM_UNAVAILABLE, 503, "unavailable"},
        {PROBLEM_DRAINING, 503, "draining"},
        {PROBLEM_DISK_FULL, 503, "disk-full"},
    };
    (void)state;
    assert_int_equal(sizeof kinds / sizeof kinds[0], PROBLEM_KINDS);
    for (size_t i = 0; i < PROBLEM_KINDS; i++) {
        struct problem problem;
        char text[PROBLEM_TEXT_SIZE];
        char type[64];
        problem_set(&problem, kinds[i].kind, 0, "a sentence");
        size_t length = problem_write(&problem, "r-1", text);
        assert_int_equal(length, strlen(text));
        json_t *json = json_loads(text, 0, NULL);
        (void)snprintf(type, sizeof type, "urn:lull:problem:%s", kinds[i].word);
        assert_string_equal(text_of(json, "type"), type);
        assert_int_equal(json_integer_value(json_object_get(json, "status")), kinds[i].status);
        assert_string_equal(text_of(json, "detail"), "a sentence");
        assert_string_equal(text_of(json, "request_id"), "r-1");
        assert_null(json_object_get(json, "member"));
        assert_int_equal(json_object_size(json), 5);
        json_decref(json);
    }
}

/* The longest texts, of the bytes that become longest. */
static void test_the_longest_texts_have_room(void **state)
{
    static const char fills[] = {1, '"', (char)0xff, 'x'};
    (void)state;
    for (size_t i = 0; i < sizeof fills; i++) {
        struct problem problem = {.kind = PROBLEM_UNSUPPORTED_MEDIA_TYPE,
                                  .retry_after_s = UINT32_MAX};
        char text[PROBLEM_TEXT_SIZE];
        char id[65];
        memset(problem.member, fills[i], sizeof problem.member - 1);
        memset(problem.detail, fills[i], sizeof problem.detail - 1);
        memset(id, 'x', sizeof id - 1);
        id[64] = '\0';
        size_t length = problem_write(&problem, id, text);
        assert_in_range(length, 1, sizeof text - 1);
        json_t *json = json_loads(text, 0, NULL);
        assert_non_null(json);
        json_decref(json);
        text[0] = '{';
        length = problem_write_result(&problem, text);
        assert_in_range(length, 1, sizeof text - 1);
        text[0] = '{'; /* in place of the comma */
        json = json_loads(text, 0, NULL);
        assert_non_null(json);
        assert_int_equal(json_integer_value(json_object_get(json, "retry_after")), UINT32_MAX);
        json_decref(json);
    }
}

static void test_times(void **state)
{
    static const struct {
        int64_t ms;
        const char *text;
    } times[] = {
        {0, "1970-01-01T00:00:00.000Z"},
        {-1, "1970-01-01T00:00:00.000Z"},
        {INT64_MIN, "1970-01-01T00:00:00.000Z"},
        {1709164799999, "2024-02-28T23:59:59.999Z"},
        {1709164800000, "2024-02-29T00:00:00.000Z"},
        {4107542400007, "2100-03-01T00:00:00.007Z"},
        {253402300799999, "9999-12-31T23:59:59.999Z"},
        {INT64_MAX, "9999-12-31T23:59:59.999Z"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        char text[TIME_TEXT_SIZE];
        time_text_write(times[i].ms, text);
        assert_string_equal(text, times[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_kind),
        cmocka_unit_test(test_the_longest_texts_have_room),
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
