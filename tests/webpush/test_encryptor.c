/*
 * W1, W3, S3: encryption and its way back. The library's files are included, not linked, so that
 * the keys made ahead can be looked at, and their memory is seen before it is gone.
 */
#include "suite.h"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int watched_munmap(void *memory, size_t size);
#include "encryptor.c" /* NOLINT(bugprone-suspicious-include): see above */
#define munmap watched_munmap
#include "reserve.c" /* NOLINT(bugprone-suspicious-include): see above */
#undef munmap

/* ---- what was given back ---- */

static const void *watched; /* memory to look at when it is given back */
static bool watched_was_wiped;

static int watched_munmap(void *memory, size_t size)
{
    if (memory && memory == watched) {
        const uint8_t *bytes = memory;
        watched_was_wiped = true;
        for (size_t i = 0; i < size; i++) {
            watched_was_wiped = watched_was_wiped && bytes[i] == 0;
        }
        watched = NULL;
    }
    return munmap(memory, size);
}

/* ---- a receiver ---- */

struct receiver {
    struct lull_encryptor *encryptor;
    uint8_t private_key[LULL_P256_SCALAR_SIZE];
    uint8_t public_key[LULL_P256_POINT_SIZE];
    uint8_t auth[LULL_PUSH_AUTH_SIZE];
};

static struct receiver receiver;

static int set_up(void **state)
{
    (void)state;
    memcpy(receiver.auth, "0123456789abcdef", sizeof receiver.auth);
    return lull_encryptor_new(&receiver.encryptor, 8) ||
           lull_push_keypair(receiver.encryptor, receiver.private_key, receiver.public_key);
}

static int tear_down(void **state)
{
    (void)state;
    lull_encryptor_destroy(receiver.encryptor);
    receiver.encryptor = NULL;
    return 0;
}

static size_t encrypt(const void *text, size_t length, size_t padding, uint8_t *ret_body)
{
    size_t size = 0;
    assert_int_equal(lull_push_encrypt(receiver.encryptor, receiver.public_key, receiver.auth, text,
                                       length, padding, ret_body, &size),
                     LULL_OK);
    return size;
}

static int decrypt(const uint8_t *body, size_t size, uint8_t *ret_text, size_t *ret_length)
{
    return lull_push_decrypt(receiver.encryptor, receiver.private_key, receiver.auth, body, size,
                             ret_text, ret_length);
}

static void assert_refused(const uint8_t *body, size_t size)
{
    uint8_t *text = malloc(size + 1); /* room for size bytes, and not one more */
    size_t length = 77;
    assert_non_null(text);
    assert_int_equal(decrypt(body, size, text, &length), LULL_ERR_SYNTAX);
    assert_int_equal(length, 77);
    free(text);
}

/* ---- sizes ---- */

static void test_W1_W3_sizes(void **state)
{
    (void)state;
    static const struct {
        size_t length;
        size_t padding;
    } cases[] = {
        {0, 0},       {0, 1},    {0, 255},  {0, 256},  {0, 257},   {0, 3992},  {0, 3993},
        {1, 0},       {1, 3991}, {1, 3992}, {15, 0},   {16, 0},    {17, 0},    {2000, 1993},
        {2000, 1992}, {3992, 0}, {3992, 1}, {3993, 0}, {100, 512}, {100, 511},
    };
    uint8_t plain[LULL_PUSH_TEXT_MAX];
    for (size_t i = 0; i < sizeof plain; i++) {
        plain[i] = (uint8_t)(i * 7); /* zeros among them, and 1 and 2, as delimiters are */
    }
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t size = cases[i].length + cases[i].padding + LULL_PUSH_OVERHEAD;
        uint8_t *body = malloc(size); /* of that very size: a sanitizer sees what goes over */
        uint8_t *text = malloc(size);
        size_t length = 77;
        assert_non_null(body);
        assert_non_null(text);
        assert_int_equal(encrypt(plain, cases[i].length, cases[i].padding, body), size);
        assert_true(size <= LULL_PUSH_BODY_MAX);
        assert_memory_equal(body + 16, "\x00\x00\x10\x00\x41\x04",
                            6); /* rs 4096, 65 bytes of key */
        assert_int_equal(decrypt(body, size, text, &length), LULL_OK);
        assert_int_equal(length, cases[i].length);
        assert_memory_equal(text, plain, length);
        free(body);
        free(text);
    }
    assert_int_equal(LULL_PUSH_TEXT_MAX + LULL_PUSH_OVERHEAD, LULL_PUSH_BODY_MAX);
}

