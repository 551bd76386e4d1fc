/*
 * test_properties - what must hold whatever happens, tried on about a million random steps each.
 *
 * Every property is checked against a model that is simpler and slower than the code under test:
 * a log of all events, exact integers of 128 bits, a count of real time. A model never asks the
 * code under test what the answer should be.
 *
 * Real time, where a clock may step back, is the sum of all its steps forward: stepping back takes
 * no time, and no limit may be passed by it.
 */
#include "suite.h"

#include <inttypes.h>
#include <time.h>

__extension__ typedef __int128 wide;

/* Says what was going on before it fails. The condition is looked at twice: no side effects. */
#define assert_that(condition, ...)                                                                \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            print_error(__VA_ARGS__);                                                              \
        }                                                                                          \
        assert_true(condition);                                                                    \
    } while (0)

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define YEAR_MS LULL_DAYS(366)

static int64_t min_of(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t max_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static bool one_in(struct lull_random *random, int64_t n)
{
    return lull_random_between(random, 1, n) == 1;
}

/* 0 to max (under 2^62), every order of magnitude as likely as the next. */
static int64_t any_up_to(struct lull_random *random, int64_t max)
{
    int width = max > 0 ? 64 - __builtin_clzll((unsigned long long)max) : 0;
    int64_t bits = lull_random_between(random, 0, width);
    return min_of(max, lull_random_between(random, 0, (INT64_C(1) << bits) - 1));
}

/* ---- a log of events: what really happened, and when ---- */

#define LOG_MAX 4096

struct log {
    size_t count;
    int64_t times_ms[LOG_MAX]; /* never falling */
    uint64_t sums[LOG_MAX];    /* of this event and all before it */
};

static uint64_t log_total(const struct log *log)
{
    return log->count > 0 ? log->sums[log->count - 1] : 0;
}

static void log_add(struct log *log, int64_t time_ms, uint32_t amount)
{
    assert_true(log->count < LOG_MAX);
    uint64_t total = log_total(log);
    log->times_ms[log->count] = time_ms;
    log->sums[log->count] = total + amount;
    log->count++;
}

/* How much was logged at from_ms or later. */
static uint64_t log_since(const struct log *log, int64_t from_ms)
{
    size_t low = 0;
    size_t high = log->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (log->times_ms[middle] < from_ms) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return log_total(log) - (low > 0 ? log->sums[low - 1] : 0);
}

/* ---- B2, B3: the jitters are uniform ---- */

/*
 * Pearson's chi-squared, held against the Wilson-Hilferty approximation: (X / df)^(1/3) is nearly
 * normal, with mean 1 - 2/(9 df) and variance 2/(9 df). Some 1,010 comparisons are made in a run.
 * At z = 6.5 each is a false alarm with a chance of 4e-11. That sums to 4e-8; bins that expect
 * 50 draws have a somewhat heavier tail than the approximation, for which 1e-6 leaves room.
 */
#define Z_LIMIT 6.5
#define BINS_MAX 2048

/* Newton's method: the tests are not linked with libm. For 0 < x < 10,000. */
static double square_root(double x)
{
    double root = x < 1 ? 1 : x;
    for (int i = 0; i < 60; i++) {
        root = (root + x / root) / 2;
    }
    return root;
}

static double chi_squared_limit(double df, double z)
{
    double variance = 2 / (9 * df);
    double edge = 1 - variance + z * square_root(variance);
    return df * edge * edge * edge;
}

/* The first of span values that falls into that bin, when bins are as even as whole numbers
 * allow. */
static int64_t bin_start(int64_t bin, int64_t bins, int64_t span)
{
    return (bin * span + bins - 1) / bins;
}

/* Draws waits before retry n that must be uniform on [min, max]; their chi-squared. */
static double draw_chi_squared(const struct lull_backoff *backoff, uint32_t n, int64_t previous_ms,
                               struct lull_backoff_range range, int64_t bins, int64_t draws,
                               struct lull_random *random)
{
    static uint32_t counts[BINS_MAX];
    memset(counts, 0, sizeof counts);
    int64_t span = range.max_ms - range.min_ms + 1;
    assert_true(bins <= BINS_MAX && bins <= span);
    for (int64_t i = 0; i < draws; i++) {
        int64_t wait_ms = lull_backoff_draw(backoff, n, previous_ms, random);
        assert_that(wait_ms >= range.min_ms && wait_ms <= range.max_ms,
                    "n = %" PRIu32 ": %" PRId64 " ms is not in [%" PRId64 ", %" PRId64 "]\n", n,
                    wait_ms, range.min_ms, range.max_ms);
        counts[(wait_ms - range.min_ms) * bins / span]++;
    }
    double sum = 0;
    for (int64_t i = 0; i < bins; i++) {
        int64_t width = bin_start(i + 1, bins, span) - bin_start(i, bins, span);
        double expected = (double)draws * (double)width / (double)span;
        double off = counts[i] - expected;
        sum += off * off / expected;
    }
    return sum;
}

/* min(cap, base x 2^(n-1)) in whole numbers. */
static int64_t doubled_ceiling(const struct lull_backoff *backoff, uint32_t n)
{
    int64_t ceiling = backoff->base_ms;
    for (uint32_t i = 1; i < n && ceiling < backoff->cap_ms; i++) {
        ceiling *= 2;
    }
    return min_of(ceiling, backoff->cap_ms);
}

static void test_b2_full_jitter_is_uniform_for_every_n(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("b2_full_jitter_is_uniform_for_every_n"));
    struct lull_backoff backoff = {LULL_BACKOFF_FULL_JITTER, 2000, 120000, 0, 2.0};
    const int64_t bins = 20;
    double limit = chi_squared_limit((double)(bins - 1), Z_LIMIT);
    double pooled = 0;
    for (uint32_t n = 1; n <= 1000; n++) {
        struct lull_backoff_range range = {0, doubled_ceiling(&backoff, n)};
        double found = draw_chi_squared(&backoff, n, 0, range, bins, 1000, &random);
        assert_that(found <= limit, "n = %" PRIu32 ": chi-squared %f over %f\n", n, found, limit);
        pooled += found;
    }
    /* A lean too slight to show at one n adds up over all of them; a sum too small means that the
     * draws are spread by rule rather than by chance. */
    double df = 1000.0 * (double)(bins - 1);
    double least = chi_squared_limit(df, -Z_LIMIT);
    double most = chi_squared_limit(df, Z_LIMIT);
    assert_that(pooled >= least && pooled <= most, "over all n: chi-squared %f, not %f to %f\n",
                pooled, least, most);
}

