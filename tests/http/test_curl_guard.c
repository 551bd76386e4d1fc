/* C12, W5: what is said of a request that ended without a status. */
#include "suite.h"

#include <arpa/inet.h>
#include <unistd.h>

#include "curl_guard.h"

static void test_C12_what_was_sent_is_never_said_to_be_unsent(void **state)
{
    (void)state;
    static const struct curl_guard sent = {.is_sent = true};
    for (int code = 0; code < CURL_LAST; code++) {
        struct lull_outcome outcome = {.kind = LULL_OUTCOME_TRANSPORT};
        outcome.transport = curl_guard_failure(&sent, (CURLcode)code);
        if (lull_outcome_effect(&outcome) != LULL_EFFECT_UNKNOWN) {
            fail_msg("curl's %d is %s", code, lull_transport_to_string(outcome.transport));
        }
    }
}

static void test_C12_failures(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct curl_guard guard;
        CURLcode code;
        enum lull_transport expected;
    } cases[] = {
        {"no name", {0}, CURLE_COULDNT_RESOLVE_HOST, LULL_TRANSPORT_DNS},
        {"a repeat without a name",
         {.is_sent = true},
         CURLE_COULDNT_RESOLVE_HOST,
         LULL_TRANSPORT_RESET},
        {"a bad certificate", {0}, CURLE_PEER_FAILED_VERIFICATION, LULL_TRANSPORT_TLS},
        {"one in a repeat",
         {.is_sent = true},
         CURLE_PEER_FAILED_VERIFICATION,
         LULL_TRANSPORT_RESET},
        {"one behind a redirect",
         {.is_sent = true, .is_answered = true},
         CURLE_PEER_FAILED_VERIFICATION,
         LULL_TRANSPORT_TLS},
        {"stopped",
         {.is_sent = true, .is_repeat_stopped = true},
         CURLE_ABORTED_BY_CALLBACK,
         LULL_TRANSPORT_RESET},
        {"all forbidden",
         {.is_address_forbidden = true},
         CURLE_COULDNT_CONNECT,
         LULL_TRANSPORT_FORBIDDEN},
        {"one forbidden, one refused",
         {.is_address_forbidden = true, .is_address_allowed = true},
         CURLE_COULDNT_CONNECT,
         LULL_TRANSPORT_REFUSED},
        {"a repeat to a forbidden one",
         {.is_sent = true, .is_address_forbidden = true},
         CURLE_COULDNT_CONNECT,
         LULL_TRANSPORT_RESET},
        {"a redirect to a forbidden one",
         {.is_sent = true, .is_answered = true, .is_address_forbidden = true},
         CURLE_COULDNT_CONNECT,
         LULL_TRANSPORT_FORBIDDEN},
        {"an end without a head", {.is_sent = true}, CURLE_OK, LULL_TRANSPORT_PROTOCOL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum lull_transport failure = curl_guard_failure(&cases[i].guard, cases[i].code);
        if (failure != cases[i].expected) {
            fail_msg("%s: %s", cases[i].name, lull_transport_to_string(failure));
        }
    }
}

static void test_C12_it_is_sent_once_for_each_answer(void **state)
{
    (void)state;
    struct curl_guard guard = {0};
    assert_true(curl_guard_may_send(&guard, "127.0.0.1"));
    assert_true(guard.is_sent && !guard.is_answered);
    guard.is_answered = true; /* a redirect */
    assert_true(curl_guard_may_send(&guard, "127.0.0.1"));
    assert_false(guard.is_answered);
    assert_false(guard.is_repeat_stopped);
    assert_false(curl_guard_may_send(&guard, "127.0.0.1"));
    assert_true(guard.is_repeat_stopped);
}

static void test_W5_only_to_public_addresses(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool is_public;
    } cases[] = {{"127.0.0.1", false}, {"10.1.2.3", false}, {"9.9.9.9", true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct curl_guard guard = {.is_public_only = true};
        struct curl_sockaddr address = {.family = AF_INET, .socktype = SOCK_STREAM};
        struct sockaddr_in in = {.sin_family = AF_INET};
        assert_int_equal(inet_pton(AF_INET, cases[i].text, &in.sin_addr), 1);
        memcpy(&address.addr, &in, sizeof in);
        curl_socket_t fd = curl_guard_open_socket(&guard, CURLSOCKTYPE_IPCXN, &address);
        assert_int_equal(fd != CURL_SOCKET_BAD, cases[i].is_public);
        assert_int_equal(guard.is_address_allowed, cases[i].is_public);
        assert_int_equal(guard.is_address_forbidden, !cases[i].is_public);
        if (fd != CURL_SOCKET_BAD) {
            assert_int_equal(close(fd), 0);
        }
        assert_int_equal(curl_guard_may_send(&guard, cases[i].text), cases[i].is_public);
        assert_int_equal(guard.is_sent, cases[i].is_public);
        guard = (struct curl_guard){0};
        assert_true(curl_guard_may_send(&guard, cases[i].text));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_C12_what_was_sent_is_never_said_to_be_unsent),
        cmocka_unit_test(test_C12_failures),
        cmocka_unit_test(test_C12_it_is_sent_once_for_each_answer),
        cmocka_unit_test(test_W5_only_to_public_addresses),
    };
    return cmocka_run_group_tests_name("curl_guard", tests, NULL, NULL);
}
