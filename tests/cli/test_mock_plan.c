/* How `lull mock` misbehaves: the plan's grammar, the walk through it, and every form of
 * Retry-After, read back by the library (A1). Time is an argument here; no test sleeps. */
#include "mock_plan.h"
#include "suite.h"

#define NOW_MS INT64_C(1767225600500) /* 2026-01-01 00:00:00.5 UTC */

static struct mock_plan parse(const char *text)
{
    static struct mock_plan plan;
    struct mock_plan_error error = {0};
    if (mock_plan_parse(&plan, text, strlen(text), &error) != LULL_OK) {
        fail_msg("'%s' at %zu: %s", text, error.offset, error.text);
    }
    mock_plan_start(&plan, 0);
    return plan;
}

/* What the answers to so many pushes are, as a text: "503 ok reset". */
static const char *walk(const char *text, int pushes)
{
    static char story[1024];
    struct mock_plan plan = parse(text);
    struct mock_walk steps;
    size_t length = 0;
    mock_walk_init(&steps, 1);
    story[0] = '\0';
    for (int i = 0; i < pushes; i++) {
        struct mock_answer answer = mock_walk_next(&steps, &plan, 0);
        char word[32];
        (void)snprintf(word, sizeof word, "%u", answer.status);
        length += (size_t)snprintf(
            story + length, sizeof story - length, "%s%s", i ? " " : "",
            answer.action == MOCK_STATUS ? word : mock_action_to_string(answer.action));
    }
    return story;
}

