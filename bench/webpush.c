/*
 * bench/webpush - what it costs to encrypt a message, next to what it cannot be done without.
 *
 *   bench-webpush [MESSAGES]      with a number: only ours, for the comparison with other programs
 *
 * The primitives are timed in the same run and in turn with ours, so that whatever else the machine
 * does meets all of them: one multiplication of the generator, one of a point, the hashes of the
 * key derivation, the cipher; each by itself, and one after the other. That is the sum that counts:
 * a multiplication that is repeated by itself finds its tables at hand, as it does in no message.
 * The targets: 1.15 times that; with key pairs made ahead, 1.15 times that without the generator's.
 */
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/obj_mac.h>
#include <openssl/rand.h>
#include <stdio.h>
#include <stdlib.h>

#include "lull/error.h"
#include "lull/os.h"
#include "lull/webpush.h"
#include "rounds.h"

#define ROUNDS 150
/* In a round: as many as the library makes key pairs at once. With fewer, some rounds would have
 * their keys for nothing, and the median would be of those. */
#define REPEATS 64
#define TEXT_SIZE 200
#define TARGET 1.15
#define ENDPOINT "https://push.example.org/wpush/v2/gAAAAABf"

static struct lull_encryptor *encryptor;
static struct lull_vapid_ring *ring;
static uint8_t private_key[LULL_P256_SCALAR_SIZE];
static uint8_t p256dh[LULL_P256_POINT_SIZE];
static uint8_t auth[LULL_PUSH_AUTH_SIZE];
static uint8_t text[TEXT_SIZE];
static uint8_t body[LULL_PUSH_BODY_MAX];

static EC_GROUP *group;
static EC_POINT *point;
static EC_POINT *product;
static BIGNUM *scalar;
static BN_CTX *numbers;
static EVP_MD *sha256;
static EVP_MD_CTX *digest;
static EVP_CIPHER *cipher;
static EVP_CIPHER_CTX *encryption;

/* ---- the primitives ---- */

static int multiply_generator(void)
{
    return EC_POINT_mul(group, product, scalar, NULL, NULL, numbers);
}

static int multiply_point(void)
{
    return EC_POINT_mul(group, product, NULL, point, scalar, numbers);
}

static int hash(size_t length)
{
    uint8_t sum[32];
    return EVP_DigestInit_ex2(digest, sha256, NULL) && EVP_DigestUpdate(digest, body, length) &&
           EVP_DigestFinal_ex(digest, sum, NULL);
}

/* Five HMACs are ten hashes: each over a block of key, and the data or the inner sum. */
static int hash_all(void)
{
    static const size_t lengths[] = {64 + 32, 64 + 145, 64 + 32, 64 + 29, 64 + 25};
    int is_good = 1;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        is_good &= hash(lengths[i]) & hash(64 + 32);
    }
    return is_good;
}

static int seal(void)
{
    static uint8_t out[TEXT_SIZE + 1 + 16];
    int written = 0;
    return EVP_EncryptInit_ex2(encryption, cipher, body, body + 16, NULL) &&
           EVP_EncryptUpdate(encryption, out, &written, body, TEXT_SIZE + 1) &&
           EVP_EncryptFinal_ex(encryption, out + written, &written) &&
           EVP_CIPHER_CTX_ctrl(encryption, EVP_CTRL_AEAD_GET_TAG, 16, out + TEXT_SIZE + 1);
}

/* In turn, as a message needs them: each finds the caches as the others left them. */
static int run_primitives_ahead(void)
{
    return multiply_point() && hash_all() && seal();
}

static int run_primitives(void)
{
    return multiply_generator() && run_primitives_ahead();
}

/* ---- ours ---- */

static int encrypt(void)
{
    size_t length = 0;
    return lull_push_encrypt(encryptor, p256dh, auth, text, sizeof text, 0, body, &length) ==
           LULL_OK;
}

/* All that a message needs before it can leave. */
static int encrypt_and_authorize(void)
{
    const char *header = NULL;
    return encrypt() &&
           lull_vapid_authorize(ring, NULL, ENDPOINT, lull_os_now_ms(), false, &header) == LULL_OK;
}

static void prepare(void)
{
    (void)lull_encryptor_prepare(encryptor, REPEATS);
}

struct way {
    const char *name;
    int (*run)(void);
    void (*before)(void); /* outside of the measured time */
    double us[ROUNDS];
};

enum { GENERATOR, POINT, HASHES, CIPHER, SUM, SUM_AHEAD, OURS, OURS_AHEAD, OURS_SIGNED, WAYS };

