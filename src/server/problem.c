/* problem - see the header. SPDX-License-Identifier: MIT */
#include "problem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct row {
    unsigned status;
    const char *word;
    const char *title;
};

static const struct row rows[PROBLEM_KINDS] = {
    [PROBLEM_BAD_REQUEST] = {400, "bad-request", "The request is not one that can be accepted"},
    [PROBLEM_UNAUTHORIZED] = {401, "unauthorized", "A token that is known is needed"},
    [PROBLEM_NOT_FOUND] = {404, "not-found", "There is nothing here"},
    [PROBLEM_METHOD_NOT_ALLOWED] = {405, "method-not-allowed", "Not by this method"},
    [PROBLEM_KEY_UNDER_WAY] = {409, "key-under-way",
                               "A request with this idempotency key is being worked on"},
    [PROBLEM_TOO_LATE] = {409, "too-late", "The message cannot be cancelled any more"},
    [PROBLEM_TOO_LARGE] = {413, "too-large", "There is more than is accepted"},
    [PROBLEM_UNSUPPORTED_MEDIA_TYPE] = {415, "unsupported-media-type",
                                        "Not a media type that is read here"},
    [PROBLEM_KEY_REUSED] = {422, "key-reused", "This idempotency key was used for another request"},
    [PROBLEM_QUEUE_FULL] = {429, "queue-full", "Too many messages wait"},
    [PROBLEM_INTERNAL] = {500, "internal", "The fault is ours"},
    [PROBLEM_UNAVAILABLE] = {503, "unavailable", "Nothing can be accepted now"},
    [PROBLEM_DRAINING] = {503, "draining", "The server is about to stop"},
    [PROBLEM_DISK_FULL] = {503, "disk-full", "The disk is full"},
};

void problem_set(struct problem *problem, enum problem_kind kind, uint32_t retry_after_s,
                 const char *detail)
{
    problem->kind = kind;
    problem->retry_after_s = retry_after_s;
    problem->member[0] = '\0';
    (void)snprintf(problem->detail, sizeof problem->detail, "%s", detail);
}

unsigned problem_status(enum problem_kind kind)
{
    return rows[kind].status;
}

const char *problem_word(enum problem_kind kind)
{
    return rows[kind].word;
}

enum problem_kind problem_kind_of_status(unsigned status)
{
    switch (status) {
    case 413:
        return PROBLEM_TOO_LARGE;
    case 415:
        return PROBLEM_UNSUPPORTED_MEDIA_TYPE;
    case 422:
        return PROBLEM_KEY_REUSED;
    default:
        return PROBLEM_BAD_REQUEST;
    }
}

static size_t append(char *text, size_t length, const char *literal)
{
    size_t more = strlen(literal);
    memcpy(text + length, literal, more + 1);
    return length + more;
}

/* What both forms have in common: title, status, detail and, if there is one, the member. */
static size_t append_members(const struct problem *problem, char *text, size_t length)
{
    const struct row *row = &rows[problem->kind];
    length += (size_t)sprintf(text + length, "\"status\":%u,\"title\":\"%s\",\"detail\":\"",
                              row->status, row->title);
    length += json_text_write(text + length, problem->detail);
    length = append(text, length, "\"");
    if (problem->member[0]) {
        length = append(text, length, ",\"member\":\"");
        length += json_text_write(text + length, problem->member);
        length = append(text, length, "\"");
    }
    return length;
}

size_t problem_write(const struct problem *problem, const char *request_id,
                     char ret_text[PROBLEM_TEXT_SIZE])
{
    size_t length =
        (size_t)sprintf(ret_text, "{\"type\":\"urn:lull:problem:%s\",", rows[problem->kind].word);
    length = append_members(problem, ret_text, length);
    length += (size_t)sprintf(ret_text + length, ",\"request_id\":\"%s\"}", request_id);
    return length;
}

size_t problem_write_result(const struct problem *problem, char ret_text[PROBLEM_TEXT_SIZE])
{
    size_t length = append(ret_text, 0, ",");
    length = append_members(problem, ret_text, length);
    if (problem->retry_after_s > 0) {
        length +=
            (size_t)sprintf(ret_text + length, ",\"retry_after\":%" PRIu32, problem->retry_after_s);
    }
    return append(ret_text, length, "}");
}