static void test_b2_b3_a8_jitters_are_uniform_in_a_million_draws(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        struct lull_backoff backoff;
        uint32_t n;
        int64_t previous_ms;
        struct lull_backoff_range range;
        int64_t bins; /* as many as values where that fits: so both ends are looked at */
    } rows[] = {
        {"first", {LULL_BACKOFF_FULL_JITTER, 2000, 120000, 0, 2.0}, 1, 0, {0, 2000}, 2001},
        {"at the cap", {LULL_BACKOFF_FULL_JITTER, 2000, 120000, 0, 2.0}, 7, 0, {0, 120000}, 1000},
        {"n = 1000", {LULL_BACKOFF_FULL_JITTER, 2000, 120000, 0, 2.0}, 1000, 0, {0, 120000}, 1000},
        {"1 ms", {LULL_BACKOFF_FULL_JITTER, 1, 30, 0, 2.0}, 1, 0, {0, 1}, 2},
        {"small cap", {LULL_BACKOFF_FULL_JITTER, 1, 30, 0, 2.0}, 1000, 0, {0, 30}, 31},
        {"floor", {LULL_BACKOFF_FULL_JITTER, 200, 30000, 50, 2.0}, 1, 0, {50, 200}, 151},
        {"equal", {LULL_BACKOFF_EQUAL_JITTER, 2000, 120000, 0, 2.0}, 2, 0, {2000, 4000}, 2001},
        {"equal, cap", {LULL_BACKOFF_EQUAL_JITTER, 100, 901, 0, 2.0}, 9, 0, {450, 901}, 452},
        {"own past", {LULL_BACKOFF_DECORRELATED, 20, 9000, 0, 2.0}, 3, 500, {20, 1500}, 1481},
    };
    struct lull_random random;
    lull_random_init(&random, test_seed("b2_b3_a8_jitters_are_uniform_in_a_million_draws"));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        double found = draw_chi_squared(&rows[i].backoff, rows[i].n, rows[i].previous_ms,
                                        rows[i].range, rows[i].bins, 1000000, &random);
        double limit = chi_squared_limit((double)(rows[i].bins - 1), Z_LIMIT);
        assert_that(found <= limit, "%s: chi-squared %f over %f\n", rows[i].name, found, limit);
    }
}

/* ---- B1, B2, B3, A8: no strategy leaves its bounds ---- */

/* Whole numbers, for which the model is exact; thousandths; and those next to 1. */
static double any_multiplier(struct lull_random *random)
{
    switch (lull_random_between(random, 0, 2)) {
    case 0:
        return (double)lull_random_between(random, 1, 100);
    case 1:
        return 1 + (double)lull_random_between(random, 0, 99000) / 1000;
    default:
        return 1 + 1 / (double)(INT64_C(1) << lull_random_between(random, 1, 52));
    }
}

static struct lull_backoff any_backoff(struct lull_random *random)
{
    struct lull_backoff backoff = {
        .strategy = (enum lull_backoff_strategy)lull_random_between(random, 0,
                                                                    LULL_BACKOFF_STRATEGIES - 1),
        .base_ms = 1 + any_up_to(random, LULL_WAIT_MAX_MS - 1),
        .multiplier = any_multiplier(random),
    };
    backoff.cap_ms = backoff.base_ms + any_up_to(random, LULL_WAIT_MAX_MS - backoff.base_ms);
    backoff.floor_ms = one_in(random, 2) ? 0 : lull_random_between(random, 0, backoff.base_ms);
    return backoff;
}

static uint32_t any_n(struct lull_random *random)
{
    return one_in(random, 20) ? UINT32_MAX : (uint32_t)any_up_to(random, UINT32_MAX);
}

static int64_t any_previous(struct lull_random *random)
{
    return one_in(random, 20) ? LULL_NEVER - 1 : any_up_to(random, LULL_WAIT_MAX_MS) - 1;
}

/* ceiling(n) by the formula of B2, multiplied out; false where that would take too long or is not
 * exact. No wait is over LULL_WAIT_MAX_MS, so 128 bits are plenty. */
static bool model_ceiling(const struct lull_backoff *backoff, uint32_t n, int64_t *ret_ceiling_ms)
{
    wide multiplier = (wide)backoff->multiplier;
    wide ceiling = backoff->base_ms;
    if ((double)multiplier != backoff->multiplier) {
        return false;
    }
    for (uint32_t i = 1; i < n && multiplier > 1 && ceiling < backoff->cap_ms; i++) {
        ceiling *= multiplier;
    }
    *ret_ceiling_ms = ceiling < backoff->cap_ms ? (int64_t)ceiling : backoff->cap_ms;
    return true;
}

/* The range of B1, floor included; where the ceiling is not known exactly, it is the one given. */
static struct lull_backoff_range model_range(const struct lull_backoff *backoff, uint32_t n,
                                             int64_t previous_ms, int64_t ceiling_ms)
{
    wide product = 0;
    struct lull_backoff_range range = {ceiling_ms, ceiling_ms};
    switch (backoff->strategy) {
    case LULL_BACKOFF_IMMEDIATE:
        range.min_ms = range.max_ms = n > 1 ? LULL_NEVER : 0;
        break;
    case LULL_BACKOFF_FIXED:
        range.min_ms = range.max_ms = backoff->base_ms;
        break;
    case LULL_BACKOFF_LINEAR:
        product = (wide)backoff->base_ms * (n > 0 ? n : 1);
        range.max_ms = product < backoff->cap_ms ? (int64_t)product : backoff->cap_ms;
        range.min_ms = range.max_ms;
        break;
    case LULL_BACKOFF_FULL_JITTER:
        range.min_ms = 0;
        break;
    case LULL_BACKOFF_EQUAL_JITTER:
        range.min_ms = ceiling_ms / 2;
        break;
    case LULL_BACKOFF_DECORRELATED:
        product = (wide)max_of(previous_ms, backoff->base_ms) * 3;
        range.min_ms = backoff->base_ms;
        range.max_ms = product < backoff->cap_ms ? (int64_t)product : backoff->cap_ms;
        break;
    default:
        break;
    }
    range.min_ms = max_of(range.min_ms, backoff->floor_ms);
    range.max_ms = max_of(range.max_ms, range.min_ms);
    return range;
}

static void print_backoff(const struct lull_backoff *backoff, uint32_t n, int64_t previous_ms)
{
    print_error("%s base %" PRId64 " cap %" PRId64 " floor %" PRId64 " multiplier %.17g, n %" PRIu32
                ", previous %" PRId64 "\n",
                lull_backoff_strategy_to_string(backoff->strategy), backoff->base_ms,
                backoff->cap_ms, backoff->floor_ms, backoff->multiplier, n, previous_ms);
}

static void check_draw(const struct lull_backoff *backoff, uint32_t n, int64_t previous_ms,
                       struct lull_random *random)
{
    struct lull_backoff_range range = lull_backoff_bounds(backoff, n, previous_ms);
    int64_t ceiling_ms = range.max_ms;
    bool is_exact = model_ceiling(backoff, n, &ceiling_ms);
    struct lull_backoff_range model = model_range(backoff, n, previous_ms, ceiling_ms);
    int64_t wait_ms = lull_backoff_draw(backoff, n, previous_ms, random);
    bool is_never = backoff->strategy == LULL_BACKOFF_IMMEDIATE && n > 1;
    bool is_bounded = is_never || (range.min_ms >= backoff->floor_ms &&
                                   range.max_ms <= backoff->cap_ms);
    bool is_model = range.min_ms == model.min_ms && range.max_ms == model.max_ms;
    bool is_inside = wait_ms >= model.min_ms && wait_ms <= model.max_ms;
    if (!is_bounded || !is_model || !is_inside) {
        print_backoff(backoff, n, previous_ms);
        print_error("%" PRId64 " ms drawn from [%" PRId64 ", %" PRId64 "], %s model [%" PRId64
                    ", %" PRId64 "]\n",
                    wait_ms, range.min_ms, range.max_ms, is_exact ? "exact" : "near",
                    model.min_ms, model.max_ms);
    }
    assert_true(is_bounded);
    assert_true(is_model);
    assert_true(is_inside);
}

