/* G3: which URLs are one destination, however they are written. */
#include "suite.h"

#include "origin.h"

static void test_G3_spellings_of_one_destination(void **state)
{
    (void)state;
    static const char *const same[][2] = {
        {"http://example.com/", "http://example.com"},
        {"http://example.com/", "HTTP://EXAMPLE.com:80/a/b?c#d"},
        {"http://example.com/", "http://example.com?x=http://other.example:81/"},
        {"http://example.com/", "http://example.com#x@y:1"},
        {"http://example.com/", "http://user:secret@example.com/"},
        {"http://example.com/", "http://user@host@example.com:080/"},
        {"http://example.com/", "http://example.com./"},
        {"http://example.com/", "http://example.com:/"},
        {"http://example.com/", "example.com"},
        {"https://example.com/", "https://example.com:443/x"},
        {"https://example.com:8443/", "https://example.com:08443/x"},
        {"http://[::1]/", "http://[::1]:80/"},
        {"http://[FE80::1]:8080/", "http://user@[fe80::1]:8080/x"},
    };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        if (origin_of(same[i][0]).key != origin_of(same[i][1]).key) {
            fail_msg("%s and %s differ", same[i][0], same[i][1]);
        }
    }
}

static void test_G3_different_destinations(void **state)
{
    (void)state;
    static const char *const different[] = {
        "http://example.com/",
        "https://example.com/",
        "http://example.com:8080/",
        "http://example.org/",
        "http://a.example.com/",
        "http://example.com:443/",
        "https://example.com:80",
        "http://[::1]/",
        "http://[::1]:8080/",
        "http://[::2]/",
        "http://example.com80/",
        "http://example.com@evil.example/",
        "",
        "http://127.0.0.1:8001/x",
        "http://127.0.0.1:8002/x",
    };
    size_t count = sizeof different / sizeof different[0];
    for (size_t i = 0; i < count; i++) {
        for (size_t j = i + 1; j < count; j++) {
            if (origin_of(different[i]).key == origin_of(different[j]).key) {
                fail_msg("%s and %s are one", different[i], different[j]);
            }
        }
    }
}

static void test_P1_S6_vendor(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        enum lull_vendor vendor;
    } cases[] = {
        {"https://fcm.googleapis.com/fcm/send/x", LULL_VENDOR_FCM},
        {"https://FCM.googleapis.com:443/x", LULL_VENDOR_FCM},
        {"https://permanently-removed.invalid/fcm/send/x", LULL_VENDOR_INVALID},
        {"http://user@x.invalid:8080", LULL_VENDOR_INVALID},
        {"https://example.com/fcm.googleapis.com", LULL_VENDOR_OTHER},
        {"https://fcm.googleapis.com@example.com/", LULL_VENDOR_OTHER},
        {"http://[::1]:80/", LULL_VENDOR_OTHER},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (origin_of(cases[i].url).vendor != cases[i].vendor) {
            fail_msg("%s: %d", cases[i].url, origin_of(cases[i].url).vendor);
        }
    }
}

static void test_any_text_has_an_origin(void **state)
{
    (void)state;
    static const char *const odd[] = {
        "",  ":", "://", "http://",  "http://:",  "@",   "http://@",  "http://[",
        "[", "]", "::1", "http://.", "http://:0", "///", "https://\\"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        assert_true(origin_of(odd[i]).key == origin_of(odd[i]).key);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_G3_spellings_of_one_destination),
        cmocka_unit_test(test_G3_different_destinations),
        cmocka_unit_test(test_P1_S6_vendor),
        cmocka_unit_test(test_any_text_has_an_origin),
    };
    return cmocka_run_group_tests_name("origin", tests, NULL, NULL);
}