static void test_the_steps_are_walked_in_order(void **state)
{
    (void)state;
    static const struct {
        const char *plan;
        int pushes;
        const char *story;
    } cases[] = {
        {"", 3, "ok ok ok"},
        {"   ", 1, "ok"},
        {"503", 3, "503 ok ok"},
        {"201", 2, "ok ok"},
        {"ok;503", 3, "ok 503 ok"},
        {"429:2;503;reset;slow:300;201", 6, "429 503 reset ok ok ok"},
        {" 503 ; reset ;\tclose; half ;hang ", 6, "503 reset close half hang ok"},
        {"503*3;410", 5, "503 503 503 410 ok"},
        {"503*;410", 5, "503 503 503 503 503"},
        {"503 *2", 3, "503 503 ok"},
        {"slow:10 503:2*2;slow:0 reset", 4, "503 503 reset ok"},
        {"429=\"a;b\";503", 3, "429 503 ok"},
        {"410 after 3", 6, "ok ok ok 410 410 410"},
        {"410 after 0", 2, "410 410"},
        {"503;410 after 2;500", 4, "503 500 410 410"},
        {"reset after 1;hang after 2", 3, "ok reset reset"},
        {"slow:5 after 1", 2, "ok ok"},
        {"100% 503;500", 3, "503 503 503"},
        {"0% 503;500", 3, "500 ok ok"},
        {"bucket:1/s,2", 4, "ok ok 429 429"},
        {"bucket:1/s,2;503", 4, "503 ok 429 429"},
        {"100% 500;bucket:1/s,1", 2, "500 500"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(walk(cases[i].plan, cases[i].pushes), cases[i].story);
    }
}

static void test_what_is_wrong_is_said_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *plan;
        int code;
        size_t offset;
        const char *part;
    } cases[] = {
        {"nope", LULL_ERR_SYNTAX, 0, "expected a status"},
        {"503;", LULL_ERR_SYNTAX, 4, "another item"},
        {";503", LULL_ERR_SYNTAX, 0, "expected a status"},
        {"503;;503", LULL_ERR_SYNTAX, 4, "expected a status"},
        {"503 reset", LULL_ERR_SYNTAX, 4, "expected ;"},
        {"oky", LULL_ERR_SYNTAX, 0, "expected a status"},
        {"199", LULL_ERR_RANGE, 0, "from 200 to 599"},
        {"503;600", LULL_ERR_RANGE, 4, "from 200 to 599"},
        {"99999999999999999999999", LULL_ERR_RANGE, 0, "from 200 to 599"},
        {"-503", LULL_ERR_SYNTAX, 0, "expected a status"},
        {"429:", LULL_ERR_SYNTAX, 4, "a wait is seconds"},
        {"429:soon", LULL_ERR_SYNTAX, 4, "a wait is seconds"},
        {"429:none", LULL_ERR_SYNTAX, 4, "a wait is seconds"},
        {"429:date", LULL_ERR_SYNTAX, 8, "date+2"},
        {"429:date+", LULL_ERR_SYNTAX, 9, "the wait in seconds"},
        {"429:315360001", LULL_ERR_RANGE, 4, "the wait in seconds"},
        {"429:past+2", LULL_ERR_SYNTAX, 8, "expected ;"},
        {"429=soon", LULL_ERR_SYNTAX, 4, "double quotes"},
        {"429=\"soon", LULL_ERR_SYNTAX, 4, "no closing quote"},
        {"429=\"so\non\"", LULL_ERR_SYNTAX, 7, "printable"},
        {"429=\"1234567890123456789012345678901234567890123456789012345678901234\"", LULL_ERR_RANGE,
         4, "63 characters"},
        {"slow", LULL_ERR_SYNTAX, 4, "slow:300"},
        {"slow:120001", LULL_ERR_RANGE, 5, "0 to 120000"},
        {"503*0", LULL_ERR_RANGE, 4, "the number after '*'"},
        {"503 after", LULL_ERR_SYNTAX, 9, "the number after 'after'"},
        {"101% 503", LULL_ERR_RANGE, 0, "the percent"},
        {"10%", LULL_ERR_SYNTAX, 3, "expected a status"},
        {"10% 10% 503", LULL_ERR_RANGE, 4, "a status"},
        {"10% 503*2", LULL_ERR_SYNTAX, 7, "expected ;"},
        {"bucket", LULL_ERR_SYNTAX, 6, "bucket:RATE/s,BURST"},
        {"bucket:5", LULL_ERR_SYNTAX, 8, "bucket:RATE/s,BURST"},
        {"bucket:5/min,1", LULL_ERR_SYNTAX, 9, "bucket:RATE/s,BURST"},
        {"bucket:5/s", LULL_ERR_SYNTAX, 10, "bucket:RATE/s,BURST"},
        {"bucket:0/s,1", LULL_ERR_RANGE, 7, "more than 0"},
        {"bucket:0.0001/s,1", LULL_ERR_SYNTAX, 9, "decimals"},
        {"bucket:1./s,1", LULL_ERR_SYNTAX, 9, "decimals"},
        {"bucket:1/s,0", LULL_ERR_RANGE, 11, "the burst"},
        {"bucket:1/s,1,later", LULL_ERR_SYNTAX, 13, "a bucket answers in"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mock_plan plan = {.step_count = 77};
        struct mock_plan_error error = {0};
        int code = mock_plan_parse(&plan, cases[i].plan, strlen(cases[i].plan), &error);
        if (code != cases[i].code || error.offset != cases[i].offset ||
            !strstr(error.text, cases[i].part)) {
            fail_msg("'%s': %d at %zu: %s", cases[i].plan, code, error.offset, error.text);
        }
        assert_int_equal(plan.step_count, 77);
    }
}

static void test_a_plan_has_an_end(void **state)
{
    (void)state;
    char text[1024] = "503";
    struct mock_plan plan;
    struct mock_plan_error error;
    for (int i = 1; i < MOCK_STEPS_MAX; i++) {
        strcat(text, ";503");
    }
    assert_int_equal(mock_plan_parse(&plan, text, strlen(text), &error), LULL_OK);
    strcat(text, ";503");
    assert_int_equal(mock_plan_parse(&plan, text, strlen(text), &error), LULL_ERR_FULL);
    assert_int_equal(error.offset, 4 * MOCK_STEPS_MAX);
    strcpy(text, "1% 503");
    for (int i = 0; i < MOCK_RULES_MAX; i++) {
        strcat(text, ";1% 503");
    }
    assert_int_equal(mock_plan_parse(&plan, text, strlen(text), &error), LULL_ERR_FULL);
}

