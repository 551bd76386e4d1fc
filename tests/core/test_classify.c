/* C1 to C8, C10 to C13, V1 to V5: what an outcome means. */
#include "suite.h"

static struct lull_policy policy_from(const char *text)
{
    struct lull_policy policy;
    struct lull_policy_error error;
    if (lull_policy_parse(&policy, text, strlen(text), &error) != LULL_OK) {
        fail_msg("%s: %s", text, error.text);
    }
    return policy;
}

static struct lull_classification classify(const char *policy_text, enum lull_kind kind,
                                           enum lull_vendor vendor, unsigned status,
                                           const char *header, const char *value, const char *body)
{
    struct lull_policy policy = policy_from(policy_text);
    struct lull_header headers[] = {
        {header, header ? strlen(header) : 0, value, value ? strlen(value) : 0}};
    struct lull_outcome outcome = {
        .kind = LULL_OUTCOME_STATUS,
        .status = status,
        .headers = headers,
        .header_count = header != NULL,
        .body = body,
        .body_length = body ? strlen(body) : 0,
    };
    return lull_classify(&policy, kind, vendor, &outcome);
}

/* Every status there is. */
static void test_C2_C3_C4_every_status(void **state)
{
    (void)state;
    for (unsigned status = 100; status <= 999; status++) {
        enum lull_class expected = LULL_CLASS_REJECTED;
        if (status >= 200 && status <= 299) {
            expected = LULL_CLASS_SUCCESS;
        } else if (status == 429) {
            expected = LULL_CLASS_THROTTLED;
        } else if (status == 503) {
            expected = LULL_CLASS_UNAVAILABLE;
        } else if (status == 401 || status == 403) {
            expected = LULL_CLASS_AUTH;
        } else if (status == 404 || status == 410) {
            expected = LULL_CLASS_GONE;
        } else if (status == 413) {
            expected = LULL_CLASS_TOO_LARGE;
        } else if (status == 408 ||
                   (status >= 500 && status != 501 && status != 505 && status != 511)) {
            expected = LULL_CLASS_SERVER_ERROR;
        }
        for (int kind = LULL_KIND_PUSH; kind <= LULL_KIND_REQUEST; kind++) {
            enum lull_class actual = classify("delivery", (enum lull_kind)kind, LULL_VENDOR_OTHER,
                                              status, NULL, NULL, NULL)
                                         .class_;
            if (actual != expected) {
                fail_msg("%u: %s", status, lull_class_to_string(actual));
            }
        }
    }
}

static void test_C3_C4_transport(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        enum lull_class class_;
        enum lull_effect effect; /* C12 */
    } cases[] = {
        {"dns", LULL_CLASS_TRANSPORT, LULL_EFFECT_NOT_SENT},
        {"dns_not_found", LULL_CLASS_INVALID_TARGET, LULL_EFFECT_NOT_SENT},
        {"refused", LULL_CLASS_TRANSPORT, LULL_EFFECT_NOT_SENT},
        {"connect_timeout", LULL_CLASS_TRANSPORT, LULL_EFFECT_NOT_SENT},
        {"tls", LULL_CLASS_INVALID_TARGET, LULL_EFFECT_NOT_SENT},
        {"tls_handshake", LULL_CLASS_TRANSPORT, LULL_EFFECT_NOT_SENT},
        {"reset", LULL_CLASS_TRANSPORT, LULL_EFFECT_UNKNOWN},
        {"timeout", LULL_CLASS_TRANSPORT, LULL_EFFECT_UNKNOWN},
        {"protocol", LULL_CLASS_TRANSPORT, LULL_EFFECT_UNKNOWN},
        {"refused_stream", LULL_CLASS_TRANSPORT, LULL_EFFECT_REFUSED},
        {"goaway", LULL_CLASS_TRANSPORT, LULL_EFFECT_REFUSED},
        {"malformed_url", LULL_CLASS_INVALID_TARGET, LULL_EFFECT_NOT_SENT},
        {"forbidden", LULL_CLASS_INVALID_TARGET, LULL_EFFECT_NOT_SENT},
        {"cancelled", LULL_CLASS_CANCELLED, LULL_EFFECT_UNKNOWN},
    };
    assert_int_equal(sizeof cases / sizeof cases[0], LULL_TRANSPORTS - 1);
    struct lull_policy policy = policy_from("delivery");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lull_outcome outcome = {.kind = LULL_OUTCOME_TRANSPORT};
        assert_int_equal(lull_transport_from_string(cases[i].word, &outcome.transport), LULL_OK);
        assert_string_equal(lull_transport_to_string(outcome.transport), cases[i].word);
        assert_int_equal(lull_classify(&policy, LULL_KIND_PUSH, LULL_VENDOR_OTHER, &outcome).class_,
                         cases[i].class_);
        assert_int_equal(lull_outcome_effect(&outcome), cases[i].effect);
    }
    enum lull_transport untouched = LULL_TRANSPORT_RESET;
    assert_int_equal(lull_transport_from_string("none", &untouched), LULL_ERR_UNKNOWN);
    assert_int_equal(untouched, LULL_TRANSPORT_RESET);
}