static void test_W1_no_text_may_be_null(void **state)
{
    (void)state;
    uint8_t body[LULL_PUSH_BODY_MAX];
    uint8_t text[LULL_PUSH_BODY_MAX];
    size_t length = 77;
    assert_int_equal(encrypt(NULL, 0, 0, body), LULL_PUSH_OVERHEAD);
    assert_int_equal(decrypt(body, LULL_PUSH_OVERHEAD, text, &length), LULL_OK);
    assert_int_equal(length, 0);
}

/* Text that ends as padding does is not taken for it. */
static void test_W3_text_that_looks_like_padding(void **state)
{
    (void)state;
    static const char *const cases[] = {"\0",      "\1",       "\2",      "\2\0\0\0",
                                        "a\2\0\0", "\0\0\0\0", "\1\2\1\2"};
    static const size_t lengths[] = {1, 1, 1, 4, 4, 4, 4};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t padding = 0; padding < 3; padding++) {
            uint8_t body[LULL_PUSH_BODY_MAX];
            uint8_t text[LULL_PUSH_BODY_MAX];
            size_t length = 77;
            size_t size = encrypt(cases[i], lengths[i], padding, body);
            assert_int_equal(decrypt(body, size, text, &length), LULL_OK);
            assert_int_equal(length, lengths[i]);
            assert_memory_equal(text, cases[i], length);
        }
    }
}

static void test_W1_too_long_is_refused(void **state)
{
    (void)state;
    static const struct {
        size_t length;
        size_t padding;
    } cases[] = {
        {3994, 0},
        {3993, 1},
        {0, 3994},
        {1, 3993},
        {2000, 1994},
        {4096, 0},
        {SIZE_MAX, 0},
        {0, SIZE_MAX},
        {SIZE_MAX, 1},
        {1, SIZE_MAX},
        {SIZE_MAX, SIZE_MAX},
        {SIZE_MAX / 2 + 1, SIZE_MAX / 2 + 1},
        {3993, SIZE_MAX - 3992},
    };
    static const uint8_t plain[4096];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t body[8];
        uint8_t untouched[8];
        size_t size = 77;
        memset(body, 0xa5, sizeof body);
        memset(untouched, 0xa5, sizeof untouched);
        assert_int_equal(lull_push_encrypt(receiver.encryptor, receiver.public_key, receiver.auth,
                                           plain, cases[i].length, cases[i].padding, body, &size),
                         LULL_ERR_RANGE);
        assert_int_equal(size, 77);
        assert_memory_equal(body, untouched, sizeof body);
    }
}

/* ---- the receiver's key ---- */

static void test_S3_bad_points(void **state)
{
    (void)state;
    static const char *const names[] = {"zero",           "4 and zeros",      "infinity",
                                        "compressed",     "y off by one",     "x and y swapped",
                                        "hybrid",         "x over the field", "all ones",
                                        "without prefix", "of P-256's twist"};
    uint8_t points[11][LULL_P256_POINT_SIZE] = {0};
    const uint8_t *good = receiver.public_key;
    points[1][0] = 4;
    memset(points[2] + 1, 0xff, 64); /* 0 in front is infinity, whatever follows */
    memcpy(points[3], good, 33);
    points[3][0] = (uint8_t)(2 + (good[64] & 1));
    memcpy(points[4], good, 65);
    points[4][64] ^= 1;
    points[5][0] = 4;
    memcpy(points[5] + 1, good + 33, 32);
    memcpy(points[5] + 33, good + 1, 32);
    memcpy(points[6], good, 65);
    points[6][0] = (uint8_t)(6 + (good[64] & 1));
    memcpy(points[7], good, 65);
    memset(points[7] + 1, 0xff, 32);
    memset(points[8], 0xff, 65);
    memcpy(points[9], good + 1, 64);
    points[9][0] = points[9][0] == 4 ? 5 : points[9][0];
    points[10][0] = 4;
    points[10][32] = 5; /* x 5, y 1: y^2 is not x^3 - 3x + b */
    points[10][64] = 1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        uint8_t body[8] = {0};
        static const uint8_t untouched[8];
        size_t size = 77;
        int code = lull_push_encrypt(receiver.encryptor, points[i], receiver.auth, "hello", 5, 0,
                                     body, &size);
        if (code != LULL_ERR_RANGE || size != 77 || memcmp(body, untouched, sizeof body) != 0) {
            fail_msg("%s: %s", names[i], lull_error_to_string(code));
        }
    }
    /* and the same encryptor goes on */
    uint8_t body[LULL_PUSH_BODY_MAX];
    assert_int_equal(encrypt("hello", 5, 0, body), 5 + LULL_PUSH_OVERHEAD);
}

