/* intake_world - see the header. SPDX-License-Identifier: MIT */
#include "intake_world.h"

struct intake_world world;

static void add_key(char ret_id[LULL_KEY_ID_SIZE])
{
    struct lull_vapid_key *key = NULL;
    assert_int_equal(lull_vapid_key_new(&key, "mailto:test@example.org", NULL), LULL_OK);
    (void)snprintf(ret_id, LULL_KEY_ID_SIZE, "%s", lull_vapid_key_id(key));
    assert_int_equal(lull_vapid_ring_add(world.ring, key), LULL_OK);
}

static void configure(struct config *config)
{
    assert_true(config_init(config));
    config->policies = calloc(1, sizeof *config->policies);
    config->signers = calloc(1, sizeof *config->signers);
    assert_true(config->policies && config->signers);
    config->policy_count = 1;
    config->signer_count = 1;
    (void)snprintf(config->policies->name, CONFIG_NAME_SIZE, "news");
    assert_int_equal(lull_policy_parse(&config->policies->policy, "bulk ttl=2h", 11, NULL),
                     LULL_OK);
    (void)snprintf(config->signers->name, CONFIG_NAME_SIZE, "shop");
}

int intake_world_set_up(void **state)
{
    (void)state;
    uint8_t point[LULL_P256_POINT_SIZE];
    configure(&world.config);
    assert_int_equal(lull_vapid_ring_new(&world.ring, NULL), LULL_OK);
    add_key(world.key_id);
    add_key(world.other_key_id);
    assert_int_equal(lull_encryptor_new(&world.receiver, 0), LULL_OK);
    assert_int_equal(lull_push_keypair(world.receiver, world.private_key, point), LULL_OK);
    memcpy(world.auth, "0123456789abcdef", sizeof world.auth);
    (void)lull_base64url_encode(point, sizeof point, world.p256dh);
    (void)lull_base64url_encode(world.auth, sizeof world.auth, world.auth_text);
    return intake_new(&world.intake, &world.config, world.ring);
}

int intake_world_tear_down(void **state)
{
    (void)state;
    intake_destroy(world.intake);
    lull_encryptor_destroy(world.receiver);
    lull_vapid_ring_destroy(world.ring);
    config_clean_up(&world.config);
    return 0;
}

static const char *variable(char letter)
{
    switch (letter) {
    case 'P':
        return world.p256dh;
    case 'A':
        return world.auth_text;
    case 'K':
        return world.key_id;
    case 'L':
        return world.other_key_id;
    default:
        return NULL;
    }
}

char *intake_world_fill(const char *json, size_t *ret_length)
{
    char *text = malloc(strlen(json) + 2048);
    size_t length = 0;
    assert_non_null(text);
    for (; *json; json++) {
        const char *piece = json[0] == '$' ? variable(json[1]) : NULL;
        if (piece) {
            memcpy(text + length, piece, strlen(piece));
            length += strlen(piece);
            json++;
        } else {
            text[length++] = *json;
        }
    }
    *ret_length = length;
    return text;
}

struct taken take(const char *json, const struct intake_call *call)
{
    static const struct intake_call usual = {.now_ms = NOW_MS};
    struct taken taken = {.warning = "?"};
    size_t length = 0;
    char *text = intake_world_fill(json, &length);
    char *exact = malloc(length + 1); /* not terminated: reading over the end is seen */
    assert_non_null(exact);
    memcpy(exact + 1, text, length);
    taken.code = intake_read(world.intake, exact + 1, length, call ? call : &usual, &taken.put,
                             taken.warning, &taken.problem);
    free(exact); /* nothing may point into it any more */
    free(text);
    if (taken.code == LULL_OK) {
        taken.message = taken.put->put.put.message;
        assert_int_equal(envelope_unpack(&taken.envelope, taken.message->envelope.data,
                                         taken.message->envelope.length),
                         LULL_OK);
    } else {
        assert_null(taken.put);
        assert_string_equal(taken.warning, "?");
    }
    return taken;
}

struct taken take_good(const char *json, const struct intake_call *call)
{
    struct taken taken = take(json, call);
    if (taken.code != LULL_OK) {
        fail_msg("%s: %s: %s", json, taken.problem.member, taken.problem.detail);
    }
    return taken;
}

char *open_push(const struct message *message, size_t *ret_length)
{
    uint8_t *text = malloc(message->body.length + 1);
    assert_non_null(text);
    assert_int_equal(lull_push_decrypt(world.receiver, world.private_key, world.auth,
                                       message->body.data, message->body.length, text, ret_length),
                     LULL_OK);
    text[*ret_length] = '\0';
    return (char *)text;
}

char *with_body(const char *before, size_t length, const char *behind)
{
    char *json = malloc(length + strlen(before) + strlen(behind) + 1);
    assert_non_null(json);
    strcpy(json, before);
    memset(json + strlen(before), 'a', length);
    strcpy(json + strlen(before) + length, behind);
    return json;
}
