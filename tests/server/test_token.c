/* Bearer tokens: the file, and the header of a call. */
#include "suite.h"

#include <sys/stat.h>
#include <unistd.h>

#include "said.h"
#include "server_files.h"
#include "token.h"

static void set_file(struct config *config, const char *path, struct said *said)
{
    struct config_report report = {said, note};
    assert_true(config_set(config, "token_file", path, "--token-file", &report));
}

static bool read_tokens(struct config *config, struct said *said)
{
    struct config_report report = {said, note};
    return token_read(config, &report);
}

#define GOOD                                                                                       \
    "# who may\n\nops: correct-horse-battery\n  shop.eu :\tA+/=~0123456789.-_  \r\n"               \
    "hash: sixteen#letters#\n"

static void test_header(void **state)
{
    static const struct {
        const char *header;
        const char *name; /* NULL: refused */
    } cases[] = {
        {"Bearer correct-horse-battery", "ops"},
        {"bearer   correct-horse-battery ", "ops"},
        {"BEARER A+/=~0123456789.-_", "shop.eu"},
        {"Bearer sixteen#letters#", "hash"},
        {"Bearer correct-horse-batter", NULL},
        {"Bearer correct-horse-battery2", NULL},
        {"Bearer Correct-horse-battery", NULL},
        {"Bearer ops: correct-horse-battery", NULL},
        {"Bearer ops", NULL},
        {"Bearer", NULL},
        {"Bearer ", NULL},
        {"Basic correct-horse-battery", NULL},
        {"Bearercorrect-horse-battery", NULL},
        {"correct-horse-battery", NULL},
        {"", NULL},
        {NULL, NULL},
    };
    struct config config;
    struct said said = {.text = ""};
    (void)state;
    assert_true(config_init(&config));
    assert_null(token_find(&config, "Bearer "));
    set_file(&config, files_write("tokens", GOOD, 0600), &said);
    assert_true(read_tokens(&config, &said));
    assert_true(read_tokens(&config, &said)); /* anew, not on top */
    assert_int_equal(config.token_count, 3);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct config_token *token = token_find(&config, cases[i].header);
        if (cases[i].name) {
            assert_non_null(token);
            assert_string_equal(token->name, cases[i].name);
        } else {
            assert_null(token);
        }
    }
    config_clean_up(&config);
}

static void test_mistakes(void **state)
{
    struct config config;
    struct said said = {.text = ""};
    (void)state;
    assert_true(config_init(&config));
    set_file(&config,
             files_write("tokens",
                         "a: long-enough-secret\nb: fifteen-letters\nno colon\n"
                         "a: another-long-secret\nc: long-enough-secret\n"
                         "d d: long-enough-secret-2\ne: with space in the middle\n"
                         ": long-enough-secret-3\n",
                         0600),
             &said);
    assert_false(read_tokens(&config, &said));
    assert_string_equal(said.text,
                        "tokens:2: : the secret must have 16 to 512 characters\n"
                        "tokens:3: : a line must be 'name: secret'\n"
                        "tokens:4: : there is a token of this name above\n"
                        "tokens:5: : the token 'a' has the same secret\n"
                        "tokens:6: : a name must have 1 to 63 letters, digits, points, lines or "
                        "underscores\n"
                        "tokens:7: : the secret must be ASCII without spaces\n"
                        "tokens:8: : a name must have 1 to 63 letters, digits, points, lines or "
                        "underscores\n");
    assert_int_equal(config.token_count, 0);
    assert_null(token_find(&config, "Bearer long-enough-secret"));
    config_clean_up(&config);
}

static void test_files_that_are_refused(void **state)
{
    static const struct {
        const char *name;
        const char *text;
        mode_t mode;
        const char *says;
    } cases[] = {
        {"group", GOOD, 0640, "others have access to the token file; mend it: chmod 600 "},
        {"others", GOOD, 0604, "others have access to the token file"},
        {"empty", "# nobody\n", 0600, "has no line 'name: secret'"},
        {"a folder", NULL, 0, "is a folder"},
        {"missing", NULL, 0, "the token file cannot be read: No such file"},
    };
    (void)state;
    assert_int_equal(mkdir(files_path("a folder"), 0700), 0);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config;
        struct said said = {.text = ""};
        assert_true(config_init(&config));
        set_file(&config,
                 cases[i].text ? files_write(cases[i].name, cases[i].text, cases[i].mode)
                               : files_path(cases[i].name),
                 &said);
        assert_false(read_tokens(&config, &said));
        assert_int_equal(said.count, 1);
        assert_memory_equal(said.text, "-:0: --token-file: ", 19);
        assert_non_null(strstr(said.text, cases[i].says));
        assert_int_equal(config.token_count, 0);
        config_clean_up(&config);
    }
}

/* A link is what container platforms give; what it leads to is what is checked. */
static void test_a_link_is_followed(void **state)
{
    struct config config;
    struct said said = {.text = ""};
    (void)state;
    assert_true(config_init(&config));
    assert_int_equal(symlink(files_write("real", GOOD, 0600), files_path("link")), 0);
    set_file(&config, files_path("link"), &said);
    assert_true(read_tokens(&config, &said));
    assert_int_equal(chmod(files_path("real"), 0644), 0);
    assert_false(read_tokens(&config, &said));
    config_clean_up(&config);
}

/* With a token, an address that others reach is fine; one that cannot be read is no token. */
static void test_listening_beyond_loopback(void **state)
{
    struct config config;
    struct said said = {.text = ""};
    struct config_report report = {&said, note};
    (void)state;
    assert_true(config_init(&config));
    assert_true(config_set(&config, "listen", "0.0.0.0:8372", "--listen", &report));
    assert_false(config_check(&config, &report));
    assert_non_null(strstr(said.text,
                           "-:0: --listen: others could reach this address, so it needs a "
                           "token_file; make one: (umask 077; echo "));
    set_file(&config, files_write("tokens", GOOD, 0600), &said);
    assert_true(config_check(&config, &report));
    assert_int_equal(chmod(files_path("tokens"), 0644), 0);
    assert_false(config_check(&config, &report));
    config_clean_up(&config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_files_that_are_refused),
        cmocka_unit_test(test_a_link_is_followed),
        cmocka_unit_test(test_listening_beyond_loopback),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
