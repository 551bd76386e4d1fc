/* P1, S6: from an endpoint to the service behind it. */
#include "suite.h"

static void test_P1_hosts(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        enum lull_vendor vendor;
    } cases[] = {
        {"fcm.googleapis.com", LULL_VENDOR_FCM},
        {"FCM.GoogleAPIs.com.", LULL_VENDOR_FCM},
        {"updates.push.services.mozilla.com", LULL_VENDOR_MOZILLA},
        {"updates-autopush.stage.mozaws.net", LULL_VENDOR_OTHER},
        {"web.push.apple.com", LULL_VENDOR_APPLE},
        {"api.push.apple.com", LULL_VENDOR_APPLE},
        {"db5p.notify.windows.com", LULL_VENDOR_WNS},
        {"evilnotify.windows.com", LULL_VENDOR_OTHER},
        {"fcm.googleapis.com.example.net", LULL_VENDOR_OTHER},
        {"xfcm.googleapis.com", LULL_VENDOR_OTHER},
        {"permanently-removed.invalid", LULL_VENDOR_INVALID},
        {"invalid", LULL_VENDOR_INVALID},
        {"notinvalid", LULL_VENDOR_OTHER},
        {"", LULL_VENDOR_OTHER},
        {".", LULL_VENDOR_OTHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (lull_vendor_from_host(cases[i].host, strlen(cases[i].host)) != cases[i].vendor) {
            fail_msg("%s", cases[i].host);
        }
    }
}

static void test_P1_urls(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        const char *host; /* NULL: refused */
    } cases[] = {
        {"https://fcm.googleapis.com/fcm/send/abc", "fcm.googleapis.com"},
        {"HTTP://Example.NET:8080?x", "Example.NET"},
        {"https://example.net#f", "example.net"},
        {"https://example.net:", "example.net"},
        {"https://[::1]:443/x", "[::1]"},
        {"https://[::ffff:127.0.0.1]/", "[::ffff:127.0.0.1]"},
        {"https://[::1", NULL},
        {"https://[]/", NULL},
        {"https://[::g]/", NULL},
        {"https://", NULL},
        {"https:///x", NULL},
        {"ftp://example.net/", NULL},
        {"example.net", NULL},
        {"https://user@example.net/", NULL},
        {"https://example.net:65536/", NULL},
        {"https://example.net:8x/", NULL},
        {"https://exa mple.net/", NULL},
        {"https://example.net/\n", NULL},
        {"https://example.net\\@evil/", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *host = "untouched";
        size_t length = 9;
        int error = lull_url_host(cases[i].url, strlen(cases[i].url), &host, &length);
        const char *expected = cases[i].host ? cases[i].host : "untouched";
        if ((error == LULL_OK) != (cases[i].host != NULL) || length != strlen(expected) ||
            memcmp(host, expected, length) != 0) {
            fail_msg("%s", cases[i].url);
        }
    }
}

static void test_K4_names_and_status_pages(void **state)
{
    (void)state;
    for (int i = LULL_VENDOR_FCM; i <= LULL_VENDOR_WNS; i++) {
        assert_non_null(lull_vendor_lookup((enum lull_vendor)i)->status_page);
    }
    assert_string_equal(lull_vendor_lookup(LULL_VENDOR_FCM)->name, "fcm");
    assert_string_equal(lull_vendor_lookup(LULL_VENDOR_MOZILLA)->name, "mozilla");
    assert_string_equal(lull_vendor_lookup((enum lull_vendor)99)->name, "other");
    assert_true(strlen(lull_vendor_table_version()) > 0);
    assert_true(strlen(lull_version()) > 0);
    assert_string_equal(lull_error_to_string(LULL_ERR_FULL), "full");
    assert_string_equal(lull_error_to_string(LULL_ERR_MEMORY), "memory");
    assert_string_equal(lull_error_to_string(-99), "other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_P1_hosts),
        cmocka_unit_test(test_P1_urls),
        cmocka_unit_test(test_K4_names_and_status_pages),
    };
    return cmocka_run_group_tests_name("vendor", tests, NULL, NULL);
}
