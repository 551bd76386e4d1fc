/* Base64 as keys and tokens have it (W1, W2, W4): RFC 4648, strict in what it reads. */
#include "suite.h"

#include "base64.h"
#include "lull/webpush.h"

static const struct {
    const char *plain;
    size_t length;
    const char *padded;
    const char *url;
} vectors[] = {
    {"", 0, "", ""}, /* RFC 4648, section 10 */
    {"f", 1, "Zg==", "Zg"},
    {"fo", 2, "Zm8=", "Zm8"},
    {"foo", 3, "Zm9v", "Zm9v"},
    {"foob", 4, "Zm9vYg==", "Zm9vYg"},
    {"fooba", 5, "Zm9vYmE=", "Zm9vYmE"},
    {"foobar", 6, "Zm9vYmFy", "Zm9vYmFy"},
    {"\xfb\xff\xbf", 3, "+/+/", "-_-_"}, /* where the alphabets are not one */
    {"\xff\xff\xff\xff", 4, "/////w==", "_____w"},
    {"\x00\x00", 2, "AAA=", "AAA"},
    {"\x14\xfb\x9c\x03\xd9\x7e", 6, "FPucA9l+", "FPucA9l-"}, /* RFC 3548, section 7 */
};

static void check_decoded(const char *text, const char *plain, size_t length)
{
    uint8_t out[16];
    size_t actual = 99;
    memset(out, 0xa5, sizeof out);
    assert_int_equal(lull_base64_decode(text, strlen(text), out, sizeof out, &actual), LULL_OK);
    assert_int_equal(actual, length);
    assert_memory_equal(out, plain, length);
    assert_int_equal(out[length], 0xa5); /* not a byte more */
}

static void test_vectors(void **state)
{
    (void)state;
    static const char *const padding[] = {"", "==", "="}; /* by the bytes of the last group */
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        char text[32];
        size_t length = vectors[i].length;
        assert_int_equal(base64_encode(vectors[i].plain, length, text), strlen(vectors[i].padded));
        assert_string_equal(text, vectors[i].padded);
        assert_int_equal(lull_base64url_encode(vectors[i].plain, length, text),
                         strlen(vectors[i].url));
        assert_string_equal(text, vectors[i].url);
        check_decoded(vectors[i].padded, vectors[i].plain, length);
        check_decoded(vectors[i].url, vectors[i].plain, length);
        /* the other two: base64url with padding, base64 without */
        snprintf(text, sizeof text, "%s%s", vectors[i].url, padding[length % 3]);
        check_decoded(text, vectors[i].plain, length);
        snprintf(text, sizeof text, "%s", vectors[i].padded);
        text[strcspn(text, "=")] = '\0';
        check_decoded(text, vectors[i].plain, length);
    }
}

static const struct {
    const char *name;
    const char *text;
    size_t length; /* 0: all of it */
} refused[] = {
    {"one digit", "A", 0},
    {"five digits", "AAAAA", 0},
    {"nine digits", "AAAAAAAAA", 0},
    {"padding alone, one", "=", 0},
    {"padding alone, two", "==", 0},
    {"padding alone, three", "===", 0},
    {"padding alone, four", "====", 0},
    {"one digit, padded", "A===", 0},
    {"one digit, half padded", "A==", 0},
    {"two digits, half padded", "AA=", 0},
    {"three digits, padded twice", "AAA==", 0},
    {"four digits, padded", "AAAA=", 0},
    {"four digits, padded twice", "AAAA==", 0},
    {"four digits, a whole group of padding", "AAAA====", 0},
    {"padding in the middle", "AA==AAAA", 0},
    {"padding in front", "=AAA", 0},
    {"spare bits of one byte", "Zh", 0},
    {"spare bits of one byte, padded", "Zh==", 0},
    {"spare bits of one byte, the highest", "Zo==", 0},
    {"spare bits of two bytes", "Zm9", 0},
    {"spare bits of two bytes, padded", "Zm9=", 0},
    {"spare bits of two bytes, the higher", "Zm-", 0},
    {"a space in front", " Zm9v", 0},
    {"a space behind", "Zm9v ", 0},
    {"a new line behind", "Zm9v\n", 0},
    {"a line broken", "Zm9v\r\nZm9v", 0},
    {"a dot", "Zm.v", 0},
    {"a comma", "Zm9,", 0},
    {"a star", "Zm9*", 0},
    {"a zero byte", "Zm\0v", 4},
    {"a zero byte at the end", "Zm9\0", 4},
    {"a byte of UTF-8", "Zm\xc3\xbc", 0},
    {"both alphabets at once", "+_+_", 0},
    {"both alphabets at once, the other way", "-AA/", 0},
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        uint8_t out[16];
        uint8_t untouched[16];
        size_t length = 99;
        memset(out, 0xa5, sizeof out);
        memset(untouched, 0xa5, sizeof untouched);
        size_t given = refused[i].length ? refused[i].length : strlen(refused[i].text);
        int code = lull_base64_decode(refused[i].text, given, out, sizeof out, &length);
        if (code != LULL_ERR_SYNTAX || length != 99 || memcmp(out, untouched, sizeof out) != 0) {
            fail_msg("%s: %s", refused[i].name, lull_error_to_string(code));
        }
    }
}

