/* The engine by itself: what is admitted, leased, sent, settled (Q2, Q5, Q8, G6, T1, T2, B7, C8,
 * P3, P4, P5). tests/sim has it at work, with a store and a hostile world. */
#include "suite.h"

#include "engine.h"

#define NOW 1000000

struct fixture {
    struct engine *engine;
    struct lull_policy policy;
    struct engine_message message;
    struct engine_order order;
};

static void begin(struct fixture *fixture, void (*change)(struct engine_config *config))
{
    struct engine_config config;
    engine_config_default(&config);
    config.services_max = 4;
    config.seed = test_seed("engine");
    if (change) {
        change(&config);
    }
    assert_int_equal(engine_new(&fixture->engine, &config, NOW), LULL_OK);
    assert_int_equal(engine_add_service(fixture->engine, 1, 0, LULL_NEVER), LULL_OK);
    assert_int_equal(lull_policy_named(&fixture->policy, "delivery"), LULL_OK);
    fixture->message = (struct engine_message){
        .policy = &fixture->policy,
        .kind = LULL_KIND_PUSH,
        .vendor = LULL_VENDOR_OTHER,
        .method = LULL_METHOD_POST,
        .service = 1,
        .accepted_ms = NOW,
        .ttl_ms = 3600000,
    };
}

static void answer(struct fixture *fixture, unsigned status, const char *retry_after,
                   int64_t now_ms)
{
    struct lull_header header = {"retry-after", 11, retry_after,
                                 retry_after ? strlen(retry_after) : 0};
    const struct lull_outcome outcome = {.kind = LULL_OUTCOME_STATUS,
                                         .status = status,
                                         .headers = &header,
                                         .header_count = retry_after != NULL};
    engine_on_outcome(fixture->engine, now_ms, &fixture->message, &outcome, &fixture->order);
}

/* ---- bad configurations ---- */

static void test_numbers_that_cannot_be(void **state)
{
    (void)state;
    struct engine *engine = NULL;
    struct engine_config good;
    engine_config_default(&good);
    for (int i = 0; i < 8; i++) {
        struct engine_config config = good;
        uint32_t *zeros[] = {&config.services_max, &config.in_flight_max,
                             &config.in_flight_per_service_max, &config.lease_max,
                             &config.poison_after};
        if (i < 5) {
            *zeros[i] = 0;
        }
        config.lease_ms = i == 5 ? 0 : config.lease_ms;
        config.waiting_soft_max = i == 6 ? config.waiting_hard_max + 1 : config.waiting_soft_max;
        config.waiting_soft_max = i == 7 ? 0 : config.waiting_soft_max;
        assert_int_equal(engine_new(&engine, &config, NOW), LULL_ERR_RANGE);
        assert_null(engine);
    }
}

/* ---- admission (G6) ---- */

static void few_may_wait(struct engine_config *config)
{
    config->waiting_soft_max = 10;
    config->waiting_hard_max = 20;
}

static void test_G6_over_the_bound_new_work_waits_for_as_long_as_the_queue_needs(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, few_may_wait);
    struct engine *engine = fixture.engine;
    for (int i = 0; i < 9; i++) {
        engine_on_put(engine, 1, false, true, false, NOW, NOW);
    }
    assert_int_equal(engine_admit(engine, NOW).kind, ENGINE_ADMITTED);
    engine_on_put(engine, 1, false, true, false, NOW, NOW);
    assert_int_equal(engine_admit(engine, NOW).kind, ENGINE_THROTTLED);
    assert_int_equal(engine_admit(engine, NOW).retry_after_s, 60); /* nothing has left yet */
    uint32_t number = 0;
    uint32_t max = 0;
    assert_true(engine_next_lease(engine, NOW, &number, &max));
    engine_on_leased(engine, 1, max, 4, false, LULL_NEVER, NOW);
    for (int i = 0; i < 4; i++) {
        engine_on_settled(engine, 1, ENGINE_DONE, 0, NOW + 2000);
    }
    for (int i = 0; i < 10; i++) {
        engine_on_put(engine, 1, false, true, false, NOW, NOW + 2000);
    }
    /* 16 wait, and 2 leave in a second: 7 more than may be are gone in 3.5 s. */
    assert_int_equal(engine_admit(engine, NOW + 2000).kind, ENGINE_THROTTLED);
    assert_int_equal(engine_admit(engine, NOW + 2000).retry_after_s, 4);
    for (int i = 0; i < 4; i++) {
        engine_on_put(engine, 1, false, true, false, NOW, NOW + 2000);
    }
    assert_int_equal(engine_admit(engine, NOW + 2000).kind, ENGINE_REFUSED);
    engine_drain(engine);
    assert_int_equal(engine_admit(engine, NOW + 2000).kind, ENGINE_REFUSED);
    engine_destroy(engine);
}

