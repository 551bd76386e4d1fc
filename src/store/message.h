/*
 * message - one message on its way through the queue, as a store keeps it (Q4).
 *
 * A store looks at the numbers and passes the three texts through: what is in them is the server's
 * business (src/server/envelope.h, src/server/history.h), and by then the body is encrypted.
 *
 *   message_new, or out of a store -> ... -> message_free
 *
 * All times are wall-clock milliseconds, since they are kept on disk.
 */
#ifndef LULL_STORE_MESSAGE_H
#define LULL_STORE_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where it is (Q3). It leaves the store when it is delivered, or replaced by a newer one (Q7). */
enum message_place {
    MESSAGE_WAITING, /* until due_ms, and then until its service takes it */
    MESSAGE_LEASED,  /* a worker has it, until lease_until_ms */
    MESSAGE_DEAD,
    MESSAGE_PLACES, /* how many there are */
};

/* Why due_ms is what it is (Q10). Kept on disk: numbers are never given to another. */
enum message_cause {
    MESSAGE_CAUSE_NEW,         /* it was due when it came */
    MESSAGE_CAUSE_DELAYED,     /* its sender asked for it */
    MESSAGE_CAUSE_BACKOFF,     /* our own wait after a failure */
    MESSAGE_CAUSE_RETRY_AFTER, /* the service asked for it */
    MESSAGE_CAUSE_HELD,        /* its subscription is held (P3) */
    MESSAGE_CAUSE_RETURNED,    /* its worker is gone, or gave it back: due at once */
    MESSAGE_CAUSES,            /* how many there are */
};

enum message_urgency {
    MESSAGE_VERY_LOW,
    MESSAGE_LOW,
    MESSAGE_NORMAL,
    MESSAGE_HIGH,
    MESSAGE_URGENCIES, /* how many there are */
};

#define MESSAGE_KEY_SIZE 16 /* of an idempotency key, and of what it was used for: hashes */

struct message_bytes {
    const void *data; /* NULL where there is nothing */
    size_t length;
};

struct message {
    /* Fixed when it is accepted. */
    uint64_t id;         /* given by the store, in the order of time; 0: none yet */
    uint32_t service;    /* its number in the store */
    uint64_t target;     /* a hash of the endpoint or URL: what is held together (P3) */
    uint64_t topic;      /* a hash of the topic; 0: none (Q7) */
    uint8_t kind;        /* enum lull_kind */
    uint8_t urgency;     /* enum message_urgency */
    int64_t accepted_ms; /* T1 */
    int64_t ttl_ms;
    struct message_bytes envelope;
    struct message_bytes body;

    /* Changes with each attempt. */
    int64_t due_ms;
    uint32_t attempts;     /* that ended, and count (K6) */
    uint32_t auth_retries; /* spent on a fresh token (C8) */
    uint32_t lost;         /* leases that ran out since an attempt last ended (Q8) */
    int64_t previous_delay_ms;
    uint8_t cause;                /* enum message_cause */
    struct message_bytes history; /* of its attempts */

    /* Where it is. The store sets these when it hands a message out. */
    uint8_t place;          /* enum message_place */
    uint64_t lease;         /* LEASED: whose it is */
    int64_t lease_until_ms; /* LEASED */
    uint8_t reason;         /* DEAD: enum lull_reason */
    uint16_t status;        /* DEAD: the last one, 0: none */
    int64_t died_ms;        /* DEAD */

    /* The caller's, not kept. */
    struct message *next;
    void *userdata;
};

/* A message with room for its three texts in the same piece of memory, which it points to. All else
 * is 0. NULL: no memory. */
struct message *message_new(size_t envelope_length, size_t body_length, size_t history_length);
struct message *message_copy(const struct message *message); /* NULL: no memory */
struct message *message_copy_without_body(const struct message *message);
void message_free(struct message *message); /* NULL is fine */

/* Gives it a longer history: a copy of this. False: no memory, and nothing has changed. */
bool message_set_history(struct message *message, const void *history, size_t length);

/* An id as people see it: 13 letters and digits that sort as the ids do. */
#define MESSAGE_ID_TEXT_SIZE 14
void message_id_write(uint64_t id, char ret_text[MESSAGE_ID_TEXT_SIZE]);
bool message_id_read(const char *text, size_t length, uint64_t *ret_id);

const char *message_place_to_string(enum message_place place);
const char *message_cause_to_string(enum message_cause cause);
const char *message_urgency_to_string(enum message_urgency urgency); /* as RFC 8030 has it */
bool message_urgency_from_string(const char *word, enum message_urgency *ret_urgency);

#endif
