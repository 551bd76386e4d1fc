/*
 * intake - a message as the API takes it: JSON in, a message for the store out, encrypted.
 *
 *   intake_new (one for each thread) -> intake_read ... -> intake_destroy
 *
 * The plain text of a push is encrypted here and kept nowhere else, so it never touches the disk.
 * What is accepted can be sent: the subscription, the policy, the key, the size and the headers
 * have been checked; all else is refused with a sentence that names the member and what is
 * accepted, and never repeats a value that may be secret.
 */
#ifndef LULL_SERVER_INTAKE_H
#define LULL_SERVER_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"
#include "job.h"
#include "lull/vapid.h"

struct intake;

/* config and ring are borrowed; of the ring only its keys are looked at. LULL_ERR_MEMORY. */
int intake_new(struct intake **ret_intake, const struct config *config,
               const struct lull_vapid_ring *ring);
void intake_destroy(struct intake *intake); /* NULL is fine */

/* Key pairs for the next messages, made in idle time. */
void intake_prepare(struct intake *intake, size_t count);

/* What came along with the text. */
struct intake_call {
    int64_t now_ms;
    const char *traceparent;     /* "" or NULL: none */
    const char *idempotency_key; /* of the header; "" or NULL: none */
    bool is_key_default;         /* that is for a text without a key of its own, as in a batch; else
                                    the two must not differ */
};

/* Why not: for a problem+json. */
struct intake_problem {
    unsigned status;  /* 400, 413, 415 or 422 */
    char member[64];  /* where; "": the whole */
    char detail[256]; /* a sentence */
};

/* What the sender should know although it was accepted: a topic that Apple refuses (V3) ... */
#define INTAKE_WARNING_SIZE 160

/* text is one JSON object. On LULL_OK *ret_put is a job of kind JOB_PUT, without its done, for
 * intake_free. Else LULL_ERR_SYNTAX, LULL_ERR_RANGE, LULL_ERR_UNKNOWN: *ret_problem; or
 * LULL_ERR_MEMORY. */
int intake_read(struct intake *intake, const char *text, size_t length,
                const struct intake_call *call, struct job_put **ret_put,
                char ret_warning[INTAKE_WARNING_SIZE], struct intake_problem *ret_problem);

/* The job, and its message if that is still its own (put.message not NULL). */
void intake_free(struct job_put *put);

#endif