static void test_C8_auth_suspect(void **state)
{
    (void)state;
    static const struct {
        enum lull_kind kind;
        unsigned status;
        const char *header;
        const char *value;
        enum lull_class class_;
    } cases[] = {
        {LULL_KIND_PUSH, 429, "WWW-Authenticate", "vapid", LULL_CLASS_AUTH_SUSPECT},
        {LULL_KIND_PUSH, 429, "retry-after", " 0 ", LULL_CLASS_AUTH_SUSPECT},
        {LULL_KIND_PUSH, 429, "Retry-After", "00", LULL_CLASS_AUTH_SUSPECT},
        {LULL_KIND_PUSH, 429, "Retry-After", "1", LULL_CLASS_THROTTLED},
        {LULL_KIND_PUSH, 503, "Retry-After", "0", LULL_CLASS_UNAVAILABLE},
        {LULL_KIND_REQUEST, 429, "Retry-After", "0", LULL_CLASS_THROTTLED},
        {LULL_KIND_WEBHOOK, 429, "WWW-Authenticate", "x", LULL_CLASS_THROTTLED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(classify("delivery", cases[i].kind, LULL_VENDOR_OTHER, cases[i].status,
                                  cases[i].header, cases[i].value, NULL)
                             .class_,
                         cases[i].class_);
    }
    /* a quota hint beside it: it really is about a quota */
    struct lull_policy policy = policy_from("delivery");
    struct lull_header headers[] = {{"Retry-After", 11, "0", 1},
                                    {"X-RateLimit-Remaining", 21, "0", 1}};
    struct lull_outcome outcome = {
        .kind = LULL_OUTCOME_STATUS, .status = 429, .headers = headers, .header_count = 2};
    assert_int_equal(lull_classify(&policy, LULL_KIND_PUSH, LULL_VENDOR_OTHER, &outcome).class_,
                     LULL_CLASS_THROTTLED);
}

static void test_C10_problem_types(void **state)
{
    (void)state;
    const char *text = "client problem.https://e.x/busy=retry problem.https://e.x/no=give_up "
                       "problem.https://e.x/dead?a=b=dead_letter";
    const char *type = "application/problem+json";
    static const struct {
        unsigned status;
        const char *content_type;
        const char *body;
        enum lull_class class_;
        bool is_dead_letter;
    } cases[] = {
        {400, NULL, "{\"type\":\"https://e.x/busy\"}", LULL_CLASS_SERVER_ERROR, 0},
        {429, NULL, "{\"type\":\"https://e.x/busy\"}", LULL_CLASS_THROTTLED, 0},
        {503, NULL, "{\"type\":\"https://e.x/no\"}", LULL_CLASS_REJECTED, false},
        {500, NULL, "{\"type\":\"https://e.x/dead?a=b\"}", LULL_CLASS_REJECTED, true},
        {200, NULL, "{\"type\":\"https://e.x/no\"}", LULL_CLASS_SUCCESS, 0},
        {400, NULL, "{\"type\":\"https://e.x/other\"}", LULL_CLASS_REJECTED, 0},
        {400, NULL, "{\"type\":\"https://e.x/busy\"", LULL_CLASS_REJECTED, 0}, /* malformed */
        {400, NULL, "", LULL_CLASS_REJECTED, 0},
        {400, "application/json", "{\"type\":\"https://e.x/busy\"}", LULL_CLASS_REJECTED, 0},
        {400, "Application/Problem+JSON ; charset=utf-8", "{\"type\":\"https://e.x/busy\"}",
         LULL_CLASS_SERVER_ERROR, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct lull_classification actual =
            classify(text, LULL_KIND_REQUEST, LULL_VENDOR_OTHER, cases[i].status, "Content-Type",
                     cases[i].content_type ? cases[i].content_type : type, cases[i].body);
        if (actual.class_ != cases[i].class_ || actual.is_dead_letter != cases[i].is_dead_letter) {
            fail_msg("%u %s: %s", cases[i].status, cases[i].body,
                     lull_class_to_string(actual.class_));
        }
    }
}

static void test_C10_body_is_read_up_to_16_KB(void **state)
{
    (void)state;
    static char body[16 * 1024 + 1];
    const char *start = "{\"type\":\"https://e.x/busy\"}";
    for (int extra = 0; extra <= 1; extra++) {
        size_t length = 16 * 1024 + (size_t)extra;
        struct lull_policy policy = policy_from("client problem.https://e.x/busy=retry");
        struct lull_header header = {"Content-Type", 12, "application/problem+json", 24};
        struct lull_outcome outcome = {.kind = LULL_OUTCOME_STATUS,
                                       .status = 400,
                                       .headers = &header,
                                       .header_count = 1,
                                       .body = body,
                                       .body_length = length};
        memset(body, ' ', sizeof body);
        memcpy(body, start, strlen(start));
        assert_int_equal(
            lull_classify(&policy, LULL_KIND_REQUEST, LULL_VENDOR_OTHER, &outcome).class_,
            extra ? LULL_CLASS_REJECTED : LULL_CLASS_SERVER_ERROR);
    }
}

static void test_C11_own_status_table(void **state)
{
    (void)state;
    const char *text = "delivery status.409=retry status.408=never status.418=throttled "
                       "status.200=gone status.429=unavailable";
    assert_int_equal(classify(text, LULL_KIND_PUSH, LULL_VENDOR_OTHER, 409, 0, 0, 0).class_,
                     LULL_CLASS_SERVER_ERROR);
    assert_int_equal(classify(text, LULL_KIND_PUSH, LULL_VENDOR_OTHER, 408, 0, 0, 0).class_,
                     LULL_CLASS_REJECTED);
    assert_int_equal(classify(text, LULL_KIND_PUSH, LULL_VENDOR_OTHER, 418, 0, 0, 0).class_,
                     LULL_CLASS_THROTTLED);
    assert_int_equal(classify(text, LULL_KIND_PUSH, LULL_VENDOR_OTHER, 200, 0, 0, 0).class_,
                     LULL_CLASS_GONE);
    assert_int_equal(
        classify(text, LULL_KIND_PUSH, LULL_VENDOR_OTHER, 429, "Retry-After", "0", 0).class_,
        LULL_CLASS_UNAVAILABLE);
}

static void test_V1_to_V5_rows(void **state)
{
    (void)state;
    static const struct {
        enum lull_vendor vendor;
        unsigned status;
        const char *body;
        enum lull_class class_;
    } cases[] = {
        {LULL_VENDOR_MOZILLA, 400, "{\"code\":400,\"errno\":110}", LULL_CLASS_REJECTED},
        {LULL_VENDOR_MOZILLA, 401, "{\"code\":401,\"errno\":109}", LULL_CLASS_AUTH},
        {LULL_VENDOR_MOZILLA, 404, "{\"code\":404,\"errno\":102}", LULL_CLASS_GONE},
        {LULL_VENDOR_MOZILLA, 410, "{\"code\":410,\"errno\":106}", LULL_CLASS_GONE},
        {LULL_VENDOR_MOZILLA, 413, "{\"code\":413,\"errno\":104}", LULL_CLASS_TOO_LARGE},
        {LULL_VENDOR_MOZILLA, 502, "{\"code\":502,\"errno\":902}", LULL_CLASS_SERVER_ERROR},
        {LULL_VENDOR_MOZILLA, 503, "{\"code\":503,\"errno\":201}", LULL_CLASS_UNAVAILABLE},
        {LULL_VENDOR_MOZILLA, 503, "{\"code\":503,\"errno\":202}", LULL_CLASS_UNAVAILABLE},
        {LULL_VENDOR_MOZILLA, 503, "no JSON", LULL_CLASS_UNAVAILABLE},
        {LULL_VENDOR_FCM, 403, "invalid JWT provided", LULL_CLASS_AUTH},
        {LULL_VENDOR_FCM, 404, NULL, LULL_CLASS_GONE},
        {LULL_VENDOR_FCM, 410, NULL, LULL_CLASS_GONE},
        {LULL_VENDOR_FCM, 406, NULL, LULL_CLASS_REJECTED},
        {LULL_VENDOR_APPLE, 400, "{\"reason\":\"BadJwtToken\"}", LULL_CLASS_AUTH},
        {LULL_VENDOR_APPLE, 403, "{\"reason\":\"BadJwtToken\"}", LULL_CLASS_AUTH},
        {LULL_VENDOR_APPLE, 400, "{\"reason\":\"VapidPkHashMismatch\"}", LULL_CLASS_AUTH},
        {LULL_VENDOR_APPLE, 400, "{\"reason\":\"BadTtl\"}", LULL_CLASS_REJECTED},
        {LULL_VENDOR_APPLE, 400, "{\"reason\":\"Whatever\"}", LULL_CLASS_REJECTED},
        {LULL_VENDOR_APPLE, 410, "{\"reason\":\"BadJwtToken\"}", LULL_CLASS_GONE},
        {LULL_VENDOR_APPLE, 503, "{\"reason\":\"BadTtl\"}", LULL_CLASS_UNAVAILABLE},
        {LULL_VENDOR_OTHER, 400, "{\"reason\":\"BadJwtToken\"}", LULL_CLASS_REJECTED},
        {LULL_VENDOR_APPLE, 201, "{\"reason\":\"BadJwtToken\"}", LULL_CLASS_SUCCESS},
        {LULL_VENDOR_WNS, 406, "", LULL_CLASS_THROTTLED},
        {LULL_VENDOR_WNS, 200, "", LULL_CLASS_SUCCESS},
        {LULL_VENDOR_WNS, 410, "", LULL_CLASS_GONE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        enum lull_class actual = classify("delivery", LULL_KIND_PUSH, cases[i].vendor,
                                          cases[i].status, NULL, NULL, cases[i].body)
                                     .class_;
        if (actual != cases[i].class_) {
            fail_msg("%s %u %s: %s", lull_vendor_lookup(cases[i].vendor)->name, cases[i].status,
                     cases[i].body ? cases[i].body : "", lull_class_to_string(actual));
        }
    }
    /* A webhook to a vendor's host is no push: only its status speaks. */
    assert_int_equal(
        classify("webhook", LULL_KIND_WEBHOOK, LULL_VENDOR_WNS, 406, NULL, NULL, NULL).class_,
        LULL_CLASS_REJECTED);
}

static void test_words(void **state)
{
    (void)state;
    enum lull_kind kind = LULL_KIND_PUSH;
    for (int i = 0; i < LULL_CLASSES; i++) {
        assert_non_null(lull_class_to_string((enum lull_class)i));
    }
    for (int i = 0; i < LULL_KINDS; i++) {
        const char *word = lull_kind_to_string((enum lull_kind)i);
        assert_int_equal(lull_kind_from_string(word, &kind), LULL_OK);
        assert_int_equal(kind, i);
    }
    assert_int_equal(lull_kind_from_string("letter", &kind), LULL_ERR_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_C2_C3_C4_every_status),
        cmocka_unit_test(test_C3_C4_transport),
        cmocka_unit_test(test_C8_auth_suspect),
        cmocka_unit_test(test_C10_problem_types),
        cmocka_unit_test(test_C10_body_is_read_up_to_16_KB),
        cmocka_unit_test(test_C11_own_status_table),
        cmocka_unit_test(test_V1_to_V5_rows),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests_name("classify", tests, NULL, NULL);
}