static void test_b1_b2_b3_a8_no_strategy_leaves_its_bounds(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("b1_b2_b3_a8_no_strategy_leaves_its_bounds"));
    struct lull_backoff backoff = any_backoff(&random);
    for (int i = 0; i < 1000000; i++) {
        if (i % 4 == 0) {
            backoff = any_backoff(&random);
        }
        check_draw(&backoff, any_n(&random), any_previous(&random), &random);
    }
}

/* The exponential ceiling of retry n, which has no jitter in it. */
static int64_t ceiling_of(struct lull_backoff backoff, uint32_t n)
{
    backoff.strategy = LULL_BACKOFF_EXPONENTIAL;
    backoff.floor_ms = 0;
    return lull_backoff_bounds(&backoff, n, 0).max_ms;
}

/* Multiplied one by one, in more digits than a double has; for few n. */
static int64_t slow_ceiling(const struct lull_backoff *backoff, uint32_t n)
{
    long double ceiling = (long double)backoff->base_ms;
    for (uint32_t i = 1; i < n && ceiling < (long double)backoff->cap_ms; i++) {
        ceiling *= (long double)backoff->multiplier;
    }
    return ceiling < (long double)backoff->cap_ms ? (int64_t)ceiling : backoff->cap_ms;
}

static void test_b2_the_ceiling_follows_its_formula(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("b2_the_ceiling_follows_its_formula"));
    for (int i = 0; i < 100000; i++) {
        struct lull_backoff backoff = any_backoff(&random);
        uint32_t n = (uint32_t)lull_random_between(&random, 1, 64);
        int64_t found = ceiling_of(backoff, n);
        int64_t model = slow_ceiling(&backoff, n);
        /* 64 roundings of a double, and one to whole milliseconds. */
        int64_t slack = 1 + model / 10000000000000;
        if (found < model - slack || found > model + slack) {
            print_backoff(&backoff, n, 0);
        }
        assert_in_range(found, max_of(0, model - slack), model + slack);
    }
}

/* A later retry never has the shorter ceiling, up to the last n there is. */
static void test_b2_the_ceiling_never_falls(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("b2_the_ceiling_never_falls"));
    for (int i = 0; i < 300000; i++) {
        struct lull_backoff backoff = any_backoff(&random);
        uint32_t n = any_n(&random);
        uint32_t next = n < UINT32_MAX ? n + 1 : n;
        uint32_t later = (uint32_t)lull_random_between(&random, next, UINT32_MAX);
        int64_t here_ms = ceiling_of(backoff, n);
        int64_t next_ms = ceiling_of(backoff, next);
        int64_t later_ms = ceiling_of(backoff, later);
        if (here_ms > next_ms || next_ms > later_ms) {
            print_backoff(&backoff, n, 0);
        }
        assert_that(backoff.base_ms <= here_ms && here_ms <= next_ms && next_ms <= later_ms &&
                        later_ms <= backoff.cap_ms,
                    "ceilings %" PRId64 " at n, %" PRId64 " at n + 1, %" PRId64 " at %" PRIu32 "\n",
                    here_ms, next_ms, later_ms, later);
    }
}

/* ---- A3, A8, T2, B4: what lull_decide may answer ---- */

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
    size_t length = form == RFC_850 ? strftime(text, size, "%A, %d-%b-%y %H:%M:%S GMT", &tm)
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
                trial->policy.name,
                lull_retry_after_mode_to_string(trial->policy.retry_after_mode),
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
        bool is_sender = facts->is_sender_throttled || facts->vendor == LULL_VENDOR_FCM;
        int64_t least_ms = is_sender ? policy->throttle_sender_min_ms : policy->throttle_min_ms;
        assert_trial(trial, verdict->delay_ms >= least_ms);
        assert_trial(trial, facts->vendor != LULL_VENDOR_MOZILLA || verdict->delay_ms >= 60000);
    }
}

/* A3 in full, where no share of the TTL narrows the range: exact is exact; the floor mode has its
 * spread on top of the longer of the two, so that a crowd does not come back in one instant; and
 * where the server named no time, or one under its vendor's minimum (V2), the jitter is all of the
 * strategy's (A8). */
