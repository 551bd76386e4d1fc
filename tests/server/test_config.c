/* lull.conf, the environment and the flags: what is taken, and every mistake with its line. */
#include "suite.h"

#include "config.h"
#include "config_keys.h"

struct said {
    char text[16384];
};

static void note(void *userdata, const char *path, int line, const char *where,
                 const char *sentence)
{
    struct said *said = userdata;
    size_t used = strlen(said->text);
    (void)path;
    (void)snprintf(said->text + used, sizeof said->text - used, "%d:%s: %s\n", line, where,
                   sentence);
}

static void test_every_field_has_its_default(void **state)
{
    (void)state;
    struct config config;
    assert_true(config_init(&config));
    assert_string_equal(config.listen, "127.0.0.1:8372");
    assert_int_equal(config.limits.connections, 1024);
    assert_true(config.limits.waiting_soft_max == 5000000);
    assert_int_equal(config.limits.client_timeout_s, 30);
    assert_true(config.limits.timeout_ms == 60000);
    assert_non_null(strstr(config.store, "lull.db"));
    config_clean_up(&config);
}

static void test_a_flag_is_checked(void **state)
{
    (void)state;
    struct config config;
    struct said said = {""};
    struct config_report report = {&said, note};
    assert_true(config_init(&config));
    assert_true(config_set(&config, "limits.senders", "3", "--senders", &report));
    assert_int_equal(config.limits.senders, 3);
    assert_false(config_set(&config, "limits.senders", "0", "--senders", &report));
    assert_int_equal(config.limits.senders, 3);
    assert_string_equal(said.text, "0:--senders: must be 1 to 64\n");
    config_clean_up(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_field_has_its_default),
        cmocka_unit_test(test_a_flag_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
