/* lull.conf, the environment and the flags: what is taken, and every mistake with its line. */
#include "suite.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "config.h"
#include "config_keys.h"
#include "said.h"
#include "server_files.h"

/* Reads a text as lull.conf in the folder of this test. */
static bool read_text(struct config *config, const char *text, struct said *said)
{
    struct config_report report = {said, note};
    return config_read_file(config, files_write("conf", text, 0644), &report);
}

static bool check(struct config *config, struct said *said)
{
    struct config_report report = {said, note};
    return config_check(config, &report);
}

#define WITH_CONFIG                                                                                \
    struct config config;                                                                          \
    struct said said = {.text = ""};                                                               \
    (void)state;                                                                                   \
    assert_true(config_init(&config))

static void test_defaults_are_those_of_the_table(void **state)
{
    WITH_CONFIG;
    assert_string_equal(config.listen, "127.0.0.1:8372");
    assert_null(config.token_file);
    assert_null(config.ca_file);
    assert_null(config.proxy);
    assert_int_equal(config.key_count, 0);
    assert_string_equal(config.push_policy, "delivery");
    assert_string_equal(config.webhook_policy, "webhook");
    assert_false(config.is_private_allowed);
    assert_memory_equal(config.subject, "mailto:admin@", 13);
    assert_in_range(config.limits.api_threads, 1, 8);
    assert_in_range(config.limits.senders, 1, 64);
    assert_int_equal(config.limits.connections, 1024);
    assert_int_equal(config.limits.body_max, 65536);
    assert_int_equal(config.limits.batch_lines_max, 100000);
    assert_true(config.limits.batch_bytes_max == 268435456);
    assert_int_equal(config.limits.client_timeout_s, 30);
    assert_int_equal(config.limits.in_flight_max, 8000);
    assert_int_equal(config.limits.in_flight_per_service_max, 2000);
    assert_true(config.limits.waiting_soft_max == 5000000);
    assert_true(config.limits.waiting_hard_max == 6000000);
    assert_int_equal(config.limits.poison_after, 10);
    assert_true(config.limits.connect_timeout_ms == 10000);
    assert_true(config.limits.first_byte_timeout_ms == 30000);
    assert_true(config.limits.timeout_ms == 60000);
    assert_true(config.limits.drain_timeout_ms == 30000);
    assert_int_equal(config.limits.delivered_kept, 10000);
    assert_true(check(&config, &said));
    config_clean_up(&config);
}

