/*
 * history - see the header. SPDX-License-Identifier: MIT
 *
 * A record: version 1 and a check byte, and then, little-endian, number 4, started 8, duration 8,
 * status 2, transport, class, effect and reason 1 each, delay 8, retry after 8. The numbers of the
 * enums are on disk: what is added to one goes to its end.
 */
#include "history.h"

#include <assert.h>
#include <string.h>

#include "lull/classify.h"
#include "packed.h"

#define VERSION 1

enum { /* where it is in a record */
       AT_VERSION = 0,
       AT_CHECK = 1,
       AT_NUMBER = 2,
};

static bool is_possible(const struct attempt *attempt)
{
    return attempt->number > 0 && attempt->duration_ms >= 0 &&
           (attempt->status == 0 || (attempt->status >= 100 && attempt->status <= 999)) &&
           attempt->transport < LULL_TRANSPORTS && attempt->class_ < LULL_CLASSES &&
           attempt->effect <= LULL_EFFECT_UNKNOWN && attempt->reason < LULL_REASONS &&
           attempt->delay_ms >= 0 && attempt->retry_after_ms >= -1;
}

static uint8_t check_of(const uint8_t *record)
{
    return (uint8_t)packed_checksum(record + AT_NUMBER, HISTORY_ATTEMPT_SIZE - AT_NUMBER);
}

static void write_record(uint8_t *record, const struct attempt *attempt)
{
    record[AT_VERSION] = VERSION;
    uint8_t *at = record + AT_NUMBER;
    at = packed_write(at, attempt->number, 4);
    at = packed_write(at, (uint64_t)attempt->started_ms, 8);
    at = packed_write(at, (uint64_t)attempt->duration_ms, 8);
    at = packed_write(at, attempt->status, 2);
    *at++ = attempt->transport;
    *at++ = attempt->class_;
    *at++ = attempt->effect;
    *at++ = attempt->reason;
    at = packed_write(at, (uint64_t)attempt->delay_ms, 8);
    at = packed_write(at, (uint64_t)attempt->retry_after_ms, 8);
    assert(at == record + HISTORY_ATTEMPT_SIZE);
    record[AT_CHECK] = check_of(record);
}

static bool read_record(const uint8_t *record, struct attempt *ret_attempt)
{
    const uint8_t *at = record + AT_NUMBER;
    struct attempt attempt = {
        .number = (uint32_t)packed_read(at, 4),
        .started_ms = (int64_t)packed_read(at + 4, 8),
        .duration_ms = (int64_t)packed_read(at + 12, 8),
        .status = (uint16_t)packed_read(at + 20, 2),
        .transport = at[22],
        .class_ = at[23],
        .effect = at[24],
        .reason = at[25],
        .delay_ms = (int64_t)packed_read(at + 26, 8),
        .retry_after_ms = (int64_t)packed_read(at + 34, 8),
    };
    if (record[AT_VERSION] != VERSION || record[AT_CHECK] != check_of(record) ||
        !is_possible(&attempt)) {
        return false;
    }
    *ret_attempt = attempt;
    return true;
}

static bool is_length_good(size_t length)
{
    return length % HISTORY_ATTEMPT_SIZE == 0 &&
           length / HISTORY_ATTEMPT_SIZE <= HISTORY_ATTEMPTS_MAX;
}

bool history_get(const void *data, size_t length, size_t index, struct attempt *ret_attempt)
{
    return is_length_good(length) && index < length / HISTORY_ATTEMPT_SIZE &&
           read_record((const uint8_t *)data + index * HISTORY_ATTEMPT_SIZE, ret_attempt);
}

/* All or none: a part of it would be told as if it were the whole. */
size_t history_count(const void *data, size_t length)
{
    size_t count = length / HISTORY_ATTEMPT_SIZE;
    struct attempt ignored;
    for (size_t i = 0; i < count; i++) {
        if (!history_get(data, length, i, &ignored)) {
            return 0;
        }
    }
    return is_length_good(length) ? count : 0;
}

static int64_t at_least(int64_t value, int64_t least)
{
    return value > least ? value : least;
}

size_t history_add(const void *old, size_t old_length, const struct attempt *attempt,
                   void *ret_data)
{
    size_t count = history_count(old, old_length);
    size_t dropped = count == HISTORY_ATTEMPTS_MAX ? 1 : 0;
    size_t kept = (count - dropped) * HISTORY_ATTEMPT_SIZE;
    uint8_t *data = ret_data;
    struct attempt added = *attempt;
    added.duration_ms = at_least(added.duration_ms, 0); /* the clock was set back meanwhile */
    added.delay_ms = at_least(added.delay_ms, 0);
    added.retry_after_ms = at_least(added.retry_after_ms, -1);
    assert(is_possible(&added));
    if (kept > 0) {
        memcpy(data, (const uint8_t *)old + dropped * HISTORY_ATTEMPT_SIZE, kept);
    }
    write_record(data + kept, &added);
    return kept + HISTORY_ATTEMPT_SIZE;
}
