/* url: P1 and V4, what is taken apart, and what is refused. */
#include "suite.h"

#include "url.h"

static bool is_text(const char *at, size_t length, const char *expected)
{
    return length == strlen(expected) && memcmp(at, expected, length) == 0;
}

static void test_V4_parts(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_https;
        const char *host;
        uint16_t port;
        const char *authority;
        const char *path;
    } cases[] = {
        {"https://example.org/a", true, "example.org", 443, "example.org", "/a"},
        {"http://example.org/a", false, "example.org", 80, "example.org", "/a"},
        {"HTTPS://Example.ORG/A", true, "Example.ORG", 443, "Example.ORG", "/A"},
        {"hTTp://h", false, "h", 80, "h", "/"},
        {"https://h/", true, "h", 443, "h", "/"},
        {"https://h:8443/x", true, "h", 8443, "h:8443", "/x"},
        {"https://h:443/", true, "h", 443, "h:443", "/"},
        {"http://h:1", false, "h", 1, "h:1", "/"},
        {"http://h:65535/", false, "h", 65535, "h:65535", "/"},
        {"http://h:00080/", false, "h", 80, "h:00080", "/"},
        {"http://h:/x", false, "h", 80, "h", "/x"},
        {"https://h:", true, "h", 443, "h", "/"},
        {"https://h:?q", true, "h", 443, "h", "?q"},
        {"http://[::1]/", false, "::1", 80, "[::1]", "/"},
        {"https://[2001:db8::1]:8443/x?y", true, "2001:db8::1", 8443, "[2001:db8::1]:8443", "/x?y"},
        {"https://[2001:DB8::A]:", true, "2001:DB8::A", 443, "[2001:DB8::A]", "/"},
        {"http://[::ffff:127.0.0.1]:80", false, "::ffff:127.0.0.1", 80, "[::ffff:127.0.0.1]:80",
         "/"},
        {"http://127.0.0.1:9/", false, "127.0.0.1", 9, "127.0.0.1:9", "/"},
        {"https://h?q=1", true, "h", 443, "h", "?q=1"},
        {"https://h?", true, "h", 443, "h", "?"},
        {"https://h/?", true, "h", 443, "h", "/?"},
        {"https://h#f", true, "h", 443, "h", "/"},
        {"https://h:99#f", true, "h", 99, "h:99", "/"},
        {"https://h/a#f", true, "h", 443, "h", "/a"},
        {"https://h/a?b#f?g/h", true, "h", 443, "h", "/a?b"},
        {"https://h?b#", true, "h", 443, "h", "?b"},
        {"https://h//../a/./%2e%2E?token=%41%2b+=~&x=[]@:", true, "h", 443, "h",
         "//../a/./%2e%2E?token=%41%2b+=~&x=[]@:"},
        {"https://h/user@host:99/", true, "h", 443, "h", "/user@host:99/"},
        {"https://a_b-c.example./", true, "a_b-c.example.", 443, "a_b-c.example.", "/"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct url url;
        memset(&url, 0xee, sizeof url);
        if (url_split(cases[i].text, &url) != LULL_OK) {
            fail_msg("refused: %s", cases[i].text);
        }
        if (url.is_https != cases[i].is_https || url.port != cases[i].port ||
            !is_text(url.host, url.host_length, cases[i].host) ||
            !is_text(url.authority, url.authority_length, cases[i].authority) ||
            !is_text(url.path, url.path_length, cases[i].path)) {
            fail_msg("%s: %d %.*s %d %.*s %.*s", cases[i].text, url.is_https, (int)url.host_length,
                     url.host, url.port, (int)url.authority_length, url.authority,
                     (int)url.path_length, url.path);
        }
    }
}

static void test_P1_refused(void **state)
{
    (void)state;
    static const char *const cases[] = {
        "",
        "h",
        "/path",
        "//h/",
        "http",
        "http:",
        "http:/h/",
        "http//h/",
        "https:h",
        "ftp://h/",
        "httpx://h/",
        "https ://h/",
        " https://h/",
        "https://",
        "https:///x",
        "https://:443/",
        "https://?q",
        "https://#f",
        "https://user@h/",
        "https://user:secret@h/",
        "https://user:99@h/",
        "https://@h/",
        "https://h:0/",
        "https://h:000",
        "https://h:65536/",
        "https://h:99999999999999999999/",
        "https://h:4294967739/", /* 443 if it wrapped */
        "https://h:+80/",
        "https://h:-1/",
        "https://h:80a/",
        "https://h:8 0/",
        "https://h:80:80/",
        "https://[::1/",
        "https://::1/",
        "https://[]/",
        "https://[:]/",
        "https://[:::]/",
        "https://[1::2::3]/",
        "https://[12345::]/",
        "https://[dead.beef]/", /* a name */
        "https://[127.0.0.1]/",
        "https://[fe80::1%25lo]/",
        "https://[v1.x]/",
        "https://[::1]x/",
        "https://[::1]:x/",
        "https://[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]/",
        "https://h\\x/",
        "https://h%41/",
        "https://h,i/",
        "https://h/a b",
        "https://h/a\tb",
        "https://h/a\r\nHost: i",
        "https://h/\x01",
        "https://h/\x7f",
        "https://h/\x80",
        "https://h/caf\xc3\xa9",
        "https://caf\xc3\xa9.example/",
        "https://h/?\xff",
        "https://h/#\xc3\xa9",
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct url url;
        struct url before;
        memset(&url, 0xee, sizeof url);
        memcpy(&before, &url, sizeof url);
        if (url_split(cases[i], &url) != LULL_ERR_SYNTAX) {
            fail_msg("taken: %s", cases[i]);
        }
        assert_memory_equal(&url, &before, sizeof url);
    }
}

/* Every byte in every part: a URL that is taken has only visible ASCII in it (P1). */
static void test_P1_every_byte_in_the_path(void **state)
{
    (void)state;
    for (int byte = 1; byte < 256; byte++) {
        char text[] = "https://h/a?b";
        struct url url;
        text[10] = (char)byte;
        bool is_visible = byte > ' ' && byte <= '~';
        assert_int_equal(url_split(text, &url), is_visible ? LULL_OK : LULL_ERR_SYNTAX);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_V4_parts),
        cmocka_unit_test(test_P1_refused),
        cmocka_unit_test(test_P1_every_byte_in_the_path),
    };
    return cmocka_run_group_tests_name("url", tests, NULL, NULL);
}
