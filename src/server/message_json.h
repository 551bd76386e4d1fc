/*
 * message_json - a message as the API shows it: all that is known, but never the endpoint, a key or
 * the body.
 */
#ifndef LULL_SERVER_MESSAGE_JSON_H
#define LULL_SERVER_MESSAGE_JSON_H

#include <jansson.h>

#include "job.h"
#include "message.h"

/* One that is in the store, and the gate of its service. NULL: no memory. */
json_t *message_json(const struct message *message, const struct job_gate *gate, int64_t now_ms,
                     bool has_attempts);

/* One that has left, and is remembered; and one that is not. message NULL: no more is known. */
json_t *message_json_departed(const struct departed *departed, const struct message *message,
                              const struct job_gate *gate);
json_t *message_json_gone_by(uint64_t id);

json_t *message_json_time(int64_t ms); /* LULL_NEVER: null */
json_t *message_json_id(uint64_t id);

#endif
