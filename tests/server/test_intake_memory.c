/* Each allocation of the intake fails once: it says so, leaks nothing, and goes on as before. */
#include "intake_world.h"

#include <openssl/crypto.h>

/* Those of Lull itself come here by the linker (--wrap), those of jansson and OpenSSL by
 * themselves. */
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

static size_t failing; /* the so-many-th from now on fails, 0: none */

static bool is_failing(void)
{
    return failing > 0 && --failing == 0;
}

void *__wrap_malloc(size_t size)
{
    return is_failing() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_failing() ? NULL : __real_calloc(count, size);
}

static void *openssl_malloc(size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return __wrap_malloc(size);
}

static void *openssl_realloc(void *old, size_t size, const char *file, int line)
{
    (void)file;
    (void)line;
    return is_failing() ? NULL : realloc(old, size);
}

static void openssl_free(void *memory, const char *file, int line)
{
    (void)file;
    (void)line;
    free(memory);
}

static const char *const messages[] = {
    "{" PUSH
    ",\"body\":\"Hello\",\"padding\":\"random\",\"topic\":\"t\",\"idempotency_key\":\"k\"}",
    "{" PUSH "}",
    "{" HOOK ",\"body_base64\":\"AAEC\",\"policy\":\"news\",\"idempotency_key\":\"k\"}",
    "{\"webhook\":{\"url\":\"" HOOK_URL "\",\"headers\":{\"x\":\"y\"}},\"json\":{\"a\":[1.5]},"
    "\"at\":\"2026-09-21T14:14:20Z\",\"idempotency_key\":\"k\"}",
};

static void run_short(const char *text, size_t length)
{
    static const struct intake_call call = {.now_ms = NOW_MS};
    int code = LULL_ERR_MEMORY;
    size_t count = 0;
    while (code != LULL_OK && count < 1000) {
        struct intake_problem problem = {.status = 0};
        struct job_put *put = NULL;
        char warning[INTAKE_WARNING_SIZE];
        failing = ++count;
        code = intake_read(world.intake, text, length, &call, &put, warning, &problem);
        bool was_reached = failing == 0;
        failing = 0;
        if (was_reached && code != LULL_OK && code != LULL_ERR_MEMORY) {
            fail_msg("allocation %zu of %s: %s, %s", count, text, lull_error_to_string(code),
                     problem.detail);
        }
        assert_true((code == LULL_OK) == (put != NULL));
        if (was_reached && code == LULL_OK) { /* it can do without: one that OpenSSL tries again */
            code = LULL_ERR_MEMORY;
        }
        intake_free(put);
    }
    assert_true(count > 5 && count < 1000);
}

static void test_a_message(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        size_t length = 0;
        char *text = intake_world_fill(messages[i], &length);
        intake_destroy(world.intake); /* a new one, so that its room must grow too */
        assert_int_equal(intake_new(&world.intake, &world.config, world.ring), LULL_OK);
        text[length] = '\0';
        run_short(text, length);
        struct taken taken = take_good(messages[i], NULL);
        intake_free(taken.put);
        free(text);
    }
}

static void test_a_new_intake(void **state)
{
    (void)state;
    int code = LULL_ERR_MEMORY;
    size_t count = 0;
    while (code != LULL_OK && count < 10000) {
        struct intake *intake = NULL;
        failing = ++count;
        code = intake_new(&intake, &world.config, world.ring);
        bool was_reached = failing == 0;
        failing = 0;
        assert_true(code == LULL_OK || code == LULL_ERR_MEMORY);
        assert_true((code == LULL_OK) == (intake != NULL));
        intake_destroy(intake);
        code = was_reached ? LULL_ERR_MEMORY : code;
    }
    assert_true(count > 5 && count < 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_message),
        cmocka_unit_test(test_a_new_intake),
    };
    if (!CRYPTO_set_mem_functions(openssl_malloc, openssl_realloc, openssl_free)) {
        return 1;
    }
    return cmocka_run_group_tests_name("intake_memory", tests, intake_world_set_up,
                                       intake_world_tear_down);
}
