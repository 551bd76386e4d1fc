/* message - see the header. SPDX-License-Identifier: MIT */
#include "message.h"

#include <stdlib.h>
#include <string.h>

/* What message_new gives out: the message first, so that the one pointer is also the other. */
struct owned {
    struct message message;
    void *later_history; /* of message_set_history, NULL: it is among the texts */
    unsigned char texts[];
};

static struct message_bytes take_room(unsigned char **room, size_t length)
{
    struct message_bytes bytes = {.data = length > 0 ? *room : NULL, .length = length};
    *room += length;
    return bytes;
}

struct message *message_new(size_t envelope_length, size_t body_length, size_t history_length)
{
    size_t length = 0;
    if (__builtin_add_overflow(envelope_length, body_length, &length) ||
        __builtin_add_overflow(length, history_length, &length) ||
        length > SIZE_MAX - sizeof(struct owned)) {
        return NULL;
    }
    struct owned *owned = malloc(sizeof(struct owned) + length);
    if (!owned) {
        return NULL;
    }
    *owned = (struct owned){0};
    unsigned char *room = owned->texts;
    owned->message.envelope = take_room(&room, envelope_length);
    owned->message.body = take_room(&room, body_length);
    owned->message.history = take_room(&room, history_length);
    return &owned->message;
}

static void copy_text(struct message_bytes to, struct message_bytes from)
{
    if (from.length > 0) {
        memcpy((void *)to.data, from.data, from.length);
    }
}

struct message *message_copy(const struct message *message)
{
    struct message *copy =
        message_new(message->envelope.length, message->body.length, message->history.length);
    if (!copy) {
        return NULL;
    }
    copy_text(copy->envelope, message->envelope);
    copy_text(copy->body, message->body);
    copy_text(copy->history, message->history);
    struct message numbers = *message;
    numbers.envelope = copy->envelope;
    numbers.body = copy->body;
    numbers.history = copy->history;
    numbers.next = NULL;
    numbers.userdata = NULL;
    *copy = numbers;
    return copy;
}

struct message *message_copy_without_body(const struct message *message)
{
    struct message lean = *message;
    lean.body = (struct message_bytes){NULL, 0};
    return message_copy(&lean);
}

void message_free(struct message *message)
{
    struct owned *owned = (struct owned *)(void *)message;
    if (owned) {
        free(owned->later_history);
        free(owned);
    }
}

bool message_set_history(struct message *message, const void *history, size_t length)
{
    struct owned *owned = (struct owned *)(void *)message;
    void *later = NULL;
    if (length > 0) {
        later = malloc(length);
        if (!later) {
            return false;
        }
        memcpy(later, history, length); /* before the old one goes: it may be a part of it */
    }
    free(owned->later_history);
    owned->later_history = later;
    message->history = (struct message_bytes){.data = later, .length = length};
    return true;
}

/* ---- ids as people see them ---- */

/* In the order of ASCII, so that texts sort as ids do; without i, l, o and u, which are misread. */
static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
#define ID_DIGITS (MESSAGE_ID_TEXT_SIZE - 1)
#define BITS_OF_DIGIT 5

void message_id_write(uint64_t id, char ret_text[MESSAGE_ID_TEXT_SIZE])
{
    for (size_t i = ID_DIGITS; i > 0; i--) {
        ret_text[i - 1] = digits[id & 31];
        id >>= BITS_OF_DIGIT;
    }
    ret_text[ID_DIGITS] = '\0';
}

bool message_id_read(const char *text, size_t length, uint64_t *ret_id)
{
    if (length != ID_DIGITS) {
        return false;
    }
    uint64_t id = 0;
    for (size_t i = 0; i < length; i++) {
        const char *digit = text[i] != '\0' ? strchr(digits, text[i]) : NULL;
        if (!digit || id > UINT64_MAX >> BITS_OF_DIGIT) { /* 13 digits have a bit too much */
            return false;
        }
        id = id << BITS_OF_DIGIT | (uint64_t)(digit - digits);
    }
    *ret_id = id;
    return true;
}

/* ---- words ---- */

const char *message_place_to_string(enum message_place place)
{
    static const char *const words[MESSAGE_PLACES] = {"waiting", "leased", "dead"};
    return place < MESSAGE_PLACES ? words[place] : "unknown";
}

const char *message_cause_to_string(enum message_cause cause)
{
    static const char *const words[MESSAGE_CAUSES] = {"new",         "delayed", "backoff",
                                                      "retry_after", "held",    "returned"};
    return cause < MESSAGE_CAUSES ? words[cause] : "unknown";
}

static const char *const urgency_words[MESSAGE_URGENCIES] = {"very-low", "low", "normal", "high"};

const char *message_urgency_to_string(enum message_urgency urgency)
{
    return urgency < MESSAGE_URGENCIES ? urgency_words[urgency] : "unknown";
}

bool message_urgency_from_string(const char *word, enum message_urgency *ret_urgency)
{
    for (int i = 0; i < MESSAGE_URGENCIES; i++) {
        if (strcmp(word, urgency_words[i]) == 0) {
            *ret_urgency = (enum message_urgency)i;
            return true;
        }
    }
    return false;
}