static void test_store_is_in_the_state_folder(void **state)
{
    static const struct {
        const char *service;
        const char *xdg;
        const char *home;
        const char *store;
    } cases[] = {
        {"/var/lib/lull:/var/lib/b", "/x", "/h", "/var/lib/lull/lull.db"},
        {NULL, "/x", "/h", "/x/lull/lull.db"},
        {NULL, "relative", "/h", "/h/.local/state/lull/lull.db"},
        {NULL, NULL, "/h", "/h/.local/state/lull/lull.db"},
        {NULL, NULL, NULL, "lull.db"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config;
        files_set_variable("STATE_DIRECTORY", cases[i].service);
        files_set_variable("XDG_STATE_HOME", cases[i].xdg);
        files_set_variable("HOME", cases[i].home);
        assert_true(config_init(&config));
        assert_string_equal(config.store, cases[i].store);
        config_clean_up(&config);
    }
    files_set_variable("HOME", "/nonexistent");
}

static void test_every_key_in_a_file(void **state)
{
    WITH_CONFIG;
    const char *text = "# all of them\n"
                       "listen = \"[::1]:8373\"\n"
                       "store = data/lull.db   // beside the file\n"
                       "token_file = /etc/lull/tokens\n"
                       "vapid_keys = {\"a.json\", /* the\n"
                       "old one */ '/b.json'}\n"
                       "subject = \"mailto:ops@example.org\"\n"
                       "ca_file = ca.pem\n"
                       "proxy = \"http://proxy.example:3128\"\n"
                       "push_policy = \"bulk retries=9\"\n"
                       "webhook_policy = \"night\"\n"
                       "allow_private = yes\n"
                       "limits {\n"
                       "  api_threads = 2\n  senders = 3\n  connections = 4\n"
                       "  body_max = 1MiB\n  batch_lines_max = 6\n  batch_bytes_max = 1GiB\n"
                       "  client_timeout = 2m\n  in_flight_max = 9\n"
                       "  in_flight_per_service_max = 10\n  waiting_soft_max = 11\n"
                       "  waiting_hard_max = 12\n  poison_after = 13\n"
                       "  connect_timeout = 500ms\n  first_byte_timeout = 15s\n"
                       "  timeout = \"16s\"\n  drain_timeout = 0\n  delivered_kept = 18\n"
                       "}\n"
                       "policy \"night\" { text = \"bulk retries=30\" }\n"
                       "service \"FCM\" {\n  rate = \"100/s burst 500\"\n  in_flight_max = 50\n}\n"
                       "service slow.example { rate = \"0.5/s\" }\n"
                       "service \"free.example\" { rate = unlimited }\n";
    if (!read_text(&config, text, &said)) {
        fail_msg("%s", said.text);
    }
    assert_string_equal(config.listen, "[::1]:8373");
    assert_string_equal(config.store, files_path("data/lull.db"));
    assert_string_equal(config.token_file, "/etc/lull/tokens");
    assert_int_equal(config.key_count, 2);
    assert_string_equal(config.key_paths[0], files_path("a.json"));
    assert_string_equal(config.key_paths[1], "/b.json");
    assert_string_equal(config.subject, "mailto:ops@example.org");
    assert_string_equal(config.ca_file, files_path("ca.pem"));
    assert_string_equal(config.proxy, "http://proxy.example:3128");
    assert_true(config.is_private_allowed);
    assert_int_equal(config.limits.api_threads, 2);
    assert_int_equal(config.limits.senders, 3);
    assert_int_equal(config.limits.connections, 4);
    assert_int_equal(config.limits.body_max, 1048576);
    assert_int_equal(config.limits.batch_lines_max, 6);
    assert_true(config.limits.batch_bytes_max == INT64_C(1073741824));
    assert_int_equal(config.limits.client_timeout_s, 120);
    assert_int_equal(config.limits.in_flight_max, 9);
    assert_int_equal(config.limits.in_flight_per_service_max, 10);
    assert_true(config.limits.waiting_soft_max == 11);
    assert_true(config.limits.waiting_hard_max == 12);
    assert_int_equal(config.limits.poison_after, 13);
    assert_true(config.limits.connect_timeout_ms == 500);
    assert_true(config.limits.first_byte_timeout_ms == 15000);
    assert_true(config.limits.timeout_ms == 16000);
    assert_true(config.limits.drain_timeout_ms == 0);
    assert_int_equal(config.limits.delivered_kept, 18);
    assert_int_equal(config.policy_count, 1);
    assert_int_equal(config.policies[0].policy.retries, 30);
    const struct config_service *fcm = config_find_service(&config, "fcm");
    assert_true(fcm->rate_milli_per_s == 100000 && fcm->burst == 500);
    assert_int_equal(fcm->in_flight_max, 50);
    const struct config_service *slow = config_find_service(&config, "slow.example");
    assert_true(slow->rate_milli_per_s == 500 && slow->burst == 1 && slow->in_flight_max == 0);
    const struct config_service *unlimited = config_find_service(&config, "free.example");
    assert_true(unlimited->rate_milli_per_s == 0 && unlimited->burst == 0);
    assert_null(config_find_service(&config, "other.example"));
    config_clean_up(&config);
}

/* Each mistake of one file is told, and each with its line. */
static void test_all_mistakes_are_told_with_their_lines(void **state)
{
    WITH_CONFIG;
    const char *text = "sendrs = 4\n"
                       "limits {\n"
                       "  senders = 0\n"
                       "  threads = {1, 2}\n"
                       "  timeout = soon\n"
                       "  timeout = 5s\n"
                       "}\n"
                       "/* a\n   long\n   comment */\n"
                       "policy \"night\" { text = \"bulk retries=5000\" }\n"
                       "polices \"x\" { text = \"}\" }\n"
                       "policy \"empty\" {\n}\n"
                       "service \"fcm\" { rate = 100 in_flight_max = 0 }\n"
                       "service \"fcm\" { rate = unlimited }\n"
                       "service \"FCM\" { rate = unlimited }\n"
                       "allow_private = perhaps\n"
                       "subject = you\n"
                       "store = \"\"\n"
                       "webhook_secret \"shop\" { file = missing }\n"
                       "webhook_secret \"a b\" { file = missing }\n";
    assert_false(read_text(&config, text, &said));
    static const char *const parts[] = {
        "conf:1: sendrs: there is no such key",
        "conf:3: limits.senders: must be 1 to 64",
        "conf:4: threads: there is no such key",
        "conf:5: limits.timeout: must be a duration like",
        "conf:6: timeout: it stands twice; the first is in line 5",
        "conf:11: policy \"night\": retries must be 0 to 1000",
        "conf:12: polices: there is no such key",
        "conf:14: policy \"empty\": it needs a text",
        "conf:15: service \"fcm\": rate must be unlimited, or like 100/s",
        "conf:15: in_flight_max: must be 1 to 1000000",
        "conf:17: service \"fcm\": there is one of this name above",
        "conf:18: allow_private: must be yes or no",
        "conf:19: subject: ",
        "conf:20: store: must not be empty",
        "conf:21: webhook_secret \"shop\": the secret file cannot be read: No such file",
        "conf:22: webhook_secret: a name must have 1 to 63 letters",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (!strstr(said.text, parts[i])) {
            fail_msg("'%s' is missing in:\n%s", parts[i], said.text);
        }
    }
    assert_int_equal(said.count, sizeof parts / sizeof parts[0]);
    config_clean_up(&config);
}

static void test_texts_that_are_no_configuration(void **state)
{
    static const struct {
        const char *text;
        const char *says;
    } cases[] = {
        {"\nlisten = \"open\n", "conf:2: : the text is not closed in its line"},
        {"listen = \"${HOME}\"\n", "conf:1: : variables are not put into texts"},
        {"listen = \"a\\nb\"\n", "a backslash stands only before"},
        {"proxy = http://proxy\n", "// in it must stand in quotes"},
        {"/* open\n", "conf:1: : the comment that begins here is not closed"},
        {"limits {\n  senders = 1\n", "conf:1: : the last { in this line is not closed"},
        {"}\n", "there is no { to this }"},
        {"limits { a = { b { c = 1 } } }\n", "too many {"},
        {"listen \"x\"\n", "missing equal sign after option 'listen'"},
        {"limits = 4\n", "missing opening brace for section 'limits'"},
        {"policy { text = \"bulk\" }\n", "missing title for section 'policy'"},
        {"listen = {a}\n", "something that does not belong here"},
        {"listen = a b\n", "conf:1: : there is something that does not belong here"},
        {"\"listen\" = a\n", "a = must stand behind a key"},
        {"include(\"/etc/passwd\")\n", "a sign that must stand in quotes"},
        {"vapid_keys += {\"a\"}\n", "a sign that must stand in quotes"},
        {"listen = a\1b\n", "a control character"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct config config;
        struct said said = {.text = ""};
        assert_true(config_init(&config));
        if (read_text(&config, cases[i].text, &said) || !strstr(said.text, cases[i].says)) {
            fail_msg("%s: '%s' is missing in:\n%s", cases[i].text, cases[i].says, said.text);
        }
        config_clean_up(&config);
    }
}

static void test_a_file_that_cannot_be_read(void **state)
{
    WITH_CONFIG;
    struct config_report report = {&said, note};
    assert_false(config_read_file(&config, files_path("none"), &report));
    assert_string_equal(said.text, "none:0: : it cannot be read: No such file or directory\n");
    assert_false(config_read_file(&config, files_path("."), &report));
    assert_non_null(strstr(said.text, "Is a directory"));
    config_clean_up(&config);
}

/* A value that is wrong may be a secret that was put in the wrong place. */
static void test_no_value_is_repeated(void **state)
{
    WITH_CONFIG;
    struct config_report report = {&said, note};
    assert_false(read_text(&config,
                           "limits { senders = HUSH }\nallow_private = HUSH\ntoken_file = x HUSH\n"
                           "subject = HUSH\nservice \"fcm\" { rate = HUSH }\n"
                           "webhook_secret \"HUSH HUSH\" { file = HUSH }\n"
                           "webhook_secret \"a\" { file = HUSH }\n",
                           &said));
    for (size_t i = 0; i < config_key_count; i++) {
        (void)config_set(&config, config_keys[i].name, "HUSH", "--flag", &report);
    }
    assert_false(check(&config, &said));
    (void)files_write("secrets", "whsec_HUSH\n", 0600);
    assert_false(read_text(&config, "webhook_secret \"b\" { file = secrets }\n", &said));
    assert_non_null(strstr(said.text, "secrets:1: webhook_secret \"b\": this is no whsec_"));
    /* A policy's own words are told, since no secret is ever near them; so is a host. */
    for (char *at = said.text; (at = strstr(at, "HUSH")) != NULL; at++) {
        bool is_policy = strncmp(at, "HUSH is not a policy", 20) == 0;
        if (!is_policy) {
            fail_msg("%s", said.text);
        }
    }
    config_clean_up(&config);
}

static void test_flags_and_variables(void **state)
{
    WITH_CONFIG;
    struct config_report report = {&said, note};
    assert_true(
        read_text(&config, "limits { senders = 2 connections = 7 }\nlisten = \"a:1\"\n", &said));
    files_set_variable("LULL_SENDERS", "3");
    files_set_variable("LULL_LISTEN", "127.0.0.1:0");
    files_set_variable("LULL_STORE", "");
    files_set_variable("LULL_VAPID_KEYS", "a.json:b.json");
    assert_true(config_read_environment(&config, &report));
    assert_true(config_set(&config, "limits.senders", "4", "--senders", &report));
    assert_int_equal(config.limits.senders, 4);
    assert_int_equal(config.limits.connections, 7);
    assert_string_equal(config.listen, "127.0.0.1:0");
    assert_int_equal(config.key_count, 2);
    assert_string_equal(config.key_paths[1], "b.json");
    assert_false(config_set(&config, "limits.senders", "65", "--senders", &report));
    assert_false(config_set(&config, "sender", "6", "--set", &report));
    files_set_variable("LULL_SENDERS", "many");
    assert_false(config_read_environment(&config, &report));
    assert_string_equal(said.text, "-:0: --senders: must be 1 to 64\n"
                                   "-:0: --set: there is no such key; lull.conf(5) lists them\n"
                                   "-:0: LULL_SENDERS: must be a whole number\n");
    assert_int_equal(config.limits.senders, 4);
    for (size_t i = 0; i < config_key_count; i++) {
        files_set_variable(config_keys[i].variable, NULL);
    }
    config_clean_up(&config);
}

static void test_what_depends_on_several_keys(void **state)
{
    WITH_CONFIG;
    struct config_report report = {&said, note};
    assert_true(read_text(&config,
                          "limits {\n waiting_soft_max = 9000000\n}\nlisten = \"0.0.0.0:8372\"\n"
                          "push_policy = \"nightly\"\nca_file = none\n",
                          &said));
    assert_true(
        config_set(&config, "webhook_policy", "bulk retries=x", "--webhook-policy", &report));
    assert_false(check(&config, &said));
    static const char *const parts[] = {
        "conf:4: listen: others could reach this address, so it needs a token_file",
        "conf:2: limits.waiting_soft_max: limits.waiting_soft_max must not be over",
        "conf:5: push_policy: nightly is not a policy",
        "-:0: --webhook-policy: retries must be a whole number",
        "conf:6: ca_file: the file cannot be read: No such file",
    };
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (!strstr(said.text, parts[i])) {
            fail_msg("'%s' is missing in:\n%s", parts[i], said.text);
        }
    }
    assert_int_equal(said.count, 5);
    config_clean_up(&config);
}

static int parse_policy(const struct config *config, const char *text, struct lull_policy *policy,
                        struct lull_policy_error *error)
{
    return config_policy_parse(config, text, strlen(text), policy, error);
}

/* B4: a name of the configuration wins, and takes changes. */
static void test_policies_by_name(void **state)
{
    WITH_CONFIG;
    struct lull_policy policy;
    struct lull_policy_error error;
    assert_true(read_text(&config,
                          "policy \"delivery\" { text = \"delivery retries=8\" }\n"
                          "policy \"night\" { text = \"delivery cap=1h\" }\n",
                          &said));
    assert_int_equal(parse_policy(&config, "night retries=2", &policy, &error), LULL_OK);
    assert_int_equal(policy.retries, 2);
    assert_true(policy.backoff.cap_ms == 3600000);
    assert_string_equal(policy.name, "night");
    assert_int_equal(parse_policy(&config, " night", &policy, &error), LULL_OK);
    assert_int_equal(policy.retries, 8);
    assert_int_equal(parse_policy(&config, "delivery", &policy, &error), LULL_OK);
    assert_int_equal(policy.retries, 8);
    assert_int_equal(parse_policy(&config, "bulk", &policy, &error), LULL_OK);
    assert_int_equal(policy.retries, 7);
    assert_int_equal(parse_policy(&config, "", &policy, &error), LULL_OK);
    assert_int_equal(policy.retries, 5);
    policy.retries = 77;
    assert_int_equal(parse_policy(&config, "night retries=x", &policy, &error), LULL_ERR_SYNTAX);
    assert_int_equal(error.offset, 14);
    assert_int_equal(parse_policy(&config, "nigh", &policy, NULL), LULL_ERR_UNKNOWN);
    assert_int_equal(policy.retries, 77);
    config_clean_up(&config);
}

/* W4: several secrets, so that one can be changed; never one that others can read. */
static void test_secrets_of_webhooks(void **state)
{
    WITH_CONFIG;
    (void)files_write("secrets",
                      "# the new one first\nwhsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n\n"
                      "  whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA \r\n",
                      0600);
    const char *text = "webhook_secret \"shop\" { file = secrets }\n"
                       "webhook_secret \"other\" { file = secrets }\n";
    assert_true(read_text(&config, text, &said));
    assert_int_equal(config.signer_count, 2);
    assert_int_equal(config_find_signer(&config, "shop")->secret_count, 2);
    assert_int_equal(config_find_signer(&config, "other")->secrets[0].length, 24);
    assert_null(config_find_signer(&config, "none"));
    assert_int_equal(chmod(files_path("secrets"), 0640), 0);
    assert_false(read_text(&config, "webhook_secret \"b\" { file = secrets }\n", &said));
    assert_non_null(strstr(said.text, "others have access to the secret file; mend it: chmod 600"));
    (void)files_write("secrets", "# none\n", 0600);
    assert_false(read_text(&config, "webhook_secret \"b\" { file = secrets }\n", &said));
    assert_non_null(strstr(said.text, "no secret in it"));
    config_clean_up(&config);
}

/* Nothing is said twice, and nothing is forgotten. */
static void test_the_table_is_whole(void **state)
{
    (void)state;
    char buffer[CONFIG_NUMBER_SIZE];
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_keys[i];
        assert_true(strlen(key->name) < CONFIG_NAME_SIZE);
        assert_memory_equal(key->variable, "LULL_", 5);
        assert_non_null(key->option);
        assert_non_null(key->value);
        assert_true(strlen(key->help) > 5);
        assert_true(strlen(config_key_usual(key, buffer)) > 0);
        assert_ptr_equal(config_key_find(key->name), key);
        for (size_t k = 0; k < i; k++) {
            assert_string_not_equal(key->name, config_keys[k].name);
            assert_string_not_equal(key->variable, config_keys[k].variable);
            assert_string_not_equal(key->option, config_keys[k].option);
            assert_true(key->offset != config_keys[k].offset);
        }
    }
    assert_string_equal(config_key_usual(config_key_find("limits.batch_bytes_max"), buffer),
                        "256MiB");
    assert_string_equal(config_key_usual(config_key_find("limits.client_timeout"), buffer), "30s");
}