/* ---- leasing ---- */

static void small(struct engine_config *config)
{
    config->in_flight_max = 5;
    config->in_flight_per_service_max = 3;
    config->lease_max = 2;
}

static void test_no_more_in_flight_than_allowed_and_services_take_turns(void **state)
{
    (void)state;
    struct fixture fixture;
    uint32_t number = 0;
    uint32_t max = 0;
    begin(&fixture, small);
    struct engine *engine = fixture.engine;
    assert_int_equal(engine_add_service(engine, 2, 100, NOW), LULL_OK);
    engine_on_count(engine, 1, 100, NOW);
    uint32_t got[3] = {0};
    for (int i = 0; i < 3; i++) { /* 2 + 2 + 1: the total is 5 */
        assert_true(engine_next_lease(engine, NOW, &number, &max));
        got[number] += max;
        engine_on_leased(engine, number, max, max, true, NOW, NOW);
    }
    assert_true(got[1] + got[2] == 5 && got[1] >= 2 && got[2] >= 2);
    assert_false(engine_next_lease(engine, NOW, &number, &max));
    assert_false(engine_has_room(engine, 1));
    assert_true(engine_wake_ms(engine) == LULL_NEVER); /* a settle comes first */
    engine_on_settled(engine, number, ENGINE_DONE, 0, NOW);
    assert_true(engine_wake_ms(engine) <= NOW);
    assert_true(engine_next_lease(engine, NOW, &number, &max));
    assert_int_equal(max, 1);
    engine_destroy(engine);
}

static void test_one_service_that_hangs_leaves_room_for_others(void **state)
{
    (void)state;
    struct fixture fixture;
    uint32_t number = 0;
    uint32_t max = 0;
    uint32_t total = 0;
    begin(&fixture, small);
    engine_on_count(fixture.engine, 1, 100, NOW);
    while (engine_next_lease(fixture.engine, NOW, &number, &max)) {
        engine_on_leased(fixture.engine, number, max, max, true, NOW, NOW);
        total += max;
    }
    assert_int_equal(total, 3);
    assert_int_equal(engine_add_service(fixture.engine, 2, 0, LULL_NEVER), LULL_OK);
    assert_true(engine_may_go(fixture.engine, 2, NOW, NOW));
    assert_false(engine_may_go(fixture.engine, 1, NOW, NOW));
    engine_destroy(fixture.engine);
}

static void test_Q5_what_is_new_does_not_overtake_what_is_due(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, NULL);
    struct engine *engine = fixture.engine;
    assert_true(engine_may_go(engine, 1, NOW, NOW));
    engine_on_put(engine, 1, true, true, true, NOW, NOW);
    assert_false(engine_may_go(engine, 1, NOW + 1, NOW)); /* it is not due itself */
    engine_on_put(engine, 1, false, true, false, NOW + 500, NOW);
    assert_true(engine_may_go(engine, 1, NOW, NOW)); /* the other one is not due yet */
    engine_on_put(engine, 1, true, true, true, NOW, NOW);
    assert_false(engine_may_go(engine, 1, NOW + 500, NOW + 500));
    assert_int_equal(engine_wake_ms(engine), NOW + 500);
    uint32_t number = 0;
    uint32_t max = 0;
    assert_true(engine_next_lease(engine, NOW + 500, &number, &max));
    assert_false(
        engine_may_go(engine, 1, NOW + 500, NOW + 500)); /* it is not known if that is all */
    engine_on_leased(engine, 1, max, 1, false, LULL_NEVER, NOW + 500);
    assert_true(engine_may_go(engine, 1, NOW + 500, NOW + 500));
    engine_on_put(engine, 1, true, false, false, NOW, NOW + 500); /* the disk had no room */
    struct engine_stats stats = engine_stats(engine, NOW + 500);
    assert_int_equal(stats.in_flight, 3);
    assert_int_equal(stats.waiting, 0);
    engine_destroy(engine);
}

