/* B2, B3, A8: the jitters are uniform. */
#include "property.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_b2_full_jitter_is_uniform_for_every_n),
        cmocka_unit_test(test_b2_b3_a8_jitters_are_uniform_in_a_million_draws),
    };
    return cmocka_run_group_tests_name("property_jitter", tests, NULL, NULL);
}