static void test_S3_bad_private_keys(void **state)
{
    (void)state;
    static const uint8_t order[LULL_P256_SCALAR_SIZE] = {
        0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xbc, 0xe6, 0xfa, 0xad, 0xa7, 0x17,
        0x9e, 0x84, 0xf3, 0xb9, 0xca, 0xc2, 0xfc, 0x63, 0x25, 0x51};
    uint8_t keys[4][LULL_P256_SCALAR_SIZE] = {0};
    memcpy(keys[1], order, sizeof order);
    memcpy(keys[2], order, sizeof order);
    keys[2][31]++;
    memset(keys[3], 0xff, sizeof keys[3]);
    uint8_t body[LULL_PUSH_BODY_MAX];
    uint8_t text[LULL_PUSH_BODY_MAX];
    size_t size = encrypt("hello", 5, 0, body);
    for (size_t i = 0; i < 4; i++) {
        size_t length = 77;
        assert_int_equal(lull_push_decrypt(receiver.encryptor, keys[i], receiver.auth, body, size,
                                           text, &length),
                         LULL_ERR_RANGE);
        assert_int_equal(length, 77);
    }
    /* the greatest that is one, and the least: fine as keys, only not this receiver's */
    memcpy(keys[0], order, sizeof order);
    keys[0][31]--;
    memset(keys[1], 0, sizeof keys[1]);
    keys[1][31] = 1;
    for (size_t i = 0; i < 2; i++) {
        struct pair pair;
        size_t length = 77;
        memcpy(pair.private_key, keys[i], sizeof pair.private_key);
        assert_int_equal(lull_push_decrypt(receiver.encryptor, keys[i], receiver.auth, body, size,
                                           text, &length),
                         LULL_ERR_SYNTAX);
        assert_true(curve_public(&receiver.encryptor->curve, keys[i], pair.public_key));
        assert_int_equal(lull_push_encrypt(receiver.encryptor, pair.public_key, receiver.auth, "hi",
                                           2, 0, body, &length),
                         LULL_OK);
        assert_int_equal(lull_push_decrypt(receiver.encryptor, keys[i], receiver.auth, body, length,
                                           text, &length),
                         LULL_OK);
        size = encrypt("hello", 5, 0, body);
    }
}

/* ---- what was changed on the way ---- */

static void test_W1_wrong_receiver(void **state)
{
    (void)state;
    uint8_t other_private[LULL_P256_SCALAR_SIZE];
    uint8_t other_public[LULL_P256_POINT_SIZE];
    uint8_t auth[LULL_PUSH_AUTH_SIZE];
    uint8_t body[LULL_PUSH_BODY_MAX];
    uint8_t text[LULL_PUSH_BODY_MAX];
    size_t length = 77;
    size_t size = encrypt("hello", 5, 3, body);
    assert_int_equal(lull_push_keypair(receiver.encryptor, other_private, other_public), LULL_OK);
    assert_int_equal(lull_push_decrypt(receiver.encryptor, other_private, receiver.auth, body, size,
                                       text, &length),
                     LULL_ERR_SYNTAX);
    for (size_t i = 0; i < sizeof auth; i++) {
        memcpy(auth, receiver.auth, sizeof auth);
        auth[i] ^= 0x80;
        assert_int_equal(lull_push_decrypt(receiver.encryptor, receiver.private_key, auth, body,
                                           size, text, &length),
                         LULL_ERR_SYNTAX);
    }
    assert_int_equal(length, 77);
    assert_int_equal(decrypt(body, size, text, &length), LULL_OK);
}

/* All bits of all bytes. RFC 8188 leaves the record size (bytes 16 to 19) out of what is
 * authenticated: there a change is seen only if the record no longer fits, and never in the text.
 */
static void test_W1_every_bit_flipped(void **state)
{
    (void)state;
    uint8_t body[LULL_PUSH_BODY_MAX];
    uint8_t text[LULL_PUSH_BODY_MAX];
    size_t size = encrypt("hello", 5, 2, body);
    for (size_t i = 0; i < size * 8; i++) {
        size_t length = 77;
        body[i / 8] ^= (uint8_t)(1U << i % 8);
        if (i / 8 >= 16 && i / 8 < 20) {
            uint32_t record_size = (uint32_t)body[16] << 24 | (uint32_t)body[17] << 16 |
                                   (uint32_t)body[18] << 8 | body[19];
            bool is_room = record_size >= size - LULL_PUSH_HEADER_SIZE;
            assert_int_equal(decrypt(body, size, text, &length),
                             is_room ? LULL_OK : LULL_ERR_SYNTAX);
            assert_int_equal(length, is_room ? 5 : 77);
            assert_true(!is_room || memcmp(text, "hello", 5) == 0);
        } else {
            assert_refused(body, size);
        }
        body[i / 8] ^= (uint8_t)(1U << i % 8);
    }
    size_t length = 77;
    assert_int_equal(decrypt(body, size, text, &length), LULL_OK); /* all are back in place */
}