static void check_jitter(const struct trial *trial)
{
    const struct lull_verdict *verdict = &trial->verdict;
    const struct lull_policy *policy = &trial->policy;
    int64_t asked_ms = trial->answer.wait_ms;
    int64_t vendor_ms = trial->facts.vendor == LULL_VENDOR_FCM ? 10000 : 0;
    int64_t width_ms = verdict->delay_max_ms - verdict->delay_min_ms;
    struct lull_backoff_range range = lull_backoff_bounds(
        &policy->backoff, trial->facts.attempt, trial->facts.previous_delay_ms);
    assert_trial(trial, verdict->delay_ms >= vendor_ms);
    if (asked_ms < vendor_ms || asked_ms < 0) {
        assert_trial(trial, width_ms == range.max_ms - range.min_ms);
    } else if (asked_ms > 0 && policy->retry_after_mode == LULL_RETRY_AFTER_EXACT) {
        assert_trial(trial, verdict->delay_ms == asked_ms && width_ms == 0);
    } else {
        wide spread_ms = (wide)asked_ms * policy->spread_permille / 1000;
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

/* ---- G1, G3: the retry budget ---- */

struct budget_world {
    struct lull_budget budget;
    int64_t now_ms;
    int64_t seen_ms; /* the latest time that the budget was told: where its window is held */
    int64_t real_ms; /* since it was made */
    struct log requests;
    struct log paid; /* retries that the ratio paid for */
    uint64_t granted;
    uint64_t from_reserve;
    uint32_t tokens;
};

static struct lull_budget_config any_budget(struct lull_random *random, enum lull_budget_form form)
{
    struct lull_budget_config config;
    lull_budget_config_default(&config);
    config.form = form;
    if (one_in(random, 5)) {
        return config;
    }
    config.ratio_permille = (uint32_t)lull_random_between(random, 0, 1000);
    config.window_ms = LULL_WINDOW_SLOTS * (1 + any_up_to(random, 2000));
    config.warm_up = (uint32_t)any_up_to(random, 30);
    config.reserve = one_in(random, 3) ? 0 : 1 + (uint32_t)any_up_to(random, 50);
    config.reserve_milli_per_s = 1 + (uint32_t)any_up_to(random, 1000000);
    config.tokens_max = 1 + (uint32_t)any_up_to(random, 1000);
    config.tokens_retry = 1 + (uint32_t)any_up_to(random, config.tokens_max - 1);
    config.tokens_timeout = (uint32_t)any_up_to(random, config.tokens_max);
    config.tokens_success = (uint32_t)any_up_to(random, 20);
    return config;
}

/* Steps that meet the edges of slots and windows, long ones, and now and then one back. */
static int64_t any_step(struct lull_random *random, int64_t span_ms)
{
    int64_t slot_ms = span_ms / LULL_WINDOW_SLOTS;
    switch (lull_random_between(random, 0, 49)) {
    case 0:
        return -1 - any_up_to(random, 2 * span_ms);
    case 1:
        return any_up_to(random, 1000 * span_ms);
    case 2:
        return span_ms + lull_random_between(random, -1, 1);
    case 3:
        return span_ms + slot_ms + lull_random_between(random, -1, 1);
    case 4:
        return span_ms - slot_ms + lull_random_between(random, -1, 1);
    default:
        return any_up_to(random, 3 * slot_ms);
    }
}

static uint32_t reserve_available(struct budget_world *world)
{
    return world->budget.config.reserve > 0
               ? lull_bucket_available(&world->budget.reserve, world->now_ms)
               : 0;
}

static void see_now(struct budget_world *world)
{
    world->seen_ms = max_of(world->seen_ms, world->now_ms);
}

static void print_budget(const struct budget_world *world)
{
    const struct lull_budget_config *config = &world->budget.config;
    print_error("form %d, ratio %" PRIu32 ", window %" PRId64 ", warm-up %" PRIu32
                ", reserve %" PRIu32 " + %" PRIu32 "/1000 s, now %" PRId64 ", real %" PRId64
                "; requests %" PRIu64 ", granted %" PRIu64 ", by the ratio %" PRIu64 "\n",
                (int)config->form, config->ratio_permille, config->window_ms, config->warm_up,
                config->reserve, config->reserve_milli_per_s, world->now_ms, world->real_ms,
                log_total(&world->requests), world->granted, log_total(&world->paid));
}

#define assert_budget(world, condition) assert_that(condition, "%s", (print_budget(world), ""))

/* G1, at a retry that the ratio has just paid for: the true last window, by the log. */
static void check_ratio(const struct budget_world *world)
{
    const struct lull_budget_config *config = &world->budget.config;
    int64_t from_ms = world->seen_ms - config->window_ms + 1;
    uint64_t requests = log_since(&world->requests, from_ms);
    uint64_t retries = log_since(&world->paid, from_ms);
    assert_budget(world, retries * 1000 <= requests * config->ratio_permille);
    assert_budget(world, requests >= config->warm_up);
}

/* Over all time. Windows that end at a retry can be laid side by side without overlapping, so no
 * request pays twice; and the reserve gives what was in it, and what time has brought. */
static void check_total(const struct budget_world *world)
{
    const struct lull_budget_config *config = &world->budget.config;
    wide reserve_micro = 0;
    if (config->reserve > 0) {
        reserve_micro = (wide)config->reserve * 1000000 +
                        (wide)config->reserve_milli_per_s * world->real_ms;
    }
    wide ratio_micro = (wide)log_total(&world->requests) * config->ratio_permille * 1000;
    assert_budget(world, (wide)world->from_reserve * 1000000 <= reserve_micro);
    if (config->form == LULL_BUDGET_RATIO) {
        assert_budget(world, (wide)world->granted * 1000000 <= ratio_micro + reserve_micro);
    }
}

static void on_granted(struct budget_world *world, bool is_from_reserve, bool was_timeout)
{
    const struct lull_budget_config *config = &world->budget.config;
    world->granted++;
    if (is_from_reserve) {
        world->from_reserve++;
    } else if (config->form == LULL_BUDGET_TOKEN) {
        uint32_t cost = was_timeout ? config->tokens_timeout : config->tokens_retry;
        assert_budget(world, world->tokens >= cost);
        world->tokens -= cost;
    } else {
        log_add(&world->paid, world->seen_ms, 1);
        check_ratio(world);
    }
    check_total(world);
}

static void try_retry(struct budget_world *world, bool was_timeout)
{
    struct lull_budget *budget = &world->budget;
    see_now(world);
    uint32_t reserve_before = reserve_available(world);
    uint64_t left_before = lull_budget_left(budget, world->now_ms);
    int64_t foretold_ms = lull_budget_wait(budget, world->now_ms, was_timeout);
    int64_t wait_ms = lull_budget_take(budget, world->now_ms, was_timeout);
    uint64_t left_after = lull_budget_left(budget, world->now_ms);
    bool is_from_reserve = reserve_available(world) < reserve_before;
    assert_budget(world, wait_ms == foretold_ms);
    if (wait_ms == 0) {
        assert_budget(world, budget->config.form == LULL_BUDGET_TOKEN ||
                                 left_after == left_before - 1);
        on_granted(world, is_from_reserve, was_timeout);
        return;
    }
    /* A refusal changes nothing, and names the wait after which there is none (G3). */
    assert_budget(world, wait_ms > 0 && left_after == left_before && !is_from_reserve);
    assert_budget(world, was_timeout || left_before == 0);
    assert_budget(world, (wait_ms == LULL_NEVER) == (budget->config.reserve == 0));
    if (wait_ms != LULL_NEVER) {
        struct lull_budget later = *budget;
        int64_t later_ms = lull_budget_take(&later, world->now_ms + wait_ms, was_timeout);
        assert_budget(world, later_ms == 0);
    }
}

static void succeed(struct budget_world *world)
{
    const struct lull_budget_config *config = &world->budget.config;
    lull_budget_on_success(&world->budget, world->now_ms);
    world->tokens = (uint32_t)min_of((int64_t)world->tokens + config->tokens_success,
                                     config->tokens_max);
}

static void step_budget(struct budget_world *world, struct lull_random *random)
{
    int64_t choice = lull_random_between(random, 0, 99);
    int64_t step_ms = 0;
    if (choice < 45) {
        see_now(world);
        lull_budget_on_request(&world->budget, world->now_ms);
        log_add(&world->requests, world->seen_ms, 1);
    } else if (choice < 75) {
        try_retry(world, one_in(random, 4));
    } else if (choice < 80) {
        succeed(world);
    } else {
        step_ms = any_step(random, world->budget.config.window_ms);
    }
    world->now_ms += step_ms;
    world->real_ms += max_of(0, step_ms);
}

/* G3: spend all there is; what was left says how much that was. Then time alone gives one back,
 * however many of the requests were retries: the time of one, and after a clock that has stepped
 * back at most that of a full reserve besides. */
static void check_not_locked_out(const struct budget_world *world)
{
    struct lull_budget budget = world->budget;
    int64_t now_ms = world->now_ms;
    uint64_t left = lull_budget_left(&budget, now_ms);
    uint64_t spent = 0;
    while (spent <= left && lull_budget_take(&budget, now_ms, false) == 0) {
        spent++;
    }
    assert_budget(world, spent == left);
    if (budget.config.reserve > 0) {
        int64_t rate = budget.config.reserve_milli_per_s;
        now_ms += ((int64_t)budget.config.reserve + 1) * 1000000 / rate + 2;
        int64_t wait_ms = lull_budget_take(&budget, now_ms, false);
        assert_budget(world, wait_ms == 0);
    }
}

static void run_budget_history(struct budget_world *world, enum lull_budget_form form,
                               struct lull_random *random)
{
    struct lull_budget_config config = any_budget(random, form);
    memset(world, 0, sizeof *world);
    world->now_ms = any_up_to(random, YEAR_MS) - YEAR_MS / 2;
    world->seen_ms = world->now_ms;
    world->tokens = config.tokens_max;
    assert_int_equal(lull_budget_init(&world->budget, &config, world->now_ms), LULL_OK);
    for (int i = 0; i < 2500; i++) {
        step_budget(world, random);
        if (i % 50 == 0) {
            check_not_locked_out(world);
        }
        if (form == LULL_BUDGET_TOKEN) {
            assert_int_equal(world->budget.tokens, world->tokens); /* G2 */
        }
    }
}

static void test_g1_g3_the_ratio_budget_holds_in_every_window(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("g1_g3_the_ratio_budget_holds_in_every_window"));
    static struct budget_world world;
    uint64_t by_ratio = 0;
    for (int i = 0; i < 400; i++) {
        run_budget_history(&world, LULL_BUDGET_RATIO, &random);
        by_ratio += log_total(&world.paid);
    }
    assert_in_range(by_ratio, 10000, 1000000); /* else it would show little */
}

static void test_g2_g3_the_token_budget_is_never_locked_out(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("g2_g3_the_token_budget_is_never_locked_out"));
    static struct budget_world world;
    for (int i = 0; i < 100; i++) {
        run_budget_history(&world, LULL_BUDGET_TOKEN, &random);
    }
}

