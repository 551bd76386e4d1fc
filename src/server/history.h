/*
 * history - the attempts of a message, packed for the store (D2): one small record after another.
 *
 * Pure. Of a message with very many attempts the oldest are dropped; their number tells.
 */
#ifndef LULL_SERVER_HISTORY_H
#define LULL_SERVER_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lull/decide.h"
#include "lull/outcome.h"

struct attempt {
    uint32_t number;    /* from 1 */
    int64_t started_ms; /* wall clock */
    int64_t duration_ms;
    uint16_t status;        /* 0: none arrived */
    uint8_t transport;      /* enum lull_transport */
    uint8_t class_;         /* enum lull_class */
    uint8_t effect;         /* enum lull_effect */
    uint8_t reason;         /* enum lull_reason: why it was retried, or why that was the end */
    int64_t delay_ms;       /* the wait after it; 0: none */
    int64_t retry_after_ms; /* what the service asked for; -1: nothing */
};

#define HISTORY_ATTEMPT_SIZE 44
#define HISTORY_ATTEMPTS_MAX 64
#define HISTORY_SIZE_MAX (HISTORY_ATTEMPT_SIZE * HISTORY_ATTEMPTS_MAX)

/* Writes what the old one becomes with one attempt more, and returns its length. ret_data has room
 * for HISTORY_SIZE_MAX and is not the old one. A damaged old one is begun anew. */
size_t history_add(const void *old, size_t old_length, const struct attempt *attempt,
                   void *ret_data);

size_t history_count(const void *data, size_t length);

/* False: there is none at this index, or it is damaged. */
bool history_get(const void *data, size_t length, size_t index, struct attempt *ret_attempt);

#endif