static void test_the_details_of_an_answer(void **state)
{
    (void)state;
    struct mock_plan plan = parse("slow:300 429:date+7*2;429=\"so on\";5% slow:20 503:wns+3");
    assert_int_equal(plan.step_count, 2);
    assert_int_equal(plan.rule_count, 1);
    assert_int_equal(plan.steps[0].answer.delay_ms, 300);
    assert_int_equal(plan.steps[0].answer.status, 429);
    assert_int_equal(plan.steps[0].answer.form, MOCK_FORM_DATE);
    assert_int_equal(plan.steps[0].answer.wait_s, 7);
    assert_int_equal(plan.steps[0].times, 2);
    assert_string_equal(plan.steps[1].answer.raw, "so on");
    assert_int_equal(plan.rules[0].number, 5);
    assert_int_equal(plan.rules[0].answer.delay_ms, 20);
    assert_int_equal(plan.rules[0].answer.form, MOCK_FORM_WNS);
}

static void test_A1_every_form_is_read_back_by_the_library(void **state)
{
    (void)state;
    static const struct {
        const char *plan;
        const char *name;
        const char *value;
        int64_t not_before_ms;
        int64_t date_s; /* 0: it is no date */
    } cases[] = {
        {"429", NULL, "", LULL_NEVER, 0},
        {"429:2", "Retry-After", "2", NOW_MS + 2000, 0},
        {"429:0", "Retry-After", "0", NOW_MS, 0},
        {"429:date+2", "Retry-After", "Thu, 01 Jan 2026 00:00:02 GMT", NOW_MS - 500 + 2000,
         1767225602},
        {"429:rfc850+2", "Retry-After", "Thursday, 01-Jan-26 00:00:02 GMT", NOW_MS - 500 + 2000,
         1767225602},
        {"429:asctime+86400", "Retry-After", "Fri Jan  2 00:00:00 2026", NOW_MS - 500 + 86400000,
         1767312000},
        {"429:past", "Retry-After", "Wed, 31 Dec 2025 23:00:00 GMT", LULL_NEVER, 1767222000},
        {"429:epoch+60", "Retry-After", "1767225660", NOW_MS - 500 + 60000, 0},
        {"406:wns+9", "X-WNS-CONTINUE-AFTER", "9", NOW_MS + 9000, 0},
        {"503=\"soon\"", "Retry-After", "soon", LULL_NEVER, 0},
        {"503=\"\"", "Retry-After", "", LULL_NEVER, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mock_plan plan = parse(cases[i].plan);
        struct mock_header header;
        mock_wait_write(&plan.steps[0].answer, NOW_MS, &header);
        assert_string_equal(header.value, cases[i].value);
        assert_int_equal(header.name == NULL, cases[i].name == NULL);
        if (cases[i].name) {
            assert_string_equal(header.name, cases[i].name);
        }
        assert_int_equal(header.not_before_ms, cases[i].not_before_ms);
        int64_t date_s = 0;
        (void)lull_http_date_parse(header.value, strlen(header.value), NOW_MS / 1000, &date_s);
        assert_int_equal(date_s, cases[i].date_s);
    }
}

static void test_every_day_of_four_years_is_a_date_that_reads_back(void **state)
{
    (void)state;
    static const char *const plans[] = {"429:date+1", "429:rfc850+1", "429:asctime+1"};
    for (size_t form = 0; form < 3; form++) {
        struct mock_plan plan = parse(plans[form]);
        for (int64_t day = 0; day < 4 * 366; day++) {
            int64_t now_ms = NOW_MS + day * 86400000 + day * 3601000;
            int64_t date_s = 0;
            struct mock_header header;
            mock_wait_write(&plan.steps[0].answer, now_ms, &header);
            assert_int_equal(
                lull_http_date_parse(header.value, strlen(header.value), now_ms / 1000, &date_s),
                LULL_OK);
            assert_int_equal(date_s, now_ms / 1000 + 1);
        }
    }
}

static void test_a_bucket_names_a_wait_that_is_enough(void **state)
{
    (void)state;
    static const char *const forms[] = {"seconds", "date", "rfc850", "asctime", "epoch", "wns"};
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        char text[64];
        struct mock_walk walked;
        struct mock_header header;
        (void)snprintf(text, sizeof text, "bucket:0.4/s,1,%s", forms[i]);
        struct mock_plan plan = parse(text);
        mock_walk_init(&walked, 1);
        assert_int_equal(mock_walk_next(&walked, &plan, 0).action, MOCK_HONEST);
        struct mock_answer answer = mock_walk_next(&walked, &plan, 100);
        assert_int_equal(answer.status, 429);
        mock_wait_write(&answer, NOW_MS + 100, &header);
        assert_true(header.not_before_ms >= NOW_MS + 2500);
        assert_true(header.not_before_ms <= NOW_MS + 4100);
        /* Whoever waits that long is let in. */
        int64_t again_ms = header.not_before_ms - NOW_MS;
        assert_int_equal(mock_walk_next(&walked, &plan, again_ms).action, MOCK_HONEST);
    }
}

