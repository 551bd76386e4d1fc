/*
 * problem - why a request was not done, as application/problem+json (RFC 9457) and as a line of a
 * batch's results.
 *
 * Pure. One table says what status and which word each kind has; the words are part of the API.
 */
#ifndef LULL_SERVER_PROBLEM_H
#define LULL_SERVER_PROBLEM_H

#include <stddef.h>
#include <stdint.h>

#include "json_text.h"

enum problem_kind {
    PROBLEM_BAD_REQUEST,
    PROBLEM_UNAUTHORIZED,
    PROBLEM_NOT_FOUND,
    PROBLEM_METHOD_NOT_ALLOWED,
    PROBLEM_KEY_UNDER_WAY,
    PROBLEM_TOO_LATE,
    PROBLEM_TOO_LARGE,
    PROBLEM_UNSUPPORTED_MEDIA_TYPE,
    PROBLEM_KEY_REUSED,
    PROBLEM_QUEUE_FULL,
    PROBLEM_INTERNAL,
    PROBLEM_UNAVAILABLE,
    PROBLEM_DRAINING,
    PROBLEM_DISK_FULL,
    PROBLEM_KINDS, /* how many there are */
};

#define PROBLEM_MEMBER_SIZE 64
#define PROBLEM_DETAIL_SIZE 256

struct problem {
    enum problem_kind kind;
    uint32_t retry_after_s;           /* 0: not said */
    char member[PROBLEM_MEMBER_SIZE]; /* of the message; "": the whole */
    char detail[PROBLEM_DETAIL_SIZE]; /* a sentence; never a value that may be secret */
};

/* Fills it in, without a member. */
void problem_set(struct problem *problem, enum problem_kind kind, uint32_t retry_after_s,
                 const char *detail);

unsigned problem_status(enum problem_kind kind);
const char *problem_word(enum problem_kind kind);

/* The kind that a status of struct intake_problem means. */
enum problem_kind problem_kind_of_status(unsigned status);

#define PROBLEM_TEXT_SIZE                                                                          \
    (512 + JSON_TEXT_SIZE(PROBLEM_MEMBER_SIZE) + JSON_TEXT_SIZE(PROBLEM_DETAIL_SIZE))

/* The whole object. request_id is of [A-Za-z0-9._-] and at most 64 long. Returns the length. */
size_t problem_write(const struct problem *problem, const char *request_id,
                     char ret_text[PROBLEM_TEXT_SIZE]);

/* What follows a line number in the results of a batch: from the comma to the closing brace. */
size_t problem_write_result(const struct problem *problem, char ret_text[PROBLEM_TEXT_SIZE]);

#endif