static void test_P5_a_closed_gate_is_not_asked(void **state)
{
    (void)state;
    struct fixture fixture;
    uint32_t number = 0;
    uint32_t max = 0;
    begin(&fixture, NULL);
    struct engine *engine = fixture.engine;
    engine_on_gate(engine, 1, NOW + 60000);
    engine_on_put(engine, 1, false, true, false, NOW, NOW);
    assert_int_equal(engine_wake_ms(engine), NOW + 60000);
    assert_false(engine_next_lease(engine, NOW + 59999, &number, &max));
    assert_false(engine_may_go(engine, 1, NOW, NOW + 59999));
    engine_on_gate(engine, 1, 0); /* the operator opens it */
    assert_true(engine_next_lease(engine, NOW, &number, &max));
    engine_destroy(engine);
}

/* ---- messages ---- */

static void test_a_message_that_may_be_sent(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, NULL);
    engine_before_send(fixture.engine, NOW + 600000, &fixture.message, &fixture.order);
    assert_int_equal(fixture.order.kind, ENGINE_SEND);
    assert_int_equal(fixture.order.remaining_ms, 3000000); /* T3 */
    assert_false(fixture.order.is_token_doubted);
    fixture.message.auth_retries = 1; /* C8 */
    engine_before_send(fixture.engine, NOW, &fixture.message, &fixture.order);
    assert_true(fixture.order.is_token_doubted);
    engine_destroy(fixture.engine);
}

static void test_what_dies_at_the_door(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, NULL);
    engine_before_send(fixture.engine, NOW + 3600000, &fixture.message, &fixture.order);
    assert_int_equal(fixture.order.kind, ENGINE_DIE);
    assert_int_equal(fixture.order.reason, LULL_REASON_TTL_EXPIRED); /* T2 */
    fixture.message.lost = 10;                                       /* Q8 */
    engine_before_send(fixture.engine, NOW, &fixture.message, &fixture.order);
    assert_int_equal(fixture.order.kind, ENGINE_DIE);
    assert_int_equal(fixture.order.reason, LULL_REASON_POISON);
    fixture.message.lost = 9;
    engine_before_send(fixture.engine, NOW, &fixture.message, &fixture.order);
    assert_int_equal(fixture.order.kind, ENGINE_SEND);
    fixture.message.is_cancelled = true;
    engine_before_send(fixture.engine, NOW, &fixture.message, &fixture.order);
    assert_int_equal(fixture.order.reason, LULL_REASON_CANCELLED);
    engine_destroy(fixture.engine);
}

static void test_what_an_answer_leads_to(void **state)
{
    (void)state;
    static const struct {
        unsigned status;
        const char *retry_after;
        enum engine_order_kind kind;
        enum lull_reason reason;
    } cases[] = {
        {201, NULL, ENGINE_DONE, LULL_REASON_DELIVERED},
        {503, NULL, ENGINE_RETRY, LULL_REASON_UNAVAILABLE},
        {429, "30", ENGINE_RETRY, LULL_REASON_THROTTLED},
        {410, NULL, ENGINE_DIE, LULL_REASON_GONE},
        {400, NULL, ENGINE_DIE, LULL_REASON_REJECTED},
        {413, NULL, ENGINE_DIE, LULL_REASON_PAYLOAD_TOO_LARGE},
        {403, NULL, ENGINE_DIE, LULL_REASON_AUTH},
        {503, "4000", ENGINE_DIE, LULL_REASON_TTL_EXPIRED_DURING_BACKOFF}, /* T2 */
    };
    struct fixture fixture;
    begin(&fixture, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        answer(&fixture, cases[i].status, cases[i].retry_after, NOW);
        assert_int_equal(fixture.order.kind, cases[i].kind);
        assert_int_equal(fixture.order.reason, cases[i].reason);
        assert_int_equal(fixture.order.attempts, 1);
        assert_int_equal(fixture.order.is_asked_for,
                         cases[i].kind == ENGINE_RETRY && cases[i].retry_after != NULL);
    }
    engine_destroy(fixture.engine);
}

