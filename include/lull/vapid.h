/*
 * vapid - who sends: RFC 8292's keys and tokens (W2, W8, S5). Library: liblull-webpush.
 *
 *   lull_vapid_key_new or _import -> lull_vapid_ring_add ... -> lull_vapid_authorize ...
 *
 * A ring holds several keys by their ids, and one token for each origin and key, which is used
 * again until little of its time is left. A ring belongs to one thread at a time; keys are never
 * changed, and the ring owns those that were added.
 */
#ifndef LULL_VAPID_H
#define LULL_VAPID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/api.h"
#include "lull/subscription.h"

LULL_BEGIN_DECLS

/* ---- keys ---- */

struct lull_vapid_key;

enum lull_key_format {
    LULL_KEY_FILE, /* Lull's own: a JWK with `sub` and `kid` */
    LULL_KEY_JWK,
    LULL_KEY_PEM,  /* PKCS #8 */
    LULL_KEY_PAIR, /* {"publicKey": ..., "privateKey": ...}, base64url, as web push tools have it */
    LULL_KEY_FORMATS, /* how many there are */
};

#define LULL_VAPID_SUBJECT_SIZE 256
#define LULL_KEY_ID_SIZE 12
#define LULL_KEY_TEXT_SIZE 1024 /* enough for any format */

/* Is it a mailto: or https: that a push service can use? LULL_ERR_RANGE and a sentence if not:
 * Apple refuses what is no real address (V3), so neither white space nor <> nor localhost. */
LULL_API int lull_vapid_check_subject(const char *subject, struct lull_webpush_error *error);

/* A new key. error may be NULL, here and below. */
LULL_API int lull_vapid_key_new(struct lull_vapid_key **ret_key, const char *subject,
                                struct lull_webpush_error *error);

/* Reads any of the formats, SEC 1 PEM too, and the two labelled lines that a tool prints. The
 * private key must be in range and the public key, where given, must match it. subject NULL: the
 * text must have one. */
LULL_API int lull_vapid_key_import(struct lull_vapid_key **ret_key, const char *text, size_t length,
                                   const char *subject, struct lull_webpush_error *error);
LULL_API void lull_vapid_key_destroy(struct lull_vapid_key *key); /* wipes; NULL is fine */

/* Zero-terminated, with a final newline. The private key is in it. */
LULL_API int lull_vapid_key_export(const struct lull_vapid_key *key, enum lull_key_format format,
                                   char ret_text[LULL_KEY_TEXT_SIZE]);

LULL_API const char *lull_vapid_key_id(const struct lull_vapid_key *key);
LULL_API const char *lull_vapid_key_subject(const struct lull_vapid_key *key);
LULL_API const uint8_t *lull_vapid_key_public(const struct lull_vapid_key *key); /* 65 bytes */

LULL_API const char *lull_key_format_to_string(enum lull_key_format format);
LULL_API int lull_key_format_from_string(const char *word, enum lull_key_format *ret_format);

/* ---- tokens ---- */

struct lull_vapid_config {
    int64_t lifetime_ms;  /* of a token, up to 24 h                    default 12 h */
    int64_t renew_min_ms; /* no second token for the same sooner       default 1 h (W8) */
    size_t tokens_max;    /* kept at once, the idlest goes first       default 256 */
};

struct lull_vapid_ring;

LULL_API void lull_vapid_config_default(struct lull_vapid_config *config);

/* config NULL: all defaults. LULL_ERR_RANGE, LULL_ERR_MEMORY. */
LULL_API int lull_vapid_ring_new(struct lull_vapid_ring **ret_ring,
                                 const struct lull_vapid_config *config);
LULL_API void lull_vapid_ring_destroy(struct lull_vapid_ring *ring); /* with its keys */

/* Takes the key over. LULL_ERR_RANGE: one with that id is there already; LULL_ERR_FULL: there are
 * 64. Then the key is still the caller's. */
LULL_API int lull_vapid_ring_add(struct lull_vapid_ring *ring, struct lull_vapid_key *key);

/* id NULL: the first that was added. NULL: there is none. */
LULL_API const struct lull_vapid_key *lull_vapid_ring_find(const struct lull_vapid_ring *ring,
                                                           const char *id);

/* The value of an Authorization header for this endpoint, "vapid t=..., k=...": good until the
 * next call on this ring. is_fresh: the service doubts the token at hand (C8); it is signed anew if
 * renew_min_ms have passed since, else used again. LULL_ERR_SYNTAX: the endpoint is no URL;
 * LULL_ERR_FULL: its host is too long; LULL_ERR_UNKNOWN: no such key; LULL_ERR_MEMORY. */
LULL_API int lull_vapid_authorize(struct lull_vapid_ring *ring, const char *key_id,
                                  const char *endpoint, int64_t now_ms, bool is_fresh,
                                  const char **ret_header);

/* ---- the receiver's side ---- */

struct lull_vapid_claims {
    char audience[LULL_ORIGIN_SIZE];
    char subject[LULL_VAPID_SUBJECT_SIZE];
    int64_t expires_ms;
    uint8_t public_key[LULL_P256_POINT_SIZE];
};

/* Reads "vapid t=..., k=..." and verifies the signature. Time and audience are for
 * lull_vapid_check, so that a practice server can say each of them. LULL_ERR_SYNTAX: not of that
 * form; LULL_ERR_RANGE: a signature that is not of that key. */
LULL_API int lull_vapid_verify(const char *header, size_t length,
                               struct lull_vapid_claims *ret_claims,
                               struct lull_webpush_error *error);

/* exp in the past or over 24 h ahead, another audience, a bad subject: LULL_ERR_RANGE and why. */
LULL_API int lull_vapid_check(const struct lull_vapid_claims *claims, const char *origin,
                              int64_t now_ms, struct lull_webpush_error *error);

LULL_END_DECLS

#endif
