/*
 * vapid_ring - keys by their ids, and a token for each origin and key (W2, W8, S5).
 *
 * A token is signed when there is none, when a twelfth of its time is left, when the clock was set
 * back behind its making, or when a service doubts it and an hour has passed.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lull/duration.h"
#include "lull/error.h"
#include "vapid_key.h"

#define KEYS_MAX 64
#define LIFETIME_MIN_MS LULL_MINUTES(5)
#define LIFETIME_MAX_MS LULL_HOURS(24)
#define TOKENS_MAX 65536

/* The longest claims are those of the longest origin and subject. */
#define CLAIMS_SIZE (LULL_ORIGIN_SIZE + LULL_VAPID_SUBJECT_SIZE + 64)
#define SIGNED_SIZE (64 + LULL_BASE64URL_SIZE(CLAIMS_SIZE))
#define HEADER_SIZE                                                                                \
    (16 + SIGNED_SIZE + LULL_BASE64URL_SIZE(ES256_SIGNATURE_SIZE) + PUBLIC_TEXT_SIZE)

struct token {
    const struct lull_vapid_key *key; /* NULL: a free place */
    char origin[LULL_ORIGIN_SIZE];
    char header[HEADER_SIZE];
    int64_t signed_ms;
    int64_t expires_ms;
    uint64_t used; /* by a count of all uses: the clock may be set */
};

struct lull_vapid_ring {
    struct lull_vapid_config config;
    struct lull_vapid_key *keys[KEYS_MAX];
    size_t key_count;
    struct token **tokens; /* tokens_max places, made as they are needed */
    size_t token_count;
    uint64_t uses;
};

void lull_vapid_config_default(struct lull_vapid_config *config)
{
    *config = (struct lull_vapid_config){
        .lifetime_ms = LULL_HOURS(12),
        .renew_min_ms = LULL_HOURS(1),
        .tokens_max = 256,
    };
}

int lull_vapid_ring_new(struct lull_vapid_ring **ret_ring, const struct lull_vapid_config *config)
{
    struct lull_vapid_config usual;
    lull_vapid_config_default(&usual);
    config = config ? config : &usual;
    if (config->lifetime_ms < LIFETIME_MIN_MS || config->lifetime_ms > LIFETIME_MAX_MS ||
        config->renew_min_ms < 0 || config->tokens_max == 0 || config->tokens_max > TOKENS_MAX) {
        return LULL_ERR_RANGE;
    }
    struct lull_vapid_ring *ring = calloc(1, sizeof *ring);
    struct token **tokens = calloc(config->tokens_max, sizeof(struct token *));
    if (!ring || !tokens) {
        free(ring);
        free(tokens);
        return LULL_ERR_MEMORY;
    }
    ring->config = *config;
    ring->tokens = tokens;
    *ret_ring = ring;
    return LULL_OK;
}

void lull_vapid_ring_destroy(struct lull_vapid_ring *ring)
{
    if (!ring) {
        return;
    }
    for (size_t i = 0; i < ring->key_count; i++) {
        lull_vapid_key_destroy(ring->keys[i]);
    }
    for (size_t i = 0; i < ring->token_count; i++) {
        free(ring->tokens[i]);
    }
    free(ring->tokens);
    free(ring);
}

const struct lull_vapid_key *lull_vapid_ring_find(const struct lull_vapid_ring *ring,
                                                  const char *id)
{
    for (size_t i = 0; i < ring->key_count; i++) {
        if (!id || strcmp(ring->keys[i]->id, id) == 0) {
            return ring->keys[i];
        }
    }
    return NULL;
}

int lull_vapid_ring_add(struct lull_vapid_ring *ring, struct lull_vapid_key *key)
{
    if (lull_vapid_ring_find(ring, key->id)) {
        return LULL_ERR_RANGE;
    }
    if (ring->key_count == KEYS_MAX) {
        return LULL_ERR_FULL;
    }
    ring->keys[ring->key_count++] = key;
    return LULL_OK;
}

/* ---- tokens ---- */