/* ---- K3: the breaker ---- */

#define PERMITS_MAX 32
#define RETRY_AFTER_MAX_MS 120000

struct breaker_permit {
    struct lull_breaker_permit permit;
    uint64_t probe; /* which one; 0: none */
};

struct breaker_world {
    struct lull_breaker breaker;
    struct lull_random *random;
    int64_t now_ms;
    int64_t real_ms;
    int64_t wait_ms;             /* what the last refusal named */
    int64_t back_ms;             /* how far the clock has stepped back in all */
    bool is_clock_sound;         /* it never will */
    int64_t named_ms;            /* the latest instant that a 429 has named */
    int64_t shut_until_real_ms;  /* open at least until then */
    int64_t failing_permille;    /* the service's mood */
    struct breaker_permit permits[PERMITS_MAX]; /* given, not yet reported */
    int64_t permit_count;
    uint64_t probes;             /* given; the last of them is number probes */
    bool is_probe_out;           /* the last one has not been reported */
    int64_t probe_real_ms;       /* when it was given */
    uint64_t lost_probes;
    uint64_t recoveries;
};

static void print_breaker(const struct breaker_world *world)
{
    const struct lull_breaker_config *config = &world->breaker.config;
    print_error("%s for %" PRId64 " ms of %" PRId64 ", probe out %d, generation %" PRIu32
                "; now %" PRId64 ", real %" PRId64 ", shut until real %" PRId64
                "; open %" PRId64 " to %" PRId64 ", probe timeout %" PRId64 ", step %" PRId64 "\n",
                lull_breaker_state_to_string(world->breaker.state),
                world->now_ms - world->breaker.state_ms, world->breaker.open_for_ms,
                (int)world->breaker.is_probe_out, world->breaker.generation, world->now_ms,
                world->real_ms, world->shut_until_real_ms, config->open_ms, config->open_max_ms,
                config->probe_timeout_ms, config->slow_start_step_ms);
}

#define assert_breaker(world, condition) assert_that(condition, "%s", (print_breaker(world), ""))

static struct lull_breaker_config any_breaker(struct lull_random *random)
{
    struct lull_breaker_config config;
    lull_breaker_config_default(&config);
    config.unavailable_permille = (uint32_t)lull_random_between(random, 0, 1000);
    config.unavailable_window_ms = LULL_WINDOW_SLOTS * (1 + any_up_to(random, 6000));
    config.throttled_permille = (uint32_t)lull_random_between(random, 0, 1000);
    config.transport_permille = (uint32_t)lull_random_between(random, 0, 1000);
    config.window_ms = LULL_WINDOW_SLOTS * (1 + any_up_to(random, 1200));
    config.volume_min = (uint32_t)any_up_to(random, 20);
    config.open_ms = 1 + any_up_to(random, 30000);
    config.open_max_ms = config.open_ms + any_up_to(random, 300000);
    config.probe_timeout_ms = 1 + any_up_to(random, 60000);
    config.slow_start_step_ms = 1 + any_up_to(random, 3000);
    return config;
}

/* The least time open when nobody named one: the lower half of the first (K2). */
static int64_t least_open(const struct breaker_world *world)
{
    return world->breaker.config.open_ms / 2;
}

/* The least time open after 429s: until the latest instant that they named (K2). Once a clock has
 * stepped back only what the last of them said can be told. */
static int64_t least_open_by_429(struct breaker_world *world, int64_t retry_after_ms)
{
    if (!world->is_clock_sound) {
        return retry_after_ms;
    }
    return world->named_ms > world->now_ms ? world->named_ms - world->now_ms : least_open(world);
}

/* After any call: has the state changed in a way that the drawing in the header has? */
static void check_transition(struct breaker_world *world, enum lull_breaker_state before,
                             uint32_t generation, int64_t open_min_ms)
{
    static const bool is_legal[4][4] = {
        [LULL_BREAKER_CLOSED] = {[LULL_BREAKER_OPEN] = true},
        [LULL_BREAKER_OPEN] = {[LULL_BREAKER_HALF_OPEN] = true},
        [LULL_BREAKER_HALF_OPEN] = {[LULL_BREAKER_OPEN] = true, [LULL_BREAKER_SLOW_START] = true},
        [LULL_BREAKER_SLOW_START] = {[LULL_BREAKER_CLOSED] = true, [LULL_BREAKER_OPEN] = true},
    };
    enum lull_breaker_state after = world->breaker.state;
    if (after == before) {
        assert_breaker(world, world->breaker.generation == generation);
        return;
    }
    assert_breaker(world, is_legal[before][after] && world->breaker.generation != generation);
    if (after == LULL_BREAKER_OPEN) {
        world->shut_until_real_ms = world->real_ms + open_min_ms;
    }
    if (after == LULL_BREAKER_HALF_OPEN) {
        assert_breaker(world, world->real_ms >= world->shut_until_real_ms);
    }
    world->recoveries += after == LULL_BREAKER_CLOSED;
}

/* K3: no probe while another is out that has neither been reported nor timed out. */
static void on_probe(struct breaker_world *world)
{
    if (world->is_probe_out) {
        int64_t age_ms = world->real_ms - world->probe_real_ms;
        assert_breaker(world, age_ms >= world->breaker.config.probe_timeout_ms);
        world->lost_probes++;
    }
    world->probes++;
    world->is_probe_out = true;
    world->probe_real_ms = world->real_ms;
}

static void keep_permit(struct breaker_world *world, struct lull_breaker_permit permit)
{
    if (world->permit_count == PERMITS_MAX) { /* this report will never come */
        world->permits[lull_random_between(world->random, 0, PERMITS_MAX - 1)] =
            world->permits[--world->permit_count];
    }
    world->permits[world->permit_count++] =
        (struct breaker_permit){permit, permit.is_probe ? world->probes : 0};
}