/* "limits.senders" stands in its section as "senders". */
static const char *name_in_section(const struct config_key *key)
{
    const char *point = strchr(key->name, '.');
    return point ? point + 1 : key->name;
}

/* The example is good as it stands, and has every key, with its default where that is a value. */
static void test_the_example(void **state)
{
    WITH_CONFIG;
    char *text = files_read_source("docs/lull.conf");
    if (!read_text(&config, text, &said) || !check(&config, &said)) {
        fail_msg("%s", said.text);
    }
    for (size_t i = 0; i < config_key_count; i++) {
        char buffer[CONFIG_NUMBER_SIZE];
        char line[128];
        const char *usual = config_key_usual(&config_keys[i], buffer);
        bool is_known = *usual != '(';
        (void)snprintf(line, sizeof line, config_keys[i].usual_text ? "%s = \"%s\"" : "%s = %s",
                       name_in_section(&config_keys[i]), usual);
        line[is_known ? strlen(line) : strcspn(line, "\"")] = '\0';
        const char *found = strstr(text, line);
        if (!found || (is_known && !strchr(" \n", found[strlen(line)]))) {
            fail_msg("docs/lull.conf has no '%s'", line);
        }
    }
    free(text);
    config_clean_up(&config);
}

static bool man_page_has(const char *page, const char *name, const char *option,
                         const char *variable)
{
    char line[256];
    char dashed[64];
    size_t used = 0;
    for (; *option; option++) { /* \- is a dash that stays one */
        if (*option == '-') {
            dashed[used++] = '\\';
        }
        dashed[used++] = *option;
    }
    dashed[used] = '\0';
    (void)snprintf(line, sizeof line, "\n.BR %s \" (\\-\\-%s, %s)\"\n", name, dashed, variable);
    return strstr(page, line) != NULL;
}