static void test_W1_truncated_and_extended(void **state)
{
    (void)state;
    uint8_t body[LULL_PUSH_BODY_MAX];
    size_t size = encrypt("hello, world", 12, 20, body);
    for (size_t cut = 0; cut < size; cut++) {
        uint8_t *copy = malloc(cut + 1); /* reading behind the end is seen */
        assert_non_null(copy);
        memcpy(copy + 1, body, cut);
        assert_refused(copy + 1, cut);
        free(copy);
    }
    for (size_t more = 1; more < 64; more++) {
        memset(body + size, 0, more);
        assert_refused(body, size + more);
    }
}

/* What is refused leaves nothing unverified behind: neither the text nor a part of it. */
static void test_W1_no_unverified_text(void **state)
{
    (void)state;
    uint8_t body[LULL_PUSH_BODY_MAX];
    uint8_t text[LULL_PUSH_BODY_MAX] = {0};
    size_t length = 77;
    size_t size = encrypt("a secret", 8, 0, body);
    body[size - 1] ^= 1;
    assert_int_equal(decrypt(body, size, text, &length), LULL_ERR_SYNTAX);
    assert_null(memmem(text, sizeof text, "secret", 6));
}

/* Sealed by hand, with the keys of a true message: RFC 8291 allows one record, ended by a 2. */
static size_t seal_by_hand(uint32_t record_size, const uint8_t *records, const size_t *sizes,
                           size_t count, uint8_t *body)
{
    struct aes128gcm *coding = &receiver.encryptor->coding;
    struct pair pair;
    uint8_t secret[SECRET_SIZE];
    uint8_t key[SHA256_SIZE];
    uint8_t record_key[16];
    uint8_t nonce[12];
    static const uint8_t key_info[] = "Content-Encoding: aes128gcm";
    static const uint8_t nonce_info[] = "Content-Encoding: nonce";
    size_t at = LULL_PUSH_HEADER_SIZE;
    assert_true(curve_make_pair(&receiver.encryptor->curve, &pair));
    assert_true(derive_secret(receiver.encryptor, pair.private_key, receiver.public_key,
                              receiver.public_key, pair.public_key, receiver.auth, secret));
    memset(body, 'S', 16);
    for (size_t i = 0; i < 4; i++) {
        body[16 + i] = (uint8_t)(record_size >> (24 - 8 * i));
    }
    body[20] = LULL_P256_POINT_SIZE;
    memcpy(body + 21, pair.public_key, sizeof pair.public_key);
    assert_true(hkdf_extract(&coding->hkdf, body, 16, secret, sizeof secret, key));
    assert_true(hkdf_expand(&coding->hkdf, key, key_info, sizeof key_info, record_key, 16));
    assert_true(hkdf_expand(&coding->hkdf, key, nonce_info, sizeof nonce_info, nonce, 12));
    for (size_t i = 0; i < count; i++) {
        int written = 0;
        nonce[11] ^= (uint8_t)i;
        assert_true(EVP_EncryptInit_ex2(coding->context, coding->cipher, record_key, nonce, NULL));
        if (sizes[i] > 0) {
            assert_true(
                EVP_EncryptUpdate(coding->context, body + at, &written, records, (int)sizes[i]));
        }
        assert_true(EVP_EncryptFinal_ex(coding->context, body + at + sizes[i], &written));
        at += sizes[i];
        assert_true(EVP_CIPHER_CTX_ctrl(coding->context, EVP_CTRL_AEAD_GET_TAG, 16, body + at));
        at += 16;
        records += sizes[i];
        nonce[11] ^= (uint8_t)i;
    }
    return at;
}