/* "header.claims", the part that is signed. Returns its length. */
static size_t write_signed(const struct token *token, char text[SIGNED_SIZE])
{
    static const char header[] = "{\"typ\":\"JWT\",\"alg\":\"ES256\"}";
    char claims[CLAIMS_SIZE];
    int length =
        snprintf(claims, sizeof claims, "{\"aud\":\"%s\",\"exp\":%" PRId64 ",\"sub\":\"%s\"}",
                 token->origin, token->expires_ms / 1000, token->key->subject);
    size_t written = lull_base64url_encode(header, strlen(header), text);
    text[written++] = '.';
    return written + lull_base64url_encode(claims, (size_t)length, text + written);
}

static bool sign(struct token *token, int64_t now_ms, int64_t lifetime_ms)
{
    uint8_t signature[ES256_SIGNATURE_SIZE];
    char text[SIGNED_SIZE];
    char signature_text[LULL_BASE64URL_SIZE(sizeof signature)];
    token->signed_ms = now_ms;
    token->expires_ms = now_ms + lifetime_ms;
    size_t length = write_signed(token, text);
    if (!vapid_key_sign(token->key, text, length, signature)) {
        return false;
    }
    (void)lull_base64url_encode(signature, sizeof signature, signature_text);
    (void)snprintf(token->header, sizeof token->header, "vapid t=%s.%s, k=%s", text, signature_text,
                   token->key->public_text);
    return true;
}

static bool is_good(const struct lull_vapid_ring *ring, const struct token *token, int64_t now_ms,
                    bool is_fresh)
{
    int64_t age_ms = now_ms - token->signed_ms;
    bool is_spent = now_ms >= token->expires_ms - ring->config.lifetime_ms / 12 || age_ms < 0;
    return !is_spent && !(is_fresh && age_ms >= ring->config.renew_min_ms);
}

/* The token of that origin and key, or a place for it; NULL: no memory. */
static struct token *find_place(struct lull_vapid_ring *ring, const struct lull_vapid_key *key,
                                const char *origin)
{
    struct token *idlest = NULL;
    for (size_t i = 0; i < ring->token_count; i++) {
        struct token *token = ring->tokens[i];
        if (token->key == key && strcmp(token->origin, origin) == 0) {
            return token;
        }
        if (!idlest || token->used < idlest->used) {
            idlest = token;
        }
    }
    if (!idlest || ring->token_count < ring->config.tokens_max) {
        struct token *token = calloc(1, sizeof *token);
        if (token) {
            ring->tokens[ring->token_count++] = token;
        }
        return token;
    }
    idlest->key = NULL;
    return idlest;
}

/* A time from which sums can be made, for clocks that cannot be. */
static int64_t sane(int64_t now_ms)
{
    return now_ms < 0 ? 0 : now_ms > LULL_WAIT_MAX_MS ? LULL_WAIT_MAX_MS : now_ms;
}

int lull_vapid_authorize(struct lull_vapid_ring *ring, const char *key_id, const char *endpoint,
                         int64_t now_ms, bool is_fresh, const char **ret_header)
{
    char origin[LULL_ORIGIN_SIZE];
    const struct lull_vapid_key *key = lull_vapid_ring_find(ring, key_id);
    int code = lull_endpoint_origin(endpoint, origin);
    now_ms = sane(now_ms);
    if (code != LULL_OK || !key) {
        return code != LULL_OK ? code : LULL_ERR_UNKNOWN;
    }
    if (strpbrk(origin, "\"\\")) { /* no host has these, and a claim could be forged with them */
        return LULL_ERR_SYNTAX;
    }
    struct token *token = find_place(ring, key, origin);
    if (!token) {
        return LULL_ERR_MEMORY;
    }
    if (!token->key || !is_good(ring, token, now_ms, is_fresh)) {
        token->key = key;
        memcpy(token->origin, origin, sizeof origin);
        if (!sign(token, now_ms, ring->config.lifetime_ms)) {
            token->key = NULL;
            return LULL_ERR_MEMORY;
        }
    }
    token->used = ++ring->uses;
    *ret_header = token->header;
    return LULL_OK;
}