/* Each of the 256 bytes in each place of a group. */
static void test_every_character(void **state)
{
    (void)state;
    for (int c = 0; c < 256; c++) {
        bool is_digit = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                        (c >= '0' && c <= '9') || c == '+' || c == '/' || c == '-' || c == '_';
        for (size_t place = 0; place < 4; place++) {
            char text[5] = "AAAA";
            uint8_t out[3];
            size_t length = 99;
            text[place] = (char)c;
            bool is_pad = c == '=' && place == 3;
            int code = lull_base64_decode(text, 4, out, sizeof out, &length);
            assert_int_equal(code, is_digit || is_pad ? LULL_OK : LULL_ERR_SYNTAX);
            assert_int_equal(length, is_pad ? 2 : is_digit ? 3 : 99);
        }
    }
}

static void test_output_bound(void **state)
{
    (void)state;
    for (size_t size = 0; size < 8; size++) {
        for (size_t length = 0; length < 8; length++) {
            char text[16];
            uint8_t out[8];
            size_t actual = 99;
            size_t count = lull_base64url_encode("\1\2\3\4\5\6\7", length, text);
            memset(out, 0xa5, sizeof out);
            int code = lull_base64_decode(text, count, out, size, &actual);
            assert_int_equal(code, length <= size ? LULL_OK : LULL_ERR_FULL);
            assert_int_equal(actual, length <= size ? length : 99);
            for (size_t i = length <= size ? length : 0; i < sizeof out; i++) {
                assert_int_equal(out[i], 0xa5);
            }
        }
    }
    /* what is wrong is wrong, however small the place for it */
    size_t length = 99;
    assert_int_equal(lull_base64_decode("Zm9v*m9v", 8, NULL, 0, &length), LULL_ERR_SYNTAX);
    assert_int_equal(lull_base64_decode("Zm9", 3, NULL, 0, &length), LULL_ERR_SYNTAX);
    assert_int_equal(length, 99);
    assert_int_equal(lull_base64_decode("", 0, NULL, 0, &length), LULL_OK);
    assert_int_equal(length, 0);
}

static void check_round_trip(const uint8_t *data, size_t length)
{
    /* of the very size, so that a sanitizer sees one byte too many */
    char *text = malloc(LULL_BASE64URL_SIZE(length));
    uint8_t *out = malloc(length + 1);
    size_t actual = 99;
    assert_non_null(text);
    assert_non_null(out);
    for (int way = 0; way < 2; way++) {
        size_t count = way == 0 ? lull_base64url_encode(data, length, text)
                                : base64_encode(data, length, text);
        assert_int_equal(strlen(text), count);
        assert_true(count < LULL_BASE64URL_SIZE(length));
        assert_int_equal(lull_base64_decode(text, count, out, length, &actual), LULL_OK);
        assert_int_equal(actual, length);
        assert_memory_equal(out, data, length);
    }
    free(text);
    free(out);
}

static void test_round_trip_of_all_short_inputs(void **state)
{
    (void)state;
    for (unsigned number = 0; number < 65536; number++) {
        const uint8_t data[2] = {(uint8_t)(number >> 8), (uint8_t)number};
        check_round_trip(data, 2);
        if (number < 256) {
            check_round_trip(data + 1, 1);
        }
    }
}

/* Of all texts of two and three digits, as many are read as there are values: each has one text. */
static void test_each_value_has_one_text(void **state)
{
    (void)state;
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t read_two = 0;
    size_t read_three = 0;
    for (unsigned number = 0; number < 64 * 64 * 64; number++) {
        const char text[3] = {digits[number >> 12], digits[number >> 6 & 63], digits[number & 63]};
        uint8_t out[2];
        size_t length = 0;
        read_three += lull_base64_decode(text, 3, out, sizeof out, &length) == LULL_OK;
        read_two += number < 4096 && lull_base64_decode(text + 1, 2, out, 1, &length) == LULL_OK;
    }
    assert_int_equal(read_two, 256);
    assert_int_equal(read_three, 65536);
}

static void test_round_trip_of_long_inputs(void **state)
{
    (void)state;
    struct lull_random random;
    uint8_t data[300];
    lull_random_init(&random, test_seed("base64"));
    for (size_t length = 0; length < sizeof data; length++) {
        for (size_t i = 0; i < length; i++) {
            data[i] = (uint8_t)lull_random_next(&random);
        }
        check_round_trip(data, length);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_every_character),
        cmocka_unit_test(test_output_bound),
        cmocka_unit_test(test_round_trip_of_all_short_inputs),
        cmocka_unit_test(test_each_value_has_one_text),
        cmocka_unit_test(test_round_trip_of_long_inputs),
    };
    return cmocka_run_group_tests_name("base64", tests, NULL, NULL);
}
