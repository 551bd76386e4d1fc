/* D2: the attempts of a message, packed. What is damaged is begun anew, and never misread. */
#include "suite.h"

#include "history.h"
#include "packed.h"

static struct attempt sample(uint32_t number)
{
    return (struct attempt){
        .number = number,
        .started_ms = INT64_C(1798761600123) + number,
        .duration_ms = 250,
        .status = 503,
        .transport = LULL_TRANSPORT_NONE,
        .class_ = LULL_CLASS_UNAVAILABLE,
        .effect = LULL_EFFECT_REFUSED,
        .reason = LULL_REASON_UNAVAILABLE,
        .delay_ms = 120000,
        .retry_after_ms = -1,
    };
}

static void assert_same(const struct attempt *actual, const struct attempt *expected)
{
    assert_int_equal(actual->number, expected->number);
    assert_int_equal(actual->started_ms, expected->started_ms);
    assert_int_equal(actual->duration_ms, expected->duration_ms);
    assert_int_equal(actual->status, expected->status);
    assert_int_equal(actual->transport, expected->transport);
    assert_int_equal(actual->class_, expected->class_);
    assert_int_equal(actual->effect, expected->effect);
    assert_int_equal(actual->reason, expected->reason);
    assert_int_equal(actual->delay_ms, expected->delay_ms);
    assert_int_equal(actual->retry_after_ms, expected->retry_after_ms);
}

/* In two buffers by turns, as a message's history grows. Returns its length; it ends in ret_data.
 */
static size_t grow(uint32_t count, uint8_t ret_data[HISTORY_SIZE_MAX])
{
    static uint8_t other[HISTORY_SIZE_MAX];
    size_t length = 0;
    for (uint32_t number = 1; number <= count; number++) {
        struct attempt attempt = sample(number);
        memcpy(other, ret_data, length);
        length = history_add(other, length, &attempt, ret_data);
    }
    return length;
}

static void test_D2_round_trip(void **state)
{
    (void)state;
    static const struct attempt cases[] = {
        {.number = 1, .retry_after_ms = -1},
        {.number = UINT32_MAX,
         .started_ms = INT64_MAX,
         .duration_ms = INT64_MAX,
         .status = 999,
         .transport = LULL_TRANSPORTS - 1,
         .class_ = LULL_CLASSES - 1,
         .effect = LULL_EFFECT_UNKNOWN,
         .reason = LULL_REASONS - 1,
         .delay_ms = LULL_NEVER,
         .retry_after_ms = LULL_NEVER},
        {.number = 7, .started_ms = INT64_MIN, .status = 100, .retry_after_ms = 0},
    };
    uint8_t data[HISTORY_SIZE_MAX];
    uint8_t longer[HISTORY_SIZE_MAX];
    size_t length = 0;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        length = history_add(data, length, &cases[i], longer);
        memcpy(data, longer, length);
        assert_int_equal(length, (i + 1) * HISTORY_ATTEMPT_SIZE);
    }
    assert_int_equal(history_count(data, length), 3);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct attempt attempt;
        assert_true(history_get(data, length, i, &attempt));
        assert_same(&attempt, &cases[i]);
    }
}

static void test_D2_none(void **state)
{
    (void)state;
    struct attempt attempt = sample(1);
    uint8_t data[HISTORY_SIZE_MAX];
    assert_int_equal(history_count(NULL, 0), 0);
    assert_false(history_get(NULL, 0, 0, &attempt));
    assert_int_equal(history_add(NULL, 0, &attempt, data), HISTORY_ATTEMPT_SIZE);
}

/* The bytes are the same on every machine, and stay so: they are on disks. */
static void test_D2_the_form_is_fixed(void **state)
{
    (void)state;
    static const uint8_t expected[HISTORY_ATTEMPT_SIZE] = {
        1,
        0, /* the check byte is looked at by itself */
        4,
        3,
        2,
        1,
        0x08,
        7,
        6,
        5,
        4,
        3,
        2,
        1,
        0x18,
        0x17,
        0x16,
        0x15,
        0x14,
        0x13,
        0x12,
        0x11,
        0xad,
        1,
        0,
        LULL_CLASS_THROTTLED,
        LULL_EFFECT_REFUSED,
        LULL_REASON_THROTTLED,
        0x28,
        0x27,
        0x26,
        0x25,
        0x24,
        0x23,
        0x22,
        0x21,
        0xff,
        0xff,
        0xff,
        0xff,
        0xff,
        0xff,
        0xff,
        0xff};
    struct attempt attempt = {
        .number = 0x01020304,
        .started_ms = INT64_C(0x0102030405060708),
        .duration_ms = INT64_C(0x1112131415161718),
        .status = 429,
        .class_ = LULL_CLASS_THROTTLED,
        .effect = LULL_EFFECT_REFUSED,
        .reason = LULL_REASON_THROTTLED,
        .delay_ms = INT64_C(0x2122232425262728),
        .retry_after_ms = -1,
    };
    uint8_t data[HISTORY_SIZE_MAX];
    assert_int_equal(history_add(NULL, 0, &attempt, data), sizeof expected);
    assert_int_equal(data[1], 0xcc);
    data[1] = 0;
    assert_memory_equal(data, expected, sizeof expected);
}