static void ask_breaker(struct breaker_world *world)
{
    struct lull_breaker *breaker = &world->breaker;
    const struct lull_breaker_permit untouched = {0xdeadbeef, true};
    struct lull_breaker_permit permit = untouched;
    enum lull_breaker_state before = breaker->state;
    uint32_t generation = breaker->generation;
    int64_t wait_ms = lull_breaker_ask(breaker, world->now_ms, world->random, &permit);
    check_transition(world, before, generation, least_open(world));
    if (wait_ms != 0) {
        assert_breaker(world, wait_ms > 0 && breaker->state != LULL_BREAKER_CLOSED);
        assert_breaker(world, permit.generation == untouched.generation);
        assert_breaker(world, breaker->state != LULL_BREAKER_HALF_OPEN || world->is_probe_out);
        world->wait_ms = wait_ms;
        return;
    }
    assert_breaker(world, breaker->state != LULL_BREAKER_OPEN); /* K2, K5 */
    assert_breaker(world, world->real_ms >= world->shut_until_real_ms);
    assert_breaker(world, permit.generation == breaker->generation);
    assert_breaker(world, permit.is_probe == (breaker->state == LULL_BREAKER_HALF_OPEN));
    if (permit.is_probe) {
        on_probe(world);
    }
    keep_permit(world, permit);
}

static enum lull_breaker_result any_result(struct breaker_world *world)
{
    if (one_in(world->random, 30)) {
        return LULL_BREAKER_IGNORED;
    }
    if (lull_random_between(world->random, 1, 1000) > world->failing_permille) {
        return LULL_BREAKER_SUCCESS;
    }
    return (enum lull_breaker_result)lull_random_between(world->random, LULL_BREAKER_THROTTLED,
                                                         LULL_BREAKER_FAILED);
}

/* A permit of an earlier state is stale: all that happens is what time alone would do. */
static void check_stale(const struct breaker_world *world, struct lull_breaker by_time,
                        struct lull_random random, bool is_opened)
{
    const struct lull_breaker *breaker = &world->breaker;
    lull_breaker_tick(&by_time, world->now_ms, &random);
    assert_breaker(world, !is_opened && breaker->state == by_time.state);
    assert_breaker(world, breaker->generation == by_time.generation);
    assert_breaker(world, breaker->is_probe_out == by_time.is_probe_out);
    assert_breaker(world, breaker->trips == by_time.trips);
}

static struct breaker_permit pick_permit(struct breaker_world *world)
{
    int64_t index = lull_random_between(world->random, 0, world->permit_count - 1);
    struct breaker_permit picked = world->permits[index];
    world->permits[index] = world->permits[--world->permit_count];
    return picked;
}

/* In any order: the first given is not the first to come back, and some come much too late. */
static void report_breaker(struct breaker_world *world)
{
    struct breaker_permit given = pick_permit(world);
    if (given.probe != 0 && one_in(world->random, 5)) {
        return; /* a lost probe: it stays out until it times out */
    }
    enum lull_breaker_result result = any_result(world);
    bool is_429 = result == LULL_BREAKER_THROTTLED;
    int64_t retry_after_ms =
        one_in(world->random, 2) ? 0 : any_up_to(world->random, RETRY_AFTER_MAX_MS);
    struct lull_breaker earlier = world->breaker;
    struct lull_random random = *world->random;
    bool is_opened = lull_breaker_report(&world->breaker, world->now_ms, given.permit, result,
                                         retry_after_ms, world->random);
    if (given.permit.generation != earlier.generation) {
        check_stale(world, earlier, random, is_opened);
    } else if (is_429 && (is_opened || world->breaker.generation == earlier.generation)) {
        world->named_ms = max_of(world->named_ms, world->now_ms + retry_after_ms);
    }
    assert_breaker(world, !is_opened || world->breaker.state == LULL_BREAKER_OPEN);
    check_transition(world, earlier.state, earlier.generation,
                     is_opened && is_429 ? least_open_by_429(world, retry_after_ms)
                                         : least_open(world));
    if (given.probe != 0 && given.probe == world->probes) {
        world->is_probe_out = false;
    }
}

/* The waits that were named, to the millisecond and one short of it, and all sorts besides. */
static int64_t any_breaker_step(struct breaker_world *world)
{
    const struct lull_breaker_config *config = &world->breaker.config;
    switch (lull_random_between(world->random, 0, 19)) {
    case 0:
        return world->wait_ms;
    case 1:
        return max_of(0, world->wait_ms - 1);
    case 2:
        return config->probe_timeout_ms - lull_random_between(world->random, 0, 1);
    case 3:
        return any_up_to(world->random, 2 * config->open_max_ms);
    case 4:
        return world->is_clock_sound ? 0 : -any_up_to(world->random, 100000);
    default:
        return any_up_to(world->random, 100);
    }
}

/* P2's halt, from outside, as the service does it: when the breaker is closed. */
static void halt_breaker(struct breaker_world *world)
{
    struct lull_breaker *breaker = &world->breaker;
    if (breaker->state == LULL_BREAKER_CLOSED) {
        uint32_t generation = breaker->generation;
        int64_t open_for_ms = any_up_to(world->random, RETRY_AFTER_MAX_MS);
        lull_breaker_trip(breaker, world->now_ms, open_for_ms, world->random);
        check_transition(world, LULL_BREAKER_CLOSED, generation,
                         open_for_ms > 0 ? open_for_ms : least_open(world));
    }
}

static void step_breaker(struct breaker_world *world)
{
    int64_t choice = lull_random_between(world->random, 0, 199);
    int64_t step_ms = 0;
    if (choice < 80) {
        ask_breaker(world);
    } else if (choice < 150) {
        if (world->permit_count > 0) {
            report_breaker(world);
        }
    } else if (choice < 190) {
        step_ms = any_breaker_step(world);
    } else if (choice < 198) {
        enum lull_breaker_state before = world->breaker.state;
        uint32_t generation = world->breaker.generation;
        lull_breaker_tick(&world->breaker, world->now_ms, world->random);
        check_transition(world, before, generation, least_open(world));
    } else if (choice < 199) {
        world->failing_permille = 250 * lull_random_between(world->random, 0, 4);
    } else {
        halt_breaker(world);
    }
    world->now_ms += step_ms;
    world->real_ms += max_of(0, step_ms);
    world->back_ms += max_of(0, -step_ms);
}

/* From here on the service is well, and of all that was sent before nothing comes back. At worst
 * it waits out the open time, or a lost probe and then another open time, and the slow start. The
 * clock may have stepped back: that must not add to what is left of any of them. */
static void check_recovers(struct breaker_world *world)
{
    struct lull_breaker breaker = world->breaker;
    const struct lull_breaker_config *config = &breaker.config;
    int64_t now_ms = world->now_ms;
    int64_t pause_ms = 200;
    int64_t open_ms = config->open_max_ms;
    if (breaker.state == LULL_BREAKER_OPEN) {
        open_ms = max_of(open_ms, breaker.open_for_ms);
        assert_breaker(world, open_ms <= max_of(config->open_max_ms,
                                                RETRY_AFTER_MAX_MS + world->back_ms));
    }
    int64_t end_ms = now_ms + open_ms + config->probe_timeout_ms + config->open_max_ms +
                     4 * config->slow_start_step_ms + 4 * pause_ms;
    while (breaker.state != LULL_BREAKER_CLOSED && now_ms <= end_ms) {
        struct lull_breaker_permit permit = {0, false};
        int64_t wait_ms = lull_breaker_ask(&breaker, now_ms, world->random, &permit);
        if (wait_ms == 0) {
            lull_breaker_report(&breaker, now_ms, permit, LULL_BREAKER_SUCCESS, 0, world->random);
            wait_ms = lull_random_between(world->random, 1, pause_ms);
        }
        now_ms += min_of(wait_ms, breaker.state == LULL_BREAKER_SLOW_START ? pause_ms : wait_ms);
        lull_breaker_tick(&breaker, now_ms, world->random);
    }
    assert_that(breaker.state == LULL_BREAKER_CLOSED, "%s", (print_breaker(world), "stuck\n"));
}