static void test_W1_records_of_another_form(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        uint32_t record_size;
        const char *records;
        size_t sizes[2];
        size_t count;
        int64_t length; /* -1: refused */
    } cases[] = {
        {"as it should be", 4096, "hello\2", {6}, 1, 5},
        {"nothing but the delimiter", 4096, "\2", {1}, 1, 0},
        {"the record just fits", 22, "hello\2", {6}, 1, 5},
        {"the record is one too long", 21, "hello\2", {6}, 1, -1},
        {"the least record size", 18, "h\2", {2}, 1, 1},
        {"less than the least", 17, "\2", {1}, 1, -1},
        {"no record size at all", 0, "hello\2", {6}, 1, -1},
        {"the greatest record size", UINT32_MAX, "hello\2", {6}, 1, 5},
        {"the delimiter of a record that is not the last", 4096, "hello\1", {6}, 1, -1},
        {"no delimiter", 4096, "hello", {5}, 1, -1},
        {"nothing but padding", 4096, "\0\0\0", {3}, 1, -1},
        {"an empty record", 4096, "", {0}, 1, -1},
        {"no record", 4096, "", {0}, 0, -1},
        {"padding that is not zero", 4096, "hello\2\0\1", {8}, 1, -1},
        {"two records", 22, "hello\1world\2", {6, 6}, 2, -1},
        {"two records, the second of no text", 22, "hello\1\2", {6, 1}, 2, -1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t body[512];
        uint8_t text[512];
        size_t length = 77;
        size_t size = seal_by_hand(cases[i].record_size, (const uint8_t *)cases[i].records,
                                   cases[i].sizes, cases[i].count, body);
        int code = decrypt(body, size, text, &length);
        bool is_right = cases[i].length < 0 ? code == LULL_ERR_SYNTAX && length == 77
                                            : code == LULL_OK && length == (size_t)cases[i].length;
        if (!is_right) {
            fail_msg("%s: %s, %zu", cases[i].name, lull_error_to_string(code), length);
        }
    }
}

/* The sender's key in the message is outside bytes, too. */
static void test_W1_bad_key_ids(void **state)
{
    (void)state;
    uint8_t body[LULL_PUSH_BODY_MAX];
    uint8_t changed[LULL_PUSH_BODY_MAX];
    size_t size = encrypt("hello", 5, 200, body);
    for (unsigned length = 0; length < 256; length++) {
        memcpy(changed, body, size);
        changed[20] = (uint8_t)length;
        if (length != LULL_P256_POINT_SIZE) {
            assert_refused(changed, size);
            /* nothing behind the key id: it is not read as if it had 65 bytes */
            uint8_t *exact = malloc(AES128GCM_FIXED_SIZE + length);
            assert_non_null(exact);
            memcpy(exact, changed, AES128GCM_FIXED_SIZE + length);
            assert_refused(exact, AES128GCM_FIXED_SIZE + length);
            free(exact);
        }
    }
    for (unsigned prefix = 0; prefix < 256; prefix++) {
        memcpy(changed, body, size);
        changed[21] = (uint8_t)prefix;
        if (prefix != 4) {
            assert_refused(changed, size);
        }
    }
}

/* ---- keys and salts ---- */

#define MESSAGES 64

static void assert_all_differ(const uint8_t *items, size_t size, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < i; k++) {
            assert_memory_not_equal(items + i * size, items + k * size, size);
        }
    }
}

/* Half of them with keys made ahead; the pool empties, and is filled again in between. */
static void test_W1_another_salt_and_key_each_time(void **state)
{
    (void)state;
    static uint8_t salts[MESSAGES][AES128GCM_SALT_SIZE];
    static uint8_t keys[MESSAGES][LULL_P256_POINT_SIZE];
    static uint8_t body[LULL_PUSH_BODY_MAX];
    struct curve *curve = &receiver.encryptor->curve;
    for (size_t i = 0; i < MESSAGES; i++) {
        if (i % 16 == 0) {
            assert_int_equal(lull_encryptor_prepare(receiver.encryptor, 8), 8);
        }
        (void)encrypt("the same", 8, 0, body);
        memcpy(salts[i], body, sizeof salts[i]);
        memcpy(keys[i], body + 21, sizeof keys[i]);
        assert_true(curve_is_point(curve, keys[i]));
    }
    assert_all_differ(salts[0], sizeof salts[0], MESSAGES);
    assert_all_differ(keys[0], sizeof keys[0], MESSAGES);
}

