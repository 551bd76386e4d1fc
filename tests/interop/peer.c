/*
 * peer - the library at the other end of a pipe: one JSON request a line on stdin, one JSON answer
 * a line on stdout. {"do": "encrypt", ...} is answered with the results, or with {"error": "..."}
 * and the word of that error. Bytes are base64url.
 *
 * A request that lacks a field is a mistake of the test: the program then says so and ends.
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "lull/error.h"
#include "lull/vendor.h"
#include "lull/webpush.h"

struct bytes {
    uint8_t *data;
    size_t length;
};

static struct lull_encryptor *encryptor;

static _Noreturn void die(const char *what, const char *name)
{
    fprintf(stderr, "peer: %s '%s'\n", what, name);
    exit(2);
}

/* ---- fields of a request ---- */

static const char *string_of(const json_t *request, const char *name)
{
    const char *text = json_string_value(json_object_get(request, name));
    if (!text) {
        die("no string", name);
    }
    return text;
}

static size_t string_length(const json_t *request, const char *name)
{
    return json_string_length(json_object_get(request, name));
}

static int64_t integer_of(const json_t *request, const char *name)
{
    const json_t *value = json_object_get(request, name);
    if (!json_is_integer(value)) {
        die("no integer", name);
    }
    return json_integer_value(value);
}

/* The caller frees data. */
static struct bytes bytes_of(const json_t *request, const char *name)
{
    const char *text = string_of(request, name);
    size_t size = string_length(request, name);
    struct bytes bytes = {malloc(size + 1), 0};
    if (!bytes.data || lull_base64_decode(text, size, bytes.data, size + 1, &bytes.length) != 0) {
        die("no base64", name);
    }
    return bytes;
}

static void read_bytes(const json_t *request, const char *name, uint8_t *out, size_t size)
{
    struct bytes bytes = bytes_of(request, name);
    if (bytes.length != size) {
        die("a wrong length of", name);
    }
    memcpy(out, bytes.data, size);
    free(bytes.data);
}

/* ---- answers ---- */

static json_t *refused(int error)
{
    return json_pack("{s:s}", "error", lull_error_to_string(error));
}

static void set_bytes(json_t *answer, const char *name, const uint8_t *data, size_t length)
{
    char *text = malloc(LULL_BASE64URL_SIZE(length));
    if (!text) {
        die("no memory for", name);
    }
    lull_base64url_encode(data, length, text);
    json_object_set_new(answer, name, json_string(text));
    free(text);
}

static json_t *answer_bytes(const char *name, const uint8_t *data, size_t length)
{
    json_t *answer = json_object();
    set_bytes(answer, name, data, length);
    return answer;
}

/* ---- encryption ---- */

static json_t *do_keypair(const json_t *request)
{
    (void)request;
    uint8_t private_key[LULL_P256_SCALAR_SIZE];
    uint8_t public_key[LULL_P256_POINT_SIZE];
    int error = lull_push_keypair(encryptor, private_key, public_key);
    if (error) {
        return refused(error);
    }
    json_t *answer = answer_bytes("private", private_key, sizeof private_key);
    set_bytes(answer, "public", public_key, sizeof public_key);
    return answer;
}

static json_t *do_encrypt(const json_t *request)
{
    uint8_t p256dh[LULL_P256_POINT_SIZE];
    uint8_t auth[LULL_PUSH_AUTH_SIZE];
    uint8_t body[LULL_PUSH_BODY_MAX];
    size_t length = 0;
    read_bytes(request, "p256dh", p256dh, sizeof p256dh);
    read_bytes(request, "auth", auth, sizeof auth);
    struct bytes text = bytes_of(request, "text");
    int error = lull_push_encrypt(encryptor, p256dh, auth, text.data, text.length,
                                  (size_t)integer_of(request, "padding"), body, &length);
    free(text.data);
    return error ? refused(error) : answer_bytes("body", body, length);
}

