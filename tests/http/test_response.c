/* response: what is kept of a head that arrives line by line, and of the body after it. */
#include "suite.h"

#include "lull/http.h"
#include "response.h"

static int64_t content_length(const struct response *response)
{
    struct lull_response head = {response->status, response->headers, response->header_count};
    return lull_response_length(&head);
}

static void feed(struct response *response, const char *const *lines)
{
    for (; *lines; lines++) {
        assert_true(response_line(response, *lines, strlen(*lines)));
    }
}

static void check_header(const struct response *response, size_t index, const char *name,
                         const char *value)
{
    const struct lull_header *header = &response->headers[index];
    assert_true(index < response->header_count);
    assert_int_equal(header->name_length, strlen(name));
    assert_memory_equal(header->name, name, strlen(name));
    assert_int_equal(header->value_length, strlen(value));
    assert_memory_equal(header->value, value, strlen(value));
}

static void test_head_and_body(void **state)
{
    (void)state;
    struct response response = {0};
    feed(&response,
         (const char *const[]){"HTTP/1.1 503 Service Unavailable\r\n", "Retry-After:  120 \t\r\n",
                               "x-empty:\r\n", "Content-Length: 5\r\n", NULL});
    assert_false(response.is_head_complete);
    feed(&response, (const char *const[]){"\r\n", NULL});
    assert_true(response.is_head_complete);
    assert_int_equal(response.status, 503);
    assert_int_equal(response.header_count, 3);
    check_header(&response, 0, "Retry-After", "120");
    check_header(&response, 1, "x-empty", "");
    assert_int_equal(content_length(&response), 5);
    assert_true(response_keep(&response, "he", 2, 100));
    assert_true(response_keep(&response, "llo", 3, 100));
    assert_string_equal(response.body, "hello");
    assert_int_equal(response.body_length, 5);
    assert_false(response.is_body_cut);
    response_free(&response);
}

static void test_status_lines(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        unsigned status;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\n", 200}, {"HTTP/1.1 200\r\n", 200},  {"HTTP/2 503 \r\n", 503},
        {"HTTP/3 999\n", 999},        {"HTTP/1.1 20\r\n", 0},     {"HTTP/1.1 2x0 OK\r\n", 0},
        {"HTTP/1.1\r\n", 0},          {"HTTP/1.1 099 No\r\n", 0}, {"HTTP/1.1 \r\n", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct response response = {0};
        feed(&response, (const char *const[]){cases[i].line, NULL});
        if (response.status != cases[i].status) {
            fail_msg("%s: %u", cases[i].line, response.status);
        }
        response_free(&response);
    }
}

static void test_1xx_and_redirects_make_room(void **state)
{
    (void)state;
    struct response response = {0};
    feed(&response,
         (const char *const[]){"HTTP/1.1 103 Early Hints\r\n", "Link: a\r\n", "\r\n", NULL});
    assert_false(response.is_head_complete);
    assert_int_equal(response.status, 0);
    feed(&response,
         (const char *const[]){"HTTP/1.1 302 Found\r\n", "Location: /b\r\n", "\r\n", NULL});
    assert_true(response.is_head_complete);
    assert_true(response_keep(&response, "old", 3, 100));
    feed(&response, (const char *const[]){"HTTP/1.1 200 OK\r\n", "Server: s\r\n", "\r\n", NULL});
    assert_int_equal(response.status, 200);
    assert_int_equal(response.header_count, 1);
    assert_int_equal(response.body_length, 0);
    check_header(&response, 0, "Server", "s");
    response_free(&response);
}

static void test_trailers_are_left_out(void **state)
{
    (void)state;
    struct response response = {0};
    feed(&response, (const char *const[]){"HTTP/1.1 200 OK\r\n", "A: 1\r\n", "\r\n",
                                          "Retry-After: 9\r\n", "\r\n", NULL});
    assert_int_equal(response.header_count, 1);
    check_header(&response, 0, "A", "1");
    response_free(&response);
}

static void test_lines_that_are_no_headers(void **state)
{
    (void)state;
    struct response response = {0};
    feed(&response, (const char *const[]){"HTTP/1.1 200 OK\r\n", "no colon\r\n", ": no name\r\n",
                                          "a:b:c\r\n", "\r\n", NULL});
    assert_int_equal(response.header_count, 1);
    check_header(&response, 0, "a", "b:c");
    response_free(&response);
}

static void test_limits(void **state)
{
    (void)state;
    struct response response = {0};
    static char line[40000];
    feed(&response, (const char *const[]){"HTTP/1.1 200 OK\r\n", NULL});
    memset(line, 'x', sizeof line);
    memcpy(line, "big: ", 5);
    for (int i = 0; i < 3; i++) { /* the second would be over 64 KiB */
        assert_true(response_line(&response, line, sizeof line));
    }
    assert_int_equal(response.header_count, 1);
    for (int i = 0; i < 1000; i++) {
        assert_true(response_line(&response, "a: b\r\n", 6));
    }
    feed(&response, (const char *const[]){"\r\n", NULL});
    assert_int_equal(response.header_count, RESPONSE_HEADERS_MAX);
    assert_true(response.text_length <= RESPONSE_HEADER_BYTES_MAX);
    check_header(&response, RESPONSE_HEADERS_MAX - 1, "a", "b");
    response_free(&response);
}

static void test_body_is_cut_at_its_limit(void **state)
{
    (void)state;
    struct response response = {0};
    assert_true(response_keep(&response, "hello", 5, 5));
    assert_false(response.is_body_cut);
    assert_true(response_keep(&response, " world", 6, 5));
    assert_true(response.is_body_cut);
    assert_string_equal(response.body, "hello");
    response_clear(&response);
    assert_true(response_keep(&response, "hello", 5, 0));
    assert_true(response.is_body_cut);
    assert_string_equal(response.body, "");
    response_clear(&response);
    for (int i = 0; i < 5000; i++) {
        assert_true(response_keep(&response, "0123456", 7, 30000));
    }
    assert_int_equal(response.body_length, 30000);
    response_free(&response);
    response_free(&response); /* twice is fine */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_head_and_body),
        cmocka_unit_test(test_status_lines),
        cmocka_unit_test(test_1xx_and_redirects_make_room),
        cmocka_unit_test(test_trailers_are_left_out),
        cmocka_unit_test(test_lines_that_are_no_headers),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_body_is_cut_at_its_limit),
    };
    return cmocka_run_group_tests_name("response", tests, NULL, NULL);
}