static void test_a_bucket_may_say_nothing_or_nonsense(void **state)
{
    (void)state;
    static const struct {
        const char *plan;
        enum mock_form form;
    } cases[] = {{"bucket:1/s,1,none", MOCK_FORM_NONE},
                 {"bucket:1/s,1,past", MOCK_FORM_PAST},
                 {"bucket:1.25/s,1=\"soon\"", MOCK_FORM_RAW}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct mock_plan plan = parse(cases[i].plan);
        struct mock_walk walked;
        mock_walk_init(&walked, 1);
        (void)mock_walk_next(&walked, &plan, 0);
        assert_int_equal(mock_walk_next(&walked, &plan, 0).form, cases[i].form);
    }
}

static void test_subscriptions_share_a_bucket_and_not_the_steps(void **state)
{
    (void)state;
    struct mock_plan plan = parse("503;bucket:1/s,3");
    struct mock_walk one;
    struct mock_walk two;
    mock_walk_init(&one, 1);
    mock_walk_init(&two, 2);
    assert_int_equal(mock_walk_next(&one, &plan, 0).status, 503);
    assert_int_equal(mock_walk_next(&two, &plan, 0).status, 503);
    assert_int_equal(mock_walk_next(&one, &plan, 0).action, MOCK_HONEST);
    assert_int_equal(mock_walk_next(&two, &plan, 0).status, 429);
    assert_int_equal(mock_walk_next(&two, &plan, 1000).action, MOCK_HONEST);
}

static void test_a_share_is_about_that_share_and_repeats_with_its_seed(void **state)
{
    (void)state;
    uint64_t seed = test_seed("share");
    struct mock_plan plan = parse("10% 503");
    struct mock_walk one;
    struct mock_walk two;
    int hits = 0;
    mock_walk_init(&one, seed);
    mock_walk_init(&two, seed);
    for (int i = 0; i < 10000; i++) {
        enum mock_action action = mock_walk_next(&one, &plan, 0).action;
        hits += action == MOCK_STATUS;
        assert_int_equal(action, mock_walk_next(&two, &plan, 0).action);
    }
    assert_in_range(hits, 820, 1180); /* six standard deviations */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_steps_are_walked_in_order),
        cmocka_unit_test(test_what_is_wrong_is_said_with_its_place),
        cmocka_unit_test(test_a_plan_has_an_end),
        cmocka_unit_test(test_the_details_of_an_answer),
        cmocka_unit_test(test_A1_every_form_is_read_back_by_the_library),
        cmocka_unit_test(test_every_day_of_four_years_is_a_date_that_reads_back),
        cmocka_unit_test(test_a_bucket_names_a_wait_that_is_enough),
        cmocka_unit_test(test_a_bucket_may_say_nothing_or_nonsense),
        cmocka_unit_test(test_subscriptions_share_a_bucket_and_not_the_steps),
        cmocka_unit_test(test_a_share_is_about_that_share_and_repeats_with_its_seed),
    };
    return cmocka_run_group_tests_name("mock_plan", tests, NULL, NULL);
}