static json_t *do_decrypt(const json_t *request)
{
    uint8_t private_key[LULL_P256_SCALAR_SIZE];
    uint8_t auth[LULL_PUSH_AUTH_SIZE];
    read_bytes(request, "private", private_key, sizeof private_key);
    read_bytes(request, "auth", auth, sizeof auth);
    struct bytes body = bytes_of(request, "body");
    struct bytes text = {malloc(body.length + 1), 0};
    if (!text.data) {
        die("no memory for", "text");
    }
    int error = lull_push_decrypt(encryptor, private_key, auth, body.data, body.length, text.data,
                                  &text.length);
    json_t *answer = error ? refused(error) : answer_bytes("text", text.data, text.length);
    free(body.data);
    free(text.data);
    return answer;
}

/* ---- VAPID ---- */

static json_t *describe_key(const struct lull_vapid_key *key)
{
    json_t *answer = answer_bytes("public", lull_vapid_key_public(key), LULL_P256_POINT_SIZE);
    json_object_set_new(answer, "subject", json_string(lull_vapid_key_subject(key)));
    for (int i = 0; i < LULL_KEY_FORMATS; i++) {
        char text[LULL_KEY_TEXT_SIZE];
        enum lull_key_format format = (enum lull_key_format)i;
        const char *name = lull_key_format_to_string(format);
        if (lull_vapid_key_export(key, format, text) != LULL_OK) {
            die("cannot export", name);
        }
        json_object_set_new(answer, name, json_string(text));
    }
    return answer;
}

static json_t *do_vapid_new(const json_t *request)
{
    struct lull_vapid_key *key = NULL;
    int error = lull_vapid_key_new(&key, string_of(request, "subject"), NULL);
    if (error) {
        return refused(error);
    }
    json_t *answer = describe_key(key);
    lull_vapid_key_destroy(key);
    return answer;
}

static int import_key(const json_t *request, struct lull_vapid_key **ret_key)
{
    return lull_vapid_key_import(ret_key, string_of(request, "key"), string_length(request, "key"),
                                 string_of(request, "subject"), NULL);
}

static json_t *do_vapid_import(const json_t *request)
{
    struct lull_vapid_key *key = NULL;
    int error = import_key(request, &key);
    if (error) {
        return refused(error);
    }
    json_t *answer = describe_key(key);
    lull_vapid_key_destroy(key);
    return answer;
}

static json_t *do_vapid_authorize(const json_t *request)
{
    struct lull_vapid_key *key = NULL;
    struct lull_vapid_ring *ring = NULL;
    const char *header = NULL;
    int error = import_key(request, &key);
    if (error) {
        return refused(error);
    }
    if (lull_vapid_ring_new(&ring, NULL) || lull_vapid_ring_add(ring, key)) {
        die("no ring for", "key");
    }
    error = lull_vapid_authorize(ring, NULL, string_of(request, "endpoint"),
                                 integer_of(request, "now_ms"), false, &header);
    json_t *answer = error ? refused(error) : json_pack("{s:s}", "header", header);
    lull_vapid_ring_destroy(ring);
    return answer;
}

static json_t *do_vapid_verify(const json_t *request)
{
    struct lull_vapid_claims claims;
    int error = lull_vapid_verify(string_of(request, "header"), string_length(request, "header"),
                                  &claims, NULL);
    if (!error) {
        error = lull_vapid_check(&claims, string_of(request, "origin"),
                                 integer_of(request, "now_ms"), NULL);
    }
    if (error) {
        return refused(error);
    }
    json_t *answer = json_pack("{s:s, s:s, s:I}", "audience", claims.audience, "subject",
                               claims.subject, "expires_ms", (json_int_t)claims.expires_ms);
    set_bytes(answer, "public", claims.public_key, sizeof claims.public_key);
    return answer;
}

/* ---- webhooks ---- */