static void test_k3_the_breaker_has_one_probe_out_and_never_sticks(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("k3_the_breaker_has_one_probe_out_and_never_sticks"));
    static struct breaker_world world;
    uint64_t probes = 0;
    uint64_t lost = 0;
    uint64_t recoveries = 0;
    for (int i = 0; i < 1000; i++) {
        struct lull_breaker_config config = any_breaker(&random);
        memset(&world, 0, sizeof world);
        world.random = &random;
        world.now_ms = any_up_to(&random, YEAR_MS) - YEAR_MS / 2;
        world.named_ms = world.now_ms;
        world.is_clock_sound = one_in(&random, 2);
        assert_int_equal(lull_breaker_init(&world.breaker, &config, world.now_ms), LULL_OK);
        for (int j = 0; j < 1000; j++) {
            step_breaker(&world);
            if (j % 100 == 99) {
                check_recovers(&world);
            }
        }
        probes += world.probes;
        lost += world.lost_probes;
        recoveries += world.recoveries;
    }
    /* Else it would show little. */
    assert_in_range(probes, 5000, 1000000);
    assert_in_range(lost, 500, 1000000);
    assert_in_range(recoveries, 500, 1000000);
}

/* ---- G5: the token bucket ---- */

struct bucket_world {
    struct lull_bucket bucket;
    int64_t now_ms;
    wide earned_micro; /* rate x real time, were the bucket never full */
    wide taken_micro;  /* less what was put back */
    wide limit_micro;  /* the least of (taken - earned + capacity) at any start so far */
};

static struct lull_bucket_config any_bucket(struct lull_random *random)
{
    static const uint64_t rates[] = {1, 1000, 100000, UINT64_C(1000000000000)};
    struct lull_bucket_config config = {
        .capacity = 1 + (uint32_t)any_up_to(random, 999999),
        .rate_milli_per_s = 1 + (uint64_t)any_up_to(random, INT64_C(999999999999)),
    };
    if (one_in(random, 4)) {
        config.rate_milli_per_s = rates[lull_random_between(random, 0, COUNT_OF(rates) - 1)];
    }
    return config;
}

static void print_bucket(const struct bucket_world *world)
{
    print_error("capacity %" PRIu32 ", rate %" PRIu64 "/1000 s, missing %" PRId64 ", now %" PRId64
                "; taken %.0f, earned %.0f, limit %.0f\n",
                world->bucket.config.capacity, world->bucket.config.rate_milli_per_s,
                world->bucket.missing_micro, world->now_ms, (double)world->taken_micro,
                (double)world->earned_micro, (double)world->limit_micro);
}

#define assert_bucket(world, condition) assert_that(condition, "%s", (print_bucket(world), ""))

/* An interval may begin here, with at most a full bucket. */
static void mark_start(struct bucket_world *world)
{
    wide limit = world->taken_micro - world->earned_micro +
                 (wide)world->bucket.config.capacity * 1000000;
    world->limit_micro = limit < world->limit_micro ? limit : world->limit_micro;
}

/* How long an empty bucket takes to be full, rounded up. */
static int64_t full_after(const struct lull_bucket_config *config)
{
    return (int64_t)config->capacity * 1000000 / (int64_t)config->rate_milli_per_s + 1;
}

/* The wait that a refusal names is enough, and a millisecond less is not. A clock that has stepped
 * back costs at most one bucket. */
static void check_refusal(const struct bucket_world *world, uint32_t tokens, int64_t wait_ms)
{
    bool is_too_many = tokens > world->bucket.config.capacity;
    assert_bucket(world, wait_ms > 0 && (wait_ms == LULL_NEVER) == is_too_many);
    if (!is_too_many) {
        struct lull_bucket early = world->bucket;
        struct lull_bucket later = world->bucket;
        int64_t early_ms = lull_bucket_take(&early, world->now_ms + wait_ms - 1, tokens);
        int64_t later_ms = lull_bucket_take(&later, world->now_ms + wait_ms, tokens);
        assert_bucket(world, early_ms == 1 && later_ms == 0);
        assert_bucket(world, wait_ms <= 2 * full_after(&world->bucket.config));
    }
}

static void take_tokens(struct bucket_world *world, uint32_t tokens)
{
    struct lull_bucket *bucket = &world->bucket;
    mark_start(world);
    uint32_t available = lull_bucket_available(bucket, world->now_ms);
    int64_t foretold_ms = lull_bucket_wait(bucket, world->now_ms, tokens);
    int64_t wait_ms = lull_bucket_take(bucket, world->now_ms, tokens);
    uint32_t left = lull_bucket_available(bucket, world->now_ms);
    assert_bucket(world, wait_ms == foretold_ms);
    assert_bucket(world, (wait_ms == 0) == (tokens <= available));
    assert_bucket(world, left == (wait_ms == 0 ? available - tokens : available));
    if (wait_ms != 0) {
        check_refusal(world, tokens, wait_ms);
        return;
    }
    world->taken_micro += (wide)tokens * 1000000;
    /* taken - taken' <= capacity + rate x time, for every start at once. */
    assert_bucket(world, world->taken_micro - world->earned_micro <= world->limit_micro);
}

static uint32_t any_tokens(struct bucket_world *world, struct lull_random *random)
{
    uint32_t capacity = world->bucket.config.capacity;
    if (one_in(random, 3)) { /* just what there is, or one more */
        return lull_bucket_available(&world->bucket, world->now_ms) + one_in(random, 2);
    }
    return (uint32_t)any_up_to(random, (int64_t)capacity + 2);
}

static void step_bucket(struct bucket_world *world, struct lull_random *random)
{
    struct lull_bucket *bucket = &world->bucket;
    int64_t rate = (int64_t)bucket->config.rate_milli_per_s;
    int64_t full_ms = full_after(&bucket->config);
    int64_t choice = lull_random_between(random, 0, 999);
    if (choice < 600) {
        take_tokens(world, any_tokens(world, random));
    } else if (choice < 950) {
        int64_t step_ms = any_up_to(random, one_in(random, 10)   ? 2 * full_ms
                                            : one_in(random, 50) ? INT64_C(1000000000000)
                                                                 : full_ms / 4 + 1);
        world->now_ms += step_ms;
        world->earned_micro += (wide)rate * step_ms;
    } else if (choice < 980) {
        uint32_t tokens = (uint32_t)any_up_to(random, bucket->config.capacity);
        lull_bucket_return(bucket, world->now_ms, tokens);
        world->taken_micro -= (wide)tokens * 1000000;
    } else if (choice < 990) {
        world->now_ms -= any_up_to(random, 3 * full_ms);
    } else {
        struct lull_bucket_config config = any_bucket(random);
        assert_int_equal(lull_bucket_configure(bucket, &config, world->now_ms), LULL_OK);
    }
}

