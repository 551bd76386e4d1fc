/* A3, A8, T2, B4: what lull_decide may answer. */
#include "property.h"

/* What a server says about when to come back, and how A1, A2, A6 and A7 read it. */
struct answer {
    struct lull_header headers[2];
    size_t header_count;
    char texts[2][64];
    int64_t wait_ms; /* -1: it says nothing that can be read */
};

enum saying { NOTHING, DELTA, IMF_FIXDATE, RFC_850, ASCTIME, EPOCH, MILLISECONDS, RESET, NONSENSE };

static void add_header(struct answer *answer, const char *name)
{
    const char *text = answer->texts[answer->header_count];
    answer->headers[answer->header_count++] =
        (struct lull_header){name, strlen(name), text, strlen(text)};
}

static void write_date(char *text, size_t size, enum saying form, int64_t epoch_s)
{
    time_t seconds = (time_t)epoch_s;
    struct tm tm;
    assert_non_null(gmtime_r(&seconds, &tm));
    size_t length = form == RFC_850   ? strftime(text, size, "%A, %d-%b-%y %H:%M:%S GMT", &tm)
                    : form == ASCTIME ? strftime(text, size, "%a %b %e %H:%M:%S %Y", &tm)
                                      : strftime(text, size, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    assert_true(length > 0);
}

/* A date, at times with the server's own clock beside it, right, skewed or absurd (A2). */
static void say_date(struct answer *answer, enum saying form, int64_t now_ms,
                     struct lull_random *random)
{
    int64_t now_s = now_ms / 1000;
    int64_t target_s = now_s + any_up_to(random, YEAR_MS / 100) - 10;
    char *text = answer->texts[0];
    if (form == EPOCH) {
        snprintf(text, sizeof answer->texts[0], "%" PRId64, target_s);
    } else {
        write_date(text, sizeof answer->texts[0], form, target_s);
    }
    add_header(answer, "Retry-After");
    answer->wait_ms = max_of(0, target_s * 1000 - now_ms);
    if (one_in(random, 2)) {
        return;
    }
    int64_t skew_s = any_up_to(random, 400000);
    int64_t date_s = one_in(random, 2) ? now_s + skew_s : now_s - skew_s;
    write_date(answer->texts[1], sizeof answer->texts[1], IMF_FIXDATE, date_s);
    add_header(answer, "Date");
    int64_t gap_s = max_of(date_s - target_s, target_s - date_s);
    if (skew_s <= 86400 || gap_s <= 86400) {
        answer->wait_ms = max_of(0, (target_s - date_s) * 1000);
    }
}

static void say_number(struct answer *answer, const char *name, int64_t number, int64_t unit_ms)
{
    snprintf(answer->texts[0], sizeof answer->texts[0], " %" PRId64 "\t", number);
    add_header(answer, name);
    answer->wait_ms = number * unit_ms;
}

static void say_anything(struct answer *answer, int64_t now_ms, struct lull_random *random)
{
    static const char *const nonsense[] = {"-1", "1.5", "60s", "1, 2", "soon", "", "0x10"};
    enum saying saying = (enum saying)lull_random_between(random, NOTHING, NONSENSE);
    answer->header_count = 0;
    answer->wait_ms = -1;
    switch (saying) {
    case NOTHING:
        break;
    case DELTA:
        say_number(answer, "Retry-After", any_up_to(random, 999999999), 1000);
        break;
    case MILLISECONDS:
        say_number(answer, "retry-after-ms", any_up_to(random, YEAR_MS), 1);
        break;
    case RESET:
        say_number(answer, "RateLimit-Reset", any_up_to(random, 100000), 1000);
        break;
    case NONSENSE:
        snprintf(answer->texts[0], sizeof answer->texts[0], "%s",
                 nonsense[lull_random_between(random, 0, COUNT_OF(nonsense) - 1)]);
        add_header(answer, "Retry-After");
        break;
    default:
        say_date(answer, saying, now_ms, random);
        break;
    }
}

static int64_t any_limit(struct lull_random *random, int64_t min_ms)
{
    return one_in(random, 2) ? LULL_NEVER : min_ms + any_up_to(random, YEAR_MS - min_ms);
}

static void change_knobs(struct lull_policy *policy, struct lull_random *random)
{
    struct lull_backoff *backoff = &policy->backoff;
    *backoff = any_backoff(random);
    backoff->base_ms = 1 + any_up_to(random, LULL_HOURS(1));
    backoff->cap_ms = backoff->base_ms + any_up_to(random, LULL_DAYS(1));
    backoff->floor_ms = any_up_to(random, backoff->base_ms);
    policy->retries = (uint32_t)any_up_to(random, LULL_POLICY_RETRIES_MAX);
    policy->deadline_ms = any_limit(random, 1);
    policy->ttl_ms = any_limit(random, 0);
    policy->wait_ttl_permille = one_in(random, 2) ? 0 : (uint32_t)any_up_to(random, 1000);
    policy->retry_after_mode = one_in(random, 2) ? LULL_RETRY_AFTER_FLOOR : LULL_RETRY_AFTER_EXACT;
    policy->spread_permille = (uint32_t)any_up_to(random, 1000);
    policy->spread_max_ms = any_up_to(random, YEAR_MS);
    policy->retry_after_max_ms = any_limit(random, 0);
    policy->throttle_min_ms = any_up_to(random, YEAR_MS);
    policy->throttle_sender_min_ms = any_up_to(random, YEAR_MS);
    policy->inner_retries = (uint32_t)any_up_to(random, LULL_POLICY_RETRIES_MAX);
}

static struct lull_policy any_policy(struct lull_random *random)
{
    struct lull_policy policy;
    const char *name = lull_policy_names()[lull_random_between(random, 0, 4)];
    assert_int_equal(lull_policy_named(&policy, name), LULL_OK);
    if (one_in(random, 2)) {
        change_knobs(&policy, random);
    }
    struct lull_policy_error error = {.text = ""};
    int result = lull_policy_validate(&policy, &error);
    assert_that(result == LULL_OK, "%s %s\n", error.field, error.text);
    return policy;
}

static struct lull_facts any_facts(const struct lull_policy *policy, int64_t now_ms,
                                   struct lull_random *random)
{
    struct lull_facts facts;
    lull_facts_init(&facts, policy, now_ms);
    if (one_in(random, 4)) {
        facts.kind = (enum lull_kind)lull_random_between(random, 0, LULL_KIND_REQUEST);
    }
    facts.vendor = (enum lull_vendor)lull_random_between(random, 0, LULL_VENDOR_WNS);
    facts.method = (enum lull_method)lull_random_between(random, 0, LULL_METHODS - 1);
    facts.has_idempotency_key = one_in(random, 2);
    facts.attempt = one_in(random, 20)
                        ? 1 + (uint32_t)any_up_to(random, UINT32_MAX - 1)
                        : (uint32_t)lull_random_between(random, 1, (int64_t)policy->retries + 1);
    /* A clock that was set back makes the acceptance lie in the future (T4). */
    facts.first_accepted_ms = now_ms - any_up_to(random, LULL_DAYS(40));
    if (one_in(random, 10)) {
        facts.first_accepted_ms = now_ms + any_up_to(random, LULL_DAYS(40));
    }
    facts.ttl_ms = one_in(random, 3) ? LULL_TTL_DEFAULT : any_limit(random, 0);
    facts.previous_delay_ms = any_previous(random);
    facts.auth_retries = one_in(random, 4);
    facts.incoming_attempt = one_in(random, 10) ? (uint32_t)any_up_to(random, 9) : 0;
    facts.is_sender_throttled = one_in(random, 3);
    facts.is_circuit_open = one_in(random, 10);
    facts.is_budget_exhausted = one_in(random, 10);
    return facts;
}

struct trial {
    struct lull_policy policy;
    struct lull_facts facts;
    struct answer answer;
    unsigned status;
    int64_t now_ms;
    struct lull_verdict verdict;
};

static int64_t trial_ttl(const struct trial *trial)
{
    return trial->facts.ttl_ms == LULL_TTL_DEFAULT ? trial->policy.ttl_ms : trial->facts.ttl_ms;
}

/* What is left of TTL and deadline, by the wall clock (T1, B5). */
static int64_t trial_remaining(const struct trial *trial)
{
    int64_t limit_ms = min_of(trial_ttl(trial), trial->policy.deadline_ms);
    int64_t age_ms = max_of(0, trial->now_ms - trial->facts.first_accepted_ms);
    return limit_ms == LULL_NEVER ? LULL_NEVER : max_of(0, limit_ms - age_ms);
}

static void print_trial(const struct trial *trial)
{
    const struct lull_verdict *verdict = &trial->verdict;
    print_error("policy %s (%s), vendor %d, kind %d, status %u, attempt %" PRIu32 ", now %" PRId64
                ", accepted %" PRId64 ", ttl %" PRId64 "\n",
                trial->policy.name, lull_retry_after_mode_to_string(trial->policy.retry_after_mode),
                (int)trial->facts.vendor, (int)trial->facts.kind, trial->status,
                trial->facts.attempt, trial->now_ms, trial->facts.first_accepted_ms,
                trial_ttl(trial));
    print_backoff(&trial->policy.backoff, trial->facts.attempt, trial->facts.previous_delay_ms);
    for (size_t i = 0; i < trial->answer.header_count; i++) {
        print_error("%s:%s\n", trial->answer.headers[i].name, trial->answer.texts[i]);
    }
    print_error("%s %s: delay %" PRId64 " of [%" PRId64 ", %" PRId64 "], remaining %" PRId64
                ", Retry-After %s %" PRId64 ", model %" PRId64 "\n",
                lull_verdict_kind_to_string(verdict->kind), lull_reason_to_string(verdict->reason),
                verdict->delay_ms, verdict->delay_min_ms, verdict->delay_max_ms,
                verdict->remaining_ms, lull_retry_after_state_to_string(verdict->retry_after.state),
                verdict->retry_after.wait_ms, trial->answer.wait_ms);
}

#define assert_trial(trial, condition) assert_that(condition, "%s", (print_trial(trial), ""))

/* A3, A8: never under what the server asked for; T2: never as long as the message lives. */
static void check_delay(const struct trial *trial)
{
    const struct lull_verdict *verdict = &trial->verdict;
    const struct lull_policy *policy = &trial->policy;
    bool is_asked = trial->answer.wait_ms >= 0;
    assert_trial(trial, (verdict->retry_after.state == LULL_RETRY_AFTER_OK) == is_asked);
    assert_trial(trial, !is_asked || verdict->retry_after.wait_ms == trial->answer.wait_ms);
    assert_trial(trial, verdict->delay_ms >= trial->answer.wait_ms);
    assert_trial(trial, trial->answer.wait_ms <= policy->retry_after_max_ms); /* A4 */
    assert_trial(trial, 0 <= verdict->delay_min_ms && verdict->delay_min_ms <= verdict->delay_ms &&
                            verdict->delay_ms <= verdict->delay_max_ms);
    assert_trial(trial, verdict->remaining_ms == trial_remaining(trial));
    assert_trial(trial, verdict->delay_ms < trial_remaining(trial));
    if (policy->wait_ttl_permille > 0 && trial_ttl(trial) != LULL_NEVER) { /* B4: urgent */
        assert_trial(trial, verdict->delay_ms <=
                                (wide)trial_ttl(trial) * policy->wait_ttl_permille / 1000);
    }
    if (!is_asked && trial->status == 429) { /* A5 */
        const struct lull_facts *facts = &trial->facts;
        bool is_push = facts->kind == LULL_KIND_PUSH;
        bool is_sender =
            facts->is_sender_throttled || (is_push && facts->vendor == LULL_VENDOR_FCM);
        int64_t least_ms = is_sender ? policy->throttle_sender_min_ms : policy->throttle_min_ms;
        assert_trial(trial, verdict->delay_ms >= least_ms);
        assert_trial(trial, !is_push || facts->vendor != LULL_VENDOR_MOZILLA ||
                                verdict->delay_ms >= 60000);
    }
}

/* A3 in full, where no share of the TTL narrows the range: exact is exact; the floor mode has its
 * spread on top of the longer of the two, so that a crowd does not come back in one instant; and
 * where the server named no time, the jitter is all of the strategy's (A8). A vendor's minimum for
 * pushes (V2) lifts what the server named. */
static void check_jitter(const struct trial *trial)
{
    const struct lull_verdict *verdict = &trial->verdict;
    const struct lull_policy *policy = &trial->policy;
    int64_t asked_ms = trial->answer.wait_ms;
    bool is_fcm = trial->facts.kind == LULL_KIND_PUSH && trial->facts.vendor == LULL_VENDOR_FCM;
    int64_t vendor_ms = is_fcm ? 10000 : 0;
    int64_t least_ms = max_of(asked_ms, vendor_ms);
    int64_t width_ms = verdict->delay_max_ms - verdict->delay_min_ms;
    struct lull_backoff_range range =
        lull_backoff_bounds(&policy->backoff, trial->facts.attempt, trial->facts.previous_delay_ms);
    assert_trial(trial, verdict->delay_ms >= vendor_ms);
    if (asked_ms < 0) {
        assert_trial(trial, width_ms == range.max_ms - range.min_ms);
    } else if (asked_ms > 0 && policy->retry_after_mode == LULL_RETRY_AFTER_EXACT) {
        assert_trial(trial, verdict->delay_ms == least_ms && width_ms == 0);
    } else {
        wide spread_ms = (wide)least_ms * policy->spread_permille / 1000;
        assert_trial(trial, width_ms >= min_of((int64_t)spread_ms, policy->spread_max_ms));
        assert_trial(trial, verdict->delay_min_ms >= range.min_ms);
    }
}

static bool run_trial(struct trial *trial, struct lull_random *random)
{
    trial->now_ms = lull_random_between(random, INT64_C(1100000000000), INT64_C(3800000000000));
    trial->facts = any_facts(&trial->policy, trial->now_ms, random);
    trial->status = one_in(random, 2) ? 429 : 503;
    say_anything(&trial->answer, trial->now_ms, random);
    struct lull_outcome outcome = {
        .kind = LULL_OUTCOME_STATUS,
        .status = trial->status,
        .headers = trial->answer.headers,
        .header_count = trial->answer.header_count,
    };
    int result = lull_decide(&trial->policy, &trial->facts, &outcome, trial->now_ms, random,
                             &trial->verdict, NULL);
    assert_int_equal(result, LULL_OK);
    if (trial->verdict.kind != LULL_VERDICT_RETRY) {
        return false;
    }
    check_delay(trial);
    if (trial->policy.wait_ttl_permille == 0 || trial_ttl(trial) == LULL_NEVER) {
        check_jitter(trial);
    }
    return true;
}

static void test_a3_a8_t2_a_retry_waits_long_enough_and_not_too_long(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("a3_a8_t2_a_retry_waits_long_enough_and_not_too_long"));
    static struct trial trial;
    int retries = 0;
    for (int i = 0; i < 1000000; i++) {
        if (i % 20 == 0) {
            trial.policy = any_policy(&random);
        }
        retries += run_trial(&trial, &random);
    }
    assert_in_range(retries, 200000, 1000000); /* else it would show little */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a3_a8_t2_a_retry_waits_long_enough_and_not_too_long),
    };
    return cmocka_run_group_tests_name("property_decide", tests, NULL, NULL);
}