static void test_W1_keys_made_ahead(void **state)
{
    (void)state;
    static const struct pair wiped;
    struct lull_encryptor *encryptor = NULL;
    uint8_t body[LULL_PUSH_BODY_MAX];
    uint8_t text[LULL_PUSH_BODY_MAX];
    size_t size = 0;
    size_t length = 0;
    assert_int_equal(lull_encryptor_new(&encryptor, 4), LULL_OK);
    assert_int_equal(lull_encryptor_prepare(encryptor, 0), 0);
    assert_int_equal(lull_encryptor_prepare(encryptor, 1), 1);
    assert_int_equal(lull_encryptor_prepare(encryptor, 2), 3);
    assert_int_equal(lull_encryptor_prepare(encryptor, SIZE_MAX), 4);
    assert_int_equal(lull_encryptor_prepare(encryptor, 1), 4);
    for (size_t left = 4; left-- > 0;) {
        struct pair next = encryptor->reserve.store->pairs[left];
        assert_int_equal(lull_push_encrypt(encryptor, receiver.public_key, receiver.auth, "hello",
                                           5, 0, body, &size),
                         LULL_OK);
        assert_memory_equal(body + 21, next.public_key, sizeof next.public_key);
        assert_memory_equal(&encryptor->reserve.store->pairs[left], &wiped, sizeof wiped);
        assert_int_equal(lull_encryptor_prepare(encryptor, 0), left);
        assert_int_equal(decrypt(body, size, text, &length), LULL_OK);
    }
    assert_int_equal(lull_push_encrypt(encryptor, receiver.public_key, receiver.auth, "hello", 5, 0,
                                       body, &size),
                     LULL_OK); /* with none left, one is made */
    assert_int_equal(lull_encryptor_prepare(encryptor, 2), 2);
    lull_encryptor_destroy(encryptor);
}

/* A pair that met a bad point or a text too long is not offered again. */
static void test_W1_a_refused_message_leaves_no_used_key(void **state)
{
    (void)state;
    static const uint8_t nowhere[LULL_P256_POINT_SIZE];
    struct lull_encryptor *encryptor = NULL;
    uint8_t body[LULL_PUSH_BODY_MAX];
    size_t size = 77;
    assert_int_equal(lull_encryptor_new(&encryptor, 2), LULL_OK);
    assert_int_equal(lull_encryptor_prepare(encryptor, 2), 2);
    struct pair last = encryptor->reserve.store->pairs[1];
    assert_int_equal(
        lull_push_encrypt(encryptor, nowhere, receiver.auth, "hello", 5, 0, body, &size),
        LULL_ERR_RANGE);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(lull_push_encrypt(encryptor, receiver.public_key, receiver.auth, "hello",
                                           5, 0, body, &size),
                         LULL_OK);
        assert_memory_not_equal(body + 21, last.public_key, sizeof last.public_key);
    }
    lull_encryptor_destroy(encryptor);
}

static void test_W1_destroy_wipes_the_pool(void **state)
{
    (void)state;
    struct lull_encryptor *encryptor = NULL;
    assert_int_equal(lull_encryptor_new(&encryptor, 16), LULL_OK);
    assert_int_equal(lull_encryptor_prepare(encryptor, 16), 16);
    watched = encryptor->reserve.store;
    watched_was_wiped = false;
    lull_encryptor_destroy(encryptor);
    assert_true(watched_was_wiped);
    lull_encryptor_destroy(NULL);
}

/* Pairs of a batch are what they would be one by one; a private key out of range spoils it. */
static void test_W1_a_batch_of_pairs(void **state)
{
    (void)state;
    struct curve curve;
    static struct pair pairs[CURVE_BATCH];
    uint8_t public_key[LULL_P256_POINT_SIZE];
    assert_true(curve_init(&curve));
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < CURVE_BATCH; i++) {
            memset(pairs[i].private_key, 0, sizeof pairs[i].private_key);
            if (round == 0) { /* the smallest ones */
                pairs[i].private_key[31] = (uint8_t)(i + 1);
            } else {
                assert_int_equal(RAND_priv_bytes(pairs[i].private_key, 31), 1);
            }
        }
        assert_true(curve_publish_all(&curve, pairs));
        for (size_t i = 0; i < CURVE_BATCH; i++) {
            assert_true(curve_public(&curve, pairs[i].private_key, public_key));
            assert_memory_equal(pairs[i].public_key, public_key, sizeof public_key);
        }
    }
    memset(pairs[CURVE_BATCH / 2].private_key, 0, 32);
    assert_false(curve_publish_all(&curve, pairs));
    memset(pairs[CURVE_BATCH / 2].private_key, 0xff, 32);
    assert_false(curve_publish_all(&curve, pairs));
    curve_clean_up(&curve);
}

