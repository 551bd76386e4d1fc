/*
 * why_waiting - why a message has not gone yet (Q10): one cause, until when, and a sentence.
 *
 * Pure. The later of two waits is told: a message whose backoff ends in a second is held by its
 * service's pause of a minute.
 */
#ifndef LULL_SERVER_WHY_WAITING_H
#define LULL_SERVER_WHY_WAITING_H

#include <stdint.h>

#include "job.h"
#include "message.h"

#define WHY_TEXT_SIZE 480

struct why_waiting {
    const char *cause; /* one of message_cause_to_string, or service_paused, _rate, _full */
    int64_t until_ms;  /* LULL_NEVER: no time can be told */
    char text[WHY_TEXT_SIZE];
};

/* For a message that is WAITING, and the gate of its service. */
void why_waiting(const struct message *message, const struct job_gate *gate, int64_t now_ms,
                 struct why_waiting *ret_why);

#endif