/* Returns how many there are. */
static size_t read_secrets(const json_t *request,
                           struct lull_webhook_secret secrets[LULL_WEBHOOK_SECRETS_MAX])
{
    const json_t *texts = json_object_get(request, "secrets");
    size_t count = json_array_size(texts);
    if (count == 0 || count > LULL_WEBHOOK_SECRETS_MAX) {
        die("none or too many", "secrets");
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *text = json_array_get(texts, i);
        if (!json_is_string(text) ||
            lull_webhook_secret_parse(&secrets[i], json_string_value(text),
                                      json_string_length(text)) != LULL_OK) {
            die("a bad one in", "secrets");
        }
    }
    return count;
}

static json_t *do_webhook_sign(const json_t *request)
{
    struct lull_webhook_secret secrets[LULL_WEBHOOK_SECRETS_MAX];
    char signature[LULL_WEBHOOK_SIGNATURE_SIZE];
    size_t count = read_secrets(request, secrets);
    struct bytes body = bytes_of(request, "body");
    int error =
        lull_webhook_sign(secrets, count, string_of(request, "id"),
                          integer_of(request, "timestamp_s"), body.data, body.length, signature);
    free(body.data);
    return error ? refused(error) : json_pack("{s:s}", "signature", signature);
}

static json_t *do_webhook_verify(const json_t *request)
{
    struct lull_webhook_secret secrets[LULL_WEBHOOK_SECRETS_MAX];
    size_t count = read_secrets(request, secrets);
    struct bytes body = bytes_of(request, "body");
    int error = lull_webhook_verify(secrets, count, string_of(request, "id"),
                                    string_of(request, "timestamp"),
                                    string_of(request, "signature"), body.data, body.length,
                                    integer_of(request, "now_s"), LULL_WEBHOOK_TOLERANCE_S);
    free(body.data);
    return error ? refused(error) : json_object();
}

/* ---- subscriptions ---- */

static json_t *do_subscription(const json_t *request)
{
    struct lull_subscription subscription;
    int error = lull_subscription_parse(&subscription, string_of(request, "text"),
                                        string_length(request, "text"), NULL);
    if (error) {
        return refused(error);
    }
    json_t *answer = json_pack("{s:s, s:s}", "endpoint", subscription.endpoint, "vendor",
                               lull_vendor_lookup(subscription.vendor)->name);
    set_bytes(answer, "p256dh", subscription.p256dh, sizeof subscription.p256dh);
    set_bytes(answer, "auth", subscription.auth, sizeof subscription.auth);
    return answer;
}

/* ---- the pipe ---- */

static const struct {
    const char *name;
    json_t *(*run)(const json_t *request);
} commands[] = {
    {"keypair", do_keypair},
    {"encrypt", do_encrypt},
    {"decrypt", do_decrypt},
    {"vapid_new", do_vapid_new},
    {"vapid_import", do_vapid_import},
    {"vapid_authorize", do_vapid_authorize},
    {"vapid_verify", do_vapid_verify},
    {"webhook_sign", do_webhook_sign},
    {"webhook_verify", do_webhook_verify},
    {"subscription", do_subscription},
};

static json_t *answer_line(const char *line)
{
    json_t *request = json_loads(line, JSON_ALLOW_NUL, NULL);
    json_t *answer = NULL;
    const char *name = string_of(request, "do");
    for (size_t i = 0; i < sizeof commands / sizeof commands[0] && !answer; i++) {
        if (strcmp(name, commands[i].name) == 0) {
            answer = commands[i].run(request);
        }
    }
    if (!answer) {
        die("no answer to", name);
    }
    json_decref(request);
    return answer;
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    if (lull_encryptor_new(&encryptor, 0) != LULL_OK) {
        die("no memory for", "encryptor");
    }
    while (getline(&line, &size, stdin) >= 0) {
        json_t *answer = answer_line(line);
        json_dumpf(answer, stdout, JSON_COMPACT);
        putchar('\n');
        fflush(stdout);
        json_decref(answer);
    }
    free(line);
    lull_encryptor_destroy(encryptor);
    return 0;
}