static void test_the_man_page_has_every_key_and_default(void **state)
{
    (void)state;
    char *page = files_read_source("docs/man/lull.conf.5");
    for (size_t i = 0; i < config_key_count; i++) {
        const struct config_key *key = &config_keys[i];
        char buffer[CONFIG_NUMBER_SIZE];
        char usual[64];
        const char *name = name_in_section(key);
        if (!man_page_has(page, name, key->option, key->variable)) {
            fail_msg("lull.conf.5 has no %s with --%s and %s", key->name, key->option,
                     key->variable);
        }
        (void)snprintf(usual, sizeof usual, "Default %s.", config_key_usual(key, buffer));
        if (!strchr(usual, '(') && !strstr(page, usual)) {
            fail_msg("lull.conf.5 does not say of %s: '%s'", key->name, usual);
        }
    }
    free(page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults_are_those_of_the_table),
        cmocka_unit_test(test_store_is_in_the_state_folder),
        cmocka_unit_test(test_every_key_in_a_file),
        cmocka_unit_test(test_all_mistakes_are_told_with_their_lines),
        cmocka_unit_test(test_texts_that_are_no_configuration),
        cmocka_unit_test(test_a_file_that_cannot_be_read),
        cmocka_unit_test(test_no_value_is_repeated),
        cmocka_unit_test(test_flags_and_variables),
        cmocka_unit_test(test_what_depends_on_several_keys),
        cmocka_unit_test(test_policies_by_name),
        cmocka_unit_test(test_secrets_of_webhooks),
        cmocka_unit_test(test_the_table_is_whole),
        cmocka_unit_test(test_the_example),
        cmocka_unit_test(test_the_man_page_has_every_key_and_default),
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