/* Two processes must never use one salt or one pair: what is in store is the parent's alone. */
static void test_W1_a_forked_child_finds_an_empty_store(void **state)
{
    (void)state;
    struct lull_encryptor *encryptor = NULL;
    uint8_t mine[LULL_PUSH_BODY_MAX];
    uint8_t childs[LULL_PUSH_BODY_MAX];
    size_t size = 0;
    int pipe_ends[2];
    int status = -1;
    assert_int_equal(lull_encryptor_new(&encryptor, 4), LULL_OK);
    assert_int_equal(lull_encryptor_prepare(encryptor, 4), 4);
    assert_int_equal(lull_push_encrypt(encryptor, receiver.public_key, receiver.auth, "hello", 5, 0,
                                       mine, &size),
                     LULL_OK); /* there are salts in store as well now */
    assert_true(encryptor->reserve.store->salts_left > 0);
    assert_int_equal(pipe(pipe_ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        bool is_empty = lull_encryptor_prepare(encryptor, 0) == 0 &&
                        encryptor->reserve.store->salts_left == 0 &&
                        encryptor->reserve.store->fresh_left == 0;
        int code = lull_push_encrypt(encryptor, receiver.public_key, receiver.auth, "hello", 5, 0,
                                     childs, &size);
        bool is_told = write(pipe_ends[1], childs, LULL_PUSH_HEADER_SIZE) == LULL_PUSH_HEADER_SIZE;
        _exit(is_empty && code == LULL_OK && is_told ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(read(pipe_ends[0], childs, LULL_PUSH_HEADER_SIZE), LULL_PUSH_HEADER_SIZE);
    assert_int_equal(lull_encryptor_prepare(encryptor, 0), 3); /* the parent's is as it was */
    assert_int_equal(lull_push_encrypt(encryptor, receiver.public_key, receiver.auth, "hello", 5, 0,
                                       mine, &size),
                     LULL_OK);
    assert_memory_not_equal(mine, childs, AES128GCM_SALT_SIZE);
    assert_memory_not_equal(mine + 21, childs + 21, LULL_P256_POINT_SIZE);
    (void)close(pipe_ends[0]);
    (void)close(pipe_ends[1]);
    lull_encryptor_destroy(encryptor);
}

static void test_bounds_of_the_pool(void **state)
{
    (void)state;
    struct lull_encryptor *encryptor = NULL;
    assert_int_equal(lull_encryptor_new(&encryptor, 4097), LULL_ERR_RANGE);
    assert_int_equal(lull_encryptor_new(&encryptor, SIZE_MAX), LULL_ERR_RANGE);
    assert_null(encryptor);
    assert_int_equal(lull_encryptor_new(&encryptor, 4096), LULL_OK);
    assert_int_equal(lull_encryptor_prepare(encryptor, 3), 3);
    lull_encryptor_destroy(encryptor);
    assert_int_equal(lull_encryptor_new(&encryptor, 0), LULL_OK);
    assert_int_equal(lull_encryptor_prepare(encryptor, 5), 0);
    lull_encryptor_destroy(encryptor);
}

/* ---- what stays in libcrypto's memory ---- */

#define BLOCKS_MAX 65536

static struct {
    void *memory;
    size_t size;
} blocks[BLOCKS_MAX]; /* all that libcrypto holds */

static void note_block(void *memory, size_t size)
{
    for (size_t i = 0; memory && i < BLOCKS_MAX; i++) {
        if (!blocks[i].memory) {
            blocks[i].memory = memory;
            blocks[i].size = size;
            return;
        }
    }
}

static void forget_block(const void *memory)
{
    for (size_t i = 0; memory && i < BLOCKS_MAX; i++) {
        if (blocks[i].memory == memory) {
            blocks[i].memory = NULL;
            return;
        }
    }
}

static size_t failing; /* which allocation from now on fails, once; 0: none */

static void *noting_malloc(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    void *memory = failing > 0 && --failing == 0 ? NULL : malloc(size);
    note_block(memory, size);
    return memory;
}

static void *noting_realloc(void *old, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    forget_block(old);
    void *memory = realloc(old, size);
    note_block(memory, size);
    return memory;
}

static void noting_free(void *memory, const char *file, int line)
{
    (void)file;
    (void)line;
    forget_block(memory);
    free(memory);
}

/* In the order of a big number's words, or of the text. */
static bool is_held(const uint8_t secret[LULL_P256_SCALAR_SIZE])
{
    uint8_t reversed[LULL_P256_SCALAR_SIZE];
    for (size_t i = 0; i < sizeof reversed; i++) {
        reversed[i] = secret[sizeof reversed - 1 - i];
    }
    for (size_t i = 0; i < BLOCKS_MAX; i++) {
        if (blocks[i].memory && (memmem(blocks[i].memory, blocks[i].size, reversed, 32) ||
                                 memmem(blocks[i].memory, blocks[i].size, secret, 32))) {
            return true;
        }
    }
    return false;
}

/* A pair is used once and wiped: libcrypto's numbers have nothing of it left either. */
static void test_W1_no_private_key_stays_in_memory(void **state)
{
    (void)state;
    struct lull_encryptor *encryptor = NULL;
    uint8_t body[LULL_PUSH_BODY_MAX];
    uint8_t text[LULL_PUSH_BODY_MAX];
    uint8_t shared[LULL_P256_SCALAR_SIZE];
    size_t size = 0;
    size_t length = 0;
    assert_int_equal(lull_encryptor_new(&encryptor, 1), LULL_OK);
    assert_int_equal(lull_encryptor_prepare(encryptor, 1), 1);
    struct pair pair = encryptor->reserve.store->pairs[0];
    assert_false(is_held(pair.private_key));
    assert_int_equal(lull_push_encrypt(encryptor, receiver.public_key, receiver.auth, "hello", 5, 0,
                                       body, &size),
                     LULL_OK);
    assert_false(is_held(pair.private_key));
    assert_int_equal(lull_push_decrypt(encryptor, receiver.private_key, receiver.auth, body, size,
                                       text, &length),
                     LULL_OK);
    assert_false(is_held(receiver.private_key));
    assert_true(curve_shared(&encryptor->curve, receiver.private_key, body + 21, shared));
    assert_false(is_held(shared));
    lull_encryptor_destroy(encryptor);
}

/* Where libcrypto gets no memory, that is the answer, and not that the receiver's key is bad: its
 * subscription would be thrown away for it. */
static void test_S3_no_memory_is_not_a_bad_key(void **state)
{
    (void)state;
    static const uint8_t nowhere[LULL_P256_POINT_SIZE];
    uint8_t body[LULL_PUSH_BODY_MAX];
    size_t failures = 0;
    size_t n = 1;
    for (bool is_through = false; !is_through && n < 1000; n++) {
        size_t size = 77;
        failing = n;
        int code = lull_push_encrypt(receiver.encryptor, receiver.public_key, receiver.auth,
                                     "hello", 5, 0, body, &size);
        is_through = failing > 0;
        failing = 0;
        assert_true(code == LULL_OK || code == LULL_ERR_MEMORY);
        assert_int_equal(size, code == LULL_OK ? 5 + LULL_PUSH_OVERHEAD : 77);
        failures += code != LULL_OK;
    }
    assert_true(failures > 0 && n < 1000);
    size_t size = 77;
    assert_int_equal(
        lull_push_encrypt(receiver.encryptor, nowhere, receiver.auth, "hello", 5, 0, body, &size),
        LULL_ERR_RANGE);
}

int main(void)
{
    CRYPTO_set_mem_functions(noting_malloc, noting_realloc, noting_free);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_W1_W3_sizes),
        cmocka_unit_test(test_W1_no_text_may_be_null),
        cmocka_unit_test(test_W3_text_that_looks_like_padding),
        cmocka_unit_test(test_W1_too_long_is_refused),
        cmocka_unit_test(test_S3_bad_points),
        cmocka_unit_test(test_S3_bad_private_keys),
        cmocka_unit_test(test_W1_wrong_receiver),
        cmocka_unit_test(test_W1_every_bit_flipped),
        cmocka_unit_test(test_W1_truncated_and_extended),
        cmocka_unit_test(test_W1_no_unverified_text),
        cmocka_unit_test(test_W1_records_of_another_form),
        cmocka_unit_test(test_W1_bad_key_ids),
        cmocka_unit_test(test_W1_another_salt_and_key_each_time),
        cmocka_unit_test(test_W1_keys_made_ahead),
        cmocka_unit_test(test_W1_a_refused_message_leaves_no_used_key),
        cmocka_unit_test(test_W1_destroy_wipes_the_pool),
        cmocka_unit_test(test_W1_a_batch_of_pairs),
        cmocka_unit_test(test_W1_a_forked_child_finds_an_empty_store),
        cmocka_unit_test(test_bounds_of_the_pool),
        cmocka_unit_test(test_W1_no_private_key_stays_in_memory),
        cmocka_unit_test(test_S3_no_memory_is_not_a_bad_key),
    };
    return cmocka_run_group_tests_name("encryptor", tests, set_up, tear_down);
}