static struct way ways[WAYS] = {
    [GENERATOR] = {.name = "EC_POINT_mul, generator", .run = multiply_generator},
    [POINT] = {.name = "EC_POINT_mul, point", .run = multiply_point},
    [HASHES] = {.name = "ten SHA-256", .run = hash_all},
    [CIPHER] = {.name = "AES-128-GCM", .run = seal},
    [SUM] = {.name = "all four, one after the other", .run = run_primitives},
    [SUM_AHEAD] = {.name = "without the generator", .run = run_primitives_ahead},
    [OURS] = {.name = "lull_push_encrypt", .run = encrypt},
    [OURS_AHEAD] = {.name = "lull_push_encrypt, keys made ahead",
                    .run = encrypt,
                    .before = prepare},
    [OURS_SIGNED] = {.name = "and lull_vapid_authorize", .run = encrypt_and_authorize},
};

static double time_round(const struct way *way, int repeats)
{
    if (way->before) {
        way->before();
    }
    double start_us = rounds_now_us(CLOCK_MONOTONIC);
    for (int i = 0; i < repeats; i++) {
        if (!way->run()) {
            (void)fprintf(stderr, "bench-webpush: %s failed\n", way->name);
            exit(2);
        }
    }
    return (rounds_now_us(CLOCK_MONOTONIC) - start_us) / repeats;
}

/* Of a way to another, round by round. */
static double ratio_of(int way, int other)
{
    return rounds_median_ratio(ways[way].us, ways[other].us, ROUNDS);
}

static int set_up(void)
{
    struct lull_vapid_key *key = NULL;
    group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    point = EC_POINT_new(group);
    product = EC_POINT_new(group);
    numbers = BN_CTX_new();
    scalar = BN_new();
    sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
    digest = EVP_MD_CTX_new();
    cipher = EVP_CIPHER_fetch(NULL, "AES-128-GCM", NULL);
    encryption = EVP_CIPHER_CTX_new();
    return lull_encryptor_new(&encryptor, REPEATS) == LULL_OK &&
           lull_push_keypair(encryptor, private_key, p256dh) == LULL_OK &&
           lull_vapid_ring_new(&ring, NULL) == LULL_OK &&
           lull_vapid_key_new(&key, "mailto:bench@example.org", NULL) == LULL_OK &&
           lull_vapid_ring_add(ring, key) == LULL_OK &&
           BN_rand_range(scalar, EC_GROUP_get0_order(group)) &&
           EC_POINT_oct2point(group, point, p256dh, sizeof p256dh, numbers) &&
           RAND_bytes(auth, sizeof auth) == 1 && RAND_bytes(text, sizeof text) == 1;
}

static void tear_down(void)
{
    EVP_CIPHER_CTX_free(encryption);
    EVP_CIPHER_free(cipher);
    EVP_MD_CTX_free(digest);
    EVP_MD_free(sha256);
    BN_free(scalar);
    BN_CTX_free(numbers);
    EC_POINT_free(product);
    EC_POINT_free(point);
    EC_GROUP_free(group);
    lull_vapid_ring_destroy(ring);
    lull_encryptor_destroy(encryptor);
}

int main(int argc, char **argv)
{
    if (!set_up()) {
        return 2;
    }
    if (argc > 1) {
        printf("%.2f\n", time_round(&ways[OURS_SIGNED], (int)strtol(argv[1], NULL, 10)));
        tear_down();
        return 0;
    }
    for (int round = -10; round < ROUNDS; round++) { /* the first few only warm up */
        for (int i = 0; i < WAYS; i++) {
            ways[i].us[round < 0 ? 0 : round] = time_round(&ways[i], REPEATS);
        }
    }
    printf("bench/webpush: a message of %d bytes, median of %d rounds of %d each\n", TEXT_SIZE,
           ROUNDS, REPEATS);
    for (int i = 0; i <= SUM_AHEAD; i++) {
        printf("  %-36s %6.1f us\n", ways[i].name, rounds_median(ways[i].us, ROUNDS));
    }
    double whole = ratio_of(OURS, SUM);
    double ahead = ratio_of(OURS_AHEAD, SUM_AHEAD);
    printf("  %-36s %6.1f us  %.3f x all four%s\n", ways[OURS].name,
           rounds_median(ways[OURS].us, ROUNDS), whole, whole > TARGET ? "  MISSED" : "");
    printf("  %-36s %6.1f us  %.3f x that without the generator%s\n", ways[OURS_AHEAD].name,
           rounds_median(ways[OURS_AHEAD].us, ROUNDS), ahead, ahead > TARGET ? "  MISSED" : "");
    printf("  %-36s %6.1f us\n", ways[OURS_SIGNED].name,
           rounds_median(ways[OURS_SIGNED].us, ROUNDS));
    tear_down();
    return whole > TARGET || ahead > TARGET;
}
