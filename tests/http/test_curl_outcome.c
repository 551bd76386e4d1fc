/* C1, C12: what each end that libcurl knows means, before and after the request was sent. */
#include "suite.h"

#include "curl_outcome.h"

static void test_C1_C12_codes(void **state)
{
    (void)state;
    static const struct {
        CURLcode code;
        enum lull_transport before;
        enum lull_transport after;
    } cases[] = {
        {CURLE_URL_MALFORMAT, LULL_TRANSPORT_MALFORMED_URL, LULL_TRANSPORT_MALFORMED_URL},
        {CURLE_UNSUPPORTED_PROTOCOL, LULL_TRANSPORT_MALFORMED_URL, LULL_TRANSPORT_PROTOCOL},
        {CURLE_COULDNT_RESOLVE_HOST, LULL_TRANSPORT_DNS, LULL_TRANSPORT_DNS},
        {CURLE_COULDNT_RESOLVE_PROXY, LULL_TRANSPORT_DNS, LULL_TRANSPORT_DNS},
        {CURLE_PEER_FAILED_VERIFICATION, LULL_TRANSPORT_TLS, LULL_TRANSPORT_TLS},
        {CURLE_SSL_CERTPROBLEM, LULL_TRANSPORT_TLS, LULL_TRANSPORT_TLS},
        {CURLE_SSL_CACERT_BADFILE, LULL_TRANSPORT_TLS, LULL_TRANSPORT_TLS},
        {CURLE_SSL_PINNEDPUBKEYNOTMATCH, LULL_TRANSPORT_TLS, LULL_TRANSPORT_TLS},
        {CURLE_SSL_INVALIDCERTSTATUS, LULL_TRANSPORT_TLS, LULL_TRANSPORT_TLS},
        {CURLE_OPERATION_TIMEDOUT, LULL_TRANSPORT_CONNECT_TIMEOUT, LULL_TRANSPORT_TIMEOUT},
        {CURLE_COULDNT_CONNECT, LULL_TRANSPORT_REFUSED, LULL_TRANSPORT_RESET},
        {CURLE_PROXY, LULL_TRANSPORT_REFUSED, LULL_TRANSPORT_RESET},
        {CURLE_INTERFACE_FAILED, LULL_TRANSPORT_REFUSED, LULL_TRANSPORT_RESET},
        {CURLE_SSL_CONNECT_ERROR, LULL_TRANSPORT_TLS_HANDSHAKE, LULL_TRANSPORT_RESET},
        {CURLE_SEND_ERROR, LULL_TRANSPORT_TLS_HANDSHAKE, LULL_TRANSPORT_RESET},
        {CURLE_RECV_ERROR, LULL_TRANSPORT_TLS_HANDSHAKE, LULL_TRANSPORT_RESET},
        {CURLE_GOT_NOTHING, LULL_TRANSPORT_TLS_HANDSHAKE, LULL_TRANSPORT_RESET},
        {CURLE_PARTIAL_FILE, LULL_TRANSPORT_TLS_HANDSHAKE, LULL_TRANSPORT_RESET},
        {CURLE_HTTP2_STREAM, LULL_TRANSPORT_TLS_HANDSHAKE, LULL_TRANSPORT_RESET},
        {CURLE_WEIRD_SERVER_REPLY, LULL_TRANSPORT_REFUSED, LULL_TRANSPORT_PROTOCOL},
        {CURLE_HTTP2, LULL_TRANSPORT_REFUSED, LULL_TRANSPORT_PROTOCOL},
        {CURLE_HTTP3, LULL_TRANSPORT_REFUSED, LULL_TRANSPORT_PROTOCOL},
        {CURLE_ABORTED_BY_CALLBACK, LULL_TRANSPORT_CANCELLED, LULL_TRANSPORT_CANCELLED},
        {CURLE_WRITE_ERROR, LULL_TRANSPORT_CANCELLED, LULL_TRANSPORT_CANCELLED},
        {CURLE_READ_ERROR, LULL_TRANSPORT_CANCELLED, LULL_TRANSPORT_CANCELLED},
        {CURLE_OUT_OF_MEMORY, LULL_TRANSPORT_CANCELLED, LULL_TRANSPORT_CANCELLED},
        {CURLE_FILESIZE_EXCEEDED, LULL_TRANSPORT_CANCELLED, LULL_TRANSPORT_CANCELLED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum lull_transport before = curl_transport(cases[i].code, false);
        enum lull_transport after = curl_transport(cases[i].code, true);
        if (before != cases[i].before || after != cases[i].after) {
            fail_msg("%s: %s, %s", curl_easy_strerror(cases[i].code),
                     lull_transport_to_string(before), lull_transport_to_string(after));
        }
    }
}

/* C9 stands on this: what can have arrived is never called unsent, and the other way round. */
static void test_C12_every_code_has_a_safe_effect(void **state)
{
    (void)state;
    for (int code = 1; code < CURL_LAST; code++) {
        struct lull_outcome outcome = {.kind = LULL_OUTCOME_TRANSPORT};
        outcome.transport = curl_transport((CURLcode)code, false);
        assert_int_not_equal(outcome.transport, LULL_TRANSPORT_NONE);
        if (outcome.transport != LULL_TRANSPORT_CANCELLED) {
            assert_int_equal(lull_outcome_effect(&outcome), LULL_EFFECT_NOT_SENT);
        }
        outcome.transport = curl_transport((CURLcode)code, true);
        assert_int_not_equal(outcome.transport, LULL_TRANSPORT_NONE);
        assert_int_not_equal(outcome.transport, LULL_TRANSPORT_REFUSED);
        assert_int_not_equal(outcome.transport, LULL_TRANSPORT_CONNECT_TIMEOUT);
        assert_int_not_equal(outcome.transport, LULL_TRANSPORT_TLS_HANDSHAKE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_C1_C12_codes),
        cmocka_unit_test(test_C12_every_code_has_a_safe_effect),
    };
    return cmocka_run_group_tests_name("curl_outcome", tests, NULL, NULL);
}