static void test_g5_the_bucket_never_gives_more_than_capacity_and_rate(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("g5_the_bucket_never_gives_more_than_capacity_and_rate"));
    for (int i = 0; i < 1000; i++) {
        struct lull_bucket_config config = any_bucket(&random);
        struct bucket_world world = {.now_ms = any_up_to(&random, YEAR_MS) - YEAR_MS / 2};
        world.limit_micro = (wide)1000000 * config.capacity;
        assert_int_equal(lull_bucket_init(&world.bucket, &config, world.now_ms), LULL_OK);
        for (int j = 0; j < 1000; j++) {
            step_bucket(&world, &random);
        }
    }
}

/* Nor less: who takes all there is before the bucket is full gets every millionth that was
 * earned, at one token in a thousand seconds as at a million in a millisecond. */
static void test_g5_the_bucket_does_not_drift_at_any_rate(void **state)
{
    (void)state;
    static const struct lull_bucket_config rows[] = {
        {1, 1},          {1, 7},          {3, 999},           {1, 1000},
        {20, 123457},    {500, 100000},   {1000000, 1},       {1000000, 333333333},
        {1000, 1000000}, {1000000, UINT64_C(999999999999)},   {1000000, UINT64_C(1000000000000)},
    };
    struct lull_random random;
    lull_random_init(&random, test_seed("g5_the_bucket_does_not_drift_at_any_rate"));
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct bucket_world world = {.now_ms = 0};
        assert_int_equal(lull_bucket_init(&world.bucket, &rows[i], 0), LULL_OK);
        wide full_micro = (wide)rows[i].capacity * 1000000;
        wide rate = (wide)rows[i].rate_milli_per_s;
        for (int j = 0; j < 20000; j++) {
            uint32_t available = lull_bucket_available(&world.bucket, world.now_ms);
            int64_t wait_ms = lull_bucket_take(&world.bucket, world.now_ms, available);
            assert_bucket(&world, wait_ms == 0);
            world.taken_micro += (wide)available * 1000000;
            wide due_micro = full_micro + rate * world.now_ms;
            assert_bucket(&world, world.taken_micro == due_micro - due_micro % 1000000);
            int64_t until_full_ms = (int64_t)((world.taken_micro - rate * world.now_ms) / rate);
            world.now_ms += any_up_to(&random, until_full_ms);
        }
    }
}

/* ---- the window, on which budgets and breakers rest (G1, K1) ---- */

struct window_world {
    struct lull_window window;
    int64_t span_ms;
    int64_t now_ms;
    int64_t seen_ms; /* the latest time that it was told: where it is held */
    struct log logs[LULL_WINDOW_COUNTERS];
};

static void print_window(const struct window_world *world, unsigned counter)
{
    struct lull_window window = world->window;
    print_error("span %" PRId64 ", slot %" PRId64 " ms, now %" PRId64 ", held at %" PRId64
                ": over %" PRIu64 ", under %" PRIu64 "\n",
                world->span_ms, window.slot_ms, world->now_ms, world->seen_ms,
                lull_window_over(&window, world->now_ms, counter),
                lull_window_under(&window, world->now_ms, counter));
}

/* Never too few, never too many; and neither is off by more than one slot at the far end. */
static void check_window(struct window_world *world, unsigned counter)
{
    const struct log *log = &world->logs[counter];
    int64_t slot_ms = world->span_ms / LULL_WINDOW_SLOTS;
    world->seen_ms = max_of(world->seen_ms, world->now_ms);
    int64_t start_ms = world->seen_ms - world->span_ms;
    uint64_t over = lull_window_over(&world->window, world->now_ms, counter);
    uint64_t under = lull_window_under(&world->window, world->now_ms, counter);
    bool is_enough = over >= log_since(log, start_ms);
    bool is_recent = over <= log_since(log, start_ms - slot_ms + 1);
    bool is_within = under <= log_since(log, start_ms + 1);
    bool is_near = under >= log_since(log, start_ms + slot_ms + 1);
    if (!is_enough || !is_recent || !is_within || !is_near) {
        print_window(world, counter);
    }
    assert_true(is_enough);
    assert_true(is_recent);
    assert_true(is_within);
    assert_true(is_near);
}

static void step_window(struct window_world *world, struct lull_random *random)
{
    unsigned counter = (unsigned)lull_random_between(random, 0, LULL_WINDOW_COUNTERS - 1);
    int64_t choice = lull_random_between(random, 0, 9);
    if (choice < 4) {
        uint32_t amount = (uint32_t)any_up_to(random, 1000);
        world->seen_ms = max_of(world->seen_ms, world->now_ms);
        lull_window_add(&world->window, world->now_ms, counter, amount);
        log_add(&world->logs[counter], world->seen_ms, amount);
    } else if (choice < 7) {
        check_window(world, counter);
    } else {
        world->now_ms += any_step(random, world->span_ms);
    }
}

static void test_g1_k1_the_window_brackets_the_true_count(void **state)
{
    (void)state;
    struct lull_random random;
    lull_random_init(&random, test_seed("g1_k1_the_window_brackets_the_true_count"));
    static struct window_world world;
    for (int i = 0; i < 400; i++) {
        world.span_ms = LULL_WINDOW_SLOTS * (1 + any_up_to(&random, 100000));
        /* Anywhere, and often where 0 is crossed: dividing rounds the other way below it. */
        world.now_ms = one_in(&random, 2)
                           ? -any_up_to(&random, 2 * world.span_ms)
                           : lull_random_between(&random, -(INT64_C(1) << 60), INT64_C(1) << 60);
        world.seen_ms = world.now_ms;
        for (unsigned counter = 0; counter < LULL_WINDOW_COUNTERS; counter++) {
            world.logs[counter].count = 0;
        }
        assert_int_equal(lull_window_init(&world.window, world.span_ms, world.now_ms), LULL_OK);
        for (int j = 0; j < 2500; j++) {
            step_window(&world, &random);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_b2_full_jitter_is_uniform_for_every_n),
        cmocka_unit_test(test_b2_b3_a8_jitters_are_uniform_in_a_million_draws),
        cmocka_unit_test(test_b1_b2_b3_a8_no_strategy_leaves_its_bounds),
        cmocka_unit_test(test_b2_the_ceiling_follows_its_formula),
        cmocka_unit_test(test_b2_the_ceiling_never_falls),
        cmocka_unit_test(test_a3_a8_t2_a_retry_waits_long_enough_and_not_too_long),
        cmocka_unit_test(test_g1_g3_the_ratio_budget_holds_in_every_window),
        cmocka_unit_test(test_g2_g3_the_token_budget_is_never_locked_out),
        cmocka_unit_test(test_k3_the_breaker_has_one_probe_out_and_never_sticks),
        cmocka_unit_test(test_g5_the_bucket_never_gives_more_than_capacity_and_rate),
        cmocka_unit_test(test_g5_the_bucket_does_not_drift_at_any_rate),
        cmocka_unit_test(test_g1_k1_the_window_brackets_the_true_count),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