/* Of very many attempts the last are kept, and their numbers tell how many there were. */
static void test_D2_the_oldest_are_dropped(void **state)
{
    (void)state;
    uint8_t data[HISTORY_SIZE_MAX];
    size_t length = grow(HISTORY_ATTEMPTS_MAX + 5, data);
    assert_int_equal(length, HISTORY_SIZE_MAX);
    assert_int_equal(history_count(data, length), HISTORY_ATTEMPTS_MAX);
    for (uint32_t i = 0; i < HISTORY_ATTEMPTS_MAX; i++) {
        struct attempt attempt;
        struct attempt expected = sample(i + 6);
        assert_true(history_get(data, length, i, &attempt));
        assert_same(&attempt, &expected);
    }
}

/* T4: a clock that was set back makes no time negative, and no history that cannot be read. */
static void test_T4_a_clock_that_steps_back(void **state)
{
    (void)state;
    struct attempt attempt = sample(1);
    uint8_t data[HISTORY_SIZE_MAX];
    attempt.duration_ms = -5000;
    attempt.delay_ms = -1;
    attempt.retry_after_ms = -2;
    size_t length = history_add(NULL, 0, &attempt, data);
    assert_true(history_get(data, length, 0, &attempt));
    assert_int_equal(attempt.duration_ms, 0);
    assert_int_equal(attempt.delay_ms, 0);
    assert_int_equal(attempt.retry_after_ms, -1);
}

/* Any changed byte, and any cut, is seen; and the next attempt begins it anew. */
static void test_D2_damage(void **state)
{
    (void)state;
    uint8_t data[HISTORY_SIZE_MAX];
    uint8_t fresh[HISTORY_SIZE_MAX];
    struct attempt ignored;
    struct attempt next = sample(4);
    size_t length = grow(3, data);
    size_t missed = 0;
    for (size_t i = 0; i < length; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            data[i] ^= (uint8_t)(1U << bit);
            missed += history_get(data, length, i / HISTORY_ATTEMPT_SIZE, &ignored);
            missed += history_count(data, length) != 0;
            missed += history_add(data, length, &next, fresh) != HISTORY_ATTEMPT_SIZE;
            data[i] ^= (uint8_t)(1U << bit);
        }
    }
    assert_true(missed <= 3 * 12); /* one byte of a check misses one change in 256 */
    for (size_t cut = 1; cut < length; cut++) {
        uint8_t *exact = malloc(cut); /* reading over the end is seen */
        assert_non_null(exact);
        memcpy(exact, data, cut);
        assert_int_equal(history_count(exact, cut),
                         cut % HISTORY_ATTEMPT_SIZE == 0 ? cut / HISTORY_ATTEMPT_SIZE : 0);
        assert_int_equal(history_get(exact, cut, 0, &ignored), cut % HISTORY_ATTEMPT_SIZE == 0);
        free(exact);
    }
}

/* What no attempt can be is refused, also where the check byte fits. */
static void test_D2_impossible_values(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t at;
        uint8_t value;
    } cases[] = {
        {"version", 0, 2},
        {"no number", 2, 0},
        {"a negative duration", 21, 0x80},
        {"status 99", 22, 99},
        {"transport", 24, LULL_TRANSPORTS},
        {"class", 25, LULL_CLASSES},
        {"effect", 26, LULL_EFFECT_UNKNOWN + 1},
        {"reason", 27, LULL_REASONS},
        {"a negative delay", 35, 0x80},
        {"a negative Retry-After", 43, 0x80},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t data[HISTORY_SIZE_MAX];
        struct attempt attempt = sample(1);
        attempt.status = 0;
        attempt.retry_after_ms = 0;
        size_t length = history_add(NULL, 0, &attempt, data);
        assert_true(history_get(data, length, 0, &attempt));
        data[cases[i].at] = cases[i].value;
        data[1] = (uint8_t)packed_checksum(data + 2, HISTORY_ATTEMPT_SIZE - 2);
        if (history_get(data, length, 0, &attempt) || history_count(data, length) != 0) {
            fail_msg("%s", cases[i].name);
        }
    }
}

static void test_D2_too_long(void **state)
{
    (void)state;
    static uint8_t data[HISTORY_SIZE_MAX + HISTORY_ATTEMPT_SIZE];
    struct attempt ignored;
    size_t length = grow(HISTORY_ATTEMPTS_MAX, data);
    memcpy(data + length, data, HISTORY_ATTEMPT_SIZE);
    assert_int_equal(history_count(data, sizeof data), 0);
    assert_false(history_get(data, sizeof data, 0, &ignored));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_D2_round_trip),
        cmocka_unit_test(test_D2_none),
        cmocka_unit_test(test_D2_the_form_is_fixed),
        cmocka_unit_test(test_D2_the_oldest_are_dropped),
        cmocka_unit_test(test_T4_a_clock_that_steps_back),
        cmocka_unit_test(test_D2_damage),
        cmocka_unit_test(test_D2_impossible_values),
        cmocka_unit_test(test_D2_too_long),
    };
    return cmocka_run_group_tests_name("history", tests, NULL, NULL);
}
