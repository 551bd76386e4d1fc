/* address: W5, each special block at its two edges, and what lies just outside. */
#include "suite.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "address.h"

static bool is_public(const char *text)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
        return address_is_public((const struct sockaddr *)&v4);
    }
    if (inet_pton(AF_INET6, text, &v6.sin6_addr) != 1) {
        fail_msg("not an address: %s", text);
    }
    return address_is_public((const struct sockaddr *)&v6);
}

static void test_W5_special_addresses(void **state)
{
    (void)state;
    static const char *const special[] = {
        "0.0.0.0",
        "0.255.255.255",
        "10.0.0.0",
        "10.255.255.255",
        "100.64.0.0",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.255",
        "169.254.0.0",
        "169.254.169.254",
        "172.16.0.0",
        "172.31.255.255",
        "192.0.0.1",
        "192.0.2.255",
        "192.88.99.1",
        "192.168.0.0",
        "192.168.255.255",
        "198.18.0.0",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.0",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.1.2.3",
        "::ffff:169.254.169.254",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:1ff::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "2002:c0a8:101::1",
        "3fff::1",
        "fc00::1",
        "fdff::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "4000::1",
        "::7f00:1",
    };
    for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
        if (is_public(special[i]) || address_text_is_public(special[i])) {
            fail_msg("%s is let through", special[i]);
        }
    }
}

static void test_W5_public_addresses(void **state)
{
    (void)state;
    static const char *const common[] = {
        "1.1.1.1",         "9.255.255.255",   "11.0.0.0",       "100.63.255.255",
        "100.128.0.0",     "126.255.255.255", "128.0.0.0",      "169.253.255.255",
        "169.255.0.0",     "172.15.255.255",  "172.32.0.0",     "192.0.1.0",
        "192.0.3.0",       "192.167.255.255", "192.169.0.0",    "198.17.255.255",
        "198.20.0.0",      "223.255.255.255", "2001:200::1",    "2001:4860::8888",
        "2a00::1",         "2600::1",         "::ffff:1.1.1.1", "64:ff9b::1.1.1.1",
        "2002:101:101::1",
    };
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++) {
        if (!is_public(common[i]) || !address_text_is_public(common[i])) {
            fail_msg("%s is refused", common[i]);
        }
    }
}

static void test_W5_other_families(void **state)
{
    (void)state;
    struct sockaddr local = {.sa_family = AF_UNIX};
    assert_false(address_is_public(&local));
    assert_false(address_text_is_public("") || address_text_is_public("example.org"));
}

/* What the host of a URL says by itself, in all the writings that getaddrinfo takes. */
static void test_W5_hosts_of_urls(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        bool is_private;
    } cases[] = {
        {"127.0.0.1", true},
        {"127.1", true},
        {"2130706433", true},
        {"0x7f.1", true},
        {"0177.0.0.1", true},
        {"10.1.2.3", true},
        {"169.254.169.254", true},
        {"0", true},
        {"::1", true},
        {"fe80::1", true},
        {"::ffff:10.0.0.1", true},
        {"localhost", true},
        {"LocalHost.", true},
        {"a.localhost", true},
        {"A.B.LOCALHOST.", true},
        {"1.1.1.1", false},
        {"0x01010101", false},
        {"2600::1", false},
        {"push.example", false},
        {"notlocalhost", false},
        {"localhost.example", false},
        {"", false},
        {".", false},
        {"10.example", false},
        {"1.2.3.4.5", false},
    };
    static char long_name[300];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (address_host_is_private(cases[i].host, strlen(cases[i].host)) != cases[i].is_private) {
            fail_msg("%s", cases[i].host);
        }
    }
    memset(long_name, 'a', sizeof long_name);
    assert_false(address_host_is_private(long_name, sizeof long_name));
    memcpy(long_name + sizeof long_name - 10, ".localhost", 10);
    assert_true(address_host_is_private(long_name, sizeof long_name));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_W5_special_addresses),
        cmocka_unit_test(test_W5_public_addresses),
        cmocka_unit_test(test_W5_other_families),
        cmocka_unit_test(test_W5_hosts_of_urls),
    };
    return cmocka_run_group_tests_name("address", tests, NULL, NULL);
}