static void test_A3_B5_a_retry_is_not_early_and_not_one_too_many(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, NULL);
    for (uint32_t attempt = 1; attempt <= 6; attempt++) {
        fixture.message.attempts = attempt - 1;
        answer(&fixture, 503, "30", NOW);
        assert_int_equal(fixture.order.kind, attempt <= 5 ? ENGINE_RETRY : ENGINE_DIE);
        assert_int_equal(fixture.order.attempts, attempt);
        assert_true(attempt == 6 || fixture.order.due_ms >= NOW + 30000);
    }
    assert_int_equal(fixture.order.reason, LULL_REASON_MAX_ATTEMPTS_EXCEEDED);
    engine_destroy(fixture.engine);
}

static void test_P3_P4_a_429_holds_the_subscription_or_pauses_the_service(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, NULL);
    answer(&fixture, 429, "30", NOW);
    assert_int_equal(fixture.order.hold_until_ms, NOW + 30000);
    assert_int_equal(fixture.order.pause_until_ms, 0);
    fixture.message.vendor = LULL_VENDOR_FCM;
    answer(&fixture, 429, "30", NOW);
    assert_int_equal(fixture.order.hold_until_ms, 0);
    assert_int_equal(fixture.order.pause_until_ms, NOW + 30000);
    fixture.message.vendor = LULL_VENDOR_OTHER;
    fixture.message.attempts = 5; /* it ends, and still protects the others */
    answer(&fixture, 429, "30", NOW);
    assert_int_equal(fixture.order.kind, ENGINE_DIE);
    assert_int_equal(fixture.order.hold_until_ms, NOW + 30000);
    engine_destroy(fixture.engine);
}

static void test_cancelled_in_flight(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, NULL);
    fixture.message.is_cancelled = true;
    answer(&fixture, 503, NULL, NOW);
    assert_int_equal(fixture.order.kind, ENGINE_DIE);
    assert_int_equal(fixture.order.reason, LULL_REASON_CANCELLED);
    answer(&fixture, 201, NULL, NOW); /* it was too late */
    assert_int_equal(fixture.order.kind, ENGINE_DONE);
    engine_destroy(fixture.engine);
}

static void test_an_outcome_that_cannot_be_ends_the_message(void **state)
{
    (void)state;
    struct fixture fixture;
    begin(&fixture, NULL);
    answer(&fixture, 42, NULL, NOW);
    assert_int_equal(fixture.order.kind, ENGINE_DIE);
    assert_int_equal(fixture.order.reason, LULL_REASON_POISON);
    engine_destroy(fixture.engine);
}

static void test_drained_nothing_new_goes_out(void **state)
{
    (void)state;
    struct fixture fixture;
    uint32_t number = 0;
    uint32_t max = 0;
    begin(&fixture, NULL);
    engine_on_count(fixture.engine, 1, 5, NOW);
    engine_drain(fixture.engine);
    assert_false(engine_next_lease(fixture.engine, NOW, &number, &max));
    assert_true(engine_wake_ms(fixture.engine) == LULL_NEVER);
    assert_int_equal(engine_add_service(fixture.engine, 2, 0, LULL_NEVER), LULL_OK);
    assert_false(engine_may_go(fixture.engine, 2, NOW, NOW));
    engine_destroy(fixture.engine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_that_cannot_be),
        cmocka_unit_test(test_G6_over_the_bound_new_work_waits_for_as_long_as_the_queue_needs),
        cmocka_unit_test(test_no_more_in_flight_than_allowed_and_services_take_turns),
        cmocka_unit_test(test_one_service_that_hangs_leaves_room_for_others),
        cmocka_unit_test(test_Q5_what_is_new_does_not_overtake_what_is_due),
        cmocka_unit_test(test_P5_a_closed_gate_is_not_asked),
        cmocka_unit_test(test_a_message_that_may_be_sent),
        cmocka_unit_test(test_what_dies_at_the_door),
        cmocka_unit_test(test_what_an_answer_leads_to),
        cmocka_unit_test(test_A3_B5_a_retry_is_not_early_and_not_one_too_many),
        cmocka_unit_test(test_P3_P4_a_429_holds_the_subscription_or_pauses_the_service),
        cmocka_unit_test(test_cancelled_in_flight),
        cmocka_unit_test(test_an_outcome_that_cannot_be_ends_the_message),
        cmocka_unit_test(test_drained_nothing_new_goes_out),
    };
    return cmocka_run_group_tests_name("engine", tests, NULL, NULL);
}
